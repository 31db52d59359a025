"""The cache of prepared calls distinguishes calls that differ in one argument.

Each function runs every pair of calls that differ in one argument, in both orders, and must give
the result of the same call with an empty cache.
"""
import inspect
import itertools
import unittest
import warnings

import numpy as np

import stentor

RNG = np.random.default_rng(0)
X = RNG.standard_normal((12, 12))
C = X + 1j * RNG.standard_normal((12, 12))
W = RNG.standard_normal((3, 3))
STRIDED = np.empty((12, 24))[:, ::2]
STRIDED[...] = X
ARRAYS = [X, X + 1, X.T, X[::-1], STRIDED, X[:11], X[:, :9], X.astype(np.float32), X.astype(np.float16), np.float64(np.rint(9 * X)).astype(np.int16),
          np.asfortranarray(X), X.astype('>f8'), X[None], (X > 0)]
MODES = ['reflect', 'wrap', 'mirror', 'nearest', 'constant', 'constant=2', ['wrap', 'nearest'], ['nearest', 'wrap'], 'nearest:wrap', 'wrap:nearest', 'odd', 'ignore', ['odd', 'ignore']]
FILTER = {'mode': MODES, 'cval': [0.0, 1.5, -0.0, float('nan')], 'steps': [1, 2], 'output': [None, np.float32, np.float64, np.complex128],
          'local': [None, False, True], 'boundary': [None, 'wrap', 'mirror', 'odd', ['mirror', 'wrap']], 'nan': [None, 'ignore']}
AXES = {'axes': [None, (0,), (1,), (1, 0)]}
LINE = {'axis': [-1, 0], **FILTER, 'mode': ['reflect', 'wrap', 'mirror', 'nearest', 'constant', 'nearest:wrap']}
DIFFERENCE = {**LINE, 'boundary': [None, 'wrap', ['mirror', 'wrap']]}
FEW = {'mode': MODES[:5], 'cval': [0.0, 1.5], 'output': [None, np.float32, np.float64], **AXES}
W2 = [W, W + 1, W.T, W[::-1], np.ones((3, 3)), np.ones((1, 3)), np.ones((3, 1)), W.astype(np.float32), W + 0j, W * 1j]
W1 = [[1, 2, 4], [4, 2, 1], [1, 2, 4, 8, 16], [1.5, 2, 4]]
KINDS = {'type': [1, 2, 3, 4], 'orthogonalize': [None, False, True]}
FOURIER = {'norm': [None, 'ortho', 'forward', 'backward'], 'workers': [None, 1, 2], 'overwrite_x': [False, True]}


def second(x, axis, output, mode, cval):
    return stentor.correlate1d(x, [1, -2, 1], axis, output, mode, cval)


def twice(x, axis, output, mode, cval):
    return stentor.correlate1d(x, [2, -4, 2], axis, output, mode, cval)


# For each function the arguments of its first call, by name, and other values of each argument.
FUNCTIONS = {
    'correlate': ({'weights': W}, {'weights': W2, 'origin': [0, 1, 1.0, -1, (0, 1), (1, 0)], **FILTER, **AXES}),
    'convolve': ({'weights': W}, {'weights': W2, 'origin': [0, 1, -1, (0, 1), (1, 0)], **FILTER, **AXES}),
    'laplace': ({}, {**FILTER, **AXES}),
    'gaussian_filter': ({'sigma': 1.0}, {'sigma': [1.0, 1.2, (1, 2), (2, 1)], 'order': [0, 1, (0, 1), (1, 0), 2], 'truncate': [4.0, 3.0],
                                         'radius': [None, 2, 3], **FILTER, **AXES}),
    'uniform_filter': ({'size': 3}, {'size': [3, 5, (3, 5), (5, 3), 2], 'origin': [0, 1, (0, 1), (1, 0)], **FILTER, **AXES}),
    'correlate1d': ({'weights': W1[0]}, {'weights': W1, 'origin': [0, 1, -1], **LINE}),
    'convolve1d': ({'weights': W1[0]}, {'weights': W1, 'origin': [0, 1, -1], **LINE}),
    'gaussian_filter1d': ({'sigma': 1.0}, {'sigma': [1.0, 1.2], 'order': [0, 1, 2], 'truncate': [4.0, 3.0], 'radius': [None, 2], **LINE}),
    'uniform_filter1d': ({'size': 3}, {'size': [3, 5, 2], 'origin': [0, 1], **LINE}),
    'sobel': ({}, DIFFERENCE),
    'prewitt': ({}, DIFFERENCE),
    'gaussian_laplace': ({'sigma': 1.0}, {'sigma': [1.0, 1.2, (1, 2), (2, 1)], 'truncate': [4.0, 3.0], **FEW}),
    'gaussian_gradient_magnitude': ({'sigma': 1.0}, {'sigma': [1.0, 1.2, (1, 2), (2, 1)], 'truncate': [4.0, 3.0], **FEW}),
    'generic_laplace': ({'derivative2': second}, {'derivative2': [second, twice], **FEW}),
    'generic_gradient_magnitude': ({'derivative': stentor.sobel}, {'derivative': [stentor.sobel, stentor.prewitt, second], **FEW}),
}
for name in ('fft', 'ifft', 'rfft', 'irfft', 'hfft', 'ihfft'):
    FUNCTIONS['fft.' + name] = ({}, {'n': [None, 8, 16], 'axis': [-1, 0], **FOURIER})
