"""Stencils as operators of PyTorch, with gradients; those of Fourier layers are in _spectral.py.

They have implementations for fake tensors, so that torch.compile and torch.export accept them. The
gradient for `x` is the transposed stencil, with the adjoint of the boundary, applied for as many
steps. The gradient for the weights is the correlation of each step's input with the gradient of its
output.
"""

from typing import Any, List, Sequence, Tuple, Union

import torch

from ._adjoint import Adjoint
from ._boundary import Argument, Sides, sides_of
from ._context import HOST
from ._eager import check_kind, is_eager, is_transformed, no_setup, refuse_gradient, refuse_tangents, transformable
from ._library import ffi
from ._memo import recall, remember
from ._number_types import DTYPES
from ._place import place_of, place_on
from ._spectral import SpectralConv, spectral_conv
from ._trained import Trained, trained
from ._words import listed, said, whole

__all__ = ['SpectralConv', 'spectral_conv', 'stencil']

_SEPARATOR = ';'
_float64 = torch.float64
_unpack, _cast, _BYTES = ffi.unpack, ffi.cast, ffi.typeof('char *')


def stencil(x: torch.Tensor, weights: torch.Tensor, boundary: Union[str, Sequence] = 'wrap', steps: int = 1) -> torch.Tensor:
    """Apply a stencil to the last axes of a tensor.

    Parameters
    ----------
    x : torch.Tensor
        float64, float32, float16, or bfloat16, which is computed in float32. Axes before those of
        `weights` are batch axes.
    weights : torch.Tensor
        1 to 3 axes of odd extent; the middle element has offset 0. Its values are read on the host
        in each call: keep it on the host, since a tensor on a GPU is waited for.
    boundary : str or sequence, optional
        As for `stentor.Plan`.
    steps : int, optional
        The number of times that the stencil is applied.

    Returns
    -------
    torch.Tensor
        Of the shape, dtype and device of `x`. Gradients flow to `x` and to `weights`.

    Examples
    --------
    >>> import torch, stentor.torch
    >>> x = torch.tensor([0., 0., 1., 0., 0.], requires_grad=True)
    >>> y = stentor.torch.stencil(x, torch.tensor([1., 2., 0.]), 'nearest')
    >>> y.detach()
    tensor([0., 0., 2., 1., 0.])
    >>> y[0].backward()
    >>> x.grad
    tensor([3., 0., 0., 0., 0.])
    """
    if getattr(x, 'dtype', None) is torch.bfloat16:
        return stencil(x.float(), weights, boundary, steps).to(x.dtype)
    if is_eager(x, weights) and type(steps) is int:
        return _at_once(x, weights, boundary, steps)
    for name, value in (('x', x), ('weights', weights)):
        check_kind(value, name)
    if weights.is_complex():
        raise ValueError('weights are complex: give real ones')
    if not isinstance(steps, int):
        raise ValueError(f'steps is {said(steps)}: give a whole number from 1 on')
    # With one meta tensor, PyTorch would run the fake operator and return uninitialised memory.
    if (weights.device.type == 'meta') != (x.device.type == 'meta'):
        raise ValueError(f'weights are on {weights.device} and x on {x.device}: move one of them')
    refuse_tangents(x, weights)
    run = _stencil_transformed if is_transformed() else torch.ops.stentor.stencil
    return run(x, weights, _text(boundary, weights.ndim), steps)


def _at_once(x: torch.Tensor, weights: torch.Tensor, boundary: Union[str, Sequence], steps: int) -> torch.Tensor:
    """Runs the operator without PyTorch's dispatcher.

    If a problem is repeated, only the values of its weights are read again."""
    device = x.get_device()
    key = ('stencil', boundary, steps, x.shape, x.dtype, device, weights.shape, weights.dtype)
    prepared = recall(key)
    if prepared is None:
        if type(boundary) is list:  # a list is not hashable
            return _at_once(x, weights, tuple(boundary), steps)
        text = _text(boundary, weights.ndim)
        _check(x, weights, steps)
        if not x.numel():
            return _run(x, weights, text, steps)
        prepared = remember(key, _plan(x, weights, text, steps, 0))
    x = x.contiguous()
    result = torch.empty_like(x)
    prepared.run(_values(weights), x.data_ptr(), result.data_ptr(), None if device < 0 else place_on(device))
    return result


def _text(boundary: Union[str, Sequence], rank: int) -> str:
    """The boundaries of all axes in one string, the operator's argument."""
    if isinstance(boundary, str):
        return _SEPARATOR.join([boundary] * rank)
    given = [each if isinstance(each, str) else ':'.join(_pair(each)) for each in listed(boundary, 'boundary')]
    if len(given) != rank:
        raise ValueError(f'boundary {said(boundary)} must be one or a sequence of {rank}, one for each axis')
    return _SEPARATOR.join(given)


def _pair(sides: Any) -> List[str]:
    if not isinstance(sides, (list, tuple)) or len(sides) != 2 or not all(isinstance(each, str) for each in sides):
        raise ValueError(f"boundary has {said(sides)} for an axis: give a name, 'LOW:HIGH' or (low, high)")
    return list(sides)


def _sides(text: str, rank: int) -> List[Sides]:
    return sides_of(text.split(_SEPARATOR), 0.0, rank, Argument('boundary', ValueError))


