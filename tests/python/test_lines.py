"""Filters along one axis, derivatives and complex weights, against scipy.ndimage.

Arguments are random.
"""
import functools
import unittest

import numpy as np
from scipy import ndimage

import stentor
import random_cases
from random_cases import MODERN, MODES, RandomCase, draw
from run_settings import SEED

agree = functools.partial(random_cases.agree, any_size=True)

TYPES = ['float64', 'float32', 'complex128', 'complex64', 'int32', 'uint8', 'int16', '>f8', 'bool']


class Random(RandomCase):
    def each(self, body, types=TYPES, most=3):
        """Draws an array and arguments for `body`."""
        def with_array(rng):
            rank = int(rng.integers(1, most + 1))
            shape = tuple(int(n) for n in rng.integers(1, {1: 40, 2: 14, 3: 8, 4: 5}[rank], rank))
            x = draw(rng, shape, rng.choice(types))
            given = dict(mode=str(rng.choice(MODES)), cval=float(rng.integers(0, 4)), axis=int(rng.integers(-rank, rank)))
            body(rng, x, given)
        super().each(with_array)

    def test_lines(self):
        def body(rng, x, given):
            n = int(rng.integers(1, 8))
            w = rng.integers(-3, 4, n).astype(rng.choice(['float64', 'int64', 'float32', 'complex128', 'complex64']))
            if w.dtype.kind == 'c':
                w = w + 1j * rng.integers(-3, 4, n)
            if x.dtype.kind in 'ub':
                w = abs(w)
            origin = int(rng.integers(-((n - 1) // 2), (n - 1) // 2 + 1))
            name = str(rng.choice(['correlate1d', 'convolve1d']))
            if x.dtype.kind == 'c' and rng.random() < 0.5:
                given['cval'] += 2j
            agree(getattr(stentor, name)(x, w, origin=origin, **given), getattr(ndimage, name)(x, w, origin=origin, **given))
        self.each(body)

    def test_complex_weights(self):
        def body(rng, x, given):
            del given['axis']
            shape = rng.integers(1, 5, x.ndim)
            w = rng.standard_normal(shape) + 1j * rng.standard_normal(shape)
            name = str(rng.choice(['correlate', 'convolve']))
            ours, theirs = (getattr(each, name)(x, w, output=np.complex128, **given) for each in (stentor, ndimage))
            agree(ours, theirs)
            same = x.astype(complex)
            self.assertIs(getattr(stentor, name)(same, w, output=same, **given), same)
            agree(same, theirs)
        self.each(body, ['float64', 'complex128', 'int32', 'uint8'])

    def test_steps_of_complex_weights(self):
        x, w = draw(np.random.default_rng(SEED), (9, 7), 'complex128'), np.array([[1j, 0.5, -0.25]])
        twice = stentor.correlate(stentor.correlate(x, w), w)
        np.testing.assert_allclose(stentor.correlate(x, w, steps=2), twice, rtol=1e-12)

    def test_gaussian_and_uniform(self):
        def body(rng, x, given):
            sigma, order = float(rng.choice([0.4, 1, 2.3, 9])), int(rng.integers(0, 3)) if x.dtype.kind in 'fc' else 0
            if x.dtype.kind != 'b':
                ours, theirs = (each.gaussian_filter1d(x, sigma, order=order, truncate=3.0, **given) for each in (stentor, ndimage))
                agree(ours, theirs, 1)
            n = int(rng.integers(1, 9))
            given['origin'] = int(rng.integers(-((n - 1) // 2), (n - 1) // 2 + 1))
            agree(stentor.uniform_filter1d(x, n, **given), ndimage.uniform_filter1d(x, n, **given))
        self.each(body)

    def test_sobel_and_prewitt(self):
        def body(rng, x, given):
            given['mode'] = [str(rng.choice(MODES)) for _ in range(x.ndim)] if rng.random() < 0.5 else given['mode']
            name = str(rng.choice(['sobel', 'prewitt']))
            ours, theirs = (getattr(each, name)(x, **given) for each in (stentor, ndimage))
            agree(ours, theirs)
            if x.dtype.kind == 'f':
                agree(getattr(stentor, name)(x, output=np.float32, **given), getattr(ndimage, name)(x, output=np.float32, **given))
        self.each(body, [t for t in TYPES if t != 'bool'], 4)

    def test_sums_over_axes(self):
        def body(rng, x, given):
            del given['axis']
            given['mode'] = [str(rng.choice(MODES)) for _ in range(x.ndim)] if rng.random() < 0.5 else given['mode']
            sigma = [float(s) for s in rng.choice([0.6, 1.5], x.ndim)]
            names = ['gaussian_laplace', 'gaussian_gradient_magnitude'][:1 + (x.dtype.kind == 'f')]
            for name in names:
                agree(getattr(stentor, name)(x, sigma, **given), getattr(ndimage, name)(x, sigma, **given), x.ndim)
            agree(stentor.laplace(x, **given), ndimage.laplace(x, **given), 0)
            if x.dtype.kind == 'f':
                agree(stentor.generic_gradient_magnitude(x, stentor.sobel, **given),
                      ndimage.generic_gradient_magnitude(x, ndimage.sobel, **given))
                same = x.copy()
                self.assertIs(stentor.gaussian_laplace(same, sigma, same, **given), same)
                agree(same, ndimage.gaussian_laplace(x, sigma, **given))
        self.each(body, ['float64', 'float32', 'complex128', 'int32'], 4)

    def test_more_axes_than_three(self):
        def body(rng, x, given):
            del given['axis']
            x = draw(rng, (3, 4, 2, 3, 5), x.dtype)
            shape = np.ones(5, int)
            shape[rng.permutation(5)[:3]] = rng.integers(1, 4, 3)
            w = rng.integers(0, 4, shape).astype(float)
            agree(stentor.correlate(x, w, **given), ndimage.correlate(x, w, **given))
            agree(stentor.laplace(x, **given), ndimage.laplace(x, **given))
            agree(stentor.gaussian_filter(x, 0.7, **given), ndimage.gaussian_filter(x, 0.7, **given), 5)
        self.each(body, ['float64', 'int32', 'complex64'])


class Refused(unittest.TestCase):
    @unittest.skipUnless(MODERN, 'scipy is older than 1.15')
    def test_as_scipy_refuses(self):
        x = np.arange(20.0).reshape(4, 5)
        for text in ('correlate1d(x, [])', 'correlate1d(x, [[1.0]])', 'correlate1d(x, [1, 2], axis=2)', 'correlate1d(x, [1], origin=1)',
                     "correlate1d(x, [1], mode='zz')", 'correlate1d(x, [1j], cval=1j)', 'uniform_filter1d(x, 0)', 'uniform_filter1d(x, 3, origin=2)',
                     'uniform_filter1d(x, 2.5)', 'gaussian_filter1d(x, 1, radius=-1)', 'gaussian_filter1d(x, 1, order=-1)', 'sobel(x, axis=3)',
                     'sobel(x, axis=0.5)', "prewitt(x, mode=['wrap'])", "generic_laplace(x, f, mode=['wrap'])", 'gaussian_laplace(x, [1])',
                     'gaussian_gradient_magnitude(x, 1, axes=(0, 0))', 'generic_laplace(x, f, np.empty((2, 2)))',
                     'correlate1d(x, [1j], output=np.empty((4, 5)))', "correlate1d(x, [1j], output='f8')"):
            with self.subTest(text):
                def call(library):
                    return eval('library.' + text, {'library': library, 'x': x, 'np': np, 'f': lambda x, *rest: x})

                with self.assertRaises(Exception) as theirs:
                    call(ndimage)
                with self.assertRaises(type(theirs.exception)):
                    call(stentor)

    def test_more_than_three_axes_of_weights(self):
        with self.assertRaisesRegex(ValueError, '3 axes at most'):
            stentor.correlate(np.ones((4,) * 4), np.ones((2,) * 4))


if __name__ == '__main__':
    unittest.main()
