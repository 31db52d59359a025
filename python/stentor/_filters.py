"""correlate and convolve, with the arguments and the meaning of scipy.ndimage."""

from typing import Any, List, Optional, Sequence, Tuple, Union

import numpy as np

from ._apply import apply
from ._arguments import axes_of, each_axis, frozen, number, one_of_three, origin_of, settled
from ._arrays import Host, open_array
from ._boundary import Argument, one_name, sides_of
from ._complex import by_parts, by_weights, check_cval, is_complex, without_halves
from ._composed import checked_nan
from ._filter import Pass
from ._progress import tell_of
from ._quick import quick
from ._stencil import taps_of
from ._words import step_count, whole

Mode = Union[str, Sequence[Any]]
_ndarray = np.ndarray


def correlate(input: Any, weights: Any, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0,
              origin: Union[int, Sequence[int]] = 0, *, axes: Optional[Sequence[int]] = None, steps: int = 1, local: Optional[bool] = None,
              out: Any = None, boundary: Any = None, progress: Any = None, nan: Optional[str] = None) -> Any:
    """Correlate an array with weights, as ``scipy.ndimage.correlate`` does.

    Parameters
    ----------
    input : array_like
        On the host or on a GPU. On the host also of whole or complex numbers.
    weights : array_like
        As many axes as `input`, or as `axes`, of which three at most have more than one weight. Where it has fewer, it is applied
        along the last axes, and the others count a batch (beyond scipy). Complex ones, on the host, are conjugated, as in scipy,
        and make a complex result.
    output : array or dtype, optional
        Where the result goes, or its dtype; by default that of `input`.
    mode : str or sequence, optional
        'reflect', 'constant', 'nearest', 'mirror', 'wrap', their names with 'grid-', or 'fixed': points whose taps would
        reach past a side keep their values. Beyond scipy: a sequence with one for each axis, and for an axis 'LOW:HIGH'
        or (low, high). 'constant=2.5' has a value of its own. 'ignore': past a side there is nothing, and the weights inside are
        scaled to the sum of all. 'odd': twice the outer point less the mirror image, as numpy.pad with reflect_type='odd'.
    cval : scalar, optional
        The value of 'constant'.
    origin : int or sequence of int, optional
        Shifts the weights' centre; a sequence goes by `axes` where those are fewer than the array's.
    axes : sequence of int, optional
        The axes of `input` that those of `weights` stand for, in the order of `input`, as scipy has it.
    steps : int, optional
        How many times to apply it (beyond scipy).
    local : bool, optional
        True: every value is accurate relative to the values that reach it, zeros stay zeros, and NaN stays where steps leave it,
        as in scipy. False: transforms are welcome, whose errors are relative to the largest value, and with which one NaN spreads
        over the array. None: transforms where they are predicted to be 3 times as fast; on the host an array with what is not
        finite is then done again by steps. (Beyond scipy.)
    out : array, optional
        Another name of `output` for arrays.
    boundary : optional
        Another name of `mode`, that of `Plan`.
    progress : callable or bool, optional
        A function of the steps done and of all steps, called about every 50 ms and at the end; what it raises cancels the call.
        True: a bar, tqdm's where that is installed.
    nan : {None, 'ignore'}, optional
        'ignore': NaN is left out, and the weights of the other points are scaled to the sum of all, as in astropy.convolution; where
        no point is left the result is NaN (beyond scipy).

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.correlate(np.array([1., 2., 3., 4.]), np.array([1., 0., -1.]))
    array([-1., -2., -2., -1.])
    >>> stentor.correlate(np.eye(3), np.ones((3, 3)), mode=('constant', 'wrap'))
    array([[2., 2., 2.],
           [3., 3., 3.],
           [2., 2., 2.]])
    """
    if progress is not None:
        return tell_of(progress, correlate, input, weights, output, mode, cval, origin, axes=axes, steps=steps, local=local, out=out,
                       boundary=boundary, nan=nan)
    return _weighted('correlate', input, weights, output, *one_name(mode, boundary), cval, settled(origin), settled(axes), steps, out, local,
                     checked_nan(nan))


