"""The functions correlate and convolve, with the arguments and the meaning of scipy.ndimage."""

from typing import Any, List, Optional, Sequence, Union

import numpy as np

from ._apply import apply_new
from ._arguments import axes_of, cval_key, each_axis, frozen, number, one_of_three, origin_of, settled
from ._arrays import weights_of
from ._boundary import Argument, Mode, one_name, sides_of
from ._complex import by_parts, by_weights, check_cval, is_complex, without_halves
from ._composed import checked_nan
from ._filter import Pass
from ._progress import call_with_progress
from ._quick import Given, quick_for
from ._stencil import taps_of
from ._words import step_count, whole

_ndarray = np.ndarray


def correlate(input: Any, weights: Any, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0,
              origin: Union[int, Sequence[int]] = 0, *, axes: Optional[Sequence[int]] = None, steps: int = 1, local: Optional[bool] = None,
              out: Any = None, boundary: Any = None, progress: Any = None, nan: Optional[str] = None) -> Any:
    """Correlate an array with weights, as ``scipy.ndimage.correlate`` does.

    Parameters
    ----------
    input : array_like
        An array on the host or on a GPU, of real or complex numbers of any type.
    weights : array_like
        Has as many axes as `input`, or as `axes`; at most three of them have more than one weight.
        If it has fewer axes than `input`, it is applied along the last axes, and the other axes
        are batch axes (beyond scipy). Complex weights are conjugated, as in scipy, and give a
        complex result. Weights on a GPU are copied to the host in each call, which waits for them.
    output : array or dtype, optional
        The array that receives the result, or the dtype of the result; by default that of `input`.
        Whole numbers are truncated after each pass, as in scipy, with equal results on all devices.
    mode : str or sequence, optional
        The boundary condition: 'reflect', 'constant', 'nearest', 'mirror', 'wrap', the names
        prefixed by 'grid-', or 'fixed': points whose taps would reach past a side keep their
        values. Beyond scipy: a sequence with one for each axis, and for an axis 'LOW:HIGH' or
        (low, high). 'constant=2.5' sets the constant of a side. 'ignore': points past a side are
        left out, and the remaining weights are rescaled so that their sum is that of all weights.
        'odd': twice the outermost point minus the mirror image, as numpy.pad with
        reflect_type='odd'.
    cval : scalar, optional
        The value of 'constant'.
    origin : int or sequence of int, optional
        Shifts the weights' centre. If fewer axes are filtered than the array has, a sequence has
        the order of `axes`.
    axes : sequence of int, optional
        The axes of `input` that are filtered. The axes of `weights` belong to them in the order of
        `input`, as in scipy.
    steps : int, optional
        The number of times that the filter is applied (beyond scipy).
    local : bool, optional
        True: every value is accurate relative to the values that contribute to it, zeros stay
        zeros, and NaN spreads only to points whose taps read it, as in scipy. Weights of 0 are no
        taps; if all are 0, the one at the point itself remains, so that a NaN stays NaN there.
        False: Fourier transforms may be used; their errors are relative to the largest value of the
        array, and one NaN spreads over the whole array. None: transforms are used where they are
        predicted to be at least 3 times as fast; on the host, a result with non-finite values is
        then computed again step by step. (Beyond scipy.)
    out : array, optional
        Another name of `output` for arrays.
    boundary : optional
        Another name of `mode`, as in `Plan`.
    progress : callable or bool, optional
        A function of the number of steps done and the number of all steps, called about every
        50 ms and at the end; an exception that it raises cancels the call. True shows a progress
        bar, by tqdm if that is installed.
    nan : {None, 'ignore'}, optional
        'ignore': NaN is left out, and the remaining weights are rescaled so that their sum is that
        of all weights, as in astropy.convolution; if no point is left, the result is NaN (beyond
        scipy).

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
    return _weighted('correlate', input, weights, output, *one_name(mode, boundary), cval, settled(origin), settled(axes), steps, out, local,
                     checked_nan(nan), progress)


def convolve(input: Any, weights: Any, output: Any = None, mode: Mode = 'reflect', cval: float = 0.0,
             origin: Union[int, Sequence[int]] = 0, *, axes: Optional[Sequence[int]] = None, steps: int = 1, local: Optional[bool] = None,
             out: Any = None, boundary: Any = None, progress: Any = None, nan: Optional[str] = None) -> Any:
    """Convolve an array with weights, as ``scipy.ndimage.convolve`` does.

    Parameters
    ----------
    input, weights, output, mode, cval, origin, axes, steps, local, out, boundary, progress, nan
        As for `correlate`, but the weights are mirrored, and complex weights are not conjugated.

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
    return _weighted('convolve', input, weights, output, *one_name(mode, boundary), cval, settled(origin), settled(axes), steps, out, local,
                     checked_nan(nan), progress)


