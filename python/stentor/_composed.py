"""Filters composed of several runs of the library: nan='ignore', boundaries 'ignore' and 'odd'.

Where points are left out (NaN, or points past an 'ignore' side), normalized convolution applies:
filter(values, missing = 0) * sum(weights) / filter(1, missing = 0). On a GPU this is one pass an
axis, by plans (`normalized`). An 'odd' side is extended by
2 * edge - mirror image, as in numpy.pad with reflect_type='odd'.
"""

from typing import Any, Callable, List, Optional, Sequence, Tuple

import numpy as np

from ._boundary import IGNORE, ODD, Side
from ._filter import Pass
from ._library import lib
from ._namespace import Namespace, namespace_of
from ._words import said

# A sum of weights computed by transforms counts as 0 below this many units of rounding error.
NOISE = 64


def checked_nan(nan: Any) -> bool:
    """Whether NaN is left out: the argument `nan`, checked."""
    if nan is None or isinstance(nan, str) and nan == 'ignore':
        return nan is not None
    raise ValueError(f"nan is {said(nan)}: give None, or 'ignore' to leave NaN out")


def is_composed(passes: Sequence[Pass], ignore_nan: bool) -> bool:
    """Whether the filter takes more than one run of the library."""
    return ignore_nan or any(kind in (ODD, IGNORE) for kind, _ in _sides(passes))


def run_composed(apply: Callable, x: Any, key: Tuple, passes: List[Pass], steps: int, local: Any, ignore_nan: bool) -> Any:
    """The result, in floating point. `apply` is the function of _apply.py, for plain passes.

    The result is NaN where all points under the weights are missing."""
    passes = [each.without_zeros() for each in passes]
    scaled, total, size = _checked(passes, ignore_nan)
    reach, inner = _odd_reach(passes, len(x.shape)), [_without_odd(each) for each in passes]
    # On a GPU kernels scale the sums, without arithmetic of the array's library.
    by_kernels = not isinstance(x, np.ndarray) and normalized(inner, ignore_nan, local) is not None
    if not by_kernels or any(map(any, reach)):
        space = namespace_of(x, "nan='ignore' with local=False, and the side 'odd',")
    local = True if local is None else local
    limit = 0.0 if local else NOISE * size * (1e-7 if str(x.dtype).endswith('32') else 2e-16)
    values, mask = ([_replaced(each, ignore_nan, of_mask) for each in inner] for of_mask in (False, True))
    for _ in range(steps):
        wide = _extended(space, x, reach) if any(map(any, reach)) else x
        if by_kernels:
            made = apply(wide, (key, 'inner'), lambda *_: inner, local=local, nan=ignore_nan)
        elif not scaled:
            made = apply(wide, (key, 'values'), lambda *_: values, local=local)
        else:
            valid = wide == wide
            ones, zeros = space.module.ones_like(wide), space.module.zeros_like(wide)
            shown = space.module.where(valid, wide, zeros) if ignore_nan else wide
            made = apply(shown, (key, 'values'), lambda *_: values, local=local)
            left = apply(space.module.where(valid, ones, zeros) if ignore_nan else ones, (key, 'mask'), lambda *_: mask, local=local)
            if limit:
                left = space.module.where(abs(left) > limit, left, zeros)
            with np.errstate(divide='ignore', invalid='ignore'):
                made = made * (total / left)
                made = made if not limit else space.module.where(left != 0, made, zeros / zeros)
        x = made[tuple(slice(low, low + n) for n, (low, _) in zip(x.shape, reach))] if any(map(any, reach)) else made
    return x


def _sides(passes: Sequence[Pass]) -> List[Side]:
    return [side for each in passes for sides in each.sides for side in sides]


