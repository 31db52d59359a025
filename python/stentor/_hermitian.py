"""hfft, ihfft and their versions for several axes: transforms of Hermitian signals.

A Hermitian signal has a real spectrum. hfft is an inverse real transform of the conjugate signal,
and ihfft the conjugate of a forward real transform, both with the opposite normalization.
"""

from typing import Any, Optional, Sequence

import numpy as np

from ._arrays import Host, open_array
from ._fft_run import Sizes, transform
from ._namespace import namespace_of

OTHER_WAY = {None: 'forward', 'backward': 'forward', 'forward': 'backward'}


def hfft(x: Any, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, overwrite_x: bool = False,
         workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Transform a half Hermitian signal to a real spectrum along an axis, as ``scipy.fft.hfft``.

    Parameters
    ----------
    x : array_like
        Complex numbers: along the last axis, the non-redundant half of a Hermitian signal.
    n : int, optional
        Length of the result, by default 2 (m - 1), where m is the length of `x`.
    axis, norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Real, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.hfft(np.array([1., 0., 0.]))
    array([1., 1., 1., 1.])
    """
    return _forward(x, n, axis, norm, workers, plan, out, True)


def ihfft(x: Any, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, overwrite_x: bool = False,
          workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Inverse-transform real numbers to a half Hermitian signal, as ``scipy.fft.ihfft``.

    Parameters
    ----------
    x : array_like
        Real numbers.
    n, axis, norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Complex, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.ihfft(np.array([4., 0., 0., 0.])).real
    array([1., 1., 1.])
    """
    return _inverse(x, n, axis, norm, workers, plan, out, True)


def hfft2(x: Any, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, overwrite_x: bool = False,
          workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Transform a half Hermitian signal to a real spectrum along two axes, as ``scipy.fft.hfft2``.

    Parameters
    ----------
    x : array_like
        Complex numbers: along the last axis, the non-redundant half of a Hermitian signal.
    s, axes
        As for `irfft2`.
    norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Real, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.hfft2(np.ones((2, 3))).shape
    (2, 4)
    """
    return _forward(x, s, axes, norm, workers, plan, out, False)


def ihfft2(x: Any, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, overwrite_x: bool = False,
           workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Inverse-transform real numbers over two axes, as ``scipy.fft.ihfft2``.

    The result is the non-redundant half of a Hermitian signal.

    Parameters
    ----------
    x : array_like
        Real numbers.
    s, axes
        As for `fft2`.
    norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Complex, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.ihfft2(np.ones((2, 4))).real.round(12) + 0
    array([[1., 0., 0.],
           [0., 0., 0.]])
    """
    return _inverse(x, s, axes, norm, workers, plan, out, False)


def hfftn(x: Any, s: Sizes = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, overwrite_x: bool = False,
          workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Transform a half Hermitian signal to a real spectrum over axes, as ``scipy.fft.hfftn``.

    Parameters
    ----------
    x : array_like
        Complex numbers: along the last axis, the non-redundant half of a Hermitian signal.
    s
        As for `irfft2`.
    axes
        As for `fftn`.
    norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Real, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.hfftn(np.ones((2, 3))).shape
    (2, 4)
    """
    return _forward(x, s, axes, norm, workers, plan, out, False)


def ihfftn(x: Any, s: Sizes = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, overwrite_x: bool = False,
           workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Inverse-transform real numbers over several axes, as ``scipy.fft.ihfftn``.

    The result is the non-redundant half of a Hermitian signal.

    Parameters
    ----------
    x : array_like
        Real numbers.
    s, axes
        As for `fftn`.
    norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Complex, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.ihfftn(np.ones((2, 4))).real.round(12) + 0
    array([[1., 0., 0.],
           [0., 0., 0.]])
    """
    return _inverse(x, s, axes, norm, workers, plan, out, False)


def _forward(x: Any, s: Any, axes: Any, norm: Any, workers: Any, plan: Any, out: Any, single: bool) -> Any:
    """The inverse transform of the conjugate, with the scaling of the forward transform."""
    opened = open_array(x, 'x')
    if not isinstance(opened, Host):
        lazy = namespace_of(x, 'hfft').conj(x) if opened.dtype.startswith('complex') else x
        return transform(lazy, s, axes, _swapped(norm), 'c2r', True, workers, plan, out, single)
    given = np.conj(opened.array) if opened.array.dtype.kind == 'c' else opened.array
    result = transform(given, s, axes, _swapped(norm), 'c2r', True, workers, plan, out, single)
    return opened.back(result) if out is None else result


def _inverse(x: Any, s: Any, axes: Any, norm: Any, workers: Any, plan: Any, out: Any, single: bool) -> Any:
    """The conjugate of the forward transform, with the scaling of the inverse transform."""
    opened = open_array(x, 'x')
    if not isinstance(opened, Host):
        made = transform(x, s, axes, _swapped(norm), 'r2c', False, workers, plan, None, single)
        made = namespace_of(made, 'ihfft').conj(made)
        if out is None:
            return made
        out[...] = made
        return out
    result = transform(opened.array, s, axes, _swapped(norm), 'r2c', False, workers, plan, out, single)
    if out is None:
        return opened.back(np.conj(result, out=result))
    held = open_array(result, 'out')
    np.conj(held.array, out=held.array)  # type: ignore[union-attr]
    return out


def _swapped(norm: Any) -> Any:
    """The opposite normalization. An invalid `norm` is returned as it is: transform refuses it."""
    return OTHER_WAY.get(norm, norm) if norm is None or isinstance(norm, str) else norm
