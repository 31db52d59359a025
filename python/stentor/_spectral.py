"""The spectral convolution of neural operators: an operator of PyTorch and a torch.nn.Module.

y = irfftn(W rfftn(x)) + bias, over the retained modes; the module is neuraloperator's SpectralConv.
"""

import warnings
from typing import Any, List, Optional, Sequence, Tuple, Union

import torch

from ._arguments import number
from ._context import HOST
from ._eager import check_kind, is_eager, is_transformed, refuse_tangents, transformable
from ._fourier import BACKWARD_WEIGHTS, BACKWARD_X, FORWARD, Layer, layer
from ._place import place_of
from ._spectral_composed import composed, release_2, resample
from ._words import whole

_WEIGHTS = {torch.float32: torch.complex64, torch.float64: torch.complex128,
            torch.complex64: torch.complex64, torch.complex128: torch.complex128}
_warned = False  # whether the warning about weights written by another library was issued
_PAIRS = {kind: torch.float32 if weight is torch.complex64 else torch.float64 for kind, weight in _WEIGHTS.items()}
_NAMES = {torch.float32: 'float32', torch.float64: 'float64'}


# ---- the operator --------------------------------------------------------------------------------


def spectral_conv(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None, low: bool = False) -> torch.Tensor:
    """Apply a spectral convolution: transform, multiply retained modes by weights, transform back.

    Parameters
    ----------
    x : torch.Tensor
        Of shape (batch, channels in, points...), with 1 to 3 axes of points; float32, float64,
        complex64 or complex128. Other types are converted to the precision of `weight`.
    weight : torch.Tensor
        Complex, of the precision of `x` and of shape (channels in, channels out, modes...). Along
        each axis it holds the frequencies -(m // 2) to (m - 1) // 2, but along the last axis of
        real data 0 to m - 1.
    bias : torch.Tensor, optional
        Of shape (channels out), of the dtype of `x` or of its real numbers.
    low : bool, optional
        Whether the weights hold the frequencies 0 to m - 1 along every axis.

    Returns
    -------
    torch.Tensor
        Of shape (batch, channels out, points...). Gradients of any order flow to all three tensors.

    Examples
    --------
    >>> import torch, stentor.torch
    >>> x = torch.tensor([[[1., 2., 3., 6.]]])
    >>> stentor.torch.spectral_conv(x, torch.ones(1, 1, 1, dtype=torch.complex64))
    tensor([[[3., 3., 3., 3.]]])
    """
    for name, value in (('x', x), ('weight', weight), ('bias', bias)):
        if name != 'bias' or value is not None:
            check_kind(value, name)
    if not weight.is_complex():
        raise ValueError(f'weight has dtype {weight.dtype}: with x of {x.dtype} give {_WEIGHTS.get(x.dtype, torch.complex64)}')
    x = _in_a_plans_type(x, weight.dtype)
    tensors = (x, weight) if bias is None else (x, weight, bias)
    if type(low) is bool and is_eager(*tensors):
        return _run(x, _pairs(weight), bias, low)
    for name, other in (('weight', weight), ('bias', bias)):
        if other is not None and other.device != x.device:
            raise ValueError(f'{name} is on {other.device} and x on {x.device}: move one of them')
    refuse_tangents(*tensors)
    return _by_pairs(x, _pairs(weight), bias, low)


def _in_a_plans_type(x: torch.Tensor, like: torch.dtype = torch.complex64) -> torch.Tensor:
    """The tensor; if its type has no plans, it is converted to the precision of `like`."""
    return x if x.dtype in _WEIGHTS else x.to(like if x.is_complex() else _PAIRS.get(like, torch.float32))


def _pairs(weight: torch.Tensor) -> torch.Tensor:
    """Complex numbers as pairs of real ones, in the same memory."""
    return torch.view_as_real(weight.resolve_conj())


def _by_pairs(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], low: bool) -> torch.Tensor:
    """Calls the operator, whose weights and their gradient are pairs of real numbers.

    torch.compile's backend (inductor) may insert copies of them, and generates no kernels for
    complex numbers."""
    run = _spectral_conv_transformed if is_transformed() else torch.ops.stentor.spectral_conv
    return run(x, weight, bias, low)


