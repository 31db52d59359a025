#!/usr/bin/env python3
"""FlashFFTStencil's breakdown (the paper's figure 7) with segment's prime-factor form.

    bench/studies/breakdown_segment.py build/bench/stentor-bench [--ends] [options of stentor-bench]

A stencil by cuFFT, then one kernel instead of three passes, whose optimisations are switched on one
after the other: heat-1d in f64, six fused steps. An optimisation is switched off by editing a copy
of the kernel templates ($STENTOR_TEMPLATE_DIR); every result is checked. Prints a Markdown table.

--ends: only with all optimisations off and with all on, as a test of this script.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

from breakdown import TEMPLATES, edit

KERNEL = "segment/segment_prime_factor.cu"
CONVOLUTION = "segment/dense_convolution.cuh"
DENSE = "segment/dense_dft.cuh"
STEPS = "6"
LENGTH = "840"  # the fastest length for six steps

# Sums of products on CUDA cores, with operands by lane shuffles. A function that is not inlined,
# which would take 18 s to compile.
CUDA_CORES = """
struct four_sums {
    double sum[4];
};
__device__ __noinline__ four_sums sums_of_products(double a0, double a1, double a2, double a3, double b0, double b1) {
    const double a[4] = {a0, a1, a2, a3}, b[2] = {b0, b1};
    double c[4] = {0, 0, 0, 0};
    const int lane = threadIdx.x % 32, g = lane / 4 * 4, t = lane % 4;
#pragma unroll
    for (int k = 0; k < 8; k++)
#pragma unroll
        for (int e = 0; e < 2; e++) {
            const double right = __shfl_sync(~0u, b[k / 4], 4 * (2 * t + e) + k % 4);
            c[e] += __shfl_sync(~0u, a[k / 4 * 2], g + k % 4) * right;
            c[2 + e] += __shfl_sync(~0u, a[k / 4 * 2 + 1], g + k % 4) * right;
        }
    return {{c[0], c[1], c[2], c[3]}};
}
"""
CALL_THEM = """
    const four_sums all = sums_of_products(a[0], a[1], a[2], a[3], b[0], b[1]);
    for (int e = 0; e < 4; e++) c[e] += all.sum[e];
    return;
"""

# Points of the line in the order of the rows of the N1 x N2 array (prime-factor form):
# neighbouring threads access distant memory.
IN_ROWS = """
constexpr int step_of(int own, int others) {  // 1 modulo `own`, 0 modulo the others
    int n = others;
    while (n % own != 1 % own) n += others;
    return n;
}
constexpr int STEP_1 = step_of(N1, N2 * N3), STEP_2 = step_of(N2, N1 * N3), STEP_3 = step_of(N3, N1 * N2);
__device__ __forceinline__ int in_rows(int q) {
    return (q / (N2 * N3) * STEP_1 + q / N3 % N2 * STEP_2 + q % N3 * STEP_3) % LENGTH;
}
"""

# Each element moves twice between lanes from one product to the next, to put columns in order.
MOVES = """
    for (int j = 0; j < BLOCKS_N; j++)
        for (int e = 0; e < 4; e++)
            for (int k = 0; k < 2; k++) {
                x[j].re[e] = __shfl_xor_sync(~0u, x[j].re[e], 1 + e % 2);
                x[j].im[e] = __shfl_xor_sync(~0u, x[j].im[e], 1 + e % 2);
            }
