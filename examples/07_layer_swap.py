#!/usr/bin/env python3
"""A Fourier neural operator, trained with a layer in plain PyTorch, then run with Stentor's layer.

The network learns the result of 60 steps of advection and diffusion, from data by stentor.Plan. Its
SpectralConv, with neuraloperator's arguments and state_dict, is then replaced by
stentor.torch.SpectralConv, which changes one name. Draws a new field, the true result and the
prediction of the network with Stentor's layers.

    python3 examples/07_layer_swap.py [PICTURE.png]       (skipped, status 77, without PyTorch)
"""
import sys

import numpy as np
from picture import save_png, side_by_side

import stentor

try:
    import torch

    import stentor.torch
except ImportError as error:
    print(f'skipped: {error}')
    sys.exit(77)

POINTS, WIDTH, MODES, STEPS = 32, 16, 12, 60
DRIFT = np.array([[0, .12, 0], [.28, .40, .08], [0, .12, 0]])  # advection to the east, diffusion


class Dense(torch.nn.Module):
    def __init__(self, *shape):
        super().__init__()
        self.tensor = torch.nn.Parameter(torch.randn(*shape, dtype=torch.cfloat) / (shape[0] * shape[1]) ** 0.5)


class SpectralConv(torch.nn.Module):
    """neuraloperator's layer for two axes."""

    def __init__(self, channels_in, channels_out, modes):
        super().__init__()
        self.half = modes[0] // 2
        self.weight = Dense(channels_in, channels_out, modes[0], modes[1] // 2 + 1)
        self.bias = torch.nn.Parameter(torch.zeros(channels_out, 1, 1))

    def forward(self, x):
        spectrum = torch.fft.rfft2(x, norm='forward')
        weight, last = self.weight.tensor, self.weight.tensor.shape[-1]
        kept = torch.zeros(x.shape[0], weight.shape[1], *spectrum.shape[2:], dtype=spectrum.dtype)
        for rows, part in ((slice(None, self.half), slice(self.half, None)), (slice(-self.half, None), slice(None, self.half))):
            kept[:, :, rows, :last] = torch.einsum('bixy,ioxy->boxy', spectrum[:, :, rows, :last], weight[:, :, part])
        return torch.fft.irfft2(kept, s=x.shape[-2:], norm='forward') + self.bias


class Operator(torch.nn.Module):
    def __init__(self, conv):
        super().__init__()
        self.lifting, self.projection = torch.nn.Conv2d(1, WIDTH, 1), torch.nn.Conv2d(WIDTH, 1, 1)
        self.convs = torch.nn.ModuleList(conv(WIDTH, WIDTH, (MODES, MODES)) for _ in range(2))
        self.skips = torch.nn.ModuleList(torch.nn.Conv2d(WIDTH, WIDTH, 1) for _ in range(2))

    def forward(self, x):
        x = self.lifting(x)
        for conv, skip in zip(self.convs, self.skips):
            x = torch.nn.functional.gelu(conv(x) + skip(x))
        return self.projection(x)


def fields(count, seed):
    """Smooth random fields of standard deviation 1, and the fields after STEPS steps."""
    rough = np.random.default_rng(seed).standard_normal((count, POINTS, POINTS)).astype(np.float32)
    smooth = stentor.gaussian_filter(rough, 2.0, mode='wrap', axes=(1, 2))
    smooth /= smooth.std()
    plan = stentor.Plan(smooth.shape, DRIFT, boundary='wrap', dtype='float32', steps=STEPS, device='host')
    return torch.from_numpy(smooth)[:, None], torch.from_numpy(plan(smooth))[:, None]


def train(model, x, y, rounds=60):
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    for _ in range(rounds):
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
    return loss.item()


def main(path='layer_swap.png'):
    torch.manual_seed(0)
    trained = Operator(SpectralConv)
    train(trained, *fields(16, seed=1))
    swapped = Operator(stentor.torch.SpectralConv)
    swapped.load_state_dict(trained.state_dict())
    x, y = fields(8, seed=2)
    with torch.no_grad():
        before, after = trained(x), swapped(x)
    changed = float((after - before).norm() / before.norm())
    wrong = float((after - y).norm() / y.norm())
    save_png(path, np.repeat(np.repeat(side_by_side(x[0, 0], y[0, 0], after[0, 0]), 6, axis=0), 6, axis=1))
    print(f'off by {wrong:.3f} of the fields on new ones; the other layers changed {changed:.1e} of that; the picture is {path}')
    if changed > 1e-5 or wrong > 0.2:
        sys.exit('the layers should agree to rounding, and the network have learned')


if __name__ == '__main__':
    main(*sys.argv[1:])
