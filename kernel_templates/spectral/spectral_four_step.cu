// Four-step FFT: the first and the last pass of `spectral` over a line too long for shared memory.
// The line of L points is a matrix of N rows of FOUR_STEP_WIDTH points, and is transformed down the
// columns first. With i = i1 FOUR_STEP_WIDTH + i2, k = k1 + N k2 and w_n = exp(-2 pi i / n):
//
//     U[k] = sum over i2 of  w_WIDTH^(i2 k2) V[k1][i2]
//     V[k1][i2] = 2 w_L^(k1 i2) sum over i1 of  w_N^(i1 k1) u[i]
//
// This kernel computes V from u, or u from V (SPECTRUM_BACK); spectral_columns.cu transforms the
// rows and applies the symbol. u is real, so rows 0 .. N / 2 of V suffice. Two neighbouring columns
// are the real and imaginary part of one complex column Z, whose frequencies k and N - k are in the
// same thread's pair of butterflies t and N / R - t of the last stage:
//
//     V[k][i2] = Z[k] + Z*[N - k],  V' = V[k][i2 + 1] = -i (Z[k] - Z*[N - k])
//     inverse: Z[k] = V + i V',  Z[N - k] = V* + i V'*
//
//                    i2 = 0 1 2 3 ..            a block: LINE_COUNT pairs of columns,
//     i1 = 0         | x x|x x|                 THREADS_X threads each
//     i1 = 1         | x x|x x|
//
// A grid may consist of several such windows (overlap-save): each has FOUR_STEP_USEFUL output
// points, preceded and followed by the points within reach of the taps of all steps.
//
// Reads STORE, REAL, VECTOR, BLOCKS, THREADS_X, LINE_*, FOUR_STEP_*, SPECTRUM_BACK, EXTEND_*,
// FROZEN_LOW, FROZEN_HIGH.
#include "device/launch_checks.cuh"
#include "device/line_shape.cuh"
#include "device/shared_fft.cuh"
#include "params.cuh"
#include "spectral/extension.cuh"

using column_line = line_shape;
static_assert(LINE_SHARES == 1, "a line lies in one block");
constexpr int N = LINE_POINTS, LAST = LINE_STAGES - 1, THREADS = THREADS_X * LINE_COUNT;
static_assert(LINE_STAGES >= 2, "a column comes from memory in one stage and goes back there in another");
static_assert(FOUR_STEP_WIDTH % 2 == 0, "columns go in pairs");
using value = complex<REAL>;
using first_stage = fft_stage<column_line, 0>;
using last_stage = fft_stage<column_line, LAST>;
constexpr int R = last_stage::R, P = N / R;  // Stride P between a butterfly's frequencies.

struct spectral_four_step_arguments {
    const STORE *in;
    STORE *out;
    REAL *spectrum;
    const REAL *twiddles;  // Twiddle factors of the FFT stages.
    // w_L^m for m < 2^FOUR_STEP_FINE, and for multiples of 2^FOUR_STEP_FINE.
    const REAL *fine, *coarse;
    // Strides of grids; points of a grid; points of a window before its outputs.
    long long in_batch, out_batch, n, before;
    // The first window of this launch, counted over all grids; windows of a grid.
    long long first, windows;
    int tiles, unused;  // Blocks per window.
};
static_assert(layout_matches(sizeof(spectral_four_step_arguments)), "the arguments that are launched");
static_assert(shared_bytes_match(sizeof(value) * padded_points<column_line>()), "the shared memory that is given");

