"""Results depend on a call's arguments only, not on earlier calls; refusals are as in scipy."""
import unittest
import warnings

import numpy as np
import scipy
import scipy.fft
from scipy import ndimage

import stentor
from random_cases import MODERN
from run_settings import COUNT

FILTERS = ('correlate', 'convolve', 'gaussian_filter', 'uniform_filter', 'laplace')


def run(library, name, x, positional, named):
    """The result as an array, or the exception."""
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')
        try:
            return np.asarray(getattr(library, name)(x, *positional, **named))
        except Exception as error:
            return error


class Chain:
    """A random call, followed by calls that each differ from the one before in one argument."""

    def __init__(self, seed):
        self.rng = np.random.default_rng([35, seed])
        self.is_fft = self.rng.random() < 0.35
        if self.is_fft:
            self.name = str(self.rng.choice([each for each in stentor.fft.__all__ if each.lstrip('ir')[:3] == 'fft' and each.lstrip('ir')[3:] in ('', '2', 'n')]))
            self.of = {'norm': [None, 'ortho', 'forward', 'backward'], 'workers': [None, 1, 2, True]}
            if self.name[-1] in '2n':
                self.of.update(s=[None, (4, 5), [4, 5], (4, -1), (5, 4), 3], axes=[None, (0, 1), (1, 0), (-1, 0), [0, 1], range(2)])
                if self.name[-1] == '2':
                    self.of['axes'].pop(0)
            else:
                self.of.update(n=[None, 4, -1, 5, True, 1, 4.0], axis=[-1, 0, 1, True, np.int64(0)])
        else:
            self.name = str(self.rng.choice(FILTERS))
            self.of = {'mode': ['reflect', 'wrap', 'constant', 'nearest', 'mirror'], 'cval': [0.0, 1, 1.0, True, -0.0, 2.5, float('nan'), np.float32(1)],
                       'output': [None, 'f4', np.float64, '>f8', np.dtype('int16'), 'f2']}
            per_axis = ['reflect', ('wrap', 'nearest'), ['nearest', 'wrap'], np.array(['wrap', 'constant']), np.array('wrap')]
            if MODERN:
                self.of['axes'] = [None, (0, 1), (1, 0), (-1, 0), [0, 1], range(2)]
            if self.name in ('correlate', 'convolve'):
                ones = np.arange(1.0, 7).reshape(2, 3)
                self.weights = [ones, ones.astype('f4'), ones.astype(int), ones > 3, ones.T.copy(), ones[::-1], ones.tolist(), ones.astype('>f8')]
                self.of['origin'] = [0, (0, 1), [0, 1], 0.0, np.int8(0), (0, -1)]
            elif self.name == 'uniform_filter':
                self.of.update(size=[3, 3.0, True, 1, 0, (3, 2), [3, 2], (3, 2.0), (2, 3), np.array([3, 2]), np.float64(3), 2.9],
                               origin=[0, False, (0, 1), 0.0, (1, 0)], mode=self.of['mode'] + per_axis)
            elif self.name == 'gaussian_filter':
                self.of.update(sigma=[1, 1.0, True, np.float32(1), 0.5, (1, 0), [1, 0.0], (0, 1), np.array([1.0, 0.5]), 0],
                               order=[0, 1, 0.0, False, (0, 1), [1, 0], 2], truncate=[4.0, 4, 2, True, 3.0],
                               mode=self.of['mode'] + per_axis)
                if MODERN:
                    self.of['radius'] = [None, 1, True, 2, (1, 2), 1.0]
            else:
                self.of['mode'] = self.of['mode'] + per_axis
        base = self.rng.integers(0, 50, (6, 6))
        self.arrays = [base.astype(float), base.astype('f4'), base.astype('>f8'), base.astype(float).T, base.astype(float)[:, ::-1], base.astype('u1'),
                       base.astype('i4'), np.arange(72.0).reshape(6, 12)[:, ::2], base[:4].astype(float), (base > 20),
                       base + 1j * base.T, np.asfortranarray(base.astype('f4'))]

    def pick(self, values):
        return values[int(self.rng.integers(len(values)))]

    def calls(self):
        x, named = self.pick(self.arrays), {}
        required = {'uniform_filter': 'size', 'gaussian_filter': 'sigma'}.get(self.name)
        if required:
            named[required] = self.pick(self.of[required])
        weights = self.pick(self.weights) if hasattr(self, 'weights') else None
        for _ in range(5):
            yield x, [] if weights is None else [weights], dict(named)
            change = self.rng.random()
            if change < 0.15:
                x = self.pick(self.arrays)
            elif weights is not None and change < 0.35:
                weights = self.pick(self.weights)
            else:
                word = self.pick(list(self.of))
                named[word] = self.pick(self.of[word])


