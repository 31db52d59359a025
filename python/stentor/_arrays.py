"""Arrays of any library, opened without a copy.

An array on the host becomes a NumPy array over the same memory, and one on a GPU a View. Both hold
functions that make results of the caller's library.
"""

import contextlib
import ctypes
import functools
import os
import sys
from typing import Any, Callable, NamedTuple, Optional, Tuple, TypeVar, Union

import numpy as np

from . import _dlpack
from ._context import HOST, context
from ._device import DeviceArray
from ._errors import StentorError, check, new_error
from ._library import ffi, lib
from ._number_types import ELEMENTS, ITEM_SIZES, PARTS, type_name
from ._problem import Layout
from ._words import brief, said


class Host(NamedTuple):
    """An array on the host."""

    array: np.ndarray
    back: Callable[[np.ndarray], Any]  # converts a result to the caller's library
    # 'bfloat16' if the array has that type: NumPy does not, so `array` is a copy in float32.
    dtype: str = ''
    device: int = HOST

    @property
    def shape(self) -> Tuple[int, ...]:
        return self.array.shape


class View(NamedTuple):
    """An array on a GPU."""

    pointer: int
    layout: Layout
    dtype: str
    device: int
    stream: int  # the caller's current stream
    # Makes a new array of the caller's library, from shape and dtype.
    empty: Callable[[Tuple[int, ...], str], Any]
    # Makes the array that is returned, from one made by `empty` and the stream that filled it.
    finish: Callable[[Any, int], Any]
    owner: Any  # keeps the memory alive
    ordered: bool = False  # `empty` allocates and frees memory in the order of `stream`
    writable: bool = True

    @property
    def shape(self) -> Tuple[int, ...]:
        return self.layout.shape


Opened = TypeVar('Opened', Host, View)


def open_array(x: Any, name: str, stream: Optional[int] = None) -> Union[Host, View]:
    """Opens an argument as a Host or a View.

    `stream` is the stream given by the caller, or None for the current one."""
    opened = _open(x, name, stream)
    if isinstance(opened, View) and opened.dtype not in ELEMENTS and opened.dtype not in PARTS:
        raise ValueError(f'{name} has dtype {opened.dtype} on a GPU: there, give one of {", ".join((*ELEMENTS, *PARTS))}')
    return opened


def same_device(first: Opened, name: str, second: Union[Host, View], other: str) -> Opened:
    """Returns the array `second`; raises ValueError if it is on another device than `first`."""
    if second.device != first.device:
        where, apart = ('the host' if each.device == HOST else f'cuda:{each.device}' for each in (first, second))
        raise ValueError(f'{name} is on {where}, but {other} is on {apart}: give both on one device')
    return second  # type: ignore[return-value]


def _open(x: Any, name: str, stream: Optional[int]) -> Union[Host, View]:
    if isinstance(x, np.ndarray):
        return Host(numbers(x, name), _same, 'bfloat16' if x.dtype.kind == 'V' else '')
    root = library_of(x)
    if root == 'torch' and 'torch' in sys.modules:
        return _open_torch(x, name, stream)
    if root == 'jax':
        return _open_jax(x, name, stream)
    if hasattr(x, '__cuda_array_interface__'):
        return _open_interface(x, name, stream)
    if hasattr(x, '__dlpack_device__'):
        return _open_dlpack(x, name, stream)
    return Host(numbers(x, name), _same)


def open_target(out: Any, stream: Optional[int] = None) -> Union[Host, View]:
    """Opens an array that will be written to; refuses read-only arrays."""
    opened = open_array(out, 'out', stream)
    if _is_lazy(out) or isinstance(opened, Host) and not isinstance(out, np.ndarray) and not hasattr(out, '__dlpack_device__'):
        raise ValueError(f'out is a {type(out).__name__} that cannot be written to: give an array')
    if isinstance(opened, Host) and opened.dtype:
        raise ValueError(f'out has dtype {opened.dtype} on the host, where NumPy has no such numbers: give float32')
    writable = opened.array.flags.writeable if isinstance(opened, Host) else opened.writable
    if not writable:
        raise ValueError('out is read-only: give an array that can be written to')
    return opened


