"""Convolutions and correlations of two arrays, as in ``scipy.signal``.

They are computed by Fourier transforms of fast lengths, or by direct sums, which are exact for
integers. On a GPU both arrays must be of the same library, PyTorch, CuPy or JAX, and transforms are
used.
"""

import math
import time
import warnings
from typing import TYPE_CHECKING, Any, Dict, List, Sequence, Tuple, Union

import numpy as np

from ._arguments import is_index
from ._arrays import Host, open_array
from ._fft_helpers import next_fast_len
from ._fft_run import transform
from ._filters import convolve as _stencil_convolve
from ._namespace import NUMPY, Namespace, converted, namespace_of, rest_of
from ._number_types import is_whole, type_name
from ._words import said, whole

__all__ = ['choose_conv_method', 'convolve', 'correlate', 'correlation_lags', 'fftconvolve', 'oaconvolve']
if not TYPE_CHECKING:  # unknown names stay errors of type checkers
    __getattr__ = rest_of('scipy.signal', 'stentor.signal')
MODES = ('full', 'same', 'valid')
BLOCKS = 8  # the minimum length of a block of oaconvolve, in lengths of the shorter array
# Nanoseconds of a multiply-add of the direct sum, of one point in one FFT stage, and of the
# overhead of a convolution by transforms.
SUM, BUTTERFLY, CALL = 0.5, 1.0, 1e5
Axes = Union[None, int, Sequence[int]]


def fftconvolve(in1: Any, in2: Any, mode: str = 'full', axes: Axes = None) -> Any:
    """Convolve two arrays by transforms, as ``scipy.signal.fftconvolve``.

    Parameters
    ----------
    in1, in2 : array_like
        Arrays with the same number of axes.
    mode : {'full', 'same', 'valid'}, optional
        'full': all points where the arrays overlap. 'same': the central part, of the shape of
        `in1`. 'valid': the points where one array lies fully inside the other.
    axes : int or sequence of int, optional
        The axes along which the arrays are convolved, by default all axes; the other axes are
        broadcast.

    Returns
    -------
    array
        Of the same library and on the same device as `in1`.

    Examples
    --------
    >>> import numpy as np, stentor.signal
    >>> stentor.signal.fftconvolve(np.array([1., 2., 3.]), np.array([0., 1., 0.5])).round(12) + 0
    array([0. , 1. , 2.5, 4. , 1.5])
    """
    return _by_transforms(in1, in2, mode, axes, False)


def oaconvolve(in1: Any, in2: Any, mode: str = 'full', axes: Axes = None) -> Any:
    """Convolve a long array with a short one by overlap-add, as ``scipy.signal.oaconvolve``.

    Parameters
    ----------
    in1, in2, mode, axes
        As for `fftconvolve`. The axis along which blocks save most work is split into blocks.

    Returns
    -------
    array
        Of the same library and on the same device as `in1`.

    Examples
    --------
    >>> import numpy as np, stentor.signal
    >>> stentor.signal.oaconvolve(np.ones(100), np.array([1., 2.]), mode='valid').round(12)[:3]
    array([3., 3., 3.])
    """
    return _by_transforms(in1, in2, mode, axes, True)


def convolve(in1: Any, in2: Any, mode: str = 'full', method: str = 'auto') -> Any:
    """Convolve two arrays, as ``scipy.signal.convolve``.

    Parameters
    ----------
    in1, in2 : array_like
        Arrays with the same number of axes.
    mode : {'full', 'same', 'valid'}, optional
        As for `fftconvolve`.
    method : {'auto', 'direct', 'fft'}, optional
        By direct sums, by transforms, or as chosen by `choose_conv_method`.

    Returns
    -------
    array
        Of the same library and on the same device as `in1`.

    Examples
    --------
    >>> import numpy as np, stentor.signal
    >>> stentor.signal.convolve(np.array([3, 4, 5]), np.array([1, 2]))
    array([ 3, 10, 13, 10])
    """
    a, b, space = _operands(in1, in2)
    if a.ndim == b.ndim == 0:
        return _handed(in1, a * b)
    if a.ndim != b.ndim:
        raise ValueError(f'volume and kernel should have the same dimensionality, but they have {a.ndim} and {b.ndim} axes')
    if _is_swapped(mode, a.shape, b.shape, range(a.ndim)):
        a, b = b, a
    if method == 'auto':
        method = _method(a, b, mode, space)
    if method not in ('fft', 'direct'):
        raise ValueError(f"method is {said(method)}: Acceptable method flags are 'auto', 'direct', or 'fft'")
    return _handed(in1, _directly(a, b, mode, space) if method == 'direct' else _rounded(a, b, mode, space))


