"""nan='ignore' and the boundaries 'ignore' and 'odd', against their definitions.

Arguments are random.
"""
import itertools
import unittest
import warnings

import numpy as np
from scipy import ndimage

import stentor
from random_cases import RandomCase
from run_settings import SEED

try:
    import astropy.convolution
except ImportError:
    astropy = None
MODES = {'reflect': 'symmetric', 'nearest': 'edge', 'mirror': 'reflect', 'wrap': 'wrap', 'constant': 'constant', 'ignore': 'constant', 'odd': 'reflect'}


def defined(x, weights, mode, cval, ignore_nan):
    """The sum over the valid points, point by point, scaled to the sum of all weights."""
    reach = [(n // 2, n - 1 - n // 2) for n in weights.shape]
    given = {'constant_values': np.nan if mode == 'ignore' else cval} if MODES[mode] == 'constant' else {'reflect_type': 'odd'} if mode == 'odd' else {}
    inside = np.pad(np.ones(x.shape), reach, mode='constant') if mode == 'ignore' else None
    wide = np.pad(x, reach, mode=MODES[mode], **given)
    made = np.empty(x.shape)
    for at in itertools.product(*map(range, x.shape)):
        part = tuple(slice(i, i + n) for i, n in zip(at, weights.shape))
        seen, there = wide[part], np.ones(weights.shape, bool)
        if mode == 'ignore':
            there &= inside[part] > 0
        if ignore_nan:
            there &= ~np.isnan(seen)
        left = weights[there].sum()
        scale = weights.sum() / left if there.any() and (mode == 'ignore' or ignore_nan) else 1.0
        made[at] = (weights * np.where(there, seen, 0)).sum() * scale if there.any() else np.nan
    return made


class Random(RandomCase):
    WARNINGS = 'error'

    def problem(self, rng, missing=0.2):
        rank = int(rng.integers(1, 4))
        x = rng.standard_normal(tuple(int(n) for n in rng.integers(5, {1: 30, 2: 12, 3: 8}[rank], rank)))
        x[rng.random(x.shape) < missing] = np.nan
        return x, rng.uniform(0.1, 1, rng.integers(1, 5, rank))

    def test_correlate(self):
        def body(rng):
            ignore_nan = rng.random() < 0.6
            x, w = self.problem(rng, 0.4 if ignore_nan else 0.02)
            mode, cval = str(rng.choice(list(MODES))), float(rng.choice([0.0, 1.5, np.nan]))
            ours = stentor.correlate(x, w, mode=mode, cval=cval, nan='ignore' if ignore_nan else None)
            np.testing.assert_allclose(ours, defined(x, w, mode, cval, ignore_nan), rtol=1e-11, atol=1e-11)
            single = stentor.correlate(x.astype('f4'), w, mode=mode, cval=cval, nan='ignore' if ignore_nan else None)
            np.testing.assert_allclose(single, defined(x, w, mode, cval, ignore_nan), rtol=1e-4, atol=1e-4)
        self.each(body)

    def test_gaussian_and_uniform(self):
        """Without NaN, scipy's result; otherwise that of the weights of all axes at once."""
        def body(rng):
            x, _ = self.problem(rng)
            sigma, radius = float(rng.uniform(0.5, 2)), int(rng.integers(1, 4))
            line = np.exp(-0.5 * (np.arange(-radius, radius + 1) / sigma) ** 2)
            mode = str(rng.choice(['reflect', 'constant', 'ignore', 'nearest']))
            for weights, made in ((line / line.sum(), stentor.gaussian_filter(x, sigma, radius=radius, mode=mode, nan='ignore')),
                                  (np.full(3, 1 / 3), stentor.uniform_filter(x, 3, mode=mode, nan='ignore'))):
                all_axes = np.array(1.0)
                for _ in range(x.ndim):
                    all_axes = np.multiply.outer(all_axes, weights)
                np.testing.assert_allclose(made, defined(x, all_axes, mode, 0.0, True), rtol=1e-10, atol=1e-10)
            full = np.nan_to_num(x)
            np.testing.assert_allclose(stentor.gaussian_filter(full, sigma, nan='ignore'), ndimage.gaussian_filter(full, sigma), rtol=1e-11, atol=1e-12)
        self.each(body)

    def test_odd_along_axes(self):
        """The boundary 'odd' by axis and side, for Gaussians and derivatives."""
        def body(rng):
            x = rng.standard_normal((9, 8))
            pads = np.pad(x, ((8, 8), (0, 0)), mode='reflect', reflect_type='odd')
            inner = (slice(8, -8), slice(None))
            np.testing.assert_allclose(stentor.gaussian_filter(x, 1, mode=('odd', 'wrap')),
                                       ndimage.gaussian_filter(pads, 1, mode=('nearest', 'wrap'))[inner], rtol=1e-11, atol=1e-12)
            np.testing.assert_allclose(stentor.sobel(x, 0, mode=('odd', 'wrap')), ndimage.sobel(pads, 0, mode=('nearest', 'wrap'))[inner],
                                       rtol=1e-11, atol=1e-12)
            one = np.pad(x, ((8, 0), (0, 0)), mode='reflect', reflect_type='odd')[:, :]
            np.testing.assert_allclose(stentor.gaussian_filter1d(x, 1, 0, mode='odd:mirror'), ndimage.gaussian_filter1d(one, 1, 0, mode='mirror')[8:],
                                       rtol=1e-11, atol=1e-12)
        self.each(body)

    @unittest.skipUnless(astropy, 'astropy is not installed')
    def test_astropy(self):
        def body(rng):
            x, w = self.problem(rng)
            w = rng.uniform(0.1, 1, [2 * int(n) + 1 for n in rng.integers(0, 3, x.ndim)])
            with warnings.catch_warnings():
                warnings.simplefilter('ignore')
                theirs = astropy.convolution.convolve(x, w / w.sum(), boundary='fill', nan_treatment='interpolate')
            np.testing.assert_allclose(stentor.convolve(x, w / w.sum(), mode='constant', nan='ignore'), theirs, rtol=1e-10, atol=1e-10)
        self.each(body)


class Kinds(unittest.TestCase):
    def test_types_and_outputs(self):
        x = np.arange(12).reshape(3, 4)
        made = stentor.uniform_filter(x, 3, mode='ignore')
        self.assertEqual(made.dtype, x.dtype)
        exact = defined(x.astype(float), np.full((3, 3), 1 / 9), 'ignore', 0.0, False)
        self.assertLessEqual(np.abs(made - exact).max(), 1)
        out = np.empty((3, 4), 'f4')
        self.assertIs(stentor.uniform_filter(x, 3, mode='ignore', out=out), out)
        np.testing.assert_allclose(out, exact, rtol=1e-6)
        same = x.astype(float)
        stentor.uniform_filter(same, 3, mode='ignore', output=same)
        np.testing.assert_allclose(same, exact)
        self.assertEqual(stentor.gaussian_filter(x.astype('f2'), 1, nan='ignore').dtype, np.float16)

    def test_complex(self):
        x = np.arange(8.0) + 1j
        x[3] = complex(np.nan, 1)
        made = stentor.gaussian_filter(x, 1, nan='ignore')
        masked = np.where(np.arange(8) == 3, np.nan, np.arange(8.0))
        np.testing.assert_allclose(made.real, stentor.gaussian_filter(masked, 1, nan='ignore'))
        np.testing.assert_allclose(made.imag, 1)

    def test_steps(self):
        x = np.arange(20.0)
        x[4:6] = np.nan
        twice = stentor.gaussian_filter(stentor.gaussian_filter(x, 1, nan='ignore', mode='odd'), 1, nan='ignore', mode='odd')
        np.testing.assert_allclose(stentor.gaussian_filter(x, 1, nan='ignore', mode='odd', steps=2), twice)

    def test_constants_stay_and_nothing_is_nan(self):
        x = np.full((30, 30), 3.25)
        x[5:9, 5:9] = np.nan
        np.testing.assert_allclose(stentor.gaussian_filter(x, 3, mode='ignore', nan='ignore'), 3.25, rtol=1e-14)
        lonely = np.full(9, np.nan)
        lonely[0] = 2.0
        np.testing.assert_array_equal(stentor.uniform_filter(lonely, 3, nan='ignore'), [2.0, 2.0] + [np.nan] * 7)

    def test_transforms_on_request(self):
        x = np.random.default_rng(SEED).standard_normal((60, 70))
        x[10:40, 10:50] = np.nan
        w = np.ones((9, 9))
        made, exact = (stentor.correlate(x, w, local=local, nan='ignore') for local in (False, True))
        np.testing.assert_allclose(made, exact, rtol=1e-7, atol=1e-7)

    def test_refused(self):
        x = np.ones((4, 5))
        for call in (lambda: stentor.correlate(x, [[1, 0, -1]], nan='ignore'), lambda: stentor.laplace(x, mode='ignore'),
                     lambda: stentor.gaussian_filter(x, 1, nan='omit'), lambda: stentor.gaussian_filter(x, 1, nan='ignore', mode='fixed'),
                     lambda: stentor.correlate(x, [[1j]], nan='ignore'), lambda: stentor.Plan((4, 4), 'heat-2d', boundary='odd'),
                     lambda: stentor.Plan((4, 4), 'heat-2d', boundary='ignore')):
            with self.assertRaises(ValueError):
                call()


if __name__ == '__main__':
    unittest.main()
