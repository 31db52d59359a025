"""Locks that are free in a forked child, whatever thread of its parent held them: that thread does not exist there."""

import os
import threading
import weakref

_locks: weakref.WeakSet = weakref.WeakSet()  # all that exist


def new_lock():
    """A lock that a child of fork finds free."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def _after_fork() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()  # as Python's own modules renew theirs


os.register_at_fork(after_in_child=_after_fork)