class History(unittest.TestCase):
    def refused(self, theirs, ours):
        """Whether an exception has the type of scipy's exception."""
        return isinstance(ours, type(theirs))

    def test_calls_that_differ_in_one_thing(self):
        """Each call runs twice, and again with an empty cache: always with scipy's result."""
        compared = 0
        for seed in range(COUNT * 12):
            with self.subTest(seed=seed):
                compared += self.chain(seed)
        self.assertGreater(compared, COUNT * 20)

    def chain(self, seed):
        chain, compared = Chain(seed), 0
        theirs_library, ours_library = (scipy.fft, stentor.fft) if chain.is_fft else (ndimage, stentor)
        for x, positional, named in chain.calls():
            said = ' '.join(f'{chain.name}({x.dtype}{x.shape}{x.strides}, {positional!r}, {named!r})'.split())
            first, second = (run(ours_library, chain.name, x, positional, named) for _ in range(2))
            theirs = run(theirs_library, chain.name, x, positional, named)
            self.same(first, second, said)
            self.agrees(first, theirs, said)
            compared += not isinstance(theirs, Exception)
            if seed % 4 == 0:
                stentor.clear_cache()
                self.same(run(ours_library, chain.name, x, positional, named), first, said + ' after clear_cache')
        return compared

    def same(self, a, b, said):
        if isinstance(a, Exception) or isinstance(b, Exception):
            self.assertEqual((type(a), str(a)), (type(b), str(b)), said)
            return
        self.assertEqual((a.dtype, a.shape, a.tobytes()), (b.dtype, b.shape, b.tobytes()), said)

    def agrees(self, ours, theirs, named):
        # scipy checks neither argument if it copies an array of non-native byte order, or if no
        # axis is filtered.
        if isinstance(ours, Exception) and ("'origin': 0.0" in named or 'output must have complex dtype' in str(ours)):
            return
        if isinstance(theirs, Exception):
            if not isinstance(ours, Exception):  # a feature beyond scipy
                beyond = isinstance(theirs, RuntimeError) and ('not supported' in str(theirs) or 'sequence of modes' in str(theirs))
                self.assertTrue(beyond or not MODERN or 'complex' in str(theirs), f'{named}: scipy raises {theirs!r}')
                return
            if MODERN and 'array type' not in str(theirs):
                self.assertTrue(self.refused(theirs, ours), f'{named}: {ours!r}, but scipy has {theirs!r}')
            return
        if isinstance(ours, Exception):
            self.fail(f'{named}: {ours!r}, but scipy has a result')
        if ours.dtype.kind == 'c' and theirs.dtype.kind == 'f':
            return  # scipy drops the imaginary part if no sigma is above 0
        self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape), named)
        if theirs.dtype.kind == 'b' and ('gaussian' in named or 'laplace' in named):
            # A sum of weights within rounding of 1 is true or false; laplace is rounded only once.
            return
        if 'nan' in named and theirs.dtype.kind in 'biu':
            return  # the integer that NaN converts to depends on the machine
        # scipy's running sums stay NaN to the end of the line.
        if 'nan' in named and named.startswith('uniform_filter'):
            ours, theirs = ours[~np.isnan(theirs)], theirs[~np.isnan(theirs)]
        if theirs.dtype.kind == 'b':
            np.testing.assert_array_equal(ours.view('u1') != 0, theirs.view('u1') != 0, named)
        elif theirs.dtype.kind in 'iu':
            step = np.abs(ours.astype(float) - theirs.astype(float))
            step = np.minimum(step, 2.0 ** (8 * theirs.dtype.itemsize) - step)  # both wrap around
            self.assertLessEqual(step.max(initial=0), 2, named)
        else:
            close = {2: 5e-3, 4: 2e-5}.get(theirs.dtype.itemsize // (2 if theirs.dtype.kind == 'c' else 1), 1e-10)
            if 'f4' in named or 'float32' in named:
                close = max(close, 2e-5)
            np.testing.assert_allclose(ours, theirs, rtol=close, atol=close * 200, err_msg=named)


class Refused(unittest.TestCase):
    """One wrong argument at a time: scipy's exception, or scipy's result if it is accepted."""

    CASES = """correlate w origin=0.5|correlate w origin=5|correlate w cval='a'|correlate w cval=1j|correlate w cval=[1.0,2]|correlate w mode='zz'
        correlate w mode=5|correlate w mode=None|correlate w output=np.empty(3)|correlate w output='zz'|correlate w output='bool'
        correlate w output='c8'|correlate w axes=(0,0)|correlate w axes=(0,2)|correlate w axes=(0,-3)|correlate w axes=1.5|correlate w axes=(0,1.5)
        correlate w axes=(0,)|correlate w origin=(0,)|correlate w origin=(0,0,0)|convolve w origin=0.5|convolve w origin=5|convolve w mode='zz'
        uniform_filter 3.7|uniform_filter 'a'|uniform_filter None|uniform_filter 0|uniform_filter -4|uniform_filter 3 origin=2
        uniform_filter 3 origin=.5|uniform_filter 1 origin=7|uniform_filter [1,3] origin=[5,0]|uniform_filter (3,)|uniform_filter 3 mode=('wrap',)
        uniform_filter 3 mode=('wrap','zz')|uniform_filter (n*0+3 for n in (1,2))|uniform_filter 3 axes=range(2)|uniform_filter 3 axes={0:1,1:0}
        uniform_filter 3 axes=()|uniform_filter 3 axes=np.array([1,0])|uniform_filter np.array([3,2]) axes=(-1,0)
        gaussian_filter (s for s in (1,2))|gaussian_filter 'a'|gaussian_filter None|gaussian_filter 1j|gaussian_filter 1 order=-1
        gaussian_filter 1 order=1.5|gaussian_filter 1 order=1.0|gaussian_filter 1 order='a'|gaussian_filter 1 order=None|gaussian_filter 1 radius=-1
        gaussian_filter 1 radius=1.5|gaussian_filter 1 truncate='a'|gaussian_filter 1 truncate=None|gaussian_filter [1,2,3]|gaussian_filter []
        gaussian_filter 1 order=[0]|gaussian_filter 1 mode=('wrap','nearest')|gaussian_filter 1 mode=np.array(['wrap','nearest'])
        gaussian_filter (1,2) axes=(-1,0)|gaussian_filter (1,2) order=(0,1) axes=(1,0)|gaussian_filter 1 order=(o for o in (0,1))
        laplace axes=(0,0)|laplace axes=()|laplace axes=1.5|laplace axes='a'|laplace mode=['wrap']|laplace mode=None|laplace mode=('wrap','zz')
        laplace output=np.empty((5,4))|laplace axes=-1
        gaussian_laplace (1,2) axes=(1,0)|gaussian_laplace (1,2) axes=(0,1)|gaussian_laplace 1 axes=(1,)|gaussian_laplace (2,) axes=(-1,)
        gaussian_laplace (1,2) axes=(1,)|gaussian_gradient_magnitude (1,2) axes=(1,0)|gaussian_filter1d 1 truncate=-5|gaussian_filter1d 1 radius=1.5"""
    TRANSFORMS = """fft -1|fft 0|fft 2.5|fft 'a'|fft [3]|fft axis=2|fft axis=-3|fft 3 axis=2|fft axis=0.5|fft axis=(0,1)|fft axis=None|fft True
        rfft -1|irfft 1|ifft n=-2|rfft n=3|fft norm='zz'|fft norm=5|fft workers=0|fft workers=-100000|fft workers=1.5|fft workers='a'
        fft workers=True|fft workers=-1|fft plan=3|fftn plan=3|fftn workers=0|fftn s=(3,)|fftn s=3|fftn s=(3,3,3)|fftn s=(3,-1)|fftn s=(3,-2)|fftn s=(3,0)
        fftn s=(3,1.5)|fftn s='a'|fftn s=(3,) axes=(0,1)|fftn axes=(0,0)|fftn axes=(0,2)|fftn axes=0|fftn axes=0.5|fftn axes='a'|fftn axes=()
        rfftn axes=()|irfftn s=(3,-1)|fftn axes=(1,0) s=(3,7)|rfftn axes=(1,0) s=(3,7)|fftn s=(n for n in (3,7))|fft2 axes=(1,)|irfft2 s=(0,3)"""

    def each(self, cases, theirs_library, ours_library):
        x = np.arange(20.0).reshape(4, 5)
        for case in (each.strip() for line in cases.splitlines() for each in line.split('|')):
            name, *rest = case.split(' ', 1)

            def call(library):
                return eval(f'lambda f, x, w: f(x, {self.arguments(rest)})', {'np': np})(getattr(library, name), x, np.ones((3, 3)))

            with self.subTest(case), warnings.catch_warnings():
                warnings.simplefilter('ignore')
                try:
                    theirs = call(theirs_library)
                except Exception as error:
                    with self.assertRaises(type(error)):
                        call(ours_library)
                    continue
                ours = call(ours_library)
                self.assertEqual((ours.dtype, ours.shape), (theirs.dtype, theirs.shape))
                np.testing.assert_allclose(ours, theirs, atol=1e-11)

    @staticmethod
    def arguments(rest):
        """The text with commas for the blanks between arguments, except inside of brackets."""
        depth, made = 0, ''
        for letter in (rest or [''])[0]:
            depth += (letter in '([{') - (letter in ')]}')
            made += ', ' if letter == ' ' and depth == 0 else letter
        return made

    @unittest.skipUnless(MODERN, 'an older scipy has other exceptions')
    def test_filters(self):
        self.each(self.CASES, ndimage, stentor)

    @unittest.skipUnless(MODERN, 'an older scipy has other exceptions')
    def test_transforms(self):
        self.each(self.TRANSFORMS, scipy.fft, stentor.fft)

    def test_after_an_equal_argument_of_another_type(self):
        x = np.arange(20.0).reshape(4, 5)
        for wrong, right in ((lambda: stentor.correlate(x, np.ones((3, 3)), origin=0.0), lambda: stentor.correlate(x, np.ones((3, 3)), origin=0)),
                             (lambda: stentor.gaussian_filter(x, 1, order=1.0), lambda: stentor.gaussian_filter(x, 1, order=1)),
                             (lambda: stentor.laplace(x, steps=1.0), lambda: stentor.laplace(x, steps=1)),
                             (lambda: stentor.fft.fft(x, n=-1), lambda: stentor.fft.fftn(x, s=(-1,))),
                             (lambda: stentor.fft.fft(x, n=4.0), lambda: stentor.fft.fft(x, n=4))):
            for _ in range(2):
                with self.assertRaises((ValueError, TypeError)):
                    wrong()
                right()

    def test_one_that_changes_is_asked_again(self):
        class Number:
            value = 1

            def __index__(self):
                return self.value

            def __float__(self):
                return float(self.value)

        number, x = Number(), np.random.default_rng(0).standard_normal((9, 9))
        for number.value in (1, 2, 3):
            np.testing.assert_allclose(stentor.gaussian_filter(x, number), ndimage.gaussian_filter(x, number.value), atol=1e-12)
            np.testing.assert_allclose(stentor.fft.fft(x, number), scipy.fft.fft(x, number.value), atol=1e-12)

    def test_outputs_that_overlap(self):
        """Filters and transforms into outputs overlapping their inputs, by various views, twice."""
        w = np.arange(9.0).reshape(3, 3)
        for seed in range(COUNT):
            rng = np.random.default_rng([36, seed])
            dtype = rng.choice(['f4', 'f8', 'c16'])
            whole = rng.standard_normal((12, 12)).astype(dtype)
            a, b = [int(n) for n in rng.integers(0, 4, 2)]
            views = [(whole[a:a + 8, :8], whole[b:b + 8, :8]), (whole[:8, :8], whole[:8, :8].T), (whole[:8, a:a + 8], whole[:8, b:b + 8][::-1]),
                     (whole, whole), (whole[::2], whole[1::2])]
            x, out = views[int(rng.integers(len(views)))]
            runs = [lambda f, x, out: f.correlate(x, w, output=out), lambda f, x, out: f.gaussian_filter(x, 1, output=out) if dtype != 'c16' else f.laplace(x, output=out),
                    lambda f, x, out: f.laplace(x, output=out), lambda f, x, out: f.uniform_filter(x, 3, output=out)]
            kind = int(rng.integers(len(runs) + (dtype == 'c16')))
            with self.subTest(seed):
                if kind == len(runs):
                    theirs = scipy.fft.fft2(x.copy())
                    self.assertIs(stentor.fft.fft2(x, out=out), out)
                else:
                    theirs = runs[kind](ndimage, x.copy(), np.empty(x.shape, dtype))
                    self.assertIs(runs[kind](stentor, x, out), out)
                close = 2e-5 if dtype == 'f4' else 1e-11
                np.testing.assert_allclose(out, theirs, rtol=close, atol=close * 50)

    def test_transforms_into_a_given_array(self):
        x = np.random.default_rng(0).standard_normal((6, 8))
        for name, given in (('fft', {}), ('rfft', {'axis': 0}), ('rfftn', {}), ('fftn', {'s': (4, 5)})):
            expected = getattr(scipy.fft, name)(x, **given)
            for out in (np.empty(expected.shape, complex), np.empty(expected.shape[::-1], complex).T, np.empty((2,) + expected.shape, 'c8')[1]):
                self.assertIs(getattr(stentor.fft, name)(x, out=out, **given), out)
                np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
        with self.assertRaisesRegex(ValueError, 'wrong shape'):
            stentor.fft.fft(x, out=np.empty((6, 7), complex))
        with self.assertRaisesRegex(TypeError, 'Cannot cast'):
            stentor.fft.fft(x, out=np.empty((6, 8)))
        with self.assertRaisesRegex(ValueError, 'out has dtype'):
            stentor.fft.fft(x, out='text')


if __name__ == '__main__':
    unittest.main()
