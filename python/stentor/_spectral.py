"""The spectral convolution of neural operators: an operator of PyTorch and a torch.nn.Module.

y = irfftn(W rfftn(x)) + bias, over the retained modes; the module is neuraloperator's SpectralConv.
"""

import warnings
from typing import Any, List, Optional, Sequence, Tuple, Union

import torch

from ._arguments import number
from ._context import HOST
from ._eager import check_kind, is_eager, is_transformed, no_setup, refuse_gradient, refuse_tangents, transformable
from ._fourier import BACKWARD_WEIGHTS, BACKWARD_X, FORWARD, Layer, layer
from ._place import place_of
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
        complex64 or complex128.
    weight : torch.Tensor
        Complex, of the precision of `x` and of shape (channels in, channels out, modes...). Along
        each axis it holds the frequencies -(m // 2) to (m - 1) // 2, but along the last axis of
        real data 0 to m - 1.
    bias : torch.Tensor, optional
        Of shape (channels out) and the dtype of `x`.
    low : bool, optional
        Whether the weights hold the frequencies 0 to m - 1 along every axis.

    Returns
    -------
    torch.Tensor
        Of shape (batch, channels out, points...). Gradients flow to all three tensors.

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
    tensors = (x, weight) if bias is None else (x, weight, bias)
    if type(low) is bool and is_eager(*tensors):
        return _run(x, _pairs(weight), bias, low)
    for name, other in (('weight', weight), ('bias', bias)):
        if other is not None and other.device != x.device:
            raise ValueError(f'{name} is on {other.device} and x on {x.device}: move one of them')
    refuse_tangents(*tensors)
    return _by_pairs(x, _pairs(weight), bias, low)


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
    if bias is not None and (bias.shape != shape[1:2] or bias.dtype != x.dtype):
        raise ValueError(f'bias has shape {tuple(bias.shape)} and dtype {bias.dtype}: give ({shape[1]},) of {x.dtype}')
    for name, other in (('weight', pairs), ('bias', bias)):
        if other is not None and other.device != x.device:
            raise ValueError(f'{name} is on {other.device} and x on {x.device}: move one of them')
    if x.device.type not in ('cpu', 'cuda'):
        raise ValueError(f'x is on {x.device}: move it to the CPU or to a CUDA device')
    if min(x.shape) < 1 or min(shape) < 1:
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
    bias = None if bias is None else _dense(bias)
    y = torch.empty((x.shape[0], weight.shape[1], *x.shape[2:]), dtype=x.dtype, device=x.device)
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
    ctx.save_for_backward(x, weight)


def _backward(ctx: Any, grad: torch.Tensor) -> Tuple[Optional[torch.Tensor], ...]:
    x, weight = ctx.saved_tensors
    for_x, for_weight, for_bias = ctx.needs_input_grad[:3]
    run = _spectral_conv_backward_transformed if is_transformed() else torch.ops.stentor.spectral_conv_backward
    gx, gw, gb = run(grad, x, weight, ctx.has_bias, ctx.low, for_x, for_weight or for_bias)
    return gx if for_x else None, gw if for_weight else None, gb if for_bias else None, None


_spectral_conv.register_autograd(_backward, setup_context=_setup)
_spectral_conv_backward.register_autograd(refuse_gradient, setup_context=no_setup)
_spectral_conv_transformed = transformable(torch.ops.stentor.spectral_conv, _setup, _backward)
_spectral_conv_backward_transformed = transformable(torch.ops.stentor.spectral_conv_backward, no_setup, refuse_gradient)


# ---- the module ----------------------------------------------------------------------------------


class _Dense(torch.nn.Module):
    """Complex weights in the form of neuraloperator's files: a parameter `tensor`.

    It is complex, or holds pairs of real numbers, as in neuraloperator's class ComplexDense and in
    all files of its versions before 2. Files of either form can be loaded into either form."""

    def __init__(self, shape: Sequence[int], std: float, device: Any, pairs: bool):
        super().__init__()
        values = torch.empty(*shape, dtype=torch.cfloat, device=device).normal_(0, std)
        self.tensor = torch.nn.Parameter(torch.view_as_real(values) if pairs else values)

    @property
    def shape(self) -> torch.Size:
        return self.tensor.shape if self.tensor.is_complex() else self.tensor.shape[:-1]

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
    """neuraloperator's SpectralConv with dense weights.

    It has the same arguments, initial values and state_dict.

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
    init_std : float or 'auto', optional
        The standard deviation of the initial weights; 'auto' is
        (2 / (in_channels + out_channels)) ** 0.5.
    fft_norm : str, optional
        'forward', 'backward' or 'ortho'; all give the same result.
    device : optional
        The device of the parameters.

    factorization : str, optional
        None or 'dense': weights are complex numbers, as in the files of neuraloperator 2.
        'complexdense': weights are pairs of real numbers, as in files of earlier versions. Files of
        both forms can be loaded either way.

    The arguments separable, resolution_scaling_factor, fno_block_precision, rank, implementation,
    fixed_rank_modes and decomposition_kwargs are accepted with values that mean dense weights in
    full precision; other values raise ValueError.

    Notes
    -----
    The definition is that of neuraloperator's main branch since its pull requests 688 and 702, with
    the fix for complex data that its issue 731 describes: frequencies -(m // 2) to (m - 1) // 2
    along every axis in every rank, but 0 to m - 1 along the last axis of real data. The release
    2.0.0 gives other results

    - for an odd number of points along any axis except the last one of real data: it shifts
      frequencies by one;
    - for complex data: with one axis it keeps the frequencies 0 to m - 1, with several axes it
      takes those of the last axis from the wrong end;
    - on CUDA, for real data on two axes or more: its inverse transform uses the imaginary parts of
      frequency 0 (and n / 2) of the last axis, which have no meaning, and which change 10 to 20% of
      the output. Stentor, and release 2.0.0 on the CPU, use only the real part.

    Weights trained with the release 2.0.0 fit its results. Loading a state_dict that Stentor did
    not write gives a warning about this, once.

    Examples
    --------
    >>> import torch, stentor.torch
    >>> conv = stentor.torch.SpectralConv(3, 5, (8, 8))
    >>> conv(torch.zeros(2, 3, 16, 16)).shape
    torch.Size([2, 5, 16, 16])
    >>> {name: tuple(value.shape) for name, value in conv.state_dict().items()}
    {'bias': (5, 1, 1), 'weight.tensor': (3, 5, 8, 5)}
    """

    _version = 2  # written to each state_dict; those of neuraloperator have 1

    def __init__(self, in_channels: int, out_channels: int, n_modes: Union[int, Sequence[int]], complex_data: bool = False,
                 max_n_modes: Union[None, int, Sequence[int]] = None, bias: bool = True, separable: bool = False,
                 resolution_scaling_factor: Any = None, fno_block_precision: str = 'full', rank: Any = 0.5,
                 factorization: Optional[str] = None, implementation: str = 'reconstructed', fixed_rank_modes: Any = False,
                 decomposition_kwargs: Optional[dict] = None, init_std: Union[str, float] = 'auto', fft_norm: str = 'forward',
                 device: Any = None, **more: Any):
        super().__init__()
        _dense_only(separable, resolution_scaling_factor, fno_block_precision, factorization, fft_norm)
        unknown = sorted(set(more) - {'enforce_hermitian_symmetry'})
        if unknown:
            raise TypeError(f'SpectralConv has no argument {unknown[0]!r}')
        in_channels, out_channels = whole(in_channels, 'in_channels', 1), whole(out_channels, 'out_channels', 1)
        self.in_channels, self.out_channels, self.complex_data, self.fft_norm = in_channels, out_channels, complex_data, fft_norm
        self.separable, self.resolution_scaling_factor, self.fno_block_precision = separable, resolution_scaling_factor, fno_block_precision
        self.factorization, self.implementation, self.rank = factorization, implementation, rank
        self.n_modes = n_modes  # type: ignore[assignment]
        self.order = len(self._n_modes)
        if not 1 <= self.order <= 3:
            raise ValueError(f'n_modes has {self.order} axes: give 1 to 3')
        self.max_n_modes = list(self._n_modes) if max_n_modes is None else _as_list(max_n_modes, 'max_n_modes')
        if len(self.max_n_modes) != self.order or any(m > most for m, most in zip(self._n_modes, self.max_n_modes)):
            raise ValueError(f'max_n_modes {max_n_modes} has no room for n_modes {n_modes}')
        std = (2 / (in_channels + out_channels)) ** 0.5 if init_std == 'auto' else number(init_std, 'init_std')
        pairs = factorization is not None and factorization.lower() == 'complexdense'
        self.weight = _Dense([in_channels, out_channels, *self.max_n_modes], std, device, pairs)
        values = std * torch.randn(out_channels, *[1] * self.order, device=device) if bias else None
        self.bias = torch.nn.Parameter(values) if values is not None else None

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict, *rest: Any) -> None:
        global _warned
        if prefix + 'weight.tensor' in state_dict and local_metadata.get('version', 0) != self._version and not _warned:
            _warned = True
            warnings.warn('these weights of a SpectralConv were not written by Stentor: its results are those of neuraloperator since its '
                          'pull requests 688 and 702, and differ from those of its release 2.0.0 for odd sizes, for complex data and, of '
                          'several axes, on CUDA: help(stentor.torch.SpectralConv) says how', UserWarning, stacklevel=2)
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
        """Apply the layer to (batch, in_channels, points...)."""
        if not isinstance(x, torch.Tensor):
            raise ValueError(f'x is a {type(x).__name__}: give a tensor')
        if x.ndim != self.order + 2 or x.is_complex() != self.complex_data:
            kind = 'complex' if self.complex_data else 'real'
            raise ValueError(f'x has shape {tuple(x.shape)} and dtype {x.dtype}: give {kind} numbers on {self.order + 2} axes')
        self.transform(x, output_shape)
        # The weights are sliced as pairs of real numbers, since inductor cannot compile the
        # gradient of a slice of a complex tensor.
        weight = self.weight()[self._kept(x)].to(_PAIRS.get(x.dtype, torch.float32))
        bias = None if self.bias is None else self.bias.flatten().to(x.dtype)
        tensors = (x, weight) if bias is None else (x, weight, bias)
        check_kind(x, 'x')
        if is_eager(*tensors):
            return _run(x, weight, bias, False)
        refuse_tangents(*tensors)
        return _by_pairs(x, weight, bias, False)

    def transform(self, x: torch.Tensor, output_shape: Optional[Sequence[int]] = None) -> torch.Tensor:
        """The transform of a skip connection, called by neuraloperator's blocks: the identity.

        An `output_shape` other than the shape of x is refused."""
        if output_shape is not None and tuple(output_shape) != tuple(x.shape[2:]):
            raise ValueError(f'output_shape is {tuple(output_shape)}: Stentor keeps the shape of x, {tuple(x.shape[2:])}')
        return x

    def _kept(self, x: torch.Tensor) -> Tuple[slice, ...]:
        """The slice of the weights that n_modes and the size of x use.

        It is centred around frequency 0, in the middle; along the last axis of real data it starts
        at frequency 0."""
        slices = [slice(None), slice(None)]  # and all of the last axis, the pairs
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


def _dense_only(separable: bool, scaling: Any, precision: str, factorization: Optional[str], norm: str) -> None:
    wrong = [text for bad, text in (
        (separable, 'separable weights'), (scaling is not None, f'resolution_scaling_factor {scaling}'),
        (precision != 'full', f'fno_block_precision {precision!r}'),
        (factorization is not None and str(factorization).lower() not in ('dense', 'complexdense'), f'factorization {factorization!r}'))
        if bad]
    if wrong:
        raise ValueError(f"Stentor's SpectralConv has dense weights, full precision and the shape of x, not {wrong[0]}")
    if norm not in ('forward', 'backward', 'ortho'):
        raise ValueError(f"fft_norm is {norm!r}: give 'forward', 'backward' or 'ortho'")
