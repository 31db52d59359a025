// Batched discrete Fourier transforms of lines, each line read once and written once.
//
//     X[k] = scale * sum over n of  x[n] * exp(-+ 2 pi i n k / N),   N = R_1 R_2 .. R_s
//
// A thread holds E = FFT_POINTS points of a line in registers, T = N / E threads share a line, a block has LINES lines.
// A stage of radix R does E / R butterflies a thread; L is the product of the radices before (Stockham's order):
//
//     points of thread t:   t, t + T, t + 2T, ...                      always
//     butterfly j = t + bT: takes j + r N/R, times w_(L R)^(r (j mod L)), gives (j / L) L R + (j mod L) + r L
//
//          stage 1          exchange            stage 2                 last stage
//     t0  [x0 x8 ..] dft -> | shared | -> [..] * twiddles, dft -> ... -> natural order, coalesced
//     t1  [x1 x9 ..] dft -> | memory | -> [..] * twiddles, dft
//
// Lines lie along memory (stride 1: neighbouring threads take neighbouring points) or across it (FFT_LINES_FAST_*:
// neighbouring threads take neighbouring lines); a transform of a long line in several launches uses both, and so the
// threads change places at the first exchange. Then outputs may be multiplied by w_M^(k i), i the index
// of the line in the first or second loop over lines: FFT_OUTER 1 or 2.
//
// Real lines of 2N numbers are transformed as N complex ones, even numbers real, odd ones imaginary parts:
// FFT_STORE_REAL makes their N + 1 coefficients out of Z[k] and Z[N - k]; FFT_LOAD_REAL goes the other way.
//
// Shared memory: point a of a line lies at a + a / FFT_PAD, lines FFT_PITCH apart, chosen so that banks do not clash.
#include "device/fft.cuh"
#include "params.cuh"

constexpr int N = FFT_LENGTH, E = FFT_POINTS, T = N / E, LINES = FFT_LINES;
constexpr int THREADS = T * LINES;
constexpr bool MOVES = FFT_LINES_FAST_IN != FFT_LINES_FAST_OUT;  // threads change places at the first exchange
constexpr bool ONE_WARP = !FFT_LINES_FAST_IN && !FFT_LINES_FAST_OUT && 32 % T == 0;  // a line lies within a warp
constexpr int product_of(int count) {
    int product = 1;
    for (int s = 0; s < count; s++) product *= FFT_RADIX[s];
    return product;
}
static_assert(product_of(FFT_STAGES) == N, "the radices make up the length");
static_assert(N % E == 0, "a line is whole threads");
static_assert(FFT_STAGES > 1 || !MOVES, "threads change places at an exchange");

using cell = packed<FFT_CELL>::type;  // a point in shared memory
using value = complex<REAL>;

struct fft_arguments {
    const STORE *in;
    STORE *out;
    const REAL *twiddle;  // of each stage but the first, [r - 1][j mod L], or [j mod L] where powers are formed
    const REAL *outer;    // w_M^i for i < 2^FFT_OUTER_LOW, then w_M^(i 2^FFT_OUTER_LOW)
    const REAL *real;     // exp(-pi i t / N) for t < T
    long long in_stride, out_stride;    // complex elements from point to point
    long long in_line[3], out_line[3];  // from line to line: neighbours, then two outer loops
    long long lines;                    // side by side
    unsigned tiles, rows;               // blocks for these; how many such rows of lines; the third loop is the rest
    REAL scale;
};

__device__ __forceinline__ void wait_for_line() {
    if (ONE_WARP)
        __syncwarp();
    else
        __syncthreads();
}

// Where point a + offset lies when a is a thread's and offset known to the compiler: padding is additive there.
__device__ __forceinline__ int padded(int a) { return a + a / FFT_PAD; }

// The threads' place in the block.
struct place {
    int t, line;
};
__device__ __forceinline__ place place_of(bool lines_fast) {
    const int i = static_cast<int>(threadIdx.x);
    if (lines_fast) return {i / LINES, i % LINES};
    return {i % T, i / T};
}

