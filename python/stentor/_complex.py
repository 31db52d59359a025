"""Complex arrays and weights: real and imaginary parts are filtered separately.

On the host the parts are NumPy's views; elsewhere the array's own library gives views of them."""

import warnings
from typing import Any, Callable

import numpy as np

from ._apply import target_of
from ._arrays import numbers
from ._namespace import NUMPY, Namespace, converted, namespace_of
from ._number_types import DTYPES, arithmetic_of, put, type_name
from ._words import said


def is_complex(x: Any) -> bool:
    """Whether x is an array or a list of complex numbers."""
    if isinstance(x, np.ndarray):
        return x.dtype.kind == 'c'
    if not isinstance(x, (list, tuple, complex, np.complexfloating)):
        return _is_complex_elsewhere(x)
    try:
        return np.asarray(x).dtype.kind == 'c'
    except Exception:  # open_array reports the error later
        return False


def _is_complex_elsewhere(x: Any) -> bool:
    """Whether x is an array of complex numbers of another library than NumPy."""
    asked = getattr(x, 'is_complex', None)  # PyTorch
    if callable(asked):
        return bool(asked())
    return getattr(getattr(x, 'dtype', None), 'kind', '') == 'c'


def _elsewhere(x: Any) -> bool:
    """Whether x is an array of another library than NumPy."""
    return hasattr(x, 'dtype') and not isinstance(x, (np.ndarray, np.generic))


def by_parts(run: Callable[[Any, float, Any], Any], x: Any, cval: Any, output: Any, out: Any) -> Any:
    """Filters a complex array. `run` takes a real array, its cval and the output array, or None."""
    value = _complex_number(cval)
    if _elsewhere(x):
        space = namespace_of(x, 'filtering complex numbers')
        if space.name == 'torch':
            x = x.resolve_conj().resolve_neg()
        target = _target_elsewhere(space, x, output, out)
        if target is None:  # JAX's arrays cannot be written to
            return space.pair(run(x.real, value.real, None), run(x.imag, value.imag, None))
    else:
        x, target = numbers(x, 'input'), complex_target(x, output, out)
    run(x.real, value.real, target.real)
    run(x.imag, value.imag, target.imag)
    return target


def without_halves(x: Any, nan: bool) -> Any:
    """If `nan`, sets both parts of a complex number to NaN where one part is NaN."""
    if _elsewhere(x):
        if nan:
            raise ValueError("input is complex and no NumPy array: nan='ignore' takes NumPy's or real ones")
        return x
    x = numbers(x, 'input')
    return np.where(np.isnan(x), np.array(complex(np.nan, np.nan), x.dtype), x) if nan else x


def by_weights(run: Callable[[Any, np.ndarray, float, Any], Any], x: Any, weights: np.ndarray, cval: Any, output: Any, out: Any,
               steps: int) -> Any:
    """Filters a real or complex array with complex weights.

    `run` takes a real array, real weights, a cval and the output array, or None. It is called in
    each step."""
    value, target, real_type = _complex_number(cval), None, None
    if _elsewhere(x):
        space, name = namespace_of(x, 'filtering by complex weights'), type_name(x)
        if not is_complex(x) and name not in DTYPES:
            x = converted(x, arithmetic_of(name, 'float32'))
    else:
        space, x = NUMPY, numbers(x, 'input')
        target = complex_target(x, output, out)
        work = np.promote_types(np.promote_types(x.dtype, target.dtype), np.complex64).newbyteorder('=')
        real_type = np.empty(0, work).real.dtype

    def part(some: Any, of_weights: np.ndarray, constant: float) -> Any:
        return run(some, of_weights, constant, None if real_type is None else np.empty(x.shape, real_type))

    for _ in range(steps):  # (a + ib)(u + iv), for the array a + ib and the weights u + iv
        a, b = (x.real, x.imag) if is_complex(x) else (x, None)
        real, imaginary = part(a, weights.real, value.real), part(a, weights.imag, value.real)
        if b is not None:
            with np.errstate(all='ignore'):
                real = real - part(b, weights.imag, value.imag)
                imaginary = imaginary + part(b, weights.real, value.imag)
        x = space.pair(real, imaginary)
    if target is None:
        target, dtype = target_of(output, out)
        if target is None:
            return x if dtype is None or str(x.dtype).endswith(str(dtype)) else converted(x, str(dtype))
        _complex_or_refused(target)
    return put(target, x)


def _target_elsewhere(space: Namespace, x: Any, output: Any, out: Any) -> Any:
    """A complex array for the result, with views of its parts.

    None if the library has no such views."""
    target, dtype = target_of(output, out)
    if target is not None:
        return _complex_or_refused(target)
    if dtype is not None and str(dtype) not in ('complex64', 'complex128'):
        raise RuntimeError(f'input or weights are complex but the output would have dtype {dtype}: give complex64 or complex128')
    name = str(dtype) if dtype is not None else type_name(x)
    if space.name == 'torch':
        return space.module.empty(tuple(x.shape), dtype=getattr(space.module, name), device=x.device)
    return space.module.empty(x.shape, name) if space.name == 'cupy' else None


def _complex_or_refused(target: Any) -> Any:
    if not is_complex(target):
        raise RuntimeError('input or weights are complex but the output is not: output must have complex dtype')
    return target


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