def correlate(in1: Any, in2: Any, mode: str = 'full', method: str = 'auto') -> Any:
    """Correlate two arrays, as ``scipy.signal.correlate``.

    Parameters
    ----------
    in1, in2 : array_like
        Arrays with the same number of axes; `in2` is conjugated.
    mode : {'full', 'same', 'valid'}, optional
        As for `fftconvolve`.
    method : {'auto', 'direct', 'fft'}, optional
        As for `convolve`.

    Returns
    -------
    array
        Of the same library and on the same device as `in1`.

    Examples
    --------
    >>> import numpy as np, stentor.signal
    >>> stentor.signal.correlate(np.array([1, 2, 3]), np.array([4, 5]), mode='same')
    array([ 5, 14, 23])
    """
    a, b, space = _operands(in1, in2)
    if a.ndim == b.ndim == 0:
        return _handed(in1, a * (space.conj(b) if _is_complex(b) else b))
    if a.ndim != b.ndim:
        raise ValueError(f'in1 and in2 should have the same dimensionality, but they have {a.ndim} and {b.ndim} axes')
    _check_mode(mode)
    flipped = space.module.flip(b, tuple(range(b.ndim)))
    return _handed(in1, convolve(a, space.conj(flipped) if _is_complex(b) else flipped, mode, method))


def correlation_lags(in1_len: int, in2_len: int, mode: str = 'full') -> np.ndarray:
    """The lag of each result of `correlate` in 1D, as ``scipy.signal.correlation_lags``.

    Parameters
    ----------
    in1_len, in2_len : int
        The lengths of both arrays.
    mode : {'full', 'same', 'valid'}, optional
        As for `fftconvolve`.

    Returns
    -------
    array
        The lags, as integers.

    Examples
    --------
    >>> import stentor.signal
    >>> stentor.signal.correlation_lags(3, 2)
    array([-1,  0,  1,  2])
    """
    a, b = whole(in1_len, 'in1_len', 1), whole(in2_len, 'in2_len', 1)
    lags = np.arange(1 - b, a)
    if mode == 'full':
        return lags
    if mode == 'same':
        first = (a + b - 1) // 2 - a // 2
        return lags[first:first + a]
    if mode == 'valid':
        return np.arange(a - b + 1) if a >= b else np.arange(a - b, 1)
    raise ValueError(f"Mode {mode} is invalid: use 'full', 'same' or 'valid'")


def choose_conv_method(in1: Any, in2: Any, mode: str = 'full', measure: bool = False) -> Union[str, Tuple[str, Dict[str, float]]]:
    """The method that `convolve` uses by default, as ``scipy.signal.choose_conv_method``.

    Parameters
    ----------
    in1, in2 : array_like
        Arrays with the same number of axes.
    mode : {'full', 'same', 'valid'}, optional
        As for `fftconvolve`.
    measure : bool, optional
        Whether to measure both methods.

    Returns
    -------
    str
        'direct' or 'fft'. It is 'direct' for integers whose sums exceed the precision of float64.
        With `measure`, also a dict of times in seconds.

    Examples
    --------
    >>> import numpy as np, stentor.signal
    >>> stentor.signal.choose_conv_method(np.ones(8), np.ones(3))
    'direct'
    """
    a, b, space = _operands(in1, in2)
    if not measure:
        return _method(a, b, mode, space)
    seconds = {}
    for method in ('fft', 'direct'):
        convolve(a, b, mode, method)
        started = time.perf_counter()
        convolve(a, b, mode, method)
        seconds[method] = time.perf_counter() - started
    return min(seconds, key=lambda method: seconds[method]), seconds


