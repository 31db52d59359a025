// The first and the last pass of `spectral`: real FFTs of the grid's rows along x, forward and
// inverse.
//
//     X[k] = 2 sum over m < 2N of  u[m] exp(-2 pi i k m / (2N)),  k = 0 .. kept - 1
//
// u: the row, extended at both ends. A row of 2N real points is transformed as N complex ones. Z is
// the FFT of these; even points are their real parts, odd points their imaginary parts:
//
//     S = Z[k] + Z*[N-k],  D = -i exp(-pi i k / N) (Z[k] - Z*[N-k])
//     X[k] = S + D,  X[N-k] = (S - D)*
//     inverse:  S = X[k] + X*[N-k],  D = i exp(pi i k / N) (X[k] - X*[N-k]),
//               Z[k] = S + D,  Z[N-k] = (S - D)*
//
//     row    [x x x x x x ..] -> stage 0 -> shared memory -> .. -> last stage: a thread does
//            butterflies t and N/R - t, and so has Z[k] and Z[N - k] of all its k = t + r N/R
//     spectrum, in groups of SPECTRUM_GROUP rows:
//            [plane][y / SPECTRUM_GROUP][k < pitch][y % SPECTRUM_GROUP]
//
// A block has LINE_COUNT rows side by side, THREADS_X threads each. The inverse runs in reverse
// order; only points of the grid are stored.
//
// Points and rows frozen by fixed sides keep the values of the input, or of the output with
// SPECTRUM_ADDS, which adds results to the output.
//
// STRIPS: a row is divided into strips of `step` points (overlap-save). Each is transformed as a
// periodic line, together with the points on both sides that its results depend on. The spectra of
// a row's strips lie side by side. Only the strip's own points are stored.
//
// SPECTRUM_IN_OUTPUT: a row's first `held` frequencies are stored in the row of the output, from
// element `skip` on, and the others in the spectrum. A block reads all of its rows before it writes
// any, and no other block accesses them. No frequencies are stored in the place of points, rows and
// planes that fixed sides freeze, because in-place grids have their input there.
//
//     row of the output   |x|  | k = 0  1  2 ..  held - 1 |  |x|      x: frozen by a fixed side
//
// In a row that begins at an odd element, the frequencies begin one element later, for aligned
// accesses.
//
// Reads STRIPS, SPECTRUM_IN_OUTPUT, FROZEN_*, STORE, REAL, VECTOR, BLOCKS, THREADS_X, LINE_*,
// SPECTRUM_GROUP, SPECTRUM_BACK, SPECTRUM_ADDS, EXTEND_*, LINE_WHOLE.
#include "device/launch_checks.cuh"
#include "device/line_shape.cuh"
#include "device/shared_fft.cuh"
#include "params.cuh"
#include "spectral/extension.cuh"

using row_line = line_shape;
static_assert(LINE_SHARES == 1, "a line lies in one block");
constexpr int N = LINE_POINTS, LAST = LINE_STAGES - 1, THREADS = THREADS_X * LINE_COUNT;
static_assert(!SPECTRUM_IN_OUTPUT ||
                  (SPECTRUM_GROUP == 1 && !STRIPS && !SPECTRUM_ADDS && sizeof(STORE) == sizeof(REAL)),
              "rows of the output that have a part of their spectrum");
static_assert(LINE_STAGES >= 2, "a row comes from memory in one stage and goes back there in another");
using value = complex<REAL>;

struct spectral_rows_arguments {
    const STORE *in;
    STORE *out;
    REAL *spectrum;
    const REAL *twiddles;  // Twiddle factors of the FFT stages.
    const REAL *half;      // exp(-pi i t / N), t <= N / R of the last stage.
    long long in_z, in_y, in_batch, out_z, out_y, out_batch;
    long long pitch, plane;  // Strides of the spectrum's rows and planes, in complex numbers.
    int planes, ny, tiles;   // Planes of a grid; rows of a plane, and the blocks for them.
    int kept;                // Retained frequencies of a row.
    extension x;
    int frozen_low, frozen_high;      // Rows frozen at either end of a plane by fixed sides.
    int frozen_z_low, frozen_z_high;  // Planes likewise.
    // STRIPS: strips of a row; points, and frequencies in the spectrum, between strips.
    int strips, step, width;
    int held, skip, unused;  // SPECTRUM_IN_OUTPUT.
};

static_assert(layout_matches(sizeof(spectral_rows_arguments)), "the arguments that are launched");
static_assert(shared_bytes_match(sizeof(value) * padded_points<row_line>()), "the shared memory that is given");

