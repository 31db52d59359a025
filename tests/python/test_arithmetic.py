"""Functions on a GPU that combine plans with the arithmetic of the array's own library.

The library is a stand-in for CuPy over the memory of a real or emulated GPU, whose arithmetic is
done by NumPy. Results must equal those on the host.
"""
import contextlib
import os
import sys
import time
import types
import unittest
import unittest.mock

import numpy as np

import stentor
import stentor.signal
from stentor._context import HOST, context
from stentor._number_types import ELEMENT_OF, real_of
from stentor._problem import WRAP, Layout, Request, split_axes, stencil_plan
from stentor._stencil import taps_of
from test_kinds import module, pretending

RNG = np.random.default_rng(0)


def plain(x):
    """The value with all arrays copied to the host."""
    if isinstance(x, (list, tuple)):
        return type(x)(plain(each) for each in x)
    return x.home.numpy() if isinstance(x, Array) else x


def there(x):
    """The value, copied to the GPU if it is an array."""
    return Array(x) if isinstance(x, (np.ndarray, np.generic)) else x


class Array:
    """A stand-in for cupy.ndarray with the needed methods. Views are copies."""

    def __init__(self, x):
        self.home = x if isinstance(x, stentor.DeviceArray) else stentor.to_device(np.ascontiguousarray(x).reshape(np.shape(x)))
        self.shape, self.dtype = self.home.shape, self.home.dtype
        self.ndim, self.device = len(self.shape), types.SimpleNamespace(id=0)

    @property
    def __cuda_array_interface__(self):
        return self.home.__cuda_array_interface__

    def __getitem__(self, at):
        return there(plain(self)[plain(at)])

    def __setitem__(self, at, value):
        held = plain(self)
        held[at] = plain(value)
        self.home = stentor.to_device(held)

    def __abs__(self):
        return there(abs(plain(self)))

    def __getattr__(self, name):
        if name in ('real', 'imag'):
            return there(getattr(plain(self), name))
        if name in ('astype', 'reshape', 'copy', 'conj'):
            return lambda *given: there(getattr(plain(self), name)(*given))
        raise AttributeError(name)


def operator(name):
    return lambda self, other: there(getattr(plain(self), name)(plain(other)))


for name in ('add', 'radd', 'sub', 'rsub', 'mul', 'rmul', 'truediv', 'rtruediv', 'pow', 'eq', 'ne', 'gt'):
    setattr(Array, f'__{name}__', operator(f'__{name}__'))
Array.__neg__ = lambda self: there(-plain(self))
Array.__module__ = 'cupy'


def fake_cupy():
    """A stand-in for the module cupy, with NumPy's functions."""
    def function(name):
        return lambda *given, **named: there(getattr(np, name)(*map(plain, given), **named))

    names = ('concatenate', 'moveaxis', 'where', 'zeros', 'ones_like', 'zeros_like', 'asarray', 'stack', 'roll', 'conj', 'flip', 'pad', 'rint')
    cuda = types.SimpleNamespace(Device=lambda number: contextlib.nullcontext(), get_current_stream=lambda: types.SimpleNamespace(ptr=0))
    return module('cupy', ndarray=Array, empty=lambda shape, dtype: Array(stentor.DeviceArray(shape, dtype)), cuda=cuda,
                  **{name: function(name) for name in names})