# ---- arguments -----------------------------------------------------------------------------------


def _operands(in1: Any, in2: Any) -> Tuple[Any, Any, Namespace]:
    """Two arrays of one library, and its namespace; arrays on the host become NumPy arrays."""
    first, second = open_array(in1, 'in1'), open_array(in2, 'in2')
    if isinstance(first, Host) and isinstance(second, Host):
        return first.array, second.array, NUMPY
    if isinstance(first, Host) or isinstance(second, Host):
        raise ValueError('one of in1 and in2 is on the host, the other on a GPU: give both on one device')
    return in1, in2, namespace_of(in1, 'a convolution')


def _handed(given: Any, result: Any) -> Any:
    """Converts a result to the library of the array `given`."""
    opened = open_array(given, 'in1')
    return opened.back(result) if isinstance(opened, Host) and isinstance(result, np.ndarray) else result


def _is_complex(x: Any) -> bool:
    return type_name(x).startswith('complex')


def _check_mode(mode: Any) -> None:
    if not isinstance(mode, str) or mode not in MODES:
        raise ValueError(f"mode is {said(mode)}: acceptable mode flags are 'valid', 'same', or 'full'")


def _is_swapped(mode: Any, a: Sequence[int], b: Sequence[int], axes: Sequence[int]) -> bool:
    """Whether the arrays are swapped: in mode 'valid', if the first one is the shorter."""
    if mode != 'valid' or all(a[i] >= b[i] for i in axes):
        return False
    if all(b[i] >= a[i] for i in axes):
        return True
    raise ValueError(f"For 'valid' mode, one must be at least as large as the other in every dimension, but they have shapes {tuple(a)} "
                     f'and {tuple(b)}')


def _axes_of(axes: Any, ndim: int) -> List[int]:
    if axes is None:
        return list(range(ndim))
    try:
        given = [axes] if is_index(axes) else list(axes)
        counted = [whole(each, 'an axis', -2**62) for each in given]
    except (TypeError, ValueError):
        raise ValueError(f'axes is {said(axes)}: axes must be a scalar or iterable of integers') from None
    if not counted:
        raise ValueError('when provided, axes cannot be empty: leave it None for all')
    if any(not -ndim <= each < ndim for each in counted):
        raise ValueError(f'axes exceeds dimensionality of input: it is {said(axes)}, but there are {ndim} axes')
    counted = [each % ndim for each in counted]
    if len(set(counted)) != len(counted):
        raise ValueError(f'all axes must be unique, but they are {said(axes)}')
    return counted


# ---- by transforms -------------------------------------------------------------------------------


def _by_transforms(in1: Any, in2: Any, mode: Any, axes: Any, blocks: bool) -> Any:
    a, b, space = _operands(in1, in2)
    if a.ndim == b.ndim == 0:
        return _handed(in1, a * b)
    if a.ndim != b.ndim:
        raise ValueError(f'in1 and in2 should have the same dimensionality, but they have {a.ndim} and {b.ndim} axes')
    where = _axes_of(axes, a.ndim)
    if 0 in a.shape or 0 in b.shape:
        return _handed(in1, np.array([]) if space.name == 'numpy' else a[(slice(0, 0),) * a.ndim].reshape((0,)))
    where = [i for i in where if a.shape[i] != 1 and b.shape[i] != 1]
    if any(a.shape[i] != b.shape[i] and 1 not in (a.shape[i], b.shape[i]) for i in range(a.ndim) if i not in where):
        raise ValueError(f'incompatible shapes for in1 and in2: {tuple(a.shape)} and {tuple(b.shape)}')
    if _is_swapped(mode, a.shape, b.shape, where):
        a, b = b, a
    _check_mode(mode)
    full = a * b if not where else _in_blocks(a, b, where, space) if blocks else _whole(a, b, where, space)
    return _handed(in1, _part(full, a.shape, b.shape, mode, where, space))