for name in ('fft2', 'ifft2', 'rfft2', 'irfft2', 'fftn', 'ifftn', 'rfftn', 'irfftn', 'hfft2', 'ihfft2', 'hfftn', 'ihfftn'):
    FUNCTIONS['fft.' + name] = ({}, {'s': [None, (8, 12), (12, 8)], 'axes': [(0, 1), (1, 0)], **FOURIER})
for name in ('fftn', 'ifftn', 'rfftn', 'irfftn'):
    FUNCTIONS['fft.' + name][1]['devices'] = [None, ('host', 'host')]
for name in ('dct', 'idct', 'dst', 'idst'):
    FUNCTIONS['fft.' + name] = ({}, {'n': [None, 8, 16], 'axis': [-1, 0], **KINDS, **FOURIER})
    FUNCTIONS['fft.' + name + 'n'] = ({}, {'s': [None, (8, 12), (12, 8)], 'axes': [None, (0, 1), (1, 0), (0,), (1,)], **KINDS, **FOURIER})


def outcome(function, x, named):
    """The result, or the error message."""
    given = np.array(x, copy=True) if named.get('overwrite_x') else x
    try:
        with warnings.catch_warnings():
            warnings.simplefilter('ignore')
            result = function(given, **named)
    except (ValueError, TypeError, RuntimeError, NotImplementedError) as error:
        return str(error)
    return result.dtype, result.shape, np.ascontiguousarray(result).tobytes()


class Repeats(unittest.TestCase):
    def calls(self, name):
        """(array, arguments) of the first call, and of all calls that differ in one argument."""
        first, others = FUNCTIONS[name]
        arrays = ARRAYS if not name.startswith('fft.') else ARRAYS + [C, C.T, C[::-1], C.astype(np.complex64)]
        found = [(x, dict(first)) for x in arrays]
        for argument, values in others.items():
            found += [(X, {**first, argument: value}) for value in values]
        # A constant only matters past a constant side.
        found += [(X, {**first, 'mode': 'constant', 'cval': value}) for value in others.get('cval', ())]
        return found

    def check(self, name):
        module = stentor.fft if name.startswith('fft.') else stentor
        function = getattr(module, name.rpartition('.')[2])
        accepted = inspect.signature(function).parameters
        first, others = FUNCTIONS[name]
        self.assertLessEqual(set(first) - set(accepted), set(), f'{name} takes no such argument')
        calls = [(x, {key: value for key, value in named.items() if key in accepted or key == 'truncate'}) for x, named in self.calls(name)]
        expected: list = []
        for x, named in calls:
            stentor.clear_cache()
            expected.append(outcome(function, x, named))
        self.assertNotIsInstance(expected[0], str, expected[0])
        results = [each for each in expected if not isinstance(each, str)]
        self.assertGreater(len(set(results)), len(results) // 3, 'calls that differ have results that differ, mostly')
        # The first call, another one, and the first again; then in the other order.
        for i, (x, named) in enumerate(calls):
            for order in ((0, i, 0), (i, 0, i)):
                stentor.clear_cache()
                for at in order:
                    self.assertEqual(outcome(function, *calls[at]), expected[at], f'{name}: {calls[at][1]} of {calls[at][0].dtype} '
                                     f'{calls[at][0].shape} {calls[at][0].strides}, after {[calls[o][1] for o in order]}')
        # All calls with one cache.
        for at in itertools.chain(range(len(calls)), reversed(range(len(calls)))):
            self.assertEqual(outcome(function, *calls[at]), expected[at], f'{name}: {calls[at][1]}')

    def test_functions_of_equal_arguments_are_apart(self):
        """The first call of every function, with one cache."""
        order = [(getattr(stentor.fft if name.startswith('fft.') else stentor, name.rpartition('.')[2]), first)
                 for name, (first, _) in FUNCTIONS.items()]
        expected = []
        for function, first in order:
            stentor.clear_cache()
            expected.append(outcome(function, X, first))
        stentor.clear_cache()
        for at in itertools.chain(range(len(order)), reversed(range(len(order)))):
            self.assertEqual(outcome(order[at][0], X, order[at][1]), expected[at], order[at][0].__name__)

    def test_every_function_is_here(self):
        """A function added to the package must be added to FUNCTIONS."""
        public = {name for name in stentor.__all__ if inspect.isfunction(getattr(stentor, name)) and name not in
                  ('clear_cache', 'configure', 'install_as', 'on_devices', 'sponge', 'to_device', 'version')}
        public |= {'fft.' + name for name in stentor.fft.__all__ if inspect.isfunction(getattr(stentor.fft, name)) and name not in
                   ('fftfreq', 'rfftfreq', 'fftshift', 'ifftshift', 'next_fast_len', 'prev_fast_len', 'set_workers', 'get_workers')}
        self.assertEqual(public - set(FUNCTIONS), set())

    def test_every_argument_is_here(self):
        for name, (first, others) in FUNCTIONS.items():
            function = getattr(stentor.fft if name.startswith('fft.') else stentor, name.rpartition('.')[2])
            taken = [p for p in list(inspect.signature(function).parameters.values())[1:] if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)]
            missing = {p.name for p in taken} - set(others) - {'out', 'plan', 'progress', 'extra_arguments', 'extra_keywords'}
            self.assertEqual(missing, set(), f'{name} has arguments that no call here changes')


for each in FUNCTIONS:
    setattr(Repeats, 'test_' + each.replace('.', '_'), lambda self, name=each: self.check(name))

if __name__ == '__main__':
    unittest.main()
