"""The function uniform_filter: the moving average over a box."""

from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._apply import apply
from ._arguments import axes_of, check_reach, cval_key, each_axis, frozen, number, one_of_three, origin_of, settled
from ._boundary import Argument, Mode, one_name, sides_of
from ._complex import by_parts, is_complex, without_halves
from ._composed import checked_nan
from ._filter import FEW_TAPS, Pass
from ._progress import call_with_progress
from ._quick import Given
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
    (about, value), boxes = cval_key(cval), _boxes(size, origin, axes)
    extents = frozen(size) if boxes is None else None if isinstance(size, int) else len(size)
    key = ('uniform', extents, frozen(mode), about, frozen(origin), frozen(axes), frozen(steps), one_of_three(local),
           checked_nan(nan))
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

    return apply(input, key, make, output, out, steps, local, checked_nan(nan), Given(None, value, boxes))


def _boxes(size: Any, origin: Any, axes: Any) -> Optional[Tuple[int, ...]]:
    """The sizes of boxes that a small filter takes anew in each call, or None for other boxes.

    It has one for all axes, or one for each; all axes are filtered, by short centred boxes."""
    if axes is not None or type(origin) is not int or origin:
        return None
    each = (size,) if type(size) is int else tuple(size) if type(size) in (list, tuple) else ()
    return each if each and all([type(n) is int and 2 <= n <= FEW_TAPS for n in each]) else None


def _points(size: Any) -> int:
    """A size, truncated to an integer, as in scipy."""
    points = number(size, 'size', TypeError)
    if not abs(points) < 2**62:
        raise ValueError(f'size is {points}: give a number of points')
    return int(points)
