"""Plans over several devices: a grid split along its slowest axis gives one device's result.

Runs on emulated GPUs if there are several, and on the host named several times.
"""
import copy
import os
import unittest

import numpy as np

import stentor

GPUS = ['cuda:0', 'cuda:1', 'cuda:2'] if os.environ.get('STENTOR_EMULATOR_DEVICES') else None


class Teams(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng()

    def test_equal_to_one_device(self):
        for rank, stencil in ((1, '1d5p'), (2, 'heat-2d'), (3, 'heat-3d')):
            for boundary in ('wrap', 'fixed', 'reflect', 'constant=2'):
                x = self.rng.standard_normal((2,) + (23,) * rank)
                one = stentor.Plan(x.shape, stencil, boundary=boundary, steps=9, device='host', strategy='host')(x)
                plan = stentor.Plan(x.shape, stencil, boundary=boundary, steps=9, devices=['host'] * 3, strategy='host')
                np.testing.assert_array_equal(plan(x), one)
                np.testing.assert_array_equal(copy.deepcopy(plan)(x), one)

    def test_emulated_gpus(self):
        if GPUS is None:
            self.skipTest('there are no GPUs to share a grid')
        x = self.rng.standard_normal((40, 31))
        plan = stentor.Plan(x.shape, 'box-2d9p', boundary='mirror', steps=5, devices=GPUS)
        one = stentor.Plan(x.shape, 'box-2d9p', boundary='mirror', steps=5, device='host')(x)
        np.testing.assert_allclose(plan(x), one, rtol=0, atol=1e-13)
        self.assertEqual(plan.device, 'cuda:0,cuda:1,cuda:2')

    def test_sources_and_weights(self):
        x, source = self.rng.standard_normal((2, 30, 17))
        given = dict(boundary='nearest', steps=6, source=True, strategy='host')
        plan = stentor.Plan(x.shape, [[0, .2, 0], [.2, .2, .2], [0, .2, 0]], devices=['host', 'host'], **given)
        other = stentor.Plan(x.shape, [[0, .2, 0], [.2, .2, .2], [0, .2, 0]], device='host', **given)
        np.testing.assert_array_equal(plan(x, source=source), other(x, source=source))
        plan.weights = other.weights = np.array([[0, .1, 0], [.3, .2, .1], [0, .3, 0]])
        np.testing.assert_array_equal(plan(x, source=source), other(x, source=source))

    def test_words(self):
        plan = stentor.Plan((40, 8), 'heat-2d', steps=4, devices=['host'] * 2)
        self.assertIn('2 of 2 members', plan.describe())
        for wrong in ({'devices': []}, {'devices': 3}, {'devices': ['nowhere']}, {'devices': ['host', 0]},
                      {'devices': ['host'], 'every': 2}, {'devices': ['host'], 'device': 'host'}):
            with self.assertRaises(ValueError, msg=str(wrong)):
                stentor.Plan((8, 8), 'heat-2d', steps=4, **wrong)
        with self.assertRaises(ValueError):
            plan.describe('json')


if __name__ == '__main__':
    unittest.main()
