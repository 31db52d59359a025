#!/usr/bin/env python3
"""Long calls: progress functions, cancellation by them and by Ctrl-C, and warnings of growth."""
import contextlib
import functools
import io
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
import unittest
import unittest.mock
import warnings

import numpy as np

import stentor
from stentor._progress import interruptible


class Told:
    def __init__(self, most=float('inf')):
        self.calls, self.most = [], most

    def __call__(self, done, total):
        self.calls.append((done, total))
        if done >= self.most:
            raise KeyError('enough')


def long_plan(steps=600):
    """A plan that takes about a second on a small host; on the emulated GPU it has less work."""
    plan = stentor.Plan((8, 8), 'heat-2d')
    size = 1024 if plan.device == 'host' else 48
    return stentor.Plan((size, size), 'heat-2d', steps=steps if size > 48 else 120, boundary='nearest',
                        strategy='host' if plan.device == 'host' else 'direct')


def grid(plan):
    x = np.random.default_rng(1).standard_normal(plan.shape)
    return x if plan.device == 'host' else stentor.to_device(x)


def numpy_of(y):
    return y if isinstance(y, np.ndarray) else y.numpy()


class Progress(unittest.TestCase):
    def test_a_plan_is_told_to_its_end(self):
        plan, told = long_plan(), Told()
        x = grid(plan)
        expected = numpy_of(plan(x))
        np.testing.assert_array_equal(numpy_of(plan(x, progress=told)), expected)
        done = [d for d, _ in told.calls]
        self.assertEqual(done, sorted(done))
        self.assertEqual(len({total for _, total in told.calls}), 1)
        self.assertEqual(told.calls[-1][0], told.calls[-1][1])

    def test_what_it_raises_ends_the_call_and_the_plan_goes_on(self):
        plan = long_plan()
        x = grid(plan)
        expected = numpy_of(plan(x))
        for most in (0, 20, 100):
            with self.assertRaisesRegex(KeyError, 'enough'):
                plan(x, progress=Told(most))
        np.testing.assert_array_equal(numpy_of(plan(x)), expected)

    def test_functions_with_steps(self):
        x = np.random.default_rng(2).standard_normal((60, 70))
        k = np.full((3, 3), 1 / 9)
        for call in (lambda **told: stentor.correlate(x, k, steps=5, **told), lambda **told: stentor.convolve(x, k, steps=5, **told),
                     lambda **told: stentor.gaussian_filter(x, 1, steps=5, **told),
                     lambda **told: stentor.uniform_filter(x, 3, steps=5, **told), lambda **told: stentor.laplace(x, **told)):
            told = Told()
            np.testing.assert_array_equal(call(progress=told), call())
            self.assertEqual(told.calls[-1][0], told.calls[-1][1])

    def test_long_boxes(self):
        x = np.random.default_rng(3).random((2000, 1500))
        told = Told()
        np.testing.assert_array_equal(stentor.uniform_filter(x, 101, progress=told), stentor.uniform_filter(x, 101))
        self.assertEqual(told.calls[-1], (1, 1))
        with self.assertRaisesRegex(KeyError, 'enough'):
            stentor.uniform_filter(x, 101, progress=Told(0))
        with unittest.mock.patch('stentor._filter.LARGEST_UNINTERRUPTED', 0), \
                unittest.mock.patch('stentor._progress.Watch._listen', side_effect=KeyboardInterrupt):
            self.assertRaises(KeyboardInterrupt, stentor.uniform_filter, x, 101)
        np.testing.assert_allclose(stentor.uniform_filter(np.ones(2000), 101), 1)

    def test_a_bar(self):
        plan = stentor.Plan((40, 40), 'heat-2d', steps=7, device='host')
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            plan(np.ones((40, 40)), progress=True)
        self.assertRegex(said.getvalue(), r'7 of 7|7/7')

    def test_other_values_are_refused(self):
        plan = stentor.Plan((8,), [1.0], device='host')
        for wrong in (3, 'yes', [1]):
            with self.assertRaisesRegex(ValueError, 'progress is'):
                plan(np.ones(8), progress=wrong)
        plan(np.ones(8), progress=False)

    def test_threads_tell_their_own(self):
        plans, told, results = [long_plan(200) for _ in range(3)], [Told() for _ in range(3)], [None] * 3
        xs = [grid(plan) for plan in plans]

        def run(i):
            results[i] = numpy_of(plans[i](xs[i], progress=told[i]))

        threads = [threading.Thread(target=run, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for i in range(3):
            np.testing.assert_array_equal(results[i], numpy_of(plans[i](xs[i])))
            self.assertEqual(told[i].calls[-1][0], told[i].calls[-1][1])


CHILD = '''
import sys, time
import numpy as np, stentor
{make}
print('ready', flush=True)
try:
    while True:
        {call}
except KeyboardInterrupt:
    print(time.monotonic(), flush=True)
{after}
'''


class Interrupt(unittest.TestCase):
    """Ctrl-C during a call of many seconds ends it soon, and plan and functions still work."""

    def heard(self, make, call, after=''):
        text = CHILD.format(make=textwrap.dedent(make), call=call, after=textwrap.dedent(after))
        child = subprocess.Popen([sys.executable, '-c', text], stdout=subprocess.PIPE, text=True)
        try:
            self.assertEqual(child.stdout.readline().strip(), 'ready')
            time.sleep(0.4)
            sent = time.monotonic()
            child.send_signal(signal.SIGINT)
            heard = float(child.stdout.readline())
            self.assertEqual(child.wait(60), 0)
        finally:
            child.kill()
            child.stdout.close()
            child.wait()
        self.assertLess(heard - sent, 1.5)

    def test_steps_on_the_host(self):
        self.heard('''
            plan = stentor.Plan((2000, 2000), 'heat-2d', steps=4000, boundary='nearest', device='host', strategy='host')
            x = np.ones((2000, 2000))
            ''', 'plan(x)', '''
            short = stentor.Plan((50, 50), 'heat-2d', steps=3, device='host')
            np.testing.assert_allclose(short(np.ones((50, 50))), 1)
            ''')

    def test_many_taps(self):
        self.heard('x, k = np.ones((3000, 3000)), np.ones((61, 61)) / 3721',
                   'stentor.Plan(x.shape, k, steps=3, device="host", strategy="host")(x)')

    def test_transforms_of_the_whole_grid(self):
        self.heard('''
            plan = stentor.Plan((4096, 4096), 'heat-2d', steps=100000, device='host', strategy='host-spectral')
            x = np.ones((4096, 4096))
            ''', 'plan(x)')

    def test_a_transform(self):
        self.heard('x = np.ones((4000, 4001), complex)', 'stentor.fft.fft2(x)')


    def test_tables_of_a_transform(self):
        """Ctrl-C does not wait until they are made."""
        went_on, ended = threading.Event(), threading.Event()

        def make():
            os.kill(os.getpid(), signal.SIGINT)
            went_on.wait(60)
            ended.set()

        with self.assertRaises(KeyboardInterrupt):
            interruptible(make)
        self.assertFalse(ended.is_set())
        went_on.set()
        self.assertTrue(ended.wait(60))
        self.assertEqual(interruptible(lambda: 7), 7)
        with self.assertRaisesRegex(ValueError, 'none'):
            interruptible(functools.partial(int, 'none'))
        with unittest.mock.patch('threading.Thread.start', side_effect=RuntimeError("can't start new thread")):
            self.assertEqual(interruptible(lambda: 8), 8)
            with self.assertRaisesRegex(ValueError, 'none'):
                interruptible(functools.partial(int, 'none'))
        with unittest.mock.patch('stentor._fft_run.interruptible', side_effect=lambda make: make()) as used:
            for points, calls in ((1 << 19, 0), (1048583, 1)):
                stentor.fft.fft(np.ones(points, np.complex64))
                self.assertEqual(used.call_count, calls)
        stentor.clear_cache()


class Growth(unittest.TestCase):
    def test_a_run_that_grows_is_warned_of(self):
        with self.assertWarnsRegex(RuntimeWarning, 'max .symbol. is 1.4, above 1') as warned:
            stentor.Plan((8, 8), 'heat-2d:alpha=0.3', steps=100, device='host')
        self.assertEqual(warned.filename, __file__)
        with self.assertWarnsRegex(RuntimeWarning, 'above 1') as warned:
            stentor.laplace(np.ones((9, 11)), steps=3)
        self.assertEqual(warned.filename, __file__)
        plan = stentor.Plan((8, 8), 'heat-2d:alpha=0.2', steps=100, device='host')
        with self.assertWarnsRegex(RuntimeWarning, 'above 1'):
            plan.weights = 2 * plan.weights

    def test_others_are_not(self):
        with warnings.catch_warnings():
            warnings.simplefilter('error')
            stentor.Plan((8, 8), 'heat-2d', steps=100000, device='host')
            stentor.Plan((8, 8), np.full((3, 3), 1 / 9), steps=1000, device='host')
            stentor.laplace(np.ones((9, 11)))
            stentor.gaussian_filter(np.ones((9, 11)), 2, steps=50)


if __name__ == '__main__':
    unittest.main()
