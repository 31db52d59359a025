"""Arguments as callers write them, checked."""

from typing import Any, List, Optional, Tuple

import numpy as np

from ._library import lib
from ._words import said, whole

MOST_REACH = 1 << 16  # points past which an array on the host is not extended


def frozen(value: Any) -> Any:
    """Something that can be a key, which is equal to another only where type and value are the same: 3, 3.0 and True differ, and so do
    0.0 and -0.0. What may change between calls becomes a list, which is no key, so that nothing is kept under it."""
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


def settled(value: Any) -> Any:
    """What may be read once, as a generator, read into a list."""
    return list(value) if hasattr(value, '__next__') else value


def number(value: Any, name: str, kind: type = ValueError) -> float:
    """A float; what is none is an exception of `kind`."""
    try:
        if isinstance(value, (str, bytes, np.complexfloating)) or getattr(value, 'size', 1) != 1:
            raise TypeError
        return float(value)
    except Exception:
        raise kind(f'{name} is {said(value)}: give a number') from None


def is_index(value: Any) -> bool:
    """One whole number rather than a sequence?"""
    return hasattr(value, '__index__') and getattr(value, 'ndim', 0) == 0


def axes_of(axes: Any, ndim: int, kind: type = TypeError) -> Tuple[int, ...]:
    """Axes counted from 0, each once; None: all. An axis that is no whole number is an exception of `kind`."""
    if axes is None:
        return tuple(range(ndim))
    given = [axes] if is_index(axes) else _elements(axes, 'axes', kind)
    counted = []
    for axis in given:
        at = whole(axis, 'an axis', -2**62, kind)
        if not -ndim <= at < ndim:
            raise ValueError(f'axis {at} is out of range: the array has {ndim} axes')
        counted.append(at % ndim)
    if len(set(counted)) != len(counted):
        raise ValueError(f'axes must be unique, but they are {said(tuple(given))}: name each once')
    return tuple(counted)


def _elements(value: Any, name: str, kind: type) -> List[Any]:
    """What can be iterated over, but for text."""
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return list(value)
    except Exception:
        raise kind(f'{name} is {said(value)}: give a sequence') from None


def each_axis(value: Any, axes: int, name: str) -> List[Any]:
    """One value for all axes, or a sequence with one for each."""
    if isinstance(value, (str, bytes)) or not np.iterable(value):
        return [value] * axes
    given = _elements(value, name, RuntimeError)
    if len(given) != axes:
        raise RuntimeError(f'{name} has {len(given)} entries for {axes} axes: a sequence argument must have length equal to input rank, or '
                           'to the number of axes that are named')
    return given


def check_reach(points: float, said: str, on_device: bool) -> None:
    """The library's own taps reach so far; on the host, groups of them, and running sums, reach further."""
    most = lib.STN_MAX_RADIUS if on_device else MOST_REACH
    if not 0 <= points < most + 1:
        where = ' on a GPU' if on_device else ''
        raise ValueError(f'{said} reaches over {points:.0f} points: {most} is the most{where}')


def origin_of(origin: Any, size: int, name: str) -> int:
    """The index of the element that offset 0 belongs to, once scipy's origin has shifted it."""
    shift = whole(origin, 'origin', -2**31, TypeError)
    if not 0 <= size // 2 + shift < size:
        raise ValueError(f'origin {shift} puts the centre outside of {name}, which have {size} along that axis')
    return size // 2 + shift


def one_of_three(local: Any) -> Optional[bool]:
    """True, False or None."""
    if local is None or isinstance(local, (bool, np.bool_)):
        return None if local is None else bool(local)
    raise TypeError(f'local is {said(local)}: give True, False or None')
