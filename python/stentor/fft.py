"""Fourier transforms, with the arguments and the meaning of ``scipy.fft``.

Up to three axes are transformed at once, further axes one group after the other. As in scipy,
float16 is computed in float32, and integers in float64.

On the host, intermediate sums are never larger than the results, so that a result that fits its
type is right. A NaN or infinity makes every number of its own line's transform NaN or infinite,
where scipy may leave some finite, and does not affect other lines.
"""

from typing import TYPE_CHECKING, Any, Optional, Sequence

from ._fft_helpers import fftfreq, fftshift, get_workers, ifftshift, next_fast_len, prev_fast_len, rfftfreq, set_workers
from ._fft_run import Sizes, transform
from ._hermitian import hfft, hfft2, hfftn, ihfft, ihfft2, ihfftn
from ._namespace import rest_of
from ._real_transforms import dct, dctn, dst, dstn, idct, idctn, idst, idstn

__all__ = ['dct', 'dctn', 'dst', 'dstn', 'fft', 'fft2', 'fftfreq', 'fftn', 'fftshift', 'get_workers', 'hfft', 'hfft2', 'hfftn', 'idct',
           'idctn', 'idst', 'idstn', 'ifft', 'ifft2', 'ifftn', 'ifftshift', 'ihfft', 'ihfft2', 'ihfftn', 'irfft', 'irfft2', 'irfftn',
           'next_fast_len', 'prev_fast_len', 'rfft', 'rfft2', 'rfftfreq', 'rfftn', 'set_workers']
if not TYPE_CHECKING:  # unknown names stay errors of type checkers
    __getattr__ = rest_of('scipy.fft', 'stentor.fft')


