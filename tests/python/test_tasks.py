"""Tasks from the documentations of scipy, CuPy and neuraloperator; only the import line is changed.

Each runs with the library and with Stentor; results must agree. A task whose library is missing is
skipped."""
import pathlib
import unittest

import numpy as np

ASCENT = pathlib.Path(__file__).resolve().parents[2] / 'examples/data/ascent.npy'
# Name: the library's import line, Stentor's, and the code, which defines `result`.
TASKS = {
    'scipy.ndimage.gaussian_filter': ('from scipy.ndimage import gaussian_filter', 'from stentor import gaussian_filter', '''
a = np.arange(50, step=2).reshape((5, 5))
result = gaussian_filter(a, sigma=1)
'''),
    'scipy.ndimage.convolve': ('from scipy import ndimage', 'import stentor as ndimage', '''
a = np.array([[1, 2, 0, 0], [5, 3, 0, 4], [0, 0, 0, 7], [9, 3, 0, 0]])
k = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 0]])
b = np.array([[2, 0, 0], [1, 0, 0], [0, 0, 0]])
result = [ndimage.convolve(a, k, mode='constant', cval=0.0), ndimage.convolve(a, k, mode='constant', cval=1.0),
          ndimage.convolve(b, np.array([[0, 1, 0], [0, 1, 0], [0, 1, 0]]), mode='nearest')]
'''),
    'scipy.ndimage.correlate1d': ('from scipy.ndimage import correlate1d, convolve1d, uniform_filter1d',
                                  'from stentor import correlate1d, convolve1d, uniform_filter1d', '''
x = [2, 8, 0, 4, 1, 9, 9, 0]
result = [correlate1d(x, weights=[1, 3]), convolve1d(x, weights=[1, 3]), uniform_filter1d(x, size=3)]
'''),
    'scipy.ndimage.sobel': ('from scipy import ndimage', 'import stentor as ndimage', '''
ascent = ascent.astype('int32')
sobel_h = ndimage.sobel(ascent, 0)  # horizontal gradient
sobel_v = ndimage.sobel(ascent, 1)  # vertical gradient
magnitude = np.sqrt(sobel_h**2 + sobel_v**2)
magnitude *= 255.0 / np.max(magnitude)
result = magnitude
'''),
    'scipy.ndimage.gaussian_laplace': ('from scipy import ndimage', 'import stentor as ndimage', '''
result = [ndimage.gaussian_laplace(ascent, sigma=1), ndimage.gaussian_laplace(ascent, sigma=3),
          ndimage.gaussian_gradient_magnitude(ascent, sigma=5), ndimage.prewitt(ascent), ndimage.laplace(ascent)]
'''),
    'sharpening, scikit-image and SciPy lecture notes': ('from scipy import ndimage', 'import stentor as ndimage', '''
blurred_f = ndimage.gaussian_filter(ascent, 3)
filter_blurred_f = ndimage.gaussian_filter(blurred_f, 1)
alpha = 30
result = blurred_f + alpha * (blurred_f - filter_blurred_f)
'''),
    'scipy.fft tutorial, 1D': ('from scipy.fft import fft, ifft, rfft, fftfreq', 'from stentor.fft import fft, ifft, rfft, fftfreq', '''
N = 600
T = 1.0 / 800.0
x = np.linspace(0.0, N*T, N, endpoint=False)
y = np.sin(50.0 * 2.0*np.pi*x) + 0.5*np.sin(80.0 * 2.0*np.pi*x)
yf = fft(y)
xf = fftfreq(N, T)[:N//2]
result = [2.0/N * np.abs(yf[0:N//2]), xf, ifft(yf).real, rfft(y)]
'''),
    'scipy.fft tutorial, 2D': ('from scipy.fft import ifftn, fftshift', 'from stentor.fft import ifftn, fftshift', '''
N = 30
xf = np.zeros((N, N))
xf[0, 5] = 1
xf[0, N-5] = 1
result = [ifftn(xf).real, fftshift(xf)]
'''),
    'scipy.fft tutorial, DCT': ('from scipy.fft import dct, idct, dctn, idctn', 'from stentor.fft import dct, idct, dctn, idctn', '''
N = 100
t = np.linspace(0, 20, N, endpoint=False)
x = np.exp(-t/3)*np.cos(2*t)
y = dct(x, norm='ortho')
window = np.zeros(N)
window[:20] = 1
yr = idct(y*window, norm='ortho')
result = [y, yr, sum(abs(x-yr)**2) / sum(abs(x)**2), idctn(dctn(ascent) * (np.abs(ascent) > 10))]
'''),
    'scipy.signal.fftconvolve': ('from scipy import signal', 'from stentor import signal', '''
sig = np.random.default_rng(3).standard_normal(1000)
autocorr = signal.fftconvolve(sig, sig[::-1], mode='full')
kernel = np.outer(np.hanning(70), np.hanning(70))
result = [autocorr, signal.fftconvolve(ascent, kernel, mode='same'), signal.oaconvolve(sig, np.ones(9)),
          signal.convolve(sig, np.hanning(50), mode='same') / sum(np.hanning(50))]
'''),
    'scipy.signal.correlate': ('from scipy import signal', 'from stentor import signal', '''
sig = np.repeat([0., 1., 1., 0., 1., 0., 0., 1.], 128)
sig_noise = sig + np.random.default_rng(4).standard_normal(len(sig))
corr = signal.correlate(sig_noise, np.ones(128), mode='same') / 128
result = [corr, corr.argmax()]
'''),
    'cupyx.scipy.ndimage': ('import cupyx.scipy.ndimage as ndimage', 'import stentor as ndimage', '''
import cupy as cp
image = cp.asarray(ascent, dtype='float32')
blurred = ndimage.gaussian_filter(image, sigma=3)
edges = ndimage.sobel(blurred, axis=0)
result = [cp.asnumpy(blurred), cp.asnumpy(edges), cp.asnumpy(ndimage.correlate(image, cp.ones((5, 5), 'float32'), mode='wrap'))]
'''),
    'neuraloperator, a Fourier layer': ('from neuralop.layers.spectral_convolution import SpectralConv', 'from stentor.torch import SpectralConv', '''
import torch
torch.manual_seed(0)
conv = SpectralConv(3, 3, n_modes=(10, 8), rank=0.1, factorization='tucker', implementation='reconstructed')
x = torch.randn(2, 3, 24, 20)
with torch.no_grad():
    result = [conv(x).numpy(), conv(x, output_shape=(24, 20)).numpy(), sum(p.numel() for p in conv.parameters())]
'''),
    'neuraloperator, training an FNO': ('from neuralop.layers.spectral_convolution import SpectralConv', 'from stentor.torch import SpectralConv', '''
import torch
from neuralop.models import FNO
torch.manual_seed(0)
model = FNO(n_modes=(8, 8), in_channels=1, out_channels=1, hidden_channels=8, n_layers=2, projection_channel_ratio=2, conv_module=SpectralConv)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=1e-4)
x, y = torch.randn(4, 1, 16, 16), torch.randn(4, 1, 16, 16)
result = []
for epoch in range(3):
    optimizer.zero_grad()
    loss = (model(x) - y).square().mean()
    loss.backward()
    optimizer.step()
    result.append(float(loss.detach()))
'''),
}


def run(line, code):
    space = {'np': np, 'ascent': np.load(ASCENT).astype('float64')}
    exec(line + '\n' + code, space)
    return space['result'] if isinstance(space['result'], list) else [space['result']]


class Tasks(unittest.TestCase):
    def test_import_lines(self):
        ran = 0
        for name, (theirs, ours, code) in TASKS.items():
            with self.subTest(name):
                try:
                    expected = run(theirs, code)
                except (ImportError, RuntimeError) as error:  # RuntimeError: CuPy without a GPU
                    print(f'{name} is left out: {error}')
                    continue
                ran += 1
                for a, b in zip(run(ours, code), expected):
                    self.assertEqual(np.asarray(a).dtype, np.asarray(b).dtype)
                    scale = np.abs(b).max()
                    # In float32 the optimizer of the last task enlarges differences of rounding.
                    rtol = 2e-4 if name.startswith(('neuraloperator', 'cupyx')) else 1e-10
                    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale)
        self.assertGreaterEqual(ran, 11)


if __name__ == '__main__':
    unittest.main()
