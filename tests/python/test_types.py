"""Arrays of all number types on a GPU, against scipy: random functions, types, shapes, boundaries.

    test_types.py [--count N] [--seed S]

Results that are whole numbers must be equal; others agree to rounding.
"""
import argparse
import sys
import time
import types
import unittest

import numpy as np
from scipy import ndimage

import stentor
from test_kinds import Tensor, fake_torch, pretending

WHOLE = ('uint8', 'int8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'bool')
REAL = ('float32', 'float64')
MODES = ('reflect', 'constant', 'nearest', 'mirror', 'wrap')
given = types.SimpleNamespace(count=40, seed=0)


def array_of(rng, shape, dtype):
    if dtype == 'bool':
        return rng.random(shape) < 0.5
    if dtype.startswith('complex'):
        return (rng.standard_normal(shape) + 1j * rng.standard_normal(shape)).astype(dtype)
    if dtype.startswith('float'):
        return (50 * rng.standard_normal(shape)).astype(dtype)
    edge = np.iinfo(dtype)
    # Constant areas are where sums come close to whole numbers, and truncation needs all bits.
    some = rng.integers(max(edge.min, -1000), min(edge.max, 1000), shape).astype(dtype)
    return np.where(rng.random(shape[:1] + (1,) * (len(shape) - 1)) < 0.3, dtype_max(dtype), some).astype(dtype)


def dtype_max(dtype):
    return min(np.iinfo(dtype).max, 10**6)


def drawn(rng):
    """A function of a module and an array, and its description."""
    ndim = int(rng.integers(1, 4))
    shape = tuple(int(n) for n in rng.integers(9, 30 if ndim < 3 else 14, ndim))
    dtype = str(rng.choice(WHOLE + REAL))
    mode, cval = str(rng.choice(MODES)), float(rng.choice([0.0, 1.0, -3.0, 2.5]))
    output = None if rng.random() < 0.6 else str(rng.choice(WHOLE + REAL))
    named = dict(mode=mode, cval=cval)
    if output:
        named['output'] = np.dtype(output)
    kind = int(rng.integers(0, 8))
    if kind == 0:
        args, name = (float(rng.uniform(0.4, 2.0)),), 'gaussian_filter'
    elif kind == 1:
        args, name = (int(rng.integers(2, 8)),), 'uniform_filter'
    elif kind in (2, 3):
        weights = rng.integers(-3, 9, tuple(rng.integers(1, 4, ndim))).astype(float)
        # Sums of these are exact: scipy's order of summation over several axes is not the host's.
        args, name = (weights if kind == 2 else weights / 8,), str(rng.choice(['correlate', 'convolve']))
    elif kind == 4:
        args, name = (int(rng.integers(0, ndim)),), str(rng.choice(['sobel', 'prewitt']))
    elif kind == 5:
        args, name = (), 'laplace'
    elif kind == 6:
        args, name = (rng.standard_normal(int(rng.integers(1, 6))), int(rng.integers(0, ndim))), str(rng.choice(['correlate1d', 'convolve1d']))
    else:
        args, name = (float(rng.uniform(0.4, 2.0)), int(rng.integers(0, ndim)), int(rng.integers(0, 3))), 'gaussian_filter1d'
    return array_of(rng, shape, dtype), (lambda module, x, **more: getattr(module, name)(x, *args, **named, **more)), (name, shape, dtype, output, mode)


def bits_of_bfloat(x):
    """float32 rounded to bfloat16, as its bits."""
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32).astype(np.uint64)
    return ((bits + 0x7fff + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def of_bfloat(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


class Types(unittest.TestCase):
    def test_random_cases(self):
        seed = given.seed or time.time_ns() % 2**32
        print('seed', seed)
        rng, done = np.random.default_rng(seed), 0
        while done < given.count:
            x, function, what = drawn(rng)
            want = function(ndimage, x)
            if want.dtype.kind == 'f' and not np.isfinite(want).all():
                continue
            # Values outside of int64's range, and bool from fractions, are as on the host.
            host = function(stentor, x)
            if what[0] == 'laplace':  # which may take sums, that a DeviceArray does not have
                with pretending(torch=fake_torch([])):
                    got = function(stentor, Tensor(x)).home.numpy()
            else:
                got = function(stentor, stentor.to_device(x)).numpy()
            self.assertEqual(got.dtype, want.dtype, what)
            if got.dtype.kind in 'iub':
                np.testing.assert_array_equal(got, host, str(what))
                # Gaussians keep constants, where scipy may truncate 126.999 to 126 along each axis.
                if what[0].startswith('gaussian'):
                    self.assertLessEqual(np.abs(got.astype(np.int64) - want.astype(np.int64)).max(), x.ndim, what)
                elif got.dtype.kind != 'b':
                    np.testing.assert_array_equal(got, want, str(what))
            else:
                scale = max(1.0, float(np.abs(want).max(initial=0)), float(np.abs(x.astype(float)).max()))
                np.testing.assert_allclose(got, want, rtol=0, atol=(1e-5 if got.dtype == np.float32 or x.dtype == np.float32 else 1e-12) * scale,
                                           err_msg=str(what))
            done += 1

    def test_negative_values_past_sides(self):
        rng = np.random.default_rng(4)
        for dtype in ('int8', 'int16'):
            for shape in ((13, 12, 12), (40, 16), (9, 24), (64,), (7, 8, 64)):
                x = rng.integers(-15, 16, shape).astype(dtype)
                for axis in range(len(shape)):
                    for cval in (-1.0, -3.0, -17.0, 3.0):
                        for weights in ([1, 2, 1], [1, 0, 0, 0, -2], [-1, 0, 1]):
                            named = dict(axis=axis, mode='constant', cval=cval, output=np.dtype(dtype))
                            want = ndimage.correlate1d(x.astype('int64'), weights, **dict(named, output=None)).astype(dtype)
                            if np.abs(ndimage.correlate1d(x.astype('f8'), weights, **dict(named, output=None))).max() > 127:
                                continue
                            got = stentor.correlate1d(stentor.to_device(x), weights, **named).numpy()
                            np.testing.assert_array_equal(got, want, str((dtype, shape, axis, cval, weights)))

    def test_output_array(self):
        rng = np.random.default_rng(1)
        x = rng.integers(0, 256, (20, 24)).astype(np.uint8)
        for dtype in ('uint8', 'int16', 'float32', 'float64'):
            out = stentor.to_device(np.zeros(x.shape, dtype))
            self.assertIs(stentor.gaussian_filter(stentor.to_device(x), 1.2, output=out), out)
            np.testing.assert_allclose(out.numpy(), ndimage.gaussian_filter(x, 1.2, output=np.dtype(dtype)), rtol=1e-6)
        same = stentor.to_device(x)
        stentor.uniform_filter(same, 3, output=same)
        np.testing.assert_array_equal(same.numpy(), ndimage.uniform_filter(x, 3))
        with self.assertRaisesRegex(RuntimeError, 'shape'):
            stentor.laplace(stentor.to_device(x), output=stentor.to_device(x[1:]))

    def test_steps_round_after_each(self):
        x = np.random.default_rng(2).integers(0, 256, (20, 24)).astype(np.uint8)
        got = stentor.uniform_filter(stentor.to_device(x), 3, steps=3).numpy()
        np.testing.assert_array_equal(got, stentor.uniform_filter(x, 3, steps=3))

    def test_composed(self):
        x = np.random.default_rng(3).integers(0, 256, (20, 24)).astype(np.uint8)
        with self.assertRaisesRegex(ValueError, 'PyTorch, CuPy or JAX'):
            stentor.gaussian_filter(stentor.to_device(x), 1.0, mode='odd')

    def test_plans(self):
        """Plans have the results of the host, with several steps too."""
        rng = np.random.default_rng(6)
        for dtype in ('uint8', 'bool', 'complex64'):
            x, w = array_of(rng, (20, 24), dtype), rng.integers(-1, 3, (3, 3)) / 16
            for steps in (1, 3):
                ours, host = (stentor.Plan(x.shape, w, 'constant=2.5', dtype, steps, device=device) for device in ('cuda', 'host'))
                want, out = host(x), stentor.to_device(np.zeros_like(x))
                self.assertIs(ours(stentor.to_device(x), out), out)
                np.testing.assert_allclose(out.numpy(), want, rtol=0, atol=1e-3 if dtype == 'complex64' else 0)
        with pretending(torch=fake_torch([])):
            bits = bits_of_bfloat(100 * rng.standard_normal((20, 24)))
            got = stentor.Plan((20, 24), w, 'constant=2.5', 'bfloat16', device='cuda')(Tensor(bits, dtype='bfloat16'))
            self.assertEqual(got.dtype, 'torch.bfloat16')
            want = ndimage.correlate(of_bfloat(bits), w, mode='constant', cval=2.5)
            np.testing.assert_allclose(of_bfloat(got.home.numpy()), want, atol=1e-2 * np.abs(want).max())
            with self.assertRaisesRegex(ValueError, 'the plan is for uint8'):
                stentor.Plan((20, 24), w, dtype='uint8', device='cuda')(Tensor(bits))

    def test_bfloat16(self):
        x = (100 * np.random.default_rng(4).standard_normal((20, 24))).astype(np.float32)
        bits = bits_of_bfloat(x)
        with pretending(torch=fake_torch([])):
            given_, want = Tensor(bits, dtype='bfloat16'), ndimage.gaussian_filter(of_bfloat(bits), 1.0)
            got = stentor.gaussian_filter(given_, 1.0)
            self.assertEqual(got.dtype, 'torch.bfloat16')
            np.testing.assert_allclose(of_bfloat(got.home.numpy()), want, atol=1e-2 * np.abs(want).max())
            wide = stentor.gaussian_filter(given_, 1.0, output='float32')
            np.testing.assert_allclose(wide.home.numpy(), want, atol=1e-5 * np.abs(want).max())
            narrow = stentor.gaussian_filter(Tensor(x), 1.0, output='bfloat16')
            self.assertEqual(narrow.dtype, 'torch.bfloat16')

    def test_complex(self):
        rng = np.random.default_rng(5)
        weights = rng.standard_normal((3, 3)) + 1j * rng.standard_normal((3, 3))
        with pretending(torch=fake_torch([])):
            for dtype in ('complex64', 'complex128'):
                x, near = array_of(rng, (12, 14), dtype), 1e-5 if dtype == 'complex64' else 1e-12
                for function in (lambda m, a: m.gaussian_filter(a, 1.0), lambda m, a: m.uniform_filter(a, 3),
                                 lambda m, a: m.correlate(a, weights.real, mode='constant', cval=1 + 2j),
                                 lambda m, a: m.correlate(a, weights), lambda m, a: m.convolve(a, weights, mode='constant', cval=1 - 1j)):
                    got, want = function(stentor, Tensor(x)), function(ndimage, x)
                    self.assertEqual(got.dtype, f'torch.{dtype}')
                    np.testing.assert_allclose(got.home.numpy(), want, atol=near * 20)
            x = rng.integers(0, 256, (12, 14)).astype(np.uint8)
            np.testing.assert_allclose(stentor.correlate(Tensor(x), weights).home.numpy(), ndimage.correlate(x, weights), rtol=1e-4, atol=1e-2)


if __name__ == '__main__':
    parser = argparse.ArgumentParser()
    parser.add_argument('--count', type=int, default=given.count)
    parser.add_argument('--seed', type=int, default=0)
    wanted, rest = parser.parse_known_args()
    given.count, given.seed = wanted.count, wanted.seed
    unittest.main(argv=[sys.argv[0], *rest])