template <int L, int R>
__device__ __forceinline__ void butterflies(value (&z)[E], int t, const REAL *twiddle) {
#pragma unroll
    for (int b = 0; b < E / R; b++) {
        value y[R];
#pragma unroll
        for (int r = 0; r < R; r++) y[r] = z[b + r * (E / R)];
        if constexpr (L > 1) {
            const int k = (t + b * T) % L;
            if constexpr (L * (R - 1) <= FFT_TABLE)
                times_table<R>(y, twiddle + 2 * k, L);
            else
                times_powers<R>(y, load_pair(twiddle + 2 * k));
        }
        dft<R>(y);
#pragma unroll
        for (int r = 0; r < R; r++) z[b + r * (E / R)] = y[r];
    }
}

// From where the stage (L, R) leaves its results to where the next takes its points.
template <int L, int R>
__device__ __forceinline__ void exchange(value (&z)[E], place from, place to, cell *shared) {
    cell *const line = shared + from.line * FFT_PITCH;
#pragma unroll
    for (int b = 0; b < E / R; b++) {
        const int j = from.t + b * T;
        cell *const first = line + padded(j / L * L * R + j % L);
#pragma unroll
        for (int r = 0; r < R; r++) put(first + padded(r * L), z[b + r * (E / R)]);
    }
    wait_for_line();
    const cell *const mine = shared + to.line * FFT_PITCH + padded(to.t);
#pragma unroll
    for (int e = 0; e < E; e++) z[e] = get(mine + padded(e * T));
}

template <int S, int L>
__device__ __forceinline__ void stages(value (&z)[E], place &at, place last, const REAL *twiddle, cell *shared) {
    constexpr int R = FFT_RADIX[S];
    butterflies<L, R>(z, at.t, twiddle);
    if constexpr (S + 1 < FFT_STAGES) {
        if (S > 0) wait_for_line();  // until all have read what the exchange before left
        exchange<L, R>(z, at, S == 0 ? last : at, shared);
        if (S == 0) at = last;
        constexpr int SIZE = L == 1 ? 0 : L * (R - 1) <= FFT_TABLE ? L * (R - 1) : L;
        stages<S + 1, L * R>(z, at, last, twiddle + 2 * SIZE, shared);
    }
}

// w_M^p from two tables
__device__ __forceinline__ value outer_root(const REAL *table, unsigned p) {
    constexpr unsigned SIZE = 1u << FFT_OUTER_LOW;
    return load_pair(table + 2 * (p % SIZE)) * load_pair(table + 2 * (SIZE + p / SIZE));
}

// z[k] *= w_M^(k index): the outputs of one butterfly are N / R apart, so their roots are a geometric progression.
__device__ __forceinline__ void times_outer(value (&z)[E], int t, unsigned index, const REAL *table) {
    constexpr int R = FFT_RADIX[FFT_STAGES - 1];
    const value step = outer_root(table, index * (N / R));
#pragma unroll
    for (int b = 0; b < E / R; b++) {
        value y[R];
        const value first = outer_root(table, index * (t + b * T));
#pragma unroll
        for (int r = 0; r < R; r++) y[r] = z[b + r * (E / R)];
        times_progression<R>(y, first, step);
#pragma unroll
        for (int r = 0; r < R; r++) z[b + r * (E / R)] = y[r];
    }
}

