"""Helpers of scipy.fft: frequencies, shifts, fast transform lengths and the number of workers."""

import contextlib
import os
import threading
from typing import Any, Iterator, Sequence, Tuple, Union

import numpy as np

from ._arguments import axes_of, settled
from ._fft_run import check_unused
from ._namespace import namespace_of
from ._words import whole

# Odd prime factors of the lengths that scipy calls fast, for complex and for real transforms.
COMPLEX_PRIMES, REAL_PRIMES = (3, 5, 7, 11), (3, 5)


class _Default(threading.local):
    """The number of workers of the current thread."""

    workers = 1


_default = _Default()


def fftfreq(n: int, d: float = 1.0, *, xp: Any = None, device: Any = None) -> Any:
    """The frequencies of a transform, as ``scipy.fft.fftfreq``.

    Parameters
    ----------
    n : int
        Length of the transform.
    d : float, optional
        The sample spacing.
    xp, device : optional
        The array library of the result, by default NumPy, and the device.

    Returns
    -------
    array
        The n frequencies: 0, the positive ones, then the negative ones.

    Examples
    --------
    >>> import stentor
    >>> stentor.fft.fftfreq(4, 0.5)
    array([ 0. ,  0.5, -1. , -0.5])
    """
    points = whole(n, 'n', 1)
    return _made(np.concatenate([np.arange((points + 1) // 2), np.arange(-(points // 2), 0)]) * (1.0 / (points * d)), xp, device)


def rfftfreq(n: int, d: float = 1.0, *, xp: Any = None, device: Any = None) -> Any:
    """The frequencies of a transform of real numbers, as ``scipy.fft.rfftfreq``.

    Parameters
    ----------
    n, d, xp, device
        As for `fftfreq`.

    Returns
    -------
    array
        The n // 2 + 1 frequencies, starting at 0.

    Examples
    --------
    >>> import stentor
    >>> stentor.fft.rfftfreq(4, 0.5)
    array([0. , 0.5, 1. ])
    """
    points = whole(n, 'n', 1)
    return _made(np.arange(points // 2 + 1) * (1.0 / (points * d)), xp, device)


def _made(array: np.ndarray, xp: Any, device: Any) -> Any:
    if xp is None:
        return array
    return xp.asarray(array) if device is None else xp.asarray(array, device=device)


def fftshift(x: Any, axes: Union[None, int, Sequence[int]] = None) -> Any:
    """Move frequency 0 to the middle, as ``scipy.fft.fftshift``.

    Parameters
    ----------
    x : array_like
        On a GPU, an array of PyTorch, CuPy or JAX.
    axes : int or sequence of int, optional
        By default all axes.

    Returns
    -------
    array
        A copy, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import stentor
    >>> stentor.fft.fftshift(stentor.fft.fftfreq(4, 0.25))
    array([-2., -1.,  0.,  1.])
    """
    return _shifted(x, axes, 1)


def ifftshift(x: Any, axes: Union[None, int, Sequence[int]] = None) -> Any:
    """Undo `fftshift`, as ``scipy.fft.ifftshift``.

    Parameters
    ----------
    x, axes
        As for `fftshift`.

    Returns
    -------
    array
        A copy, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.ifftshift(np.array([-1, 0, 1]))
    array([ 0,  1, -1])
    """
    return _shifted(x, axes, -1)


def _shifted(x: Any, axes: Any, sign: int) -> Any:
    if not hasattr(x, 'shape'):
        x = np.asarray(x)
    where = axes_of(settled(axes), len(x.shape), ValueError)
    shifts = tuple(sign * (x.shape[axis] // 2) for axis in where)
    return namespace_of(x, 'a shift').module.roll(x, shifts, where)


def next_fast_len(target: int, real: bool = False) -> int:
    """The smallest fast transform length that is at least `target`.

    Has the arguments and the result of ``scipy.fft.next_fast_len``.

    Parameters
    ----------
    target : int
        The smallest length that is needed.
    real : bool, optional
        Whether real numbers are transformed: fast lengths then have the prime factors 2, 3 and 5
        only, and otherwise also 7 and 11.

    Returns
    -------
    int

    Examples
    --------
    >>> import stentor
    >>> stentor.fft.next_fast_len(13), stentor.fft.next_fast_len(13, real=True)
    (14, 15)
    """
    target = _target(target)
    return min(_near(target, REAL_PRIMES if real else COMPLEX_PRIMES, True), default=target)


def prev_fast_len(target: int, real: bool = False) -> int:
    """The largest fast transform length that is at most `target`.

    Has the arguments and the result of ``scipy.fft.prev_fast_len``.

    Parameters
    ----------
    target : int
        The largest length that is allowed.
    real : bool, optional
        As for `next_fast_len`.

    Returns
    -------
    int

    Examples
    --------
    >>> import stentor
    >>> stentor.fft.prev_fast_len(13), stentor.fft.prev_fast_len(13, real=True)
    (12, 12)
    """
    target = _target(target)
    return max(_near(target, REAL_PRIMES if real else COMPLEX_PRIMES, False), default=target)


def _target(target: Any) -> int:
    if whole(target, 'target', -2**62, TypeError) < 0:
        raise ValueError(f'target is {target}: Target length must be positive')
    return int(target)


def _near(target: int, primes: Tuple[int, ...], above: bool) -> Iterator[int]:
    """The candidates: for each product of odd primes, its power-of-two multiple next to target."""
    products = [1] if target else []
    for prime in primes:
        for each in list(products):
            while (each := each * prime) < (2 * target if above else target + 1):
                products.append(each)
    for each in products:
        doublings = (-(-target // each) - 1).bit_length() if above else (target // each).bit_length() - 1
        yield each << doublings


@contextlib.contextmanager
def set_workers(workers: int) -> Iterator[None]:
    """Set the result of `get_workers` within a ``with`` block, as ``scipy.fft.set_workers``.

    It does not change Stentor's number of threads: use `stentor.configure`.

    Parameters
    ----------
    workers : int
        1 or more. A negative number counts from the number of processors: -1 means all of them.

    Returns
    -------
    context manager

    Examples
    --------
    >>> import stentor
    >>> with stentor.fft.set_workers(2):
    ...     stentor.fft.get_workers()
    2
    """
    check_unused(workers, None)
    before, count = _default.workers, whole(workers, 'workers', -2**62, TypeError)
    _default.workers = count if count > 0 else (os.cpu_count() or 1) + 1 + count
    try:
        yield
    finally:
        _default.workers = before


def get_workers() -> int:
    """The number of workers set by `set_workers` in this thread, by default 1.

    Has the result of ``scipy.fft.get_workers``.

    Returns
    -------
    int

    Examples
    --------
    >>> import stentor
    >>> stentor.fft.get_workers()
    1
    """
    return _default.workers
