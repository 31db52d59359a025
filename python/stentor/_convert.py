"""Conversion of GPU arrays before a transform, by the array's own library: dtype, zero padding."""

import sys
from typing import Any, Sequence

import numpy as np


def converted(x: Any, dtype: str, extra: Sequence[int]) -> Any:
    """The array in another dtype, padded with `extra` zeros at the end of each axis.

    The work is enqueued in the current stream. None if the array's library is not known."""
    root = type(x).__module__.partition('.')[0]
    if root == 'torch':
        torch = sys.modules['torch']
        x = x.detach().to(getattr(torch, dtype))
        return torch.nn.functional.pad(x, [n for each in reversed(extra) for n in (0, each)]) if any(extra) else x
    pairs = [(0, each) for each in extra]
    if root == 'cupy':
        cupy = sys.modules['cupy']
        with cupy.cuda.Device(x.device.id):
            return cupy.pad(x.astype(dtype), pairs)
    if root in ('jax', 'jaxlib'):
        return sys.modules['jax'].numpy.pad(x.astype(dtype), pairs)
    return None


def handed_back(x: Any, opened: Any, made: np.ndarray) -> Any:
    """A result on the host as an array of the library and, for bfloat16, of the type of x."""
    if not opened.dtype:
        return opened.back(made)
    return made.astype(x.dtype) if isinstance(x, np.ndarray) else converted(opened.back(made), opened.dtype, (0,) * made.ndim)
