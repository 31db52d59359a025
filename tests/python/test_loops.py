"""Steps of the definition, and rare layouts (several batches, tiny arrays, overlapping outputs),
against loops and scipy."""
import itertools
import math
import unittest

import numpy as np
from scipy import ndimage

import stentor

RNG = np.random.default_rng(0)
MODES = ['wrap', 'constant', 'nearest', 'reflect', 'mirror']


class Steps(unittest.TestCase):
    """The reference implementation, against filters of scipy that are applied as often."""

    def check(self, x, stencil, boundary, steps, filtered):
        expected = x
        for _ in range(steps):
            expected = filtered(expected)
        ours = stentor.Plan(x.shape, stencil, boundary=boundary, steps=steps, device='host', strategy='host')(x)
        off = np.linalg.norm(ours - expected) / np.linalg.norm(expected)
        self.assertLessEqual(off, 1e-13 * (1 + math.log2(steps)))

    def test_correlate(self):
        rng = np.random.default_rng(1)
        shapes = [(1,), (7,), (101,), (1, 9), (13, 7), (31, 53), (3, 5, 7), (9, 1, 11), (17, 13, 33)]
        for shape, mode, steps in itertools.product(shapes, MODES, (1, 2, 7, 40)):
            weights = rng.uniform(-1, 1, [2 * rng.integers(0, min(n, 4) + 1) + 1 for n in shape])
            weights /= np.abs(weights).sum()  # so that no mode grows
            value = float(rng.uniform(-1, 1))
            with self.subTest(shape=shape, mode=mode, taps=weights.shape, steps=steps):
                self.check(rng.uniform(-1, 1, shape), weights, f'constant={value!r}' if mode == 'constant' else mode, steps,
                           lambda x: ndimage.correlate(x, weights, mode=mode, cval=value))

    def test_gaussian(self):
        for modes in itertools.product([mode for mode in MODES if mode != 'constant'], repeat=2):
            for sigma, steps in ((0.5, 1), (1.5, 3)):
                with self.subTest(modes=modes, sigma=sigma):
                    self.check(RNG.uniform(-1, 1, (23, 37)), f'gaussian-2d:sigma={sigma},truncate=3', list(modes), steps,
                               lambda x: ndimage.gaussian_filter(x, sigma, mode=modes, truncate=3))


