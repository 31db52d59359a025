// Batched Fourier transforms of lines in registers (Stockham algorithm), each line read once and
// written once.
//
//     X[k] = scale * sum over n of  x[n] * w_N^(n k),   N = R_1 R_2 .. R_s
//
// w_m = exp(-2 pi i / m). Inverse transforms have the conjugate; they exchange the real and
// imaginary parts of points before and after a forward transform.
//
// T = FFT_THREADS threads share a line, a block has LINES lines, and points stay in registers
// between exchanges through shared memory. A stage of radix R does N / R butterflies, thread t
// those of j = t, t + T, ..; L is the product of the radices of earlier stages:
//
//     butterfly j: takes the points j + r N/R, multiplied by w_(L R)^(r (j mod L)),
//                  and gives the points (j / L) L R + (j mod L) + r L
//
// If every radix divides N / T, a thread has points t, t + T, t + 2T, .. in every stage.
//
//          stage 1          exchange            stage 2                 last stage
//     t0  [x0 x8 ..] dft -> | shared | -> [..] * twiddles, dft -> ... -> natural order, coalesced
//     t1  [x1 x9 ..] dft -> | memory | -> [..] * twiddles, dft
//
// Lines are contiguous (neighbouring threads take neighbouring points) or strided
// (FFT_LINES_FAST_*: neighbouring threads take neighbouring lines). Launches of a four-step FFT of
// a long line may use different orders for input and output; threads then change lines at the first
// exchange. With FFT_OUTER, outputs are multiplied by the twiddle factors w_M^(k i) of a four-step
// FFT of M points, where i is the index of the line in the first (FFT_OUTER 1) or second (FFT_OUTER
// 2) loop over lines.
//
// Real lines of 2N numbers are transformed as N complex ones, even numbers as real and odd ones as
// imaginary parts: FFT_STORE_REAL computes the N + 1 coefficients from Z[k] and Z[N - k];
// FFT_LOAD_REAL does the reverse.
//
// Shared memory: point a of a line is at a + a / FFT_PAD and lines are FFT_PITCH apart, both chosen
// to avoid bank conflicts.
//
// Reads STORE, REAL, BLOCKS and all of FFT_*.
#include "device/fft.cuh"
#include "device/launch_checks.cuh"
#include "params.cuh"

constexpr int N = FFT_LENGTH, T = FFT_THREADS, LINES = FFT_LINES;
constexpr int THREADS = T * LINES;
// Threads change lines at the first exchange.
constexpr bool TRANSPOSES = FFT_LINES_FAST_IN != FFT_LINES_FAST_OUT;
// All threads of a line are in one warp.
constexpr bool ONE_WARP = !FFT_LINES_FAST_IN && !FFT_LINES_FAST_OUT && 32 % T == 0;
constexpr int product_of(int count) {
    int product = 1;
    for (int s = 0; s < count; s++) product *= FFT_RADIX[s];
    return product;
}
static_assert(product_of(FFT_STAGES) == N, "the radices make up the length");

// A thread's work in stage S: EACH butterflies, so POINTS points; point h is `offset(h)` after
// point t.
template <int S>
struct stage {
    static constexpr int R = FFT_RADIX[S], EACH = (N / R + T - 1) / T, POINTS = EACH * R;
    static constexpr bool WHOLE = N / R % T == 0;  // otherwise some threads have one butterfly less
    static constexpr __device__ int offset(int h) { return h % EACH * T + h / EACH * (N / R); }
    static constexpr __device__ bool holds(int h, int t) { return WHOLE || t + h % EACH * T < N / R; }
};
constexpr int LAST = FFT_STAGES - 1;
constexpr int most_points() {
    int most = 0;
    for (int s = 0; s < FFT_STAGES; s++) {
        const int points = (N / FFT_RADIX[s] + T - 1) / T * FFT_RADIX[s];
        most = points > most ? points : most;
    }
    return most;
}
constexpr int E = most_points();
// A thread has exactly E points, T apart, so that the ratios of their twiddles are 64th roots of
// unity.
constexpr bool REGULAR = N == E * T && 32 % E == 0;
static_assert(FFT_STAGES > 1 || !TRANSPOSES, "threads change places at an exchange");

using stored_point = packed<FFT_CELL>::type;  // a point in shared memory
using value = complex<REAL>;