// Z[N - k] for each of the thread's k = t + eT; `edge` is what stands for Z[N].
template <bool HAS_EDGE>
__device__ __forceinline__ void mirrored(const value (&z)[E], value (&mirror)[E], value edge, place at, cell *shared) {
    cell *const line = shared + at.line * FFT_PITCH;
#pragma unroll
    for (int e = 0; e < E; e++) put(line + padded(at.t) + padded(e * T), z[e]);
    if (HAS_EDGE && at.t == 0) put(line + padded(N), edge);
    wait_for_line();
#pragma unroll
    for (int e = 0; e < E; e++) {
        const int k = N - (at.t + e * T);
        mirror[e] = get(line + padded(!HAS_EDGE && k == N ? 0 : k));
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) fft_line(const __grid_constant__ fft_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    cell *const shared = reinterpret_cast<cell *>(stn_shared);
    const unsigned row = FFT_LOOPS > 1 ? blockIdx.x / a.tiles : 0, row2 = FFT_LOOPS > 2 ? row / a.rows : 0;
    const long long tile = static_cast<long long>(blockIdx.x - row * a.tiles) * LINES, row1 = row - row2 * a.rows;
    place at = place_of(FFT_LINES_FAST_IN);
    const place last = place_of(FFT_LINES_FAST_OUT);

    value z[E];
    const long long in_stride = FFT_IN_STRIDE ? FFT_IN_STRIDE : a.in_stride;
    const STORE *const in =
        a.in + 2 * (row2 * a.in_line[2] + row1 * a.in_line[1] + (tile + at.line) * a.in_line[0] + at.t * in_stride);
    const bool reads = tile + at.line < a.lines;
    if (reads) {
#pragma unroll
        for (int e = 0; e < E; e++) z[e] = load_pair(in + 2 * (e * T * in_stride));
    } else {
#pragma unroll
        for (int e = 0; e < E; e++) z[e] = {REAL(0), REAL(0)};
    }
    if constexpr (FFT_LOAD_REAL) {  // Z[k] = X[k] + X*[N-k] + i exp(pi i k / N) (X[k] - X*[N-k])
        value mirror[E], edge = {REAL(0), REAL(0)};
        if (reads && at.t == 0) edge = {load_pair(in + 2 * (N * in_stride)).re, REAL(0)};
        if (at.t == 0) z[0].im = REAL(0);
        mirrored<true>(z, mirror, edge, at, shared);
        const value root = load_pair(a.real + 2 * at.t);
#pragma unroll
        for (int e = 0; e < E; e++) {
            const value w = conjugate(times_root64(root, 32 / E * e));
            const value sum = z[e] + conjugate(mirror[e]), difference = w * (z[e] - conjugate(mirror[e]));
            z[e] = sum - minus_i(difference);
        }
        wait_for_line();
    }
    if (FFT_INVERSE)
#pragma unroll
        for (int e = 0; e < E; e++) z[e] = swapped(z[e]);

    stages<0, 1>(z, at, last, a.twiddle, shared);

    const bool writes = tile + last.line < a.lines;
    if (FFT_OUTER) {
        const long long index = FFT_OUTER == 2 ? row1 : writes ? tile + last.line : 0;
        times_outer(z, last.t, static_cast<unsigned>(index), a.outer);
    }
    if (FFT_INVERSE)
#pragma unroll
        for (int e = 0; e < E; e++) z[e] = swapped(z[e]);
    if (FFT_SCALE)
#pragma unroll
        for (int e = 0; e < E; e++) z[e] = a.scale * z[e];

    const long long out_stride = FFT_OUT_STRIDE ? FFT_OUT_STRIDE : a.out_stride;
    STORE *const out = a.out + 2 * (row2 * a.out_line[2] + row1 * a.out_line[1] + (tile + last.line) * a.out_line[0] +
                                    last.t * out_stride);
    if constexpr (FFT_STORE_REAL) {  // X[k] = (Z[k] + Z*[N-k] - i exp(-pi i k / N) (Z[k] - Z*[N-k])) / 2
        value mirror[E];
        if (FFT_STAGES > 1) wait_for_line();
        mirrored<false>(z, mirror, z[0], last, shared);
        const value root = load_pair(a.real + 2 * last.t), zero = z[0];
#pragma unroll
        for (int e = 0; e < E; e++) {
            const value w = times_root64(root, 32 / E * e);
            const value sum = z[e] + conjugate(mirror[e]), difference = w * (z[e] - conjugate(mirror[e]));
            z[e] = REAL(0.5) * (sum + minus_i(difference));
        }
        if (writes && last.t == 0) store_pair(out + 2 * (N * out_stride), value{zero.re - zero.im, REAL(0)});
    }
    if (writes)
#pragma unroll
        for (int e = 0; e < E; e++) store_pair(out + 2 * (e * T * out_stride), z[e]);
}
