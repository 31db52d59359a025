"""Checks of a plan's arguments: shapes, dtypes, weights, streams and alternative names."""

from typing import Any, Mapping, Optional, Tuple

import numpy as np

from ._arguments import is_index, number, settled
from ._arrays import View, numbers
from ._boundary import Argument
from ._stencil import Taps, named_taps, taps_of
from ._words import listed, whole


def boundary_of(boundary: Any, mode: Any) -> Tuple[Any, Argument]:
    """The boundary, given as `boundary` or `mode`, and its name. `boundary` defaults to 'wrap'."""
    if mode is None:
        return settled(boundary), Argument('boundary', ValueError)
    if not isinstance(boundary, str) or boundary != 'wrap':
        raise ValueError('boundary and mode are two names of one argument: give one')
    return settled(mode), Argument('mode', ValueError)


def unknown_argument(name: str) -> str:
    """The error message for an unknown argument of Plan, with the argument to use instead."""
    ways = {'local': "a plan has accuracy='local' or 'global'; local= is an argument of the functions",
            'progress': 'give it to the call: plan(x, progress=...)'}
    return f"Plan() has no argument '{name}'" + (f': {ways[name]}' if name in ways else '')


def shape_of(shape: Any) -> Tuple[int, ...]:
    if getattr(shape, 'ndim', 1) > 1 or getattr(getattr(shape, 'dtype', None), 'kind', 'i') not in 'iu':
        raise ValueError(f'shape is an array of shape {tuple(shape.shape)}: give its shape, not the array')
    if isinstance(shape, str):
        shape = [int(each) if each.strip().isdecimal() else each for each in shape.strip('()[] ').replace('x', ',').split(',')]
    given = (shape,) if is_index(shape) else listed(shape, 'shape')
    return tuple(whole(each, 'an extent of shape', 1) for each in given)


def plan_taps(weights: Any) -> Tuple[Taps, Tuple[int, ...]]:
    """The taps, and the extents of the centred array that holds them all."""
    if weights is None:
        raise ValueError("weights are None: give an array, {offset: weight}, or a stencil's name, such as 'heat-2d'")
    if isinstance(weights, str):
        taps = named_taps(weights)
    elif isinstance(weights, Mapping):
        taps = mapped_of(weights)
    else:
        dense = numbers(weights, 'weights')
        if dense.dtype.kind == 'c':
            raise ValueError('weights are complex: give real ones')
        if not 1 <= dense.ndim <= 3 or any(n % 2 == 0 for n in dense.shape):
            raise ValueError(f'weights have shape {dense.shape}: give 1 to 3 axes of odd extent, the middle being offset 0')
        return taps_of(np.asarray(dense, np.float64), [n // 2 for n in dense.shape]), dense.shape
    return taps, tuple(int(2 * n + 1) for n in np.abs(taps.offsets).max(axis=0))


def mapped_of(weights: Mapping) -> Taps:
    offsets = [offset if isinstance(offset, tuple) else (offset,) for offset in weights]
    if not offsets or len({len(offset) for offset in offsets}) != 1 or not 1 <= len(offsets[0]) <= 3:
        raise ValueError('weights by offset need at least one tap, each offset a tuple of as many numbers, 1 to 3')
    where = np.array([[whole(each, 'an offset', -2**31) for each in offset] for offset in offsets], np.int64)
    return Taps(where, np.array([number(each, 'a weight') for each in weights.values()]))


def stream_handle(stream: Any) -> Optional[int]:
    """The handle of a stream, from PyTorch's or CuPy's object, __cuda_stream__, or a number."""
    if stream is None:
        return None
    handle = stream
    if hasattr(stream, '__cuda_stream__'):
        handle = stream.__cuda_stream__()[1]
    else:
        handle = getattr(stream, 'cuda_stream', getattr(stream, 'ptr', stream))
    return whole(handle, 'stream', 0)


def fitted(x: np.ndarray, name: str, shape: Tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """The array with a plan's shape and dtype, dense; converts the dtype if that is lossless."""
    if x.shape != shape:
        raise ValueError(f'{name} has shape {x.shape}, but the plan is for {shape}')
    if x.dtype == dtype and x.flags.c_contiguous and x.flags.aligned:
        return x
    x = numbers(x, name)
    if not np.can_cast(x.dtype, dtype, 'safe'):
        raise ValueError(f'{name} has dtype {x.dtype}, but the plan is for {dtype}: convert it first')
    return np.require(x, dtype, ['C', 'A'])


def check_view(view: View, name: str, shape: Tuple[int, ...], dtype: str) -> None:
    if view.layout.shape != shape or view.dtype != dtype:
        raise ValueError(f'{name} is {view.dtype} of shape {view.layout.shape}, but the plan is for {dtype} of shape {shape}')
    if not view.layout.is_dense():
        raise ValueError(f'{name} is not dense: copy it first')


def check_out(wanted: Tuple[int, ...], wanted_dtype: Any, shape: Tuple[int, ...], dtype: Any, dense: bool) -> None:
    if tuple(shape) != wanted or dtype != wanted_dtype:
        raise ValueError(f'out is {dtype} of shape {tuple(shape)}, but the result is {wanted_dtype} of shape {wanted}')
    if not dense:
        raise ValueError('out is not dense in C order: give such an array')
