"""DeviceArray: memory on a GPU, for programs without another CUDA library.

It also holds results for arrays whose library has no allocator that Stentor knows.
"""

import math
from typing import Any, Dict, Optional, Sequence, Tuple

import numpy as np

from . import _dlpack
from ._context import HOST, context, device_name, device_number
from ._errors import check, new_error
from ._library import ffi, lib
from ._problem import Layout
from ._words import brief, listed, said, whole


class DeviceArray:
    """A dense array in a GPU's memory, with ``__cuda_array_interface__`` and DLPack.

    Parameters
    ----------
    shape : sequence of int
    dtype : dtype
    device : int, optional
        The GPU's number.

    See Also
    --------
    to_device : makes one from a NumPy array.

    Examples
    --------
    >>> import stentor
    >>> try:
    ...     shape = stentor.DeviceArray((2, 3), 'float32').shape
    ... except stentor.StentorError:  # no GPU here
    ...     shape = (2, 3)
    >>> shape
    (2, 3)
    """

    def __init__(self, shape: Sequence[int], dtype: Any, device: int = 0):
        self.shape: Tuple[int, ...] = tuple(whole(each, 'an extent of shape', 0) for each in listed(shape, 'shape'))
        try:
            self.dtype = np.dtype(dtype)
        except TypeError:
            raise ValueError(f'dtype is {said(dtype)}: give one of NumPy') from None
        if self.dtype.hasobject:
            raise ValueError(f'dtype is {self.dtype}: give one of numbers')
        self.device = device_number(device)
        if self.device == HOST:
            raise ValueError(f'device is {said(device)}: a DeviceArray is on a GPU')
        self.stream = 0
        home, made, error = context(self.device), ffi.new('void **'), new_error()
        size = self.dtype.itemsize * math.prod(self.shape)
        if size >= 2**63:
            raise MemoryError(f'an array of shape {self.shape} and dtype {self.dtype} has {size} bytes: more than any memory')
        check(lib.stn_memory_alloc(home.handle, max(1, size), made, error), error)

        # The default argument keeps the context, which must outlive its memory.
        def free(pointer, home=home, end=lib.stn_memory_free):
            end(home.handle, pointer)

        self.nbytes = size
        self._home, self._memory = home, ffi.gc(made[0], free)

    @property
    def pointer(self) -> int:
        """The address of the first element."""
        return int(ffi.cast('uintptr_t', self._memory))

    def numpy(self) -> np.ndarray:
        """A copy on the host. Waits for the work that fills this array."""
        result, error = np.empty(self.shape, self.dtype), new_error()
        self._home.synchronize(self.stream)
        if self.nbytes:
            check(lib.stn_memory_download(self._home.handle, ffi.from_buffer(result), self._memory, self.nbytes, error),
                  error)
        return result

    @property
    def __cuda_array_interface__(self) -> Dict[str, Any]:
        return {'shape': self.shape, 'typestr': self.dtype.str, 'data': (self.pointer, False), 'version': 3,
                'strides': None, 'stream': self.stream or 1}

    def __dlpack_device__(self) -> Tuple[int, int]:
        return _dlpack.CUDA, self.device

    def __dlpack__(self, *, stream: Optional[int] = None, max_version: Optional[Tuple[int, int]] = None,
                   dl_device: Optional[Tuple[int, int]] = None, copy: Optional[bool] = None) -> Any:
        if copy or dl_device not in (None, self.__dlpack_device__()):
            raise BufferError('a DeviceArray is handed over as it is: without a copy, on its own device')
        if stream != -1:
            self._home.synchronize(self.stream)  # the data is then ready in every stream
        return _dlpack.capsule(self, self.pointer, Layout.dense(self.shape), self.dtype, self.__dlpack_device__())

    def __repr__(self) -> str:
        return f'DeviceArray(shape={self.shape}, dtype={self.dtype.name}, device={device_name(self.device)!r})'


def to_device(array: Any, device: Any = 'cuda') -> DeviceArray:
    """Copy an array from the host to a GPU.

    Parameters
    ----------
    array : array_like
    device : str or int, optional
        'cuda', 'cuda:N' or a GPU's number.

    Returns
    -------
    DeviceArray
        Its method ``numpy()`` copies it back.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> try:
    ...     x = stentor.to_device(np.ones(3)).numpy()
    ... except stentor.StentorError:  # no GPU here
    ...     x = np.ones(3)
    >>> x
    array([1., 1., 1.])
    """
    number = device_number(device)
    if number == HOST:
        raise ValueError("to_device copies to a GPU, but device is the host: give 'cuda' or 'cuda:N'")
    try:
        source = np.asarray(array)
    except Exception as wrong:  # an object's __array__ may raise any exception
        raise ValueError(f'array is no array: {brief(wrong)}') from None
    if source.dtype.hasobject:
        raise ValueError('array is an array of Python objects: give numbers')
    shape, source = source.shape, np.ascontiguousarray(source)
    made, error = DeviceArray(shape, source.dtype, number), new_error()
    if made.nbytes:
        check(lib.stn_memory_upload(made._home.handle, made._memory, ffi.from_buffer(source), made.nbytes, error), error)
    return made