struct fft_arguments {
    const STORE *in;
    STORE *out;
    // w_(L R)^(r (j mod L)) of all stages but the first, as [r - 1][j mod L]; of stages with more
    // than FFT_TABLE factors only those with r = 1
    const REAL *twiddle;
    const REAL *outer;                  // w_M^i for i < SIZE = 2^FFT_OUTER_LOW, then w_M^(i SIZE)
    const REAL *real;                   // exp(-pi i k / N) for k < T where REGULAR, else for k < N
    long long in_stride, out_stride;    // complex elements between points
    long long in_line[3], out_line[3];  // between lines: innermost loop, then two outer loops
    long long lines;                    // of the innermost loop
    unsigned tiles, rows;               // blocks per innermost loop; length of the second loop
    REAL scale;
};
static_assert(layout_matches(sizeof(fft_arguments), sizeof(fft_arguments::scale)),
              "the arguments match the launcher's struct");

__device__ __forceinline__ void wait_for_line() {
    if (ONE_WARP)
        __syncwarp();
    else
        __syncthreads();
}

// Padded index of point a. padded(a + offset) == padded(a) + padded(offset) for a thread's first
// point a and a constant offset.
__device__ __forceinline__ int padded(int a) { return a + a / FFT_PAD; }

// A thread's position in the block.
struct thread_position {
    int t, line;
};
__device__ __forceinline__ thread_position position_of(bool lines_fast) {
    const int i = static_cast<int>(threadIdx.x);
    if (lines_fast) return {i / LINES, i % LINES};
    return {i % T, i / T};
}

template <int S, int L>
__device__ __forceinline__ void butterflies(value (&z)[E], int t, const REAL *twiddle) {
    constexpr int R = stage<S>::R, EACH = stage<S>::EACH;
#pragma unroll
    for (int b = 0; b < EACH; b++) {
        value y[R];
#pragma unroll
        for (int r = 0; r < R; r++) y[r] = z[b + r * EACH];
        if constexpr (L > 1) {
            const int k = (t + b * T) % L;
            if constexpr (L * (R - 1) <= FFT_TABLE)
                times_table<R>(y, twiddle + 2 * k, L);
            else
                times_powers<R>(y, load_pair(twiddle + 2 * k));
        }
        dft<R>(y);
#pragma unroll
        for (int r = 0; r < R; r++) z[b + r * EACH] = y[r];
    }
}

// Moves points through shared memory from the outputs of stage S to the inputs of stage S + 1.
template <int S, int L>
__device__ __forceinline__ void exchange(value (&z)[E], thread_position from, thread_position to,
                                         stored_point *shared) {
    constexpr int R = stage<S>::R, EACH = stage<S>::EACH;
    stored_point *const line = shared + from.line * FFT_PITCH;
#pragma unroll
    for (int b = 0; b < EACH; b++) {
        const int j = from.t + b * T;
        stored_point *const first = line + padded(j / L * L * R + j % L);
        if (stage<S>::holds(b, from.t))
#pragma unroll
            for (int r = 0; r < R; r++) put(first + padded(r * L), z[b + r * EACH]);
    }
    wait_for_line();
    using next = stage<S + 1>;
    const stored_point *const mine = shared + to.line * FFT_PITCH + padded(to.t);
#pragma unroll
    for (int h = 0; h < next::POINTS; h++)
        if (next::holds(h, to.t)) z[h] = get(mine + padded(next::offset(h)));
}

template <int S, int L>
__device__ __forceinline__ void stages(value (&z)[E], thread_position &at, thread_position last, const REAL *twiddle,
                                       stored_point *shared) {
    constexpr int R = stage<S>::R;
    butterflies<S, L>(z, at.t, twiddle);
    if constexpr (S < LAST) {
        if (S > 0) wait_for_line();  // all have read the data of the previous exchange
        exchange<S, L>(z, at, S == 0 ? last : at, shared);
        if (S == 0) at = last;
        constexpr int SIZE = L == 1 ? 0 : L * (R - 1) <= FFT_TABLE ? L * (R - 1) : L;
        stages<S + 1, L * R>(z, at, last, twiddle + 2 * SIZE, shared);
    }
}

