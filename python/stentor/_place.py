"""Where the operators of PyTorch work: the current stream of a tensor's device, and memory in its order."""

from typing import Any, Callable, NamedTuple, Optional, Tuple

import torch

from ._arrays import raw_stream


class Place(NamedTuple):
    """What Prepared.scratch wants to know, as a View says it."""

    stream: int
    empty: Callable[[Tuple[int, ...], str], Any]
    ordered: bool = True


def place_of(x: torch.Tensor) -> Optional[Place]:
    """Of a CUDA tensor; on the CPU, None."""
    if x.device.type == 'cpu':
        return None
    device = x.device
    return Place(raw_stream(torch, x.get_device()), lambda shape, dtype: torch.empty(shape, dtype=getattr(torch, dtype), device=device))
