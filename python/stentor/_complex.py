"""Complex arrays and weights on the host: real and imaginary parts are filtered separately."""

import warnings
from typing import Any, Callable, Tuple

import numpy as np

from ._apply import target_of
from ._arrays import numbers
from ._words import said


def is_complex(x: Any) -> bool:
    """Whether x is an array or a list of complex numbers."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind == 'c'
    if not isinstance(x, (list, tuple, complex, np.complexfloating)):
        return False
    try:
        return np.asarray(x).dtype.kind == 'c'
    except Exception:  # open_array reports the error later
        return False


def by_parts(run: Callable[[np.ndarray, float, np.ndarray], Any], x: Any, cval: Any, output: Any, out: Any) -> Any:
    """Filters a complex array. `run` takes a real array, its cval and the output array."""
    x, target = numbers(x, 'input'), complex_target(x, output, out)
    value = _complex_number(cval)
    run(x.real, value.real, target.real)
    run(x.imag, value.imag, target.imag)
    return target


def without_halves(x: Any, nan: bool) -> Any:
    """If `nan`, sets both parts of a complex number to NaN where one part is NaN."""
    x = numbers(x, 'input')
    return np.where(np.isnan(x), np.array(complex(np.nan, np.nan), x.dtype), x) if nan else x


def by_weights(run: Callable[[np.ndarray, np.ndarray, float, np.ndarray], Any], x: Any, weights: np.ndarray, cval: Any, output: Any,
               out: Any, steps: int) -> Any:
    """Filters a real or complex array with complex weights.

    `run` takes a real array, real weights, a cval and the output array, and is called in each
    step."""
    x = numbers(x, 'input')
    target, value = complex_target(x, output, out), _complex_number(cval)
    work = np.promote_types(np.promote_types(x.dtype, target.dtype), np.complex64).newbyteorder('=')
    for _ in range(steps):
        real, imaginary = _parts(run, x, weights, value, work)
        x = real + 1j * imaginary
    target[...] = x
    return target


def _parts(run: Callable, x: np.ndarray, weights: np.ndarray, value: complex, work: np.dtype) -> Tuple[np.ndarray, np.ndarray]:
    """Real and imaginary part of (a + ib)(u + iv), for the array a + ib and the weights u + iv."""
    def one(part: np.ndarray, some: np.ndarray, constant: float) -> np.ndarray:
        to = np.empty(x.shape, work).real.copy()
        run(part, some, constant, to)
        return to

    real, imaginary = one(x.real, weights.real, value.real), one(x.real, weights.imag, value.real)
    if x.dtype.kind == 'c':
        real -= one(x.imag, weights.imag, value.imag)
        imaginary += one(x.imag, weights.real, value.imag)
    return real, imaginary


def check_cval(x: Any, cval: Any) -> None:
    """Refuses a complex cval with a real input and complex weights."""
    if not is_complex(x) and np.iscomplexobj(cval):
        raise ValueError('Cannot provide a complex-valued cval when the input is real: give a real cval, or complex input')


def complex_target(x: Any, output: Any, out: Any) -> Any:
    """The output array of a complex result: a new array, or the caller's."""
    x = numbers(x, 'input')
    target, dtype = target_of(output, out)
    if target is None:
        if dtype is not None and dtype.kind != 'c' and not isinstance(output, str):
            warnings.warn('promoting specified output dtype to complex, as input or weights are', stacklevel=5)
            dtype = np.promote_types(dtype, np.complex64)
        target = np.empty(x.shape, dtype or np.promote_types(x.dtype, np.complex64).newbyteorder('='))
    if getattr(getattr(target, 'dtype', None), 'kind', '') != 'c':
        raise RuntimeError('input or weights are complex but the output is not: output must have complex dtype')
    if target.shape != x.shape:
        raise RuntimeError(f'output shape not correct: out has {target.shape}, but the result has {x.shape}')
    return target


def _complex_number(cval: Any) -> complex:
    try:
        return complex(cval)
    except Exception:
        raise TypeError(f'cval is {said(cval)}: give a number') from None
