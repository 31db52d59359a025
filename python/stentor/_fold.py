"""Where the points past an axis' sides come from: for axes that are shorter than a stencil's reach, and for gradients."""

from typing import Optional

import numpy as np

from ._boundary import Sides
from ._library import lib


def fold_index(sides: Sides, extent: int, low: int, high: int) -> Optional[np.ndarray]:
    """The index of the point seen at -low .. extent+high-1; -1 where a constant is seen. None: no such index, since the
    sides differ or a side is fixed."""
    kind = sides[0][0]
    if kind != sides[1][0] or kind == lib.STN_FIXED:
        return None
    at = np.arange(-low, extent + high)
    if kind == lib.STN_CONSTANT:
        return np.where((at >= 0) & (at < extent), at, -1)
    if kind == lib.STN_WRAP:
        return at % extent
    if kind == lib.STN_NEAREST:
        return np.clip(at, 0, extent - 1)
    if kind == lib.STN_REFLECT:
        at %= 2 * extent
        return np.minimum(at, 2 * extent - 1 - at)
    at %= max(1, 2 * extent - 2)
    return np.minimum(at, 2 * extent - 2 - at) if extent > 1 else np.zeros_like(at)


def extend(x: np.ndarray, axis: int, sides: Sides, low: int, high: int) -> Optional[np.ndarray]:
    """The array with so many more points along an axis, as a tap past its sides sees them. None: see fold_index."""
    index = fold_index(sides, x.shape[axis], low, high)
    if index is None:
        return None
    shape = list(x.shape)
    shape[axis] = len(index)
    wide = np.empty(shape, x.dtype)
    rows, points = np.moveaxis(wide, axis, 0), np.moveaxis(x, axis, 0)
    rows[low:len(index) - high] = points
    for first, last, side in ((0, low, sides[0]), (len(index) - high, len(index), sides[1])):
        if first < last:
            rows[first:last] = points[index[first:last]] if index[first] >= 0 else side[1]
    return wide