def numbers(x: Any, name: str) -> np.ndarray:
    """The argument as a NumPy array of numbers; raises ValueError if it is not one."""
    if isinstance(x, np.ma.MaskedArray) and np.ma.is_masked(x):
        raise ValueError(f'{name} has a mask, which would be ignored: give an array without one')
    try:
        array = np.asarray(x)
    except Exception as error:  # an object's __array__ may raise any exception
        raise ValueError(f'{name} is no array of numbers: {brief(error)}') from None
    if array.dtype.hasobject:
        raise ValueError(f'{name} is an array of Python objects: convert it to numbers first')
    if array.dtype.kind == 'V' and array.dtype.name == 'bfloat16':  # from JAX's ml_dtypes
        return array.astype(np.float32)
    if array.dtype.kind not in 'biufc':
        raise ValueError(f'{name} has dtype {array.dtype}: give numbers')
    if array.dtype.kind in 'fc' and array.dtype.itemsize // (2 if array.dtype.kind == 'c' else 1) > 8:
        ours = 'complex128' if array.dtype.kind == 'c' else 'float64'
        raise ValueError(f'{name} has dtype {array.dtype}, whose digits would be lost: convert it to {ours} first')
    return array


def library_of(x: Any) -> str:
    """The name of the package of an array's library, such as 'torch'."""
    root = type(x).__module__.partition('.')[0]
    return 'jax' if root == 'jaxlib' else root


def _same(array: Any, stream: int = 0) -> Any:
    return array


# ---- PyTorch -------------------------------------------------------------------------------------


def _is_lazy(x: Any) -> bool:
    """Whether x is a tensor with a pending conjugation or negation, applied when it is read."""
    torch = sys.modules.get('torch')
    return torch is not None and isinstance(x, torch.Tensor) and (x.is_conj() or x.is_neg())


def raw_stream(torch: Any, device: int) -> int:
    """The handle of PyTorch's current stream."""
    # The generated code of torch.compile calls this internal function too. The public API creates
    # an object, which takes microseconds.
    try:
        return torch._C._cuda_getCurrentRawStream(device)
    except AttributeError:
        return torch.cuda.current_stream(device).cuda_stream


def capturing(torch: Any, stream: int) -> bool:
    """Whether PyTorch's current stream, `stream`, is being captured into a CUDA graph.

    The default stream, 0, cannot be captured. It is not queried, since a query takes as long as the
    rest of a call."""
    try:
        return bool(stream) and torch._C._cuda_isCurrentStreamCapturing()
    except Exception:  # PyTorch was built without CUDA, or has no usable driver
        return False


def _open_torch(x: Any, name: str, stream: Optional[int]) -> Union[Host, View]:
    torch = sys.modules['torch']
    if not isinstance(x, torch.Tensor):
        raise ValueError(f'{name} is a {type(x).__name__}: give a tensor')
    if x.requires_grad and torch.is_grad_enabled():
        raise ValueError(f'{name} requires a gradient, which this would lose: give its detach(), or use stentor.torch')
    x = x.detach()
    if x.layout != torch.strided:
        raise ValueError(f'{name} is a tensor of layout {x.layout}: make it dense first, by its method to_dense()')
    if x.device.type == 'cpu':
        given = x.float() if x.dtype == torch.bfloat16 else x.resolve_conj().resolve_neg()
        try:
            array = given.numpy()
        except Exception as error:  # for example a traced tensor without memory
            raise ValueError(f'{name} is a tensor that NumPy cannot read: {brief(error)}') from None
        return Host(numbers(array, name), torch.from_numpy, '' if given.dtype == x.dtype else 'bfloat16')
    if x.device.type != 'cuda':
        raise ValueError(f'{name} is on {x.device}: move it to the CPU or to a CUDA device')
    device, number, dtype = x.device, x.get_device(), type_name(x)
    current = raw_stream(torch, number)
    work = current if stream is None else stream

    def on_stream() -> Any:
        """Makes `work` the current stream: PyTorch's allocator ties memory to that stream."""
        if work == current:
            return contextlib.nullcontext()
        return torch.cuda.stream(torch.cuda.ExternalStream(work, device))

    def empty(shape: Tuple[int, ...], dtype: str) -> Any:
        with on_stream():
            return torch.empty(shape, dtype=getattr(torch, dtype), device=device)

    if x.is_conj() or x.is_neg():
        with on_stream():
            x = x.resolve_conj().resolve_neg()
    return View(x.data_ptr(), Layout.given(x.shape, x.stride()), dtype, number, work, empty, _same, x, True)


# ---- JAX -----------------------------------------------------------------------------------------