def _check(x: torch.Tensor, pairs: torch.Tensor, bias: Optional[torch.Tensor]) -> None:
    if x.dtype not in _WEIGHTS:
        raise ValueError(f'x has dtype {x.dtype}: give float32, float64, complex64 or complex128')
    if not 3 <= x.ndim <= 5:
        raise ValueError(f'x has {x.ndim} axes: give (batch, channels, points...) with 1 to 3 axes of points')
    shape = pairs.shape[:-1]
    if len(shape) != x.ndim or shape[0] != x.shape[1]:
        raise ValueError(f'weight has shape {tuple(shape)}: for x of shape {tuple(x.shape)} give '
                         f'({x.shape[1]}, channels out, modes...)')
    if pairs.dtype != _PAIRS[x.dtype] or pairs.shape[-1] != 2:
        raise ValueError(f'weight has dtype complex of {pairs.dtype}: with x of {x.dtype} give {_WEIGHTS[x.dtype]}')
    if bias is not None and (bias.shape != shape[1:2] or bias.dtype not in (x.dtype, _PAIRS[x.dtype])):
        raise ValueError(f'bias has shape {tuple(bias.shape)} and dtype {bias.dtype}: give ({shape[1]},) of {x.dtype}')
    for name, other in (('weight', pairs), ('bias', bias)):
        if other is not None and other.device != x.device:
            raise ValueError(f'{name} is on {other.device} and x on {x.device}: move one of them')
    if x.device.type not in ('cpu', 'cuda'):
        raise ValueError(f'x is on {x.device}: move it to the CPU or to a CUDA device')
    if min(x.shape[1:]) < 1 or min(shape) < 1:
        raise ValueError(f'x of shape {tuple(x.shape)} or weight of shape {tuple(shape)} is empty')


def _plan(which: int, x: torch.Tensor, weight: torch.Tensor, bias: bool, low: bool, tensors: Sequence[torch.Tensor]) -> Layer:
    device = HOST if x.device.type == 'cpu' else x.device.index
    alignment = 16 if all(t.data_ptr() % 16 == 0 for t in tensors) else 2 * weight.element_size()
    return layer(device, which, tuple(x.shape), weight.shape[1], tuple(weight.shape[2:-1]), _NAMES[weight.dtype],
                 x.is_complex(), False, bias, low, alignment)


def _dense(t: torch.Tensor) -> torch.Tensor:
    """The tensor as a contiguous one, aligned to 16 bytes, without pending conjugation."""
    t = t.detach().resolve_conj().resolve_neg().contiguous()
    return t if t.data_ptr() % 16 == 0 else t.clone()


def _run(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], low: bool) -> torch.Tensor:
    _check(x, weight, bias)
    x, weight = _dense(x), _dense(weight)
    bias = None if bias is None else _dense(bias).to(x.dtype)
    y = torch.empty((x.shape[0], weight.shape[1], *x.shape[2:]), dtype=x.dtype, device=x.device)
    if not len(x):
        return y
    plan = _plan(FORWARD, x, weight, bias is not None, low, [x, weight, y])
    plan.run(place_of(x), **{'in': x.data_ptr()}, out=y.data_ptr(), weights=weight.data_ptr(), bias=bias.data_ptr() if bias is not None else 0)
    return y


@torch.library.custom_op('stentor::spectral_conv', mutates_args=())
def _spectral_conv(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], low: bool) -> torch.Tensor:
    return _run(x, weight, bias, low)


@_spectral_conv.register_fake
def _(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], low: bool) -> torch.Tensor:
    return x.new_empty((x.shape[0], weight.shape[1], *x.shape[2:]))


@torch.library.custom_op('stentor::spectral_conv_backward', mutates_args=())
def _spectral_conv_backward(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, has_bias: bool, low: bool, for_x: bool,
                            for_weight: bool) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """The gradients for x, weight and bias; an empty tensor for each that is not requested."""
    grad, x, weight = _dense(grad), _dense(x), _dense(weight)
    gx = torch.empty_like(x) if for_x else x.new_empty(0)
    gw = torch.empty_like(weight) if for_weight else weight.new_empty(0)
    gb = x.new_empty(weight.shape[1] if for_weight and has_bias else 0)
    if not len(x):
        return gx, gw.zero_(), gb.zero_()
    if for_x:
        plan = _plan(BACKWARD_X, x, weight, False, low, [grad, weight, gx])
        plan.run(place_of(x), **{'in': grad.data_ptr()}, out=gx.data_ptr(), weights=weight.data_ptr())
    if for_weight:
        plan = _plan(BACKWARD_WEIGHTS, x, weight, has_bias, low, [grad, x, gw])
        plan.run(place_of(x), **{'in': x.data_ptr()}, out=gw.data_ptr(), gradient=grad.data_ptr(),
                 bias_gradient=gb.data_ptr() if has_bias else 0)
    return gx, gw, gb


