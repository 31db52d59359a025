"""The filters against scipy.ndimage, over random arguments."""
import os
import re
import time
import unittest
import unittest.mock
import warnings

import numpy as np
from scipy import ndimage

import stentor
from random_cases import MODES, RandomCase, agree, draw_view
from stentor import _memo

WHOLE = ['uint8', 'int8', 'int16', 'uint16', 'int32', 'int64', 'bool', '>i4']


def random_shape(rng, rank):
    return tuple(int(n) for n in rng.integers(1, {1: 40, 2: 14, 3: 8, 4: 5}[rank], rank))


class Random(RandomCase):
    def test_small_arrays_have_the_results_of_plans(self):
        """Small arrays are filtered without plans, and larger ones, of copies, by plans."""
        def body(rng):
            rank, dtype = int(rng.integers(1, 4)), str(rng.choice(['f8', 'f4', 'u1', 'u2', 'i2', 'i4', '?']))
            x = np.asarray(rng.integers(0, 2 if dtype == '?' else 100, random_shape(rng, rank)), dtype)
            copies = np.repeat(x[None], 16384 // x.size + 1, axis=0)
            output = str(rng.choice(['u1', 'i4', 'u2', '?'])) if rng.random() < 0.5 and dtype[0] != 'f' else dtype
            mode = str(rng.choice([*MODES, 'fixed']))
            cval, axes = float(rng.choice([0, 3, 2.5])), tuple(range(1, rank + 1))
            name, given = [('gaussian_filter', rng.choice([0.5, 1.3, 3])), ('uniform_filter', int(rng.integers(2, 30))),
                           ('correlate', rng.standard_normal(rng.integers(1, 5, rank))), ('correlate', rng.integers(-3, 4, (3,) * rank))][rng.integers(4)]
            function = getattr(stentor, name)
            try:
                ours = function(x, given, output=np.dtype(output), mode=mode, cval=cval)
            except ValueError:
                return  # too wide for fixed sides
            theirs = function(copies, given, output=np.dtype(output), mode=mode, cval=cval, axes=axes)
            for each in theirs[[0, -1]]:
                agree(ours, each)
        self.each(body, seed=14)

    def test_small_filters_serve_other_shapes_and_weights(self):
        """Calls that differ in shape and weights only: a small filter is made by the second."""
        def body(rng):
            rank, dtype = int(rng.integers(1, 4)), str(rng.choice(['f8', 'f4', '>f8', 'i2', 'u1']))
            box, mode, cval = tuple(rng.integers(1, 5, rank)), str(rng.choice(MODES)), float(rng.choice([0, 2.5]))
            name, kind = str(rng.choice(['correlate', 'convolve'])), str(rng.choice(['f8', 'f4', 'i8', '>f8']))
            axes = tuple(int(axis) for axis in np.sort(rng.choice(rank + 1, rank, replace=False)))
            for i in range(6):
                shape = tuple(rng.integers(1, 2 + 130 // rank ** 3, rank + 1))
                x = draw_view(rng, shape, dtype) if rng.random() < 0.5 else np.asarray(rng.integers(0, 99, shape), dtype)
                if x.dtype.kind == 'f' and i % 3 == 2:
                    x[(0,) * x.ndim] = np.nan  # which a weight 0 does not read
                w = rng.integers(-3, 4, box).astype(kind) if i % 3 == 2 else np.asarray(rng.integers(1, 9, box), kind)
                w[(-1,) * rank] = 1
                wide = np.expand_dims(w, [axis for axis in range(rank + 1) if axis not in axes])
                agree(getattr(stentor, name)(x, w, mode=mode, cval=cval, axes=axes),
                      getattr(ndimage, name)(x, wide, mode=mode, cval=cval))
        self.each(body, seed=16)

    def test_small_filters_of_other_types_layouts_and_sigmas(self):
        """Results of other types and in given arrays, strided inputs, and a sigma for each axis."""
        def body(rng):
            rank, dtype, output = int(rng.integers(1, 4)), str(rng.choice(['f8', 'f4', '>f8', 'i2', 'u1', 'i8'])), str(rng.choice(['f8', 'f4', 'i4', '>f4']))
            order, mode = [int(o) for o in rng.choice([0, 0, 1], rank)], str(rng.choice(MODES))
            for i in range(6):
                shape = tuple(rng.integers(1, 2 + 130 // rank ** 3, rank))
                x = rng.integers(0, 99, (*shape, 2)).astype(dtype)[..., 0]
                sigma = [float(s) for s in rng.choice([0, 0.7, 0.8, 1.6], rank)]
                if i % 2:
                    sigma = np.array(sigma)
                given = dict(output=np.dtype(output), order=order, mode=mode, cval=2.5)
                expected = ndimage.gaussian_filter(x, sigma, **given)
                agree(stentor.gaussian_filter(x, sigma, **given), expected)
                given['output'] = np.full((*shape, 3), 77, output)[..., 1]
                self.assertIs(stentor.gaussian_filter(x, sigma, **given), given['output'])
                agree(given['output'], expected)
        self.each(body, seed=18)

    def test_small_filters_of_other_constants_and_boxes(self):
        """With another cval and box it has the bits of a filter that is made for them."""
        def body(rng):
            rank, dtype = int(rng.integers(1, 4)), str(rng.choice(['f8', 'f4', 'f2', 'u1', 'u2', 'i4', '?']))
            mode = str(rng.choice([*MODES, 'constant', 'constant', 'fixed', 'constant=3', 'reflect:constant']))
            mode = [mode] * int(rng.integers(1, 2)) + [str(rng.choice([*MODES, 'constant', 'constant=0'])) for _ in range(rank - 1)]
            name, each = str(rng.choice(['laplace', 'sobel', 'gaussian_filter', 'correlate'])), rng.random() < 0.5
            more = {'gaussian_filter': (1.1,), 'correlate': (rng.integers(1, 9, (2,) * rank) / 4,)}.get(name, ())
            for _ in range(6):
                x = (99 * rng.random(tuple(rng.integers(1, 2 + 130 // rank ** 3, rank)))).astype(dtype)
                cval = (0.0, -0.0, 1, 2.5, np.nan, -np.inf)[rng.integers(6)] if dtype[0] == 'f' else int(rng.integers(0, 2))
                with np.errstate(all='ignore'):
                    got = getattr(stentor, name)(x, *more, mode=mode, cval=cval)
                    want = getattr(stentor, name)(x, *more, mode=mode, cval=np.float64(cval))
                    np.testing.assert_array_equal(got, want)
                    np.testing.assert_array_equal(np.signbit(got), np.signbit(want))
                    size = [int(n) for n in rng.integers(1, 40, rank)] if each else int(rng.integers(2, 140))
                    got = stentor.uniform_filter(x, size, mode=mode, cval=cval)
                    want = stentor.uniform_filter(x, size, mode=mode, cval=np.float64(cval), axes=tuple(range(rank)))
                    np.testing.assert_array_equal(got, want)
                if 'fixed' not in mode and dtype == 'f8' and np.isfinite(cval) and not any('=' in one or ':' in one for one in mode):
                    agree(got, ndimage.uniform_filter(x, size, mode=mode, cval=cval))
        self.each(body, seed=26)

    def test_small_filters_make_no_plan(self):
        x = np.random.default_rng(3).random((24, 40))
        stentor.clear_cache()
        calls = [lambda s, **named: stentor.gaussian_filter(x, s, **named), lambda s, **named: stentor.gaussian_filter(x[:, ::2], s, **named),
                 lambda s, **named: stentor.gaussian_filter(x, (s, 2 * s), **named), lambda s, **named: stentor.correlate(x, np.full((3, 3), s), **named),
                 lambda s, **named: stentor.laplace(x, mode='constant', cval=s, **named), lambda s, **named: stentor.sobel(x, mode='constant', cval=s, **named),
                 lambda s, **named: stentor.uniform_filter(x, round(1e3 * s) - 985, mode='constant', cval=s, **named),
                 lambda s, **named: stentor.uniform_filter(x, [round(1e3 * s) - 900, 1], origin=[round(1e3 * s) - 1001, 0], **named),
                 lambda s, **named: stentor.uniform_filter1d(x, round(1e3 * s) - 500, 0, **named),
                 lambda s, **named: stentor.gaussian_filter(x, s, order=[0, 1], **named),
                 lambda s, **named: stentor.correlate1d(x, np.full(301, s), **named)]
        outputs = [None, 'float32', np.empty((24, 40)), np.empty((24, 40), 'f4')]
        with unittest.mock.patch('stentor._apply.HostFilter', side_effect=AssertionError('a plan is made')):
            for call in calls:
                for output in outputs:
                    if call is not calls[1] or not isinstance(output, np.ndarray):
                        call(1.0, output=output), call(1.001, output=output)
            large = np.ones((300, 300))
            for s in (1.0, 1.1):
                stentor.correlate(large, np.full((3, 3), s)), stentor.uniform_filter1d(large, round(10 * s))
        # New weights use the filter of the second call.
        with unittest.mock.patch('stentor._apply.small_filter', side_effect=AssertionError('a filter is made')):
            for call in calls:
                for output in outputs:
                    if call is not calls[1] or not isinstance(output, np.ndarray):
                        call(1.002, output=output)
            stentor.correlate(large, np.full((3, 3), 1.2)), stentor.uniform_filter1d(large, 12)

    def test_boxes_of_all_sizes_origins_and_outputs(self):
        """The calls of a case share small filters, also of lines shorter than the box."""
        def body(rng):
            rank, dtype = int(rng.integers(1, 4)), str(rng.choice(['f8', 'f4', 'u1', 'i1', 'u2', 'i2', 'i4', 'u4', 'i8', '?']))
            mode, cval, axis = str(rng.choice(MODES)), float(rng.choice([0, 3, 2.5])), int(rng.integers(0, rank))
            output = rng.choice([None, 'f4', 'u1', 'i2', 'f8'])
            for i in range(6):
                x = (99 * rng.random(tuple(rng.integers(1, 2 + 500 // rank ** 3, rank)))).astype(dtype)
                sizes = [int(n) for n in rng.choice([1, 2, 3, 12, 13, 40, 150], rank)]
                origins = [int(rng.integers(-(n // 2), (n + 1) // 2)) for n in sizes]
                named = dict(mode=mode, cval=cval, output=output)
                agree(stentor.uniform_filter(x, sizes, origin=origins, **named), ndimage.uniform_filter(x, sizes, origin=origins, **named))
                size = int(rng.integers(2, 600))
                origin = int(rng.integers(-(size // 2), (size + 1) // 2))
                agree(stentor.uniform_filter1d(x, size, axis, origin=origin, **named),
                      ndimage.uniform_filter1d(x, size, axis, origin=origin, **named))
        self.each(body, seed=27)

    def test_short_last_axes(self):
        """They are moved first, since rows of few points are slow: the array has at least 4096."""
        def body(rng):
            points, dtype = int(rng.choice([1, 2, 3, 5, 8, 16, 17, 40, 64])), str(rng.choice(['u1', 'i4', 'i8', 'f4', 'f8']))
            shape = (*((-(-9000 // points),) if rng.random() < 0.5 else (7, -(-3000 // points))), points)
            x, mode, size = rng.integers(0, 99, shape).astype(dtype), str(rng.choice(MODES)), int(rng.integers(1, 9))
            w = rng.integers(1, 9, size)
            agree(stentor.correlate1d(x, w, mode=mode, cval=3), ndimage.correlate1d(x, w, mode=mode, cval=3))
            sigma = [0] * (x.ndim - 1) + [1.3]
            agree(stentor.gaussian_filter(x, sigma, mode=mode, cval=3), ndimage.gaussian_filter(x, sigma, mode=mode, cval=3))
            sigma[0] = 0.8
            agree(stentor.gaussian_filter(x, sigma, mode=mode, cval=3), ndimage.gaussian_filter(x, sigma, mode=mode, cval=3))
        self.each(body, seed=19)

    def test_short_rows_of_all_types(self):
        """Weights that are integers make exact sums, which have one result in any order."""
        def body(rng):
            rank = int(rng.integers(1, 4))
            shape = tuple(int(n) for n in (rng.integers(1, (80, 40, 10))[3 - rank:] if rng.random() < 0.5 else (rng.integers(500, 1500), rng.integers(1, 34))))
            x = rng.integers(0, 100, shape).astype(str(rng.choice([*WHOLE, 'uint32', 'uint64', 'float32', 'float64'])))
            given = dict(mode=str(rng.choice(MODES)), cval=2.0, output=str(rng.choice([*(() if x.dtype == bool else (x.dtype.name,)), 'int32', 'float64'])))
            w, line, axis = rng.integers(-9, 10, rng.integers(1, 6, x.ndim)), rng.integers(-9, 10, rng.integers(1, 12)), int(rng.integers(x.ndim))
            for each in (x, np.repeat(x, 2, -1)[..., ::2]):
                agree(stentor.correlate(each, w, **given), ndimage.correlate(x, w, **given))
                agree(stentor.correlate1d(each, line, axis, **given), ndimage.correlate1d(x, line, axis, **given))
        self.each(body, seed=20)

    def test_short_rows_take_the_time_of_long_ones(self):
        def seconds(x, w):
            made = []
            for _ in range(9):
                started = time.perf_counter()
                stentor.correlate(x, w)
                made.append(time.perf_counter() - started)
            return min(made)

        w = np.random.default_rng(12).standard_normal((5, 5))
        for dtype in ('i2', 'u4', '?'):
            long = np.ones((300, 300), dtype)
            for points in (1, 2):
                with self.subTest(dtype=dtype, points=points):
                    self.assertLess(seconds(long.reshape(-1, points), w), 15 * seconds(long, w))
        self.assertLess(seconds(np.ones((20000, 1), 'i2'), [[1, 2, 4]]), 20 * seconds(np.ones((20, 1000), 'i2'), [[1, 2, 4]]))

    def test_very_many_taps_take_transforms(self):
        """Single steps to float32 sum results alone that are close to a boundary of rounding."""
        weights, seconds = np.random.default_rng(13).standard_normal((101, 101)), []
        for accuracy in ('local', 'global'):
            plan = stentor.Plan((828, 1125), weights, boundary='mirror', dtype='f4', device='host', accuracy=accuracy)
            seconds.append(float(re.search(r'predicted: +(\S+) s', plan.describe())[1]))
        self.assertGreater(seconds[0], 10 * seconds[1])

    def test_axes_out_of_range(self):
        """numpy's AxisError, as in scipy, is a ValueError and an IndexError."""
        for kind in (ValueError, IndexError):
            for call in (lambda axes: stentor.gaussian_filter(np.ones((3, 4)), 1, axes=axes), lambda axes: stentor.uniform_filter(np.ones((3, 4)), 3, axes=axes)):
                for axes in (2, (0, -3)):
                    self.assertRaises(kind, call, axes)

    def test_a_short_last_axis_is_moved_first(self):
        stentor.clear_cache()
        for shape, order in (((200000, 6), (1, 0)), ((700, 700, 3), (2, 0, 1)), ((1100000, 1), (1, 0)), ((30000, 40), (1, 0)), ((20000, 100), None), ((500, 40), None)):
            for dtype in ('u1', 'f4'):
                stentor.correlate1d(np.ones(shape, dtype), [1, 2, 3])
                self.assertEqual(list(_memo._prepared.values())[-1].order, order, (shape, dtype))
        stentor.correlate1d(np.ones((3000, 1000, 1)), [1, 2, 3], 0)  # an axis of one point
        self.assertEqual(list(_memo._prepared.values())[-1].order, (2, 0, 1))

    def test_integers_have_one_result_in_all_layouts(self):
        """Small, large and strided arrays are filtered in different ways, also to wider types."""
        def body(rng):
            w, output = rng.permutation([0.1, -0.1, 0.3, 0.3, -0.1, 0.3, 0, -0.1, 0.3]), str(rng.choice(['i2', 'i4', 'i8']))
            x = rng.integers(-999, 999, (200, 160)).astype('i2')
            expected, few = stentor.correlate1d(x, w, output=output), slice(50, 150)
            for given, rows in ((x[::-1], slice(None, None, -1)), (x[few], few), (np.repeat(x[few], 2, 1)[:, ::2], few)):
                np.testing.assert_array_equal(stentor.correlate1d(given, w, output=output), expected[rows])
            agree(stentor.gaussian_filter(x, 1.3, output=output), ndimage.gaussian_filter(x, 1.3, output=output), slack=2)
        self.each(body, seed=4)

    def test_outputs_of_the_other_byte_order(self):
        x = np.arange(12).reshape(3, 4) * 10
        for dtype in ('>i4', '>u2', '>f4'):
            for given in (np.dtype(dtype), np.zeros(x.shape, dtype)):
                made, expected = (lib.uniform_filter(x, 3, output=given).copy() for lib in (stentor, ndimage))
                agree(made, expected)

    def test_means_of_unsigned_integers_are_exact(self):
        def body(rng):
            dtype, size = str(rng.choice(['u1', 'u2'])), int(rng.integers(2, 90))
            shape = tuple(rng.integers(1, 130, 2)) if rng.random() < 0.7 else (int(rng.integers(4097, 9000)),)
            x = rng.integers(0, np.iinfo(dtype).max, shape, endpoint=True).astype(dtype)
            mode, axis, cval = str(rng.choice(MODES)), int(rng.integers(len(shape))), float(rng.choice([0, 200, 2.5, 70000]))
            origin = int(rng.integers(-(size // 2), (size - 1) // 2 + 1))
            sums = ndimage.correlate1d(x.astype('f8'), np.ones(size), axis, mode=mode, cval=cval, origin=origin)
            ours = stentor.uniform_filter1d(x, size, axis, mode=mode, cval=cval, origin=origin)
            np.testing.assert_array_equal(ours, (sums // size).astype(np.int64).astype(dtype))
        self.each(body, seed=15)

    def test_correlate_and_convolve(self):
        def body(rng):
            rank = int(rng.integers(1, 4))
            x = draw_view(rng, random_shape(rng, rank), rng.choice(['float64', 'float32', 'complex128', '>f8', '>c16', *WHOLE]))
            w = rng.integers(-3, 4, rng.integers(1, 6, rank)).astype(float)
            if rng.random() < 0.3 and x.dtype.kind == 'f':
                w = rng.standard_normal(w.shape)
            name = rng.choice(['correlate', 'convolve'])
            origin = [int(rng.integers(-((n - 1) // 2), (n - 1) // 2 + 1)) for n in w.shape]
            if x.dtype.kind in 'u' or x.dtype.kind == 'b':
                w = abs(w)
            given = dict(mode=str(rng.choice(MODES)), cval=float(rng.integers(0, 4)), origin=origin)
            agree(getattr(stentor, name)(x, w, **given), getattr(ndimage, name)(x, w, **given))
        self.each(body, seed=1)

    def test_outputs(self):
        def body(rng):
            x = draw_view(rng, random_shape(rng, 2), rng.choice(['float64', 'float32', 'int32']))
            w = rng.integers(0, 4, (3, 3)).astype(float)
            dtype = rng.choice(['float64', 'float32', 'int16'])
            theirs = ndimage.correlate(x, w, output=np.dtype(dtype))
            agree(stentor.correlate(x, w, output=np.dtype(dtype)), theirs)
            for out in (np.empty(x.shape, dtype), np.empty((2,) + x.shape[::-1], dtype)[1].T):
                self.assertIs(stentor.correlate(x, w, out=out), out)
                agree(out, theirs, 1 if dtype == 'int16' and x.dtype.kind == 'f' else 0)
        self.each(body, seed=2)

    def test_gaussian(self):
        def body(rng):
            rank = int(rng.integers(1, 5))
            x = draw_view(rng, random_shape(rng, rank), rng.choice(['float64', 'float32', 'complex64', 'uint8', 'int32']))
            sigma = [float(rng.choice([0, 0.4, 1, 2.3])) for _ in range(rank)]
            mode = [str(rng.choice(MODES)) for _ in range(rank)]
            order = [int(rng.integers(0, 3)) if x.dtype.kind in 'fc' else 0 for _ in range(rank)]
            given = dict(order=order, mode=mode, cval=float(rng.integers(0, 4)), truncate=float(rng.choice([2, 4])))
            # Sums within rounding of an integer are truncated to either neighbour, after each axis.
            agree(stentor.gaussian_filter(x, sigma, **given), ndimage.gaussian_filter(x, sigma, **given), slack=rank)
        self.each(body, seed=3)

    def test_threads_share_narrow_images_of_integers(self):
        """A moving average of integers along a long axis is cut along that axis."""
        self.addCleanup(stentor.configure, threads=0)
        stentor.configure(threads=5)
        rng = np.random.default_rng(8)
        for dtype in ('u1', 'u2'):
            x = rng.integers(0, 250, (5000, 40)).astype(dtype)
            for mode in ('wrap', 'mirror', 'constant'):
                agree(stentor.uniform_filter1d(x, 13, 0, mode=mode, cval=9, origin=4),
                      ndimage.uniform_filter1d(x, 13, 0, mode=mode, cval=9, origin=4))

    def test_laplace_and_uniform(self):
        def body(rng):
            rank = int(rng.integers(1, 4))
            x = draw_view(rng, random_shape(rng, rank), rng.choice(['float64', 'float32', 'complex128', 'int32', 'uint8', 'bool']))
            given = dict(mode=[str(rng.choice(MODES)) for _ in range(rank)], cval=float(rng.integers(0, 4)))
            real = {} if x.dtype.kind == 'c' or rng.random() < 0.4 else dict(output=np.dtype(str(rng.choice(['int16', 'uint8', 'bool', 'float64']))))
            real['cval'] = given['cval'] + float(rng.choice([0, 0.5]))  # truncated along each axis
            agree(stentor.laplace(x, **{**given, **real}), ndimage.laplace(x, **{**given, **real}))
            size = [int(n) for n in rng.integers(1, 6, rank)]
            origin = [int(rng.integers(-((n - 1) // 2), (n - 1) // 2 + 1)) for n in size]
            agree(stentor.uniform_filter(x, size, origin=origin, **given),
                  ndimage.uniform_filter(x, size, origin=origin, **given))
        self.each(body, seed=4)

    def test_far(self):
        """Taps beyond the library's limits, long boxes, and short last axes such as colours."""
        def body(rng):
            x = draw_view(rng, tuple(rng.integers(1, (30, 200, 4))), rng.choice(['float64', 'float32', 'uint8']))
            given = dict(mode=str(rng.choice(MODES)), cval=float(rng.integers(0, 4)))
            sigma = [*rng.choice([0.7, 5, 18, 30], 2).tolist(), 0]
            ours, theirs = (each.gaussian_filter(x, sigma, **given) for each in (stentor, ndimage))
            agree(ours, theirs, slack=2)
            size = [*rng.integers(1, 300, 2).tolist(), 1]
            given['origin'] = [int(rng.integers(-((n - 1) // 2), (n - 1) // 2 + 1)) for n in size]
            agree(stentor.uniform_filter(x, size, **given), ndimage.uniform_filter(x, size, **given))
            line = rng.integers(0, 3, int(rng.integers(100, 300))).astype(float)
            row, of = x[..., 0].astype(float), dict(mode=given['mode'], cval=given['cval'])
            agree(stentor.correlate(row, line[None], **of), ndimage.correlate(row, line[None], **of))
        self.each(body, seed=5)


class Sums(unittest.TestCase):
    """Sums keep scipy's accuracy, constants and mirror symmetry, and do not spread NaN further."""

    def test_constants_stay(self):
        self.assertEqual(stentor.gaussian_filter(np.full((20, 20), 7, 'u1'), 3).max(), 7)
        for dtype in ('f4', 'f2'):
            self.assertTrue((stentor.gaussian_filter(np.ones((9, 9), dtype), 2) == 1).all())
        tenths = np.full((2, 5), 0.1)
        for dtype in ('u1', 'i1', 'i2', 'u2', 'i4', 'u4', 'i8', 'u8', 'bool'):
            for value in (1, 7, 100, -7):
                if np.dtype(dtype).kind in 'ub' and value < 0:
                    continue
                x = np.full((20, 21), value, dtype)
                for sigma in (0.3, 0.5, 1, 3, 7.7, 12, 30):
                    np.testing.assert_array_equal(stentor.gaussian_filter(x, sigma), x, f'{dtype} {value} {sigma}')
                    of_floats = stentor.gaussian_filter(x.astype('f4'), sigma, output=np.dtype(dtype))
                    np.testing.assert_array_equal(of_floats, x, f'float32 to {dtype} {value} {sigma}')
                np.testing.assert_array_equal(stentor.correlate(x, tenths), x)
                np.testing.assert_array_equal(stentor.uniform_filter(x, 7), x)
        self.assertTrue((stentor.gaussian_filter(np.full((40, 30), 3.7), 2, order=1) == 0).all())

    def test_sums_drift_no_more_than_scipys(self):
        x = np.arange(10000, dtype='f4').reshape(100, 100)
        ours, theirs = (f(x, 1).sum(dtype='f8') - x.sum(dtype='f8') for f in (stentor.gaussian_filter, ndimage.gaussian_filter))
        self.assertLessEqual(abs(ours - theirs), 1e-2)

    def test_float32_is_within_one_unit(self):
        x = np.random.default_rng(3).normal(1000, 1, (80, 90)).astype('f4')
        box = np.full((25, 25), 1 / 625)
        exact = ndimage.correlate(x.astype('f8'), box)
        self.assertLessEqual((np.abs(stentor.correlate(x, box) - exact) / np.spacing(exact.astype('f4'))).max(), 1)
        for sigma in (1, 20):  # the second one runs in groups of taps
            exact = ndimage.gaussian_filter1d(x.astype('f8'), sigma)
            ours = stentor.gaussian_filter(x, sigma, axes=(1,))
            self.assertLessEqual((np.abs(ours - exact) / np.spacing(exact.astype('f4'))).max(), 1)

    def test_mirrored_data_give_mirrored_bits(self):
        x = np.random.default_rng(4).random((60, 70))
        for flip in (np.s_[::-1], np.s_[:, ::-1], np.s_[::-1, ::-1]):
            for order in (0, 1, 2):
                ours = stentor.gaussian_filter(x[flip], 3, order=(0, order))
                sign = -1 if order == 1 and flip != np.s_[::-1] else 1
                np.testing.assert_array_equal(ours, sign * stentor.gaussian_filter(x, 3, order=(0, order))[flip])

    def test_groups_of_taps_in_half_precision(self):
        x = np.full(600, 60000, 'f2')
        np.testing.assert_array_equal(stentor.gaussian_filter(x, 40, mode='wrap'), x)

    def test_long_boxes_lose_as_little_as_short_ones(self):
        x = 1e6 + 1e-3 * np.sin(np.arange(3000.0))
        for shape in ((3000,), (3000, 1), (1, 3000)):
            for size in (63, 65, 500):
                exact = ndimage.correlate1d(x - 1e6, np.full(size, 1 / size)) + 1e6
                ours = stentor.uniform_filter(x.reshape(shape), size=[size if n > 1 else 1 for n in shape])
                self.assertLessEqual(np.abs(ours.ravel() - exact).max(), 2e-9, (shape, size))

    def test_long_boxes_of_the_largest_numbers(self):
        for shape in ((300,), (300, 2)):
            np.testing.assert_allclose(stentor.uniform_filter(np.full(shape, 1e308), 101, axes=(0,)), 1e308, rtol=1e-14)

    def test_weights_whose_sum_overflows(self):
        """They are computed with as others are: of integers, and along short axes."""
        huge = np.full(5, 1e308)
        with np.errstate(over='ignore'):
            for x, axis in ((np.zeros((9000, 2)), 1), (np.ones((9000, 2)), 1), (np.zeros((20, 30), 'int32'), 0)):
                np.testing.assert_array_equal(stentor.correlate1d(x, huge, axis), ndimage.correlate1d(x, huge, axis))
        self.assertFalse(stentor.Plan((20, 30), [huge], dtype='uint8', device='host')(np.zeros((20, 30), 'uint8')).any())

    def test_infinity_gives_no_warning(self):
        """As in scipy's C code: neither sums nor conversions to other dtypes warn."""
        row, lines = np.full(40, np.inf), np.full((9000, 2), -np.inf)
        row[20] = -np.inf
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            # Axes shorter than the taps, and groups of taps.
            stentor.gaussian_filter(lines, 3, mode='constant', cval=np.inf)
            stentor.correlate1d(lines, np.full(40, 1e308), mode='constant', cval=1e308)
            stentor.correlate(row, np.ones(2500))
            stentor.correlate(row, [1, 1j, 1])
            for shape in ((30, 40), (300, 400)):
                large = np.full(shape, 1e300)
                self.assertTrue(np.isinf(stentor.gaussian_filter(large, 2, output='f4')).all())
                self.assertTrue(np.isinf(stentor.gaussian_filter(large, 2, output=np.empty(shape, 'f4'))).all())
                self.assertTrue(np.isinf(stentor.gaussian_filter(large, 0, output='f4')).all())
                stentor.correlate(large, [[1, 1j, 1]], output='c8')

    def test_what_is_not_finite_reaches_its_box_alone(self):
        for shape, axis in (((600,), 0), ((600, 5), 0), ((4, 600), 1)):
            for value in (np.nan, np.inf, -np.inf):
                x = np.ones(shape)
                np.moveaxis(x, axis, 0)[300] = value
                with warnings.catch_warnings():
                    warnings.simplefilter('error')
                    ours = np.moveaxis(stentor.uniform_filter(x, 101, axes=(axis,)), axis, 0)
                np.testing.assert_array_equal(ours[250:351], np.full_like(ours[250:351], value))
                np.testing.assert_array_equal(np.delete(ours, np.s_[250:351], 0), 1)


class Meaning(unittest.TestCase):
    """Features beyond scipy, and special cases."""

    def setUp(self):
        self.x = np.random.default_rng(0).standard_normal((9, 10, 11))

    def test_lists_and_numbers(self):
        """If no axis is filtered, the result is the input; lists may hold complex numbers."""
        for filtered in (stentor.laplace, stentor.uniform_filter, lambda x: stentor.gaussian_filter(x, 1)):
            self.assertEqual(filtered(3.5), 3.5)
            self.assertEqual(filtered(np.array(2j)).shape, ())
        np.testing.assert_array_equal(stentor.laplace([1j, 2]), ndimage.laplace(np.array([1j, 2])))
        with self.assertRaisesRegex(RuntimeError, 'no axes'):
            stentor.correlate(3.5, [1])

    def test_real_outputs_of_complex_results(self):
        x, w = self.x[0] * 1j, np.ones((3, 3))
        for output in ('float64', np.zeros(x.shape)):
            with self.assertRaisesRegex(RuntimeError, 'output must have complex dtype'):
                stentor.correlate(x, w, output=output)
        for output in (np.float64, float, np.dtype('int32')):
            with self.assertWarnsRegex(UserWarning, 'promoting specified output dtype to complex'):
                agree(stentor.correlate(x, w, output=output), ndimage.correlate(x, w, output=output))

    def test_an_infinite_part_leaves_the_other_part(self):
        x, w = np.array([1e308, 1e308, 1]), np.array([1j, 1j, 1])
        np.testing.assert_array_equal(stentor.correlate(x, w).real, [1e308, 1, 1])

    def test_weights_of_zero_are_left_out(self):
        x = np.array([1, np.nan, 3, 4, 5])
        for line in (stentor.correlate(x, [1, 0, 1]), stentor.correlate1d(x, [1, 0, 1])):
            np.testing.assert_array_equal(line, ndimage.correlate(x, [1, 0, 1]))
        np.testing.assert_array_equal(stentor.correlate(x, [0, 0, 0]), [0, np.nan, 0, 0, 0])

    def test_axes_are_filtered_and_others_left(self):
        w = np.array([[1., 2., 0.], [3., 5., 7.]])
        ours = stentor.correlate(self.x, w, axes=(0, 2), mode='nearest')
        for i in range(10):
            np.testing.assert_allclose(ours[:, i], ndimage.correlate(self.x[:, i], w, mode='nearest'), atol=1e-12)
        # As in scipy, the weights' axes are in the array's order, and origins in that of `axes`.
        np.testing.assert_allclose(stentor.correlate(self.x, w, axes=(2, 0), mode='nearest'), ours, atol=1e-12)
        np.testing.assert_allclose(stentor.correlate(self.x, w, axes=(-1, 0), mode='nearest', origin=(1, 0)),
                                   stentor.correlate(self.x, w, axes=(0, 2), mode='nearest', origin=(0, 1)), atol=1e-12)

    def test_fewer_axes_of_weights_make_a_batch(self):
        w = np.array([1., 2., 4.])
        np.testing.assert_allclose(stentor.correlate(self.x, w), ndimage.correlate1d(self.x, w, axis=-1), atol=1e-12)

    def test_batches_without_one_stride(self):
        x = np.random.default_rng(1).standard_normal((3, 4, 5, 6, 2))
        ours = stentor.correlate(x, np.ones((2, 3, 2)), axes=(0, 2, 4))
        for i in range(4):
            for j in range(6):
                np.testing.assert_allclose(ours[:, i, :, j], ndimage.correlate(x[:, i, :, j], np.ones((2, 3, 2))),
                                           atol=1e-12)

    def test_gaussian_axes_and_radius(self):
        ours = stentor.gaussian_filter(self.x, 1.0, axes=(1,), radius=2)
        theirs = ndimage.gaussian_filter1d(self.x, 1.0, axis=1, truncate=2.0)
        np.testing.assert_allclose(ours, theirs, atol=1e-12)

    def test_sides_differ(self):
        x = np.arange(1., 6.)
        ours = stentor.correlate(x, np.array([1., 1., 1.]), mode='constant=10:nearest')
        np.testing.assert_allclose(ours, [13, 6, 9, 12, 14])
        np.testing.assert_allclose(stentor.correlate(x, np.ones(3), mode=[('constant=10', 'nearest')]), ours)

    def test_sides_that_differ_and_far_taps(self):
        """Taps longer than the axis or the library's limit: the side passed folds each index."""
        def fold(i, n, kinds):
            while not 0 <= i < n:
                kind, edge = kinds[i >= n], (n - 1) * (i >= n)
                if kind == 'constant':
                    return None
                i = {'nearest': edge, 'mirror': 2 * edge - i if n > 1 else 0, 'reflect': 2 * edge - i + (1 if i >= n else -1)}[kind]
            return i

        rng = np.random.default_rng(12)
        kinds = ('constant', 'nearest', 'reflect', 'mirror')
        for size, n in ((9, 1), (11, 2), (25, 4), (141, 3), (141, 200)):
            for sides in [(low, high) for low in kinds for high in kinds]:
                x, w = rng.standard_normal((2, n)), rng.standard_normal(size)
                expected = np.empty_like(x)
                for j in range(n):
                    at = [fold(j + k - size // 2, n, sides) for k in range(size)]
                    expected[:, j] = sum(v * (x[:, i] if i is not None else 2.5) for v, i in zip(w, at))
                with self.subTest(size=size, n=n, sides=sides):
                    np.testing.assert_allclose(stentor.correlate(x, w, mode=[sides], cval=2.5), expected, rtol=1e-11, atol=1e-11)

    def test_fixed_sides_keep_their_points(self):
        ours = stentor.gaussian_filter(self.x, 1.0, mode='fixed', radius=1)
        np.testing.assert_array_equal(ours[0], self.x[0])
        np.testing.assert_allclose(ours[1:-1, 1:-1, 1:-1],
                                   ndimage.gaussian_filter(self.x, 1.0, truncate=1.0)[1:-1, 1:-1, 1:-1], atol=1e-12)

    def test_both_axes_at_once(self):
        """Passes along two axes in one call have the bits of two calls; long rows are cut."""
        rng = np.random.default_rng(2)
        for shape in ((70, 300), (9, 8300), (4, 30, 40)):
            for dtype in ('f4', 'f8', 'u2'):
                x = (rng.random(shape) * 1000).astype(dtype)
                for mode in (*MODES[:5], 'constant=1.1:constant=900'):
                    given = {'mode': mode, 'cval': 500.1}
                    for name, value in (('gaussian_filter', 1.0), ('gaussian_filter', 3.0), ('uniform_filter', 3)):
                        theirs, one_axis = x, getattr(stentor, name + '1d')
                        for axis in range(len(shape)):
                            theirs = one_axis(theirs, value, axis, **given)
                        np.testing.assert_array_equal(getattr(stentor, name)(x, value, **given), theirs)

    def test_long_rows_have_the_bits_of_short_ones(self):
        rng = np.random.default_rng(3)
        for dtype in ('f4', 'f8', 'u1'):
            x = (rng.random((30, 5000)) * 100).astype(dtype)
            line = rng.random(4)
            for w in (rng.random((3, 3)), rng.random((3, 3)).astype('f4'), np.outer(line, line[::-1]),
                      np.array([[0, .1, 0], [.1, .6, .1], [0, .1, 0]]), rng.random((1, 5)), rng.random((5, 1))):
                long = stentor.correlate(x, w)
                for begin in range(0, 4900, 90):
                    short = stentor.correlate(np.ascontiguousarray(x[:, begin:begin + 100]), w)
                    here = slice(0 if begin == 0 else 5, 100 if begin + 100 == 5000 else 95)
                    np.testing.assert_array_equal(long[:, begin:begin + 100][:, here], short[:, here])

    def test_frozen_points_between_rows(self):
        """With fixed sides, rows are computed as one line; the points between them stay."""
        for shape in ((40, 50), (9, 40, 50), (3, 20, 5), (10, 1, 30)):
            for dtype in ('float32', 'float64'):
                x = np.random.default_rng(4).random(shape).astype(dtype)
                fixed, open_ = (stentor.Plan(shape, f'heat-{len(shape)}d', dtype=dtype, boundary=boundary, device='host')(x)
                                for boundary in ('fixed', 'mirror'))
                expected, inner = x.copy(), (slice(1, -1),) * len(shape)
                expected[inner] = open_[inner]
                np.testing.assert_array_equal(fixed, expected)

    def test_steps_are_calls_one_after_the_other(self):
        w = np.array([[0, .1, 0], [.2, .5, .1], [0, .1, 0]])
        for run in (lambda x, **k: stentor.correlate(x, w, **k), lambda x, **k: stentor.gaussian_filter(x, 0.8, **k),
                    lambda x, **k: stentor.uniform_filter(x, 3, **k)):
            for x in (self.x, (self.x * 50).astype(np.int32)):
                ours, theirs = run(x, steps=3), run(run(run(x)))
                np.testing.assert_allclose(ours, theirs, atol=1e-12)

    def test_steps_along_one_axis(self):
        """One plan makes all steps, but not of long boxes or of taps past the library's limits."""
        line = np.random.default_rng(1).random(2501)
        for x in (line[:300], line[:300].astype('f4'), np.stack([line, line[::-1]])):
            for run in (lambda x, **k: stentor.uniform_filter1d(x, 5, **k), lambda x, **k: stentor.uniform_filter1d(x, 13, **k),
                        lambda x, **k: stentor.uniform_filter1d(x, 101, **k), lambda x, **k: stentor.gaussian_filter1d(x, 20, **k),
                        lambda x, **k: stentor.correlate1d(x, line / line.sum(), **k), lambda x, **k: stentor.gaussian_filter1d(x[..., :3], 20, **k)):
                np.testing.assert_allclose(run(x, steps=3), run(run(run(x))), rtol=2e-6 if x.dtype == 'f4' else 1e-12)

    def test_half_precision(self):
        x = self.x.astype(np.float16)
        ours = stentor.gaussian_filter(x, 1.0)
        self.assertEqual(ours.dtype, np.float16)
        np.testing.assert_allclose(ours, ndimage.gaussian_filter(x.astype(float), 1.0), atol=3e-3)

    def test_windows_broadcasts_and_other_byte_orders(self):
        w = np.array([1., 2., 3.])
        for x in (np.lib.stride_tricks.sliding_window_view(np.arange(9.), 4), np.broadcast_to(np.arange(5.), (3, 5)),
                  self.x[0].astype('>f8'), np.frombuffer(b'\0' + self.x[0].tobytes(), np.uint8)[1:].view('f8')):
            np.testing.assert_allclose(stentor.correlate(x, w), ndimage.correlate1d(x, w, axis=-1), atol=1e-12)

    def test_truth_of_sums(self):
        """A sum is truncated to an integer before it becomes a bool, as in scipy.ndimage."""
        x = np.array([1, 0, 1, 1, 1, 0, 0], bool)
        np.testing.assert_array_equal(stentor.uniform_filter(x, 3), [0, 0, 0, 1, 0, 0, 0])
        np.testing.assert_array_equal(stentor.correlate(x, [0.7, 0.5, 0.7]), ndimage.correlate(x, [0.7, 0.5, 0.7]))

    def test_results_are_in_the_machines_byte_order(self):
        for dtype in ('>f4', '>f8', '>i2', '>c16'):
            x = self.x.astype(dtype)
            for run in (stentor.laplace, stentor.uniform_filter):
                self.assertTrue(run(x).dtype.isnative)
            out = np.empty_like(x)
            stentor.uniform_filter(x, 3, out=out)
            np.testing.assert_array_equal(out, stentor.uniform_filter(x, 3))

    def test_a_reach_that_is_refused_is_short_to_read(self):
        for sigma, reach in ((1e300, '4e+300'), (1e6, '4e+06')):
            with self.assertRaises(ValueError) as caught:
                stentor.gaussian_filter(np.zeros(9), sigma)
            self.assertIn(f'reaches over {reach} points: 65536 is the most', str(caught.exception))

    def test_empty_and_lists(self):
        self.assertEqual(stentor.correlate(np.empty((0, 3)), np.ones((3, 3))).shape, (0, 3))
        np.testing.assert_array_equal(stentor.correlate([1, 2, 3], [1, 0, 0]), [1, 1, 2])

    def test_threads(self):
        import concurrent.futures
        images = [np.random.default_rng(i).standard_normal((40, 40)) for i in range(40)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            ours = list(pool.map(lambda x: stentor.gaussian_filter(x, 1.0), images))
        for a, x in zip(ours, images):
            np.testing.assert_allclose(a, ndimage.gaussian_filter(x, 1.0), atol=1e-12)

    def test_a_forked_child(self):
        stentor.laplace(self.x)
        child = os.fork()
        if child == 0:
            good = np.allclose(stentor.laplace(self.x), ndimage.laplace(self.x))
            os._exit(0 if good else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)


if __name__ == '__main__':
    unittest.main()
