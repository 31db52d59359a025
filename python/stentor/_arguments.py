"""Checks and conversions of arguments, and cache keys made of them."""

from typing import Any, List, Optional, Tuple

import numpy as np

from ._library import lib
from ._words import said, whole

AxisError = getattr(np, 'exceptions', np).AxisError
MAX_REACH = 1 << 16  # points: the largest stencil reach on the host


def frozen(value: Any) -> Any:
    """A hashable key of a value; two keys are equal only if type and value are the same.

    3, 3.0 and True have different keys, and so do 0.0 and -0.0. A value of a mutable type becomes a
    list, which is not hashable, so that nothing is cached under it."""
    kind = type(value)
    if value is None or kind is int or kind is str:
        return value
    if kind is float:
        return float, value.hex()
    if kind is tuple or kind is list:
        return tuple([frozen(each) for each in value])
    if kind is bool:
        return bool, value
    if isinstance(value, (np.ndarray, np.generic)) and not value.dtype.hasobject:
        return np.ndarray, value.shape, value.dtype.str, value.tobytes()
    return [value]


def cval_key(cval: Any) -> Tuple[Any, Optional[float]]:
    """The part of a cache key that stands for a cval, and its value if the key does not hold it.

    Small filters take a cval that is a Python number anew in each call."""
    if type(cval) is float or type(cval) is int and abs(cval) < 2 ** 53:
        return float, float(cval)
    return frozen(cval), None


def settled(value: Any) -> Any:
    """The value; an iterator, which can be read only once, is read into a list."""
    return list(value) if hasattr(value, '__next__') else value


def number(value: Any, name: str, kind: type = ValueError) -> float:
    """The value as a float; raises an exception of type `kind` if it is not a number."""
    if type(value) is float:
        return value
    try:
        if isinstance(value, (str, bytes)) or getattr(value, 'size', 1) != 1 or np.iscomplexobj(value):
            raise TypeError
        return float(value)
    except Exception:
        raise kind(f'{name} is {said(value)}: give a number') from None


def is_index(value: Any) -> bool:
    """Whether the value is one whole number rather than a sequence."""
    return hasattr(value, '__index__') and getattr(value, 'ndim', 0) == 0


def axes_of(axes: Any, ndim: int, kind: type = TypeError) -> Tuple[int, ...]:
    """Distinct axes, as non-negative numbers; None means all axes.

    Raises an exception of type `kind` if an axis is not a whole number."""
    if axes is None:
        return tuple(range(ndim))
    given = [axes] if is_index(axes) else _elements(axes, 'axes', kind)
    counted = []
    for axis in given:
        at = whole(axis, 'an axis', -2**62, kind)
        if not -ndim <= at < ndim:
            raise AxisError(f'axis {at} is out of range: the array has {ndim} axes')
        counted.append(at % ndim)
    if len(set(counted)) != len(counted):
        raise ValueError(f'axes must be unique, but they are {said(tuple(given))}: name each once')
    return tuple(counted)


def _elements(value: Any, name: str, kind: type) -> List[Any]:
    """The elements of an iterable that is not a string."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return list(value)
    except Exception:
        raise kind(f'{name} is {said(value)}: give a sequence') from None


def each_axis(value: Any, axes: int, name: str) -> List[Any]:
    """A list with one value for each axis, from one value for all axes or a sequence."""
    if value is None or isinstance(value, (int, float, str, bytes)) or not np.iterable(value):
        return [value] * axes
    given = _elements(value, name, RuntimeError)
    if len(given) != axes:
        raise RuntimeError(f'{name} has {len(given)} entries for {axes} axes: a sequence argument must have length equal to input rank, or '
                           'to the number of axes that are named')
    return given


def check_reach(points: float, said: str, on_device: bool) -> None:
    """Refuses a stencil that reaches too far.

    On a GPU the limit is the library's largest radius. On the host, groups of taps and block sums
    allow a larger one."""
    most = lib.STN_MAX_RADIUS if on_device else MAX_REACH
    if points <= -1:
        raise ValueError(f'{said} makes a negative radius: give 0 or more')
    if not points < most + 1:
        where = ' on a GPU' if on_device else ''
        raise ValueError(f'{said} reaches over {points:.6g} points: {most} is the most{where}')


def origin_of(origin: Any, size: int, name: str) -> int:
    """The index of the weight at offset 0, after the shift by scipy's `origin`."""
    shift = whole(origin, 'origin', -2**31, TypeError)
    if not 0 <= size // 2 + shift < size:
        raise ValueError(f'origin {shift} puts the centre outside of {name}, of {size} along that axis: give {-(size // 2)} to {(size - 1) // 2}')
    return size // 2 + shift


def one_of_three(local: Any) -> Optional[bool]:
    """The argument `local`, checked: True, False or None."""
    if local is None or isinstance(local, (bool, np.bool_)):
        return None if local is None else bool(local)
    raise TypeError(f'local is {said(local)}: give True, False or None')
