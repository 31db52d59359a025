"""Index arithmetic of boundary conditions: the source index of each point past an axis' sides.

Used for axes shorter than a stencil's reach, and for gradients.
"""

from typing import Sequence

import numpy as np

from ._boundary import Sides
from ._library import lib


def fold_index(sides: Sides, extent: int, low: int, high: int) -> np.ndarray:
    """The source index of each point from -low to extent + high - 1.

    -1 stands for the constant of the low side and -2 for that of the high side. No side is 'fixed',
    where no source index exists."""
    kinds = [side[0] for side in sides]
    at = np.arange(-low, extent + high)
    if kinds[0] != kinds[1]:
        return _fold_by_turns(at, extent, kinds)
    if kinds[0] == lib.STN_CONSTANT:
        return np.where(at < 0, -1, np.where(at < extent, at, -2))
    if kinds[0] == lib.STN_WRAP:
        return at % extent
    if kinds[0] == lib.STN_NEAREST:
        return np.clip(at, 0, extent - 1)
    if kinds[0] == lib.STN_REFLECT:
        at %= 2 * extent
        return np.minimum(at, 2 * extent - 1 - at)
    at %= max(1, 2 * extent - 2)
    return np.minimum(at, 2 * extent - 2 - at) if extent > 1 else np.zeros_like(at)


def _fold_by_turns(at: np.ndarray, extent: int, kinds: Sequence[int]) -> np.ndarray:
    """The source index for two different sides.

    Each index is folded by the rule of the side that it is past, until it lies inside or is a
    constant."""
    seen = np.zeros_like(at)
    while True:
        past = [(at < 0) & (seen == 0), (at >= extent) & (seen == 0)]
        if not (past[0].any() or past[1].any()):
            return np.where(seen < 0, seen, at)
        for side, mask in enumerate(past):
            edge = side * (extent - 1)
            if kinds[side] == lib.STN_CONSTANT:
                seen[mask] = -1 - side
            elif kinds[side] == lib.STN_NEAREST or (kinds[side] == lib.STN_MIRROR and extent == 1):
                at[mask] = edge
            else:  # mirrored about the outermost point, or about the edge of its cell
                at[mask] = 2 * edge - at[mask] + (0 if kinds[side] == lib.STN_MIRROR else 2 * side - 1)


def extend(x: np.ndarray, axis: int, sides: Sides, low: int, high: int) -> np.ndarray:
    """The array extended by `low` and `high` points along an axis, by its boundary conditions."""
    index = fold_index(sides, x.shape[axis], low, high)
    shape = list(x.shape)
    shape[axis] = len(index)
    wide = np.empty(shape, x.dtype)
    rows, points = np.moveaxis(wide, axis, 0), np.moveaxis(x, axis, 0)
    rows[low:len(index) - high] = points
    for first, last in ((0, low), (len(index) - high, len(index))):
        rows[first:last] = points[np.maximum(index[first:last], 0)]
        for side, value in enumerate(sides):
            if value[0] == lib.STN_CONSTANT:
                rows[first:last][index[first:last] == -1 - side] = value[1]
    return wide
