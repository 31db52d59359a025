"""Makes this folder's pictures and README.md, each picture by the code that stands beside it:

PYTHONPATH=build/python python3 docs/functions/make.py [FOLDER]
"""
import pathlib
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'examples'))
from picture import save_png, side_by_side  # noqa: E402

# The names that the codes use.
SETUP = '''import numpy as np, stentor

image = np.load('examples/data/ascent.npy')[60:444:4, 80:464:4].astype('float32')
dots = np.zeros(image.shape, 'float32')
dots[12::24, 12::24] = 1
hills = stentor.gaussian_filter(dots, sigma=2)
holes = np.where(np.random.default_rng(0).random(image.shape) < 0.5, np.nan, image)
noise = np.random.default_rng(1).standard_normal(image.shape).astype('float32')
disc = (np.hypot(*(np.indices((15, 15)) - 7)) < 7).astype('float32')
'''

WAVE = '''stentor.System("""
field u(2)
stencil lap = laplace-2d
boundary u = fixed
u.next = 2*u - u.prev + 0.2*lap(u)
""")'''

# A section's name, and for each picture: its name, the functions that it is for, and the code.
SECTIONS = {
    'Filters': [
        ('image', ['the image that the others start from'], 'image'),
        ('correlate', ['correlate', 'convolve'], 'stentor.correlate(image, np.eye(15) / 15)'),
        ('correlate1d', ['correlate1d', 'convolve1d'], 'stentor.correlate1d(image, [-1, 0, 1], axis=0)'),
        ('gaussian_filter', ['gaussian_filter'], 'stentor.gaussian_filter(image, sigma=3)'),
        ('gaussian_filter1d', ['gaussian_filter1d'], 'stentor.gaussian_filter1d(image, sigma=4, axis=1)'),
        ('uniform_filter', ['uniform_filter'], 'stentor.uniform_filter(image, size=7)'),
        ('uniform_filter1d', ['uniform_filter1d'], 'stentor.uniform_filter1d(image, size=13, axis=0)'),
        ('holes', ['half of the points replaced by NaN'], 'holes'),
        ('nan_ignore', ["nan='ignore', in any of these filters"], "stentor.gaussian_filter(holes, sigma=1, nan='ignore')"),
    ],
    'Derivatives': [
        ('laplace', ['laplace', 'generic_laplace'], 'stentor.laplace(image)'),
        ('sobel', ['sobel'], 'stentor.sobel(image, axis=0)'),
        ('prewitt', ['prewitt'], 'stentor.prewitt(image, axis=1)'),
        ('gaussian_laplace', ['gaussian_laplace'], 'stentor.gaussian_laplace(image, sigma=2)'),
        ('gaussian_gradient_magnitude', ['gaussian_gradient_magnitude', 'generic_gradient_magnitude'],
         'stentor.gaussian_gradient_magnitude(image, sigma=1)'),
    ],
    'Many steps': [
        ('dots', ['the points that these start from'], 'dots'),
        ('plan', ['Plan'], "stentor.Plan(dots.shape, 'heat-2d:alpha=0.2', steps=60, dtype='f32', device='host')(dots)"),
        ('plan_advection', ['Plan, with weights of your own'],
         "stentor.Plan(dots.shape, {(1, 2): 0.6, (0, 0): 0.4}, steps=12, dtype='f32', device='host')(dots)"),
        ('system', ['System'], WAVE + "(\n    {'u': hills, 'u.prev': hills}, steps=30, device='host')['u']"),
        ('sponge', ['sponge'], 'stentor.sponge(dots.shape, width=24)'),
    ],
    'stentor.fft': [
        ('fftn', ['fftn', 'fft', 'fft2', 'ifft', 'ifft2', 'ifftn', 'fftshift', 'ifftshift'], 'np.log(1 + np.abs(stentor.fft.fftshift(stentor.fft.fftn(image))))'),
        ('rfftn', ['rfftn', 'rfft', 'rfft2', 'irfft', 'irfft2', 'irfftn'], 'np.log(1 + np.abs(stentor.fft.rfftn(image)))'),
        ('hfft', ['hfft', 'hfft2', 'hfftn', 'ihfft', 'ihfft2', 'ihfftn'], 'np.log(1 + np.abs(stentor.fft.hfft(image, axis=1)))'),
        ('dctn', ['dctn', 'dct', 'idct', 'idctn'], 'np.log(1 + np.abs(stentor.fft.dctn(image)))'),
        ('dstn', ['dstn', 'dst', 'idst', 'idstn'], 'np.log(1 + np.abs(stentor.fft.dstn(image)))'),
    ],
    'stentor.signal': [
        ('fftconvolve', ['fftconvolve', 'oaconvolve', 'convolve'], "stentor.signal.fftconvolve(image, disc / disc.sum(), mode='same')"),
        ('signal_correlate', ['correlate'], "stentor.signal.correlate(dots + 0.02 * noise, disc, mode='same')"),
    ],
}


def page() -> str:
    lines = ['# Functions', '', '`make.py` in this folder makes each picture by the code next to it, after', '', '```python', SETUP.strip(), '```']
    for section, entries in SECTIONS.items():
        lines += ['', f'## {section}', '', '| | function | code |', '|---|---|---|']
        for name, functions, code in entries:
            names = ', '.join(f'`{each}`' if ' ' not in each else each for each in functions)
            lines.append(f'| ![{name}]({name}.png) | {names} | ' + '<br>'.join(f'`{line}`' for line in code.split('\n') if line) + ' |')
    return '\n'.join(lines) + '\n'


def main(folder: pathlib.Path) -> None:
    names: dict = {}
    exec(SETUP.replace("'examples/", f"'{ROOT}/examples/"), names)
    for entries in SECTIONS.values():
        for name, _, code in entries:
            x = np.asarray(eval(code, names))
            low, high = np.nanpercentile(x, [0.5, 99.5])
            picture = side_by_side(np.clip(np.nan_to_num(x, nan=low), low, max(high, low + 1e-30)))
            # 16 grey levels make a file of a third of the bytes.
            save_png(folder / f'{name}.png', picture // 16 * 17)
    (folder / 'README.md').write_text(page())


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent)