// w_M^p from two tables: of the low and the high bits of p.
__device__ __forceinline__ value outer_twiddle(const REAL *table, unsigned p) {
    constexpr unsigned SIZE = 1u << FFT_OUTER_LOW;
    return load_pair(table + 2 * (p % SIZE)) * load_pair(table + 2 * (SIZE + p / SIZE));
}

// z[k] *= w_M^(k index). The outputs of one butterfly are N / R apart, so their twiddles are a
// geometric progression.
__device__ __forceinline__ void times_outer(value (&z)[E], int t, unsigned index, const REAL *table) {
    constexpr int R = stage<LAST>::R, EACH = stage<LAST>::EACH;
    const value step = outer_twiddle(table, index * (N / R));
#pragma unroll
    for (int b = 0; b < EACH; b++) {
        if (!stage<LAST>::holds(b, t)) break;
        value y[R];
        const value first = outer_twiddle(table, index * (t + b * T));
#pragma unroll
        for (int r = 0; r < R; r++) y[r] = z[b + r * EACH];
        times_progression<R>(y, first, step);
#pragma unroll
        for (int r = 0; r < R; r++) z[b + r * EACH] = y[r];
    }
}

// Z[N - k] for each of the thread's k in stage S. Z[N] is `edge` if HAS_EDGE, else Z[0].
template <int S, bool HAS_EDGE>
__device__ __forceinline__ void mirrored(const value (&z)[E], value (&mirror)[E], value edge, thread_position at,
                                         stored_point *shared) {
    stored_point *const line = shared + at.line * FFT_PITCH;
#pragma unroll
    for (int h = 0; h < stage<S>::POINTS; h++)
        if (stage<S>::holds(h, at.t)) put(line + padded(at.t) + padded(stage<S>::offset(h)), z[h]);
    if (HAS_EDGE && at.t == 0) put(line + padded(N), edge);
    wait_for_line();
#pragma unroll
    for (int h = 0; h < stage<S>::POINTS; h++) {
        const int k = N - (at.t + stage<S>::offset(h));
        if (stage<S>::holds(h, at.t)) mirror[h] = get(line + padded(!HAS_EDGE && k == N ? 0 : k));
    }
}
// exp(-pi i k / N) for point h of stage S; `first` is the root of k = t.
template <int S>
__device__ __forceinline__ value half_twiddle(const REAL *table, value first, int t, int h) {
    if (REGULAR) return times_root64(first, 32 / E * h);
    return stage<S>::holds(h, t) ? load_pair(table + 2 * (t + stage<S>::offset(h))) : first;
}

// The line of a thread: its index in the innermost loop, the index of the second loop, and whether
// there is such a line.
struct line_position {
    long long line, row1;
    bool there;
};
// FFT_SHIFT: output rows begin at different offsets within a cache line of FFT_SHIFT elements. The
// tiles of a row begin earlier by this offset, so that they write whole cache lines. FFT_MERGED: a
// tile continues in the next row where a row of lines ends.
__device__ __forceinline__ line_position line_of(const fft_arguments &a, long long tile, long long row1, long long row2,
                                                 int line) {
    if constexpr (FFT_MERGED) {
        const unsigned number = static_cast<unsigned>(tile) + line, lines = static_cast<unsigned>(a.lines);
        return {number % lines, number / lines, number / lines < a.rows};
    } else {
        constexpr int UNIT = FFT_SHIFT ? FFT_SHIFT : 1;
        const long long shift = FFT_SHIFT ? (row1 * a.out_line[1] + row2 * a.out_line[2]) % UNIT : 0;
        const long long number = tile + line - shift;
        return {number, row1, number < a.lines && (!FFT_SHIFT || number >= 0)};
    }
}
static_assert(!FFT_MERGED || (FFT_LINES_FAST_IN && FFT_LINES_FAST_OUT && !FFT_OUTER && !FFT_SHIFT && FFT_LOOPS > 1),
              "what tiles that cross rows are for");

