"""dct, dst, their inverses and versions for several axes, with the arguments of scipy.fft.

On the host a plan of the library runs them, and on a GPU types II and III where it can. Otherwise
axes are transformed one after the other by the algorithms of _trigonometric.py.
"""

import math
from typing import Any, Optional, Sequence, Tuple

import numpy as np

from ._arguments import frozen, settled
from ._arrays import Host, open_array
from ._errors import StentorError
from ._fft_run import Sizes, check_norm, check_unused, on_device, on_host, ready_for, scale_of, size_and_axis, sizes_and_axes
from ._memo import recall, remember
from ._namespace import NUMPY, converted, namespace_of
from ._number_types import REAL, real_of
from ._quick import quick
from ._trigonometric import Kind, lines, logical_length
from ._words import whole


def dct(x: Any, type: int = 2, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, overwrite_x: bool = False,
        workers: Optional[int] = None, orthogonalize: Optional[bool] = None) -> Any:
    """The cosine transform along an axis, as ``scipy.fft.dct``.

    Parameters
    ----------
    x : array_like
        Real numbers; for complex numbers both parts are transformed.
    type : {1, 2, 3, 4}, optional
        The type of the transform. Type 1 takes two points or more.
    n : int, optional
        Length of the transform: `x` is cropped or padded with zeros to it.
    axis : int, optional
        By default the last.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which transform is divided by the length N of the periodic extension (2 n, except for type
        1): the inverse one (the default), both by sqrt(N), or the forward one.
    overwrite_x, workers : optional
        Accepted for compatibility with scipy; they have no effect.
    orthogonalize : bool, optional
        Whether the first point or result (for type 1 also the last one) is scaled, so that with
        norm 'ortho' the transform is orthogonal. By default true with that norm only.

    Returns
    -------
    array
        Of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.dct(np.array([1., 1., 1., 1.]))
    array([8., 0., 0., 0.])
    """
    return _transform(x, type, n, axis, norm, workers, orthogonalize, False, False, True)


def dctn(x: Any, type: int = 2, s: Sizes = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, overwrite_x: bool = False,
         workers: Optional[int] = None, orthogonalize: Optional[bool] = None) -> Any:
    """The cosine transform along several axes, as ``scipy.fft.dctn``.

    Parameters
    ----------
    x, type, norm, overwrite_x, workers, orthogonalize
        As for `dct`.
    s : sequence of int, optional
        Length of the transform by axis: `x` is cropped or padded with zeros to it.
    axes : sequence of int, optional
        By default all axes, or the last len(s) axes if `s` is given.

    Returns
    -------
    array
        Of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.dctn(np.ones((2, 2)), norm='ortho').round(12)
    array([[2., 0.],
           [0., 0.]])
    """
    return _transform(x, type, s, axes, norm, workers, orthogonalize, False, False)


def idct(x: Any, type: int = 2, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, overwrite_x: bool = False,
         workers: Optional[int] = None, orthogonalize: Optional[bool] = None) -> Any:
    """Undo the cosine transform along an axis, as ``scipy.fft.idct``.

    Parameters
    ----------
    x, type, n, axis, norm, overwrite_x, workers, orthogonalize
        As for `dct`.

    Returns
    -------
    array
        Of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.idct(stentor.fft.dct(np.array([1., 2., 3.]))).round(12)
    array([1., 2., 3.])
    """
    return _transform(x, type, n, axis, norm, workers, orthogonalize, False, True, True)


def idctn(x: Any, type: int = 2, s: Sizes = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, overwrite_x: bool = False,
          workers: Optional[int] = None, orthogonalize: Optional[bool] = None) -> Any:
    """Undo the cosine transform along several axes, as ``scipy.fft.idctn``.

    Parameters
    ----------
    x, type, norm, overwrite_x, workers, orthogonalize
        As for `dct`.
    s, axes
        As for `dctn`.

    Returns
    -------
    array
        Of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.idctn(stentor.fft.dctn(np.array([[1., 2.], [3., 4.]]))).round(12)
    array([[1., 2.],
           [3., 4.]])
    """
    return _transform(x, type, s, axes, norm, workers, orthogonalize, False, True)


def dst(x: Any, type: int = 2, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, overwrite_x: bool = False,
        workers: Optional[int] = None, orthogonalize: Optional[bool] = None) -> Any:
    """The sine transform along an axis, as ``scipy.fft.dst``.

    Parameters
    ----------
    x, type, n, axis, norm, overwrite_x, workers, orthogonalize
        As for `dct`, but the last point is scaled; type 1 scales no point and takes one point or
        more.

    Returns
    -------
    array
        Of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.dst(np.array([1., 1.])).round(12)
    array([2.82842712, 0.        ])
    """
    return _transform(x, type, n, axis, norm, workers, orthogonalize, True, False, True)


def dstn(x: Any, type: int = 2, s: Sizes = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, overwrite_x: bool = False,
         workers: Optional[int] = None, orthogonalize: Optional[bool] = None) -> Any:
    """The sine transform along several axes, as ``scipy.fft.dstn``.

    Parameters
    ----------
    x, type, norm, overwrite_x, workers, orthogonalize
        As for `dst`.
    s, axes
        As for `dctn`.

    Returns
    -------
    array
        Of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.dstn(np.ones((2, 2)), norm='ortho').round(12)
    array([[2., 0.],
           [0., 0.]])
    """
    return _transform(x, type, s, axes, norm, workers, orthogonalize, True, False)


