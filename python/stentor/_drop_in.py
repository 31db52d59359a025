"""Stentor for code that calls scipy: a backend of scipy.fft, and temporary monkey patching."""

import contextlib
import functools
import importlib
import sys
import threading
from typing import Any, Callable, Dict, Iterator, List, Tuple

import numpy as np

from . import _numpy_fft, fft, signal
from ._words import said

# Functions of scipy.fft that are not replaced, since Stentor's are no faster.
HELPERS = ('fftfreq', 'fftshift', 'get_workers', 'ifftshift', 'next_fast_len', 'prev_fast_len', 'rfftfreq', 'set_workers')
_lock = threading.RLock()


def _is_taken(value: Any) -> bool:
    """Whether Stentor accepts a value: it is not an array with an unsupported dtype or a mask."""
    if not isinstance(value, np.ndarray):
        return True
    dtype = value.dtype
    wide = dtype.kind in 'fc' and dtype.itemsize // (2 if dtype.kind == 'c' else 1) > 8
    return dtype.kind in 'biufc' and not wide and not np.ma.is_masked(value)


class ScipyBackend:
    """A backend for scipy.fft's ``set_backend``, ``set_global_backend`` and ``register_backend``.

    Arrays that Stentor does not support, such as those of long double, go to the next backend."""

    __ua_domain__ = 'numpy.scipy.fft'

    @staticmethod
    def __ua_function__(method: Any, arguments: Tuple, named: Dict[str, Any]) -> Any:
        function = getattr(fft, method.__name__, None) if method.__name__ in fft.__all__ else None
        if function is None or not all(map(_is_taken, (*arguments, *named.values()))):
            return NotImplemented
        return function(*arguments, **named)


scipy_backend = ScipyBackend()


def _functions_of(name: str) -> Dict[str, Callable]:
    """Stentor's functions with the names of another module's functions."""
    if name == 'scipy.ndimage':
        package = sys.modules[__package__]
        return {each: getattr(package, each) for each in package.__all__}
    if name == 'numpy.fft':
        return _numpy_fft.functions()
    source = signal if name == 'scipy.signal' else fft
    return {each: getattr(source, each) for each in source.__all__ if each not in HELPERS}


def _standing_for(theirs: Callable, ours: Callable) -> Callable:
    """A wrapper that calls `ours`, or `theirs` for arrays that Stentor does not support."""
    @functools.wraps(theirs)
    def called(*given: Any, **named: Any) -> Any:
        return (ours if all(map(_is_taken, (*given, *named.values()))) else theirs)(*given, **named)

    return called


@contextlib.contextmanager
def install_as(name: str) -> Iterator[List[str]]:
    """Replace another module's functions by Stentor's within a ``with`` block.

    This is for code that you cannot change. Functions that loaded modules have imported by name are
    replaced too, except in the library's own modules. All threads see the change. Arrays that
    Stentor does not support, such as those of long double, go to the original function.

    Parameters
    ----------
    name : {'scipy.ndimage', 'scipy.fft', 'scipy.signal', 'numpy.fft'}
        The module.

    Returns
    -------
    context manager
        Its value (``as``) is a list of the replaced names. At the end of the block the original
        functions are restored.

    Examples
    --------
    >>> import numpy as np, scipy.ndimage, stentor
    >>> with stentor.install_as('scipy.ndimage') as names:
    ...     scipy.ndimage.gaussian_filter(np.array([0., 0., 1., 0., 0.]), 1, nan='ignore').round(3)
    array([0.058, 0.242, 0.399, 0.242, 0.058])
    >>> 'sobel' in names
    True
    """
    if not isinstance(name, str) or name not in ('scipy.ndimage', 'scipy.fft', 'scipy.signal', 'numpy.fft'):
        raise ValueError(f"name is {said(name)}: give 'scipy.ndimage', 'scipy.fft', 'scipy.signal' or 'numpy.fft'")
    with _lock:
        if name not in _installed:
            module = importlib.import_module(name)
            before = {each: getattr(module, each) for each in _functions_of(name) if callable(getattr(module, each, None))}
            standing = {each: _standing_for(before[each], function) for each, function in _functions_of(name).items() if each in before}
            _installed[name] = _Installed(before, standing)
        state = _installed[name]
        state.blocks += 1
        _replace(name, state.before, state.standing)
    try:
        yield sorted(state.before)
    finally:
        with _lock:
            state.blocks -= 1
            if not state.blocks:
                del _installed[name]
                _replace(name, state.standing, state.before)  # also in modules loaded meanwhile


class _Installed:
    """The state of one module: original functions, replacements, and the number of open blocks."""

    def __init__(self, before: Dict[str, Callable], standing: Dict[str, Callable]):
        self.before, self.standing, self.blocks = before, standing, 0


_installed: Dict[str, _Installed] = {}


def _replace(name: str, old: Dict[str, Callable], new: Dict[str, Callable]) -> None:
    """Replaces functions in a module, and in all loaded modules that imported them by name."""
    by_identity = {id(function): each for each, function in old.items()}
    for module in [sys.modules[name], *_users(name)]:
        for attribute, value in list(vars(module).items()):
            each = by_identity.get(id(value))
            if each is not None and value is old[each]:
                setattr(module, attribute, new[each])


def _users(name: str) -> List[Any]:
    """The loaded modules that belong neither to the patched library nor to Stentor."""
    own = (name.partition('.')[0], __package__)
    return [module for key, module in list(sys.modules.items())
            if module is not None and key.partition('.')[0] not in own and isinstance(getattr(module, '__dict__', None), dict)]