// ---- points: column pair c of row i1 has the grid's points i and i + 1
struct window {
    long long from;       // The grid point at the window's first point.
    long long low, high;  // The window's outputs, as grid points.
};
__device__ __forceinline__ REAL element_at(const STORE *grid, long long i, long long n) {
    const auto from = image_of<EXTEND_REPEATS, EXTEND_LOW, EXTEND_LOW_SIGN, EXTEND_HIGH, EXTEND_HIGH_SIGN>(i, n);
    return from.sign ? static_cast<REAL>(from.sign) * widen(grid[from.at]) : REAL(0);
}
__device__ __forceinline__ value point_at(const STORE *grid, long long i, long long n) {
    if (i > 0 && i + 2 < n) {
        if (VECTOR == 2) return load_pair(grid + i);
        return {widen(grid[i]), widen(grid[i + 1])};
    }
    return {element_at(grid, i, n), element_at(grid, i + 1, n)};
}
__device__ __forceinline__ void store_element(const STORE *in, STORE *out, long long i, REAL x, const window &w,
                                              long long n) {
    if (i < w.low || i >= w.high) return;
    if ((FROZEN_LOW && i < FROZEN_LOW) || (FROZEN_HIGH && i >= n - FROZEN_HIGH)) {
        if (!SPECTRUM_ADDS && in != out) out[i] = in[i];  // Frozen by a fixed side.
        return;
    }
    out[i] = narrow<STORE>(x);
}
__device__ __forceinline__ void store_point(const STORE *in, STORE *out, long long i, value z, const window &w,
                                            long long n) {
    if (VECTOR == 2 && i > w.low && i + 2 < w.high) {
        store_pair(out + i, z);
        return;
    }
    store_element(in, out, i, z.re, w, n);
    store_element(in, out, i + 1, z.im, w, n);
}

// SPECTRUM_ADDS: the values to which points i and i + 1 are added; 0 where nothing is stored.
__device__ __forceinline__ value there_at(const STORE *out, long long i, const window &w) {
    if (VECTOR == 2 && i >= w.low && i + 1 < w.high) return load_pair(out + i);
    return {i >= w.low && i < w.high ? widen(out[i]) : REAL(0),
            i + 1 >= w.low && i + 1 < w.high ? widen(out[i + 1]) : REAL(0)};
}

// The twiddle factors between the two transforms: w_L^(k i2) for the frequencies k <= N / 2 of a
// pair of butterflies.
__device__ __forceinline__ value twiddle_at(const spectral_four_step_arguments &a, int m) {
    return load_pair(a.fine + 2 * (m & ((1 << FOUR_STEP_FINE) - 1))) * load_pair(a.coarse + 2 * (m >> FOUR_STEP_FINE));
}
// For r below this, k = t + r P is at most N / 2; else N - k = P - t + (R - 1 - r) P is.
constexpr int HALF = (R + 1) / 2;
struct column_twiddles {
    value low[HALF], high[HALF];
    __device__ __forceinline__ void set(value first, value step) {
        low[0] = first, high[0] = step * conjugate(first);
#pragma unroll
        for (int r = 1; r < HALF; r++) {
            // Each factor is computed from the one two before it, so fewer roundings accumulate.
            const value power = r == 1 ? step : step * step;
            low[r] = low[r < 2 ? 0 : r - 2] * power, high[r] = high[r < 2 ? 0 : r - 2] * power;
        }
    }
    __device__ __forceinline__ value at(int r) const { return r < HALF ? low[r] : high[R - 1 - r]; }
};
__device__ __forceinline__ void set_twiddles(const spectral_four_step_arguments &a, int t, int column,
                                             column_twiddles &even, column_twiddles &odd) {
    const value first = twiddle_at(a, t * column), step = twiddle_at(a, P * column);
    even.set(first, step);
    odd.set(first * twiddle_at(a, t), step * twiddle_at(a, P));
}
// The row of V for r: the smaller of k and N - k.
__device__ __forceinline__ long long row_at(int t, int r) { return r < HALF ? t + r * P : P - t + (R - 1 - r) * P; }

