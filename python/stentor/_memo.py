"""What the functions prepared for their last problems, so that a call like the one before costs microseconds."""

import atexit
import collections
import os

from ._locks import new_lock

MOST = 256  # calls
MOST_BYTES = min(64 << 20, os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // 20)  # of their tables and scratch memory
_prepared: collections.OrderedDict = collections.OrderedDict()
_bytes: dict = {}  # by the same keys
_total = [0]  # the sum of them
_pinned: set = set()
_lock = new_lock()


def recall(key):
    """What was prepared for a key, or None; so too for what cannot be a key, which is wrong and will be told so."""
    try:
        found = _prepared.get(key)
    except TypeError:
        return None
    if found is not None:
        try:
            _prepared.move_to_end(key)
        except KeyError:  # another thread has just dropped it
            pass
    return found


def remember(key, prepared):
    """Keeps it, and drops what has not been used for longest, as long as there are too many or they hold too much memory
    (`prepared.held`, bytes); the last one always stays. Work on a GPU is waited for first. What is no key, such as an array of one
    number for a number, is not kept."""
    try:
        hash(key)
    except TypeError:
        return prepared
    with _lock:
        dropped = []
        _total[0] += getattr(prepared, 'held', 0) - _bytes.get(key, 0)
        _prepared[key], _bytes[key] = prepared, getattr(prepared, 'held', 0)
        while len(_prepared) > 1 and (len(_prepared) > MOST or _total[0] > MOST_BYTES):
            oldest, each = _prepared.popitem(last=False)
            _total[0] -= _bytes.pop(oldest)
            dropped.append(each)
    for each in dropped:
        _finish(each)
    return prepared


def _finish(prepared) -> None:
    """A device that fails is told of by the calls on it, not here."""
    try:
        prepared.finish()
    except Exception:
        pass


def pin(prepared) -> None:
    """Keeps what a CUDA graph has captured, which needs it for as long as it is replayed: until clear_cache."""
    with _lock:
        _pinned.add(prepared)


def clear_cache() -> None:
    """Forgets all plans that the functions have prepared, and frees their memory.

    A CUDA graph that captured a call of a function uses such a plan: what PyTorch captures is kept until this is called, so do
    not while there is such a graph.

    Examples
    --------
    >>> import numpy as np, stentor
    >>> stentor.laplace(np.eye(2))
    array([[-2.,  2.],
           [ 2., -2.]])
    >>> stentor.clear_cache()
    """
    with _lock:
        dropped = list(_prepared.values())
        _prepared.clear()
        _bytes.clear()
        _total[0] = 0
        _pinned.clear()
    for each in dropped:
        _finish(each)


def _after_fork() -> None:
    _prepared.clear()
    _bytes.clear()
    _total[0] = 0
    _pinned.clear()


os.register_at_fork(after_in_child=_after_fork)
# Kernels may still be compiled in the background for a second call: that ends before the compiler goes.
atexit.register(clear_cache)
