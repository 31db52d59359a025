"""Plans and functions accept the same argument names with the same meaning; frames of a plan."""
import json
import pickle
import unittest

import numpy as np
import scipy.ndimage

import stentor


class Doors(unittest.TestCase):
    """A plan and a function accept the same argument names with the same meaning."""

    def setUp(self):
        self.x = np.random.default_rng(3).standard_normal((9, 10))
        self.w = np.random.default_rng(4).random((3, 3)) / 9

    def plan(self, **given):
        return stentor.Plan(self.x.shape, self.w, device='host', **given)

    def test_boundary_and_mode(self):
        for mode in ('reflect', 'wrap', 'mirror', ('nearest', 'wrap'), 'constant=2:nearest', [('fixed', 'reflect'), 'wrap'], np.array(['wrap', 'mirror'])):
            ours = stentor.correlate(self.x, self.w, mode=mode)
            np.testing.assert_array_equal(stentor.correlate(self.x, self.w, boundary=mode), ours)
            for plan in (self.plan(boundary=mode), self.plan(mode=mode), pickle.loads(pickle.dumps(self.plan(mode=mode)))):
                np.testing.assert_allclose(plan(self.x), ours, atol=1e-13)
                self.assertIs(plan.boundary, plan.mode)
        np.testing.assert_allclose(self.plan()(self.x), stentor.correlate(self.x, self.w, mode='wrap'), atol=1e-13)
        for call in (lambda: self.plan(boundary='reflect', mode='wrap'), lambda: stentor.laplace(self.x, 'f8', 'wrap', boundary='wrap'),
                     lambda: self.plan()(self.x, self.x, output=self.x)):
            with self.assertRaisesRegex(ValueError, 'two names of one argument'):
                call()
        for name, kind, call in (('boundary', ValueError, lambda: self.plan(boundary='a')), ('mode', ValueError, lambda: self.plan(mode='a')),
                                 ('boundary', RuntimeError, lambda: stentor.laplace(self.x, boundary='a')),
                                 ('mode', RuntimeError, lambda: stentor.uniform_filter(self.x, mode='a')),
                                 ('boundary', RuntimeError, lambda: stentor.correlate(self.x, self.w, boundary=3)),
                                 ('boundary', RuntimeError, lambda: stentor.gaussian_filter(self.x, 1, boundary=['a', 'wrap']))):
            with self.assertRaisesRegex(kind, f"^{name} "):
                call()

    def test_what_a_plan_says_of_itself(self):
        plan = self.plan(steps=6, every=2, mode='reflect')
        self.assertEqual((plan.steps, plan.every, plan.boundary), (6, 2, 'reflect'))
        self.assertIn("boundary='reflect'", repr(plan))

    def test_unknown_arguments(self):
        for name, way in (('local', "accuracy='local'"), ('progress', r'plan\(x, progress='), ('step', "no argument 'step'$")):
            with self.assertRaisesRegex(TypeError, way):
                self.plan(**{name: True})

    def test_spellings(self):
        for shape in ((8, 8), [8, 8], '8x8', '8, 8', '(8,8)', np.array([8, 8])):
            self.assertEqual(stentor.Plan(shape, 'heat-2d', device='cpu').shape, (8, 8))
        for dtype, name in (('f32', 'float32'), ('float32', 'float32'), ('f16', 'float16'), ('f64', 'float64'), ('f4', 'float32'), (np.float32, 'float32'), ('>f4', 'float32'), (np.dtype('>f8'), 'float64')):
            self.assertEqual(stentor.Plan((8, 8), 'heat-2d', dtype=dtype, device='host').dtype, name)
        said = []
        for device in ('gpu:98', 'cuda:98'):
            with self.assertRaises(stentor.StentorError) as caught:
                stentor.Plan((8, 8), 'heat-2d', device=device)
            said.append((caught.exception.status, str(caught.exception)))
        self.assertEqual(said[0], said[1])

    def test_out_may_be_the_input(self):
        expected = self.plan(steps=3)(self.x)
        x = self.x.copy()
        self.assertIs(self.plan(steps=3)(x, out=x), x)
        np.testing.assert_array_equal(x, expected)
        room = np.zeros((12, 10))
        room[:9] = self.x
        self.plan(steps=3)(room[:9], output=room[2:11])
        np.testing.assert_array_equal(room[2:11], expected)
        with_source, x = self.plan(steps=3, source=True), self.x.copy()
        expected = with_source(x, source=x)
        with_source(x, source=x, out=x)
        np.testing.assert_array_equal(x, expected)

    def test_taps_further_than_64(self):
        """By the library up to a radius of 1024, and beyond it in groups of taps."""
        for points, n in ((151, 200), (2301, 2500)):
            with self.subTest(points=points):
                self.further(points, n)

    def further(self, points, n):
        line = np.random.default_rng(5).standard_normal(points) / points
        x = np.random.default_rng(6).standard_normal((3, n))
        for mode, theirs in (('reflect', 'reflect'), ('wrap', 'wrap'), ('constant=2', 'constant'), ('constant=1:nearest', None)):
            plan = stentor.Plan((3, n), line, boundary=mode, device='host', steps=4, every=2)
            two = stentor.correlate(x, line, mode=mode, steps=2)
            four = stentor.correlate(two, line, mode=mode, steps=2)
            np.testing.assert_allclose(plan(x), [two, four], atol=1e-12)
            source = stentor.Plan((3, n), line, boundary=mode, device='host', steps=2, source=True)
            once = stentor.correlate(x, line, mode=mode) + x
            np.testing.assert_allclose(source(x, source=x), stentor.correlate(once, line, mode=mode) + x, atol=1e-12)
            if theirs:
                expected = scipy.ndimage.correlate1d(x, line, mode=theirs, cval=2)
                np.testing.assert_allclose(stentor.correlate(x, line, mode=mode), expected, atol=1e-12)
        plan.weights = line * 2
        np.testing.assert_allclose(plan(x)[0], stentor.correlate(x, line * 2, mode=mode, steps=2), atol=1e-12)
        self.assertEqual(plan.strategy, 'host')
        self.assertIn(f'{points} taps', plan.describe())
        self.assertEqual(json.loads(plan.describe('json'))['strategy'], 'host')
        plan = pickle.loads(pickle.dumps(plan))
        np.testing.assert_allclose(plan(x)[0], stentor.correlate(x, line * 2, mode=mode, steps=2), atol=1e-12)
        self.assertEqual([step for step, _ in plan.frames(x, 1)], [1, 2, 3, 4])
        if points < 2049:  # points near a fixed side keep their values
            shift = np.zeros_like(line)
            shift[0] = 1.0
            got = stentor.Plan((3, n), shift, boundary='fixed', device='host')(x)
            np.testing.assert_array_equal(got[:, 75:-75], x[:, :-150])
            np.testing.assert_array_equal(got[:, :75], x[:, :75])


