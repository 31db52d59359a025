#!/usr/bin/env python3
"""Stentor from Python compared with PyTorch: a warm call, heat-2d (torch.compile), a Fourier layer.

    PYTHONPATH=build/python python3 bench/studies/python_torch.py [--device cuda] [--tiny]
                                                                  [--part calls,heat,layer]

Columns: the problem; Stentor's time and PyTorch's, of one call or one run; their ratio, PyTorch's
over Stentor's; the required ratio, if any; the largest difference of the results, relative to the
largest number. Without a GPU, or with --tiny, sizes are so small that times have no meaning.
"""
import argparse
import platform
import statistics
import sys
import time

import numpy as np
import torch

import stentor
import stentor.torch

HEAT = np.array([[0, .125, 0], [.125, .5, .125], [0, .125, 0]])


class Bench:
    def __init__(self, device, tiny):
        self.device, self.tiny = torch.device(device), tiny
        self.synchronize = torch.cuda.synchronize if self.device.type == 'cuda' else lambda: None

    def calls(self, works, calls=300, rounds=60):
        """The minimum microseconds of an enqueued call of each, in alternation.

        Each round waits for the queue at its end.
        """
        calls, rounds = (3, 2) if self.tiny else (calls, rounds)
        least = [float('inf')] * len(works)
        for turn in range(rounds + 1):
            for i, work in enumerate(works):
                begin = time.perf_counter()
                for _ in range(calls):
                    work()
                took = (time.perf_counter() - begin) / calls
                self.synchronize()
                least[i] = min(least[i], took) if turn else least[i]
        return [1e6 * each for each in least]

    def run(self, work, repeat=9):
        """Median milliseconds of a run with its wait, after warm-up runs."""
        times = []
        for _ in range(3 + (1 if self.tiny else repeat)):
            self.synchronize()
            begin = time.perf_counter()
            work()
            self.synchronize()
            times.append(time.perf_counter() - begin)
        return 1e3 * statistics.median(times[3:])


def row(name, ours, theirs, unit, bar='', difference=None):
    ratio = f'{theirs / ours:.2f}' if theirs else ''
    shown = '' if difference is None else f'{difference:.1e}'
    print(f'| {name} | {ours:.3g} {unit} | {f"{theirs:.3g} {unit}" if theirs else ""} | {ratio} | {bar} | {shown} |', flush=True)


def difference(ours, theirs):
    return float((ours - theirs).abs().max() / theirs.abs().max())


# ---- the cost of a call --------------------------------------------------------------------------


def calls(bench):
    x = torch.randn(8, 8, device=bench.device)
    kernel = torch.tensor(HEAT, dtype=torch.float32, device=bench.device)[None, None]
    plan = stentor.Plan((8, 8), HEAT, boundary='constant', dtype='float32', device=str(bench.device))
    spectrum = torch.randn(8, 8, dtype=torch.complex64, device=bench.device)
    image = x[None, None]
    weights, bar = torch.tensor(HEAT), '12 us' if bench.device.type == 'cuda' else '15 us'
    conv, plan_call, correlate, gaussian, fftn, their_fftn, stencil = bench.calls([
        lambda: torch.conv2d(image, kernel, padding=1), lambda: plan(x), lambda: stentor.correlate(x, HEAT, mode='constant'),
        lambda: stentor.gaussian_filter(x, 1.0), lambda: stentor.fft.fftn(spectrum), lambda: torch.fft.fftn(spectrum),
        lambda: stentor.torch.stencil(x, weights, 'constant')])
    expected = torch.conv2d(image, kernel, padding=1)[0, 0]
    row('call of a Plan, 8 x 8 f32; torch.conv2d', plan_call, conv, 'us', bar, difference(plan(x), expected))
    row('call of correlate; torch.conv2d', correlate, conv, 'us', bar, difference(stentor.correlate(x, HEAT, mode='constant'), expected))
    row('call of gaussian_filter, sigma 1', gaussian, None, 'us', bar)
    row('call of fft.fftn; torch.fft.fftn', fftn, their_fftn, 'us', bar, difference(stentor.fft.fftn(spectrum), torch.fft.fftn(spectrum)))
    row('call of torch.stencil, no gradient; torch.conv2d', stencil, conv, 'us', bar,
        difference(stentor.torch.stencil(x, weights, 'constant'), expected))


# ---- steps by torch.compile ---------------------------------------------------------------------


def heat_step(x):
    """As a PyTorch user writes it; when compiled, all 50 steps are in one call."""
    around = x.roll(1, 0) + x.roll(-1, 0) + x.roll(1, 1) + x.roll(-1, 1)
    return 0.5 * x + 0.125 * around


def heat_conv(x, kernel):
    return torch.conv2d(torch.nn.functional.pad(x, (1, 1, 1, 1), 'circular'), kernel)


