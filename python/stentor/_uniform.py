"""The function uniform_filter: the moving average over a box."""

from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._apply import apply_new
from ._arguments import MAX_REACH, axes_of, check_reach, cval_key, each_axis, frozen, number, one_of_three, origin_of, settled
from ._boundary import Argument, Mode, one_name, sides_of
from ._complex import by_parts, is_complex, without_halves
from ._composed import checked_nan
from ._filter import Pass
from ._progress import call_with_progress
from ._quick import Given, quick_for
from ._stencil import taps_of
from ._words import step_count


def uniform_filter(input: Any, size: Union[int, Sequence[int]] = 3, output: Any = None, mode: Mode = 'reflect',
                   cval: float = 0.0, origin: Union[int, Sequence[int]] = 0, *,
                   axes: Optional[Sequence[int]] = None, steps: int = 1, local: Optional[bool] = None, out: Any = None,
                   boundary: Any = None, progress: Any = None, nan: Optional[str] = None) -> Any:
    """The mean over a box, as ``scipy.ndimage.uniform_filter``.

    Parameters
    ----------
    input, output, mode, cval, steps, local, out, boundary, progress, nan
        As for `correlate`.
    size : int or sequence of int, optional
        The number of points along each axis, or one number for all axes; a float is truncated to
        an integer. An axis with a size of 1 or less is not filtered.
    origin : int or sequence of int, optional
        Shifts the box.
    axes : sequence of int, optional
        The axes that are filtered, by default all axes.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.uniform_filter(np.array([0, 0, 6, 0, 0]), 3)
    array([0, 2, 2, 2, 0])
    """
    if progress is not None:
        return call_with_progress(progress, uniform_filter, input, size, output, mode, cval, origin, axes=axes,
                                  steps=steps, local=local, out=out, boundary=boundary, nan=nan)
    (mode, mode_name), size, origin, axes = one_name(mode, boundary), settled(size), settled(origin), settled(axes)
    (about, value), (boxes, extents) = cval_key(cval), _boxes(size, origin)
    key = ('uniform', extents, frozen(mode), about, frozen(axes), frozen(steps), one_of_three(local), checked_nan(nan))
    given = Given(None, value, boxes)
    result = quick_for(key, input, output, out, given)
    if result is not None:
        return result
    if is_complex(input):
        return by_parts(lambda part, value, to: uniform_filter(part, size, None, mode, value, origin, axes=axes,
                                                               steps=steps, local=local, out=to, nan=nan),
                        without_halves(input, nan == 'ignore'), cval, output, out)
    cval, steps = number(cval, 'cval', TypeError) if value is None else value, step_count(steps)

    def make(ndim: int, on_device: bool, whole_result: bool) -> List[Pass]:
        where = axes_of(axes, ndim)
        count, passes = len(where), []
        rows = zip(where, each_axis(size, count, 'size'), each_axis(origin, count, 'origin'),
                   sides_of(mode, cval, count, Argument(mode_name, composed=True)))
        for axis, points, shift, sides in rows:
            points = _points(points)
            if points <= 1:
                continue
            centre = origin_of(shift, points, 'the box')
            check_reach(points // 2 + abs(shift), f'size {points}', on_device)
            passes.append(Pass(taps_of(np.full(points, 1.0 / points), [centre]), (axis,), [sides], float(points)))
        return passes

    return apply_new(input, key, make, output, out, steps, local, checked_nan(nan), given)


def _boxes(size: Any, origin: Any) -> Tuple[Optional[Tuple[Tuple[int, int], ...]], Any]:
    """The boxes that a small filter takes anew, and what a key holds of size and origin.

    A box is its number of points, and that of those before its centre. There is one for all axes,
    or one for each axis that is filtered. For other arguments the key holds size and origin."""
    if type(size) is int and type(origin) is int and 1 < size <= MAX_REACH and 0 <= size // 2 + origin < size:
        return ((size, size // 2 + origin),), None
    several = (list, tuple)
    count = len(size) if type(size) in several else len(origin) if type(origin) in several else 1
    sizes, origins = ([*given] if type(given) in several else [given] * count for given in (size, origin))
    boxes = []
    for points, shift in zip(sizes, origins):
        if type(points) is not int or type(shift) is not int or points > MAX_REACH:
            break
        if points > 1:
            boxes.append((points, points // 2 + shift))
    else:
        if boxes and len(sizes) == len(origins) and all([0 <= before < points for points, before in boxes]):
            return tuple(boxes), tuple([points > 1 for points in sizes])
    return None, (frozen(size), frozen(origin))


def _points(size: Any) -> int:
    """A size, truncated to an integer, as in scipy."""
    points = number(size, 'size', TypeError)
    if not abs(points) < 2**62:
        raise ValueError(f'size is {points}: give a number of points')
    return int(points)
