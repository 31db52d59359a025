"""Scratch memory of a call on a GPU: the plan's workspace and intermediate arrays."""

import sys
from typing import Any, Callable, Dict, Optional, Sequence, Tuple

from ._arrays import address_of, capturing
from ._context import HOST, context
from ._device import DeviceArray
from ._locks import new_lock
from ._memo import pin

TABLES = 1 << 18  # an estimate of the bytes of a prepared object's tables, at most
STREAMS = 16  # the largest number of streams whose scratch memory is kept
_lock = new_lock()


def rounded(size: int) -> int:
    return -(-size // 256) * 256


class Prepared:
    """A filter, transform or layer prepared for a GPU.

    A run writes only to its output and its scratch memory, so that it may run in several streams at
    once, and be captured in one while it runs in another. If the caller's library allocates in
    stream order, scratch memory comes from it and is freed after the call; otherwise the object
    keeps scratch memory for each stream."""

    def __init__(self, device: int, scratch: int, host_workspace: int = 0):
        self.device, self.bytes, self.lock = device, scratch, new_lock()
        self._host_workspace = host_workspace  # of its plans
        self.ordered = False  # the library of the arrays allocates in stream order
        # The function that runs the whole call, if that is a single plan.
        self.single: Optional[Callable[[int, int, int, int], None]] = None
        self._own: Dict[int, DeviceArray] = {}  # scratch memory of the last STREAMS streams

    @property
    def cached_bytes(self) -> int:
        """Bytes between calls: on the host the workspaces of plans, on a GPU tables and, if it is
        kept, a stream's scratch memory."""
        return self._host_workspace + (min(self.bytes, TABLES) if self.ordered else 2 * self.bytes)

    def used_by(self, view: Any) -> Any:
        """Prepares this object for arrays whose library allocates as that of `view`; returns it."""
        self.ordered = view.ordered
        return self

    def scratch(self, view: Any) -> Tuple[int, Any]:
        """The address of a call's scratch memory, and the object that keeps it alive.

        `view` holds the stream and allocates memory in it."""
        if view.ordered and 'torch' in sys.modules and capturing(sys.modules['torch'], view.stream):
            pin(self)
        if not self.bytes:
            return 0, None
        made = view.empty((self.bytes,), 'uint8') if view.ordered else self._kept(view.stream)
        return address_of(made), made

    def grow(self, scratch: int) -> None:
        """Enlarges the scratch memory, if a plan needs more for new weights."""
        if scratch > self.bytes:
            with _lock:
                self.bytes = scratch
                self._own.clear()  # freeing waits for the work that uses it

    def _kept(self, stream: int) -> DeviceArray:
        with _lock:
            found = self._own.get(stream)
            if found is None:
                while len(self._own) >= STREAMS:
                    self._own.pop(next(iter(self._own)))  # freeing waits for the work that uses it
                found = self._own[stream] = DeviceArray((self.bytes,), 'uint8', self.device)
            return found

    def finish(self) -> None:
        """Waits for all work on a GPU: plans must not be destroyed before."""
        if self.device != HOST:
            context(self.device).wait()


class Stages(Prepared):
    """Plans and copies on a GPU that run one after the other, through two ping-pong buffers.

    Each stage has a `workspace` and a function `run`; the buffers have `size` bytes each. A derived
    class sets `shape` and `dtype`, those of the result."""

    shape: Tuple[int, ...]
    dtype: str

    def __init__(self, device: int, stages: Sequence[Any], size: int):
        work = rounded(max(each.workspace for each in stages))
        self._stages, self._buffers = stages, [work, work + size]  # offsets in the scratch memory
        super().__init__(device, work + size * min(len(stages) - 1, 2))
        self.single = stages[0].run if len(stages) == 1 else None

    def __call__(self, view: Any, pointer: int) -> None:
        """Runs from a view to the array of `shape` and `dtype` at `pointer`."""
        memory, kept = self.scratch(view)
        self.enqueue(view.pointer, pointer, view.stream, memory)
        del kept  # not freed before this point

    def enqueue(self, source: int, target: int, stream: int, memory: int) -> None:
        if self.single is not None:
            self.single(source, target, stream, memory)
            return
        last = len(self._stages) - 1
        with self.lock:  # other threads may use the same scratch memory
            for i, stage in enumerate(self._stages):
                to = target if i == last else memory + self._buffers[i % 2]
                stage.run(source, to, stream, memory)
                source = to