class Frames(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(7).standard_normal((7, 9))
        self.after = [self.x]
        for _ in range(6):
            self.after.append(stentor.correlate(self.after[-1], self.weights, mode='reflect'))

    weights = np.random.default_rng(8).random((3, 3)) / 9

    def plan(self, **given):
        return stentor.Plan((7, 9), self.weights, boundary='reflect', steps=6, device='host', **given)

    def test_the_input_as_first(self):
        np.testing.assert_allclose(self.plan(every=2, initial=True)(self.x), self.after[::2], atol=1e-12)
        out = np.empty((4, 7, 9))
        self.assertIs(self.plan(every=2, initial=True)(self.x, out=out), out)
        np.testing.assert_allclose(out, self.after[::2], atol=1e-12)
        again = pickle.loads(pickle.dumps(self.plan(every=3, initial=True)))
        np.testing.assert_allclose(again(self.x), self.after[::3], atol=1e-12)
        with_source = self.plan(every=3, initial=True, source=True)(self.x, source=self.x)
        np.testing.assert_array_equal(with_source[0], self.x)
        np.testing.assert_array_equal(with_source[1:], self.plan(every=3, source=True)(self.x, source=self.x))
        with self.assertRaisesRegex(ValueError, 'every'):
            self.plan(initial=True)

    def test_one_at_a_time(self):
        for given in ({}, {'every': 2}, {'every': 3, 'initial': True}):
            plan = self.plan(**given)
            for named in ({}, {'every': 3}, {'every': 1, 'initial': True}, {'every': 2, 'steps': 4}):
                each = named.get('every') or given.get('every') or 1
                first = named.get('initial', given.get('initial', False))
                found = list(plan.frames(self.x, **named))
                counts = list(range(0 if first else each, named.get('steps', 6) + 1, each))
                self.assertEqual([step for step, _ in found], counts)
                np.testing.assert_allclose([frame for _, frame in found], [self.after[n] for n in counts], atol=1e-12)
                self.assertEqual(len({id(frame) for _, frame in found}), len(found))
        plan.weights = self.weights * 0.5
        np.testing.assert_allclose(next(iter(plan.frames(self.x, 1, initial=False)))[1], self.after[1] * 0.5, atol=1e-12)
        for said, call in (('multiples', lambda: plan.frames(self.x, 4)), ('every', lambda: plan.frames(self.x, 0)), ('steps', lambda: plan.frames(self.x, 1, steps=0))):
            with self.assertRaisesRegex(ValueError, said.rstrip('s')):
                call()

    def test_more_than_there_is_memory_for(self):
        plan = stentor.Plan((1000, 1000), 'heat-2d', steps=3_400_000, every=1, device='host')
        with self.assertRaisesRegex(MemoryError, r'27.2 TB.*available.*Plan.frames'):
            plan(np.zeros((1000, 1000)))
        step, frame = next(iter(plan.frames(np.ones((1000, 1000)))))
        self.assertEqual(step, 1)
        np.testing.assert_allclose(frame, 1)


if __name__ == '__main__':
    unittest.main()