def heat(bench):
    n, steps = (64, 5) if bench.tiny else (8192, 50)
    x = torch.rand(n, n, device=bench.device)
    plan = stentor.Plan((n, n), HEAT, dtype='float32', steps=steps, device=str(bench.device))

    def loop(x):
        for _ in range(steps):
            x = heat_step(x)
        return x

    compiled = {'a compiled step': torch.compile(heat_step, fullgraph=True)}
    if not bench.tiny:
        compiled['compiled steps, max-autotune'] = torch.compile(heat_step, fullgraph=True, mode='max-autotune-no-cudagraphs')
    ours, made = bench.run(lambda: plan(x)), plan(x)
    print(f'<!-- {plan!r} -->')
    for name, step in compiled.items():
        def run(step=step):
            y = x
            for _ in range(steps):
                y = step(y)
            return y

        row(f'heat-2d {n}^2, {steps} steps f32; {name}', ours, bench.run(run), 'ms', '4', difference(made, run()))
    kernel, image = torch.tensor(HEAT, dtype=torch.float32, device=bench.device)[None, None], x[None, None]

    def convolved():
        y = image
        for _ in range(steps):
            y = heat_conv(y, kernel)
        return y

    row(f'heat-2d {n}^2, {steps} steps f32; torch.conv2d', ours, bench.run(convolved, 3), 'ms', '', difference(made, convolved()[0, 0]))
    few = 3 if bench.tiny else 10  # unrolled into one graph: compiling more takes minutes
    unrolled = torch.compile(lambda x: [x := heat_step(x) for _ in range(few)][-1], fullgraph=True)
    short = stentor.Plan((n, n), HEAT, dtype='float32', steps=few, device=str(bench.device))
    theirs = bench.run(lambda: unrolled(x))
    row(f'heat-2d {n}^2, {few} steps f32; {few} steps compiled as one', bench.run(lambda: short(x)), theirs, 'ms', '4',
        difference(short(x), unrolled(x)))


# ---- Fourier layers ------------------------------------------------------------------------------


class Words(torch.nn.Module):
    """SpectralConv's definition by torch.fft, with the same parameters."""

    def __init__(self, layer, by_axes=False):
        super().__init__()
        self.layer, self.by_axes = layer, by_axes

    def forward(self, x):
        weight, (m, last) = self.layer.weight(), self.layer.n_modes
        spectrum = torch.fft.rfftn(x, dim=(-2, -1), norm='forward')
        made = torch.zeros(x.shape[0], weight.shape[1], *spectrum.shape[2:], dtype=spectrum.dtype, device=x.device)
        for rows, part in ((slice(0, m - m // 2), slice(m // 2, m)), (slice(-(m // 2), None), slice(0, m // 2))):
            made[:, :, rows, :last] = torch.einsum('bixy,ioxy->boxy', spectrum[:, :, rows, :last], weight[:, :, part])
        if self.by_axes:
            made = torch.fft.ifft(made, dim=-2, norm='forward')
            made[..., 0] = made[..., 0].real.clone()
            return torch.fft.irfft(made, n=x.shape[-1], dim=-1, norm='forward') + self.layer.bias
        return torch.fft.irfftn(made, s=x.shape[-2:], dim=(-2, -1), norm='forward') + self.layer.bias


def layer(bench):
    problems = [(2, 4, 16, 6)] if bench.tiny else [(16, 64, 128, 32), (8, 64, 256, 32), (4, 32, 512, 64)]
    for batch, channels, n, modes in problems:
        ours = stentor.torch.SpectralConv(channels, channels, (modes, modes), device=bench.device)
        theirs = Words(ours)
        x = torch.randn(batch, channels, n, n, device=bench.device, requires_grad=True)
        g = torch.randn_like(x)

        def both(module):
            return torch.autograd.grad(module(x), [x, *ours.parameters()], g)

        name = f'SpectralConv {batch} x {channels}, {n}^2, {modes}^2 modes f32'
        with torch.no_grad():
            # With these weights, frequency 0 of the last axis gets values that no real grid has.
            # The definition ignores them, as NumPy does; with cuFFT the result is undefined.
            wrong = difference(ours(x), Words(ours, by_axes=True)(x))
            row(f'{name}; torch.fft', bench.run(lambda: ours(x)), bench.run(lambda: theirs(x)), 'ms', '', wrong)
        wrong = max(difference(a, b) for a, b in zip(both(ours), both(theirs)))
        row(f'{name}, forward and backward; torch.fft', bench.run(lambda: both(ours)), bench.run(lambda: both(theirs)), 'ms', '1.8', wrong)


PARTS = {'calls': calls, 'heat': heat, 'layer': layer}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')
    parser.add_argument('--tiny', action='store_true')
    parser.add_argument('--part', default=','.join(PARTS))
    given = parser.parse_args()
    bench = Bench(given.device, given.tiny or given.device == 'cpu')
    name = torch.cuda.get_device_name() if bench.device.type == 'cuda' else 'a CPU, tiny sizes: these times mean nothing'
    print(f'On {name}. Python {platform.python_version()}, PyTorch {torch.__version__}, Stentor {stentor.__version__}.\n')
    print('| problem; what is beside it | Stentor | PyTorch | ratio | bar | difference |\n|---|--:|--:|--:|--:|--:|')
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    failed = 0
    for part in given.part.split(','):
        try:
            PARTS[part](bench)
        except Exception as error:  # the other parts do not depend on it
            failed += 1
            print(f'| {part}: {type(error).__name__}: {" ".join(str(error).split())[:200]} | | | | | |', flush=True)
    return 1 if failed else 0


if __name__ == '__main__':
    sys.exit(main())