class Loops(unittest.TestCase):
    def test_sources_that_differ_by_grid(self):
        """Each grid has its own source, with more points than the host processes at once."""
        x, source = RNG.standard_normal((2, 3, 1024, 1024))
        w = np.array([[0, 0.1, 0], [0.2, 0.3, 0.1], [0, 0.25, 0]])
        plan = stentor.Plan(x.shape, w, boundary='wrap', steps=3, source=True, device='host', strategy='host')
        expected = x
        for _ in range(3):
            expected = np.stack([ndimage.correlate(each, w, mode='wrap') for each in expected]) + source
        np.testing.assert_allclose(plan(x, source=source), expected, atol=1e-12)

    def test_many_grids_of_one_line(self):
        x = RNG.standard_normal((40, 65536)).astype(np.float32)
        plan = stentor.Plan(x.shape, [0.2, 0.5, 0.3], boundary='nearest', steps=2, device='host', strategy='host')
        expected = ndimage.correlate1d(ndimage.correlate1d(x, [0.2, 0.5, 0.3], mode='nearest'), [0.2, 0.5, 0.3], mode='nearest')
        np.testing.assert_allclose(plan(x), expected, atol=1e-5)

    def test_new_weights_that_reach_further_on_one_side(self):
        """After new weights are set, many steps have the reach of the new weights."""
        x = RNG.standard_normal(10007)
        for first, then in (((0.4, 0.5, 0.1, 0.0), (0.1, 0.2, 0.3, 0.4)), ((0.1, 0.3, 0.5, 0.1), (0.6, 0.2, 0.1, 0.1))):
            taps = [(-1,), (0,), (1,), (2,)]
            plan = stentor.Plan(x.shape, dict(zip(taps, [w or 1e-9 for w in first])), boundary='wrap', steps=400, device='host')
            plan(x)
            plan.weights = list(then)
            spectrum = sum(w * np.exp(2j * np.pi * np.arange(len(x)) * o[0] / len(x)) for w, o in zip(then, taps)) ** 400
            np.testing.assert_allclose(plan(x), np.fft.ifft(np.fft.fft(x) * spectrum).real, atol=1e-11)

    def test_frames_of_a_batch(self):
        """Each frame of each grid is at its index in the result."""
        x = RNG.standard_normal((3, 2, 9, 11))
        w = RNG.standard_normal((3, 3)) / 9
        frames = stentor.Plan(x.shape, w, boundary='mirror', steps=6, every=2, device='host')(x)
        self.assertEqual(frames.shape, (3, *x.shape))
        for b in np.ndindex(3, 2):
            one = x[b]
            for step in range(1, 7):
                one = ndimage.correlate(one, w, mode='mirror')
                if step % 2 == 0:
                    np.testing.assert_allclose(frames[(step // 2 - 1, *b)], one, atol=1e-12)

    def test_taps_that_fold_more_than_once(self):
        x = np.array([1.0, 2.0, 4.0])
        for mode in MODES:
            for w in (np.arange(1.0, 8.0), np.ones(7), np.arange(1.0, 14.0)):
                np.testing.assert_allclose(stentor.correlate(x, w, mode=mode), ndimage.correlate(x, w, mode=mode), atol=1e-12, err_msg=mode)

    def test_corners_of_an_array_smaller_than_its_weights(self):
        x = np.array([[1.0, 2.0], [4.0, 8.0]])
        w = RNG.standard_normal((7, 7))
        for a, b in itertools.product(MODES, repeat=2):
            expected = ndimage.correlate(np.pad(np.pad(x, [(9, 9), (0, 0)], **self.padding(a)), [(0, 0), (9, 9)], **self.padding(b)), w)[9:-9, 9:-9]
            np.testing.assert_allclose(stentor.correlate(x, w, mode=[a, b]), expected, atol=1e-12, err_msg=f'{a}, {b}')

    def test_corners_past_constant_sides_have_the_constant_of_the_slowest_axis(self):
        # Of the 191 x 191 taps, which are more than one sum takes, 2 rows and 2 columns are inside.
        for size in (5, 191):
            expected = (size - 2) * size * 1 + 2 * (size - 2) * 100
            for local in (None, True):
                made = stentor.correlate(np.zeros((2, 2)), np.ones((size, size)), mode=['constant=1', 'constant=100'], local=local)
                if local or size == 5:
                    np.testing.assert_array_equal(made, np.full((2, 2), expected))
                else:  # by transforms
                    np.testing.assert_allclose(made, np.full((2, 2), expected), rtol=1e-14)

    def test_laplacian_of_some_axes(self):
        """The other axes are not smoothed."""
        x = RNG.standard_normal((11, 3))
        expected = np.stack([ndimage.gaussian_laplace(each, 1.3) for each in x.T], axis=1)
        np.testing.assert_allclose(stentor.gaussian_laplace(x, 1.3, axes=(0,)), expected, atol=1e-12)

    def test_means_of_integers_between_fixed_sides(self):
        x = np.array([[9, 900], [7, 700], [3, 300], [1, 3]], np.int32)
        np.testing.assert_array_equal(stentor.uniform_filter1d(x, 3, axis=0, mode='fixed'), [[9, 900], [6, 633], [3, 334], [1, 3]])
        np.testing.assert_array_equal(stentor.uniform_filter1d(np.array([5, 1, 9, 1]), 3, mode='fixed'), [5, 5, 3, 1])

    def test_whole_weights_of_sum_one_on_integers(self):
        sharpen = np.array([[0, -1, 0], [-1, 5, -1], [0, -1, 0]])
        for weights in (sharpen, np.array([[-1, 0], [5, -3]]), sharpen / 4 + np.array([[0, 0, 0], [0, 0.75, 0], [0, 0, 0]])):
            for dtype in (np.uint8, np.int16, np.int32):
                x = RNG.integers(0, 120, (190, 180)).astype(dtype)
                np.testing.assert_array_equal(stentor.correlate(x, weights, output=np.int32), ndimage.correlate(x, weights, output=np.int32))

    def test_constants_of_integers_stay_where_sides_are_left_out(self):
        for value in (1, 7, 119):
            x = np.full((12, 13), value, np.uint8)
            for given in ({'mode': 'ignore'}, {'nan': 'ignore'}):
                np.testing.assert_array_equal(stentor.uniform_filter(x, 3, **given), x)
                np.testing.assert_array_equal(stentor.gaussian_filter(x, 1, **given), x)
        np.testing.assert_array_equal(stentor.uniform_filter(np.array([6, 7, 8], np.uint8), 3, mode='ignore'), [6, 7, 7])

    @staticmethod
    def padding(mode):
        return {'mode': {'mirror': 'reflect', 'reflect': 'symmetric', 'nearest': 'edge'}.get(mode, mode)}

    def test_an_output_that_overlaps_the_input(self):
        functions = (lambda x, out: stentor.correlate(x, np.ones((3, 3)), output=out), lambda x, out: stentor.gaussian_filter(x, 1.0, output=out),
                     lambda x, out: stentor.uniform_filter(x, 3, output=out), lambda x, out: stentor.laplace(x, output=out, steps=3),
                     lambda x, out: stentor.Plan(x.shape, np.ones((3, 3)), device='host')(x, output=out))
        for function in functions:
            for cut in ((slice(0, 20), slice(0, 20)), (slice(0, 20), slice(1, 21)), (slice(1, 21), slice(0, 20)), (slice(20, 0, -1), slice(20, 40))):
                whole = RNG.standard_normal((40, 20))
                x, out = whole[cut[0]], whole[cut[1]]
                expected = function(x.copy(), np.empty((20, 20)))
                function(x, out)
                np.testing.assert_array_equal(out, expected)

    def test_an_output_that_overlaps_the_source(self):
        plan = stentor.Plan((20, 20), np.ones((3, 3)), steps=2, source=True, device='host')
        whole, x = RNG.standard_normal((21, 20)), RNG.standard_normal((20, 20))
        expected = plan(x, source=whole[1:].copy())
        np.testing.assert_array_equal(plan(x, source=whole[1:], out=whole[:20]), expected)


if __name__ == '__main__':
    unittest.main()
