"""Global and local accuracy: relative to the whole grid, or to the values read by a point."""
import unittest

import numpy as np
import scipy.ndimage
import scipy.signal

import stentor
from run_settings import COUNT, SEED

HEAT = np.array([[0, 0.25, 0], [0.25, 0, 0.25], [0, 0.25, 0.0]])


def by_scipy(x, weights, steps, **more):
    for _ in range(steps):
        x = scipy.ndimage.correlate(x, weights, **more)
    return x


class Local(unittest.TestCase):
    def test_nan_stays_where_steps_leave_it(self):
        x = np.ones((64, 64))
        x[20, 31] = np.nan
        want = by_scipy(x, HEAT, 12)
        for local in (None, True):
            got = stentor.correlate(x, HEAT, steps=12, local=local)
            np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
            np.testing.assert_allclose(got, want, rtol=1e-13)

    def test_values_are_accurate_relative_to_what_reaches_them(self):
        x = np.full((256, 256), 1e-6)
        x[:4] = 0
        x[128, 128] = 1e9
        want = by_scipy(x, HEAT, 40, mode='wrap')
        got = stentor.correlate(x, HEAT, steps=40, mode='wrap', local=True)
        np.testing.assert_allclose(got, want, rtol=1e-12)
        empty = np.zeros((128, 128))
        empty[64, 64] = 1
        got = stentor.correlate(empty, HEAT, steps=20, mode='wrap', local=True)
        self.assertEqual(np.count_nonzero(got), np.count_nonzero(by_scipy(empty, HEAT, 20, mode='wrap')))

    def test_random_places_against_scipy(self):
        seed = np.random.SeedSequence().entropy
        rng = np.random.default_rng(seed)
        for trial in range(40):
            shape = tuple(rng.integers(3, 40, rng.integers(1, 3)))
            weights = rng.random(tuple(2 * rng.integers(0, 2, len(shape)) + 1)) / 9
            x = rng.random(shape)
            x[tuple(rng.integers(0, n) for n in shape)] = rng.choice([np.nan, np.inf, -np.inf])
            steps, mode = int(rng.integers(1, 30)), str(rng.choice(['reflect', 'wrap', 'nearest', 'mirror']))
            with self.subTest(seed=seed, trial=trial, shape=shape, steps=steps, mode=mode):
                want = by_scipy(x, weights, steps, mode=mode)
                for local in (None, True):
                    got = stentor.correlate(x, weights, steps=steps, mode=mode, local=local)
                    np.testing.assert_array_equal(np.isfinite(got), np.isfinite(want))
                    np.testing.assert_allclose(got, want, rtol=1e-11)

    def test_values_past_a_side_need_not_be_finite(self):
        for value in (np.nan, np.inf, -np.inf):
            for n in (5, 64, 2000):
                x = np.linspace(0, 1, n)
                want = by_scipy(x, np.ones(3) / 3, 3, mode='constant', cval=value)
                got = stentor.correlate(x, np.ones(3) / 3, mode='constant', cval=value, steps=3)
                np.testing.assert_allclose(got, want)
        got = stentor.correlate(np.ones(9, np.float32), np.ones(3), mode='constant', cval=1e40)
        self.assertEqual(list(np.isinf(got)), [True] + 7 * [False] + [True])

    def test_many_weights_are_the_planners_choice(self):
        rng = np.random.default_rng(7)
        x, weights = rng.random((200, 180)), rng.random((41, 41)) - 0.5
        want = scipy.ndimage.correlate(x, weights, mode='reflect')
        for local in (None, True, False):
            np.testing.assert_allclose(stentor.correlate(x, weights, local=local), want, atol=1e-10)
        x[50, 60] = np.nan
        want = scipy.ndimage.correlate(x, weights, mode='reflect')
        np.testing.assert_allclose(stentor.correlate(x, weights), want, atol=1e-10)

    def test_wide_taps_are_the_planners_choice(self):
        """Taps along one axis that reach over 64 points, and over 1024, by transforms."""
        rng = np.random.default_rng(SEED)
        for shape, axis, count in (((20001,), 0, 2001), ((3, 9001), 1, 1201), ((5001, 11), 0, 1500), ((20, 4001, 3), 1, 900), ((8001,), 0, 4001),
                                   ((701,), 0, 1999)):
            mode = str(rng.choice(['reflect', 'wrap', 'nearest', 'mirror', 'constant']))
            origin = int(rng.integers(-count // 3, count // 3))
            x, weights = rng.random(shape) - 0.5, rng.random(count) - 0.5
            with self.subTest(seed=SEED, shape=shape, axis=axis, count=count, mode=mode, origin=origin):
                more = {'axis': axis, 'mode': mode, 'cval': 0.7, 'origin': origin}
                want = scipy.ndimage.correlate1d(x, weights, **more)
                for local in (None, True, False):
                    np.testing.assert_allclose(stentor.correlate1d(x, weights, local=local, **more), want, atol=1e-12)
                x[tuple(n // 3 for n in shape)] = np.nan
                want = scipy.ndimage.correlate1d(x, weights, **more)
                np.testing.assert_allclose(stentor.correlate1d(x, weights, **more), want, atol=1e-12)
        for count in (2001, 4001):  # only transforms turn zeros into rounding errors
            impulse = np.zeros(20001)
            impulse[10000] = 1
            weights = rng.random(count)
            self.assertGreater(np.count_nonzero(stentor.correlate1d(impulse, weights, mode='constant')), count)
            self.assertEqual(np.count_nonzero(stentor.correlate1d(impulse, weights, mode='constant', local=True)), count)

    def test_wide_taps_in_two_dimensions(self):
        """Taps that reach over 64 points, and over the array; integers stay exact."""
        rng = np.random.default_rng(SEED)
        for shape, size in (((130, 150), (139, 141)), ((61, 200), (131, 70))):
            weights = rng.integers(-9, 10, size).astype(float)
            x = rng.integers(0, 99, shape)
            mode = str(rng.choice(['reflect', 'wrap', 'nearest', 'mirror', 'constant']))
            with self.subTest(seed=SEED, shape=shape, size=size, mode=mode):
                want = scipy.signal.correlate(self.padded(x, size, mode), weights.astype(int), 'valid', 'direct')
                for dtype, close in (('f8', 1e-12), ('f4', 1e-6), ('i4', 0)):
                    got = stentor.correlate(x.astype(dtype), weights, mode=mode, cval=3)
                    np.testing.assert_allclose(got, want, rtol=0, atol=close * abs(want).max(), err_msg=dtype)
        big = stentor.Plan((200, 300), {(i, j): 1.0 for i in range(-70, 71) for j in range(-70, 71)}, device='host')
        self.assertEqual(big.strategy, 'host-spectral')

    @staticmethod
    def padded(x, size, mode):
        reach = [(n // 2, (n - 1) // 2) for n in size]
        name = {'reflect': 'symmetric', 'mirror': 'reflect', 'nearest': 'edge'}.get(mode, mode)
        return np.pad(x, reach, name, **({'constant_values': 3} if mode == 'constant' else {}))

    def test_short_axes_and_taps_longer_than_them(self):
        seed = np.random.SeedSequence().entropy
        rng = np.random.default_rng(seed)
        modes = ['reflect', 'wrap', 'nearest', 'mirror', 'constant']
        for trial in range(60):
            shape = tuple(rng.integers(1, (60, 9, 7)))[rng.integers(0, 2):]
            sigma = rng.choice([0.6, 2.0, 5.0, 9.0], len(shape))
            dtype, mode = rng.choice(['f8', 'f4', 'i2', 'u1']), str(rng.choice(modes))
            x = (100 * rng.random(shape)).astype(dtype)
            if dtype[0] == 'f' and trial % 3 == 0:
                x[tuple(rng.integers(0, n) for n in shape)] = np.nan
            cval = float(rng.choice([0, 2.5, np.nan])) if dtype[0] == 'f' else 3.0
            with self.subTest(seed=seed, trial=trial, shape=shape, sigma=sigma, dtype=dtype, mode=mode, cval=cval):
                got = stentor.gaussian_filter(x, sigma, mode=mode, cval=cval)
                want = scipy.ndimage.gaussian_filter(x, sigma, mode=mode, cval=cval)
                np.testing.assert_allclose(got.astype('f8'), want.astype('f8'), rtol=1e-5 if dtype == 'f4' else 1e-12,
                                           atol=1.01 if dtype[0] in 'iu' else 0)

    def test_constants_stay_along_short_axes(self):
        for n in range(1, 12):
            for dtype in ('f8', 'f4', 'u1'):
                for sigma in (0.7, 3.0, 20.0):
                    x = np.full((5, n), 7, dtype)
                    np.testing.assert_array_equal(stentor.gaussian_filter(x, sigma).round(13), x)

    def test_plans_say_it(self):
        plan = stentor.Plan((64, 64), 'heat-2d', steps=50, device='host', accuracy='local')
        self.assertIn('accurate locally', plan.describe())
        x = np.ones((64, 64))
        x[3, 3] = np.inf
        self.assertEqual(np.isfinite(plan(x)).all(), False)
        with self.assertRaisesRegex(ValueError, 'accuracy'):
            stentor.Plan((64, 64), 'heat-2d', accuracy='exact')
        with self.assertRaisesRegex(TypeError, 'local'):
            stentor.correlate(x, HEAT, local='yes')


class NonFinite(unittest.TestCase):
    """A result with non-finite values is computed again step by step, in any layout."""

    @staticmethod
    def by_grids(x, weights, axes, mode):
        """Each grid by itself, dense and step by step."""
        last = tuple(range(x.ndim - len(axes), x.ndim))
        moved = np.ascontiguousarray(np.moveaxis(x, sorted(axes), last))
        for index in np.ndindex(moved.shape[:-len(axes)]):
            moved[index] = stentor.correlate(moved[index], weights, mode=mode, local=True)
        return np.moveaxis(moved, last, sorted(axes))

    def test_axes_that_are_looped_over(self):
        rng = np.random.default_rng(3)
        x = rng.random((2, 2, 2, 200, 180)).transpose(2, 1, 0, 3, 4)
        x[1, 0, 1, 30, 20] = np.nan
        weights = rng.random((41, 41))
        got = stentor.correlate(x, weights, axes=(3, 4))
        self.assertEqual(np.isnan(got).sum(), 41 * 41)
        np.testing.assert_allclose(got, self.by_grids(x, weights, (3, 4), 'reflect'), rtol=1e-10)

    def test_random_layouts(self):
        rng = np.random.default_rng(SEED)
        for trial in range(max(1, COUNT // 2)):
            others = rng.integers(1, 4, 3 + trial % 2)
            filtered = rng.integers(90, 140, 2) if trial % 4 else [rng.integers(4000, 9000)]
            extents = [*others, *filtered]
            place = rng.permutation(len(extents))  # axis i of the array is place[i] of `extents`
            shape = np.array(extents)[place]
            axes = [int(a) for a in rng.permutation(len(shape)) if place[a] >= len(others)]
            order = rng.permutation(len(shape))  # of memory
            every = rng.choice([1, 1, 1, 2, -1], len(shape))
            if trial % 8:  # other arrays are copied and have no loops
                order = np.append(order[order != len(shape) - 1], len(shape) - 1)
                every = np.append(abs(every[:-1]), 1)
            whole = rng.random(np.array([n * abs(step) for n, step in zip(shape, every)])[order])
            x = whole.transpose(np.argsort(order))[tuple(slice(None, None, step) for step in every)]
            weights = rng.random((31, 31) if len(axes) == 2 else 801)
            mode = str(rng.choice(['reflect', 'wrap', 'nearest', 'mirror', 'constant']))
            for _ in range(rng.integers(1, 3)):
                x[tuple(rng.integers(0, n) for n in shape)] = rng.choice([np.nan, np.inf, -np.inf])
            with self.subTest(seed=SEED, trial=trial, shape=x.shape, strides=x.strides, axes=axes, mode=mode):
                got = stentor.correlate(x, weights, axes=[a - x.ndim * int(rng.integers(0, 2)) for a in axes], mode=mode)
                np.testing.assert_allclose(got, self.by_grids(x, weights, axes, mode), rtol=1e-10)


if __name__ == '__main__':
    unittest.main()
