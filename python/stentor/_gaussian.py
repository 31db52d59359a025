"""The function gaussian_filter: smoothing by a Gaussian, and derivatives of Gaussians."""

from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._apply import apply
from ._arguments import axes_of, check_reach, cval_key, each_axis, frozen, number, one_of_three, settled
from ._boundary import Argument, Mode, one_name, sides_of
from ._complex import by_parts, is_complex, without_halves
from ._composed import checked_nan, is_composed
from ._filter import Pass
from ._library import lib
from ._memo import keeps_tables
from ._progress import call_with_progress
from ._quick import Given
from ._stencil import Taps, taps_of
from ._words import step_count, whole

ORDERS = 64  # the highest order of derivatives
LONGEST = 1024  # with a smaller radius, calls are cached by weights, not by sigma and truncate
_NO_WEIGHTS = np.empty(0)
Numbers = Union[float, Sequence[float]]


@keeps_tables(16)
def _squares(radius: int) -> np.ndarray:
    """The squares of -radius .. radius, which arrays of several calls share."""
    return np.arange(-radius, radius + 1, dtype=np.float64) ** 2


def gaussian_weights(sigma: float, order: int, radius: int) -> np.ndarray:
    """A Gaussian of sum 1, or its derivative of an order, at -radius .. radius.

    The derivative of p(x) exp(-x^2 / (2 sigma^2)) is (p'(x) - x p(x) / sigma^2) times the same
    exponential; p starts as 1. The exponential is computed as scipy does, to the last bit: integer
    results are truncated, so a difference of one bit could change them by 1."""
    squares = _squares if radius < LONGEST else _squares.__wrapped__  # long ones are not kept
    bell = np.exp(-0.5 / (sigma * sigma) * squares(radius))
    bell /= np.add.reduce(bell)
    if order == 0:
        return bell
    x = np.arange(-radius, radius + 1, dtype=np.float64)
    factor, share = [1.0], 1.0 / (sigma * sigma)  # coefficients of p, the constant first
    for _ in range(order):
        derivative = [i * c for i, c in enumerate(factor)][1:] + [0.0, 0.0]
        factor = [a - b * share for a, b in zip(derivative, [0.0, *factor])]
    value = np.full(x.shape, factor[-1])
    for each in factor[-2::-1]:
        value *= x
        value += each
    return value * bell


_recent_weights = keeps_tables(16)(gaussian_weights)


def gaussian_filter(input: Any, sigma: Numbers, order: Union[int, Sequence[int]] = 0, output: Any = None,
                    mode: Mode = 'reflect', cval: float = 0.0, truncate: float = 4.0, *,
                    radius: Union[None, int, Sequence[int]] = None, axes: Optional[Sequence[int]] = None,
                    steps: int = 1, local: Optional[bool] = None, out: Any = None, boundary: Any = None, progress: Any = None,
                    nan: Optional[str] = None) -> Any:
    """Smooth an array by a Gaussian, or take its derivatives, as ``scipy.ndimage.gaussian_filter``.

    Parameters
    ----------
    input, output, mode, cval, steps, local, out, boundary, progress, nan
        As for `correlate`.
    sigma : float or sequence of float
        The standard deviation, in points; by axis or one for all axes. An axis with 0 is not
        filtered.
    order : int or sequence of int, optional
        The order of the derivative along each axis; 0 smooths.
    truncate : float, optional
        The radius of the weights in standard deviations. On a GPU it may be 64 points at most.
    radius : int or sequence of int, optional
        The radius of the weights in points, instead of `truncate`.
    axes : sequence of int, optional
        The axes that are filtered, by default all axes.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.gaussian_filter(np.array([0., 0., 1., 0., 0.]), 1, radius=1).round(3)
    array([0.   , 0.274, 0.452, 0.274, 0.   ])
    """
    if progress is not None:
        return call_with_progress(progress, gaussian_filter, input, sigma, order, output, mode, cval, truncate, radius=radius, axes=axes,
                                  steps=steps, local=local, out=out, boundary=boundary, nan=nan)
    (mode, mode_name), sigma, order = one_name(mode, boundary), settled(sigma), settled(order)
    radius, axes = settled(radius), settled(axes)
    lines = _plain_lines(sigma, order, truncate) if type(input) is np.ndarray and radius is None else None
    weights: Optional[np.ndarray] = None
    about: Tuple[Any, ...] = (frozen(sigma), frozen(truncate), frozen(radius))
    if lines is not None:
        weights, about = lines[0] if len(lines) == 1 else np.concatenate(lines), tuple([each.size for each in lines])
    about_cval, value = cval_key(cval)
    key = ('gaussian', *about, frozen(order), frozen(mode), about_cval, frozen(axes), frozen(steps), one_of_three(local), checked_nan(nan))
    if is_complex(input):
        return by_parts(lambda part, value, to: gaussian_filter(part, sigma, order, None, mode, value, truncate,
                                                                radius=radius, axes=axes, steps=steps, local=local, out=to, nan=nan),
                        without_halves(input, nan == 'ignore'), cval, output, out)
    cval, steps = number(cval, 'cval', TypeError) if value is None else value, step_count(steps)

    def make(ndim: int, on_device: bool, whole_result: bool) -> List[Pass]:
        where = axes_of(axes, ndim)
        lines = _lines(where, sigma, order, number(truncate, 'truncate', TypeError), radius, on_device)
        sides = sides_of(mode, cval, len(where), Argument(mode_name, composed=True))
        passes = [Pass(taps, (axis,), [side]) for axis, taps, side in zip(where, lines, sides) if taps is not None]
        smooth = all(o == 0 for o in each_axis(order, len(where), 'order'))
        frozen_side = any(side[0] == lib.STN_FIXED for each in passes for side in each.sides[0])
        # On a GPU one plan of all axes can use tensor cores. If it takes single steps, however, a
        # pass for each axis has fewer taps and is faster.
        stepping = local is True or local is None and is_composed(passes, nan == 'ignore')
        at_once = on_device and not whole_result and not stepping
        return _together(passes) if len(passes) > 1 and smooth and (at_once or frozen_side) else passes

    return apply(input, key, make, output, out, steps, local, checked_nan(nan), Given(weights, value))