def _check(x: torch.Tensor, weights: torch.Tensor, steps: int) -> None:
    if not 1 <= weights.ndim <= 3 or any(n % 2 == 0 for n in weights.shape):
        raise ValueError(f'weights have shape {tuple(weights.shape)}: give 1 to 3 axes of odd extent, the middle being offset 0')
    if x.ndim < weights.ndim:
        raise ValueError(f'x has {x.ndim} axes, fewer than weights, which have {weights.ndim}')
    if str(x.dtype).rpartition('.')[2] not in DTYPES:
        raise ValueError(f'x has dtype {x.dtype}: give float64, float32 or float16')
    if weights.is_complex():
        raise ValueError('weights are complex: give real ones')
    whole(steps, 'steps', 1)


def _values(weights: torch.Tensor) -> bytes:
    """The current values of the weights, as bytes of float64 numbers.

    They are read in each call, which on a GPU waits for them, because a tensor's version counter
    does not record writes through `.data`, NumPy, DLPack, a CUDA graph's replay or a collective."""
    if weights.dtype is _float64 and weights.is_cpu and weights.is_contiguous():
        address = weights.data_ptr()
        if address:
            return _unpack(_cast(_BYTES, address), weights.nbytes)
    if not weights.untyped_storage().nbytes():
        raise ValueError('weights have no memory: give a tensor with numbers')
    return weights.detach().to('cpu', _float64, copy=True).contiguous().numpy().tobytes()


def _plan(x: torch.Tensor, weights: torch.Tensor, boundary: str, steps: int, every: int) -> Trained:
    device = HOST if x.device.type == 'cpu' else x.device.index
    return trained(device, tuple(x.shape), str(x.dtype).rpartition('.')[2], tuple(weights.shape),
                   tuple(_sides(boundary, weights.ndim)), steps, every)


def _run(x: torch.Tensor, weights: torch.Tensor, boundary: str, steps: int, every: int = 0) -> torch.Tensor:
    _check(x, weights, steps)
    if x.device.type not in ('cpu', 'cuda'):
        raise ValueError(f'x is on {x.device}: move it to the CPU or to a CUDA device')
    x = x.contiguous()
    result = torch.empty(((steps // every,) if every else ()) + tuple(x.shape), dtype=x.dtype, device=x.device)
    if x.numel():
        _plan(x, weights, boundary, steps, every).run(_values(weights.resolve_neg()), x.data_ptr(), result.data_ptr(),
                                                     place_of(x))
    return result


@torch.library.custom_op('stentor::stencil', mutates_args=())
def _stencil(x: torch.Tensor, weights: torch.Tensor, boundary: str, steps: int) -> torch.Tensor:
    return _run(x, weights, boundary, steps)


@_stencil.register_fake
def _(x: torch.Tensor, weights: torch.Tensor, boundary: str, steps: int) -> torch.Tensor:
    return torch.empty_like(x, memory_format=torch.contiguous_format)


@torch.library.custom_op('stentor::stencil_backward', mutates_args=())
def _stencil_backward(grad: torch.Tensor, x: torch.Tensor, weights: torch.Tensor, boundary: str, steps: int,
                      for_weights: bool) -> Tuple[torch.Tensor, torch.Tensor]:
    """The gradients for x and, if requested, for the weights (otherwise an empty tensor)."""
    adjoint = Adjoint(_sides(boundary, weights.ndim), tuple(weights.shape))
    flipped = torch.flip(weights.detach(), list(range(weights.ndim)))

    def transposed(g: torch.Tensor, count: int) -> torch.Tensor:
        return _run(g, flipped, adjoint.boundary, count)

    grad = grad.contiguous()
    if not for_weights:
        back = transposed(grad, steps) if adjoint.fused else grad
        for _ in range(0 if adjoint.fused else steps):
            back = adjoint.step(back, transposed)
        return back, weights.new_empty(0)
    states = _run(x, weights, boundary, steps - 1, 1) if steps > 1 else None
    total = torch.zeros(tuple(weights.shape), dtype=torch.float64, device=x.device)
    for step in reversed(range(steps)):
        state = x if step == 0 else states[step - 1]  # type: ignore[index]
        total += adjoint.correlation(state, grad)
        grad = adjoint.step(grad, transposed)
    return grad, total.to(weights.device, weights.dtype)


@_stencil_backward.register_fake
def _(grad: torch.Tensor, x: torch.Tensor, weights: torch.Tensor, boundary: str, steps: int,
      for_weights: bool) -> Tuple[torch.Tensor, torch.Tensor]:
    like = weights.new_empty(weights.shape) if for_weights else weights.new_empty(0)
    return torch.empty_like(x, memory_format=torch.contiguous_format), like


def _setup(ctx, inputs, output) -> None:
    x, weights, ctx.boundary, ctx.steps = inputs
    ctx.save_for_backward(x, weights)


def _backward(ctx, grad):
    x, weights = ctx.saved_tensors
    for_x, for_weights = ctx.needs_input_grad[:2]
    run = _stencil_backward_transformed if is_transformed() else torch.ops.stentor.stencil_backward
    gx, gw = run(grad, x, weights, ctx.boundary, ctx.steps, for_weights)
    return gx if for_x else None, gw if for_weights else None, None, None


_stencil.register_autograd(_backward, setup_context=_setup)
_stencil_backward.register_autograd(refuse_gradient, setup_context=no_setup)
_stencil_transformed = transformable(torch.ops.stentor.stencil, _setup, _backward)
_stencil_backward_transformed = transformable(torch.ops.stentor.stencil_backward, no_setup, refuse_gradient)
