"""Is a call of PyTorch's an ordinary one: at once, without gradients, and with nobody who watches operators? Such a call needs no
dispatcher, which takes longer than a small stencil."""

import operator
from typing import Any, Callable

import torch
from torch.autograd import forward_ad

_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))
_strided = torch.strided


def _watch(name: str) -> Callable[[], Any]:
    """What PyTorch counts of modes and transforms of functions. None of it is public: a version that lacks any has a watcher
    always."""
    return getattr(torch._C, name, lambda: True)


_dispatched, _overridden = _watch('_len_torch_dispatch_stack'), _watch('_len_torch_function_stack')
_transformed, _traced = _watch('_are_functorch_transforms_active'), _watch('_is_tracing')


_level_of = operator.attrgetter('_current_level') if hasattr(forward_ad, '_current_level') else lambda module: 0


def refuse_tangents(*tensors: torch.Tensor) -> None:
    """Operators made in Python have no derivative forward, and PyTorch would leave it out without a word."""
    if torch.compiler.is_compiling() or _level_of(forward_ad) < 0:
        return
    if any(forward_ad.unpack_dual(each).tangent is not None for each in tensors):
        raise ValueError('a tensor has a tangent, but there is no derivative forward: take the gradient, by backward()')


def is_transformed() -> bool:
    """Does one of torch.func's transforms of functions call? Those of torch.library take no part in its gradients."""
    return not torch.compiler.is_compiling() and _transformed()


def transformable(operator_: Callable, setup: Callable, backward: Callable) -> Any:
    """The operator, with its gradient, as torch.func.grad, jacrev and vmap take it: the function to call under is_transformed."""
    class Function(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(*given: Any) -> Any:
            return operator_(*given)

        setup_context = staticmethod(setup)

        @staticmethod
        def backward(ctx: Any, *grads: torch.Tensor) -> Any:
            return backward(ctx, *grads)

    return Function.apply


def no_setup(ctx: Any, inputs: Any, output: Any) -> None:
    """Of an operator that refuses its gradient."""


def refuse_gradient(ctx: Any, *grads: Any) -> Any:
    raise ValueError('gradients of gradients are asked for, but Stentor has the first ones only')


def check_kind(value: Any, name: str) -> None:
    """A ValueError unless it is a dense tensor, of whatever class."""
    if not isinstance(value, torch.Tensor):
        raise ValueError(f'{name} is a {type(value).__name__}: give a tensor')
    if value.layout != torch.strided:
        raise ValueError(f'{name} is a tensor of layout {value.layout}: make it dense first, by its method to_dense()')


def is_eager(a: torch.Tensor, b: torch.Tensor, *more: torch.Tensor) -> bool:
    """Of tensors that one operator is given; of what is no dense tensor on the CPU or CUDA, False. Written for speed."""
    # First of all, since what follows is nothing that can be compiled.
    if torch.compiler.is_compiling() or _dispatched() or _overridden() or _transformed() or _traced() or _level_of(forward_ad) >= 0:
        return False
    return (type(a) in _PLAIN and type(b) in _PLAIN and a.layout is _strided and b.layout is _strided and (a.is_cuda or a.is_cpu)
            and (b.is_cpu or b.is_cuda) and not a.is_neg() and not b.is_neg()
            and (not (a.requires_grad or b.requires_grad) or not torch.is_grad_enabled()) and (not more or is_eager(more[0], *more)))
