"""The fast path of repeated calls: finds and runs a cached filter or transform.

It accepts NumPy arrays and PyTorch's CUDA tensors, without opening them.
"""

import math
import sys
from typing import Any, Dict, NamedTuple, Optional, Tuple

import numpy as np

from ._arguments import frozen
from ._arrays import capturing, raw_stream
from ._memo import pin, recall, remember
from ._number_types import ITEM_SIZES, type_name
from ._scratch import STREAMS

KEPT_BYTES = 1 << 16  # the largest scratch memory, in bytes, that is kept between calls
SMALL = 1 << 14  # points of a small array
UNPLANNED = 1 << 20  # points up to which passes of one step need no plan
_ndarray = np.ndarray


def small_layout(x: np.ndarray) -> Optional[Tuple]:
    """What a filter without a plan depends on, or None for arrays that need a HostFilter.

    Beyond small arrays these are dense arrays that one pass filters."""
    size = x.size
    if SMALL < size <= UNPLANNED and x.flags.c_contiguous:
        return x.ndim, x.dtype, SMALL
    return (x.ndim, x.dtype) if 0 < size <= SMALL else None


class Given(NamedTuple):
    """Arguments that a key does not hold; None for those that it does.

    A filter of small arrays takes them anew in each call."""

    # Of every pass, in the order of its taps, or of all passes, one after the other.
    weights: Optional[np.ndarray]
    cval: Optional[float] = None
    # Boxes along every axis, or along each axis that is filtered: the number of points of each, and
    # how many of them are before the centre.
    boxes: Optional[Tuple[Tuple[int, int], ...]] = None


def completed(key: Tuple, given: Optional[Given]) -> Tuple:
    """The key, completed by the arguments that it does not hold."""
    if given is None:
        return key
    weights = given.weights
    if weights is None:
        return key, frozen(given.cval), given.boxes
    return key, frozen(given.cval), weights.dtype, weights.tobytes()


def quick(key: Tuple, x: Any, small: bool = False, given: Optional[Given] = None) -> Any:
    """The result, or None if nothing is cached.

    `small` looks for a filter without a plan too."""
    if type(x) is _ndarray and x.dtype.isnative:  # results have native byte order
        return _quick_on_host(key, x, small, given, x.dtype, None)
    key = completed(key, given)
    full = _tensor_key(key, x)
    if full is None:
        return None
    call = recall(full)
    return None if call is None else call(x)


def _quick_on_host(key: Tuple, x: np.ndarray, small: bool, given: Optional[Given], dtype: np.dtype, out: Optional[np.ndarray]) -> Any:
    layout = small_layout(x) if small else None
    if layout is not None and given is not None:
        found = recall((key, layout, dtype))
        if found is not None:
            return found(x, out, given)
    key = completed(key, given)
    prepared = None if layout is None else recall((key, layout, dtype))
    if prepared is None:
        prepared = recall((key, x.shape, x.strides, x.dtype, x.flags.aligned, dtype))
    return None if prepared is None else prepared(x) if out is None else prepared(x, out)


def quick_for(key: Tuple, x: Any, output: Any, out: Any, given: Optional[Given]) -> Any:
    """As `quick`, for a call with `output` and `out`: a dtype, or an array to write to."""
    if output is None and out is None:
        return quick(key, x, True, given)
    out = output if out is None else out if output is None else None
    if type(x) is _ndarray and type(out) in (_ndarray, type, np.dtype, str):
        return _quick_output(key, x, out, given) if output is out or type(out) is _ndarray else None
    torch = sys.modules.get('torch')
    if torch is None or type(out) is not torch.Tensor:
        return None
    full = _tensor_key(completed(key, given), x, out)
    call = None if full is None else recall(full)
    return None if call is None else call(x, out)


def _quick_output(key: Tuple, x: np.ndarray, output: Any, given: Optional[Given]) -> Any:
    """The result in an array, or of a dtype. What is invalid is reported later."""
    if type(output) is _ndarray:
        return _quick_on_host(key, x, True, given, output.dtype, output) if output.shape == x.shape else None
    try:
        dtype = np.dtype(output)
    except TypeError:
        return None
    known = dtype.isnative and not (dtype.kind == 'b' and type(output) is str)
    return _quick_on_host(key, x, True, given, dtype, None) if known else None


def remember_tensor(key: Tuple, x: Any, prepared: Any, out: Any = None) -> None:
    """Caches `prepared` also under the attributes of the CUDA tensor x, and of the tensor `out`.

    `out` must be dense, or None if a new result is made."""
    full = _tensor_key(key, x, out)
    if full is not None:
        remember(full, TensorCall(sys.modules['torch'], prepared, x, out))


def _tensor_key(key: Tuple, x: Any, out: Any = None) -> Optional[Tuple]:
    torch = sys.modules.get('torch')
    if torch is None or type(x) is not torch.Tensor or not x.is_cuda or x.is_neg() or x.is_conj() or x.requires_grad:
        return None
    full = (key, x.shape, x.stride(), x.dtype, x.get_device(), x.data_ptr() % 16)
    if out is None:
        return full
    other = _tensor_key((), out)
    return None if other is None else (full, other)


class TensorCall:
    """A filter or transform prepared for a GPU, called on tensors like an earlier one."""

    def __init__(self, torch: Any, prepared: Any, x: Any, out: Any = None):
        self.prepared, self._torch, self._device = prepared, torch, x.device
        self._dtype = getattr(torch, prepared.dtype)
        self._enqueue = prepared.single or prepared.enqueue
        self._like = x.is_contiguous() and x.dtype == self._dtype and tuple(x.shape) == tuple(prepared.shape)
        # The sizes of both dense arrays, if the result is given.
        self._bytes = [math.prod(each.shape) * ITEM_SIZES[type_name(each)] for each in (x, out) if out is not None]
        self._kept: Dict[int, Any] = {}  # small scratch memory, by stream

    def __call__(self, x: Any, out: Any = None) -> Any:
        """The result, in `out` if that is given; None if it overlaps x."""
        torch, prepared = self._torch, self.prepared
        source = x.data_ptr()
        if out is not None:
            made, target = out, out.data_ptr()
            if source < target + self._bytes[1] and target < source + self._bytes[0]:
                return None
        else:
            made = torch.empty_like(x) if self._like else torch.empty(prepared.shape, dtype=self._dtype, device=self._device)
        stream = raw_stream(torch, prepared.device)
        captured = capturing(torch, stream)
        if captured:
            pin(prepared)
        memory = self._memory(stream, captured) if prepared.bytes else None
        self._enqueue(source, made.data_ptr(), stream, 0 if memory is None else memory.data_ptr())
        return made

    def _memory(self, stream: int, captured: bool) -> Any:
        """Scratch memory for a call.

        Small scratch memory is kept for each stream, in which calls run one after the other. A
        captured graph may be replayed in another stream, so that it gets memory of its own."""
        found = None if captured else self._kept.get(stream)
        if found is None:
            found = self._torch.empty((self.prepared.bytes,), dtype=self._torch.uint8, device=self._device)
            if not captured and self.prepared.bytes <= KEPT_BYTES and len(self._kept) < STREAMS:
                self._kept[stream] = found
        return found

    def finish(self) -> None:
        self.prepared.finish()
