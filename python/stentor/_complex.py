"""Complex arrays on the host: real and imaginary parts are filtered each for itself."""

from typing import Any, Callable

import numpy as np

from ._apply import target_of
from ._words import said


def is_complex(x: Any) -> bool:
    return getattr(getattr(x, 'dtype', None), 'kind', '') == 'c' and isinstance(x, np.ndarray)


def by_parts(run: Callable[[np.ndarray, float, np.ndarray], Any], x: np.ndarray, cval: Any, output: Any, out: Any) -> Any:
    """`run` takes a part, its cval, and where the result goes."""
    target, dtype = target_of(output, out)
    if target is None:
        target = np.empty(x.shape, dtype or x.dtype.newbyteorder('='))
    if getattr(getattr(target, 'dtype', None), 'kind', '') != 'c':
        raise ValueError('input is complex but the output is not: give a complex dtype')
    try:
        value = complex(cval)
    except Exception:
        raise ValueError(f'cval is {said(cval)}: give a number') from None
    run(x.real, value.real, target.real)
    run(x.imag, value.imag, target.imag)
    return target
