"""GPU arrays of other libraries for tests: memory from the driver, and a stand-in for CuPy.

The arrays are described by __cuda_array_interface__.
"""
import contextlib
import ctypes
import gc
import os
import sys
import types

import numpy as np

import stentor
from run_settings import need_gpu

DRIVER = os.environ.get('STENTOR_CUDA_PATH', 'libcuda.so.1')
EMULATED = 'emulated' in DRIVER


def call(name, *given):
    result = getattr(driver, name)(*given)
    if result:
        raise RuntimeError(f'{name} returned {result}')


def start():
    """Loads the driver and makes a context current; exits with status 77 if there is no GPU."""
    global driver
    need_gpu()
    driver = ctypes.CDLL(DRIVER)
    use(0)


def devices():
    count = ctypes.c_int()
    call('cuDeviceGetCount', ctypes.byref(count))
    return count.value


def use(device):
    """Makes a device's primary context current."""
    current = ctypes.c_void_p()
    call('cuDevicePrimaryCtxRetain', ctypes.byref(current), device)
    call('cuCtxSetCurrent', current)


class Stream:
    """A non-blocking stream, with the attribute `ptr` of CuPy's streams."""

    def __init__(self):
        made = ctypes.c_void_p()
        call('cuStreamCreate', ctypes.byref(made), 1)
        self.ptr = made.value

    def wait(self):
        call('cuStreamSynchronize', ctypes.c_void_p(self.ptr))

    def destroy(self):
        call('cuStreamDestroy_v2', ctypes.c_void_p(self.ptr))

    @contextlib.contextmanager
    def captured(self, graph):
        """Captures the work on this stream into a graph.

        Garbage is collected first, as in torch.cuda.graph: freeing memory would invalidate the
        capture."""
        gc.collect()
        call('cuStreamBeginCapture_v2', ctypes.c_void_p(self.ptr), 0)
        made = ctypes.c_void_p()
        try:
            yield
        except BaseException:
            driver.cuStreamEndCapture(ctypes.c_void_p(self.ptr), ctypes.byref(made))
            raise
        call('cuStreamEndCapture', ctypes.c_void_p(self.ptr), ctypes.byref(made))
        graph.take(made)


class Graph:
    def take(self, captured):
        self.ready = ctypes.c_void_p()
        call('cuGraphInstantiateWithFlags', ctypes.byref(self.ready), captured, ctypes.c_ulonglong(0))
        call('cuGraphDestroy', captured)

    def launch(self, stream):
        call('cuGraphLaunch', self.ready, ctypes.c_void_p(stream.ptr))


class Memory:
    """An allocation on one device."""

    def __init__(self, size, device=0):
        self.device, made = device, ctypes.c_uint64()
        use(device)
        call('cuMemAlloc_v2', ctypes.byref(made), ctypes.c_size_t(max(1, size)))
        use(0)
        self.pointer, self.free = made.value, driver.cuMemFree_v2

    def __del__(self):
        self.free(ctypes.c_uint64(self.pointer))


def bounds(x):
    """The address of an array's first byte, and the address after its last byte."""
    at = x.__array_interface__['data'][0]
    reach = [stride * (n - 1) for stride, n in zip(x.strides, x.shape)] if x.size else []
    return at + sum(r for r in reach if r < 0), at + sum(r for r in reach if r > 0) + x.itemsize * bool(x.size)


class Interface:
    """A GPU array with __cuda_array_interface__ only.

    It has the values and strides of `x`, and starts `offset` bytes after its allocation's start."""

    def __init__(self, x, stream=None, read_only=False, offset=0, device=0):
        self.x, self.device, (low, high) = x, device, bounds(x)
        self.size, self.first = high - low, offset + x.__array_interface__['data'][0] - low
        self.memory = Memory(self.size + offset, device)
        self.offset, self.told = offset, {'shape': x.shape, 'typestr': x.dtype.str, 'version': 3, 'stream': stream,
                                          'strides': None if x.flags.c_contiguous else x.strides,
                                          'data': (self.memory.pointer + self.first, read_only)}
        self.put(x)

    def put(self, x):
        """Uploads the values of an array with the same layout."""
        if self.size:
            low = bounds(x)[0]
            call('cuMemcpyHtoD_v2', ctypes.c_uint64(self.memory.pointer + self.offset), ctypes.c_void_p(low), ctypes.c_size_t(self.size))
            call('cuStreamSynchronize', None)

    def numpy(self):
        """The current values, for a dense array."""
        made = np.empty(self.x.shape, self.x.dtype)
        call('cuMemcpyDtoH_v2', ctypes.c_void_p(made.ctypes.data), ctypes.c_uint64(self.told['data'][0]), ctypes.c_size_t(made.nbytes))
        return made

    @property
    def __cuda_array_interface__(self):
        return self.told


class Cupy:
    """A stand-in for the module cupy, whose arrays come from a stream-ordered memory pool.

    As with PyTorch's allocator, arrays can be made also while a stream is captured."""

    def __init__(self, size=1 << 22):
        self.pool, self.used, self.current = Memory(size), 0, types.SimpleNamespace(ptr=0)
        outer = self

        class ndarray(Interface):
            def __init__(self, x, stream=None):
                super().__init__(x, stream)
                self.device = types.SimpleNamespace(id=0)

        def empty(shape, dtype):
            made, x = ndarray.__new__(ndarray), np.empty(shape, dtype)
            made.x, made.device, made.offset, made.size, made.memory = x, types.SimpleNamespace(id=0), 0, x.nbytes, outer.pool
            made.allocated_on = outer.current.ptr
            made.told = {'shape': x.shape, 'typestr': x.dtype.str, 'version': 3, 'data': (outer.pool.pointer + outer.used, False)}
            outer.used += -(-x.nbytes // 512) * 512
            assert outer.used < size
            return made

        @contextlib.contextmanager
        def on(stream):
            before, self.current = self.current, types.SimpleNamespace(ptr=stream if isinstance(stream, int) else stream.ptr)
            try:
                yield
            finally:
                self.current = before

        ndarray.__module__ = 'cupy'
        self.module = types.ModuleType('cupy')
        self.module.__dict__.update(ndarray=ndarray, empty=empty, cuda=types.SimpleNamespace(
            Device=lambda number: contextlib.nullcontext(), ExternalStream=on, get_current_stream=lambda: self.current))
        self.on = on

    def __enter__(self):
        self.before = sys.modules.get('cupy')
        sys.modules['cupy'] = self.module
        return self

    def __exit__(self, *error):
        sys.modules.pop('cupy')
        if self.before is not None:
            sys.modules['cupy'] = self.before
