#!/usr/bin/env python3
"""Gaussian filters by PyTorch's separable conv2d, compared with stentor-bench --group filters.

    bench/studies/filters_torch.py build/bench/stentor-bench [--size N]

Ten radii on a 4096 x 4096 f32 image, reflect, with PyTorch's padding included. Errors are relative
to the largest value, against float64. Prints a Markdown table.
"""
import argparse
import json
import statistics
import subprocess
import sys

import torch
import torch.nn.functional as functional


def factor(radius):
    """The weights of gaussian-2d:truncate=4,sigma=radius/4 along one axis."""
    x = torch.arange(-radius, radius + 1, dtype=torch.float64)
    weights = torch.exp(-0.5 * (x / (radius / 4)) ** 2)
    return weights / weights.sum()


def extend(image, radius):
    """NumPy's "symmetric", SciPy's "reflect": the value at the edge is repeated."""
    for axis in (2, 3):
        n = image.shape[axis]
        low = image.narrow(axis, 0, radius).flip(axis)
        high = image.narrow(axis, n - radius, radius).flip(axis)
        image = torch.cat((low, image, high), axis)
    return image


def blur(image, weights):
    radius = weights.numel() // 2
    wide = extend(image, radius)
    return functional.conv2d(functional.conv2d(wide, weights.view(1, 1, 1, -1)), weights.view(1, 1, -1, 1))


def milliseconds(work, repeat=9):
    times = []
    for i in range(repeat + 2):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        end.synchronize()
        if i >= 2:
            times.append(begin.elapsed_time(end))
    return statistics.median(times)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("bench")
    parser.add_argument("--size", type=int, default=4096)
    options = parser.parse_args()
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    command = [options.bench, "--group", "filters", "--dtype", "f32", "--json", "--size", f"{options.size}x{options.size}"]
    rows = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=False).stdout)
    image = torch.rand((1, 1, options.size, options.size), device="cuda", dtype=torch.float32) * 2 - 1
    print("| radius | PyTorch ms | its error | Stentor ms | its error (L2) | times faster |\n|--:|--:|--:|--:|--:|--:|")
    for row in rows["results"]:
        radius = int(row["case"].rsplit("r", 1)[1])
        weights = factor(radius).to("cuda")
        single = weights.float()
        taken = milliseconds(lambda: blur(image, single))
        off = (blur(image, single).double() - blur(image.double(), weights)).abs().max() / image.abs().max()
        ours = 1e3 * row["seconds"]
        print(f"| {radius} | {taken:.3f} | {off.item():.1e} | {ours:.3f} | {row['relative_error']:.1e} | {taken / ours:.1f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
