#!/usr/bin/env python3
"""The Fourier layers of `stentor-bench --group fno,fno-grid` by PyTorch, Stentor, cuFFT + cuBLAS.

    python3 bench/studies/fno_torch.py [--bench build/bench/stentor-bench | --table FILE]
                                       [--repeat 9] [--compile] [--only PART]
    python3 bench/studies/fno_torch.py --check

In PyTorch a layer is a transform, an einsum over the retained modes and the inverse transform, as
in neuraloperator's SpectralConv. --bench measures Stentor first, --table reads an earlier output of
stentor-bench; without either only PyTorch is measured. --check compares small layers with their
definition on the CPU. Prints a Markdown table with a row for each layer and pass (forward; for real
layers also forward and both backward passes), median ms; then how many layers miss the required
speed: 1.5 times cuFFT + cuBLAS and twice PyTorch forward, 1.8 times PyTorch forward and backward,
over the real layers. Exits with 77 without PyTorch or a GPU for it.
"""
import argparse
import math
import re
import statistics
import subprocess
import sys

try:
    import torch
except ImportError:
    torch = None

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
FORWARD, BOTH = "forward", "forward and backward"
BARS = {FORWARD: (1.5, 2.0), BOTH: (None, 1.8)}  # times as fast as cuFFT + cuBLAS, as PyTorch
SKIPPED = 77

# ---- the layers ----------------------------------------------------------------------------------


