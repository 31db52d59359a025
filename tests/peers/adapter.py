"""A pytest plugin: makes the tests of another library call Stentor's functions. See README.md."""

import pydoc
import re
import sys
import types

import numpy
import pytest
import scipy.fft
import scipy.fftpack
import scipy.ndimage
import scipy.signal

import stentor
import stentor.fft
import stentor.signal
from stentor import _numpy_fft


class Recorded:
    """A function of Stentor's; records that a test called it."""

    used = False

    def __init__(self, module, name):
        self.function, self.path, self.__name__ = getattr(module, name), f'{module.__name__}.{name}', name

    def __call__(self, *given, **named):
        Recorded.used = True
        return self.function(*given, **named)

    def __reduce__(self):  # for tests that send it to other processes
        return pydoc.locate, (self.path,)


def stand_in(module, functions):
    """A module with these functions, and otherwise the members of `module`."""
    made = types.ModuleType(module.__name__)
    made.__dict__.update(functions)
    made.__getattr__ = lambda name: getattr(module, name)
    return made


FILTERS = {name: Recorded(stentor, name) for name in stentor.__all__ if hasattr(scipy.ndimage, name)}


class Older(Recorded):
    """A function with the interface of scipy.fftpack, whose inverse transforms are not scaled."""

    def __call__(self, x, type=2, size=None, axes=None, norm=None, overwrite_x=False, n=None, axis=None, shape=None):
        Recorded.used = True
        if norm not in (None, 'ortho'):
            raise ValueError('norm is neither None nor ortho')
        norm = 'forward' if norm is None and self.__name__[0] == 'i' else norm
        size = next((each for each in (size, n, shape) if each is not None), None)
        axes = next((each for each in (axes, axis) if each is not None), None if self.__name__[-1] == 'n' else -1)
        return self.function(x, type, size, axes, norm, overwrite_x)


TRANSFORMS = {name: Recorded(stentor.fft, name) for name in stentor.fft.__all__}
OLDER = {name: Older(stentor.fft, name) for name in ('dct', 'dctn', 'dst', 'dstn', 'idct', 'idctn', 'idst', 'idstn')}
SIGNALS = {name: Recorded(stentor.signal, name) for name in stentor.signal.__all__}
# The functions that install_as puts in place of numpy.fft's.
as_numpy = types.SimpleNamespace(__name__='stentor._numpy_fft', **_numpy_fft.functions())
NUMPYS = {**TRANSFORMS, **{name: Recorded(as_numpy, name) for name in _numpy_fft.functions()}}
NUMPY_FFT = stand_in(numpy.fft, NUMPYS)
MODULES = {scipy.ndimage: stand_in(scipy.ndimage, FILTERS), scipy.fft: stand_in(scipy.fft, TRANSFORMS), numpy.fft: NUMPY_FFT}
REPLACED = dict(MODULES)
for library, functions in ((scipy.ndimage, FILTERS), (scipy.fft, TRANSFORMS), (numpy.fft, NUMPYS),
                           (scipy.fftpack, OLDER), (scipy.signal, SIGNALS)):
    REPLACED.update({getattr(library, name): function for name, function in functions.items() if hasattr(library, name)})


def replace_layers():
    """Puts Stentor's Fourier layer in place of neuraloperator's, in all of its loaded modules.

    The class is a default argument of its models too. To be called before the tests are loaded:
    they use a GPU wherever PyTorch was built for one."""
    import torch
    if not torch.cuda.is_available():
        torch.has_cuda, torch.backends.cuda.is_built = False, lambda: False
    import neuralop.layers.spectral_convolution as theirs

    import stentor.torch

    class SpectralConv(stentor.torch.SpectralConv):
        """The layer; records that a test made one."""

        def __init__(self, *given, **named):
            Recorded.used = True
            super().__init__(*given, **named)

    layer = theirs.SpectralConv
    REPLACED[layer] = SpectralConv
    for module in [module for name, module in sys.modules.items() if name.startswith('neuralop.')]:
        for name, value in list(vars(module).items()):
            if value is layer:
                setattr(module, name, SpectralConv)
            elif isinstance(value, type) and value.__module__ == module.__name__ and value is not layer:
                value.__init__.__defaults__ = replaced(value.__init__.__defaults__)


def replaced(value):
    """A value in a test, with the other library's functions replaced by Stentor's."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(replaced(each) for each in value)
    try:
        return REPLACED.get(value, value)
    except TypeError:  # not hashable
        return value


class Adapter:
    """Replaces functions, counts tests, and compares failures with the expected ones."""

    def __init__(self, expected):
        self.patterns = [(re.compile('.*'.join(map(re.escape, line.split('*')))), line) for line in expected]
        self.modules, self.passed, self.named, self.failures = set(), 0, 0, []

    def expected(self, name):
        return any(pattern.fullmatch(name) for pattern, _ in self.patterns)

    def pytest_runtest_setup(self, item):
        if item.module in self.modules:
            return
        self.modules.add(item.module)
        for name, value in list(vars(item.module).items()):
            if value is numpy and item.module.__name__.startswith('numpy.fft'):
                setattr(item.module, name, stand_in(numpy, {'fft': NUMPY_FFT}))
            elif not isinstance(value, (list, tuple)) and replaced(value) is not value:
                setattr(item.module, name, replaced(value))

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_call(self, item):
        Recorded.used = False
        for name, value in item.funcargs.items():
            item.funcargs[name] = replaced(value)
        outcome = yield
        if outcome.excinfo is not None and issubclass(outcome.excinfo[0], pytest.skip.Exception):
            return
        name = '::'.join([item.module.__name__.rpartition('.')[2], *([item.cls.__name__] if item.cls else []), item.name])
        expected, failed = self.expected(name), outcome.excinfo is not None
        if not failed:
            self.passed += Recorded.used
            if expected and Recorded.used:
                self.failures.append(f'{name} passes, but is expected to fail: take it from the list')
        elif expected:
            self.named += 1
            outcome.force_exception(pytest.skip.Exception('expected to fail'))
        else:
            text = str(outcome.excinfo[1]).split('\n')
            self.failures.append(f'{name} fails: {outcome.excinfo[0].__name__}: ' + ' '.join(' '.join(text).split())[:200])
