"""Locks that are released in a forked child.

A thread of the parent that held a lock does not exist in the child and could never release it.
"""

import os
import threading
import weakref

_locks: weakref.WeakSet = weakref.WeakSet()  # all existing locks


def new_lock():
    """A lock that is free in a forked child."""
    lock = threading.Lock()
    _locks.add(lock)
    return lock


def _after_fork() -> None:
    for lock in list(_locks):
        lock._at_fork_reinit()  # as modules of Python's standard library do


os.register_at_fork(after_in_child=_after_fork)
