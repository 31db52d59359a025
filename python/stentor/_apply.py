"""From a function's arguments to a prepared filter.

Resolves the output array or dtype and the array library, and looks up or makes the cached filter.
"""

from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from ._arrays import View, address_of, may_overlap, open_array, open_target, same_device
from ._composed import is_composed, normalized, run_composed
from ._filter import DeviceFilter, HostFilter, Pass, cast_whole
from ._memo import recall, remember, remember_if_repeated
from ._namespace import handed_back
from ._number_types import DTYPES, ELEMENTS, ITEM_SIZES, arithmetic_of, is_whole, put, work_dtype
from ._problem import WRAP, Layout, apart
from ._quick import Given, completed, quick_for, remember_tensor, small_layout
from ._small import small_filter
from ._stencil import Taps
from ._words import brief, said

# A function that returns a filter's passes. Its arguments are the array's rank, whether the array
# is on a GPU, and whether the results of all passes are integers.
Maker = Callable[[int, bool, bool], List[Pass]]


def target_of(output: Any, out: Any) -> Tuple[Any, Any]:
    """The array to write to, or the requested dtype; at most one of the two is not None.

    `output`, scipy's name, may be an array or a dtype. The dtype is one of NumPy, or the text
    'bfloat16', which NumPy does not have."""
    if output is not None and out is not None:
        raise ValueError('output and out are two names of one argument: give one')
    if out is not None or output is None:
        return out, None
    if type(output).__module__ == 'torch' and type(output).__name__ == 'dtype':
        output = str(output).rpartition('.')[2]
    if isinstance(output, str) and output == 'bfloat16' or getattr(output, '__name__', '') == 'bfloat16':
        return None, 'bfloat16'
    if isinstance(output, (type, np.dtype, str)):
        try:
            dtype = np.dtype(output)
        except Exception as error:  # np.dtype raises exceptions of many types
            raise TypeError(f'output is {said(output)}: give an array or a dtype ({brief(error)})') from None
        if isinstance(output, str) and dtype.kind not in 'iufc':
            raise RuntimeError(f'output is {said(output)}: output must have numeric dtype')
        return None, dtype
    return output, None


def apply(x: Any, key: Tuple, make: Maker, output: Any = None, out: Any = None, steps: Any = 1, local: Optional[bool] = None,
          nan: bool = False, given: Optional[Given] = None) -> Any:
    """Runs the passes that `make` returns on x.

    `key` identifies the call's arguments in the cache, except those in `given`. If `nan`, NaN
    values are left out."""
    result = quick_for(key, x, output, out, given)
    return apply_new(x, key, make, output, out, steps, local, nan, given) if result is None else result


def apply_new(x: Any, key: Tuple, make: Maker, output: Any = None, out: Any = None, steps: Any = 1,
              local: Optional[bool] = None, nan: bool = False, given: Optional[Given] = None) -> Any:
    """Runs the passes of a call that `quick` has not found."""
    target, dtype = target_of(output, out)
    opened = open_array(x, 'input')
    if isinstance(opened, View):
        name = opened.dtype if dtype is None else str(dtype)
        if dtype is None and name.startswith('complex'):
            raise ValueError(f'input has dtype {name} on a GPU, which is filtered as an array of PyTorch, CuPy or JAX: '
                             'give one, or its real and its imaginary part')
        if name not in ELEMENTS:
            raise RuntimeError(f'the output would have dtype {name}: give a real number type')
        return _on_device(x, opened, completed(key, given), make, target, name, steps, local, nan)
    if isinstance(dtype, str):
        raise RuntimeError('the output would have dtype bfloat16, which NumPy does not have: give float32')
    if target is None:
        made = _on_host(opened.array, key, make, None, dtype or opened.array.dtype.newbyteorder('='), steps, local, nan, given)
        return opened.back(made) if dtype is not None else handed_back(x, opened, made)
    to = same_device(opened, 'input', open_target(target), 'out').array
    if to.shape != opened.array.shape:
        raise RuntimeError(f'output shape not correct: out has {to.shape}, but the result has {opened.array.shape}')
    _on_host(opened.array, key, make, to, to.dtype, steps, local, nan, given)
    return target


def _on_host(x: np.ndarray, key: Tuple, make: Maker, out: Optional[np.ndarray], dtype: np.dtype, steps: int,
             local: Optional[bool], nan: bool, given: Optional[Given]) -> np.ndarray:
    if x.dtype.kind == 'c':
        raise ValueError('input is complex and no NumPy array: make it one, or filter its real and its imaginary part')
    if dtype.kind not in 'biuf' or dtype.itemsize > 8:
        raise RuntimeError(f'the output would have dtype {dtype}: give whole numbers or float16, float32 or float64')
    if not dtype.isnative:
        return _copy(_on_host(x, key, make, None, dtype.newbyteorder('='), steps, local, nan, given), out, dtype)
    if x.size == 0:
        make(x.ndim, False, dtype.kind in 'biu')
        return out if out is not None else np.empty(x.shape, dtype)
    layout, general = small_layout(x) if steps == 1 else None, key
    if layout is not None and given is not None:
        found = recall((key, layout, dtype))
        if found is not None:
            return found(x, out, given)
    key = completed(key, given)
    full = (key, x.shape, x.strides, x.dtype, x.flags.aligned, dtype)
    prepared = None if layout is None else recall((key, layout, dtype))
    prepared = prepared or recall(full)
    if prepared is None:
        passes = make(x.ndim, False, dtype.kind in 'biu')
        if not passes:
            return _copy(x, out, dtype)
        if is_composed(passes, nan):
            made = run_composed(apply, x.astype(_composed_dtype(x.dtype, dtype), copy=False), key, passes, steps, local, nan)
            return _rounded(made, out, dtype, x.dtype.kind in 'biu')
        prepared = None if layout is None else small_filter(x, dtype, passes, given)
        if prepared is None:
            prepared = remember(full, HostFilter(x, dtype, passes, steps, local))
        else:
            other = given is not None and prepared.takes(given)
            remember_if_repeated((general if other else key, layout, dtype), prepared)
            return prepared(x, out, given if other else None)
    return prepared(x, out)


