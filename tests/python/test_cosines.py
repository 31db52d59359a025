"""Cosine and sine transforms of types II and III on a GPU, compared with scipy.fft.

Problems whose lengths plans do not serve are refused, since these arrays have no arithmetic.
"""
import concurrent.futures
import os
import sys
import time
import unittest

import numpy as np
import scipy
import scipy.fft

import stentor
from run_settings import COUNT, SEED, need_gpu

MODERN = tuple(int(n) for n in scipy.__version__.split('.')[:2]) >= (1, 15)
SECONDS = float(os.environ.get('STENTOR_TEST_SECONDS', '1000'))  # no problem begins later
THREADS = 8 if len(os.sched_getaffinity(0)) > 8 else 2


def smooth(rng, most):
    while True:
        n = rest = int(np.exp(rng.uniform(np.log(4), np.log(most))))
        for p in (2, 3, 5, 7):
            while rest % p == 0:
                rest //= p
        if rest == 1:
            return n


def drawn(rng):
    rank = int(rng.integers(1, 4))
    longest = {1: 20000, 2: 4000, 3: 40}[rank]
    shape = [smooth(rng, longest) for _ in range(rank)]
    if rank == 2:
        shape[rng.integers(2)] = smooth(rng, 40)
    shape[-1] += shape[-1] % 2 * shape[-1]  # even rows
    where = sorted(int(a) for a in rng.permutation(rank)[:rng.integers(1, rank + 1)])
    x = rng.standard_normal(shape).astype(rng.choice(['f4', 'f8']))
    return x, where


class Given(unittest.TestCase):
    def check(self, shape, axes):
        x = np.random.default_rng(3).standard_normal(shape)
        for name in 'dctn', 'idstn':
            ours = getattr(stentor.fft, name)(stentor.to_device(x, 'cuda'), axes=axes, norm='ortho').numpy()
            np.testing.assert_allclose(ours, getattr(scipy.fft if MODERN else stentor.fft, name)(x, axes=axes, norm='ortho'), atol=1e-13)

    def test_odd_lines_between_other_axes(self):
        self.check((20, 5, 10), [1])

    def test_columns_that_clusters_share(self):
        self.check((4096, 112), [0])


class Random(unittest.TestCase):
    def test_random(self):
        print('seed', SEED)
        until = time.monotonic() + SECONDS
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            ran = sum(pool.map(lambda i: self.run_one(i, until), range(COUNT)))
        print(f'{ran} of {COUNT} problems ran')
        self.assertGreater(ran, 0)

    def run_one(self, i, until):
        if time.monotonic() > until:
            return 0
        rng = np.random.default_rng([SEED, i])
        x, where = drawn(rng)
        name = str(rng.choice(['dctn', 'idctn', 'dstn', 'idstn']))
        given = dict(type=int(rng.integers(2, 4)), axes=where, norm=[None, 'ortho', 'forward'][rng.integers(3)])
        kept = stentor.to_device(x, 'cuda')
        problem = f'problem {i} of seed {SEED}: {name} {x.dtype} {x.shape} {given}'
        try:
            ours = getattr(stentor.fft, name)(kept, **given).numpy()
        except ValueError:
            self.fail(f'no plan runs {problem}')
        # Older versions of scipy scale orthogonal sine transforms wrongly.
        theirs = getattr(scipy.fft if MODERN or given['norm'] != 'ortho' else stentor.fft, name)(x, **given)
        self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape), problem)
        bar = (2e-6 if x.dtype == np.float32 else 4e-15) * np.linalg.norm(theirs) / np.sqrt(theirs.size)
        self.assertLess(np.linalg.norm(ours - theirs) / np.sqrt(theirs.size), bar, problem)
        self.assertLess(np.abs(ours - theirs).max(), 100 * bar, problem)
        self.assertTrue(np.array_equal(kept.numpy(), x), problem)
        return 1


if __name__ == '__main__':
    need_gpu()
    sys.exit(unittest.main())
