"""Import and export of DLPack capsules without a compiler.

The structs come from declarations.py by cffi, and the capsules from Python's C API by ctypes.
"""

import ctypes
import math
from typing import Any, NamedTuple, Tuple

import numpy as np

from ._library import ffi as _ffi
from ._problem import Layout

CPU, CUDA, CUDA_HOST, CUDA_MANAGED = 1, 2, 3, 13
MAX_AXES = 64  # most axes of a tensor that is read, as in NumPy 2
MAX_BYTES = 1 << 57  # bytes of an address space
_KINDS = {0: 'i', 1: 'u', 2: 'f', 5: 'c', 6: 'b'}
_CODES = {kind: code for code, kind in _KINDS.items()}
_FRESH, _USED, _VERSIONED = b'dltensor', b'used_dltensor', b'dltensor_versioned'

_api = ctypes.pythonapi
_destructor_type = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_new = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)(('PyCapsule_New', _api))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(('PyCapsule_IsValid', _api))
_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(('PyCapsule_GetPointer', _api))
_rename = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_char_p)(('PyCapsule_SetName', _api))
_raw_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(('PyCapsule_IsValid', _api))
_raw_pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(('PyCapsule_GetPointer', _api))

_exported: dict = {}  # address of a DLManagedTensor -> the objects that it keeps alive


@_ffi.callback('void(DLManagedTensor *)')
def _delete(managed):
    _exported.pop(int(_ffi.cast('uintptr_t', managed)), None)


@_destructor_type
def _drop_capsule(capsule):
    """Frees the tensor of a capsule that no consumer has taken."""
    if _raw_is_valid(capsule, _FRESH):
        _exported.pop(_raw_pointer(capsule, _FRESH), None)


def capsule(owner: Any, pointer: int, layout: Layout, dtype: np.dtype, device: Tuple[int, int]) -> Any:
    """A 'dltensor' capsule of memory that `owner` keeps alive.

    `owner` is kept until the capsule's consumer calls the deleter."""
    managed = _ffi.new('DLManagedTensor *')
    shape, strides = _ffi.new('int64_t[]', layout.shape), _ffi.new('int64_t[]', layout.strides)
    tensor = managed.tensor
    tensor.data, tensor.ndim = _ffi.cast('void *', pointer), len(layout.shape)
    tensor.device.type, tensor.device.id = device
    tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes = _CODES[dtype.kind], dtype.itemsize * 8, 1
    tensor.shape, tensor.strides = shape, strides
    managed.deleter = _delete
    address = int(_ffi.cast('uintptr_t', managed))
    _exported[address] = (managed, shape, strides, owner)
    return _new(address, _FRESH, ctypes.cast(_drop_capsule, ctypes.c_void_p))


def _layout_of(tensor: Any) -> Layout:
    """The layout of another library's tensor; refuses inconsistent ones."""
    if not 0 <= tensor.ndim <= MAX_AXES or (tensor.ndim and not tensor.shape):
        raise ValueError(f'its DLPack tensor has {tensor.ndim} axes' + ('' if tensor.shape else ' and no shape') + f': give 0 to {MAX_AXES}')
    shape = tuple(tensor.shape[a] for a in range(tensor.ndim))
    if any(n < 0 for n in shape):
        raise ValueError(f'its DLPack tensor has the shape {shape}: no extent is below 0')
    if not tensor.data and 0 not in shape:
        raise ValueError(f'it has shape {shape} but its data pointer is NULL: give an array with memory')
    layout = Layout.dense(shape) if not tensor.strides else Layout.given(shape, [tensor.strides[a] for a in range(tensor.ndim)])
    size = tensor.dtype.bits * tensor.dtype.lanes // 8
    spanned = sum((n - 1) * abs(s) for n, s in zip(shape, layout.strides)) * size if 0 not in shape else 0
    if max(spanned, math.prod(shape) * size) >= MAX_BYTES:
        raise ValueError(f'its DLPack tensor of shape {shape} has strides {layout.strides}: no memory is so large')
    return layout


class Checked:
    """Another library's array, whose export is checked before NumPy reads it.

    NumPy would present a tensor with a null data pointer as uninitialised memory."""

    def __init__(self, given: Any):
        self._given = given

    def __dlpack_device__(self) -> Tuple[int, int]:
        return self._given.__dlpack_device__()

    def __dlpack__(self, **named: Any) -> Any:
        made = self._given.__dlpack__(**named)
        for name, kind in ((_FRESH, 'DLManagedTensor *'), (_VERSIONED, 'DLManagedTensorVersioned *')):
            if _is_valid(made, name):
                _layout_of(_ffi.cast(kind, _pointer(made, name)).tensor)
        return made


class Taken(NamedTuple):
    """A tensor of another library; `owner` keeps it alive."""

    pointer: int
    layout: Layout
    dtype: str
    device: Tuple[int, int]
    owner: Any


def take(given: Any) -> Taken:
    """Consumes a 'dltensor' capsule: its deleter is called when `owner` is destroyed."""
    if not _is_valid(given, _FRESH):
        raise ValueError('the DLPack capsule is not fresh: each is taken once, and the form before version 1 is read')
    managed = _ffi.cast('DLManagedTensor *', _pointer(given, _FRESH))
    tensor = managed.tensor
    # A capsule that _layout_of refuses stays fresh, so that its owner frees it.
    layout = _layout_of(tensor)
    _rename(given, _USED)
    owner = _ffi.gc(managed, lambda tensor: tensor.deleter(tensor) if tensor.deleter else None)
    pointer = int(_ffi.cast('uintptr_t', tensor.data)) + tensor.byte_offset
    return Taken(pointer, layout, _name_of(tensor.dtype), (tensor.device.type, tensor.device.id), owner)


def _name_of(dtype: Any) -> str:
    """NumPy's name of a tensor's dtype; other names are refused later."""
    if dtype.code == 4:
        return 'bfloat16'
    try:
        return np.dtype(f'{_KINDS[dtype.code]}{dtype.bits // 8}').name if dtype.lanes == 1 and dtype.bits % 8 == 0 else 'no dtype of NumPy'
    except (KeyError, TypeError):
        return 'no dtype of NumPy'