def _plain_lines(sigma: Any, order: Any, truncate: Any) -> Optional[List[np.ndarray]]:
    """The weights of all axes, or of each axis if `sigma` or `order` is a sequence, in the order of
    the taps.

    An axis that is not filtered has none. The result is None if an argument is invalid, or is no
    Python number."""
    if type(sigma) is np.ndarray and sigma.ndim == 1:
        sigma = sigma.tolist()
    if type(sigma) not in (list, tuple) and type(order) in (list, tuple):
        sigma = [sigma] * len(order)
    if type(sigma) not in (list, tuple):
        line = _one_line(sigma, order, truncate)
        return None if line is None else [line]
    orders = order if type(order) in (list, tuple) else [order] * len(sigma)
    if not sigma or len(orders) != len(sigma):
        return None
    lines = []
    for s, o in zip(sigma, orders):
        line = _NO_WEIGHTS if type(s) in (int, float) and 0 <= s <= 1e-15 and o == 0 else _one_line(s, o, truncate)
        if line is None:
            return None
        lines.append(line)
    return lines


def _one_line(sigma: Any, order: Any, truncate: Any) -> Optional[np.ndarray]:
    """The weights of an axis, in the order of the taps; None if an argument is invalid, or is no
    Python number."""
    if type(sigma) not in (int, float) or type(order) is not int or type(truncate) not in (int, float):
        return None
    if not (1e-15 < sigma < np.inf and 0 <= order <= ORDERS and 0 <= truncate * sigma < LONGEST):
        return None
    return _recent_weights(sigma, order, int(truncate * sigma + 0.5))[::-1]


def _lines(where: Sequence[int], sigma: Any, order: Any, truncate: float, radius: Any,
           on_device: bool) -> List[Optional[Taps]]:
    """The taps along each axis; None for an axis not filtered."""
    lines: List[Optional[Taps]] = []
    count, before = len(where), (None, None, None)
    for given in zip(each_axis(sigma, count, 'sigma'), each_axis(order, count, 'order'), each_axis(radius, count, 'radius')):
        if lines and all(a is b for a, b in zip(before, given)):  # one value for all axes
            lines.append(lines[-1])
            continue
        before = s, o, r = given
        s, o = number(s, 'sigma', TypeError), whole(0 if isinstance(o, float) and o == 0 else o, 'order', 0, TypeError)
        if o > ORDERS:
            raise ValueError(f'order is {o}: {ORDERS} is the most')
        if not 0 <= s < np.inf:
            raise ValueError(f'sigma is {s}: give 0 or more, and finite')
        if s <= 1e-15:
            lines.append(None)
            continue
        reach = whole(r, 'radius', 0) if r is not None else truncate * s + 0.5
        check_reach(reach, f'sigma {s:g} with ' + (f'truncate {truncate:g}' if r is None else f'radius {r}'), on_device)
        lines.append(taps_of(gaussian_weights(s, o, int(reach))[::-1], [int(reach)], False))
    return lines


def _together(passes: List[Pass]) -> List[Pass]:
    """The passes merged to one stencil over all axes, if the library accepts its axes and taps."""
    sizes = [len(each.taps.weights) for each in passes]
    if len(passes) > 3 or np.prod(sizes) > lib.STN_MAX_TAPS:
        return passes
    grids = np.meshgrid(*(each.taps.offsets[:, 0] for each in passes), indexing='ij')
    weights = passes[0].taps.weights
    for each in passes[1:]:
        weights = np.multiply.outer(weights, each.taps.weights)
    taps = Taps(np.stack([grid.ravel() for grid in grids], axis=1), weights.ravel())
    axes: Tuple[int, ...] = tuple(each.axes[0] for each in passes)
    return [Pass(taps, axes, [each.sides[0] for each in passes])]
