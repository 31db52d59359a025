"""Boundaries: scipy.ndimage's modes for all axes or by axis, and, beyond scipy, by side."""

from typing import Any, List, NamedTuple, Sequence, Tuple

from ._library import lib
from ._words import said

KINDS = {
    'wrap': lib.STN_WRAP,
    'constant': lib.STN_CONSTANT,
    'nearest': lib.STN_NEAREST,
    'reflect': lib.STN_REFLECT,
    'mirror': lib.STN_MIRROR,
    'fixed': lib.STN_FIXED,
    'grid-wrap': lib.STN_WRAP,
    'grid-constant': lib.STN_CONSTANT,
    'grid-mirror': lib.STN_REFLECT,
}


class Side(NamedTuple):
    """What a tap sees past one side of an axis."""

    kind: int
    value: float


Sides = Tuple[Side, Side]


def _side(mode: Any, cval: float) -> Side:
    if not isinstance(mode, str):
        raise ValueError(f'mode {said(mode)} is no boundary: use one of {", ".join(sorted(KINDS))}')
    name, given, value = mode.partition('=')
    if name not in KINDS or (given and name != 'constant'):
        raise ValueError(f'mode {said(mode)} is no boundary: use one of {", ".join(sorted(KINDS))}')
    if not given:
        return Side(KINDS[name], cval if KINDS[name] == lib.STN_CONSTANT else 0.0)
    try:
        return Side(KINDS[name], float(value))
    except ValueError:
        raise ValueError(f'mode {said(mode)} has no number behind the =') from None


def axis_sides(mode: Any, cval: float) -> Sides:
    """An axis: one mode for both sides, 'LOW:HIGH', or (low, high)."""
    if isinstance(mode, str):
        low, _, high = mode.partition(':')
        return _side(low, cval), _side(high or low, cval)
    try:
        low, high = mode
    except (TypeError, ValueError):
        raise ValueError(f"mode {said(mode)} is no boundary of an axis: give a name, 'LOW:HIGH' or (low, high)") from None
    return _side(low, cval), _side(high, cval)


def sides_of(mode: Any, cval: float, axes: int) -> List[Sides]:
    """A boundary for each of so many axes: one for all, or a sequence with one for each."""
    if isinstance(mode, str):
        return [axis_sides(mode, cval)] * axes
    if not isinstance(mode, Sequence) or len(mode) != axes:
        raise ValueError(f'mode {said(mode)} must be one boundary or a sequence of {axes}, one for each axis')
    return [axis_sides(each, cval) for each in mode]