def idst(x: Any, type: int = 2, n: Optional[int] = None, axis: int = -1, norm: Optional[str] = None, overwrite_x: bool = False,
         workers: Optional[int] = None, orthogonalize: Optional[bool] = None) -> Any:
    """Undo the sine transform along an axis, as ``scipy.fft.idst``.

    Parameters
    ----------
    x, type, n, axis, norm, overwrite_x, workers, orthogonalize
        As for `dst`.

    Returns
    -------
    array
        Of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.idst(stentor.fft.dst(np.array([1., 2., 3.]))).round(12)
    array([1., 2., 3.])
    """
    return _transform(x, type, n, axis, norm, workers, orthogonalize, True, True, True)


def idstn(x: Any, type: int = 2, s: Sizes = None, axes: Optional[Sequence[int]] = None, norm: Optional[str] = None, overwrite_x: bool = False,
          workers: Optional[int] = None, orthogonalize: Optional[bool] = None) -> Any:
    """Undo the sine transform along several axes, as ``scipy.fft.idstn``.

    Parameters
    ----------
    x, type, norm, overwrite_x, workers, orthogonalize
        As for `dst`.
    s, axes
        As for `dctn`.

    Returns
    -------
    array
        Of the same library and on the same device as `x`.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.fft.idstn(stentor.fft.dstn(np.array([[1., 2.], [3., 4.]]))).round(12)
    array([[1., 2.],
           [3., 4.]])
    """
    return _transform(x, type, s, axes, norm, workers, orthogonalize, True, True)


def _transform(x: Any, kind: Any, s: Any, axes: Any, norm: Any, workers: Any, orthogonal: Any, sine: bool, inverse: bool,
               single: bool = False) -> Any:
    """Runs one of the functions; if `single`, `s` and `axes` are its arguments `n` and `axis`."""
    if workers is not None:
        check_unused(workers, None)
    kind, s, axes = whole(kind, 'type', -2**62, TypeError), settled(s), settled(axes)
    key = ('cosine', kind, frozen(s), frozen(axes), norm, orthogonal, sine, inverse, single)
    made = quick(key, x)
    if made is not None:
        return made
    if not 1 <= kind <= 4:
        raise ValueError(f'type is {kind}: give 1, 2, 3 or 4')
    check_norm(norm)
    opened = open_array(x, 'x')
    sizes, where = (size_and_axis if single else sizes_and_axes)(opened.shape, s, axes, 'c2c')
    kinds = []
    for points, axis in zip(sizes, where):
        length = logical_length(kind, sine, points)
        if length == 0:
            raise RuntimeError(f'zero length FFT requested: one point along axis {axis}, but type 1 of cosines takes two or more')
        number = {2: 3, 3: 2}.get(kind, kind) if inverse else kind
        kinds.append(Kind(number, sine, scale_of(norm, length, inverse), norm == 'ortho' if orthogonal is None else bool(orthogonal)))
    if isinstance(opened, Host):
        return opened.back(_on_host(opened.array, key, sizes, where, kinds))
    return _on_device(x, opened, sizes, where, kinds, key)


def _on_host(x: np.ndarray, key: Tuple, sizes: Tuple[int, ...], where: Tuple[int, ...], kinds: Sequence[Kind]) -> np.ndarray:
    if x.dtype.kind == 'c':
        return NUMPY.pair(*(_on_host(part, key, sizes, where, kinds) for part in (x.real, x.imag)))
    if not where:
        return x.astype(real_of(x.dtype.name))
    return on_host(x, key, sizes, where, _kind_of_plan(kinds), False, math.prod(each.factor for each in kinds))


def _on_device(x: Any, view: Any, sizes: Tuple[int, ...], where: Tuple[int, ...], kinds: Sequence[Kind], key: Tuple) -> Any:
    """Transforms a GPU array: by a plan, or with its own library's arithmetic around plans."""
    if view.dtype.startswith('complex'):
        space = namespace_of(x, 'a real transform of complex numbers')
        return space.pair(*(_on_device(part, open_array(part, 'x'), sizes, where, kinds, key) for part in (x.real, x.imag)))
    refused = ('refused', key, view.layout)
    if kinds and kinds[0].type in (2, 3) and recall(refused) is None:
        kind = _kind_of_plan(kinds)
        other = ready_for(x, view, sizes, where, kind)
        ready = x if other is None else other
        try:
            opened: Any = open_array(ready, 'x')
            return on_device(ready, opened, key, sizes, where, kind, False, math.prod(each.factor for each in kinds))
        except StentorError as error:  # for instance an odd or a prime length
            if error.status != 'STN_ERROR_UNSUPPORTED':
                raise
            remember(refused, True)
    return _by_arithmetic(x, view, sizes, where, kinds)


def _kind_of_plan(kinds: Sequence[Kind]) -> str:
    """The kind of transform of a plan for all axes, along which only the factors differ."""
    number, sine, _, orthogonal = kinds[0]
    return f"{'dst' if sine else 'dct'}{number}{' orthogonal' if orthogonal else ''}"


def _by_arithmetic(x: Any, view: Any, sizes: Tuple[int, ...], where: Tuple[int, ...], kinds: Sequence[Kind]) -> Any:
    space = namespace_of(x, 'this real transform')
    if space.name == 'torch':
        x = x.detach()
    if view.dtype not in REAL:
        x = converted(x, real_of(view.dtype))
    for axis, points, kind in zip(where, sizes, kinds):
        lined = space.cut(space.move(x, axis, -1), 0, points)
        if space.size(lined) < points:
            lined = space.join([lined, space.zeros(lined, points - space.size(lined))])
        x = space.move(lines(space, lined, kind), -1, axis)
    return x if where else x + 0