def _open_jax(x: Any, name: str, stream: Optional[int]) -> Union[Host, View]:
    """Opens a JAX array. JAX exposes no stream, so inputs and results are synchronized."""
    jax = sys.modules['jax']
    if not isinstance(x, jax.Array) or isinstance(x, jax.core.Tracer):
        raise ValueError(f'{name} is a {type(x).__name__}: Stentor works on arrays with values, outside of jax.jit')
    try:
        kind = x.__dlpack_device__()[0]
    except Exception as error:  # an array that is divided over several devices
        raise ValueError(f'{name} cannot be exported by DLPack: {brief(error)}') from None
    if kind == _dlpack.CPU:
        device = next(iter(x.devices()))
        return Host(numbers(x, name), lambda made: jax.device_put(made, device), 'bfloat16' if type_name(x) == 'bfloat16' else '')

    def finish(made: DeviceArray, used: int) -> Any:
        made.stream = used
        return jax.dlpack.from_dlpack(made)

    opened = _open_dlpack(x, name, stream)
    return opened._replace(finish=finish, writable=False) if isinstance(opened, View) else opened


# ---- __cuda_array_interface__: CuPy, Numba and others --------------------------------------------


def _open_interface(x: Any, name: str, stream: Optional[int]) -> View:
    interface = x.__cuda_array_interface__
    try:
        dtype, shape, (pointer, read_only) = np.dtype(interface['typestr']), tuple(interface['shape']), interface['data']
        strides, produced = interface.get('strides'), interface.get('stream')
        if strides is not None and len(strides) != len(shape):
            raise ValueError(f'{len(strides)} strides for {len(shape)} axes')
        pointer = int(pointer or 0)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ValueError(f'{name} describes itself wrongly in __cuda_array_interface__: {type(error).__name__}, {brief(error)}') from None
    if interface.get('mask') is not None:
        raise ValueError(f'{name} has a mask, which would be ignored: give an array without one')
    if produced is not None and (isinstance(produced, bool) or not isinstance(produced, int) or produced < 1):
        raise ValueError(f"{name} names the stream {said(produced)}: in __cuda_array_interface__ 1 is the default stream, 2 the thread's "
                         'own, and other numbers are handles')
    if not dtype.isnative:
        raise ValueError(f'{name} has bytes in the other order: convert it first')
    if strides is not None and any(stride % dtype.itemsize for stride in strides):
        raise ValueError(f'{name} has strides that are no multiples of its elements: copy it first')
    layout = Layout.given(shape, [s // dtype.itemsize for s in strides]) if strides is not None else Layout.dense(shape)
    if not pointer and 0 not in shape:
        raise ValueError(f'{name} has shape {shape} but its pointer is NULL: give an array with memory')
    device = _interface_device(x, pointer)
    cupy = library_of(x) == 'cupy'
    if stream is not None:
        work = stream
    else:
        work = sys.modules['cupy'].cuda.get_current_stream().ptr if cupy else _handle_of(produced)
    if produced is not None and _handle_of(produced) != work:
        context(device).synchronize(_handle_of(produced))
    empty, finish = _makers(x, device, stream)
    return View(pointer, layout, dtype.name, device, work, empty, finish, x, cupy, not read_only)


def _handle_of(stream: Optional[int]) -> int:
    """The driver's handle of a stream; the interface numbers the default stream 1, the driver 0."""
    return 0 if stream in (None, 1) else int(stream)  # type: ignore[arg-type]


def _interface_device(x: Any, pointer: int) -> int:
    """The number of an array's GPU, from its attribute `device`, from DLPack or from the driver.

    __cuda_array_interface__ itself does not contain it."""
    device = getattr(x, 'device', None)
    number = getattr(device, 'id', device)
    if isinstance(number, int) and not isinstance(number, bool):
        return number
    if hasattr(x, '__dlpack_device__'):
        return x.__dlpack_device__()[1]
    found = ctypes.c_int()
    try:
        failed = _driver().cuPointerGetAttribute(ctypes.byref(found), _POINTER_DEVICE, ctypes.c_uint64(pointer))
    except (OSError, AttributeError):  # there is no driver: making the context reports this
        return 0
    return 0 if failed else found.value


_POINTER_DEVICE = 9  # CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL


@functools.lru_cache(maxsize=None)
def _driver() -> ctypes.CDLL:
    """The CUDA driver, which the library of a GPU array has loaded."""
    path = os.environ.get('STENTOR_CUDA_PATH') or 'libcuda.so.1'
    return ctypes.CDLL(os.path.join(path, 'libcuda.so.1') if os.path.isdir(path) else path)


def _cupy_stream(cupy: Any, stream: int) -> Any:
    """A CuPy stream object for a stream's handle."""
    # CuPy before version 14 has no Stream.from_external.
    if not hasattr(cupy.cuda, 'Stream') or not hasattr(cupy.cuda.Stream, 'from_external'):
        return cupy.cuda.ExternalStream(stream)

    class Named:
        def __cuda_stream__(self) -> Tuple[int, int]:
            return 0, stream

    return cupy.cuda.Stream.from_external(Named())


def _makers(x: Any, device: int, stream: Optional[int]) -> Tuple[Callable, Callable]:
    """The functions `empty` and `finish` of a View: for CuPy its own arrays, else a DeviceArray.

    `stream` is used instead of the current stream, unless it is None."""
    if library_of(x) == 'cupy':
        cupy = sys.modules['cupy']

        def empty(shape: Tuple[int, ...], dtype: str) -> Any:
            with cupy.cuda.Device(device), _cupy_stream(cupy, stream) if stream is not None else contextlib.nullcontext():
                return cupy.empty(shape, dtype)

        return empty, _same

    def device_empty(shape: Tuple[int, ...], dtype: str) -> DeviceArray:
        return DeviceArray(shape, dtype, device)

    def with_stream(made: DeviceArray, used: int) -> DeviceArray:
        made.stream = used
        return made

    return device_empty, with_stream


# ---- DLPack --------------------------------------------------------------------------------------


def _open_dlpack(x: Any, name: str, stream: Optional[int]) -> Union[Host, View]:
    try:
        kind, number = x.__dlpack_device__()
        held = np.from_dlpack(_dlpack.Checked(x)) if kind in (_dlpack.CPU, _dlpack.CUDA_HOST) else None
    except Exception as error:
        raise ValueError(f'{name} cannot be exported by DLPack: {brief(error)}') from None
    if held is not None:
        return Host(numbers(held, name), getattr(type(x), 'from_dlpack', _same))
    if kind not in (_dlpack.CUDA, _dlpack.CUDA_MANAGED):
        raise ValueError(f'{name} is on a device of DLPack type {kind}: move it to the CPU or to a CUDA device')
    try:
        given = _dlpack.Checked(x).__dlpack__(stream=stream or 1)
    except StentorError:
        raise
    except Exception as error:
        raise ValueError(f'{name} cannot be exported by DLPack: {brief(error)}') from None
    taken = _dlpack.take(given)
    empty, finish = _makers(x, number, stream)
    return View(taken.pointer, taken.layout, taken.dtype, number, stream or 0, empty, finish, taken.owner)


def weights_of(weights: Any) -> np.ndarray:
    """Weights as a NumPy array; weights on a GPU are copied, after a wait for their stream."""
    opened = open_array(weights, 'weights')
    if isinstance(opened, Host):
        return opened.array
    home, error, layout = context(opened.device), new_error(), opened.layout
    home.synchronize(opened.stream)
    if any(stride < 0 for stride in layout.strides):
        raise ValueError(f'weights have strides {layout.strides}, which go backwards: copy them first')
    size = 1 + sum(stride * (n - 1) for stride, n in zip(layout.strides, layout.shape)) if 0 not in layout.shape else 0
    held = np.empty(size, 'uint16' if opened.dtype == 'bfloat16' else opened.dtype)
    if size:
        check(lib.stn_memory_download(home.handle, ffi.from_buffer(held), ffi.cast('void *', opened.pointer), held.nbytes, error), error)
    copy = np.lib.stride_tricks.as_strided(held, layout.shape, [stride * held.itemsize for stride in layout.strides]).copy()
    return copy if opened.dtype != 'bfloat16' else (copy.astype(np.uint32) << 16).view(np.float32)


def address_of(made: Any) -> int:
    """The address of an array made by View.empty."""
    if isinstance(made, DeviceArray):
        return made.pointer
    if hasattr(made, 'data_ptr'):
        return made.data_ptr()
    return made.__cuda_array_interface__['data'][0]


def may_overlap(a: View, b: View) -> bool:
    """Whether the memory ranges of two arrays, from first to last element, intersect."""
    ends = []
    for view in (a, b):
        reach = sum(s * (n - 1) for s, n in zip(view.layout.strides, view.layout.shape))
        ends.append(view.pointer + (reach + 1) * ITEM_SIZES[view.dtype])
    return a.pointer < ends[1] and b.pointer < ends[0]