def kept_rows(n, modes):
    """Indices of the retained frequencies, -(modes // 2) first, as slices of fftshift's output."""
    return slice(n // 2 - modes // 2, n // 2 + modes - modes // 2)


def real_layer(x, weights, modes):
    axes = list(range(2, x.dim()))
    spectrum = torch.fft.rfftn(x, dim=axes, norm="forward")
    if len(axes) > 1:
        spectrum = torch.fft.fftshift(spectrum, dim=axes[:-1])
    kept = [slice(None), slice(None)] + [kept_rows(n, modes) for n in x.shape[2:-1]] + [slice(modes // 2 + 1)]
    made = torch.zeros(x.shape[0], weights.shape[1], *spectrum.shape[2:], dtype=spectrum.dtype, device=x.device)
    letters = "xyz"[:len(axes)]
    made[tuple(kept)] = torch.einsum(f"bi{letters},io{letters}->bo{letters}", spectrum[tuple(kept)], weights)
    if len(axes) > 1:
        made = torch.fft.ifftshift(made, dim=axes[:-1])
    return torch.fft.irfftn(made, s=x.shape[2:], dim=axes, norm="forward")


def shared_layer(x, weights, modes):
    axes = list(range(2, x.dim()))
    kept = [slice(None), slice(None)] + [slice(modes)] * len(axes)
    spectrum = torch.fft.fftn(x, dim=axes, norm="forward")
    made = torch.zeros(x.shape[0], weights.shape[1], *x.shape[2:], dtype=x.dtype, device=x.device)
    letters = "xyz"[:len(axes)]
    made[tuple(kept)] = torch.einsum(f"bi{letters},io->bo{letters}", spectrum[tuple(kept)], weights)
    return torch.fft.ifftn(made, dim=axes, norm="forward")


def arguments(case, device, wide=False):
    """x and weights of a case; complex for the paper's cases."""
    rank, n, modes, channels, batch = case
    real = case not in PAPER
    kept = [modes] * (rank - 1) + [modes // 2 + 1]
    number, pair = (torch.float64, torch.complex128) if wide else (torch.float32, torch.complex64)
    x = torch.rand(batch, channels, *[n] * rank, device=device, dtype=number if real else pair)
    weights = torch.rand(channels, channels, *kept if real else [], device=device, dtype=pair)
    return x, weights


# ---- measuring -----------------------------------------------------------------------------------


def time_of(work, repeat):
    for _ in range(2):
        work()
    torch.cuda.synchronize()
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    begin.record()
    work()
    end.record()
    end.synchronize()
    # Short runs are timed together, as in stentor-bench.
    in_a_row = max(1, min(100, int(0.3 / max(begin.elapsed_time(end), 1e-3))))
    times = []
    for _ in range(repeat):
        begin.record()
        for _ in range(in_a_row):
            work()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) / in_a_row)
    return statistics.median(times)


def measure(case, name, repeat, wrap):
    """Median ms of each pass."""
    real = case not in PAPER
    layer, modes = wrap(real_layer if real else shared_layer), case[2]
    torch.backends.cuda.matmul.allow_tf32 = name.endswith(("tf32", "bf16"))
    x, weights = arguments(case, "cuda")
    with torch.no_grad():
        made = {FORWARD: time_of(lambda: layer(x, weights, modes), repeat)}
    if real:
        x.requires_grad_()
        weights.requires_grad_()
        gradient = torch.rand_like(x)
        made[BOTH] = time_of(lambda: torch.autograd.grad(layer(x, weights, modes), (x, weights), gradient), repeat)
    torch.cuda.empty_cache()
    return made


# ---- tables --------------------------------------------------------------------------------------


def name_of(case):
    return "{}d-{}-m{}-c{}-b{}".format(*case)


def case_of(name):
    found = re.match(r"(\d)d-(\d+)-m(\d+)-c(\d+)-b(\d+)", name)
    return tuple(int(part) for part in found.groups()) if found else None


def read_table(text):
    """Rows of stentor-bench: (name, pass, ms or None, strategy, ms of cuFFT + cuBLAS or None)."""
    rows = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) < 3 or not case_of(cells[0]):
            continue
        measured = len(cells) >= 6 and "WRONG" not in line
        rows.append((cells[0], cells[1], float(cells[2]) if measured else None, cells[3] if measured else cells[2],
                     float(cells[4]) if measured and cells[4] != "-" else None))
    return rows


def alone():
    """The rows if Stentor is not measured."""
    rows = []
    for case in PAPER + GRID:
        for kind in [FORWARD] if case in PAPER else [FORWARD, BOTH]:
            rows.append((name_of(case), kind, None, "", None))
    return rows


def ratio(slow, fast):
    return slow / fast if slow and fast else None


def shown(value, form):
    return form.format(value) if value is not None else ""


def table_row(row, torch_ms):
    name, kind, ours, strategy, cublas = row
    cells = [name, kind, shown(ours, "{:.4f}"), strategy, shown(cublas, "{:.4f}"), shown(ratio(cublas, ours), "{:.2f}"),
             shown(torch_ms, "{:.4f}"), shown(ratio(torch_ms, ours), "{:.2f}")]
    return "| " + " | ".join(cells) + " |"


def summary(rows, torch_ms):
    """For each pass and competitor: geometric mean, minimum, misses, over the real layers."""
    lines = []
    for kind in (FORWARD, BOTH):
        real = [(row, ms) for row, ms in zip(rows, torch_ms) if row[1] == kind and case_of(row[0]) not in PAPER]
        rivals = (("cuFFT + cuBLAS", [ratio(row[4], row[2]) for row, _ in real], BARS[kind][0]),
                  ("PyTorch", [ratio(ms, row[2]) for row, ms in real], BARS[kind][1]))
        for rival, every, bar in rivals:
            times = [t for t in every if t is not None]
            if not times:
                continue
            mean = math.exp(statistics.fmean(math.log(t) for t in times))
            missed = f", {sum(t < bar for t in times)} below {bar}" if bar else ""
            lines.append(f"{kind}, {len(times)} layers: {mean:.2f} times as fast as {rival} (geometric mean), "
                         f"least {min(times):.2f}{missed}")
    return lines


# ---- checking ------------------------------------------------------------------------------------

SMALL = [(1, 9, 4, 2, 2), (1, 8, 8, 3, 1), (2, 6, 4, 2, 2), (2, 5, 3, 2, 1), (3, 4, 4, 2, 1)]


def defined(x, weights, modes):
    """The layer by its defining sums, in complex numbers.

    For real data the last axis counts frequencies twice, except those equal to their own negative,
    and the result is the real part.
    """
    real, axes = not x.is_complex(), x.dim() - 2
    shape, total = x.shape[2:], math.prod(x.shape[2:])
    here = torch.cartesian_prod(*[torch.arange(n, dtype=torch.float64) for n in shape]).reshape(total, axes)
    first = [-(modes // 2)] * (axes - 1) + [0] if real else [0] * axes
    count = [modes] * (axes - 1) + [modes // 2 + 1 if real else modes]
    kept = torch.cartesian_prod(*[torch.arange(c) + f for c, f in zip(count, first)]).reshape(-1, axes)
    turns = (here / torch.tensor(shape, dtype=torch.float64)) @ kept.T.to(torch.float64)
    roots = torch.exp(-2j * math.pi * turns)  # [points, modes]
    spectrum = (x.reshape(*x.shape[:2], total).to(torch.complex128) @ roots) / total
    flat = weights.reshape(*weights.shape[:2], -1).expand(-1, -1, kept.shape[0])
    made = torch.einsum("bik,iok->bok", spectrum, flat)
    if real:
        own = (kept[:, -1] == 0) | (2 * kept[:, -1] == shape[-1])
        made = made * torch.where(own, 1.0, 2.0)
    y = (made @ roots.conj().T).reshape(x.shape[0], -1, *shape)
    return y.real if real else y


def far(a, b):
    return float(((a - b).norm() / b.norm()).detach())


def check():
    """Results and gradients of both layers compared with their definitions in float64."""
    worst = 0.0
    for case in SMALL:
        for layer, real in ((real_layer, True), (shared_layer, False)):
            rank, n, modes, channels, batch = case
            kept = [modes] * (rank - 1) + [modes // 2 + 1]
            x = torch.rand(batch, channels, *[n] * rank, dtype=torch.float64 if real else torch.complex128)
            weights = torch.rand(channels, channels, *kept if real else [], dtype=torch.complex128)
            x.requires_grad_()
            weights.requires_grad_()
            got, want = layer(x, weights, modes), defined(x, weights, modes)
            gradient = torch.rand_like(got)
            pairs = zip(torch.autograd.grad(got, (x, weights), gradient),
                        torch.autograd.grad(want, (x, weights), gradient))
            worst = max([worst, far(got, want)] + [far(a, b) for a, b in pairs])
    print(f"{2 * len(SMALL)} small layers, results and gradients: relative L2 at most {worst:.2g}")
    return 0 if worst < 1e-12 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bench", help="stentor-bench, which is run first")
    parser.add_argument("--table", help="what it printed")
    parser.add_argument("--repeat", type=int, default=9)
    parser.add_argument("--compile", action="store_true", help="through torch.compile")
    parser.add_argument("--only", default="", help="a part of the layers' names")
    parser.add_argument("--check", action="store_true", help="the layers in small, on the CPU")
    options = parser.parse_args()
    if torch is None or not (options.check or torch.cuda.is_available()):
        print("fno_torch.py: skipped, " + ("there is no PyTorch" if torch is None else "PyTorch finds no GPU"))
        return SKIPPED
    if options.check:
        return check()
    rows = alone()
    if options.bench:
        done = subprocess.run([options.bench, "--group", "fno,fno-grid", "--repeat", str(options.repeat)],
                              stdout=subprocess.PIPE, text=True, check=False)
        rows = read_table(done.stdout)
    elif options.table:
        with open(options.table, encoding="utf-8") as file:
            rows = read_table(file.read())
    rows = [row for row in rows if options.only in row[0]]
    wrap = torch.compile if options.compile else (lambda f: f)
    print(f"PyTorch {torch.__version__}{', compiled' if options.compile else ''}, {torch.cuda.get_device_name()}\n\n"
          "| layer | pass | ms | strategy | cuFFT + cuBLAS, ms | times | PyTorch, ms | times |\n"
          "|---|---|--:|---|--:|--:|--:|--:|")
    times, torch_ms = {}, []
    for row in rows:
        if row[0] not in times:
            times[row[0]] = measure(case_of(row[0]), row[0], options.repeat, wrap)
        torch_ms.append(times[row[0]].get(row[1]))
        print(table_row(row, torch_ms[-1]), flush=True)
    print("\n" + "\n".join(summary(rows, torch_ms)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
