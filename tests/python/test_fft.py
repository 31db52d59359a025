"""The transforms against scipy.fft, over random arguments."""
import os
import unittest

import numpy as np
import scipy.fft

import stentor
from stentor import _fourier
from test_filters import random_array

COUNT = int(os.environ.get('STENTOR_TEST_COUNT', '60'))
DTYPES = ['float64', 'float32', 'complex128', 'complex64', 'float16', 'int32', 'uint8']


def random_axes(rng, rank):
    axes = [int(a) for a in rng.permutation(rank)[:rng.integers(1, rank + 1)]]
    return [a - rank if rng.random() < 0.5 else a for a in axes]


class Random(unittest.TestCase):
    def agree(self, ours, theirs):
        self.assertEqual(ours.dtype, theirs.dtype)
        close = 1e-4 if theirs.dtype.name in ('float32', 'complex64') else 1e-11
        scale = max(1.0, np.abs(theirs).max(initial=0))
        np.testing.assert_allclose(ours / scale, theirs / scale, rtol=0, atol=close)

    def test_fftn(self):
        for i in range(COUNT * 2):
            rng = np.random.default_rng([1, i])
            with self.subTest(seed=i):
                rank = int(rng.integers(1, 6))
                shape = tuple(int(n) for n in rng.integers(2, 9 if rank > 2 else 30, rank))
                name = str(rng.choice(['fftn', 'ifftn', 'rfftn', 'irfftn']))
                x = random_array(rng, shape, str(rng.choice(DTYPES)))
                if name == 'rfftn':
                    x = x.real
                axes = random_axes(rng, rank) if rng.random() < 0.8 else None
                count = rank if axes is None else len(axes)
                s = [int(n) for n in rng.integers(1, 12, count)] if rng.random() < 0.4 else None
                given = dict(s=s, axes=axes, norm=rng.choice([None, 'backward', 'ortho', 'forward']))
                self.agree(getattr(stentor.fft, name)(x, **given), getattr(scipy.fft, name)(x, **given))

    def test_lines_and_images(self):
        for i in range(COUNT):
            rng = np.random.default_rng([2, i])
            with self.subTest(seed=i):
                x = random_array(rng, tuple(int(n) for n in rng.integers(2, 20, 3)), str(rng.choice(DTYPES)))
                name = str(rng.choice(['fft', 'ifft', 'rfft', 'irfft']))
                if name == 'rfft':
                    x = x.real
                axis, n = int(rng.integers(-3, 3)), [None, 7, 16][rng.integers(3)]
                self.agree(getattr(stentor.fft, name)(x, n, axis), getattr(scipy.fft, name)(x, n, axis))
                self.agree(getattr(stentor.fft, name + '2')(x), getattr(scipy.fft, name + '2')(x))

    def test_the_inputs_own_size(self):
        """-1 in s; of irfftn too, whose default is another."""
        z = np.random.default_rng(0).standard_normal((4, 9)) + 1j
        for name in ('fftn', 'ifftn', 'irfftn'):
            for s in ((-1, -1), (6, -1), (-1, 5)):
                self.agree(getattr(stentor.fft, name)(z, s), getattr(scipy.fft, name)(z, [own if n < 0 else n for n, own in zip(s, z.shape)]))

    def test_there_and_back(self):
        x = np.random.default_rng(0).standard_normal((5, 7, 9))
        np.testing.assert_allclose(stentor.fft.irfftn(stentor.fft.rfftn(x), s=x.shape), x, atol=1e-13)

    def test_one_frequency(self):
        x = np.ones((3, 1))
        self.agree(stentor.fft.irfftn(x), scipy.fft.irfftn(x))

    def test_bad_input(self):
        x = np.ones((4, 4))
        for wrong, said in ((lambda: stentor.fft.rfftn(x + 1j), 'real numbers'),
                            (lambda: stentor.fft.fftn(x, axes=(0, 0)), 'unique'),
                            (lambda: stentor.fft.fft(x, axis=2), '2 axes'),
                            (lambda: stentor.fft.fft(x, n=0), '1 or more'),
                            (lambda: stentor.fft.fft(x, norm='both'), 'norm'),
                            (lambda: stentor.fft.fft(np.float64(3)), '0 axes'),
                            (lambda: stentor.fft.fft(np.array([{}])), 'objects'),
                            (lambda: stentor.fft.fftn(x, s=(3, 3, 3)), '3 sizes')):
            with self.assertRaisesRegex((ValueError, TypeError, IndexError), said):
                wrong()


class FourierLayers(unittest.TestCase):
    """What stentor.torch.SpectralConv runs, without PyTorch."""

    def setUp(self):
        rng = np.random.default_rng(4)
        self.x, self.bias = rng.standard_normal((2, 3, 6, 9)), rng.standard_normal(4)
        self.weights = rng.standard_normal((3, 4, 4, 5)) + 1j * rng.standard_normal((3, 4, 4, 5))
        self.rows = np.arange(-2, 2) % 6

    def layer(self, which, bias):
        return _fourier.layer(-1, which, self.x.shape, 4, (4, 5), 'float64', False, False, bias, False, 16)

    def test_forward(self):
        spectrum, y = np.fft.rfftn(self.x, axes=(2, 3)), np.empty((2, 4, 6, 9))
        made = np.zeros((2, 4, 6, 5), complex)
        made[:, :, self.rows] = np.einsum('bixy,ioxy->boxy', spectrum[:, :, self.rows], self.weights)
        self.layer(_fourier.FORWARD, True).run(**{'in': self.x.ctypes.data}, out=y.ctypes.data, bias=self.bias.ctypes.data,
                                               weights=self.weights.ctypes.data)
        np.testing.assert_allclose(y, scipy.fft.irfftn(made, s=(6, 9), axes=(2, 3)) + self.bias[:, None, None], atol=1e-12)

    def test_backward(self):
        """<g, A x> = <A* g, x>, and the same in the weights, which A is linear in."""
        g, y, gx, gw = self.x[:, :1].repeat(4, 1).copy(), np.empty((2, 4, 6, 9)), np.empty_like(self.x), np.empty_like(self.weights)
        at = {'weights': self.weights.ctypes.data}
        self.layer(_fourier.FORWARD, False).run(**{'in': self.x.ctypes.data}, out=y.ctypes.data, **at)
        self.layer(_fourier.BACKWARD_X, False).run(**{'in': g.ctypes.data}, out=gx.ctypes.data, **at)
        self.layer(_fourier.BACKWARD_WEIGHTS, False).run(**{'in': self.x.ctypes.data}, out=gw.ctypes.data,
                                                         gradient=g.ctypes.data)
        self.assertAlmostEqual(np.vdot(g, y), np.vdot(gx, self.x))
        self.assertAlmostEqual(np.vdot(g, y), np.vdot(gw, self.weights).real)

    def test_bad_calls(self):
        with self.assertRaisesRegex(ValueError, 'needs weights'):
            self.layer(_fourier.FORWARD, False).run(**{'in': self.x.ctypes.data}, out=self.bias.ctypes.data)
        with self.assertRaisesRegex(ValueError, 'frequencies along that axis'):
            _fourier.layer(-1, _fourier.FORWARD, (1, 1, 8), 1, (9,), 'float64', True, False, False, False, 16)


if __name__ == '__main__':
    unittest.main()
