"""Allocation of large results on the host, with a check of the available memory."""

import os
from typing import Optional, Tuple

import numpy as np

LARGE = 1 << 26  # bytes: smaller arrays are allocated without a check of the available memory


def available_memory() -> Optional[int]:
    """The available memory in bytes, of this machine and within this process' control group.

    None if it is not known."""
    found = []
    try:
        with open('/proc/meminfo') as lines:
            found += [int(line.split()[1]) * 1024 for line in lines if line.startswith('MemAvailable:')]
    except (OSError, ValueError, IndexError):
        pass
    try:
        with open('/sys/fs/cgroup/memory.max') as most, open('/sys/fs/cgroup/memory.current') as used:
            found.append(int(most.read()) - int(used.read()))
    except (OSError, ValueError):  # without a limit, memory.max holds 'max'
        pass
    if not found:
        try:
            found.append(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE'))
        except (OSError, ValueError, AttributeError):
            return None
    return max(min(found), 0)


def new_array(shape: Tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """A new array on the host.

    Raises MemoryError if it is larger than the available memory. Otherwise, with memory overcommit,
    the system would kill the process when the array is filled."""
    size = dtype.itemsize
    for extent in shape:
        size *= extent
    if size > LARGE:
        most = available_memory()
        if most is not None and size > most:
            raise MemoryError(f'the result, of shape {shape}, takes {amount(size)}, but {amount(most)} of memory are available: keep fewer frames, '
                              'take them one at a time by Plan.frames, or give an array that lies in a file as out')
    return np.empty(shape, dtype)


def amount(size: float) -> str:
    """A number of bytes as readable text."""
    for unit in ('bytes', 'KB', 'MB', 'GB'):
        if size < 1000:
            break
        size /= 1000
    else:
        unit = 'TB'
    return f'{size:.3g} {unit}'