def _checked(passes: Sequence[Pass], ignore_nan: bool) -> Tuple[bool, float, float]:
    """Whether points may be missing, the sum of all weights, and that of their absolute values."""
    scaled = ignore_nan or any(kind == IGNORE for kind, _ in _sides(passes))
    total, size = (float(np.prod([part(each.taps.weights).sum() for each in passes])) for part in (np.asarray, np.abs))
    if scaled and abs(total) <= 1e-12 * size:
        raise ValueError("the sum of the weights is 0, so that what is left of them cannot be scaled to it: use neither nan='ignore' nor the "
                         "boundary 'ignore' with them")
    if scaled and any(kind == lib.STN_FIXED for kind, _ in _sides(passes)):
        raise ValueError("a side is 'fixed', which keeps values: use another one with nan='ignore' and the boundary 'ignore'")
    return scaled, total, size


def normalized(passes: Sequence[Pass], ignore_nan: bool, local: Any) -> Optional[Tuple[List[Pass], int]]:
    """The passes for the library's normalized convolution on a GPU, and their stn_normalized bits.

    An 'ignore' side becomes a constant side of NaN, whose points the library treats as missing. The
    result is None if this cannot be used: no point is left out, local is False, a side is 'odd', or
    some side has the constant NaN although NaN is a value."""
    scaled, sides = _checked(passes, ignore_nan)[0], _sides(passes)
    values = not ignore_nan and any(kind == lib.STN_CONSTANT and value != value for kind, value in sides)
    if not scaled or local is False or values or any(kind == ODD for kind, _ in sides):
        return None
    missing = Side(lib.STN_CONSTANT, float('nan'))
    made = [_with_sides(each, lambda side: missing if side[0] == IGNORE else side) for each in passes]
    return made, lib.STN_NORMALIZED | (lib.STN_NORMALIZED_NAN if ignore_nan else 0)


def _with_sides(each: Pass, replaced: Callable[[Side], Side]) -> Pass:
    return each._replace(sides=[(replaced(low), replaced(high)) for low, high in each.sides])


def _without_odd(each: Pass) -> Pass:
    """The pass over an array extended past its odd sides, which is cropped afterwards."""
    return _with_sides(each, lambda side: Side(lib.STN_NEAREST, 0.0) if side[0] == ODD else side)


def _replaced(each: Pass, ignore_nan: bool, of_mask: bool) -> Pass:
    """The pass over the values, or over the mask of ones, with boundaries that the library has.

    Missing points are 0."""
    def one(side: Side) -> Side:
        kind, value = side
        missing = kind == IGNORE or ignore_nan and kind == lib.STN_CONSTANT and value != value
        if missing or kind == lib.STN_CONSTANT:
            return Side(lib.STN_CONSTANT, 0.0 if missing else 1.0 if of_mask else value)
        return Side(kind, value)

    return _with_sides(each, one)


def _odd_reach(passes: Sequence[Pass], ndim: int) -> List[Tuple[int, int]]:
    """The number of points, [(low, high)], by which each axis is extended past its odd sides."""
    reach = [[0, 0] for _ in range(ndim)]
    for each in passes:
        for axis, sides, far in zip(each.axes, each.sides, each.taps.reach()):
            for i in range(2):
                reach[axis][i] += far[i] if sides[i][0] == ODD else 0
    return [(low, high) for low, high in reach]


def _extended(space: Namespace, x: Any, reach: Sequence[Tuple[int, int]]) -> Any:
    """The array extended past its odd sides: twice the outermost point minus the mirror image."""
    if space.name == 'numpy':
        return np.pad(x, reach, mode='reflect', reflect_type='odd') if any(map(any, reach)) else x
    for axis, (low, high) in enumerate(reach):
        if not (low or high):
            continue
        line = space.move(x, axis, -1)
        points = space.size(line)
        if max(low, high) >= points:
            raise ValueError(f'an odd side reaches over {max(low, high)} points of an axis of {points}: on a GPU there must be more')
        before = 2 * space.cut(line, 0, 1) - space.flip(space.cut(line, 1, low + 1))
        behind = 2 * space.cut(line, points - 1) - space.flip(space.cut(line, points - 1 - high, points - 1))
        x = space.move(space.join([before, line, behind]), -1, axis)
    return x
