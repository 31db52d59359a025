"""From a function's arguments to a prepared filter.

Resolves the output array or dtype and the array library, and looks up or makes the cached filter.
"""

from typing import Any, Callable, List, Optional, Tuple

import numpy as np

from ._arrays import Host, View, address_of, may_overlap, open_array, open_target
from ._composed import is_composed, run_composed
from ._filter import DeviceFilter, HostFilter, Pass, apart, cast_whole, work_dtype
from ._memo import recall, remember
from ._problem import DTYPES, ITEM_SIZES, WRAP, Layout
from ._quick import quick, remember_tensor
from ._stencil import Taps
from ._words import brief, said

# A function that returns a filter's passes, from the array's rank and whether it is on a GPU.
Maker = Callable[[int, bool], List[Pass]]


def target_of(output: Any, out: Any) -> Tuple[Any, Optional[np.dtype]]:
    """The array to write to, or the requested dtype; at most one of the two is not None.

    `output`, scipy's name, may be an array or a dtype."""
    if output is not None and out is not None:
        raise ValueError('output and out are two names of one argument: give one')
    if out is not None or output is None:
        return out, None
    if isinstance(output, (type, np.dtype, str)):
        try:
            dtype = np.dtype(output)
        except Exception as error:  # np.dtype raises exceptions of many types
            raise TypeError(f'output is {said(output)}: give an array or a dtype ({brief(error)})') from None
        if isinstance(output, str) and dtype.kind not in 'iufc':
            raise RuntimeError(f'output is {said(output)}: output must have numeric dtype')
        return None, dtype
    return output, None


def apply(x: Any, key: Tuple, make: Maker, output: Any = None, out: Any = None, steps: Any = 1,
          local: Optional[bool] = None, nan: bool = False) -> Any:
    """Runs the passes that `make` returns on x.

    `key` identifies the call's arguments in the cache. If `nan`, NaN values are left out."""
    if output is None and out is None:
        result = quick(key, x)
        if result is not None:
            return result
    target, dtype = target_of(output, out)
    opened = open_array(x, 'input')
    if isinstance(opened, View):
        if dtype is not None and dtype.name != opened.dtype:
            raise ValueError(f'output asks for {dtype} from a GPU array of {opened.dtype}: convert one of them first')
        return _on_device(x, opened, key, make, target, steps, local, nan)
    if target is None:
        return opened.back(_on_host(opened.array, key, make, None, dtype or opened.array.dtype.newbyteorder('='), steps,
                                    local, nan))
    given = open_target(target)
    if not isinstance(given, Host):
        raise ValueError('input is on the host, but out is on a GPU: give both on one device')
    if given.array.shape != opened.array.shape:
        raise RuntimeError(f'output shape not correct: out has {given.array.shape}, but the result has {opened.array.shape}')
    _on_host(opened.array, key, make, given.array, given.array.dtype, steps, local, nan)
    return target


def _on_host(x: np.ndarray, key: Tuple, make: Maker, out: Optional[np.ndarray], dtype: np.dtype, steps: int,
             local: Optional[bool], nan: bool) -> np.ndarray:
    if x.dtype.kind == 'c':
        raise ValueError('input is complex and no NumPy array: make it one, or filter its real and its imaginary part')
    if dtype.kind not in 'biuf' or dtype.itemsize > 8:
        raise RuntimeError(f'the output would have dtype {dtype}: give whole numbers or float16, float32 or float64')
    if x.size == 0:
        make(x.ndim, False)
        return out if out is not None else np.empty(x.shape, dtype)
    full = (key, x.shape, x.strides, x.dtype, x.flags.aligned, dtype)
    prepared = recall(full)
    if prepared is None:
        passes = make(x.ndim, False)
        if not passes:
            return _copy(x, out, dtype)
        if is_composed(passes, nan):
            made = run_composed(apply, x.astype(_composed_dtype(x.dtype, dtype), copy=False), key, passes, steps, local, nan)
            return _rounded(made, out, dtype)
        prepared = remember(full, HostFilter(x, dtype, passes, steps, local))
    return prepared(x, out)


def _composed_dtype(source: np.dtype, target: np.dtype) -> np.dtype:
    """The dtype of computation: at least float32, since sums of weights in float16 are inexact."""
    return np.promote_types(work_dtype(source, target), np.float32)


def _copy(x: np.ndarray, out: Optional[np.ndarray], dtype: np.dtype) -> np.ndarray:
    if out is None:
        return x.astype(dtype)
    out[...] = x
    return out


def _rounded(made: np.ndarray, out: Optional[np.ndarray], dtype: np.dtype) -> np.ndarray:
    """The sums converted to the dtype of the result, as a filter converts them."""
    if dtype.kind in 'biu':
        whole = np.empty(made.shape, dtype)
        cast_whole(np.ascontiguousarray(made), whole, dtype)
        made = whole
    return _copy(made, out, dtype)


def _on_device(x: Any, view: View, key: Tuple, make: Maker, target: Any, steps: int, local: Optional[bool],
               nan: bool) -> Any:
    shape = view.layout.shape
    if view.dtype not in DTYPES:
        raise ValueError(f'input has dtype {view.dtype} on a GPU: filter its real and its imaginary part')
    if not shape:
        raise ValueError('input has no axes: give an array of one axis or more')
    given = _check_target(view, target) if target is not None else None
    _check_layout(view.layout, 'input')
    made = view.empty(shape, view.dtype) if given is None else target
    pointer = given.pointer if given else address_of(made)
    layout = given.layout if given else Layout.dense(shape)
    if 0 in shape:
        make(len(shape), True)
        return made
    alignment = 16 if (view.pointer | pointer) % 16 == 0 else ITEM_SIZES[view.dtype]
    overlap = given is not None and may_overlap(view, given)
    full = (key, view.layout, layout, view.dtype, view.device, alignment, overlap)
    prepared = recall(full)
    if prepared is None:
        passes = make(len(shape), True) or [_as_it_is(len(shape))]
        if is_composed(passes, nan):
            result = run_composed(apply, x, key, passes, steps, local, nan)
            if given is None:
                return result
            target[...] = result
            return target
        prepared = remember(full, DeviceFilter(view, layout, alignment, passes, steps, overlap, local))
    if given is None:
        remember_tensor(key, x, prepared)
    prepared(view, pointer)
    return made if given is not None else view.finish(made, view.stream)


def _as_it_is(rank: int) -> Pass:
    """The identity: a pass for calls whose every sigma or size leaves the array unchanged."""
    return Pass(Taps(np.zeros((1, 1), np.int64), np.ones(1)), (rank - 1,), [WRAP])


def _check_layout(layout: Layout, name: str) -> None:
    if 0 not in layout.shape and not apart(layout.shape, layout.strides, 1):
        raise ValueError(f'{name} has strides {layout.strides}, which go backwards or meet an element twice: copy it first')


def _check_target(view: View, target: Any) -> View:
    given = open_target(target, view.stream)
    if not isinstance(given, View) or given.device != view.device:
        where = f'cuda:{given.device}' if isinstance(given, View) else 'the host'
        raise ValueError(f'input is on cuda:{view.device}, but out is on {where}: give both on one device')
    if given.layout.shape != view.layout.shape or given.dtype != view.dtype:
        raise ValueError(f'out is {given.dtype} of shape {given.layout.shape}, but the result is {view.dtype} of shape '
                         f'{view.layout.shape}')
    _check_layout(given.layout, 'out')
    return given
