"""Convolutions and correlations against scipy.signal, over random arguments."""
import unittest

import numpy as np
import scipy.signal

import stentor
from random_cases import RandomCase, draw
from run_settings import COUNT, SEED
from stentor import signal

DTYPES = ['f8', 'f4', 'c16', 'c8', 'i4', 'i8', 'u1', '>f8']


class Random(RandomCase):
    def agree(self, ours, theirs, single):
        self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
        if ours.dtype.kind in 'iu':
            np.testing.assert_array_equal(ours, theirs)
            return
        close = 1e-5 if single else 1e-12
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=close * max(1, np.abs(theirs).max(initial=0)))

    def pair(self, rng, rank, most):
        a = draw(rng, tuple(int(n) for n in rng.integers(1, most, rank)), rng.choice(DTYPES))
        return a, draw(rng, tuple(int(n) for n in rng.integers(1, most, rank)), rng.choice(DTYPES))

    def call(self, name, a, b, *given):
        """Compares with scipy's result or exception."""
        try:
            theirs = getattr(scipy.signal, name)(a, b, *given)
        except ValueError:
            with self.assertRaises(ValueError):
                getattr(signal, name)(a, b, *given)
            return
        self.agree(getattr(signal, name)(a, b, *given), theirs, any(each.dtype.name in ('float32', 'complex64') for each in (a, b)))

    def test_both_methods(self):
        def body(rng):
            rank = int(rng.integers(1, 4))
            a, b = self.pair(rng, rank, {1: 60, 2: 14, 3: 7}[rank])
            self.call(str(rng.choice(['convolve', 'correlate'])), a, b, str(rng.choice(['full', 'same', 'valid'])),
                      str(rng.choice(['auto', 'direct', 'fft'])))
        self.each(body, COUNT * 5)

    def test_transforms(self):
        def body(rng):
            rank = int(rng.integers(1, 4))
            a, b = self.pair(rng, rank, {1: 60, 2: 14, 3: 7}[rank])
            axes = [None, int(rng.integers(-rank, rank)), [int(i) for i in rng.permutation(rank)[:rng.integers(1, rank + 1)]]][rng.integers(3)]
            self.call(str(rng.choice(['fftconvolve', 'oaconvolve'])), a, b, str(rng.choice(['full', 'same', 'valid'])), axes)
        self.each(body, COUNT * 5)

    def test_blocks(self):
        """One array is much longer along one axis."""
        def body(rng):
            rank = int(rng.integers(1, 4))
            a, b = self.pair(rng, rank, 5)
            axis = int(rng.integers(rank))
            shape = [*a.shape]
            shape[axis] = int(rng.integers(200, 1000))
            b = b[(slice(None),) * axis + (slice(0, 7),)]
            a = draw(rng, shape, rng.choice(['f8', 'f4', 'c16']))
            pair = (a, b) if rng.random() < 0.5 else (b, a)
            self.call('oaconvolve', *pair, str(rng.choice(['full', 'same'])))
        self.each(body, COUNT * 2)

    def test_lags(self):
        def body(rng):
            n, m = (int(each) for each in rng.integers(1, 30, 2))
            for mode in ('full', 'same', 'valid'):
                ours, theirs = (each.correlation_lags(n, m, mode) for each in (signal, scipy.signal))
                np.testing.assert_array_equal(ours, theirs) if mode != 'same' or n >= m else None
        self.each(body)


class Exact(unittest.TestCase):
    def test_whole_numbers_past_float64(self):
        x = np.array([[2**40, 1], [3, 2**35]])
        np.testing.assert_array_equal(signal.convolve(x, x), scipy.signal.convolve(x, x, method='direct'))
        self.assertEqual(signal.choose_conv_method(x, x), 'direct')

    def test_bool(self):
        x = np.random.default_rng(SEED).random((5, 6)) < 0.5
        x[0] = False  # sums of zeros, which transforms round
        for method in ('direct', 'fft'):
            np.testing.assert_array_equal(signal.convolve(x, x, method=method), scipy.signal.convolve(x.astype(int), x.astype(int)) > 0)

    def test_large_arrays_go_by_transforms(self):
        x = np.ones((200, 200))
        self.assertEqual(signal.choose_conv_method(x, x), 'fft')
        chosen, seconds = signal.choose_conv_method(x, x[:3, :3], measure=True)
        self.assertIn(chosen, seconds)

    def test_nan_stays_where_sums_leave_it(self):
        x = np.zeros((20, 20))
        x[3, 4] = np.nan
        made = signal.convolve(x, np.ones((3, 3)), 'same', 'direct')
        self.assertEqual(np.isnan(made).sum(), 9)
        with self.assertWarns(RuntimeWarning):
            signal.convolve(np.full(9, np.nan), np.ones(3), method='fft')


if __name__ == '__main__':
    unittest.main()
