"""Arguments as callers write them, checked."""

from typing import Any, List, Tuple

import numpy as np

from ._library import lib
from ._words import listed, said, whole

MOST_REACH = 1 << 16  # points past which an array on the host is not extended


def frozen(value: Any) -> Any:
    """Something that can be a key: sequences become tuples."""
    if value is None or type(value) in (str, int, float):
        return value
    if isinstance(value, (list, tuple)):
        return tuple(frozen(each) for each in value)
    return (value.shape, value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) and not value.dtype.hasobject else value


def number(value: Any, name: str) -> float:
    try:
        if isinstance(value, (str, bytes, np.complexfloating)) or getattr(value, 'size', 1) != 1:
            raise TypeError
        return float(value)
    except Exception:
        raise ValueError(f'{name} is {said(value)}: give a number') from None


def is_index(value: Any) -> bool:
    """One whole number rather than a sequence?"""
    return hasattr(value, '__index__') and getattr(value, 'ndim', 0) == 0


def axes_of(axes: Any, ndim: int) -> Tuple[int, ...]:
    """Axes counted from 0, each once; None: all."""
    if axes is None:
        return tuple(range(ndim))
    given = [axes] if is_index(axes) else listed(axes, 'axes')
    counted = []
    for axis in given:
        at = whole(axis, 'an axis', -ndim)
        if at >= ndim:
            raise ValueError(f'axis {at} is asked for of an array with {ndim} axes')
        counted.append(at % ndim)
    if len(set(counted)) != len(counted):
        raise ValueError(f'axes are {said(tuple(given))}: name each once')
    return tuple(counted)


def each_axis(value: Any, axes: int, name: str) -> List[Any]:
    """One value for all axes, or a sequence with one for each."""
    if isinstance(value, (str, bytes)) or not hasattr(value, '__len__') or getattr(value, 'ndim', 1) == 0:
        return [value] * axes
    given = listed(value, name)
    if len(given) != axes:
        raise ValueError(f'{name} has {len(given)} entries for {axes} axes: give one, or one for each')
    return given


def check_reach(points: float, said: str, on_device: bool) -> None:
    """The library's own taps reach so far; on the host, groups of them, and running sums, reach further."""
    most = lib.STN_MAX_RADIUS if on_device else MOST_REACH
    if not 0 <= points < most + 1:
        where = ' on a GPU' if on_device else ''
        raise ValueError(f'{said} reaches over {points:.0f} points: {most} is the most{where}')


def origin_of(origin: Any, size: int, name: str) -> int:
    """The index of the element that offset 0 belongs to, once scipy's origin has shifted it."""
    shift = whole(origin, 'origin', -2**31)
    if not 0 <= size // 2 + shift < size:
        raise ValueError(f'origin {shift} puts the centre outside of {name}, which have {size} along that axis')
    return size // 2 + shift
