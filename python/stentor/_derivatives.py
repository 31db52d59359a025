"""Filters of first and second derivatives, and their sums over axes, as in scipy.ndimage.

sobel, prewitt and laplace are stencils; the others add up derivatives that a function computes.
"""

import functools
import sys
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

from ._apply import apply, target_of
from ._arguments import axes_of, cval_key, each_axis, frozen, number, one_of_three, settled
from ._arrays import Host, numbers, open_array, open_target, same_device
from ._boundary import Argument, Mode, Sides, one_name, sides_of
from ._complex import by_parts, is_complex
from ._filter import Pass
from ._gaussian import Numbers, gaussian_filter
from ._lines import axis_of
from ._namespace import converted
from ._number_types import ELEMENTS, is_whole, type_name
from ._progress import call_with_progress
from ._quick import Given
from ._stencil import Taps, taps_of
from ._words import brief, step_count


def sobel(input: Any, axis: int = -1, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0, *, steps: int = 1,
          local: Optional[bool] = None, out: Any = None, boundary: Any = None, progress: Any = None) -> Any:
    """The central difference along an axis, smoothed by 1, 2, 1 along the others.

    Has the arguments and the result of ``scipy.ndimage.sobel``.

    Parameters
    ----------
    input, output, mode, cval, steps, local, out, boundary, progress
        As for `correlate`.
    axis : int, optional
        The axis of the derivative, by default the last.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.sobel(np.array([[0., 1., 4.], [0., 1., 4.]]))
    array([[ 4., 16., 12.],
           [ 4., 16., 12.]])
    """
    return _difference(sobel, (1.0, 2.0, 1.0), input, axis, output, mode, cval, steps, local, out, boundary, progress)


def prewitt(input: Any, axis: int = -1, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0, *, steps: int = 1,
            local: Optional[bool] = None, out: Any = None, boundary: Any = None, progress: Any = None) -> Any:
    """The central difference along an axis, summed over three points along the others.

    Has the arguments and the result of ``scipy.ndimage.prewitt``.

    Parameters
    ----------
    input, axis, output, mode, cval, steps, local, out, boundary, progress
        As for `sobel`.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.prewitt(np.array([[0., 1., 4.], [0., 1., 4.]]))
    array([[ 3., 12.,  9.],
           [ 3., 12.,  9.]])
    """
    return _difference(prewitt, (1.0, 1.0, 1.0), input, axis, output, mode, cval, steps, local, out, boundary, progress)


def _difference(function: Callable, smooth: Tuple[float, ...], input: Any, axis: Any, output: Any, mode: Any, cval: Any, steps: Any,
                local: Any, out: Any, boundary: Any, progress: Any) -> Any:
    """Applies the weights -1, 0, 1 along one axis and `smooth` along every other axis."""
    if progress is not None:
        return call_with_progress(progress, function, input, axis, output, mode, cval, steps=steps, local=local, out=out,
                                  boundary=boundary)
    mode, mode_name = one_name(mode, boundary)
    at = axis_of(input, axis)[0]
    about, value = cval_key(cval)
    key = (function.__name__, at, frozen(mode), about, frozen(steps), one_of_three(local))
    if is_complex(input):
        return by_parts(lambda part, value, to: function(part, at, None, mode, value, steps=steps, local=local, out=to), input, cval,
                        output, out)
    cval, steps = number(cval, 'cval', TypeError) if value is None else value, step_count(steps)

    def make(ndim: int, on_device: bool, whole_result: bool) -> List[Pass]:
        sides = sides_of(mode, cval, ndim, Argument(mode_name, composed=True))
        order = [at, *(a for a in range(ndim) if a != at)]
        return [Pass(taps_of(np.array((-1.0, 0.0, 1.0) if a == at else smooth), [1], False), (a,), [sides[a]]) for a in order]

    return apply(input, key, make, output, out, steps, local, given=Given(None, value))