@_spectral_conv_backward.register_fake
def _(grad: torch.Tensor, x: torch.Tensor, weight: torch.Tensor, has_bias: bool, low: bool, for_x: bool,
      for_weight: bool) -> Tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    gx = x.new_empty(x.shape) if for_x else x.new_empty(0)
    gw = weight.new_empty(weight.shape) if for_weight else weight.new_empty(0)
    return gx, gw, x.new_empty(weight.shape[1] if for_weight and has_bias else 0)


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    x, weight, bias, ctx.low = inputs
    ctx.has_bias = bias is not None
    ctx.real_bias = bias is not None and bias.dtype != x.dtype
    ctx.save_for_backward(x, weight)


def _backward(ctx: Any, grad: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
    x, weight = ctx.saved_tensors
    for_x, for_weight, for_bias = ctx.needs_input_grad[:3]
    gx, gw, gb = _adjoint(grad, x, weight, ctx.has_bias, ctx.low, for_x, for_weight or for_bias)
    gb = torch.view_as_real(gb)[:, 0] if ctx.real_bias else gb
    return gx if for_x else None, gw if for_weight else None, gb if for_bias else None, None


def _adjoint(*arguments: Any) -> Any:
    run = _spectral_conv_backward_transformed if is_transformed() else torch.ops.stentor.spectral_conv_backward
    return run(*arguments)


def _setup_backward(ctx: Any, inputs: Any, output: Any) -> None:
    grad, x, weight, ctx.has_bias, ctx.low, ctx.for_x, ctx.for_weight = inputs
    ctx.save_for_backward(grad, x, weight)


def _backward_of_backward(ctx: Any, vx: torch.Tensor, vw: torch.Tensor, vb: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
    """The gradients of the gradients, by the same two operators.

    The layer is y = L(weight) x + bias, linear in weight and in x. The operator's outputs are the
    gradients of x, gx = L(weight)^H grad, and of the weights, gw = G(x, grad), which is defined by
    <v, G(x, grad)> = <L(v) x, grad> for all v. vx, vw and vb are the gradients of its outputs."""
    grad, x, weight = ctx.saved_tensors
    for_grad, for_x, for_weight = ctx.needs_input_grad[:3]
    gg: Optional[torch.Tensor] = None
    gx = gw = None
    if for_grad:
        terms = [_by_pairs(vx, weight, None, ctx.low)] if ctx.for_x else []
        if ctx.for_weight:
            bias = vb if ctx.has_bias else None
            terms.append(_by_pairs(x, vw, bias, ctx.low))
        gg = torch.stack(terms).sum(0) if terms else torch.zeros_like(grad)
    if for_x:
        gx = _adjoint(grad, x, vw, False, ctx.low, True, False)[0] if ctx.for_weight else torch.zeros_like(x)
    if for_weight:
        gw = _adjoint(grad, vx, weight, False, ctx.low, False, True)[1] if ctx.for_x else torch.zeros_like(weight)
    return gg, gx, gw, None, None, None, None


_spectral_conv.register_autograd(_backward, setup_context=_setup)
_spectral_conv_backward.register_autograd(_backward_of_backward, setup_context=_setup_backward)
_spectral_conv_transformed = transformable(torch.ops.stentor.spectral_conv, _setup, _backward)
_spectral_conv_backward_transformed = transformable(torch.ops.stentor.spectral_conv_backward, _setup_backward, _backward_of_backward)


# ---- the module ----------------------------------------------------------------------------------


class _Dense(torch.nn.Module):
    """Complex weights in the form of neuraloperator's files: a parameter `tensor`.

    It is complex, or holds pairs of real numbers, as in neuraloperator's class ComplexDense and in
    all files of its versions before 2. Files of either form can be loaded into either form.
    PyTorch's functions accept the module as a complex tensor."""

    def __init__(self, shape: Sequence[int], std: float, device: Any, pairs: bool):
        super().__init__()
        values = torch.empty(*shape, dtype=torch.cfloat, device=device).normal_(0, std)
        self.tensor = torch.nn.Parameter(torch.view_as_real(values) if pairs else values)

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, given: Any = (), named: Any = None) -> Any:
        given, named = torch.utils._pytree.tree_map(lambda each: each.to_tensor() if isinstance(each, _Dense) else each, (given, named or {}))
        return function(*given, **named)

    def to_tensor(self) -> torch.Tensor:
        """The weights as one complex tensor."""
        if self.tensor.is_complex():
            return self.tensor
        return torch.view_as_complex(self.tensor.float() if self.tensor.dtype == torch.bfloat16 else self.tensor)

    def __getitem__(self, index: Any) -> torch.Tensor:
        return self.to_tensor()[index]

    def is_complex(self) -> bool:
        """Whether the weights are complex numbers: always."""
        return True

    @property
    def shape(self) -> torch.Size:
        return self.tensor.shape if self.tensor.is_complex() else self.tensor.shape[:-1]

    @property
    def dtype(self) -> torch.dtype:
        return self.to_tensor().dtype

    @property
    def device(self) -> torch.device:
        return self.tensor.device

    def forward(self) -> torch.Tensor:
        """The weights as pairs of real numbers."""
        return torch.view_as_real(self.tensor) if self.tensor.is_complex() else self.tensor

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *rest: Any) -> None:
        given = state_dict.get(prefix + 'tensor')
        if isinstance(given, torch.Tensor) and given.is_complex() != self.tensor.is_complex():
            state_dict = dict(state_dict)
            if given.is_complex():
                state_dict[prefix + 'tensor'] = torch.view_as_real(given.resolve_conj())
            elif given.shape[-1:] == (2,):
                state_dict[prefix + 'tensor'] = torch.view_as_complex(given.contiguous())
        super()._load_from_state_dict(state_dict, prefix, *rest)


