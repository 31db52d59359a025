// Fourier transforms of long lines, each of which fills a block's shared memory and is read once
// and written once.
//
//     X[k] = scale * sum over n of  x[n] * exp(-+ 2 pi i n k / N)
//
// The shared-memory FFT of device/shared_fft.cuh: stage 0 takes its points from global memory and
// the last stage stores its frequencies there. Lines may have far more points than the registers of
// fft_line's threads can hold, such as whole columns of a tall grid; any number of threads works on
// a line, each thread with one butterfly at a time.
//
//                column 0 1 2 ..   LINE_COUNT lines per block, THREADS_X threads for each
//     points     | | | |  -> stage 0 -> shared memory -> stage 1 -> .. -> last stage -> frequencies
//
// Lines are contiguous or strided; neighbouring threads have neighbouring lines, then neighbouring
// points. Real lines of 2N numbers are N complex points, even numbers as real and odd ones as
// imaginary parts. With w = exp(-pi i k / N):
//
//     FFT_STORE_REAL   X[k] = (Z[k] + Z*[N-k] - i w (Z[k] - Z*[N-k])) / 2     after the last stage
//     FFT_LOAD_REAL    Z[k] = X[k] + X*[N-k] + i w* (X[k] - X*[N-k])          before the inverse
//
// A thread has the butterflies t and N/R - t of the last stage, and so the points k = t + r N/R and
// N - k.
//
// A line too long for one block is shared by a cluster of LINE_SHARES blocks
// (device/shared_fft.cuh), which exchange data once, after stage 0.
//
// Reads STORE, REAL, BLOCKS, THREADS_X, LINE_*, FFT_LOOPS, FFT_INVERSE, FFT_SCALE, FFT_LOAD_REAL,
// FFT_STORE_REAL.
#include "device/launch_checks.cuh"
#include "device/line_shape.cuh"
#include "device/shared_fft.cuh"
#include "params.cuh"

constexpr int N = LINE_POINTS, LAST = LINE_STAGES - 1, THREADS = THREADS_X * LINE_COUNT;
static_assert(LINE_SHARES == 1 || !(FFT_LOAD_REAL || FFT_STORE_REAL), "a real line lies in one block");
static_assert(LINE_STAGES >= 2, "the first stage loads from global memory, the last one stores to it");
using value = complex<REAL>;
using first_stage = fft_stage<line_shape, 0>;
using last_stage = fft_stage<line_shape, LAST>;
constexpr int R = last_stage::R, P = N / R;  // points of a last butterfly are P frequencies apart

struct fft_arguments {
    const STORE *in;
    STORE *out;
    const REAL *twiddles;               // twiddle factors of device/shared_fft.cuh
    const REAL *half;                   // exp(-pi i k / N), k <= N
    long long in_stride, out_stride;    // complex elements between points
    long long in_line[3], out_line[3];  // between lines: innermost loop, then two outer loops
    long long lines;                    // of the innermost loop
    unsigned tiles, rows;               // blocks per innermost loop; length of the second loop
    REAL scale;
};
static_assert(layout_matches(sizeof(fft_arguments), sizeof(REAL)), "the arguments match the launcher's struct");
static_assert(shared_bytes_match(padded_points<line_shape>() * sizeof(value)),
              "the launcher gives the shared memory that this takes");

// ---- the first stage: points
__device__ __forceinline__ void load_points(const STORE *in, long long stride, value *line, int t, int share,
                                            const REAL *twiddles, bool active) {
#pragma unroll 1
    for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
        const int q = j + share * first_stage::COUNT;
#pragma unroll
        for (int r = 0; r < first_stage::R; r++) {
            x[r] = active ? load_pair(in + 2 * ((q + r * first_stage::STRIDE) * stride)) : value{REAL(0), REAL(0)};
            if (FFT_INVERSE) x[r] = swapped(x[r]);
        }
        dft<first_stage::R>(x);
        apply_twiddles<line_shape, 0>(x, q, twiddles);
        store_butterfly_in_cluster<line_shape>(x, line, q);
    }
}

__device__ __forceinline__ void store_points(const fft_arguments &a, STORE *out, value *line, int t, bool active) {
#pragma unroll 1
    for (int j = t; j < first_stage::COUNT; j += THREADS_X) {
        value x[first_stage::R];
        inverse_butterfly<line_shape, 0>(x, line, j, a.twiddles);
        if (!active) continue;
#pragma unroll
        for (int r = 0; r < first_stage::R; r++) {
            const value z = swapped(x[r]);
            store_pair(out + 2 * ((j + r * first_stage::STRIDE) * a.out_stride), FFT_SCALE ? a.scale * z : z);
        }
    }
}