def laplace(input: Any, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0, *,
            axes: Optional[Sequence[int]] = None, steps: int = 1, local: Optional[bool] = None, out: Any = None,
            boundary: Any = None, progress: Any = None) -> Any:
    """The sum of second differences along the axes, as ``scipy.ndimage.laplace``.

    Parameters
    ----------
    input, output, mode, cval, steps, local, out, boundary, progress
        As for `correlate`.
    axes : sequence of int, optional
        By default all axes. More than three axes are summed one at a time.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.laplace(np.array([0., 0., 1., 0., 0.]))
    array([ 0.,  1., -2.,  1.,  0.])
    """
    if progress is not None:
        return call_with_progress(progress, laplace, input, output, mode, cval, axes=axes, steps=steps, local=local, out=out,
                                  boundary=boundary)
    (mode, mode_name), axes = one_name(mode, boundary), settled(axes)
    about, value = cval_key(cval)
    key = ('laplace', frozen(mode), about, frozen(axes), frozen(steps), one_of_three(local))
    if is_complex(input):
        return by_parts(lambda part, value, to: laplace(part, None, mode, value, axes=axes, steps=steps, local=local, out=to),
                        input, cval, output, out)
    cval, steps = number(cval, 'cval', TypeError) if value is None else value, step_count(steps)
    input = numbers(input, 'input') if isinstance(input, (list, tuple)) else input
    ndim = len(getattr(input, 'shape', ())) if hasattr(input, 'dtype') else 0
    of_floats = getattr(getattr(input, 'dtype', None), 'kind', '') == 'f' and output is None and out is None
    if ndim > 3 or ndim > 1 and not of_floats:
        where = axes_of(axes, ndim)
        sides = sides_of(mode, cval, len(where), Argument(mode_name, composed=True))
        if len(where) > 3 or len(where) > 1 and _truncates_each_axis(input, output, out, sides):
            return _laplace_by_axis(input, output, mode, cval, axes, steps, local, out)

    def make(ndim: int, on_device: bool, whole_result: bool) -> List[Pass]:
        where = axes_of(axes, ndim)
        return [Pass(_laplace_taps(len(where)), where, sides_of(mode, cval, len(where), Argument(mode_name, composed=True)))] if where else []

    return apply(input, key, make, output, out, steps, local, given=Given(None, value))


def _truncates_each_axis(x: Any, output: Any, out: Any, sides: Sequence[Sides]) -> bool:
    """Whether truncating each term to a whole number, as in scipy, differs from truncating the sum.

    It does if terms have fractions, and in bool arrays, where every term other than 0 is True."""
    result = _result_type(x, output, out)
    return is_whole(result) and (result == 'bool' or not is_whole(type_name(x)) or any(value % 1 != 0 for each in sides for _, value in each))


def _result_type(x: Any, output: Any, out: Any) -> str:
    """The name of the number type of a filter's result."""
    target, dtype = target_of(output, out)
    if dtype is not None:
        return getattr(dtype, 'name', dtype)
    return type_name(target if hasattr(target, 'dtype') else x)


def _laplace_by_axis(x: Any, output: Any, mode: Any, cval: Any, axes: Any, steps: int, local: Any, out: Any) -> Any:
    """The Laplacian as a sum over single axes.

    It is for more axes than one stencil can have, and for whole numbers that scipy truncates before
    their sum."""
    def second(source: Any, axis: int, to: Any, one: Any, value: Any) -> Any:
        return laplace(source, to, one, value, axes=(axis,), local=local)

    target, name = target_of(output, out)[0], _result_type(x, output, out)
    dtype = np.dtype(name) if name in ELEMENTS and name != 'bfloat16' else None
    for step in range(steps):
        x = generic_laplace(x, second, dtype if target is None or step < steps - 1 else target, mode, cval, axes=axes)
    return x


def _laplace_taps(rank: int) -> Taps:
    offsets, weights = [[0] * rank], [-2.0 * rank]
    for axis in range(rank):
        for side in (-1, 1):
            offsets.append([side if a == axis else 0 for a in range(rank)])
            weights.append(1.0)
    return Taps(np.array(offsets), np.array(weights))


