"""Memory of a call on a GPU beside its arrays: the plan's workspace, and what lies between passes."""

import sys
from typing import Any, Callable, Dict, Optional, Tuple

from ._arrays import address_of, capturing
from ._context import context
from ._device import DeviceArray
from ._locks import new_lock
from ._memo import pin

STREAMS = 16  # whose memory is kept
_lock = new_lock()


def rounded(size: int) -> int:
    return -(-size // 256) * 256


class Prepared:
    """What is prepared for a GPU. All that a run changes lies in its scratch memory, so that it may run in several streams, and be
    captured in one while it runs in another. Where the caller's library allocates in the order of the stream, that memory comes
    from there and goes with the call; otherwise there is some for each stream, which is kept."""

    def __init__(self, device: int, scratch: int):
        self.device, self.bytes, self.lock = device, scratch, new_lock()
        self.single: Optional[Callable[[int, int, int, int], None]] = None  # all that a call runs, where that is one plan
        self._own: Dict[int, DeviceArray] = {}  # by stream, the last so many

    @property
    def held(self) -> int:
        """Bytes of the GPU that it keeps: scratch memory for a stream, and tables, which are as large at most."""
        return 2 * self.bytes

    def scratch(self, view: Any) -> Tuple[int, Any]:
        """Where it lies for this call, and what keeps it. `view` tells the stream, and how memory is had there."""
        if view.ordered and 'torch' in sys.modules and capturing(sys.modules['torch'], view.stream):
            pin(self)
        if not self.bytes:
            return 0, None
        made = view.empty((self.bytes,), 'uint8') if view.ordered else self._kept(view.stream)
        return address_of(made), made

    def grow(self, scratch: int) -> None:
        """More of it, where a plan that got new weights takes more."""
        if scratch > self.bytes:
            with _lock:
                self.bytes = scratch
                self._own.clear()  # freed, which waits for what uses it

    def _kept(self, stream: int) -> DeviceArray:
        with _lock:
            found = self._own.get(stream)
            if found is None:
                while len(self._own) >= STREAMS:
                    self._own.pop(next(iter(self._own)))  # freed, which waits for what uses it
                found = self._own[stream] = DeviceArray((self.bytes,), 'uint8', self.device)
            return found

    def finish(self) -> None:
        """Waits for all that is under way: plans must not go before."""
        context(self.device).wait()
