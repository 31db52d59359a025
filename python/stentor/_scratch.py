"""Memory of a call on a GPU beside its arrays: the plan's workspace, and what lies between passes."""

import threading
from typing import Any, Dict, Tuple

from ._arrays import View, address_of
from ._context import context
from ._device import DeviceArray
from ._errors import StentorError

STREAMS = 16  # whose memory is kept


def rounded(size: int) -> int:
    return -(-size // 256) * 256


class Prepared:
    """What is prepared for a GPU. All that a run changes lies in its scratch memory, so that it may run in several streams, and be
    captured in one while it runs in another. Where the caller's library allocates in the order of the stream, that memory comes
    from there and goes with the call; otherwise there is some for each stream, which is kept."""

    def __init__(self, device: int, scratch: int):
        self._device, self._scratch, self.lock = device, scratch, threading.Lock()
        self._kept: Dict[int, Any] = {}  # by stream: its memory, or None; the last that were used

    def scratch(self, view: View) -> Tuple[int, Any]:
        """Where it lies for this call, and what keeps it."""
        stream = view.stream
        if stream not in self._kept or not view.ordered:
            self._use(stream, not view.ordered)
        if not self._scratch:
            return 0, None
        made = view.empty((self._scratch,), 'uint8') if view.ordered else self._kept[stream]
        return address_of(made), made

    def _use(self, stream: int, own: bool) -> None:
        kept = self._kept.get(stream)
        if kept is None and own and self._scratch:
            kept = DeviceArray((self._scratch,), 'uint8', self._device)
        while len(self._kept) >= STREAMS and stream not in self._kept:
            self._wait(next(iter(self._kept)))
        self._kept[stream] = kept

    def _wait(self, stream: int) -> None:
        try:
            context(self._device).synchronize(stream)
        except StentorError:  # its owner has destroyed it
            pass
        self._kept.pop(stream, None)

    def finish(self) -> None:
        """Waits for all that is under way: plans must not go before."""
        for stream in list(self._kept):
            self._wait(stream)