"""


def without_tensor_cores(folder):
    edit(folder, "device/fragment.cuh",
         r"(void product\(double \(&c\)\[4\], const double \(&a\)\[4\], const double \(&b\)\[2\]\) \{\n)#if",
         lambda match: match.group(1) + CALL_THEM + "#if")
    edit(folder, "device/fragment.cuh", r"^(__device__ __forceinline__ void product\(double \(&c\)\[4\], const double \(&a\)\[4\], const double)",
         lambda match: CUDA_CORES + match.group(1))


# The stores of a pair, in rows.
GIVE_IN_ROWS = """
        for (int q = t; q < LENGTH; q += THREADS) {
            const int own = in_rows(q), j = own - a.lead;
            if (static_cast<unsigned>(j) >= static_cast<unsigned>(a.useful)) continue;
            const REAL *const from = buffers + cell_of(own);
            to[j - t] = narrow<STORE>(scaled(from[0], scale));
            of_second[j - t] = narrow<STORE>(scaled(from[BUFFER], scale));
        }
    } else {
        store_one("""


def without_diagonals(folder):
    edit(folder, KERNEL, r"^(__device__ __forceinline__ int cell_of\(int n\).*\n)", lambda match: match.group(1) + IN_ROWS)
    edit(folder, KERNEL, r"if \(n \+ THREADS > LENGTH && n \+ t >= LENGTH\) break;\n *REAL \*const to = buffers \+ d\.cell\(k\);",
         "if (n + t >= LENGTH) break;\n            const int own = in_rows(n + t);\n            REAL *const to = buffers + cell_of(own);")
    edit(folder, KERNEL, r"copy_element\(to, from \+ n\), copy_element\(to \+ BUFFER, of_second \+ n\);",
         "copy_element(to, from + (own - t)), copy_element(to + BUFFER, of_second + (own - t));")
    edit(folder, KERNEL, r"^        const diagonal d = diagonal_from\(a\.lead \+ t\);(?:\n.*)*?\n    \} else \{\n        store_one\(", lambda _: GIVE_IN_ROWS)


def without_padding(folder):
    edit(folder, DENSE, r"PITCH = 8 \* BLOCKS_2 \+ \(TRANSPOSED \? 0 : 4\),\s+SLICE = .*;\nconstexpr int BUFFER = N3 \* SLICE;",
         "PITCH = 8 * BLOCKS_2, SLICE = 16 * PITCH, BUFFER = N3 * (16 * (PITCH + 4) + SLICE_GAP);")
    edit(folder, CONVOLUTION, r", odd = lane / 4 % 2;", ", odd = 0;")


def without_second_layer(folder):
    edit(folder, KERNEL, r"unsigned segment = 2 \* blockIdx\.x;", "unsigned segment = blockIdx.x;")
    edit(folder, KERNEL, r"segment \+= 2 \* gridDim\.x", "segment += gridDim.x")
    edit(folder, KERNEL, r"fetch\(a, segment \+ 2 \* gridDim\.x, raw, t\);", "fetch(a, segment + gridDim.x, raw, t);")
    edit(folder, KERNEL, r", negate_images\(a, segment \+ 1, raw \+ BUFFER, t\);", ";")
    edit(folder, KERNEL, r"if \(both && is_plain\(a, first\) && .*\{", "if (there && is_plain(a, first)) {")
    edit(folder, KERNEL, r"if \(both && !sees_side\(a, first\) && .*\{", "if (!sees_side(a, first)) {")
    edit(folder, KERNEL, r", copy_element\(to \+ BUFFER, .*\);", ";")
    edit(folder, KERNEL, r"^.* of_second\[j(?: - t)?\] = narrow.*;\n", "")
    edit(folder, KERNEL, r"both = segment \+ 1 < a\.all", "both = false")


def without_swizzle(folder):
    edit(folder, DENSE, r"^(    tile y\[BLOCKS_N\] = \{\};)", lambda match: MOVES + match.group(1))


def without_squeezing(folder):
    edit(folder, KERNEL, r"__launch_bounds__\(THREADS, BLOCKS\)", "__launch_bounds__(THREADS)")


# In the order in which the paper switches them on.
PARTS = [
    ("one kernel, on CUDA cores (kernel tailoring)", None),
    ("f64 tensor cores", without_tensor_cores),
    ("diagonal indexing: the line is read in its own order", without_diagonals),
    ("rows and slices padded against bank conflicts", without_padding),
    ("two segments in one complex transform (double-layer filling)", without_second_layer),
    ("products follow each other in registers (swizzled fragments)", without_swizzle),
    ("registers for several blocks (squeezed)", without_squeezing),
]


def run(bench, options, changes=()):
    with tempfile.TemporaryDirectory() as folder:
        templates = os.path.join(folder, "kernel_templates")
        shutil.copytree(TEMPLATES, templates)
        for change in changes:
            change(templates)
        environment = dict(os.environ, STENTOR_TEMPLATE_DIR=templates)
        return subprocess.run([bench] + options, env=environment, capture_output=True, text=True)


def cells(text):
    """The rows of all tables, as lists of cells."""
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in text.splitlines() if line.startswith("|")]


def cufft(bench, options):
    """Least milliseconds of a stencil by cuFFT; None without cuFFT."""
    done = run(bench, ["--fusion", "--case", "heat-1d", "--steps", STEPS] + options)
    if done.returncode:
        print("breakdown_segment: " + done.stderr.strip(), file=sys.stderr)
        return None
    return next(float(row[4]) for row in cells(done.stdout) if row[0] == "heat-1d")


def forms(bench, options, changes=()):
    """Milliseconds and length of the dense DFTs, and of the FFT stages."""
    done = run(bench, ["--forms", "--case", LENGTH, "--steps", STEPS] + options, changes)
    rows = [row for row in cells(done.stdout) if row[0] == STEPS]
    if done.returncode or not rows:
        raise SystemExit(f"breakdown_segment: {bench}: {(done.stderr or done.stdout).strip()}")
    products = min((float(row[7]), row[5]) for row in rows if row[7])
    words = min((float(row[3]), row[1]) for row in rows if row[3])
    return products, words


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        raise SystemExit(__doc__)
    ends = "--ends" in sys.argv
    bench, options = sys.argv[1], ["--repeat", "5"] + [option for option in sys.argv[2:] if option != "--ends"]
    print("| with | points of a segment | ms | beside the row before | beside the first |\n|---|---|--:|--:|--:|")
    before = first = None

    def row(name, milliseconds, points):
        nonlocal before, first
        first, before = first or milliseconds, before or milliseconds
        print(f"| {name} | {points} | {milliseconds:.3f} | {before / milliseconds:.2f} | {first / milliseconds:.2f} |", flush=True)
        before = milliseconds

    library = None if ends else cufft(bench, options)
    if library:
        row("cuFFT: transform, factors at the copy rate, inverse", library, "all")
    words = None
    for i, (name, _) in enumerate(PARTS):
        if ends and 0 < i < len(PARTS) - 1:
            continue
        off = [change for _, change in PARTS[i + 1:]]
        (milliseconds, points), words = forms(bench, options, off)
        row(name, milliseconds, points)
    row("FFT words on CUDA cores instead of products", *words)


if __name__ == "__main__":
    main()