def _weighted(name: str, input: Any, weights: Any, output: Any, mode: Any, mode_name: str, cval: Any, origin: Any, axes: Any,
              steps: Any, out: Any, local: Any, nan: bool, progress: Any = None) -> Any:
    if progress is not None:
        return call_with_progress(progress, _weighted, name, input, weights, output, mode, mode_name, cval, origin, axes, steps, out,
                                  local, nan)
    about, value = cval_key(cval)
    key = (name, getattr(weights, 'shape', None), frozen(mode), about, frozen(origin), frozen(axes), frozen(steps), one_of_three(local), nan)
    if type(weights) is _ndarray and weights.dtype.kind in 'fiub':
        result = quick_for(key, input, output, out, Given(_in_order(name, weights), value))
        if result is not None:
            return result
    dense = weights_of(weights)
    if dense.dtype.kind == 'c':
        check_cval(input, cval)
        if nan:
            raise ValueError("weights are complex: nan='ignore' takes real ones")
        # scipy conjugates complex weights in correlate, as np.correlate does.
        return by_weights(lambda part, some, value, to: _weighted(name, part, some, None, mode, mode_name, value, origin, axes, 1, to, local, False),
                          input, dense if name == 'convolve' else dense.conj(), cval, output, out, step_count(steps))
    if is_complex(input):
        return by_parts(lambda part, value, to: _weighted(name, part, dense, None, mode, mode_name, value, origin, axes, steps,
                                                          to, local, nan),
                        without_halves(input, nan), cval, output, out)
    cval, steps = number(cval, 'cval', TypeError) if value is None else value, step_count(steps)

    def make(ndim: int, on_device: bool, whole_result: bool) -> List[Pass]:
        return [_dense_pass(name == 'convolve', ndim, np.asarray(dense, np.float64), mode, Argument(mode_name, composed=True), cval, origin, axes)]

    key = (name, dense.shape, *key[2:])
    return apply_new(input, key, make, output, out, steps, local, nan, Given(_in_order(name, dense), value))


def _in_order(name: str, weights: np.ndarray) -> np.ndarray:
    """The weights in the order of the taps."""
    return weights.ravel() if name == 'correlate' else weights.ravel()[::-1]


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
    # scipy assigns the weights' axes in the array's order, and does the same for origins if `axes`
    # names all axes, in any order.
    where = tuple(sorted(named))
    origins = each_axis(origin, len(where), 'origin')
    if len(where) < ndim:
        origins = [origins[named.index(axis)] for axis in where]
    if mirrored:  # mirroring moves the centre of an even size by one
        weights = weights[(slice(None, None, -1),) * len(where)]
        origins = [-whole(o, 'origin', -2**31, TypeError) - (n % 2 == 0) for o, n in zip(origins, weights.shape)]
    centre = [origin_of(o, n, 'weights') for o, n in zip(origins, weights.shape)]
    sides = sides_of(mode, cval, len(where), of)
    kept = list(range(len(where)))
    if len(where) > 3:  # axes with one weight become batch axes
        kept = [i for i, n in enumerate(weights.shape) if n > 1] or [len(where) - 1]
        if len(kept) > 3:
            raise ValueError(f'weights have shape {weights.shape}: 3 axes at most may have more than one weight, others make a batch')
        weights = weights.reshape([weights.shape[i] for i in kept])
    return Pass(taps_of(weights, [centre[i] for i in kept], False), tuple(where[i] for i in kept), [sides[named.index(where[i])] for i in kept])
