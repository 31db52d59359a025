"""Where the operators of PyTorch work: the current stream of a tensor's device, and memory in its order."""

import functools
from typing import Any, NamedTuple, Optional, Tuple

import torch

from ._arrays import raw_stream


class Place(NamedTuple):
    """What Prepared.scratch wants to know, as a View says it."""

    stream: int
    device: int
    ordered: bool = True

    def empty(self, shape: Tuple[int, ...], dtype: str) -> Any:
        return torch.empty(shape, dtype=getattr(torch, dtype), device=self.device)


_place = functools.lru_cache(maxsize=64)(Place)
_stream = getattr(torch._C, '_cuda_getCurrentRawStream', functools.partial(raw_stream, torch))


def place_on(device: int) -> Place:
    """On a GPU, by its number."""
    return _place(_stream(device), device)


def place_of(x: torch.Tensor) -> Optional[Place]:
    """Of a CUDA tensor; on the CPU, None."""
    return None if x.is_cpu else place_on(x.get_device())
