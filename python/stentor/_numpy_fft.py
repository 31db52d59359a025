"""The transforms with the conventions of numpy.fft.

`out` is the fifth argument, an axis may be repeated, and uses that NumPy deprecates give a warning.
"""

import warnings
from typing import Any, Callable, Dict, Sequence, Tuple

from . import fft
from ._fft_run import check_points
from ._words import said

LINES = ('fft', 'ifft', 'rfft', 'irfft', 'hfft', 'ihfft')
IMAGES = ('fft2', 'ifft2', 'rfft2', 'irfft2')
ALL_AXES = ('fftn', 'ifftn', 'rfftn', 'irfftn')


def functions() -> Dict[str, Callable]:
    """The functions, by numpy.fft's names."""
    made = {name: _line(name) for name in LINES}
    made.update({name: _several(name, (-2, -1)) for name in IMAGES})
    made.update({name: _several(name, None) for name in ALL_AXES})
    return made


def _checked(out: Any) -> Any:
    if out is not None and not hasattr(out, 'shape'):
        raise TypeError(f'out is {said(out)}: what is returned must be of ArrayType')
    return out


def _line(name: str) -> Callable:
    function = getattr(fft, name)

    def called(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
        return function(a, n, axis, norm, out=_checked(out))

    called.__name__ = name
    return called


def _several(name: str, default: Any) -> Callable:
    function = getattr(fft, name)

    def called(a: Any, s: Any = None, axes: Any = default, norm: Any = None, out: Any = None) -> Any:
        if s is not None and axes is None:
            warnings.warn('`axes` should not be `None` if `s` is not `None`: name the axes that `s` is of', DeprecationWarning, stacklevel=2)
        if s is not None and any(each is None for each in s):
            warnings.warn('an array containing `None` values to `s` is deprecated: give -1 for the size of the input', DeprecationWarning,
                          stacklevel=2)
            s = [_own_size(a, name, len(s), axes, i) if each is None else each for i, each in enumerate(s)]
        shape = _shape(a)
        if s is None and name.startswith('irfft') and (axes is None or len(axes)):
            check_points(_own_size(a, name, 1, None if axes is None else axes[-1:], 0), (-1 if axes is None else axes[-1]) % len(shape))
        if axes is not None and len({axis % max(len(shape), 1) for axis in axes}) != len(axes):
            return _one_by_one(name, a, s, axes, norm, _checked(out))
        return function(a, s, axes, norm, out=_checked(out))

    called.__name__ = name
    return called


def _shape(a: Any) -> Tuple[int, ...]:
    return a.shape if hasattr(a, 'shape') else getattr(fft.fftshift(a), 'shape')


def _own_size(a: Any, name: str, count: int, axes: Any, i: int) -> int:
    """The default size of the axis number i of `count` axes."""
    points = _shape(a)[axes[i] if axes is not None else i - count]
    return 2 * (points - 1) if name.startswith('irfft') and i == count - 1 else points


def _one_by_one(name: str, a: Any, s: Any, axes: Sequence[int], norm: Any, out: Any) -> Any:
    """Transforms one axis after the other, in the order given; the last one is the halved axis."""
    if s is not None and len(s) != len(axes):
        raise ValueError('Shape and axes have different lengths.')
    sizes = [_own_size(a, name, len(axes), axes, i) if s is None else _shape(a)[axis] if s[i] == -1 else s[i] for i, axis in enumerate(axes)]
    real, inverse = 'rfft' in name, name.startswith('i')
    complexes = fft.ifft if inverse else fft.fft
    rest = list(zip(sizes, axes))
    last = rest.pop() if real else None
    if real and not inverse:
        a = fft.rfft(a, *last, norm)  # type: ignore[misc]
    for n, axis in rest if real and inverse else reversed(rest):
        a = complexes(a, n, axis, norm)
    if real and inverse:
        a = fft.irfft(a, *last, norm)  # type: ignore[misc]
    if out is None:
        return a
    out[...] = a
    return out
