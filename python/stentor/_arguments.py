"""Arguments as callers write them, checked."""

from typing import Any, List, Tuple

import numpy as np

from ._problem import whole


def frozen(value: Any) -> Any:
    """Something that can be a key: sequences become tuples."""
    if isinstance(value, (list, tuple)):
        return tuple(frozen(each) for each in value)
    return (value.shape, value.dtype.str, value.tobytes()) if isinstance(value, np.ndarray) else value


def number(value: Any, name: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise ValueError(f'{name} is {value!r}: give a number') from None


def axes_of(axes: Any, ndim: int) -> Tuple[int, ...]:
    """Axes counted from 0, each once; None: all."""
    if axes is None:
        return tuple(range(ndim))
    given = [axes] if hasattr(axes, '__index__') else list(axes)
    counted = []
    for axis in given:
        at = whole(axis, 'an axis', -ndim)
        if at >= ndim:
            raise ValueError(f'axis {at} is asked for of an array with {ndim} axes')
        counted.append(at % ndim)
    if len(set(counted)) != len(counted):
        raise ValueError(f'axes are {tuple(given)}: name each once')
    return tuple(counted)


def each_axis(value: Any, axes: int, name: str) -> List[Any]:
    """One value for all axes, or a sequence with one for each."""
    if isinstance(value, (str, bytes)) or not hasattr(value, '__len__') or getattr(value, 'ndim', 1) == 0:
        return [value] * axes
    if len(value) != axes:
        raise ValueError(f'{name} has {len(value)} entries for {axes} axes: give one, or one for each')
    return list(value)


def origin_of(origin: Any, size: int, name: str) -> int:
    """The index of the element that offset 0 belongs to, once scipy's origin has shifted it."""
    shift = whole(origin, 'origin', -2**31)
    if not 0 <= size // 2 + shift < size:
        raise ValueError(f'origin {shift} puts the centre outside of {name}, which have {size} along that axis')
    return size // 2 + shift
