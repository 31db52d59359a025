"""The stream and device on which operators of PyTorch run, and stream-ordered memory there."""

import functools
from typing import Any, NamedTuple, Optional, Tuple

import torch

from ._arrays import raw_stream


class Place(NamedTuple):
    """The members of a View that Prepared.scratch reads."""

    stream: int
    device: int
    ordered: bool = True

    def empty(self, shape: Tuple[int, ...], dtype: str) -> Any:
        return torch.empty(shape, dtype=getattr(torch, dtype), device=self.device)


_place = functools.lru_cache(maxsize=64)(Place)
_stream = getattr(torch._C, '_cuda_getCurrentRawStream', functools.partial(raw_stream, torch))


def place_on(device: int) -> Place:
    """The current stream of a GPU, given by its number."""
    return _place(_stream(device), device)


def place_of(x: torch.Tensor) -> Optional[Place]:
    """The current stream of a CUDA tensor's device; None for a tensor on the CPU."""
    return None if x.is_cpu else place_on(x.get_device())
