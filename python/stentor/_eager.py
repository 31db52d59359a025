"""Is a call of PyTorch's an ordinary one: at once, without gradients, and with nobody who watches operators? Such a call needs no
dispatcher, which takes longer than a small stencil."""

from typing import Any, Callable, List

import torch
from torch.autograd import forward_ad

_PLAIN = (torch.Tensor, torch.nn.Parameter)
_DEVICES = ('cpu', 'cuda')


def _watches(*names: str) -> List[Callable[[], Any]]:
    """What PyTorch counts of modes and transforms of functions. None of it is public: a version that lacks any has a watcher
    always."""
    return [getattr(torch._C, name, lambda: True) for name in names]


_WATCHES = _watches('_len_torch_dispatch_stack', '_len_torch_function_stack', '_are_functorch_transforms_active')


def _forward_level() -> int:
    return getattr(forward_ad, '_current_level', 0)


def refuse_tangents(*tensors: torch.Tensor) -> None:
    """Operators made in Python have no derivative forward, and PyTorch would leave it out without a word."""
    if torch.compiler.is_compiling() or _forward_level() < 0:
        return
    if any(forward_ad.unpack_dual(each).tangent is not None for each in tensors):
        raise ValueError('a tensor has a tangent, but there is no derivative forward: take the gradient, by backward()')


def is_eager(*tensors: torch.Tensor) -> bool:
    """Of tensors that one operator is given."""
    if torch.compiler.is_compiling():  # first: what follows is nothing that can be compiled
        return False
    wanted = torch.is_grad_enabled()
    for each in tensors:
        if type(each) not in _PLAIN or each.device.type not in _DEVICES or each.is_neg() or wanted and each.requires_grad:
            return False
    if torch.jit.is_tracing() or _forward_level() >= 0:
        return False
    return not any(watch() for watch in _WATCHES)
