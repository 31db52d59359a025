"""Complex arrays on the host: real and imaginary parts are filtered each for itself."""

import warnings
from typing import Any, Callable

import numpy as np

from ._apply import target_of
from ._arrays import numbers
from ._words import said


def is_complex(x: Any) -> bool:
    """Is it an array, or a list, of complex numbers?"""
    if isinstance(x, np.ndarray):
        return x.dtype.kind == 'c'
    if not isinstance(x, (list, tuple, complex, np.complexfloating)):
        return False
    try:
        return np.asarray(x).dtype.kind == 'c'
    except Exception:  # which is told where arrays are opened
        return False


def by_parts(run: Callable[[np.ndarray, float, np.ndarray], Any], x: Any, cval: Any, output: Any, out: Any) -> Any:
    """`run` takes a part, its cval, and where the result goes."""
    x = numbers(x, 'input')
    target, dtype = target_of(output, out)
    if target is None:
        if dtype is not None and dtype.kind != 'c' and not isinstance(output, str):
            warnings.warn('promoting specified output dtype to complex, as input is', stacklevel=4)
            dtype = np.promote_types(dtype, np.complex64)
        target = np.empty(x.shape, dtype or x.dtype.newbyteorder('='))
    if getattr(getattr(target, 'dtype', None), 'kind', '') != 'c':
        raise RuntimeError('input is complex but the output is not: output must have complex dtype')
    try:
        value = complex(cval)
    except Exception:
        raise TypeError(f'cval is {said(cval)}: give a number') from None
    run(x.real, value.real, target.real)
    run(x.imag, value.imag, target.imag)
    return target