static_assert(shared_bytes_match(FFT_PITCH * LINES * sizeof(stored_point)),
              "the launcher gives the shared memory that this takes");
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) fft_line(const __grid_constant__ fft_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    stored_point *const shared = reinterpret_cast<stored_point *>(stn_shared);
    const unsigned row = FFT_LOOPS > 1 ? blockIdx.x / a.tiles : 0;
    const unsigned row2 = FFT_MERGED ? row : FFT_LOOPS > 2 ? row / a.rows : 0;
    const long long tile = static_cast<long long>(blockIdx.x - row * a.tiles) * LINES, row1 = row - row2 * a.rows;
    thread_position at = position_of(FFT_LINES_FAST_IN);
    const thread_position last = position_of(FFT_LINES_FAST_OUT);

    value z[E];
    const long long in_stride = FFT_IN_STRIDE ? FFT_IN_STRIDE : a.in_stride;
    const line_position from = line_of(a, tile, row1, row2, at.line), to = line_of(a, tile, row1, row2, last.line);
    const STORE *const in =
        a.in + 2 * (row2 * a.in_line[2] + from.row1 * a.in_line[1] + from.line * a.in_line[0] + at.t * in_stride);
    const bool reads = from.there;
    if (reads) {
#pragma unroll
        for (int h = 0; h < stage<0>::POINTS; h++)
            if (stage<0>::holds(h, at.t)) z[h] = load_pair(in + 2 * (stage<0>::offset(h) * in_stride));
    } else {
#pragma unroll
        for (int e = 0; e < E; e++) z[e] = {REAL(0), REAL(0)};
    }
    if constexpr (FFT_LOAD_REAL) {
        // Z[k] = X[k] + X*[N-k] + i w* (X[k] - X*[N-k]), w = exp(-pi i k / N)
        value mirror[E], edge = {REAL(0), REAL(0)};
        if (reads && at.t == 0) edge = {load_pair(in + 2 * (N * in_stride)).re, REAL(0)};
        if (at.t == 0) z[0].im = REAL(0);
        mirrored<0, true>(z, mirror, edge, at, shared);
        const value root = load_pair(a.real + 2 * at.t);
#pragma unroll
        for (int h = 0; h < stage<0>::POINTS; h++) {
            const value w = conjugate(half_twiddle<0>(a.real, root, at.t, h));
            const value sum = z[h] + conjugate(mirror[h]), difference = w * (z[h] - conjugate(mirror[h]));
            z[h] = sum - minus_i(difference);
        }
        wait_for_line();
    }
    if (FFT_INVERSE)
#pragma unroll
        for (int e = 0; e < E; e++) z[e] = swapped(z[e]);

    stages<0, 1>(z, at, last, a.twiddle, shared);

    const bool writes = to.there;
    if (FFT_OUTER) {
        const long long index = FFT_OUTER == 2 ? to.row1 : writes ? to.line : 0;
        times_outer(z, last.t, static_cast<unsigned>(index), a.outer);
    }
    if (FFT_INVERSE)
#pragma unroll
        for (int e = 0; e < E; e++) z[e] = swapped(z[e]);
    if (FFT_SCALE)
#pragma unroll
        for (int e = 0; e < E; e++) z[e] = a.scale * z[e];

    const long long out_stride = FFT_OUT_STRIDE ? FFT_OUT_STRIDE : a.out_stride;
    STORE *const out =
        a.out + 2 * (row2 * a.out_line[2] + to.row1 * a.out_line[1] + to.line * a.out_line[0] + last.t * out_stride);
    if constexpr (FFT_STORE_REAL) {  // X[k] = (Z[k] + Z*[N-k] - i w (Z[k] - Z*[N-k])) / 2
        value mirror[E];
        if (FFT_STAGES > 1) wait_for_line();
        mirrored<LAST, false>(z, mirror, z[0], last, shared);
        const value root = load_pair(a.real + 2 * last.t), zero = z[0];
#pragma unroll
        for (int h = 0; h < stage<LAST>::POINTS; h++) {
            const value w = half_twiddle<LAST>(a.real, root, last.t, h);
            const value sum = z[h] + conjugate(mirror[h]), difference = w * (z[h] - conjugate(mirror[h]));
            z[h] = REAL(0.5) * (sum + minus_i(difference));
        }
        if (writes && last.t == 0) store_pair(out + 2 * (N * out_stride), value{zero.re - zero.im, REAL(0)});
    }
    if (writes)
#pragma unroll
        for (int h = 0; h < stage<LAST>::POINTS; h++)
            if (stage<LAST>::holds(h, last.t)) store_pair(out + 2 * (stage<LAST>::offset(h) * out_stride), z[h]);
}
