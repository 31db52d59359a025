"""One context a device, made when it is first needed, and what a device is called."""

import os
import threading

from ._errors import check, new_error
from ._library import ffi, lib

HOST = -1
_contexts: dict = {}
_lock = threading.Lock()


class Context:
    """A device's context. `device` is HOST or the GPU's number. It stays until the process ends: it must outlive its plans, and
    when Python ends, objects go in any order."""

    def __init__(self, device: int):
        options = ffi.new('stn_context_options *', {'struct_size': ffi.sizeof('stn_context_options')})
        options.device = lib.STN_DEVICE_HOST if device == HOST else device + 1
        made, error = ffi.new('stn_context **'), new_error()
        check(lib.stn_context_create(options, made, error), error)
        self.handle = made[0]
        self.device = device

    def synchronize(self, stream: int) -> None:
        """Waits for all work on a stream."""
        error = new_error()
        check(lib.stn_synchronize(self.handle, ffi.cast('void *', stream), error), error)

    def wait(self) -> None:
        """Waits for all work on the device, in whatever streams, of which some may be gone: freeing memory does."""
        made, error = ffi.new('void **'), new_error()
        check(lib.stn_memory_alloc(self.handle, 1, made, error), error)
        lib.stn_memory_free(self.handle, made[0])


def context(device: int) -> Context:
    """The device's context."""
    found = _contexts.get(device)
    if found is None:
        with _lock:
            found = _contexts.get(device)
            if found is None:
                found = _contexts[device] = Context(device)
    return found


def device_number(device) -> int:
    """What a caller calls a device ('host', 'cpu', 'cuda', 'cuda:1', 1, 'auto', a torch.device) as a number, or HOST."""
    name = str(device) if isinstance(device, (str, int)) or type(device).__module__ == 'torch' else ''
    if name in ('host', 'cpu'):
        return HOST
    if name == 'auto':
        return _automatic()
    if name == 'cuda':
        return 0
    digits = name[len('cuda:'):] if name.startswith('cuda:') else name
    if digits.isascii() and digits.isdecimal() and len(digits) < 9 and not isinstance(device, bool):
        return int(digits)
    raise ValueError(f"device is {' '.join(repr(device).split())[:80]}: give 'host', 'cuda', 'cuda:N', a GPU's number, or 'auto'")


def device_name(device: int) -> str:
    return 'host' if device == HOST else f'cuda:{device}'


def _automatic() -> int:
    """The first GPU that can be used, else the host."""
    try:
        context(0)
    except Exception:  # whatever the reason, the host remains
        return HOST
    return 0


def _after_fork() -> None:
    """A child makes contexts of its own: those of its parent have no threads here, and CUDA does not survive a fork."""
    global _lock
    _lock = threading.Lock()
    _contexts.clear()


os.register_at_fork(after_in_child=_after_fork)