class SpectralConv(torch.nn.Module):
    """neuraloperator's SpectralConv.

    It has the same arguments, initial values and state_dict. Layers with dense or factorized
    weights on one to three axes, whose output has the size of x, run as plans of the library; the
    others are composed of PyTorch's transforms.

    Parameters
    ----------
    in_channels, out_channels : int
    n_modes : int or sequence of int
        The number of modes retained along each axis; of real data, the last axis keeps n // 2 + 1.
    complex_data : bool, optional
        Whether the data is complex.
    max_n_modes : int or sequence of int, optional
        The number of modes that the weights hold along each axis, without the halving for real
        data; `n_modes` may later be set to at most as many.
    bias : bool, optional
        Whether the layer has a bias.
    separable : bool, optional
        Whether each channel has weights of its own and is not mixed with others. `in_channels` and
        `out_channels` must be equal.
    resolution_scaling_factor : float or sequence of float, optional
        The size of the output relative to x, along all axes or each.
    fno_block_precision : str, optional
        'full': nothing is rounded. 'half': x and the result are rounded to half precision. 'mixed':
        only the result is rounded. The arithmetic is always in float32.
    rank : float or sequence of int, optional
        The rank of factorized weights.
    factorization : str, optional
        None or 'dense': weights are complex numbers, as in the files of neuraloperator 2.
        'complexdense': weights are pairs of real numbers, as in files of earlier versions. Files of
        both forms can be loaded either way. 'tucker', 'cp', 'tt' and others need tensorly-torch:
        `weight` is its FactorizedTensor, reconstructed in each call.
    implementation : str, optional
        'reconstructed' or 'factorized'; both reconstruct.
    fixed_rank_modes, decomposition_kwargs : optional
        For factorized weights, as in tensorly-torch.
    init_std : float or 'auto', optional
        The standard deviation of the initial weights; 'auto' is
        (2 / (in_channels + out_channels)) ** 0.5.
    fft_norm : str, optional
        'forward', 'backward' or 'ortho'; all give the same result if the output has the size of x.
    device : optional
        The device of the parameters.
    compatible : str, optional
        '2.0.0': the results of neuraloperator's release 2.0.0, by PyTorch's transforms.

    Notes
    -----
    The definition is that of neuraloperator's main branch since its pull requests 688 and 702, with
    the fix for complex data that its issue 731 describes: frequencies -(m // 2) to (m - 1) // 2
    along every axis in every rank, but 0 to m - 1 along the last axis of real data. An output of
    another size has the same waves, as far as its points resolve them. The release 2.0.0 gives
    other results

    - for an odd number of points along any axis except the last one of real data: it shifts
      frequencies by one;
    - for complex data: with one axis it keeps the frequencies 0 to m - 1, with several axes it
      takes those of the last axis from the wrong end;
    - for an output of another size, on two axes or more: it gives negative frequencies the places
      of positive ones;
    - on CUDA, for real data on two axes or more: its inverse transform uses the imaginary parts of
      frequency 0 (and n / 2) of the last axis, which have no meaning, and which change 10 to 20% of
      the output. Stentor, and release 2.0.0 on the CPU, use only the real part.

    Weights trained with the release 2.0.0 fit its results. A layer with a state_dict that Stentor
    did not write gives a warning when it meets such data, once; `compatible='2.0.0'` gives the
    release's results.

    Half precision, bfloat16 and whole numbers are converted to float32, also under autocast, and
    the result is float32, as in neuraloperator. Second derivatives are supported.

    Examples
    --------
    >>> import torch, stentor.torch
    >>> conv = stentor.torch.SpectralConv(3, 5, (8, 8))
    >>> conv(torch.zeros(2, 3, 16, 16)).shape
    torch.Size([2, 5, 16, 16])
    >>> conv(torch.zeros(2, 3, 16, 16), output_shape=(24, 20)).shape
    torch.Size([2, 5, 24, 20])
    >>> {name: tuple(value.shape) for name, value in conv.state_dict().items()}
    {'bias': (5, 1, 1), 'weight.tensor': (3, 5, 8, 5)}
    """

    _version = 2  # the version in each state_dict; neuraloperator writes 1

    def __init__(self, in_channels: int, out_channels: int, n_modes: Union[int, Sequence[int]], complex_data: bool = False,
                 max_n_modes: Union[None, int, Sequence[int]] = None, bias: bool = True, separable: bool = False,
                 resolution_scaling_factor: Union[None, float, Sequence[float]] = None, fno_block_precision: str = 'full',
                 rank: Any = 0.5, factorization: Optional[str] = None, implementation: str = 'reconstructed',
                 fixed_rank_modes: Any = False, decomposition_kwargs: Optional[dict] = None, init_std: Union[str, float] = 'auto',
                 fft_norm: str = 'forward', device: Any = None, compatible: Optional[str] = None, **more: Any):
        super().__init__()
        unknown = sorted(set(more) - {'enforce_hermitian_symmetry'})
        if unknown:
            raise TypeError(f'SpectralConv has no argument {unknown[0]!r}')
        for name, value, known in (('fft_norm', fft_norm, ('forward', 'backward', 'ortho')), ('compatible', compatible, (None, '2.0.0')),
                                   ('fno_block_precision', fno_block_precision, ('full', 'half', 'mixed')),
                                   ('implementation', implementation, ('reconstructed', 'factorized'))):
            if value not in known:
                raise ValueError(f'{name} is {value!r}: give {" or ".join(map(repr, known))}')
        in_channels, out_channels = whole(in_channels, 'in_channels', 1), whole(out_channels, 'out_channels', 1)
        if separable and in_channels != out_channels:
            raise ValueError(f'in_channels is {in_channels} and out_channels {out_channels}: separable weights need as many of both')
        self.in_channels, self.out_channels, self.complex_data, self.fft_norm = in_channels, out_channels, complex_data, fft_norm
        self.separable, self.fno_block_precision, self.compatible = separable, fno_block_precision, compatible
        self.factorization, self.implementation, self.rank = factorization, implementation, rank
        self.n_modes = n_modes  # type: ignore[assignment]
        self.order = len(self._n_modes)
        if not 1 <= self.order <= 4:
            raise ValueError(f'n_modes has {self.order} axes: give 1 to 4')
        self.resolution_scaling_factor = _factors(resolution_scaling_factor, self.order)
        self.max_n_modes = list(self._n_modes) if max_n_modes is None else _as_list(max_n_modes, 'max_n_modes')
        if len(self.max_n_modes) != self.order or any(m > most for m, most in zip(self._n_modes, self.max_n_modes)):
            raise ValueError(f'max_n_modes {max_n_modes} has no room for n_modes {n_modes}')
        std = (2 / (in_channels + out_channels)) ** 0.5 if init_std == 'auto' else number(init_std, 'init_std')
        shape = [in_channels, *([] if separable else [out_channels]), *self.max_n_modes]
        kind = str(factorization or 'dense').lower()
        if kind in ('dense', 'complexdense'):
            self.weight: Any = _Dense(shape, std, device, kind == 'complexdense')
        else:
            fixed = ([0] if fixed_rank_modes else None) if isinstance(fixed_rank_modes, bool) else fixed_rank_modes
            self.weight = _factorized(shape, str(factorization), rank, fixed, decomposition_kwargs or {})
            self.weight.normal_(0, std)
            self.weight.to(device)
        values = std * torch.randn(out_channels, *[1] * self.order, device=device) if bias else None
        self.bias = torch.nn.Parameter(values) if values is not None else None
        self._from_elsewhere = False  # True: loaded from a state_dict of another library

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict, *rest: Any) -> None:
        if any(name.startswith(prefix + 'weight.') for name in state_dict):
            self._from_elsewhere = local_metadata.get('version', 0) != self._version
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    @property
    def n_modes(self) -> List[int]:
        """The number of modes retained along each axis, as held by the weights."""
        return self._n_modes

    @n_modes.setter
    def n_modes(self, n_modes: Union[int, Sequence[int]]) -> None:
        self._n_modes = _as_list(n_modes, 'n_modes')
        if not self.complex_data:
            self._n_modes[-1] = self._n_modes[-1] // 2 + 1

    def forward(self, x: torch.Tensor, output_shape: Optional[Sequence[int]] = None) -> torch.Tensor:
        """Apply the layer to (batch, in_channels, points...).

        The result has `output_shape` points, or `resolution_scaling_factor` times those of x."""
        check_kind(x, 'x')
        if x.ndim != self.order + 2 or (x.is_complex() and not self.complex_data):
            kind = 'complex' if self.complex_data else 'real'
            raise ValueError(f'x has shape {tuple(x.shape)} and dtype {x.dtype}: give {kind} numbers on {self.order + 2} axes')
        if x.shape[1] != self.in_channels:
            raise ValueError(f'x has shape {tuple(x.shape)}: give {self.in_channels} channels, as (batch, channels, points...)')
        sizes = self._sizes(x, output_shape)
        if self._from_elsewhere and self.compatible is None and not torch.compiler.is_compiling():
            self._warn(x, sizes)
        precision = self.fno_block_precision
        if precision == 'half' and not x.is_complex():
            x = x.half()
        x = _in_a_plans_type(x)
        if self.complex_data and not x.is_complex():
            x = x.to(torch.cdouble if x.dtype == torch.double else torch.cfloat)
        bias = None if self.bias is None else self.bias.flatten().to(_PAIRS[x.dtype])
        if precision == 'full' and self._has_plan(x, sizes):
            return self._planned(x, bias)
        y = self._planned(x, None) if self._has_plan(x, sizes) else self._composed(x, sizes)
        if precision != 'full' and not y.is_complex():
            y = y.half().to(torch.half if bias is None else x.dtype)
        return y if bias is None else y + bias.reshape(-1, *[1] * self.order)

    def _has_plan(self, x: torch.Tensor, sizes: Tuple[int, ...]) -> bool:
        """Whether the library has plans for this call."""
        return not self.separable and self.compatible is None and self.order <= 3 and sizes == tuple(x.shape[2:])

    def _planned(self, x: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
        # The weights are sliced as pairs of real numbers, since inductor cannot compile the
        # gradient of a slice of a complex tensor.
        weight = self._pairs()[self._kept(x)].to(_PAIRS.get(x.dtype, torch.float32))
        tensors = (x, weight) if bias is None else (x, weight, bias)
        if is_eager(*tensors):
            return _run(x, weight, bias, False)
        refuse_tangents(*tensors)
        return _by_pairs(x, weight, bias, False)

    def _composed(self, x: torch.Tensor, sizes: Tuple[int, ...]) -> torch.Tensor:
        if x.dtype not in _WEIGHTS:
            raise ValueError(f'x has dtype {x.dtype}: give float32, float64, complex64 or complex128')
        weight = torch.view_as_complex(self._pairs()[self._kept(x)].to(_PAIRS[x.dtype]).contiguous())
        run = composed if self.compatible is None else release_2
        return run(x, weight, self.separable, sizes, self.fft_norm)

    def _pairs(self) -> torch.Tensor:
        """The weights as pairs of real numbers; `weight` may have been assigned by the caller."""
        if isinstance(self.weight, _Dense):
            return self.weight()
        tensor = self.weight if isinstance(self.weight, torch.Tensor) else self.weight.to_tensor()
        return _pairs(tensor) if tensor.is_complex() else tensor

    def transform(self, x: torch.Tensor, output_shape: Optional[Sequence[int]] = None) -> torch.Tensor:
        """The transform of a skip connection, called by neuraloperator's blocks.

        It is the identity if the output has the size of x, and interpolates otherwise."""
        sizes = self._sizes(x, output_shape)
        return x if sizes == tuple(x.shape[2:]) else resample(x, sizes)

    def _sizes(self, x: torch.Tensor, output_shape: Optional[Sequence[int]]) -> Tuple[int, ...]:
        """The number of points of the output along each axis."""
        if output_shape is not None:
            sizes = tuple(output_shape)
        elif self.resolution_scaling_factor is not None:
            sizes = tuple(round(n * factor) for n, factor in zip(x.shape[2:], self.resolution_scaling_factor))
        else:
            return tuple(x.shape[2:])
        if len(sizes) != self.order or any(n < 1 for n in sizes):
            raise ValueError(f'output_shape is {sizes}: give at least one point along each of {self.order} axes')
        return sizes

    def _warn(self, x: torch.Tensor, sizes: Tuple[int, ...]) -> None:
        """Warns once if weights trained with neuraloperator 2.0.0 give other results for this
        data."""
        global _warned
        several = self.order > 1
        odd = x.shape[2:] if self.complex_data else x.shape[2:-1]
        cases = (('complex data', self.complex_data), ('an odd number of points', several and any(n % 2 for n in odd)),
                 ('an output of another size', several and sizes != tuple(x.shape[2:])), ('several axes on CUDA', several and x.is_cuda))
        met = next((name for name, holds in cases if holds), None)
        if met is None or _warned:
            return
        _warned = True
        warnings.warn(f'these weights of a SpectralConv were not written by Stentor, and meet {met}: for those, neuraloperator 2.0.0 gives '
                      "other results. If it trained the weights, give compatible='2.0.0'; help(stentor.torch.SpectralConv) says how they "
                      'differ', UserWarning, stacklevel=3)

    def _kept(self, x: torch.Tensor) -> Tuple[slice, ...]:
        """The slice of the weights that n_modes and the size of x use.

        It is centred around frequency 0, in the middle; along the last axis of real data it starts
        at frequency 0."""
        slices = [slice(None)] * (1 if self.separable else 2)  # and all of the last axis, the pairs
        for axis, (n, modes, most) in enumerate(zip(x.shape[2:], self._n_modes, self.max_n_modes)):
            from_zero = axis == self.order - 1 and not self.complex_data
            spare = most - min(n // 2 + 1 if from_zero else n, modes)
            first = 0 if from_zero else spare // 2
            slices.append(slice(first, first + most - spare))
        return tuple(slices)


def _as_list(modes: Union[int, Sequence[int]], name: str) -> List[int]:
    try:
        return [whole(each, name, 1) for each in (
            [modes] if hasattr(modes, '__index__') else modes)]  # type: ignore[union-attr]
    except TypeError:
        raise ValueError(f'{name} is {modes!r}: give a whole number, or one for each axis') from None


def _factors(given: Union[None, float, Sequence[float]], order: int) -> Optional[List[float]]:
    if given is None:
        return None
    factors = [number(each, 'resolution_scaling_factor') for each in (given if isinstance(given, (list, tuple)) else [given] * order)]
    if len(factors) != order or not all(0 < each < float('inf') for each in factors):
        raise ValueError(f'resolution_scaling_factor is {given!r}: give a positive number, or one for each of {order} axes')
    return factors


def _factorized(shape: List[int], factorization: str, rank: Any, fixed: Any, more: dict) -> Any:
    """Weights of tensorly-torch, as in neuraloperator."""
    try:
        from tltorch.factorized_tensors.core import FactorizedTensor
    except ImportError as error:
        raise ImportError(f'factorization {factorization!r} needs tensorly-torch, which cannot be imported ({error}): '
                          'pip install tensorly-torch') from None
    return FactorizedTensor.new(tuple(shape), rank=rank, factorization=factorization, fixed_rank_modes=fixed, dtype=torch.cfloat, **more)
