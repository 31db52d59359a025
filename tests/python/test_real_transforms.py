"""Cosine, sine and Hermitian transforms and helpers against scipy.fft, with random arguments."""
import itertools
import os
import tracemalloc
import unittest

import numpy as np
import scipy.fft

import stentor
from random_cases import MODERN, RandomCase
from run_settings import COUNT, SEED
from stentor._namespace import Namespace
from stentor._trigonometric import Kind, lines, logical_length

DTYPES = ['f8', 'f4', 'c16', 'c8', 'i4', 'u1', 'f2', '>f8']
REAL = ['dct', 'idct', 'dst', 'idst']


def draw(rng, shape, dtype):
    x = rng.standard_normal(shape) * 10
    x = x + 1j * rng.standard_normal(shape) if np.dtype(dtype).kind == 'c' else abs(x) if np.dtype(dtype).kind == 'u' else x
    x = x.astype(dtype)
    x = x.swapaxes(0, -1) if rng.random() < 0.3 else x
    return x[::-1] if rng.random() < 0.3 else x


class Random(RandomCase):
    def same(self, name, x, *given, **named):
        """The result equals scipy's, or the call is refused with the same exception."""
        try:
            theirs = getattr(scipy.fft, name)(x.copy(), *given, **named)
        except Exception as error:
            with self.assertRaises(type(error)):
                getattr(stentor.fft, name)(x, *given, **named)
            return
        kept = x.copy()
        ours = getattr(stentor.fft, name)(x, *given, **named)
        np.testing.assert_array_equal(x, kept)
        self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
        close = 1e-5 if theirs.dtype.name in ('float32', 'complex64') else 1e-12
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=close * np.abs(theirs).max(initial=0))

    def test_real_transforms(self):
        def body(rng):
            rank = int(rng.integers(1, 4))
            x = draw(rng, tuple(int(n) for n in rng.integers(1, {1: 80, 2: 40, 3: 9}[rank], rank)), rng.choice(DTYPES))
            name, given = str(rng.choice(REAL)), dict(type=int(rng.integers(1, 5)), norm=[None, 'forward', 'backward', 'ortho'][rng.integers(3 + MODERN)])
            if x.dtype.kind != 'c' and MODERN:  # otherwise scipy ignores the argument
                given['orthogonalize'] = [None, True, False][rng.integers(3)]
            if rng.random() < 0.5:
                given['axis'], given['n'] = int(rng.integers(-rank, rank)), [None, int(rng.integers(1, 40))][rng.integers(2)]
            else:
                name, axes = name + 'n', [int(a) for a in rng.permutation(rank)[:rng.integers(1, rank + 1)]]
                given['axes'] = axes if rng.random() < 0.7 else None
                given['s'] = [int(n) for n in rng.integers(1, 20, len(axes))] if rng.random() < 0.4 else None
            self.same(name, x, **given)
        self.each(body, COUNT * 10)

    def test_short_lines(self):
        """Lines of few points between others, of each type."""
        rng = np.random.default_rng(7)
        for shape, dtype, name, kind in itertools.product(((7, 2, 2), (2, 7, 2), (14, 2), (3, 5)), DTYPES, REAL, range(1, 5)):
            x = draw(rng, shape, dtype)
            for axis in range(len(shape)):
                with self.subTest(shape=shape, dtype=dtype, name=name, type=kind, axis=axis):
                    self.same(name, x, type=kind, axis=axis)

    def test_loops_over_odd_offsets(self):
        """Lines that a plan takes one after the other, at offsets that may be odd."""
        for rows, columns, dtype in itertools.product((3, 4), (51, 52), ('f8', 'f4')):
            x = np.random.default_rng(7).standard_normal((rows, 601, columns)).astype(dtype)
            for kind in range(1, 5):
                for axis in range(3):
                    self.same('dst', x.swapaxes(0, 2), kind, axis=axis)
                    self.same('dct', x[:, :600].swapaxes(1, 2), kind, axis=axis)

    def test_many_lines(self):
        """Many lines along each axis."""
        def body(rng):
            n = int(rng.integers(300, 700))
            x = draw(rng, (3, n, 30000 // n), rng.choice(['f8', 'f4']))
            for axis in range(3):
                self.same(str(rng.choice(REAL)), x, int(rng.integers(1, 5)), axis=axis)
        self.each(body, max(1, COUNT // 30))

    def test_hermitian(self):
        def body(rng):
            rank = int(rng.integers(1, 4))
            x = draw(rng, tuple(int(n) for n in rng.integers(2, 10, rank)), rng.choice(DTYPES))
            name, norm = str(rng.choice(['hfft', 'ihfft'])), [None, 'ortho', 'forward', 'backward'][rng.integers(4)]
            x = x.real if name == 'ihfft' else x
            self.same(name, x, [None, 7][rng.integers(2)], int(rng.integers(-rank, rank)), norm)
            self.same(name + 'n', x, norm=norm)
            if rank > 1:
                self.same(name + '2', x, [None, (5, 6)][rng.integers(2)], norm=norm)
        self.each(body)

    def test_hermitian_out(self):
        x = np.random.default_rng(SEED).standard_normal(12)
        out = np.empty(7, complex)
        self.assertIs(stentor.fft.ihfft(x, out=out), out)
        np.testing.assert_allclose(out, np.fft.ihfft(x), rtol=0, atol=1e-14)
        back = np.empty(12)
        self.assertIs(stentor.fft.hfft(out, 12, out=back), back)
        np.testing.assert_allclose(back, x, rtol=0, atol=1e-14)

    def test_shifts_and_frequencies(self):
        def body(rng):
            rank = int(rng.integers(1, 4))
            x = draw(rng, tuple(int(n) for n in rng.integers(1, 8, rank)), rng.choice(DTYPES))
            for name in ('fftshift', 'ifftshift'):
                axes = [None, int(rng.integers(-rank, rank)), tuple(range(rank))][rng.integers(3)]
                np.testing.assert_array_equal(getattr(stentor.fft, name)(x, axes), getattr(scipy.fft, name)(x, axes))
            n, d = int(rng.integers(1, 99)), float(rng.uniform(0.1, 3))
            for name in ('fftfreq', 'rfftfreq'):
                np.testing.assert_allclose(getattr(stentor.fft, name)(n, d), getattr(scipy.fft, name)(n, d), rtol=1e-14)
        self.each(body)

    def test_lengths(self):
        def body(rng):
            n = int(2 ** rng.uniform(0, 40))
            for real in (False, True):
                self.assertEqual(stentor.fft.next_fast_len(n, real), scipy.fft.next_fast_len(n, real))
                if hasattr(scipy.fft, 'prev_fast_len'):
                    self.assertEqual(stentor.fft.prev_fast_len(n, real), scipy.fft.prev_fast_len(n, real))
        self.each(body, COUNT * 10)


class Defined(unittest.TestCase):
    def test_against_the_definition(self):
        """The transforms against their definition, also for prime lengths."""
        for n in (2, 3, 64, 211, 509, 1000):
            k, j = np.arange(n)[:, None], np.arange(n)[None, :]
            weight = np.where((j == 0) | (j == n - 1), 1.0, 2.0)
            first = np.where(j == 0, 1.0, 2.0)
            tables = {('dct', 1): weight * np.cos(np.pi * k * j / (n - 1)), ('dct', 2): 2 * np.cos(np.pi * k * (2 * j + 1) / (2 * n)),
                      ('dct', 3): first * np.cos(np.pi * (2 * k + 1) * j / (2 * n)),
                      ('dct', 4): 2 * np.cos(np.pi * (2 * k + 1) * (2 * j + 1) / (4 * n)),
                      ('dst', 1): 2 * np.sin(np.pi * (k + 1) * (j + 1) / (n + 1)), ('dst', 2): 2 * np.sin(np.pi * (k + 1) * (2 * j + 1) / (2 * n)),
                      ('dst', 3): first[:, ::-1] * np.sin(np.pi * (2 * k + 1) * (j + 1) / (2 * n)),
                      ('dst', 4): 2 * np.sin(np.pi * (2 * k + 1) * (2 * j + 1) / (4 * n))}
            x = np.random.default_rng([SEED, n]).standard_normal(n)
            for (name, kind), table in tables.items():
                with self.subTest(name=name, kind=kind, n=n):
                    exact = table @ x
                    np.testing.assert_allclose(getattr(stentor.fft, name)(x, kind), exact, rtol=0, atol=2e-12 * np.linalg.norm(exact))

    def test_other_libraries(self):
        """The code for GPU arrays, run with NumPy as the array library."""
        rng = np.random.default_rng(SEED)
        for kind in (Kind(t, sine, 0.5, t == 2) for t in (1, 2, 3, 4) for sine in (False, True)):
            for n in (2, 5, 8, 13):
                for axis, shape in ((-1, (3, n)), (-2, (n, 3))):
                    x = rng.standard_normal(shape)
                    name, norm = 'dst' if kind.sine else 'dct', 'ortho' if kind.orthogonal else 'backward'
                    factor = 0.5 * (1 if norm == 'backward' else logical_length(kind.type, kind.sine, n) ** 0.5)
                    theirs = getattr(stentor.fft, name)(x, kind.type, axis=axis, norm=norm) * factor
                    np.testing.assert_allclose(lines(Namespace('cupy', np, axis), x, kind), theirs, rtol=1e-12, atol=1e-12)

    def test_memory_of_the_result_only(self):
        x = np.random.default_rng(SEED).standard_normal((20000, 25))
        for kind in (1, 2, 3, 4):
            stentor.fft.dct(x, kind)
            tracemalloc.start()
            made = stentor.fft.dct(x, kind)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            self.assertLess(peak, 1.5 * made.nbytes, kind)


class Refused(unittest.TestCase):
    def test_arguments(self):
        x = np.ones((3, 4))
        for text, kind in (('dct(x, 5)', ValueError), ('dct(x, 0)', ValueError), ("dct(x, norm='zz')", ValueError), ('dct(x, n=0)', ValueError),
                           ('dctn(x, axes=(0, 0))', ValueError), ('dctn(x, s=(3,), axes=(0, 1))', ValueError), ('dct(x, workers=0)', ValueError),
                           ('dct(x[:1], 1, axis=0)', RuntimeError), ('dct(x, axis=2)', IndexError), ('next_fast_len(-1)', ValueError),
                           ('next_fast_len(1.5)', TypeError), ('hfft(x, 0)', ValueError), ('ihfft(1j * x)', TypeError), ('fftfreq(1.5)', ValueError)):
            with self.subTest(text), self.assertRaises(kind):
                eval('fft.' + text, {'fft': stentor.fft, 'x': x})

    def test_workers(self):
        with stentor.fft.set_workers(3):
            with stentor.fft.set_workers(-1):
                self.assertEqual(stentor.fft.get_workers(), os.cpu_count())
            self.assertEqual(stentor.fft.get_workers(), 3)
        self.assertEqual(stentor.fft.get_workers(), 1)
        with self.assertRaises(ValueError), stentor.fft.set_workers(0):
            pass

    def test_no_axes(self):
        x = np.ones((2, 2))
        self.assertTrue((stentor.fft.dctn(x, axes=()) == x).all() and stentor.fft.dctn(x, axes=()) is not x)


if __name__ == '__main__':
    unittest.main()