// ---- the last stage: frequencies
__device__ __forceinline__ void store_frequencies(const fft_arguments &a, STORE *out, value *line, int t0, int share,
                                                  bool active) {
#pragma unroll 1
    for (int j = t0; j < last_stage::COUNT; j += THREADS_X) {
        value x[R];
        const int t = frequency_of<line_shape>(j, static_cast<unsigned>(share));
        load_butterfly<line_shape, LAST>(x, line, digit_reversed_first<line_shape>(t));
        dft<R>(x);
        if (!active) continue;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const value z = FFT_INVERSE ? swapped(x[r]) : x[r];
            store_pair(out + 2 * ((t + r * P) * a.out_stride), FFT_SCALE ? a.scale * z : z);
        }
    }
}

__device__ __forceinline__ void store_half(const fft_arguments &a, STORE *out, value *line, int t0, bool active) {
    const REAL factor = REAL(0.5) * (FFT_SCALE ? a.scale : REAL(1));
#pragma unroll 1
    for (int t = t0; t <= P / 2; t += THREADS_X) {
        value x[R], y[R];
        load_partners<line_shape>(x, y, line, t);
        if (!active) continue;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = t + r * P;
            const value z = x[r], w = conjugate(t ? y[R - 1 - r] : y[(R - r) % R]);
            const value s = z + w, d = minus_i(half_twiddle<line_shape, R>(a.half, t, r) * (z - w));
            store_pair(out + 2 * (k * a.out_stride), factor * (s + d));
            if (t == 0 || 2 * t != P) store_pair(out + 2 * ((N - k) * a.out_stride), factor * conjugate(s - d));
        }
    }
}

__device__ __forceinline__ void load_half(const fft_arguments &a, const STORE *in, value *line, int t0, bool active) {
#pragma unroll 1
    for (int t = t0; t <= P / 2; t += THREADS_X) {
        value x[R], y[R];
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = t + r * P;
            value z = {REAL(0), REAL(0)}, w = z;
            if (active) z = load_pair(in + 2 * (k * a.in_stride)), w = load_pair(in + 2 * ((N - k) * a.in_stride));
            if (k == 0) z.im = w.im = REAL(0);  // these coefficients of real data are real
            w = conjugate(w);
            const value s = z + w, d = conjugate(half_twiddle<line_shape, R>(a.half, t, r)) * (z - w);
            x[r] = swapped(s - minus_i(d)), y[R - 1 - r] = swapped(conjugate(s + minus_i(d)));
        }
        store_partners<line_shape>(x, y, line, t);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) fft_shared(const __grid_constant__ fft_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const unsigned block = blockIdx.x / LINE_SHARES, row = FFT_LOOPS > 1 ? block / a.tiles : 0,
                   row2 = FFT_LOOPS > 2 ? row / a.rows : 0;
    const int lane = static_cast<int>(threadIdx.x) % LINE_COUNT, t = static_cast<int>(threadIdx.x) / LINE_COUNT;
    const long long row1 = row - row2 * a.rows;
    const long long number = static_cast<long long>(block - row * a.tiles) * LINE_COUNT + lane;
    const bool active = number < a.lines;
    value *const line = reinterpret_cast<value *>(stn_shared) + lane;
    const STORE *const in = a.in + 2 * (row2 * a.in_line[2] + row1 * a.in_line[1] + number * a.in_line[0]);
    STORE *const out = a.out + 2 * (row2 * a.out_line[2] + row1 * a.out_line[1] + number * a.out_line[0]);

    if constexpr (FFT_LOAD_REAL) {
        load_half(a, in, line, t, active);
        __syncthreads();
        inverse_stages<line_shape, LAST, 1>(line, t, a.twiddles);
        store_points(a, out, line, t, active);
    } else {
        const int share = LINE_SHARES > 1 ? static_cast<int>(cluster_rank()) : 0;
        if (LINE_SHARES > 1) line_barrier_in_cluster<line_shape>();  // all blocks have started
        load_points(in, a.in_stride, line, t, share, a.twiddles, active);
        line_barrier_in_cluster<line_shape>();
        forward_stages<line_shape, 1, LAST>(line, t, a.twiddles);
        if constexpr (FFT_STORE_REAL)
            store_half(a, out, line, t, active);
        else
            store_frequencies(a, out, line, t, share, active);
    }
}
