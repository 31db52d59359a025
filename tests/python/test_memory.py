"""The cache of the functions takes a bounded amount of memory."""
import gc
import os
import unittest

import numpy as np

import stentor
from stentor import _memo
from stentor._namespace import NUMPY
from stentor._trigonometric import Kind, lines


def resident():
    with open('/proc/self/statm') as file:
        return int(file.read().split()[1]) * os.sysconf('SC_PAGE_SIZE')


class Kept(unittest.TestCase):
    MAX_BYTES = 64 << 20

    def setUp(self):
        stentor.clear_cache()

    def test_transforms_of_many_lengths(self):
        x = np.random.default_rng(3).random(200300)
        stentor.fft.fft(x[:200000])
        gc.collect()
        before = resident()
        for n in range(200003, 200003 + 60):
            stentor.fft.fft(x[:n])
            self.assertTrue(len(_memo._prepared) == 1 or sum(_memo._bytes.values()) <= self.MAX_BYTES)
        self.assertLess(resident() - before, 4 * self.MAX_BYTES, 'of the process, in which freed memory may stay')
        self.assertGreaterEqual(len(_memo._prepared), 1)

    def test_workspaces_of_plans_count(self):
        grids = np.random.default_rng(3).random((1060, 501)) + 1j
        calls = {'irfft2': stentor.fft.irfft2, 'fft': stentor.fft.fft, 'steps': lambda x: stentor.correlate(x.real, np.ones((9, 9)), steps=2, local=True)}
        for name, call in calls.items():
            with self.subTest(name):
                stentor.clear_cache()
                call(grids[:1000])
                gc.collect()
                before = resident()
                for n in range(1001, 1060):
                    call(grids[:n])
                self.assertLessEqual(sum(_memo._bytes.values()), self.MAX_BYTES)
                self.assertLess(resident() - before, 2 * self.MAX_BYTES, 'of the process, in which freed memory may stay')

    def test_transforms_of_several_axes_take_the_memory_of_their_results(self):
        for shape, dtype in (((1001, 999), 'complex128'), ((1001, 999), 'float32'), ((61, 99, 101), 'complex64')):
            stentor.clear_cache()
            result = stentor.fft.fftn(np.ones(shape, dtype)) if dtype[0] == 'c' else stentor.fft.rfftn(np.ones(shape, dtype))
            self.assertLess(sum(_memo._bytes.values()), result.nbytes // 3)

    def test_the_last_used_stay(self):
        x = np.random.default_rng(4).random(1 << 14)
        for n in range(1000, 1600):
            stentor.fft.fft(x[:n])
        self.assertEqual(set(_memo._prepared), set(_memo._bytes))
        self.assertEqual(_memo._total[0], sum(_memo._bytes.values()))
        self.assertLessEqual(len(_memo._prepared), 256)
        kept = list(_memo._prepared.values())[-1]
        stentor.fft.fft(x[:1599])
        self.assertIs(list(_memo._prepared.values())[-1], kept, 'the same call is not prepared again')

    def test_one_that_is_too_large_serves_as_long_as_it_is_the_last(self):
        x = np.random.default_rng(5).random(1 << 21)
        stentor.fft.fft(x[:1999993])
        kept = list(_memo._prepared.values())
        stentor.fft.fft(x[:1999993])
        self.assertIs(list(_memo._prepared.values())[-1], kept[-1])
        stentor.laplace(x[:100000], steps=2)
        self.assertLessEqual(sum(_memo._bytes.values()), self.MAX_BYTES)

    def test_small_filters_with_new_arguments_evict_nothing(self):
        x = np.random.default_rng(6).random((16, 16))
        stentor.laplace(x.repeat(20, 0).repeat(20, 1), steps=2)
        kept = set(_memo._prepared)
        for i in range(600):
            stentor.gaussian_filter(x, 1 + i * 1e-3)
            stentor.correlate(x, np.full((3, 3), 1 + i))
            stentor.correlate(x[:i % 15 + 1], np.full((3, 3), 1 + i))
        self.assertLessEqual(kept, set(_memo._prepared))
        self.assertLess(len(_memo._prepared), 10)

    def test_an_entry_that_is_replaced_counts_once(self):
        class Entry:
            cached_bytes = self.MAX_BYTES // 3

            def finish(self):
                pass

        for key in ('first', 'second', 'second', 'second'):
            _memo.remember(key, Entry())
        self.assertIsNotNone(_memo.recall('first'))

    def test_tables_are_freed(self):
        x = np.random.default_rng(7).random((40, 40))
        stentor.gaussian_filter(x, 2.5)
        stentor.gaussian_filter(x[0], 3, radius=5000)
        stentor.correlate(x, np.ones((3, 3)))
        stentor.uniform_filter(x, 4)
        lines(NUMPY, x, Kind(2, False, 1.0, False))
        lines(NUMPY, x[:, :39], Kind(4, False, 1.0, False))
        kept = {each.__name__: each.cache_info().currsize for each in _memo._tables}
        self.assertEqual([name for name, count in kept.items() if not count], [])
        self.assertEqual(kept['_squares'], 1, 'only the short table')
        stentor.clear_cache()
        self.assertEqual(sum(each.cache_info().currsize for each in _memo._tables), 0)


if __name__ == '__main__':
    unittest.main()