__device__ __forceinline__ REAL element_at(const STORE *row, int i, const extension &x) {
    const auto from =
        image_of<EXTEND_REPEATS, EXTEND_LOW, EXTEND_LOW_SIGN, EXTEND_HIGH, EXTEND_HIGH_SIGN>(i - x.before, x.n);
    return from.sign ? static_cast<REAL>(from.sign) * widen(row[from.at]) : REAL(0);
}
// Point p of the line: two neighbours of the row.
__device__ __forceinline__ value point_at(const STORE *row, int p, const extension &x) {
    const int i = 2 * p - x.before;
    if (LINE_WHOLE || (i > 0 && i + 2 < x.n)) {
        if (VECTOR == 2) return load_pair(row + i);
        return {widen(row[i]), widen(row[i + 1])};
    }
    return {element_at(row, 2 * p, x), element_at(row, 2 * p + 1, x)};
}
__device__ __forceinline__ void store_point(STORE *row, int p, value z, const extension &x, int from, int to) {
    const int i = 2 * p - x.before;
    if (STRIPS) {
        if (VECTOR == 2 && i >= from && i + 1 < to) {
            store_pair(row + i, z);
            return;
        }
        if (i >= from && i < to) row[i] = narrow<STORE>(z.re);
        if (i + 1 >= from && i + 1 < to) row[i + 1] = narrow<STORE>(z.im);
        return;
    }
    if (VECTOR == 2 && (LINE_WHOLE || (i > 0 && i + 2 < x.n))) {
        store_pair(row + i, z);
        return;
    }
    const int first = FROZEN_LOW,
              last = x.n - 1 - FROZEN_HIGH;  // Points outside are not results of the transform.
    if (i >= first && i <= last) row[i] = narrow<STORE>(z.re);
    if (i + 1 >= first && i + 1 <= last) row[i + 1] = narrow<STORE>(z.im);
}
// SPECTRUM_ADDS: the values to which point p is added; 0 where nothing is stored.
__device__ __forceinline__ value there_at(const STORE *row, int p, const extension &x, int from, int to) {
    const int i = 2 * p - x.before;
    const int first = STRIPS ? from : FROZEN_LOW, last = STRIPS ? to - 1 : x.n - 1 - FROZEN_HIGH;
    if (VECTOR == 2 && i >= first && i + 1 <= last) return load_pair(row + i);
    return {i >= first && i <= last ? widen(row[i]) : REAL(0),
            i + 1 >= first && i + 1 <= last ? widen(row[i + 1]) : REAL(0)};
}
// Copies points frozen by fixed sides.
__device__ __forceinline__ void keep_points(const STORE *from, STORE *row, int t, int n, bool all) {
    if (all)
        for (int i = t; i < n; i += THREADS_X) row[i] = from[i];
    else if (t == 0) {
        if (FROZEN_LOW) row[0] = from[0];
        if (FROZEN_HIGH) row[n - 1] = from[n - 1];
    }
}

using last_stage = fft_stage<row_line, LAST>;
constexpr int R = last_stage::R, P = N / R;  // Stride P between a butterfly's frequencies.

// Storage of a row's frequencies. SPECTRUM_IN_OUTPUT: those below `held` are stored separately.
struct row_cells {
    value *rest, *held;
};
__device__ __forceinline__ REAL *cell_of(const spectral_rows_arguments &a, const row_cells &row, int k) {
    if (SPECTRUM_IN_OUTPUT) return reinterpret_cast<REAL *>(k < a.held ? row.held + k : row.rest + (k - a.held));
    return reinterpret_cast<REAL *>(row.rest + static_cast<long long>(k) * SPECTRUM_GROUP);
}

__device__ __forceinline__ void store_frequencies(const spectral_rows_arguments &a, value *line, int t0,
                                                  const row_cells &to, bool active) {
#pragma unroll 1
    for (int t = t0; t <= P / 2; t += THREADS_X) {
        value x[R], y[R];
        load_partners<row_line>(x, y, line, t);
        align_partners(y, t);
        if (!active) continue;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = t + r * P;
            const value z = x[r], w = conjugate(y[R - 1 - r]);
            const value s = z + w, d = minus_i(half_twiddle<row_line, R>(a.half, t, r) * (z - w));
            if (k < a.kept) store_pair(cell_of(a, to, k), s + d);
            if (N - k < a.kept) store_pair(cell_of(a, to, N - k), conjugate(s - d));
        }
    }
}

