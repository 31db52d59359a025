#!/usr/bin/env python3
"""The Fourier layers of `stentor-bench --group fno,fno-grid` as a PyTorch user writes them: a transform, an einsum over the
kept modes, the inverse transform, after neuraloperator's SpectralConv.

    python3 bench/fno_torch.py [--repeat 9] [--compile]

Prints one Markdown row a layer: median ms of the forward pass, and (real layers) of the forward and both backward passes.
"""
import argparse
import statistics

import torch

# rank, points of an axis, modes, channels, batch: complex, one matrix of weights for all modes
PAPER = [(1, 128, 64, 64, 4096), (1, 128, 64, 64, 16384), (1, 128, 64, 128, 16384), (2, 128, 64, 64, 64),
         (2, 128, 64, 128, 64)]
# real, weights for each mode
GRID = [(1, 128, 16, 64, 256), (1, 128, 64, 64, 1024), (1, 256, 32, 32, 512), (1, 256, 128, 64, 256),
        (1, 512, 32, 64, 256), (1, 1024, 16, 64, 20), (1, 1024, 64, 64, 128), (1, 1024, 512, 32, 64),
        (1, 2048, 64, 128, 64), (1, 8192, 16, 64, 20), (2, 64, 12, 32, 20), (2, 64, 16, 64, 32),
        (2, 64, 32, 64, 32), (2, 85, 12, 32, 20), (2, 128, 16, 32, 16), (2, 128, 16, 64, 64),
        (2, 128, 32, 64, 16), (2, 128, 64, 64, 8), (2, 128, 64, 32, 32), (2, 241, 12, 32, 10),
        (2, 256, 16, 64, 8), (2, 256, 64, 32, 8), (2, 512, 32, 32, 4), (3, 32, 8, 32, 8),
        (3, 32, 16, 32, 8), (3, 48, 12, 24, 4), (3, 64, 8, 32, 4), (3, 64, 16, 20, 10),
        (3, 64, 16, 32, 2), (3, 128, 16, 16, 1)]


def kept_rows(n, modes):
    """Places of the kept frequencies, -(modes // 2) first, as slices of what fftshift gives."""
    return slice(n // 2 - modes // 2, n // 2 + modes - modes // 2)


def real_layer(x, weights, modes):
    axes = list(range(2, x.dim()))
    spectrum = torch.fft.rfftn(x, dim=axes, norm="forward")
    if len(axes) > 1:
        spectrum = torch.fft.fftshift(spectrum, dim=axes[:-1])
    kept = [slice(None), slice(None)] + [kept_rows(n, modes) for n in x.shape[2:-1]] + [slice(modes // 2 + 1)]
    made = torch.zeros(x.shape[0], weights.shape[1], *spectrum.shape[2:], dtype=spectrum.dtype, device=x.device)
    letters = "xyz"[:len(axes)]
    made[kept] = torch.einsum(f"bi{letters},io{letters}->bo{letters}", spectrum[kept], weights)
    if len(axes) > 1:
        made = torch.fft.ifftshift(made, dim=axes[:-1])
    return torch.fft.irfftn(made, s=x.shape[2:], dim=axes, norm="forward")


def shared_layer(x, weights, modes):
    axes = list(range(2, x.dim()))
    kept = [slice(None), slice(None)] + [slice(modes)] * len(axes)
    spectrum = torch.fft.fftn(x, dim=axes, norm="forward")
    made = torch.zeros(x.shape[0], weights.shape[1], *x.shape[2:], dtype=x.dtype, device=x.device)
    letters = "xyz"[:len(axes)]
    made[kept] = torch.einsum(f"bi{letters},io->bo{letters}", spectrum[kept], weights)
    return torch.fft.ifftn(made, dim=axes, norm="forward")


def time_of(work, repeat):
    for _ in range(2):
        work()
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    work()
    end.record()
    end.synchronize()
    in_a_row = max(1, min(100, int(0.3 / max(begin.elapsed_time(end), 1e-3))))  # as stentor-bench: short ones together
    times = []
    for _ in range(repeat):
        begin.record()
        for _ in range(in_a_row):
            work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / in_a_row)
    return statistics.median(times)


def measure(case, layer, real, repeat):
    rank, n, modes, channels, batch = case
    kept = [modes] * (rank - 1) + [modes // 2 + 1]
    x = torch.rand(batch, channels, *[n] * rank, device="cuda", dtype=torch.float32 if real else torch.complex64)
    weights = torch.rand(channels, channels, *kept if real else [], device="cuda", dtype=torch.complex64)
    with torch.no_grad():
        forward = time_of(lambda: layer(x, weights, modes), repeat)
    both = None
    if real:
        x.requires_grad_()
        weights.requires_grad_()
        gradient = torch.rand_like(x)
        both = time_of(lambda: torch.autograd.grad(layer(x, weights, modes), (x, weights), gradient), repeat)
    print(f"| {rank}d-{n}-m{modes}-c{channels}-b{batch} | {forward:.4f} | {f'{both:.4f}' if both else ''} |", flush=True)
    torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--compile", action="store_true", help="through torch.compile")
    options = parser.parse_args()
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}\n\n| layer | forward, ms | and backward, ms |\n|---|--:|--:|")
    wrap = torch.compile if options.compile else (lambda f: f)
    for case in PAPER:
        measure(case, wrap(shared_layer), False, options.repeat)
    for case in GRID:
        measure(case, wrap(real_layer), True, options.repeat)


if __name__ == "__main__":
    main()
