"""What a caller's own library does to its arrays on a GPU before Stentor takes them: to another dtype, and zeros behind the end."""

import sys
from typing import Any, Sequence


def converted(x: Any, dtype: str, extra: Sequence[int]) -> Any:
    """The array in a dtype, with so many zeros behind each axis, in the order of the current stream; None, if its library is none that
    is known."""
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
