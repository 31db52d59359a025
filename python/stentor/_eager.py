"""Detects plain eager calls in PyTorch, and adapts operators to torch.func.

A plain eager call has no gradients, no dispatch or function modes, no tracing and no torch.func
transform. It can skip PyTorch's dispatcher, which takes longer than a small stencil.
"""

import operator
from typing import Any, Callable

import torch
from torch.autograd import forward_ad

_PLAIN = frozenset((torch.Tensor, torch.nn.Parameter))
_strided = torch.strided


def _watch(name: str) -> Callable[[], Any]:
    """A private function of PyTorch that says whether modes or transforms are active.

    Where a version of PyTorch lacks it, the answer is always true."""
    return getattr(torch._C, name, lambda: True)


_dispatched, _overridden = _watch('_len_torch_dispatch_stack'), _watch('_len_torch_function_stack')
_transformed, _traced = _watch('_are_functorch_transforms_active'), _watch('_is_tracing')


_level_of = operator.attrgetter('_current_level') if hasattr(forward_ad, '_current_level') else lambda module: 0


def refuse_tangents(*tensors: torch.Tensor) -> None:
    """Refuses forward-mode differentiation, which PyTorch would silently ignore.

    Operators defined in Python have no forward derivative."""
    if torch.compiler.is_compiling() or _level_of(forward_ad) < 0:
        return
    if any(forward_ad.unpack_dual(each).tangent is not None for each in tensors):
        raise ValueError('a tensor has a tangent, but there is no derivative forward: take the gradient, by backward()')


def is_transformed() -> bool:
    """Whether a torch.func transform is active: it ignores gradients defined by torch.library."""
    return not torch.compiler.is_compiling() and _transformed()


def transformable(operator_: Callable, setup: Callable, backward: Callable) -> Any:
    """The operator with its gradient in the form that torch.func.grad, jacrev and vmap accept.

    It is called instead of the operator if is_transformed()."""
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
    """The setup function of an operator that refuses its gradient."""


def refuse_gradient(ctx: Any, *grads: Any) -> Any:
    raise ValueError('gradients of gradients are asked for, but Stentor has the first ones only')


def check_kind(value: Any, name: str) -> None:
    """Raises ValueError unless the value is a dense tensor, of any subclass."""
    if not isinstance(value, torch.Tensor):
        raise ValueError(f'{name} is a {type(value).__name__}: give a tensor')
    if value.layout != torch.strided:
        raise ValueError(f'{name} is a tensor of layout {value.layout}: make it dense first, by its method to_dense()')


def is_eager(a: torch.Tensor, b: torch.Tensor, *more: torch.Tensor) -> bool:
    """Whether an operator's call is a plain eager one on dense CPU or CUDA tensors.

    Written for speed."""
    # is_compiling() comes first, since torch.compile cannot trace the other checks.
    if torch.compiler.is_compiling() or _dispatched() or _overridden() or _transformed() or _traced() or _level_of(forward_ad) >= 0:
        return False
    return (type(a) in _PLAIN and type(b) in _PLAIN and a.layout is _strided and b.layout is _strided and (a.is_cuda or a.is_cpu)
            and (b.is_cpu or b.is_cuda) and not a.is_neg() and not b.is_neg()
            and (not (a.requires_grad or b.requires_grad) or not torch.is_grad_enabled()) and (not more or is_eager(more[0], *more)))