def _part(full: Any, a: Sequence[int], b: Sequence[int], mode: str, where: Sequence[int], space: Namespace) -> Any:
    """The part of the full convolution that a mode selects, as a copy."""
    shape = list(full.shape)
    if mode == 'same':
        shape = list(a)
    elif mode == 'valid':
        shape = [a[i] - b[i] + 1 if i in where else n for i, n in enumerate(shape)]
    first = [(n - m) // 2 for n, m in zip(full.shape, shape)]
    return space.copy(full[tuple(slice(i, i + n) for i, n in zip(first, shape))])


def _spectra(a: Any, b: Any, sizes: Sequence[int], where: Sequence[int]) -> Tuple[Any, Any, bool]:
    """The spectra of both arrays, padded with zeros, and whether both arrays are real.

    For real arrays the last axis of a spectrum is halved."""
    real = not (_is_complex(a) or _is_complex(b))
    kind = 'r2c' if real else 'c2c'
    if isinstance(a, np.ndarray) and a.dtype != b.dtype:  # the wider precision is used for both
        dtype = np.result_type(*(each.dtype if each.dtype.kind in 'fc' else np.float64 for each in (a, b)))
        a, b = a.astype(dtype, copy=False), b.astype(dtype, copy=False)
    return transform(a, sizes, where, None, kind, False), transform(b, sizes, where, None, kind, False), real


def _has_few_primes(a: Any, b: Any, space: Namespace) -> bool:
    """Whether fast lengths have the factors 2, 3 and 5 only: on a GPU, and for real numbers."""
    return space.name != 'numpy' or not (_is_complex(a) or _is_complex(b))


def _product(a: Any, b: Any, space: Namespace) -> Any:
    if tuple(np.broadcast_shapes(a.shape, b.shape)) == tuple(a.shape) and type_name(a) == np.result_type(type_name(a), type_name(b)):
        a *= b  # in place, where arrays can be changed
        return a
    return a * b


def _whole(a: Any, b: Any, where: Sequence[int], space: Namespace) -> Any:
    """The full convolution along the axes `where`, by one transform of each array."""
    short = _has_few_primes(a, b, space)
    lengths = [a.shape[i] + b.shape[i] - 1 for i in where]
    sizes = [next_fast_len(n, short) for n in lengths]
    first, second, real = _spectra(a, b, sizes, where)
    made = transform(_product(first, second, space), sizes, where, None, 'c2r' if real else 'c2c', True)
    part = [slice(None)] * made.ndim
    for axis, n in zip(where, lengths):
        part[axis] = slice(n)
    return made[tuple(part)]


def _in_blocks(a: Any, b: Any, where: Sequence[int], space: Namespace) -> Any:
    """Overlap-add along the axis with the largest ratio of the arrays' lengths."""
    if max(b.shape[i] / a.shape[i] for i in where) > max(a.shape[i] / b.shape[i] for i in where):
        a, b = b, a
    axis = max(where, key=lambda i: a.shape[i] / b.shape[i])
    points, taps = a.shape[axis], b.shape[axis]
    block = next_fast_len(BLOCKS * taps, _has_few_primes(a, b, space))
    step = block - taps + 1
    count = -(-points // step)
    if count < 2 or 2 * taps > block:
        return _whole(a, b, where, space)
    a, b = (space.move(each, axis, 0) for each in (a, b))
    ends = Namespace(space.name, space.module, -2)
    if count * step > points:
        flat = a.reshape((points, -1))
        a = ends.join([flat, ends.zeros(flat, count * step - points)]).reshape((count * step, *a.shape[1:]))
    # The axis is the second one of the blocks, and axes before it have moved behind it.
    behind = [i + 2 if i < axis else i + 1 for i in where if i != axis]
    sums = _whole(a.reshape((count, step, *a.shape[1:])), b[None], [1, *behind], space)
    tail = sums[:, step:].reshape((count, taps - 1, -1))  # a block's overlap with the next one
    tails = ends.join([tail, ends.zeros(tail, step - taps + 1)])
    made = sums[:, :step].reshape((count, step, -1)) + _one_later(tails, ends)
    made = ends.join([made.reshape((count * step, -1)), tail[-1]]).reshape((count * step + taps - 1, *sums.shape[2:]))
    return space.move(made[:points + taps - 1], 0, axis)


def _one_later(blocks: Any, space: Namespace) -> Any:
    """The blocks shifted by one: zeros for the first block, then each block's predecessor."""
    count, step, lines = blocks.shape
    flat = blocks.reshape((count, step * lines))
    return space.join([space.zeros(flat, 1), flat[:-1]]).reshape((count, step, lines))


def _rounded(a: Any, b: Any, mode: Any, space: Namespace) -> Any:
    """The convolution by transforms, in the dtype of direct sums; integers are rounded."""
    made = fftconvolve(a, b, mode)
    if space.name != 'numpy':
        if not (is_whole(type_name(a)) and is_whole(type_name(b))):
            return made
        nearest = getattr(space.module, 'rint', None) or space.module.round
        return converted(nearest(made), np.result_type(type_name(a), type_name(b)).name)
    dtype = np.result_type(a, b)
    if dtype.kind in 'iub':
        made = np.rint(made)
    if made.size and not np.isfinite(made.flat[0]):
        warnings.warn("Use of fft convolution on input with NAN or inf results in NAN or inf output. Consider using method='direct' instead.",
                      RuntimeWarning, stacklevel=3)
    with np.errstate(invalid='ignore'):
        return made.astype(dtype, copy=False)


# ---- directly ------------------------------------------------------------------------------------


def _method(a: Any, b: Any, mode: Any, space: Namespace) -> str:
    _check_mode(mode)
    if space.name != 'numpy':
        return 'fft'
    if a.dtype.kind == b.dtype.kind == 'b' or not (a.size and b.size):
        return 'direct'
    if a.dtype.kind in 'iu' or b.dtype.kind in 'iu':
        if float(np.abs(a).max()) * float(np.abs(b).max()) * min(a.size, b.size) > 2.0**52 - 1:
            return 'direct'
    points = math.prod(n + m - 1 for n, m in zip(a.shape, b.shape))
    if mode == 'full':
        made = points
    else:
        made = math.prod(a.shape) if mode == 'same' else math.prod(abs(n - m) + 1 for n, m in zip(a.shape, b.shape))
    return 'fft' if 3 * BUTTERFLY * points * math.log2(points + 1) + CALL < SUM * made * min(a.size, b.size) else 'direct'


def _directly(a: Any, b: Any, mode: Any, space: Namespace) -> Any:
    _check_mode(mode)
    if space.name != 'numpy':
        raise ValueError("method 'direct' is of the host: on a GPU use 'fft', or stentor.convolve for small weights")
    if a.ndim == 1:
        made = np.convolve(a, b, 'valid' if mode == 'valid' else 'full')
        return made if mode != 'same' else _part(made, a.shape, b.shape, mode, [0], NUMPY)
    if 0 in a.shape or 0 in b.shape:
        raise ValueError(f'in1 and in2 have shapes {a.shape} and {b.shape}: sums need a number at least')
    full = _sums(b, a) if b.size > a.size else _sums(a, b)
    return _part(full, a.shape, b.shape, mode, range(a.ndim), NUMPY)


def _sums(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The full convolution of an array with a smaller one, as a stencil.

    For integers, which stay exact, and for weights that the library does not accept, it is summed
    in NumPy, one weight at a time."""
    dtype = np.result_type(x, weights)
    shape = [n + m - 1 for n, m in zip(x.shape, weights.shape)]
    wide = np.zeros(shape, dtype)
    inner = tuple(slice(n) for n in x.shape)
    if dtype.kind in 'fc' and np.isfinite(weights).all() and sum(n > 1 for n in weights.shape) <= 3:
        wide[inner] = x
        return _stencil_convolve(wide, weights, mode='constant', origin=[-(n // 2) for n in weights.shape], local=True)
    x, weights = x.astype(dtype, copy=False), weights.astype(dtype, copy=False)
    for at in np.ndindex(*weights.shape):
        if weights[at]:
            wide[tuple(slice(i, i + n) for i, n in zip(at, x.shape))] += x * weights[at]
    return wide
