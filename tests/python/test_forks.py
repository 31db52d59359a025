"""Forks while another thread works.

A child can use its copies of plans and functions, and never waits for threads of its parent.
"""
import os
import signal
import threading
import time
import unittest

import numpy as np

import stentor


def in_child(test, body):
    """Runs `body` in a forked child, which is killed by a signal if it hangs."""
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        code = 1
        try:
            code = 0 if body() else 2
        finally:
            os._exit(code)
    test.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0, 'the child hung, failed, or has another result')


class Forks(unittest.TestCase):
    def setUp(self):
        self.x = np.random.default_rng(0).standard_normal((300, 300))
        self.plan = stentor.Plan(self.x.shape, 'heat-2d:alpha=0.2', boundary='nearest', steps=400, device='host', strategy='host')
        self.expected = self.plan(self.x)

    def test_while_another_thread_is_inside_the_plan(self):
        """The progress function blocks the run, so that the fork certainly happens inside it."""
        inside, leave = threading.Event(), threading.Event()

        def progress(done, total):
            inside.set()
            leave.wait(60)

        other = threading.Thread(target=self.plan, args=(self.x,), kwargs={'progress': progress})
        other.start()
        self.assertTrue(inside.wait(60))
        try:
            in_child(self, lambda: np.array_equal(self.plan(self.x), self.expected))
            in_child(self, lambda: np.array_equal(self.plan(self.x, progress=lambda done, total: None), self.expected))
            in_child(self, lambda: np.allclose(stentor.laplace(self.x), stentor.correlate(self.x, [[0, 1, 0], [1, -4, 1], [0, 1, 0]])))
        finally:
            leave.set()
            other.join()
        np.testing.assert_array_equal(self.plan(self.x), self.expected)

    def test_at_any_moment(self):
        stop = threading.Event()

        def work():
            while not stop.is_set():
                self.plan(self.x)
                stentor.gaussian_filter(self.x, 1.5)

        smooth = stentor.gaussian_filter(self.x, 1.5)
        others = [threading.Thread(target=work) for _ in range(2)]
        for each in others:
            each.start()
        try:
            for turn in range(12):
                time.sleep(0.003 * turn)
                in_child(self, lambda: np.array_equal(self.plan(self.x), self.expected)
                         and np.array_equal(stentor.gaussian_filter(self.x, 1.5), smooth))
        finally:
            stop.set()
            for each in others:
                each.join()


if __name__ == '__main__':
    unittest.main()
