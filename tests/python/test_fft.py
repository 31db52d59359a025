"""The transforms against scipy.fft, over random arguments."""
import itertools
import time
import unittest

import numpy as np
import scipy.fft

import stentor
from random_cases import draw_view
from run_settings import COUNT
from stentor import _fourier

DTYPES = ['float64', 'float32', 'complex128', 'complex64', 'float16', 'int32', 'uint8', 'bool', 'int8', 'uint16', 'uint32', 'int64', '>c8', '>i2']


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
                x = draw_view(rng, shape, str(rng.choice(DTYPES)))
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
                x = draw_view(rng, tuple(int(n) for n in rng.integers(2, 20, 3)), str(rng.choice(DTYPES)))
                name = str(rng.choice(['fft', 'ifft', 'rfft', 'irfft']))
                if name == 'rfft':
                    x = x.real
                axis, n = int(rng.integers(-3, 3)), [None, 7, 16][rng.integers(3)]
                self.agree(getattr(stentor.fft, name)(x, n, axis), getattr(scipy.fft, name)(x, n, axis))
                self.agree(getattr(stentor.fft, name + '2')(x), getattr(scipy.fft, name + '2')(x))

    def test_many_short_lines(self):
        """More numbers than caches hold, whose last groups are not full."""
        for n in (2, 9, 21, 24, 31, 64, 130):
            rng = np.random.default_rng([7, n])
            for dtype in ('f8', 'f4'):
                x = rng.standard_normal((200001 // n + int(rng.integers(0, 200)), n)).astype(dtype)
                with self.subTest(n=n, dtype=dtype, lines=len(x)):
                    z = x + 1j * x[::-1]
                    for name, given in (('fft', z), ('ifft', z), ('rfft', x), ('ifft', np.ascontiguousarray(z.T).T)):
                        self.agree(getattr(stentor.fft, name)(given), getattr(scipy.fft, name)(given))
                    half = z[:, :n // 2 + 1]
                    self.agree(stentor.fft.irfft(half, n), scipy.fft.irfft(half, n))
                    self.agree(stentor.fft.fft2(z[:900]), scipy.fft.fft2(z[:900]))

    def test_short_lines_far_apart(self):
        """The gaps between lines are not read: they take hardly longer than adjacent lines."""
        def seconds(x):
            made = []
            for _ in range(7):
                started = time.perf_counter()
                stentor.fft.fft(x)
                made.append(time.perf_counter() - started)
            return min(made)

        far = np.zeros((6000, 4000), 'c16')[:, :16]
        far[...] = np.random.default_rng(8).standard_normal(far.shape)
        self.agree(stentor.fft.fft(far), scipy.fft.fft(far))
        self.assertLess(seconds(far), 6 * seconds(far.copy()))

    def test_middle_axes(self):
        """A loop over the slowest axes, or copies if an iteration has few points."""
        for i in range(COUNT // 3):
            rng = np.random.default_rng([3, i])
            with self.subTest(seed=i):
                shape = tuple(int(n) for n in (*rng.integers(2, 6, rng.integers(1, 3)), rng.integers(8, 70), *rng.integers(5, 40, rng.integers(1, 3))))
                x = draw_view(rng, shape, str(rng.choice(DTYPES)))
                name = str(rng.choice(['fft', 'ifft', 'rfft', 'irfft']))
                if name == 'rfft':
                    x = x.real
                axis = int(rng.integers(1, x.ndim - 1))
                self.agree(getattr(stentor.fft, name)(x, axis=axis), getattr(scipy.fft, name)(x, axis=axis))
                if x.ndim > 3:
                    self.agree(stentor.fft.fftn(x, axes=(1, 2)), scipy.fft.fftn(x, axes=(1, 2)))

    def test_the_inputs_own_size(self):
        """-1 in s means the input's size, also for irfftn, whose default differs."""
        z = np.random.default_rng(0).standard_normal((4, 9)) + 1j
        for name in ('fftn', 'ifftn', 'irfftn'):
            for s in ((-1, -1), (6, -1), (-1, 5)):
                self.agree(getattr(stentor.fft, name)(z, s), getattr(scipy.fft, name)(z, [own if n < 0 else n for n, own in zip(s, z.shape)]))

    def test_one_frequency(self):
        for shape in ((1,), (3, 1), (2, 3, 1)):
            for name in ('irfftn', 'hfftn', 'irfft2', 'hfft2'):
                for axes in ((-1,), tuple(range(len(shape)))[-2:]):
                    x = np.full(shape, 2 + 1j)
                    self.agree(getattr(stentor.fft, name)(x, axes=axes), getattr(scipy.fft, name)(x, axes=axes))

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


class Range(unittest.TestCase):
    """No intermediate sum overflows if the result fits; NaN and infinity stay in their lines."""

    def test_no_overflow_on_the_way(self):
        lengths = [1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 31, 64, 67, 97, 120, 134, 1009, 4096, 2 * 8192, 2 * 9000, 25600, 3 ** 7, 3025, 3 ** 9]
        for i, name in enumerate(('fft', 'ifft', 'rfft', 'irfft')):
            for k, norm in enumerate(('backward', 'ortho', 'forward')):
                for n, dtype in itertools.product(lengths, ('float32', 'float64')):
                    # Each value of an argument meets each value of every other one.
                    lines = (1, 2, 17)[(i + k + lengths.index(n)) % 3]
                    with self.subTest(name=name, dtype=dtype, norm=norm, n=n, lines=lines):
                        self.check_range(name, dtype, norm, n, lines)

    def check_range(self, name, dtype, norm, n, lines):
        """The largest result is just below the type's maximum; the reference is scaled down."""
        points = n // 2 + 1 if name == 'irfft' else n
        rng = np.random.default_rng(n)
        small = 1 + rng.random((lines, points)) * 0.1
        theirs = getattr(scipy.fft, name)(small, n, norm=norm)
        top = 0.9 * float(np.finfo(dtype).max)
        largest = max(np.abs(theirs).max(), np.abs(small).max())
        kind = dtype if name == 'rfft' else {'float32': 'complex64', 'float64': 'complex128'}[dtype]
        large = (small * (top / largest)).astype(kind)
        ours = getattr(stentor.fft, name)(large, n, norm=norm)
        close = 3e-6 if dtype == 'float32' else 1e-13
        np.testing.assert_allclose(ours / top, theirs / largest, rtol=0, atol=close * np.abs(theirs).max() / largest)

    def test_no_overflow_between_axes(self):
        for name in ('fftn', 'ifftn', 'rfftn', 'irfftn'):
            for shape in ((8, 9), (4, 5, 6), (3, 4, 2, 5, 4)):
                for norm in ('backward', 'ortho', 'forward'):
                    with self.subTest(name=name, shape=shape, norm=norm):
                        small = np.ones(shape)
                        theirs = getattr(scipy.fft, name)(small, norm=norm)
                        top = 0.9 * float(np.finfo('f4').max) / max(1, np.abs(theirs).max())
                        ours = getattr(stentor.fft, name)((small * top).astype('f4' if name == 'rfftn' else 'c8'), norm=norm)
                        np.testing.assert_allclose(ours / top, theirs, rtol=0, atol=1e-5 * np.abs(theirs).max())

    def test_lines_are_apart(self):
        sizes = itertools.product(('fft', 'ifft', 'rfft', 'irfft'), (4, 7, 16, 30, 67, 134), (1, 2, 3, 9, 40))
        for i, (name, n, lines) in enumerate(sizes):
            for axis in range(3):
                bad = (np.nan, np.inf, 3e38)[(i + axis) % 3]
                with self.subTest(name=name, n=n, lines=lines, axis=axis, bad=bad):
                    self.check_apart(name, n, lines, axis, bad)

    def check_apart(self, name, n, lines, axis, bad):
        rng = np.random.default_rng(n)
        points = n // 2 + 1 if name == 'irfft' else n
        x = rng.standard_normal((lines, points, 2)).astype('f4')
        if name != 'rfft':
            x = x + 1j * rng.standard_normal(x.shape).astype('f4')
        dirty = x.copy()
        dirty[lines // 2, points // 2, 1] = bad
        order = {0: (1, 0, 2), 1: (0, 1, 2), 2: (0, 2, 1)}[axis]
        x, dirty = (np.ascontiguousarray(a.transpose(order)) for a in (x, dirty))
        run = getattr(stentor.fft, name)
        clean, ours = (run(a, n, axis).transpose(order) for a in (x, dirty))
        touched = np.zeros(ours.shape[::2], bool)
        touched[lines // 2, 1] = True
        for line in zip(*np.nonzero(~touched)):
            np.testing.assert_array_equal(ours[line[0], :, line[1]], clean[line[0], :, line[1]])
        if not np.isfinite(bad):
            self.assertFalse(np.isfinite(ours[lines // 2, :, 1]).any())


class FourierLayers(unittest.TestCase):
    """The plans of stentor.torch.SpectralConv, without PyTorch."""

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
        """<g, A x> = <A* g, x>, and the same identity for the weights, in which A is linear."""
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
