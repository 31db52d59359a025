"""The least-recently-used cache of prepared filters, transforms and tables.

A call with the arguments and array layouts of an earlier one then costs only microseconds.
"""

import atexit
import collections
import functools
import os

from ._locks import new_lock

MAX_ENTRIES = 256  # entries
# The largest total size of the entries' tables and scratch memory, in bytes.
MAX_BYTES = min(64 << 20, os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') // 20)
_prepared: collections.OrderedDict = collections.OrderedDict()
_bytes: dict = {}  # the size of each entry, by the same keys
_total = [0]  # the sum of the sizes
_pinned: set = set()
_met: set = set()  # the hashes of keys that came once
_tables: list = []  # the functions that keeps_tables decorates
_lock = new_lock()
# At most one array of a finished call, for an intermediate result of a later one, since fresh
# memory takes longer than a filter.
spare_arrays: list = []
MAX_SPARE = 1 << 25  # bytes


def recall(key):
    """The cached entry of a key, or None.

    The result is also None if the key cannot be hashed; its arguments are checked later."""
    try:
        found = _prepared.get(key)
    except TypeError:
        return None
    if found is not None:
        try:
            _prepared.move_to_end(key)
        except KeyError:  # another thread has just removed it
            pass
    return found


def remember(key, prepared):
    """Adds an entry, and evicts the least recently used ones beyond the limits.

    The limits are the number of entries and the sum of their `cached_bytes`; the new entry always
    stays. Evicted entries first wait for their work on a GPU. With an unhashable key, for
    instance with an array of one number in place of a number, nothing is cached."""
    try:
        hash(key)
    except TypeError:
        return prepared
    with _lock:
        dropped = []
        _total[0] += getattr(prepared, 'cached_bytes', 0) - _bytes.get(key, 0)
        _prepared[key], _bytes[key] = prepared, getattr(prepared, 'cached_bytes', 0)
        while len(_prepared) > 1 and (len(_prepared) > MAX_ENTRIES or _total[0] > MAX_BYTES):
            oldest, each = _prepared.popitem(last=False)
            _total[0] -= _bytes.pop(oldest)
            dropped.append(each)
    for each in dropped:
        _finish(each)
    return prepared


def remember_if_repeated(key, prepared):
    """Adds an entry that is cheap to make, but not before its key comes a second time.

    Arguments that are new in each call thus evict nothing."""
    try:
        known = hash(key) in _met
    except TypeError:
        return prepared
    if known:
        return remember(key, prepared)
    if len(_met) >= MAX_ENTRIES:
        _met.clear()
    _met.add(hash(key))
    return prepared


def _finish(prepared) -> None:
    """Waits for an entry's work. Errors of the device are ignored: later calls report them."""
    if hasattr(prepared, 'finish'):  # entries of the host have no work to wait for
        try:
            prepared.finish()
        except Exception:
            pass


def pin(prepared) -> None:
    """Keeps an entry until clear_cache, since a CUDA graph that captured it may be replayed."""
    with _lock:
        _pinned.add(prepared)


def keeps_tables(most: int):
    """A decorator like functools.lru_cache(most), whose entries clear_cache frees."""
    def decorate(make):
        kept = functools.lru_cache(most)(make)
        _tables.append(kept)
        return kept
    return decorate


def clear_cache() -> None:
    """Clear the cache of plans and tables that the functions have made, and free their memory.

    A CUDA graph that captured a call of a function uses such a plan. Plans captured by PyTorch are
    kept until this function is called, so do not call it while such a graph is in use.

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
        _forget()
        spare_arrays.clear()
    for each in dropped:
        _finish(each)
    for table in _tables:
        table.cache_clear()


def _forget() -> None:
    _prepared.clear()
    _bytes.clear()
    _total[0] = 0
    _pinned.clear()


os.register_at_fork(after_in_child=_forget)
# Background compiles of kernels must end before the compiler is unloaded.
atexit.register(clear_cache)