def _composed_dtype(source: np.dtype, target: np.dtype) -> np.dtype:
    """The dtype of computation: at least float32, since sums of weights in float16 are inexact."""
    return np.promote_types(work_dtype(source, target), np.float32)


def _copy(x: np.ndarray, out: Optional[np.ndarray], dtype: np.dtype) -> np.ndarray:
    return put(np.empty(x.shape, dtype) if out is None else out, x)


def _rounded(made: np.ndarray, out: Optional[np.ndarray], dtype: np.dtype, of_whole: bool) -> np.ndarray:
    """The sums converted to the dtype of the result, as a filter converts them.

    With `of_whole` the terms were integers: a sum that differs from an integer only by rounding
    errors is then that integer, and is not truncated to the next one."""
    if dtype.kind in 'biu':
        if of_whole:
            nearest = np.rint(made)
            made = np.where(np.abs(made - nearest) <= 1e-12 * np.maximum(np.abs(nearest), 1), nearest, made)
        whole = np.empty(made.shape, dtype)
        cast_whole(np.ascontiguousarray(made), whole, dtype)
        made = whole
    return _copy(made, out, dtype)


def _on_device(x: Any, view: View, key: Tuple, make: Maker, target: Any, dtype: str, steps: int, local: Optional[bool],
               nan: bool) -> Any:
    shape = view.layout.shape
    if view.dtype not in ELEMENTS:
        raise ValueError(f'input has dtype {view.dtype} on a GPU: filter its real and its imaginary part')
    if not shape:
        raise ValueError('input has no axes: give an array of one axis or more')
    given = _check_target(view, target) if target is not None else None
    dtype = given.dtype if given is not None else dtype
    whole = is_whole(dtype)
    check_layout(view.layout, 'input')
    made = view.empty(shape, dtype) if given is None else target
    pointer = given.pointer if given else address_of(made)
    layout = given.layout if given else Layout.dense(shape)
    if 0 in shape:
        make(len(shape), True, whole)
        return made
    alignment = 16 if (view.pointer | pointer) % 16 == 0 else min(ITEM_SIZES[view.dtype], ITEM_SIZES[dtype])
    overlap = given is not None and may_overlap(view, given)
    full = (key, view.layout, layout, view.dtype, dtype, view.device, alignment, overlap)
    prepared = recall(full)
    if prepared is None:
        passes = make(len(shape), True, whole) or [_as_it_is(len(shape))]
        scaled = normalized(passes, nan, local) if is_composed(passes, nan) and not whole else None
        if is_composed(passes, nan) and scaled is None:
            work = view.dtype if view.dtype in DTYPES and not whole else arithmetic_of(view.dtype, dtype)
            result = run_composed(apply, x if work == view.dtype else cast(x, work), key, passes, steps, local, nan)
            if given is not None:
                return cast(result, None, target)
            return result if work == dtype else cast(result, dtype)
        passes, bits = scaled or (passes, 0)
        prepared = remember(full, DeviceFilter(view, layout, dtype, alignment, passes, steps, overlap, local, bits).used_by(view))
    if given is None and dtype == view.dtype or given is not None and not overlap and view.layout.is_dense() and layout.is_dense():
        remember_tensor(key, x, prepared, target)
    prepared(view, pointer)
    return made if given is not None else view.finish(made, view.stream)


def cast(x: Any, dtype: Any, out: Any = None) -> Any:
    """A GPU array in another dtype, or in `out`, converted as results of filters are."""
    return apply(x, ('converted',), lambda *_: [], dtype, out)


def _as_it_is(rank: int) -> Pass:
    """The identity pass, for calls in which no sigma or size changes the array."""
    return Pass(Taps(np.zeros((1, 1), np.int64), np.ones(1)), (rank - 1,), [WRAP])


def check_layout(layout: Layout, name: str) -> None:
    if 0 not in layout.shape and not apart(layout.shape, layout.strides, 1):
        raise ValueError(f'{name} has strides {layout.strides}, which go backwards or meet an element twice: copy it first')


def _check_target(view: View, target: Any) -> View:
    given = same_device(view, 'input', open_target(target, view.stream), 'out')
    if given.layout.shape != view.layout.shape:
        raise RuntimeError(f'output shape not correct: out has {given.layout.shape}, but the result has {view.layout.shape}')
    if given.dtype not in ELEMENTS:
        raise RuntimeError(f'out has dtype {given.dtype}, but the result is real: give a real array')
    check_layout(given.layout, 'out')
    return given