def convolve(input: Any, weights: Any, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0,
             origin: Union[int, Sequence[int]] = 0, *, axes: Optional[Sequence[int]] = None, steps: int = 1, local: Optional[bool] = None,
             out: Any = None, boundary: Any = None, progress: Any = None, nan: Optional[str] = None) -> Any:
    """Convolve an array with weights, as ``scipy.ndimage.convolve`` does.

    Parameters
    ----------
    input, weights, output, mode, cval, origin, axes, steps, local, out, boundary, progress, nan
        As for `correlate`; the weights are mirrored, and complex ones not conjugated.

    Returns
    -------
    array
        Of the same library and on the same device as `input`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.convolve(np.array([0., 0., 1., 0., 0.]), np.array([1., 2., 3.]))
    array([0., 1., 2., 3., 0.])
    """
    if progress is not None:
        return tell_of(progress, convolve, input, weights, output, mode, cval, origin, axes=axes, steps=steps, local=local, out=out,
                       boundary=boundary, nan=nan)
    return _weighted('convolve', input, weights, output, *one_name(mode, boundary), cval, settled(origin), settled(axes), steps, out, local,
                     checked_nan(nan))


def _weighted(name: str, input: Any, weights: Any, output: Any, mode: Any, mode_name: str, cval: Any, origin: Any, axes: Any,
              steps: Any, out: Any, local: Any, nan: bool) -> Any:
    key: Tuple = ()
    if type(weights) is _ndarray and weights.dtype.char != 'O':
        key = (name, weights.shape, weights.dtype, weights.tobytes(), frozen(mode), frozen(cval), frozen(origin), frozen(axes),
               frozen(steps), one_of_three(local), nan)
        if output is None and out is None:
            result = quick(key, input)
            if result is not None:
                return result
    opened = open_array(weights, 'weights')
    if not isinstance(opened, Host):
        raise ValueError('weights are on a GPU: give them on the host')
    dense = opened.array
    if dense.dtype.kind == 'c':
        check_cval(input, cval)
        if nan:
            raise ValueError("weights are complex: nan='ignore' takes real ones")
        # As np.correlate, and so scipy, conjugate them.
        return by_weights(lambda part, some, value, to: _weighted(name, part, some, None, mode, mode_name, value, origin, axes, 1, to, local, False),
                          input, dense if name == 'convolve' else dense.conj(), cval, output, out, step_count(steps))
    if not key:
        key = (name, dense.shape, dense.dtype, dense.tobytes(), frozen(mode), frozen(cval), frozen(origin), frozen(axes),
               frozen(steps), one_of_three(local), nan)
    if is_complex(input):
        return by_parts(lambda part, value, to: _weighted(name, part, dense, None, mode, mode_name, value, origin, axes, steps,
                                                          to, local, nan),
                        without_halves(input, nan), cval, output, out)
    cval, steps = number(cval, 'cval', TypeError), step_count(steps)

    def make(ndim: int, on_device: bool) -> List[Pass]:
        return [_dense_pass(name == 'convolve', ndim, np.asarray(dense, np.float64), mode, Argument(mode_name, composed=True), cval, origin, axes)]

    return apply(input, key, make, output, out, steps, local, nan)


def _dense_pass(mirrored: bool, ndim: int, weights: np.ndarray, mode: Any, of: Argument, cval: float, origin: Any, axes: Any) -> Pass:
    if ndim == 0:
        raise RuntimeError('input has no axes, but weights.ndim must match: give an array of one axis or more')
    named = axes_of(axes, ndim) if axes is not None else tuple(range(ndim))[-max(weights.ndim, 1):]
    if weights.ndim == 0 or weights.size == 0:
        raise RuntimeError(f'weights have shape {weights.shape}: give one weight or more')
    if weights.ndim != len(named):
        raise RuntimeError(f'weights.ndim ({weights.ndim}) must match len(axes) ({len(named)}), the number of axes to be filtered')
    if not np.isfinite(weights).all():
        raise ValueError('weights hold a number that is not finite')
    # scipy takes the weights' axes in the array's order, and so origins if all axes are named, in whatever order.
    where = tuple(sorted(named))
    origins = each_axis(origin, len(where), 'origin')
    if len(where) < ndim:
        origins = [origins[named.index(axis)] for axis in where]
    if mirrored:  # an even size has its centre on the other side then
        weights = weights[(slice(None, None, -1),) * len(where)]
        origins = [-whole(o, 'origin', -2**31, TypeError) - (n % 2 == 0) for o, n in zip(origins, weights.shape)]
    centre = [origin_of(o, n, 'weights') for o, n in zip(origins, weights.shape)]
    sides = sides_of(mode, cval, len(where), of)
    kept = list(range(len(where)))
    if len(where) > 3:  # an axis of one weight has no neighbours
        kept = [i for i, n in enumerate(weights.shape) if n > 1] or [len(where) - 1]
        if len(kept) > 3:
            raise ValueError(f'weights have shape {weights.shape}: 3 axes at most may have more than one weight, others make a batch')
        weights = weights.reshape([weights.shape[i] for i in kept])
    return Pass(taps_of(weights, [centre[i] for i in kept]), tuple(where[i] for i in kept), [sides[named.index(where[i])] for i in kept])
