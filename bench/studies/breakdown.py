#!/usr/bin/env python3
"""The time of each part of the lowrank kernels (the paper's figure 9).

    bench/studies/breakdown.py build/bench/stentor-bench [--case box-2d9p] [bench options]

Times a case as it is, then with one optimisation at a time undone in copies of the kernel templates
($STENTOR_TEMPLATE_DIR). Prints a Markdown table.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

TEMPLATES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "kernel_templates")

# Sixteen bytes through registers, instead of an asynchronous copy.
COPY_NOW = """
template <class T>
__device__ __forceinline__ void copy_now(T *to, const T *from) {
    double run[2];
    load_run(run, reinterpret_cast<const double *>(from));
    reinterpret_cast<double *>(to)[0] = run[0], reinterpret_cast<double *>(to)[1] = run[1];
}
"""

# Accumulators to a left factor's columns by lane shuffles, instead of permuted right rows.
SHUFFLE = """
    for (int h = 0; h < 2; h++)
        for (int half = 0; half < 4; half += 2) {
            const int lane = threadIdx.x % 32, t = lane % 4;
            double moved[2];
            for (int e = 0; e < 2; e++) {
                const double even = __shfl_sync(0xffffffffu, rows[h][half], lane - t + t / 2 + 2 * e);
                const double odd = __shfl_sync(0xffffffffu, rows[h][half + 1], lane - t + t / 2 + 2 * e);
                moved[e] = t % 2 ? odd : even;
            }
            rows[h][half] = moved[0], rows[h][half + 1] = moved[1];
        }
"""


def edit(folder, name, pattern, replacement):
    """Replaces every match in a template; no match is an error: the templates have changed."""
    path = os.path.join(folder, name)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    text, count = re.subn(pattern, replacement, text, flags=re.M)
    if not count:
        raise SystemExit(f"breakdown: nothing in {name} matches '{pattern}': bring this script up to date")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def without_swap(folder):
    edit(folder, "lowrank/lowrank_plane.cu", r"(\(warp \* 16 \+ 2 \* t\) \* PITCH \+ )g;", r"\1g % 4 * 2 + g / 4;")
    edit(folder, "lowrank/lowrank_plane.cu", r"^(    multiply_rows\(rows, in, .*\);)", lambda match: match.group(1) + SHUFFLE)


def without_async(folder):
    edit(folder, "device/row_loader.cuh", r"copy_async_16\(", "copy_now(")
    edit(folder, "device/row_loader.cuh", r"\A((?:.*\n)*?#include .*\n)\n", lambda match: match.group(1) + COPY_NOW + "\n")


def without_fragments(folder):
    edit(folder, "device/fragment.cuh", r"^#if __CUDA_ARCH__ >= 900", "#if 0")


PARTS = [
    ("as it is", None, []),
    ("shuffles instead of swapped rows", without_swap, []),
    ("copies through registers", without_async, []),
    ("fragments of 8 x 8 x 4", without_fragments, []),
    ("one step a launch", None, ["--steps", "1"]),
]


def measure(bench, options, change):
    with tempfile.TemporaryDirectory() as folder:
        templates = os.path.join(folder, "kernel_templates")
        shutil.copytree(TEMPLATES, templates)
        if change:
            change(templates)
        environment = dict(os.environ, STENTOR_TEMPLATE_DIR=templates)
        done = subprocess.run([bench, "--json"] + options, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"breakdown: {bench}: {(done.stderr or done.stdout).strip()}")
        return json.loads(done.stdout)["results"][0]


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    options = ["--group", "lowrank", "--case", "box-2d9p", "--dtype", "f64", "--boundary", "wrap", "--repeat", "5"]
    print("| part taken back | case | GStencil/s | of all |\n|---|---|--:|--:|")
    first = None
    for name, change, more in PARTS:
        result = measure(sys.argv[1], options + sys.argv[2:] + more, change)
        rate = result["gstencils_per_second"]
        first = first or rate
        case = f"{result['case']} {'x'.join(map(str, result['extent']))}, {result['steps']} steps"
        print(f"| {name} | {case} | {rate:.4g} | {100 * rate / first:.0f}% |", flush=True)


if __name__ == "__main__":
    main()
