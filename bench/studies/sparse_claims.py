#!/usr/bin/env python3
"""SPTCStencil's claims compared with our measurements.

    bench/studies/sparse_claims.py [--ncu NCU|none] [--no-torch] BENCH STENTOR [bench options]

The paper's table 1 (operations per point of Box-2D3R) from our plans and from Nsight Compute's
counters, and the speed of box-2d49p in f16 by our strategies and, through PyTorch, by cuBLAS, cuDNN
and cuFFT, for one problem in one run. BENCH and STENTOR are the paths of stentor-bench and stentor.
Takes half a minute on an H200, 20 s of it in ncu. Prints Markdown.
"""
import argparse
import csv
import io
import json
import re
import statistics
import subprocess
import sys

SIZE = 10240
RADIUS, TAPS, STEPS = 3, 49, 1000
STRATEGIES = ["sparse", "lowrank", "direct", "spectral"]
# The paper's table 1: multiplications, elements and weights per point; then ours.
PAPER = [("lower bound", 49, 3.06, 0.77), ("TCStencil", 286.72, 17.92, 17.92), ("ConvStencil", 104, 13, 13), ("LoRAStencil", 144, 4, 12),
         ("SPTCStencil", 56, 14, 7)]
# The paper's mean speedups over others (A100, eight problems), and their counterparts here.
CLAIMS = [("FlashFFTStencil", 1.35, "spectral"), ("LoRAStencil", 1.63, "lowrank"), ("ConvStencil", 1.88, "im2row + cuBLAS"),
          ("DRStencil", 4.71, "direct"), ("cuDNN", 6.20, "cuDNN")]
INSTRUCTIONS = "sm__inst_executed_pipe_tensor_op_hmma.sum"
# Two per multiplication, including those by the zeros of 2:4 sparsity.
OPERATIONS = "sm__ops_path_tensor_src_fp16.sum"
# 128 bytes of shared memory each.
WAVES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
LOADS = "smsp__sass_inst_executed_op_shared_ld.sum"
READ, WRITTEN = "dram__bytes_read.sum", "dram__bytes_write.sum"
METRICS = [INSTRUCTIONS, OPERATIONS, WAVES, LOADS, READ, WRITTEN]


def plan(stentor, strategy):
    """Operations of one step by plan: multiplications per point; of sparse, elements, weights."""
    command = [stentor, "explain", "--json", "--arch", "sm_90", "--stencil", "box-2d49p", "--size", f"{SIZE}x{SIZE}", "--dtype", "f16",
               "--steps", "1", "--strategy", strategy]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    first = json.loads(done.stdout)["ranking"][0]
    said = re.search(r"takes ([\d.]+) multiplications, ([\d.]+) elements, ([\d.]+) weights", first["candidate"])
    return [float(n) for n in said.groups()] if said else [first["flops"] / 2 / SIZE**2, None, None]


def cells(values):
    return " | ".join("-" if v is None else f"{v:.4g}" for v in values)


def counted(ncu, bench, strategy, options):
    """Counters of the kernel with most of the work of one step; None without ncu."""
    command = [ncu, "--metrics", ",".join(METRICS), "--csv", "--page", "raw", "--kernel-name", f"regex:^{strategy}_", "--launch-count", "1",
               bench, "--group", "sparse", "--case", "box-2d49p-1", "--dtype", "f16", "--strategy", strategy, "--repeat", "1"] + options
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        print(f"sparse_claims: {error}", file=sys.stderr)
        return None
    lines = done.stdout.splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith('"ID"')]
    if not starts:
        print("sparse_claims: " + (done.stderr + done.stdout)[-500:], file=sys.stderr)
        return None
    rows = list(csv.DictReader(io.StringIO("\n".join(lines[starts[0]:]))))
    return {name: float(rows[-1][name].replace(",", "")) for name in METRICS if rows[-1].get(name)}


def print_costs(options, rest):
    print("| Box-2D3R, a point | multiplications | elements read by products | weights read by them |\n|---|--:|--:|--:|")
    for name, *values in PAPER:
        print(f"| {name}, the paper | {cells(values)} |")
    for strategy in STRATEGIES[:3]:
        print(f"| {strategy}, plan | {cells(plan(options.stentor, strategy))} |")
    for strategy in STRATEGIES[:2] if options.ncu != "none" else []:
        c = counted(options.ncu, options.bench, strategy, rest)
        if not c:
            continue
        points, kept = SIZE**2, 0.5 if strategy == "sparse" else 1
        made = c[OPERATIONS] / 2 * kept / points if OPERATIONS in c else None
        elements = c[WAVES] * 128 / 2 / points if WAVES in c else None
        print(f"| {strategy}, ncu | {cells([made, elements, None])} |")
        print(f"\n{strategy} by ncu: " + ", ".join(f"{name} {c[name]:.6g}" for name in METRICS if name in c) + "\n", flush=True)


