"""Plans: shapes, boundaries, snapshots, sources, weights, bad input, leaks."""
import copy
import gc
import json
import os
import pickle
import threading
import unittest

import numpy as np
from scipy import ndimage

import stentor

DTYPES = ('uint8', 'int8', 'int16', 'uint16', 'int32', 'uint32', 'int64', 'uint64', 'bool', 'float16', 'complex64', 'complex128')
HEAT = np.array([[0, .1, 0], [.1, .6, .1], [0, .1, 0]])


def steps_of(x, weights, steps, **given):
    for _ in range(steps):
        x = ndimage.correlate(x, weights, **given)
    return x


class Runs(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(0).standard_normal((3, 20, 24))

    def test_steps_and_a_batch(self):
        plan = stentor.Plan(self.x.shape, HEAT, boundary='reflect', steps=7, device='host')
        for x, ours in zip(self.x, plan(self.x)):
            np.testing.assert_allclose(ours, steps_of(x, HEAT, 7), atol=1e-13)

    def test_copies_and_files(self):
        wide = np.pad(HEAT, 1)
        for weights in (HEAT, wide, 'heat-2d:alpha=0.2', {(0, 0): .5, (0, 2): .5}):
            plan = stentor.Plan(self.x.shape, weights, boundary=['wrap', ('constant=2', 'nearest')], steps=4, every=2, device='host')
            for again in (copy.deepcopy(plan), pickle.loads(pickle.dumps(plan))):
                self.assertEqual(repr(again), repr(plan))
                np.testing.assert_array_equal(again.weights, plan.weights)
                np.testing.assert_array_equal(again(self.x), plan(self.x))
        plan.weights = [0, 1]
        np.testing.assert_array_equal(copy.copy(plan)(self.x), plan(self.x))

    def test_snapshots(self):
        plan = stentor.Plan((20, 24), HEAT, boundary='mirror', steps=6, every=2, device='host')
        ours = plan(self.x[0])
        self.assertEqual(ours.shape, (3, 20, 24))
        for k in range(3):
            np.testing.assert_allclose(ours[k], steps_of(self.x[0], HEAT, 2 * k + 2, mode='mirror'), atol=1e-13)

    def test_a_source(self):
        plan = stentor.Plan((20, 24), HEAT, boundary='nearest', steps=2, source=True, device='host')
        b = self.x[1]
        once = ndimage.correlate(self.x[0], HEAT, mode='nearest') + b
        np.testing.assert_allclose(plan(self.x[0], source=b), ndimage.correlate(once, HEAT, mode='nearest') + b, atol=1e-13)

    def test_boundaries_by_axis_and_side(self):
        plan = stentor.Plan((20, 24), HEAT, boundary=['wrap', 'constant=2:nearest'], device='host')
        wide = np.pad(self.x[0], ((1, 1), (0, 0)), 'wrap')
        wide = np.concatenate([np.full((22, 1), 2.0), wide, wide[:, -1:]], axis=1)
        np.testing.assert_allclose(plan(self.x[0]), ndimage.correlate(wide, HEAT)[1:-1, 1:-1], atol=1e-13)

    def test_weights_by_name_offset_and_anew(self):
        named = stentor.Plan((20, 24), 'heat-2d:alpha=0.1', device='host')
        taps = {(0, 0): .6, (0, 1): .1, (0, -1): .1, (1, 0): .1, (-1, 0): .1}
        mapped = stentor.Plan((20, 24), taps, device='host')
        expected = ndimage.correlate(self.x[0], HEAT, mode='wrap')
        np.testing.assert_allclose(named(self.x[0]), expected, atol=1e-13)
        np.testing.assert_allclose(mapped(self.x[0]), expected, atol=1e-13)
        np.testing.assert_allclose(named.weights, HEAT)
        mapped.weights = 2 * HEAT
        np.testing.assert_allclose(mapped(self.x[0]), 2 * expected, atol=1e-13)
        named.weights = [0, 0, 1, 0, 0]
        np.testing.assert_array_equal(named(self.x[0]), self.x[0])
        with self.assertRaisesRegex(ValueError, r'shape \(2,\)'):
            named.weights = [1, 2]
        with self.assertRaises(ValueError):
            named.weights = [1, 2, 3, 4, np.nan]
        more = np.arange(1.0, 10).reshape(3, 3)  # has weights at offsets without taps
        named.weights = more
        np.testing.assert_array_equal(named.weights, more)
        np.testing.assert_allclose(named(self.x[0]), ndimage.correlate(self.x[0], more, mode='wrap'), atol=1e-12)

    def test_new_weights_that_the_strategy_cannot_take(self):
        x = np.random.default_rng(3).standard_normal(997)
        plan = stentor.Plan(x.shape, [.2, .6, .2], steps=100, boundary='reflect', device='host', strategy='host-spectral')
        plan.weights = [.1, .6, .3]  # not symmetric
        expected = x
        for _ in range(100):
            expected = ndimage.correlate(expected, [.1, .6, .3], mode='reflect')
        np.testing.assert_allclose(plan(x), expected, atol=1e-12)
        self.assertIn('chosen again for new weights, instead of host-spectral', plan.describe())

    def test_what_goes_in_and_out(self):
        plan = stentor.Plan((20, 24), HEAT, dtype='float64', device='host')
        expected = plan(self.x[0])
        np.testing.assert_array_equal(plan(self.x[0].T.copy().T), expected)  # not contiguous
        np.testing.assert_allclose(plan(np.ones((20, 24), np.int32)), 1)
        out = np.empty((20, 24))
        self.assertIs(plan(self.x[0], out), out)
        np.testing.assert_array_equal(out, expected)
        self.assertEqual(stentor.Plan((20, 24), HEAT, dtype=np.float32, device='host')(self.x[0].astype('f')).dtype, np.float32)

    def test_number_types(self):
        """All types: one step is that of the filter, several are those of float64, truncated."""
        for i, dtype in enumerate(DTYPES):
            rng = np.random.default_rng([7, i])
            x = (100 * rng.random((3, 9, 11))).astype(dtype)
            if x.dtype.kind == 'c':
                x.imag = 100 * rng.random(x.shape)
            w, name = rng.integers(-1, 3, (3, 3)) / 16, str(rng.choice(['reflect', 'constant', 'constant=2.5', 'wrap', 'fixed']))
            mode, cval = ('constant', 2.5) if name == 'constant=2.5' else (name, 0.0)
            with self.subTest(dtype=dtype, boundary=name):
                plan = stentor.Plan(x.shape, np.full((3, 3), 0.1), name, dtype, device='host')
                plan.weights = w
                self.assertEqual(plan.dtype, x.dtype)
                expected = stentor.correlate(x, w, mode=mode, cval=cval)
                np.testing.assert_allclose(plan(x), expected, atol=0 if x.dtype.kind in 'biu' else 1e-3 if x.itemsize < 16 else 1e-11)
                out = x.copy()
                np.testing.assert_array_equal(pickle.loads(pickle.dumps(plan))(out, out), plan(x))
                if x.dtype.kind in 'iu':
                    floats = stentor.Plan(x.shape, w, name, steps=3, device='host', accuracy='local')(x.astype('f8'))
                    np.testing.assert_array_equal(stentor.Plan(x.shape, w, name, dtype, steps=3, device='host')(x),
                                                  np.trunc(floats).astype('i8').astype(dtype))
                constant = np.full((9, 11), 7).astype(dtype)
                if x.dtype.kind in 'biu' and x.itemsize < 8:
                    means = np.full((3, 3), 1 / 9)
                    plan = stentor.Plan((9, 11), means, dtype=dtype, steps=9, device='host')
                    np.testing.assert_array_equal(plan(constant), constant)
                    plan.weights = means / 2
                    plan.weights = means
                    np.testing.assert_array_equal(plan(constant), constant)
        for more in (dict(every=1), dict(source=True), dict(devices=['host'])):
            with self.assertRaisesRegex(ValueError, 'goes with neither'):
                stentor.Plan((4, 5), HEAT, dtype='uint8', **more)

    def test_words(self):
        plan = stentor.Plan((20, 24), HEAT, steps=3, device='host')
        self.assertIn('host', plan.describe())
        self.assertIsInstance(json.loads(plan.describe('json')), dict)
        self.assertIn('<pre>', plan._repr_html_())
        self.assertIn('steps=3', repr(plan))
        self.assertEqual((plan.shape, plan.dtype, plan.device), ((20, 24), np.float64, 'host'))

    def test_threads_share_a_plan(self):
        plan = stentor.Plan((20, 24), HEAT, steps=9, strategy='host', device='host')
        expected, wrong = plan(self.x[0]), []

        def work():
            for _ in range(50):
                if not np.array_equal(plan(self.x[0]), expected):
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_the_gil_is_released(self):
        plan, done, turns = stentor.Plan((512, 512), HEAT, steps=200, strategy='host', device='host'), [], 0
        thread = threading.Thread(target=lambda: done.append(plan(np.ones((512, 512)))))
        thread.start()
        while not done:
            turns += 1
            threading.Event().wait(0.001)
        self.assertGreater(turns, 3)


class Refused(unittest.TestCase):
    """Each wrong argument is refused with one clear sentence."""

    def says(self, words, call, kind=ValueError):
        with self.assertRaises(kind) as caught:
            call()
        message = str(caught.exception)
        self.assertRegex(message, words)
        self.assertLess(len(message), 400)
        self.assertNotIn('\n', message)

    def test_functions(self):
        x, w = np.ones((4, 5)), np.ones((3, 3))
        self.says('no axes', lambda: stentor.correlate(np.float64(1), w[0]), RuntimeError)
        self.says('objects', lambda: stentor.correlate(np.array([{}, {}]), w[0]))
        self.says('objects', lambda: stentor.correlate(x, np.array([[None] * 3] * 3)))
        self.says('give numbers', lambda: stentor.correlate(np.array(['a', 'b']), w[0]))
        self.says(r'weights.ndim \(3\) must match', lambda: stentor.correlate(x, np.ones((3, 3, 3))), RuntimeError)
        self.says('not finite', lambda: stentor.correlate(x, w * np.inf))
        self.says('shape', lambda: stentor.correlate(x, np.ones((0, 3))), RuntimeError)
        self.says('no boundary', lambda: stentor.correlate(x, w, mode='round'), RuntimeError)
        self.says('must be one boundary', lambda: stentor.correlate(x, w, mode=7), RuntimeError)
        self.says('must be one boundary', lambda: stentor.correlate(x, w, mode={}), RuntimeError)
        self.says('is no boundary', lambda: stentor.correlate(x, w, mode=(['wrap', {}], 'wrap')), RuntimeError)
        self.says('sequence of 2', lambda: stentor.correlate(x, w, mode=['wrap']), RuntimeError)
        self.says('centre', lambda: stentor.correlate(x, w, origin=2))
        self.says('origin', lambda: stentor.correlate(x, w, origin=0.5), TypeError)
        self.says('cval', lambda: stentor.correlate(x, w, cval='a'), TypeError)
        self.says('steps', lambda: stentor.correlate(x, w, steps=0))
        self.says('steps', lambda: stentor.correlate(x, w, steps=1.5))
        self.says('must be unique', lambda: stentor.gaussian_filter(x, 1, axes=(0, -2)))
        self.says('sigma', lambda: stentor.gaussian_filter(x, 1e9))
        self.says('sigma', lambda: stentor.gaussian_filter(x, -1))
        self.says('sigma', lambda: stentor.gaussian_filter(x, float('nan')))
        self.says('65536', lambda: stentor.gaussian_filter(x, 1e6))
        self.says('entries', lambda: stentor.gaussian_filter(x, [1, 2, 3]), RuntimeError)
        self.says('65536', lambda: stentor.uniform_filter(x, 10**6))
        self.says('size', lambda: stentor.uniform_filter(x, 'a'), TypeError)
        self.says('complex', lambda: stentor.correlate(x, w * 1j, output=np.empty(x.shape)), RuntimeError)
        self.says('digits would be lost: convert it to float64', lambda: stentor.laplace(x.astype(np.longdouble)))
        self.says('digits would be lost: convert it to complex128', lambda: stentor.laplace(x.astype(np.clongdouble)))
        self.says('output shape not correct', lambda: stentor.laplace(x, out=np.ones((5, 4))), RuntimeError)
        self.says('one argument', lambda: stentor.laplace(x, x, out=x))
        self.says('mask', lambda: stentor.laplace(np.ma.masked_array(x, x > 0)))
        self.says('cannot be written', lambda: stentor.laplace(x, out=[[0.0] * 5] * 4))
        self.says('order', lambda: stentor.gaussian_filter(x, 1, order=2**31))
        self.says('cval', lambda: stentor.laplace(x, cval=np.complex128(1)), TypeError)
        self.says('cval', lambda: stentor.laplace(x, cval='3'), TypeError)
        self.says('sequence', lambda: stentor.gaussian_filter(x, 1, axes=0.5), TypeError)
        self.says('axis', lambda: stentor.gaussian_filter(x, 1, axes=[0.5]), TypeError)
        self.says('DLPack', lambda: stentor.laplace(type('X', (), {'__dlpack_device__': lambda self: 7})()))
        read_only = np.ones((4, 5))
        read_only.flags.writeable = False
        self.says('read-only', lambda: stentor.laplace(x, out=read_only))
        self.says('no array', lambda: stentor.laplace([[1, 2], [3]]))

    def test_plans(self):
        plan = stentor.Plan((4, 5), HEAT, device='host')
        self.says(r'shape \(5, 4\)', lambda: plan(np.ones((5, 4))))
        self.says('shape', lambda: plan(np.float64(1)))
        self.says('dtype complex128', lambda: plan(np.ones((4, 5)) * 1j))
        self.says('objects', lambda: plan(np.array([[{}] * 5] * 4)))
        self.says('out is', lambda: plan(np.ones((4, 5)), np.ones((4, 6))))
        self.says('out is', lambda: plan(np.ones((4, 5)), np.ones((4, 5), 'f')))
        self.says('not dense', lambda: plan(np.ones((4, 5)), np.ones((5, 4)).T))
        x = np.ones((4, 5))
        self.says('takes none', lambda: plan(x, source=x))
        self.says('fewer axes', lambda: stentor.Plan((4,), HEAT))
        self.says('extent', lambda: stentor.Plan((4, 0), HEAT))
        self.says('give its shape', lambda: stentor.Plan(x, HEAT))
        self.says('give its shape', lambda: stentor.Plan(np.ones(4), [1, 2, 1]))
        self.says('weights are None', lambda: stentor.Plan((4, 5), None))
        self.says('shape is None', lambda: stentor.Plan(None, HEAT))
        self.says('odd', lambda: stentor.Plan((4, 5), np.ones((2, 3))))
        self.says('dtype', lambda: stentor.Plan((4, 5), HEAT, dtype='longdouble'))
        self.says('device', lambda: stentor.Plan((4, 5), HEAT, device='tpu'))
        self.says('every|snapshot', lambda: stentor.Plan((4, 5), HEAT, steps=5, every=2, device='host'))
        self.says('heat-2d', lambda: stentor.Plan((4, 5), 'heat-9d', device='host'))
        self.says('opposite side, which is fixed', lambda: stentor.Plan((4,), np.ones(13), device='host', boundary='reflect:fixed'))
        np.testing.assert_allclose(stentor.Plan((4,), np.ones(13), device='host')(np.arange(4.)), [20, 21, 18, 19])
        self.says('wrap', lambda: stentor.Plan((4,), np.ones(3), boundary='wrap:nearest', device='host'))
        self.says('strategy', lambda: stentor.Plan((4,), np.ones(3), strategy='magic', device='host'))
        self.says('offset', lambda: stentor.Plan((4,), {0.5: 1.0}, device='host'))
        self.says('format', lambda: plan.describe('yaml'))
        self.says('format', lambda: plan.describe([]))
        self.says('out is >f8', lambda: plan(x, np.ones((4, 5), '>f8')))
        self.says('complex', lambda: setattr(plan, 'weights', HEAT * 1j))
        self.says('shape', lambda: stentor.Plan(None, HEAT))
        self.says('tune', lambda: stentor.Plan((4, 5), HEAT, tune='a', device='host'))
        self.says('strategy', lambda: stentor.Plan((4, 5), HEAT, strategy=5, device='host'))
        self.says('device', lambda: stentor.Plan((4, 5), HEAT, device='cuda:' + '9' * 30))
        self.says('give numbers|of numbers', lambda: stentor.DeviceArray((3,), object))

    def test_kinds_of_exceptions(self):
        huge = 2**40
        self.says('memory|bytes', lambda: stentor.Plan((huge,), [1, 1, 1], steps=2, strategy='host', device='host'),
                  (MemoryError, ValueError))
        with self.assertRaises(stentor.StentorError) as caught:
            stentor.Plan((4,), [1., 1., 1.], device='cuda:77')
        self.assertEqual(caught.exception.status, 'STN_ERROR_NO_DEVICE')


def resident():
    with open('/proc/self/statm', encoding='ascii') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


class Leaks(unittest.TestCase):
    """Memory does not grow in many calls, including plans, failures and evicted plans."""

    CALLS = 100_000

    def steady(self, body, calls, slack=2 << 20):
        for i in range(calls // 10):
            body(i)
        gc.collect()
        before = resident()
        for i in range(calls):
            body(i)
        gc.collect()
        self.assertLess(resident() - before, slack)

    def test_calls(self):
        x, w, plan = np.ones(64), np.array([1., 2., 1.]), stentor.Plan((64,), [1., 2., 1.], device='host')

        def body(i):
            if i % 2:
                plan(x)
            else:
                stentor.correlate(x, w)

        self.steady(body, self.CALLS)

    def test_new_plans_and_failures(self):
        def body(i):
            stentor.Plan((64,), [1., float(i), 1.], device='host')
            stentor.correlate(np.ones(8), np.array([1., i, 1.]))
            try:
                stentor.Plan((4,), np.ones(13), device='host')
            except ValueError:
                pass

        self.steady(body, self.CALLS // 25)


if __name__ == '__main__':
    unittest.main()
