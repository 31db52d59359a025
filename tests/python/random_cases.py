"""Random problems of tests that compare with scipy: their seeds, arrays and comparisons."""
import unittest
import warnings

import numpy as np
import scipy

from run_settings import COUNT, SEED

MODES = ['reflect', 'constant', 'nearest', 'mirror', 'wrap', 'grid-mirror', 'grid-constant', 'grid-wrap']
# Since version 1.15, scipy has axes= in all functions, and its present exceptions.
MODERN = tuple(int(n) for n in scipy.__version__.split('.')[:2]) >= (1, 15)


class RandomCase(unittest.TestCase):
    """Tests of random problems; the message of a failure has the problem's seed."""

    WARNINGS = 'ignore'

    @classmethod
    def setUpClass(cls):
        print(f'STENTOR_TEST_SEED={SEED}', flush=True)

    def each(self, body, count=COUNT, seed=SEED):
        for i in range(count):
            with self.subTest(seed=(seed, i)), warnings.catch_warnings():
                warnings.simplefilter(self.WARNINGS)
                body(np.random.default_rng([seed, i]))


def draw(rng, shape, dtype):
    """A dense random array of the dtype."""
    kind = np.dtype(dtype).kind
    if kind in 'biu':
        return rng.integers(0, 2 if kind == 'b' else 100, shape).astype(dtype)
    x = rng.standard_normal(shape)
    return (x + 1j * rng.standard_normal(shape) if kind == 'c' else x).astype(dtype)


def draw_view(rng, shape, dtype):
    """The same, in half of the cases not contiguous."""
    wide = [n + rng.integers(0, 2) * n for n in shape]
    base = draw(rng, wide, dtype)
    cut = tuple(slice(0, w, w // n if rng.random() < 0.5 else 1) for w, n in zip(wide, shape))
    x = base[cut][tuple(slice(0, n) for n in shape)]
    if rng.random() < 0.2:
        x = x[::-1]
    if x.ndim > 1 and x.shape[0] == x.shape[1] and rng.random() < 0.5:
        x = x.swapaxes(0, 1)
    return x


def agree(ours, theirs, slack=0, any_size=False):
    """slack: allowed difference of integers. any_size: values may be large, so that integers wrap
    around, and other numbers are compared relative to the largest."""
    np.testing.assert_equal((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
    if theirs.dtype.kind == 'b':  # scipy.ndimage writes bytes other than 0 and 1 into bool arrays
        np.testing.assert_array_equal(ours.view('u1') != 0, theirs.view('u1') != 0)
    elif theirs.dtype.kind in 'iu' and not slack:
        np.testing.assert_array_equal(ours, theirs)
    elif theirs.dtype.kind in 'iu':
        apart = np.abs(ours.astype(float) - theirs.astype(float))
        if any_size:
            apart = np.minimum(apart, 2.0 ** (8 * theirs.itemsize) - apart)
        assert apart.max(initial=0) <= slack, (ours, theirs)
    else:
        close = 2e-5 if theirs.dtype.name in ('float32', 'complex64') else 1e-11
        scale = max(1, np.abs(theirs).max(initial=0)) if any_size else 1
        np.testing.assert_allclose(ours, theirs, rtol=close, atol=close * scale)
