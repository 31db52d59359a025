"""Spectral convolutions composed of PyTorch's transforms.

They compute layers that the library's plans do not support: separable weights, four axes, outputs
of another size, and the results of neuraloperator 2.0.0. PyTorch gives derivatives of any order.
"""

from typing import Any, List, Optional, Sequence, Tuple

import torch


def _contract(spectrum: torch.Tensor, weight: torch.Tensor, separable: bool) -> torch.Tensor:
    """The product of (batch, channels in, modes...) and the weights of each mode."""
    return spectrum * weight if separable else torch.einsum('bi...,io...->bo...', spectrum, weight)


def _frequencies(modes: int, sizes: Tuple[int, int], from_zero: bool) -> range:
    """The retained frequencies that grids of both sizes have."""
    if from_zero:
        return range(min(modes, min(sizes) // 2 + 1))
    n = min(sizes)
    return range(max(-(modes // 2), -(n // 2)), min((modes - 1) // 2, (n - 1) // 2) + 1)


def _grid(frequencies: Sequence[range], sizes: Sequence[int], device: torch.device) -> Any:
    """The index that selects these frequencies of all batches and channels, in this order."""
    places = []
    for axis, (each, n) in enumerate(zip(frequencies, sizes)):
        line = torch.tensor([k % n for k in each], device=device)
        places.append(line.reshape([-1 if a == axis else 1 for a in range(len(sizes))]))
    return (slice(None), slice(None), *places)


def _forward(x: torch.Tensor, real: bool, norm: str) -> torch.Tensor:
    axes = list(range(2, x.ndim))
    return (torch.fft.rfftn if real else torch.fft.fftn)(x, dim=axes, norm=norm)


def _inverse(spectrum: torch.Tensor, sizes: Sequence[int], real: bool, norm: str) -> torch.Tensor:
    """The inverse transform; real data have the same result on every device.

    The imaginary parts of frequencies 0 and n / 2 of the last axis have no meaning in a real
    transform, and cuFFT's transform of several axes does not leave them out."""
    axes = list(range(2, spectrum.ndim))
    if not real:
        return torch.fft.ifftn(spectrum, s=tuple(sizes), dim=axes, norm=norm)
    if len(axes) > 1:
        spectrum = torch.fft.ifftn(spectrum, dim=axes[:-1], norm=norm)
    kept = torch.ones(spectrum.shape[-1], 2, dtype=spectrum.real.dtype, device=spectrum.device)
    kept[0, 1] = 0
    if sizes[-1] % 2 == 0:
        kept[-1, 1] = 0
    spectrum = torch.view_as_complex(torch.view_as_real(spectrum.resolve_conj()) * kept)
    return torch.fft.irfft(spectrum, n=sizes[-1], dim=-1, norm=norm)


def composed(x: torch.Tensor, weight: Optional[torch.Tensor], separable: bool, sizes: Sequence[int], norm: str,
             modes: Optional[Sequence[int]] = None) -> torch.Tensor:
    """The spectral convolution of x on a grid of `sizes` points.

    Frequencies that this grid does not have are left out. Without weights, the retained `modes` are
    copied."""
    if not x.shape[0]:  # not every version of PyTorch transforms an empty batch
        return composed(torch.cat([x, x.new_zeros(1, *x.shape[1:])]), weight, separable, sizes, norm, modes)[:0]
    real = not x.is_complex()
    given, channels = x.shape[2:], 1 if separable else 2
    held = list(modes) if weight is None else list(weight.shape[channels:])  # type: ignore[arg-type]
    last = len(given) - 1
    frequencies = [_frequencies(m, pair, real and axis == last) for axis, (m, pair) in enumerate(zip(held, zip(given, sizes)))]
    made = _forward(x, real, norm)[_grid(frequencies, given, x.device)]
    if weight is not None:
        for axis, (each, m) in enumerate(zip(frequencies, held)):
            first = each.start + (0 if real and axis == last else m // 2)
            weight = weight.narrow(axis + channels, first, len(each))
        made = _contract(made, weight, separable)
    shape = [*sizes[:-1], sizes[-1] // 2 + 1 if real else sizes[-1]]
    spectrum = made.new_zeros((*made.shape[:2], *shape))
    spectrum[_grid(frequencies, sizes, x.device)] = made
    return _inverse(spectrum, sizes, real, norm)


def release_2(x: torch.Tensor, weight: torch.Tensor, separable: bool, sizes: Sequence[int], norm: str) -> torch.Tensor:
    """The spectral convolution as neuraloperator's release 2.0.0 computes it.

    It moves frequency 0 to the middle and back by the same shift, which for an odd number of points
    is not the inverse one; it does not move the last axis of complex data back; with one axis it
    moves nothing; and a larger grid gets its zeros at the end of each axis."""
    real, axes = not x.is_complex(), list(range(2, x.ndim))
    spectrum = _forward(x, real, norm)
    several = len(axes) > 1
    if several:
        spectrum = torch.fft.fftshift(spectrum, dim=axes[:-1] if real else axes)
    held: List[int] = list(weight.shape[1 if separable else 2:])
    places = [slice(n // 2 - m // 2, n // 2 - m // 2 + m) for n, m in zip(spectrum.shape[2:], held)]
    places[-1] = slice(held[-1])
    at = (slice(None), slice(None), *places)
    product = _contract(spectrum[at], weight, separable)
    made = product.new_zeros((*product.shape[:2], *spectrum.shape[2:]))
    made[at] = product
    if several:
        made = torch.fft.fftshift(made, dim=axes[:-1])
    back = torch.fft.irfftn if real else torch.fft.ifftn
    return back(made, s=tuple(sizes), dim=axes, norm=norm)


def resample(x: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
    """Skip connections on another grid, as in neuraloperator.

    One axis is interpolated linearly, two axes by cubic polynomials, more by Fourier series."""
    if x.ndim > 4:
        real = not x.is_complex()
        modes = [min(pair) for pair in zip(x.shape[2:], sizes)]
        modes[-1] = modes[-1] // 2 + 1 if real else modes[-1]
        return composed(x, None, False, sizes, 'forward', modes)
    if x.is_complex():
        return torch.complex(resample(x.real, sizes), resample(x.imag, sizes))
    mode = 'linear' if x.ndim == 3 else 'bicubic'
    return torch.nn.functional.interpolate(x, size=tuple(sizes), mode=mode, align_corners=True)