class Composed(unittest.TestCase):
    def setUp(self):
        stack = contextlib.ExitStack()
        stack.enter_context(pretending(cupy=fake_cupy()))
        self.addCleanup(stack.close)
        # For these lengths the emulator runs transforms by Stentor's own kernels.
        self.x = RNG.standard_normal((7, 9))

    def same(self, function, *given, close=1e-11, **named):
        """Compares a function's result on the GPU with that on the host."""
        ours = function(*map(there, given), **named)
        self.assertIsInstance(ours, Array)
        theirs = function(*given, **named)
        self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
        np.testing.assert_allclose(plain(ours), theirs, rtol=close, atol=close * max(1.0, np.nanmax(np.abs(theirs))))

    def test_real_transforms(self):
        for name in ('dct', 'idct', 'dst', 'idst'):
            for kind in (1, 2, 3, 4):
                with self.subTest(name=name, kind=kind):
                    function = getattr(stentor.fft, name)
                    self.same(function, self.x, kind)
                    self.same(function, self.x, kind, axis=0, norm='ortho')
                    self.same(getattr(stentor.fft, name + 'n'), self.x.astype('f4'), kind, s=(8, 9), close=1e-5)
        self.same(stentor.fft.dct, self.x + 1j)
        self.same(stentor.fft.dct, self.x, n=5)

    def test_real_transforms_by_plans(self):
        x = RNG.standard_normal((40, 120))
        for function, kind in ((stentor.fft.dctn, 2), (stentor.fft.dstn, 3)):
            with self.subTest(function=function), unittest.mock.patch('stentor._real_transforms._by_arithmetic', None):
                self.same(function, x, kind, norm='ortho')

    def test_hermitian_and_helpers(self):
        self.same(stentor.fft.hfft, self.x + 1j)
        self.same(stentor.fft.ihfft, self.x, norm='ortho')
        self.same(stentor.fft.hfftn, self.x + 1j)
        self.same(stentor.fft.ihfft2, self.x)
        self.same(stentor.fft.fftshift, self.x)
        self.same(stentor.fft.ifftshift, self.x, axes=1)
        self.same(stentor.fft.fftn, self.x, axes=())

    def test_signal(self):
        kernel = RNG.standard_normal((2, 3))
        for mode in ('full', 'same', 'valid'):
            self.same(stentor.signal.fftconvolve, self.x, kernel, mode)
            self.same(stentor.signal.correlate, self.x + 1j, kernel, mode)
            self.same(stentor.signal.oaconvolve, RNG.standard_normal((3, 90)), kernel, mode)
        with self.assertRaisesRegex(ValueError, 'one device'):
            stentor.signal.fftconvolve(there(self.x), kernel)

    def test_plans_are_kept(self):
        """Plans whose scratch memory the library allocates stay cached, however large it is."""
        x, kernel = there(RNG.standard_normal((62, 62))), there(RNG.standard_normal((3, 3)))
        with unittest.mock.patch('stentor._memo.MAX_BYTES', 4096), unittest.mock.patch('stentor._scratch.TABLES', 256):
            stentor.clear_cache()
            stentor.signal.fftconvolve(x, kernel)
            with unittest.mock.patch('stentor._fft_run.make_plan', None):
                stentor.signal.fftconvolve(x, kernel)

    def test_types(self):
        """Numbers of all types are transformed as on the host, and so as in scipy."""
        seed = time.time_ns() % 2**32
        print('seed', seed)
        rng = np.random.default_rng(seed)
        for dtype in (*ELEMENT_OF, np.dtype('complex64')):
            x, kernel = ((20 * rng.random(shape)).astype(dtype) for shape in ((7, 9), (2, 3)))
            name = str(rng.choice(['fft', 'irfftn', 'dct', *(['rfft'] if dtype.kind != 'c' else [])]))
            with self.subTest(dtype=dtype, name=name):
                self.same(getattr(stentor.fft, name), x, close=1e-11 if real_of(dtype.name) == 'float64' else 2e-5)
                if dtype.kind in 'iu':
                    self.same(stentor.signal.convolve, x, kernel, method='fft')
        for dtype in ('uint8', 'int32', 'bool', 'float16'):  # of a library that is not known
            x = (20 * rng.random((7, 9))).astype(dtype)
            np.testing.assert_allclose(stentor.fft.rfft(stentor.to_device(x)).numpy(), np.fft.rfft(x.astype(float)), atol=1e-4)
        out = Array(np.zeros((7, 5), 'c16'))
        self.assertIs(stentor.fft.rfft(there(x.astype('i4')), out=out), out)
        np.testing.assert_allclose(plain(out), np.fft.rfft(x.astype('i4')), atol=1e-12)

    def test_lines_and_derivatives(self):
        self.same(stentor.correlate1d, self.x, weights=[1.0, 2, 4], axis=0)
        self.same(stentor.gaussian_filter1d, self.x, sigma=1.0)
        self.same(stentor.uniform_filter1d, self.x, size=3)
        self.same(stentor.sobel, self.x, axis=0)
        self.same(stentor.prewitt, self.x)
        self.same(stentor.gaussian_laplace, self.x, sigma=0.7)
        self.same(stentor.gaussian_gradient_magnitude, self.x, sigma=0.7)
        self.same(stentor.laplace, RNG.standard_normal((3, 4, 3, 4)))
        out = Array(np.zeros_like(self.x))
        self.assertIs(stentor.gaussian_laplace(there(self.x), 0.7, out), out)
        np.testing.assert_allclose(plain(out), stentor.gaussian_laplace(self.x, 0.7), rtol=1e-11, atol=1e-12)

    def test_missing(self):
        x = np.where(RNG.random((7, 9)) < 0.3, np.nan, self.x)
        with np.errstate(divide='ignore', invalid='ignore'):
            self.same(stentor.gaussian_filter, x, sigma=0.7, nan='ignore')
            self.same(stentor.gaussian_filter, x, sigma=0.7, mode='ignore:constant', nan='ignore')
            self.same(stentor.correlate, x, weights=np.ones((3, 3)), mode='ignore', nan='ignore')
            self.same(stentor.correlate, x, weights=np.ones((3, 3)), local=False, nan='ignore')
        self.same(stentor.uniform_filter, self.x, size=3, mode=('ignore', 'odd'))
        self.same(stentor.gaussian_filter, self.x, sigma=0.7, mode='odd', steps=2)
        with self.assertRaisesRegex(ValueError, 'there must be more'):
            stentor.gaussian_filter(there(self.x), 3, mode='odd')

    def test_random_missing_points(self):
        """Kernels for missing points, of any rank, type, boundary and taps, agree with the host."""
        seed = time.time_ns() % 2**32
        print('seed', seed)
        rng = np.random.default_rng(seed)
        for _ in range(int(os.environ.get('STENTOR_TEST_COUNT', 12)) // 6):
            ndim, name = int(rng.integers(1, 5)), str(rng.choice(['gaussian_filter', 'uniform_filter', 'correlate', 'gaussian_filter1d']))
            # Rows shorter and longer than a warp's 512 points, columns than a block's 128.
            shape = tuple(int(n) for n in rng.integers(9, 12 if ndim == 4 else 20, ndim))
            longer = int(rng.integers(0, ndim))
            if ndim < 4:
                shape = tuple(int(rng.choice([n, 130, 530])) if axis == longer else n for axis, n in enumerate(shape))
            x = (40 * rng.standard_normal(shape)).astype(rng.choice(['f2', 'f4', 'f8', 'u1', 'i4']))
            if x.dtype.kind == 'f':
                x[rng.random(shape) < rng.choice([0.0, 0.2, 0.7])] = np.nan
            kinds = ['reflect', 'constant', 'constant=nan', 'nearest', 'mirror', 'ignore', 'ignore:mirror', 'ignore:constant', 'wrap']
            named = {'mode': tuple(str(each) for each in rng.choice(kinds, ndim)), 'cval': float(rng.choice([0, 2])), 'nan': 'ignore',
                     'steps': int(rng.choice([1, 1, 2]))}
            if name == 'correlate':
                argument = {'weights': rng.random(tuple(int(n) for n in rng.integers(1, 4, ndim))) + 0.1}
                if ndim == 4:
                    argument['weights'] = argument['weights'][:1]
            elif name == 'gaussian_filter1d':
                named['mode'] = named['mode'][0]
                # Kernels add more than 48 taps in groups.
                argument = {'sigma': float(rng.uniform(0.4, 14 if shape[longer] > 100 else 2)), 'axis': longer}
            else:
                argument = {'sigma': float(rng.uniform(0.4, 2))} if name == 'gaussian_filter' else {'size': int(rng.integers(2, 9))}
            whole = x.dtype.kind in 'ui'
            close = 1.5 if whole else {2: 4e-3, 4: 1e-5, 8: 1e-11}[x.dtype.itemsize]
            with self.subTest(name=name, shape=shape, dtype=x.dtype, **argument, **named), np.errstate(all='ignore'):
                theirs = getattr(stentor, name)(x, **argument, **named)
                plain_array = getattr(stentor, name)(stentor.to_device(x), **argument, **named).numpy()
                self.assertEqual((plain_array.dtype, plain_array.shape), (theirs.dtype, theirs.shape))
                np.testing.assert_allclose(plain_array.astype('f8'), theirs.astype('f8'), rtol=0 if whole else close, atol=close * (1 if whole else 100))
                out = Array(np.zeros(shape, 'f4'))
                self.assertIs(getattr(stentor, name)(there(x), output=out, **argument, **named), out)
                theirs = getattr(stentor, name)(x, output=np.float32, **argument, **named)
                np.testing.assert_allclose(plain(out), theirs, rtol=4e-3, atol=4e-3 * 100 if x.dtype == np.float16 else 1e-3)

    def test_new_weights_of_a_normalized_plan(self):
        values = np.where(RNG.random((40, 50)) < 0.2, np.nan, RNG.standard_normal((40, 50)))
        x, out, layout = stentor.to_device(values), stentor.to_device(np.zeros((40, 50))), Layout.dense((40, 50))
        for first in (np.array([[1.0, 2, 4]]), np.array([[1.0, 2], [3, 4]])):
            request = Request(taps_of(first, [n // 2 for n in first.shape]), (0, 1), [WRAP] * 2, layout, layout, 'float64', 8, local=True, normalized=3)
            handle = stencil_plan(context(0), request, split_axes((0, 1), layout, layout))
            self.assertEqual(handle.strategy(), 'normalized')
            for weights in (first, first[::-1, ::-1] + 0.5):
                handle.set_weights(np.ascontiguousarray(weights.ravel()))
                handle.run(x.pointer, out.pointer)
                np.testing.assert_allclose(out.numpy(), stentor.correlate(values, weights, mode='wrap', nan='ignore'), rtol=1e-12, atol=1e-12)
            with self.assertRaisesRegex(ValueError, 'have the sum 0'):
                handle.set_weights(np.array([1.0, -1] + [0] * (first.size - 2)))
        with self.assertRaisesRegex(stentor.StentorError, 'host'):
            stencil_plan(context(HOST), request, split_axes((0, 1), layout, layout))

    def test_an_array_without_arithmetic(self):
        x = stentor.to_device(self.x)
        for call in (lambda: stentor.fft.dct(x), lambda: stentor.gaussian_laplace(x, 1),
                     lambda: stentor.gaussian_filter(x, 1, nan='ignore', local=False), lambda: stentor.gaussian_filter(x, 1, mode='odd'),
                     lambda: stentor.fft.fftshift(x), lambda: stentor.signal.fftconvolve(x, x)):
            with self.assertRaisesRegex(ValueError, 'arithmetic'):
                call()
        np.testing.assert_allclose(stentor.sobel(x, 0).numpy(), stentor.sobel(self.x, 0), rtol=1e-12, atol=1e-12)


if __name__ == '__main__':
    sys.exit(unittest.main())
