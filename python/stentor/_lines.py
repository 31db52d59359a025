"""The filters along one axis: correlate1d, convolve1d, gaussian_filter1d and uniform_filter1d."""

from typing import Any, Optional

import numpy as np

from ._arguments import AxisError, number
from ._arrays import open_array, weights_of
from ._boundary import Mode
from ._complex import check_cval
from ._filters import convolve, correlate
from ._gaussian import gaussian_filter
from ._uniform import uniform_filter
from ._words import whole


def correlate1d(input: Any, weights: Any, axis: int = -1, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0,
                origin: int = 0, *, steps: int = 1, local: Optional[bool] = None, out: Any = None, boundary: Any = None,
                progress: Any = None, nan: Optional[str] = None) -> Any:
    """Correlate an array with weights along one axis, as ``scipy.ndimage.correlate1d``.

    Parameters
    ----------
    input, output, mode, cval, steps, local, out, boundary, progress, nan
        As for `correlate`.
    weights : array_like
        An array with one axis. Complex weights are conjugated.
    axis : int, optional
        By default the last.
    origin : int, optional
        Shifts the weights' centre.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.correlate1d(np.array([[2, 8, 0, 4], [1, 9, 9, 0]]), [1, 3])
    array([[ 8, 26,  8, 12],
           [ 4, 28, 36,  9]])
    """
    where = axis_of(input, axis)
    return correlate(input, _line(weights, input, cval), output, mode, cval, origin, axes=where, steps=steps, local=local, out=out, boundary=boundary,
                     progress=progress, nan=nan)


def convolve1d(input: Any, weights: Any, axis: int = -1, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0,
               origin: int = 0, *, steps: int = 1, local: Optional[bool] = None, out: Any = None, boundary: Any = None,
               progress: Any = None, nan: Optional[str] = None) -> Any:
    """Convolve an array with weights along one axis, as ``scipy.ndimage.convolve1d``.

    Parameters
    ----------
    input, axis, output, mode, cval, origin, steps, local, out, boundary, progress, nan
        As for `correlate1d`.
    weights : array_like
        An array with one axis.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.convolve1d(np.array([2, 8, 0, 4, 1, 9, 9, 0]), [1, 3])
    array([14, 24,  4, 13, 12, 36, 27,  0])
    """
    where = axis_of(input, axis)
    return convolve(input, _line(weights, input, cval), output, mode, cval, origin, axes=where, steps=steps, local=local, out=out, boundary=boundary,
                    progress=progress, nan=nan)


def gaussian_filter1d(input: Any, sigma: float, axis: int = -1, order: int = 0, output: Any = None, mode: Mode = 'reflect',
                      cval: float = 0.0, truncate: float = 4.0, *, radius: Optional[int] = None, steps: int = 1,
                      local: Optional[bool] = None, out: Any = None, boundary: Any = None, progress: Any = None,
                      nan: Optional[str] = None) -> Any:
    """Smooth an array along one axis by a Gaussian, or take its derivative.

    Has the arguments and the result of ``scipy.ndimage.gaussian_filter1d``.

    Parameters
    ----------
    input, output, mode, cval, steps, local, out, boundary, progress, nan
        As for `correlate`.
    sigma : float
        The standard deviation, in points; 0 leaves the array unchanged.
    axis : int, optional
        By default the last.
    order : int, optional
        The order of the derivative; 0 smooths.
    truncate : float, optional
        The radius of the weights in standard deviations.
    radius : int, optional
        The radius of the weights in points, instead of `truncate`.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.gaussian_filter1d(np.array([1., 2., 3., 4., 5.]), 1).round(3)
    array([1.427, 2.068, 3.   , 3.932, 4.573])
    """
    where = axis_of(input, axis)
    return gaussian_filter(input, number(sigma, 'sigma', TypeError), order, output, mode, cval, truncate, radius=radius, axes=where,
                           steps=steps, local=local, out=out, boundary=boundary, progress=progress, nan=nan)


def uniform_filter1d(input: Any, size: int, axis: int = -1, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0,
                     origin: int = 0, *, steps: int = 1, local: Optional[bool] = None, out: Any = None, boundary: Any = None,
                     progress: Any = None, nan: Optional[str] = None) -> Any:
    """The moving average along one axis, as ``scipy.ndimage.uniform_filter1d``.

    Parameters
    ----------
    input, output, mode, cval, steps, local, out, boundary, progress, nan
        As for `correlate`.
    size : int
        The number of points that are averaged.
    axis : int, optional
        By default the last.
    origin : int, optional
        Shifts the window.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.uniform_filter1d(np.array([2, 8, 0, 4, 1, 9, 9, 0]), 3)
    array([4, 3, 4, 1, 4, 6, 6, 3])
    """
    points, where = whole(size, 'size', -2**62, TypeError), axis_of(input, axis)
    if points < 1:
        raise RuntimeError(f'size is {points}, an incorrect filter size: give 1 or more')
    if not 0 <= points // 2 + whole(origin, 'origin', -2**31, TypeError) < points:
        raise ValueError(f'origin {origin} puts the centre outside of {points} points')
    return uniform_filter(input, points, output, mode, cval, origin, axes=where, steps=steps, local=local, out=out, boundary=boundary,
                          progress=progress, nan=nan)


def axis_of(x: Any, axis: Any) -> tuple:
    """The axis as a tuple for the argument `axes`, for an array of any library."""
    at, ndim = whole(axis, 'axis', -2**62, TypeError), getattr(x, 'ndim', None)
    if ndim is None:
        ndim = len(open_array(x, 'input').shape)
    if not -ndim <= at < ndim:
        raise AxisError(f'axis {at} is out of bounds for an array of {ndim} axes')
    return (at % ndim,)


def _line(weights: Any, x: Any, cval: Any) -> np.ndarray:
    """The weights as an array with one axis."""
    if type(weights) is np.ndarray and weights.ndim == 1 and weights.size and weights.dtype.kind in 'fiu':
        return weights
    dense = weights_of(weights)
    if dense.dtype.kind == 'c':
        check_cval(x, cval)
    if dense.ndim != 1 or not dense.size:
        raise RuntimeError(f'no filter weights given: weights have shape {dense.shape}, but one axis and one weight or more are needed')
    return dense