def fft(x: Any, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, overwrite_x: bool = False,
        workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Transform along an axis, as ``scipy.fft.fft``.

    Parameters
    ----------
    x : array_like
        Real or complex numbers.
    n : int, optional
        Length of the transform: `x` is cropped or padded with zeros to it.
    axis : int, optional
        By default the last.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which transform is divided by the number of points N: the inverse one (the default), both
        by sqrt(N), or the forward one.
    overwrite_x, workers : optional
        Accepted for compatibility with scipy; they have no effect.
    plan : optional
        Must be None, as in scipy.
    out : array, optional
        The array that receives the result, as in numpy.fft: of the result's shape and dtype. On the
        host it may overlap `x`.

    Returns
    -------
    array
        Complex, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.fft(np.array([1., 0., 0., 0.]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return transform(x, n, axis, norm, 'c2c', False, workers, plan, out, True)


def ifft(x: Any, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, overwrite_x: bool = False,
         workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Inverse-transform along an axis, as ``scipy.fft.ifft``.

    Parameters
    ----------
    x, n, axis, norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Complex, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.ifft(np.array([4., 0., 0., 0.]))
    array([1.+0.j, 1.+0.j, 1.+0.j, 1.+0.j])
    """
    return transform(x, n, axis, norm, 'c2c', True, workers, plan, out, True)


def rfft(x: Any, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, overwrite_x: bool = False,
         workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Transform real numbers along an axis, as ``scipy.fft.rfft``.

    Parameters
    ----------
    x : array_like
        Real numbers.
    n, axis, norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Complex; the last transformed axis has the elements 0 to n // 2.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.rfft(np.array([1., 0., 0., 0.])).real
    array([1., 1., 1.])
    """
    return transform(x, n, axis, norm, 'r2c', False, workers, plan, out, True)


def irfft(x: Any, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, overwrite_x: bool = False,
          workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Transform a half spectrum back to real numbers along an axis, as ``scipy.fft.irfft``.

    Parameters
    ----------
    x : array_like
        Complex numbers: the non-redundant half of a Hermitian spectrum.
    n : int, optional
        Length of the result, by default 2 (m - 1), where m is the length of `x`.
    axis, norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Real.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.irfft(np.array([4., 0., 0.]))
    array([1., 1., 1., 1.])
    """
    return transform(x, n, axis, norm, 'c2r', True, workers, plan, out, True)


def fft2(x: Any, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, overwrite_x: bool = False,
         workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Transform along two axes, as ``scipy.fft.fft2``.

    Parameters
    ----------
    x, norm, overwrite_x, workers, plan, out
        As for `fft`.
    s : sequence of int, optional
        Length of the transform by axis: `x` is cropped or padded with zeros to it.
    axes : sequence of int, optional
        By default the last two.

    Returns
    -------
    array
        Complex, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.fft2(np.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return transform(x, s, axes, norm, 'c2c', False, workers, plan, out)


def ifft2(x: Any, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, overwrite_x: bool = False,
          workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Inverse-transform along two axes, as ``scipy.fft.ifft2``.

    Parameters
    ----------
    x, norm, overwrite_x, workers, plan, out
        As for `fft`.
    s, axes
        As for `fft2`.

    Returns
    -------
    array
        Complex, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.ifft2(np.ones((3, 2, 2))).shape
    (3, 2, 2)
    """
    return transform(x, s, axes, norm, 'c2c', True, workers, plan, out)


def rfft2(x: Any, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, overwrite_x: bool = False,
          workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Transform real numbers along two axes, as ``scipy.fft.rfft2``.

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
        Complex; the last transformed axis has the elements 0 to n // 2.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.rfft2(np.ones((3, 2, 4))).shape
    (3, 2, 3)
    """
    return transform(x, s, axes, norm, 'r2c', False, workers, plan, out)


def irfft2(x: Any, s: Sizes = None, axes: Sequence[int] = (-2, -1), norm: Optional[str] = None, overwrite_x: bool = False,
           workers: Optional[int] = None, *, plan: Any = None, out: Any = None) -> Any:
    """Transform a half spectrum back to real numbers along two axes, as ``scipy.fft.irfft2``.

    Parameters
    ----------
    x : array_like
        Complex numbers: the non-redundant half of a Hermitian spectrum.
    s : sequence of int, optional
        Length of the result by axis; by default that of `x`, and 2 (m - 1) along the last axis,
        where m is the length of `x`.
    axes
        As for `fft2`.
    norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Real.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.irfft2(np.ones((3, 2, 3))).shape
    (3, 2, 4)
    """
    return transform(x, s, axes, norm, 'c2r', True, workers, plan, out)


def fftn(x: Any, s: Sizes = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, overwrite_x: bool = False,
         workers: Optional[int] = None, *, plan: Any = None, out: Any = None,
         devices: Optional[Sequence[Any]] = None) -> Any:
    """Transform along several axes, as ``scipy.fft.fftn``.

    Parameters
    ----------
    x, norm, overwrite_x, workers, plan, out
        As for `fft`.
    s : sequence of int, optional
        Length of the transform by axis: `x` is cropped or padded with zeros to it.
    axes : sequence of int, optional
        By default all axes, or the last len(s) axes if `s` is given.
    devices : sequence, optional
        GPUs over which each transform of an array in host memory is divided, such as [0, 1], as in
        stentor.Plan; at least as many independent transforms as devices are divided as whole ones.

    Returns
    -------
    array
        Complex, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.fftn(np.ones((2, 2))).real
    array([[4., 0.],
           [0., 0.]])
    """
    return transform(x, s, axes, norm, 'c2c', False, workers, plan, out, devices=devices)


def ifftn(x: Any, s: Sizes = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, overwrite_x: bool = False,
          workers: Optional[int] = None, *, plan: Any = None, out: Any = None,
          devices: Optional[Sequence[Any]] = None) -> Any:
    """Inverse-transform along several axes, as ``scipy.fft.ifftn``.

    Parameters
    ----------
    x, norm, overwrite_x, workers, plan, out
        As for `fft`.
    s, axes, devices
        As for `fftn`.

    Returns
    -------
    array
        Complex, of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.ifftn(np.ones((2, 2))).real
    array([[1., 0.],
           [0., 0.]])
    """
    return transform(x, s, axes, norm, 'c2c', True, workers, plan, out, devices=devices)


def rfftn(x: Any, s: Sizes = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, overwrite_x: bool = False,
          workers: Optional[int] = None, *, plan: Any = None, out: Any = None,
          devices: Optional[Sequence[Any]] = None) -> Any:
    """Transform real numbers along several axes, as ``scipy.fft.rfftn``.

    Parameters
    ----------
    x : array_like
        Real numbers.
    s, axes, devices
        As for `fftn`.
    norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Complex; the last transformed axis has the elements 0 to n // 2.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.rfftn(np.ones((2, 4))).shape
    (2, 3)
    """
    return transform(x, s, axes, norm, 'r2c', False, workers, plan, out, devices=devices)


def irfftn(x: Any, s: Sizes = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, overwrite_x: bool = False,
           workers: Optional[int] = None, *, plan: Any = None, out: Any = None,
           devices: Optional[Sequence[Any]] = None) -> Any:
    """Transform a half spectrum back to real numbers along several axes, as ``scipy.fft.irfftn``.

    Parameters
    ----------
    x, s
        As for `irfft2`.
    axes, devices
        As for `fftn`.
    norm, overwrite_x, workers, plan, out
        As for `fft`.

    Returns
    -------
    array
        Real.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.irfftn(np.ones((2, 3))).shape
    (2, 4)
    """
    return transform(x, s, axes, norm, 'c2r', True, workers, plan, out, devices=devices)