def generic_laplace(input: Any, derivative2: Callable, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0,
                    extra_arguments: Sequence[Any] = (), extra_keywords: Optional[Dict[str, Any]] = None, *,
                    axes: Optional[Sequence[int]] = None) -> Any:
    """The sum of second derivatives that a given function computes.

    Has the arguments and the result of ``scipy.ndimage.generic_laplace``.

    Parameters
    ----------
    input, output, mode, cval
        As for `correlate`; `output` may also be an array of PyTorch or CuPy.
    derivative2 : callable
        ``derivative2(input, axis, output, mode, cval, *extra_arguments, **extra_keywords)`` fills
        `output` if it is an array, and otherwise returns a new array of that dtype. On a GPU
        `output` is a dtype or None.
    extra_arguments, extra_keywords : optional
        Further arguments of `derivative2`.
    axes : sequence of int, optional
        By default all axes.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> def second(x, axis, output, mode, cval):
    ...     return stentor.correlate1d(x, [1, -2, 1], axis, output, mode, cval)
    >>> stentor.generic_laplace(np.array([0., 0., 1., 0., 0.]), second)
    array([ 0.,  1., -2.,  1.,  0.])
    """
    return _summed(input, derivative2, output, mode, cval, extra_arguments, extra_keywords, axes, False)


def generic_gradient_magnitude(input: Any, derivative: Callable, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0,
                               extra_arguments: Sequence[Any] = (), extra_keywords: Optional[Dict[str, Any]] = None, *,
                               axes: Optional[Sequence[int]] = None) -> Any:
    """The length of the gradient, from derivatives that a given function computes.

    Has the arguments and the result of ``scipy.ndimage.generic_gradient_magnitude``.

    Parameters
    ----------
    input, output, mode, cval, extra_arguments, extra_keywords, axes
        As for `generic_laplace`.
    derivative : callable
        As `derivative2` of `generic_laplace`; an array that it returns is overwritten afterwards.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> x = np.array([[0., 3.], [4., 7.]])
    >>> stentor.generic_gradient_magnitude(x, stentor.sobel, mode='nearest').round(3)
    array([[20., 20.],
           [20., 20.]])
    """
    return _summed(input, derivative, output, mode, cval, extra_arguments, extra_keywords, axes, True)


def gaussian_laplace(input: Any, sigma: Numbers, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0, *,
                     axes: Optional[Sequence[int]] = None, **kwargs: Any) -> Any:
    """The Laplacian of an array smoothed by a Gaussian, as ``scipy.ndimage.gaussian_laplace``.

    Parameters
    ----------
    input, output, mode, cval
        As for `correlate`.
    sigma : float or sequence of float
        The standard deviation, in points; by axis or one for all axes.
    axes : sequence of int, optional
        By default all axes.
    **kwargs
        Arguments of `gaussian_filter`: truncate, radius, local.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.gaussian_laplace(np.array([0., 0., 1., 0., 0.]), 1).round(3)
    array([ 0.197,  0.002, -0.399,  0.002,  0.197])
    """
    ndim = len(open_array(input, 'input').shape)
    axes = None if axes is None else settled(axes)
    where = axes_of(axes, ndim)
    sigmas = each_axis(settled(sigma), len(where), 'sigma')
    if len(where) < ndim:  # otherwise scipy takes them in the array's order
        named = dict(zip(where, sigmas))
        sigmas = [named.get(axis, 0.0) for axis in range(ndim)]
    return generic_laplace(input, functools.partial(_of_order, 2), output, mode, cval, (sigmas,), kwargs, axes=axes)


def gaussian_gradient_magnitude(input: Any, sigma: Numbers, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0, *,
                                axes: Optional[Sequence[int]] = None, **kwargs: Any) -> Any:
    """The length of the gradient of an array smoothed by a Gaussian.

    Has the arguments and the result of ``scipy.ndimage.gaussian_gradient_magnitude``.

    Parameters
    ----------
    input, output, mode, cval
        As for `correlate`.
    sigma : float or sequence of float
        The standard deviation, in points; by axis of the array or one for all axes.
    axes : sequence of int, optional
        The axes of the derivatives, by default all axes.
    **kwargs
        Arguments of `gaussian_filter`: truncate, radius, local.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.gaussian_gradient_magnitude(np.array([0., 1., 2., 3., 4.]), 0.5).round(3)
    array([0.428, 0.858, 0.86 , 0.858, 0.428])
    """
    return generic_gradient_magnitude(input, functools.partial(_of_order, 1), output, mode, cval, (settled(sigma),), kwargs, axes=axes)


