#!/usr/bin/env python3
"""Whole-grid transforms by PyTorch on the problems of `stentor-bench --group spectral`.

    python3 bench/studies/spectral_torch.py [--dtype f64,f32] [--repeat 9]

rfftn, a product with the symbol's power, irfftn: for wrap only. The power is computed once and not
timed. Prints one Markdown row per problem: median ms, and the memory in use.
"""
import argparse
import math
import statistics

import torch

GRIDS = [(10240, 10240), (16384, 16384), (10239, 10243), (512, 512, 512), (768, 768, 768), (1 << 29,)]
DENSE = [24, 40, 60]  # radii of random taps on 4096^2, one step, f32
DTYPES = {"f64": torch.float64, "f32": torch.float32}


def heat_symbol(grid, steps, dtype):
    """K^T of heat-1d to heat-3d: K = 1 - 1/8 sum over axes of 4 sin^2(theta / 2)."""
    away = torch.zeros([1] * len(grid), dtype=torch.float64, device="cuda")
    for axis, n in enumerate(grid):
        count = n // 2 + 1 if axis == len(grid) - 1 else n
        part = 0.5 * torch.sin(math.pi * torch.arange(count, dtype=torch.float64, device="cuda") / n) ** 2
        away = away + part.reshape([-1 if k == axis else 1 for k in range(len(grid))])
    return ((1 - away) ** steps).to(dtype)


def dense_symbol(grid, radius, dtype):
    taps = torch.rand(2 * radius + 1, 2 * radius + 1, dtype=torch.float64, device="cuda") - 0.5
    field = torch.zeros(grid, dtype=torch.float64, device="cuda")
    field[: 2 * radius + 1, : 2 * radius + 1] = taps / taps.abs().sum()
    field = torch.roll(field, (-radius, -radius), (0, 1))
    symbol = torch.fft.rfftn(field).conj()
    return symbol.to(torch.complex128 if dtype == torch.float64 else torch.complex64)


def time_of(work, repeat):
    for _ in range(2):
        work()
    times = []
    for _ in range(repeat):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end))
    return statistics.median(times)


def measure(name, grid, dtype, symbol, repeat):
    values = torch.rand(grid, dtype=DTYPES[dtype], device="cuda")
    factor = symbol(DTYPES[dtype])

    def work():
        return torch.fft.irfftn(torch.fft.rfftn(values).mul_(factor), s=grid)

    ms = time_of(work, repeat)
    print(f"| {name} | {dtype} | {ms:.3f} | {torch.cuda.max_memory_allocated() / 1e9:.1f} |", flush=True)
    del values, factor
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--dtype", default="f64,f32")
    parser.add_argument("--repeat", type=int, default=9)
    options = parser.parse_args()
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}\n\n| grid | dtype | ms | GB |\n|---|---|--:|--:|")
    for dtype in options.dtype.split(","):
        for grid in GRIDS:
            name = "x".join(map(str, grid))
            measure(name, grid, dtype, lambda real, g=grid: heat_symbol(g, 1000, real), options.repeat)
    if "f32" in options.dtype.split(","):
        for radius in DENSE:
            grid = (4096, 4096)
            measure(f"4096x4096 dense r{radius}", grid, "f32", lambda real, r=radius: dense_symbol(grid, r, real), options.repeat)


if __name__ == "__main__":
    main()
