"""Complex arrays and weights on the host: real and imaginary parts are filtered each for itself."""

import warnings
from typing import Any, Callable, Tuple

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
    x, target = numbers(x, 'input'), complex_target(x, output, out)
    value = _complex_number(cval)
    run(x.real, value.real, target.real)
    run(x.imag, value.imag, target.imag)
    return target


def without_halves(x: Any, nan: bool) -> Any:
    """Numbers of which one part is NaN are NaN in both, where NaN is left out."""
    x = numbers(x, 'input')
    return np.where(np.isnan(x), np.array(complex(np.nan, np.nan), x.dtype), x) if nan else x


def by_weights(run: Callable[[np.ndarray, np.ndarray, float, np.ndarray], Any], x: Any, weights: np.ndarray, cval: Any, output: Any,
               out: Any, steps: int) -> Any:
    """The same of complex weights, and of real or complex numbers; `run` takes a part, a part of the weights, a cval and where the
    result goes, and is called for each step."""
    x = numbers(x, 'input')
    target, value = complex_target(x, output, out), _complex_number(cval)
    work = np.promote_types(np.promote_types(x.dtype, target.dtype), np.complex64).newbyteorder('=')
    for _ in range(steps):
        real, imaginary = _parts(run, x, weights, value, work)
        x = real + 1j * imaginary
    target[...] = x
    return target


def _parts(run: Callable, x: np.ndarray, weights: np.ndarray, value: complex, work: np.dtype) -> Tuple[np.ndarray, np.ndarray]:
    """(a + ib)(u + iv), where a, b are the parts of the array and u, v those of the weights."""
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
    """Of real numbers that meet complex weights."""
    if not is_complex(x) and np.iscomplexobj(cval):
        raise ValueError('Cannot provide a complex-valued cval when the input is real: give a real cval, or complex input')


def complex_target(x: Any, output: Any, out: Any) -> Any:
    """The array that a complex result goes to: a new one, or the caller's."""
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