__device__ __forceinline__ value frequency_at(const spectral_rows_arguments &a, const row_cells &from, int k) {
    return k < a.kept ? load_pair(cell_of(a, from, k)) : value{REAL(0), REAL(0)};
}
__device__ __forceinline__ void load_frequencies(const spectral_rows_arguments &a, value *line, int t0,
                                                 const row_cells &from, bool active) {
#pragma unroll 1
    for (int t = t0; t <= P / 2; t += THREADS_X) {
        value x[R], y[R];
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = t + r * P;
            value z = {REAL(0), REAL(0)}, w = z;
            if (active) z = frequency_at(a, from, k), w = conjugate(frequency_at(a, from, N - k));
            // These imaginary parts are rounding errors of the columns' transforms.
            if (k == 0) z.im = w.im = REAL(0);
            const value s = z + w, d = conjugate(half_twiddle<row_line, R>(a.half, t, r)) * (z - w);
            x[r] = swapped(s - minus_i(d)), y[R - 1 - r] = swapped(conjugate(s + minus_i(d)));
        }
        store_partners<row_line>(x, y, line, t);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    spectral_rows(const __grid_constant__ spectral_rows_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const int lane = static_cast<int>(threadIdx.x) % LINE_COUNT, t = static_cast<int>(threadIdx.x) / LINE_COUNT;
    value *const line = reinterpret_cast<value *>(stn_shared) + lane;
    const unsigned tile = STRIPS ? blockIdx.x / a.strips : blockIdx.x;
    const int strip = STRIPS ? static_cast<int>(blockIdx.x % a.strips) : 0;
    const int plane = static_cast<int>(tile / a.tiles), y = static_cast<int>(tile % a.tiles) * LINE_COUNT + lane;
    const int batch = plane / a.planes, z = plane % a.planes;
    const bool active = y < a.ny;
    const extension along = {a.x.n, a.x.before - strip * a.step};
    const bool frozen =
        y < a.frozen_low || y >= a.ny - a.frozen_high || z < a.frozen_z_low || z >= a.planes - a.frozen_z_high;
    const long long offset = batch * a.out_batch + z * a.out_z + y * a.out_y;
    STORE *const out = a.out + offset;
    const row_cells spectrum = {
        reinterpret_cast<value *>(a.spectrum) + plane * a.plane + y / SPECTRUM_GROUP * a.pitch * SPECTRUM_GROUP +
            y % SPECTRUM_GROUP + strip * a.width,
        SPECTRUM_IN_OUTPUT ? reinterpret_cast<value *>(a.out) + ((offset + a.skip + 1) >> 1) : nullptr};
    using first_stage = fft_stage<row_line, 0>;

    if constexpr (!SPECTRUM_BACK) {
        const STORE *const row = a.in + batch * a.in_batch + z * a.in_z + y * a.in_y;
#pragma unroll 1
        for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
            value x[first_stage::R];
#pragma unroll
            for (int r = 0; r < first_stage::R; r++)
                x[r] = active ? point_at(row, j + r * first_stage::STRIDE, along) : value{REAL(0), REAL(0)};
            forward_butterfly<row_line, 0>(x, line, j, a.twiddles);
        }
        __syncthreads();
        forward_stages<row_line, 1, LAST>(line, t, a.twiddles);
        store_frequencies(a, line, t, spectrum, active && !(SPECTRUM_IN_OUTPUT && frozen));
    } else {
        STORE *const row = out;
        const bool stores = active && !frozen;
        const int from = strip * a.step, to = STRIPS && from + a.step < a.x.n ? from + a.step : a.x.n;
        if (active && !SPECTRUM_ADDS && a.in != a.out)
            keep_points(a.in + batch * a.in_batch + z * a.in_z + y * a.in_y, row, t, a.x.n, frozen);
        load_frequencies(a, line, t, spectrum, SPECTRUM_IN_OUTPUT ? stores : active);
        __syncthreads();
        inverse_stages<row_line, LAST, 1>(line, t, a.twiddles);
#pragma unroll 1
        for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
            value x[first_stage::R];
            inverse_butterfly<row_line, 0>(x, line, j, a.twiddles);
            if (!stores) continue;
            if constexpr (SPECTRUM_ADDS) {
#pragma unroll
                for (int r = 0; r < first_stage::R; r++)
                    x[r] = x[r] + swapped(there_at(row, j + r * first_stage::STRIDE, along, from, to));
            }
#pragma unroll
            for (int r = 0; r < first_stage::R; r++)
                store_point(row, j + r * first_stage::STRIDE, swapped(x[r]), along, from, to);
        }
    }
}