def ours(bench, options):
    """Milliseconds of one step and of a run, by strategy."""
    found = {}
    for strategy in STRATEGIES:
        command = [bench, "--group", "sparse", "--case", "box-2d49p-1,box-2d49p", "--dtype", "f16", "--strategy", strategy, "--repeat", "5",
                   "--json"] + options
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if not done.stdout.startswith("{"):
            raise SystemExit("sparse_claims: " + (done.stderr or done.stdout).strip())
        for row in json.loads(done.stdout)["results"]:
            if row["seconds"]:
                found[strategy, row["steps"]] = 1e3 * row["seconds"]
            else:
                print(f"sparse_claims: {strategy}: {row['problem']}", file=sys.stderr)
    return found


def libraries(size, repeat=5):
    """Milliseconds of one step by library, each checked with cuDNN in f32."""
    import torch
    import torch.nn.functional as functional
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.manual_seed(1)
    weights = torch.rand(2 * RADIUS + 1, 2 * RADIUS + 1, device="cuda")
    weights /= weights.sum()
    grid = torch.rand(size, size, device="cuda") - 0.5
    wide = functional.pad(grid[None, None], (RADIUS,) * 4, mode="circular")[0, 0]
    half = wide.half()
    expected = functional.conv2d(wide[None, None], weights[None, None])[0, 0]
    outputs, window = 16, 24  # outputs of a window (the paper's L), and its columns
    padded = functional.pad(wide, (0, window - outputs - 2 * RADIUS)).half().contiguous()
    bands = torch.zeros(2 * RADIUS + 1, window, outputs, device="cuda")
    for i in range(outputs):
        bands[:, i:i + 2 * RADIUS + 1, i] = weights
    bands = bands.half()
    symbol = torch.zeros_like(grid)
    for y in range(-RADIUS, RADIUS + 1):
        for x in range(-RADIUS, RADIUS + 1):
            symbol[-y % size, -x % size] = weights[y + RADIUS, x + RADIUS]
    symbol = torch.fft.rfft2(symbol)

    # Windows of every row next to each other (copied by PyTorch) times bands, per row of taps.
    def cublas():
        windows = padded.unfold(1, window, outputs).reshape(-1, window)
        blocks, out = size // outputs, None
        for i, band in enumerate(bands):
            part = windows[i * blocks:(i + size) * blocks]
            out = part @ band if out is None else out.addmm_(part, band)
        return out.view(size, size)

    ways = {"im2row + cuBLAS": cublas, "cuDNN": lambda: functional.conv2d(half[None, None], weights.half()[None, None])[0, 0],
            "cuFFT, f32": lambda: torch.fft.irfft2(torch.fft.rfft2(grid) * symbol, s=grid.shape)}
    found = {}
    for name, way in ways.items():
        error = ((way().float() - expected).norm() / expected.norm()).item()
        if not error < 3e-3:
            raise SystemExit(f"sparse_claims: {name} is off by {error:.2g}")
        times = []
        for _ in range(repeat + 1):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            way()
            end.record()
            end.synchronize()
            times.append(begin.elapsed_time(end))
        found[name, 1] = statistics.median(times[1:])
        found[name, STEPS] = found[name, 1] * (1 if "FFT" in name else STEPS)
    return found


def print_speeds(times):
    print(f"\n| box-2d49p, {SIZE}^2, f16 | one step, ms | GStencil/s | sparse is times | {STEPS} steps, ms | GStencil/s | sparse is times |")
    print("|---|--:|--:|--:|--:|--:|--:|")
    for name in dict.fromkeys(name for name, _ in times):
        row = []
        for steps in (1, STEPS):
            ms, sparse = times.get((name, steps)), times.get(("sparse", steps))
            row += [ms, ms and steps * SIZE**2 / ms / 1e6, ms and sparse and ms / sparse]
        print(f"| {name} | {cells(row)} |")
    print("\n| the paper's mean speedup over | | here | one step | " + f"{STEPS} steps |\n|---|--:|---|--:|--:|")
    for name, claim, stands in CLAIMS:
        row = [times.get((stands, steps)) and times[stands, steps] / times["sparse", steps] for steps in (1, STEPS)]
        print(f"| {name} | {claim} | {stands} | {cells(row)} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ncu", default="ncu")
    parser.add_argument("--no-torch", action="store_true")
    parser.add_argument("bench")
    parser.add_argument("stentor")
    options, rest = parser.parse_known_args()
    times = ours(options.bench, rest)
    if not options.no_torch:
        try:
            times.update(libraries(SIZE))
        except (ImportError, RuntimeError) as error:
            print(f"sparse_claims: without PyTorch's libraries: {error}", file=sys.stderr)
    print_speeds(times)
    print()
    print_costs(options, rest)


if __name__ == "__main__":
    main()