__device__ __forceinline__ void store_frequencies(const spectral_four_step_arguments &a, value *line, int t0,
                                                  int column, REAL *to, bool active) {
#pragma unroll 1
    for (int t = t0; t <= P / 2; t += THREADS_X) {
        value x[R], y[R];
        load_partners<column_line>(x, y, line, t);
        align_partners(y, t);
        if (!active) continue;
        column_twiddles even, odd;
        set_twiddles(a, t, column, even, odd);
#pragma unroll
        for (int r = 0; r < R; r++) {
            const value z = x[r], w = conjugate(y[R - 1 - r]);
            value v = z + w, adjacent = minus_i(z - w);
            if (r >= HALF) v = conjugate(v), adjacent = conjugate(adjacent);
            REAL *const address = to + 2 * (row_at(t, r) * FOUR_STEP_WIDTH + column);
            store_pair(address, v * even.at(r));
            store_pair(address + 2, adjacent * odd.at(r));
        }
    }
}
__device__ __forceinline__ void load_frequencies(const spectral_four_step_arguments &a, value *line, int t0, int column,
                                                 const REAL *from, bool active) {
#pragma unroll 1
    for (int t = t0; t <= P / 2; t += THREADS_X) {
        value x[R], y[R];
        column_twiddles even, odd;
        set_twiddles(a, t, column, even, odd);
#pragma unroll
        for (int r = 0; r < R; r++) {
            const long long k = row_at(t, r);
            value v = {REAL(0), REAL(0)}, adjacent = v;
            if (active) {
                const REAL *const address = from + 2 * (k * FOUR_STEP_WIDTH + column);
                v = load_pair(address) * conjugate(even.at(r)),
                adjacent = load_pair(address + 2) * conjugate(odd.at(r));
            }
            // These imaginary parts are rounding errors of the rows' transforms.
            if (k == 0 || 2 * k == N) v.im = adjacent.im = REAL(0);
            const value here = v - minus_i(adjacent), there = conjugate(v) - minus_i(conjugate(adjacent));
            x[r] = swapped(r < HALF ? here : there), y[R - 1 - r] = swapped(r < HALF ? there : here);
        }
        store_partners<column_line>(x, y, line, t);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    spectral_four_step(const __grid_constant__ spectral_four_step_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const int lane = static_cast<int>(threadIdx.x) % LINE_COUNT, t = static_cast<int>(threadIdx.x) / LINE_COUNT;
    value *const line = reinterpret_cast<value *>(stn_shared) + lane;
    const long long slot = blockIdx.x / a.tiles, batch = (a.first + slot) / a.windows,
                    number = (a.first + slot) % a.windows;
    const int column = 2 * (static_cast<int>(blockIdx.x % a.tiles) * LINE_COUNT + lane);
    const bool active = column < FOUR_STEP_WIDTH;
    window w = {number * FOUR_STEP_USEFUL - a.before, number * FOUR_STEP_USEFUL, (number + 1) * FOUR_STEP_USEFUL};
    if (w.high > a.n) w.high = a.n;
    REAL *const spectrum = a.spectrum + 2 * slot * (N / 2 + 1) * FOUR_STEP_WIDTH;
    const STORE *const in = a.in + batch * a.in_batch;

    if constexpr (!SPECTRUM_BACK) {
#pragma unroll 1
        for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
            value x[first_stage::R];
#pragma unroll
            for (int r = 0; r < first_stage::R; r++) {
                const long long row = j + r * first_stage::STRIDE;
                x[r] = active ? point_at(in, w.from + row * FOUR_STEP_WIDTH + column, a.n) : value{REAL(0), REAL(0)};
            }
            forward_butterfly<column_line, 0>(x, line, j, a.twiddles);
        }
        __syncthreads();
        forward_stages<column_line, 1, LAST>(line, t, a.twiddles);
        store_frequencies(a, line, t, column, spectrum, active);
    } else {
        load_frequencies(a, line, t, column, spectrum, active);
        __syncthreads();
        inverse_stages<column_line, LAST, 1>(line, t, a.twiddles);
        STORE *const out = a.out + batch * a.out_batch;
#pragma unroll 1
        for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
            value x[first_stage::R];
            inverse_butterfly<column_line, 0>(x, line, j, a.twiddles);
            if (!active) continue;
            if constexpr (SPECTRUM_ADDS) {
#pragma unroll
                for (int r = 0; r < first_stage::R; r++) {
                    const long long row = j + r * first_stage::STRIDE;
                    x[r] = x[r] + swapped(there_at(out, w.from + row * FOUR_STEP_WIDTH + column, w));
                }
            }
#pragma unroll
            for (int r = 0; r < first_stage::R; r++) {
                const long long row = j + r * first_stage::STRIDE;
                store_point(in, out, w.from + row * FOUR_STEP_WIDTH + column, swapped(x[r]), w, a.n);
            }
        }
    }
}