def _of_order(order: int, x: Any, axis: int, output: Any, mode: Any, cval: Any, sigma: Any, **kwargs: Any) -> Any:
    """The derivative of an array smoothed by a Gaussian, along one axis."""
    orders = [0] * len(x.shape)
    orders[axis] = order
    return gaussian_filter(x, sigma, orders, output, mode, cval, **kwargs)


def _summed(x: Any, derivative: Callable, output: Any, mode: Any, cval: Any, extra: Sequence[Any], named: Optional[Dict[str, Any]],
            axes: Any, squared: bool) -> Any:
    """The sum over the axes of a function's results, or the square root of the sum of squares."""
    opened = open_array(x, 'input')
    ndim = len(opened.shape)
    where, mode = axes_of(settled(axes), ndim), settled(mode)
    modes = each_axis(mode, len(where), 'mode')
    named = {} if named is None else named

    def one(source: Any, i: int, to: Any) -> Any:
        return derivative(source, where[i], to, modes[i], cval, *extra, **named)

    if not isinstance(opened, Host):
        return _summed_on_device(x, one, len(where), output, squared)
    source = opened.array
    target, dtype = target_of(output, None)
    given = None if target is None else same_device(opened, 'input', open_target(target), 'output').array
    if given is not None and given.shape != source.shape:
        raise RuntimeError(f'output shape not correct: output has {given.shape}, but the result has {source.shape}')
    fits = given is not None and not np.may_share_memory(given, source)
    made: Any = given if fits else np.zeros(source.shape, (dtype or source.dtype.newbyteorder('=')) if given is None else given.dtype)
    _sum_into(made, one, source, len(where), squared)
    if given is not None and made is not given:
        given[...] = made
    return target if target is not None else opened.back(made)


def _sum_into(made: np.ndarray, one: Callable, source: np.ndarray, count: int, squared: bool) -> None:
    """Sums up in the dtype of the result, as scipy does."""
    if count == 0:
        made[...] = source
        return
    one(source, 0, made)
    if squared:
        np.multiply(made, made, made)
    for i in range(1, count):
        some = one(source, i, made.dtype)
        made += np.multiply(some, some, some) if squared else some
    if squared:
        np.sqrt(made, made, casting='unsafe')


def _summed_on_device(x: Any, one: Callable, count: int, output: Any, squared: bool) -> Any:
    """Sums up with the arithmetic of the array's own library."""
    target, dtype = target_of(output, None)
    name = type_name(target) if hasattr(target, 'dtype') else ''
    if name in ELEMENTS and is_whole(name):
        dtype = np.dtype(name)  # the terms' dtype, as in scipy
    try:
        total: Any = x if count == 0 else None
        for i in range(count):
            some = one(x, i, dtype)
            some = some * some if squared else some
            total = some if total is None else _plus(total, some)
        if squared and count:
            name = type_name(total)
            total = converted(converted(total, 'float64') ** 0.5, name) if is_whole(name) else total ** 0.5
        if target is None:
            return total if count else total + 0
        target[...] = total
        return target
    except TypeError as error:
        raise ValueError(f'a {type(x).__name__} has no arithmetic, which sums over axes need: give an array of PyTorch or CuPy '
                         f'({brief(error)})') from None


def _plus(a: Any, b: Any) -> Any:
    """The sum; sums of integers are reduced modulo the range of their type.

    PyTorch cannot add unsigned integers of 16 bits and more. Adding them as signed integers gives
    the same bits."""
    name = str(a.dtype)
    if name not in ('torch.uint16', 'torch.uint32', 'torch.uint64'):
        return a + b
    signed = getattr(sys.modules['torch'], name.replace('torch.u', ''))
    return (a.view(signed) + b.view(signed)).view(a.dtype)
