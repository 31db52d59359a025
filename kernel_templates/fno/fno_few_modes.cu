// Transforms of lines of which few frequencies are retained, along one axis, to modes or back: one
// stage of butterflies, then a direct sum for each retained frequency. Points pass through
// registers once, whatever the length of a line.
//
//     N = R Q points, p = q + Q r;  w = exp(-2 pi i / N)
//
//     forward   Z[k] = sum over q of  w^(k q) * ( sum over r of x[q + Q r] exp(-2 pi i k r / R) )
//                                               `- result k mod R of a butterfly -'
//     back      y[q + Q r] = sum over k of  (S[k] w^(-k q)) exp(2 pi i k r / R)
//                            an inverse butterfly of inputs k mod R
//
//     points  | q q q q ..    |  thread t of a line: butterflies q = t, t + THREADS_X, ..;
//             | q + Q ..      |  neighbouring threads read neighbouring points
//             | q + 2 Q ..    |  R rows; forward: sums per thread, then over the line's threads
//
// Two real channels form one complex line, with negative frequencies too; or each is a line of its
// own (FEW_SINGLE_CHANNEL), which halves the sums. Then Q = N / 2R, and a butterfly of 2R real
// points is one of R complex ones made of even and odd points (E + i O):
//
//     X[k] = E[k] + v^k O[k],  v = exp(-2 pi i / 2R)
//     E[k] = (Z[k] + conj Z[-k]) / 2,  O[k] = (Z[k] - conj Z[-k]) / 2i
//
// Shared memory of an inverse and of a forward transform:
//
//     back:     | modes of all lines |
//     forward:  | sums | sums of each thread [number of a mode][thread] |
//
// Reads REAL, STORE, FNO_FROM, FNO_TO, FNO_FORWARD, FNO_REAL, FNO_MODES, FNO_LOW, FNO_DOUBLED,
// FNO_CHUNKS_IN, FNO_CHUNKS_OUT, FNO_BIAS, FNO_ADDED, FNO_ACTIVATION, THREADS_X, BLOCKS, FEW_*.
#include "device/fft.cuh"
#include "fno/line_io.cuh"

constexpr bool ALONE = FEW_SINGLE_CHANNEL != 0, PAIRS = FNO_REAL && !ALONE;
// WIDTH: points of a butterfly.
constexpr int N = FEW_POINTS, R = FEW_RADIX, WIDTH = ALONE ? 2 * R : R, Q = N / WIDTH;
constexpr int THREADS = THREADS_X * FEW_LINES, EACH = PAIRS ? 2 : 1, CHANNELS = EACH * FEW_LINES;
constexpr int MODES = FNO_MODES, HIGH = MODES - FNO_LOW - 1,
              BELOW = PAIRS ? HIGH : FNO_LOW;  // frequencies -BELOW .. HIGH
constexpr int FREQUENCIES = BELOW + HIGH + 1, REACH = larger(BELOW, HIGH);
constexpr int NUMBERS = 2 * FREQUENCIES, VALUES = NUMBERS * FEW_LINES;
// Pitch without bank conflicts.
constexpr int PITCH = THREADS + FEW_PARTS;
constexpr int ROOM = FNO_FORWARD ? VALUES * FEW_PARTS + NUMBERS * PITCH : VALUES;  // in REALs

static_assert(Q * WIDTH == N, "butterflies share a line's points evenly");
static_assert(FNO_REAL ? 2 * HIGH < N && FNO_LOW == 0 : FREQUENCIES <= N,
              "no frequency occurs twice; on real lines only frequency 0 is its own negative");
static_assert(!ALONE || (FNO_REAL && 32 % R == 0), "twiddles of 2R points are some of 64");
static_assert(VALUES % 2 == 0 && shared_bytes_match(ROOM * sizeof(REAL)),
              "the launcher gives the shared memory that this takes");

// w^q, w^2q, .. of butterfly q. The powers w^q, w^2q, w^4q, .. come from the table, [power of
// two][q], because the error of a power of a rounded root grows with the exponent; all others are
// products of these.
struct powers {
    value of[REACH + 1];
    __device__ __forceinline__ powers(const REAL *twiddles, int q) {
#pragma unroll
        for (int k = 1; k <= REACH; k++) {
            if (k & (k - 1)) {
                of[k] = of[k & (k - 1)] * of[k & -k];
            } else {
                of[k] = load_pair(twiddles + 2 * q);
                twiddles += 2 * Q;
            }
        }
    }
};
// sum += x w^f; f may be negative.
__device__ __forceinline__ void add_rotated(value &sum, value x, const powers &w, int f) {
    if (f == 0) {
        sum = sum + x;
        return;
    }
    const value root = f > 0 ? w.of[f] : conjugate(w.of[-f]);
    sum.re += x.re * root.re, sum.re -= x.im * root.im;
    sum.im += x.re * root.im, sum.im += x.im * root.re;
}
constexpr __device__ int input_of(int f) { return (f % R + R) % R; }  // index in the butterfly

// ---- butterflies of 2R real points, as one of R complex points
// Computes twice the outputs 0 .. R; the other outputs are their conjugates.
__device__ __forceinline__ void real_results(value (&x)[R], value (&made)[R + 1]) {
    dft<R>(x);
#pragma unroll
    for (int k = 0; k <= R; k++) {
        const value z = x[k % R], other = conjugate(x[(R - k) % R]);
        made[k] = z + other + times_root64(minus_i(z - other), k * (32 / R));
    }
}
// Computes the swapped inputs of dft<R> from inputs 0 .. R of an inverse butterfly.
__device__ __forceinline__ void real_inputs(const value (&half)[R + 1], value (&x)[R]) {
#pragma unroll
    for (int j = 0; j < R; j++) {
        const value z = half[j], other = conjugate(half[R - j]);
        const value odd = conjugate(times_root64(conjugate(z - other), j * (32 / R)));
        x[j] = swapped(z + other + value{-odd.im, odd.re});
    }
}
// Index of the input or output that equals frequency f >= 0 or its conjugate.
constexpr __device__ int half_of(int f) { return f % (2 * R) > R ? 2 * R - f % (2 * R) : f % (2 * R); }
constexpr __device__ bool is_conjugate(int f) { return f % (2 * R) > R; }

// ---- forward
__device__ __forceinline__ void sum_alone(value (&sum)[FREQUENCIES], const line_points &get, int t,
                                          const REAL *twiddles) {
#pragma unroll 1
    for (int q = t; q < Q; q += THREADS_X) {
        value x[R], made[R + 1];
#pragma unroll
        for (int r = 0; r < R; r++) x[r] = {get.number(q, 2 * r * Q), get.number(q, (2 * r + 1) * Q)};
        const powers w(twiddles, q);
        real_results(x, made);
#pragma unroll
        for (int f = 0; f <= HIGH; f++) {
            const value z = made[half_of(f)];
            add_rotated(sum[f], is_conjugate(f) ? conjugate(z) : z, w, f);
        }
    }
}
__device__ __forceinline__ void sum_line(value (&sum)[FREQUENCIES], const line_points &get, int t,
                                         const REAL *twiddles) {
#pragma unroll 1
    for (int q = t; q < Q; q += THREADS_X) {
        value x[R];
#pragma unroll
        for (int r = 0; r < R; r++) x[r] = get(q, r * Q);
        const powers w(twiddles, q);
        dft<R>(x);
#pragma unroll
        for (int f = -BELOW; f <= HIGH; f++) add_rotated(sum[f + BELOW], x[input_of(f)], w, f);
    }
}
// Sums over the threads of each line, in FEW_PARTS parts: sums[value][part], values line by line.
__device__ __forceinline__ void add_threads(const value (&sum)[FREQUENCIES], REAL *sums, REAL *per_thread) {
#pragma unroll
    for (int f = 0; f < FREQUENCIES; f++) {
        per_thread[2 * f * PITCH + threadIdx.x] = sum[f].re;
        per_thread[(2 * f + 1) * PITCH + threadIdx.x] = sum[f].im;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < VALUES * FEW_PARTS; i += THREADS) {
        const int part = i % FEW_PARTS, v = i / FEW_PARTS;
        const REAL *const from = per_thread + v % NUMBERS * PITCH + v / NUMBERS * THREADS_X + part;
        REAL total = 0;
#pragma unroll 8
        for (int t = 0; t < THREADS_X; t += FEW_PARTS) total += from[t];
        sums[i] = total;
    }
    __syncthreads();
}
__device__ __forceinline__ value made_of(const REAL *sums, int line, int f) {
    const REAL *const from = sums + (line * NUMBERS + 2 * (f + BELOW)) * FEW_PARTS;
    value z = {REAL(0), REAL(0)};
#pragma unroll
    for (int part = 0; part < FEW_PARTS; part++) z = z + value{from[part], from[FEW_PARTS + part]};
    return z;
}
__device__ __forceinline__ void store_modes(const line_arguments &a, FNO_TO *out, int c0, const REAL *sums) {
    for (int i = threadIdx.x; i < MODES * FEW_LINES; i += THREADS) {
        const int line = i % FEW_LINES, mode = i / FEW_LINES, f = mode - FNO_LOW, c = c0 + EACH * line;
        // Frequencies of the half spectrum stand for two, except those that are their own
        // negatives.
        const REAL share = FNO_DOUBLED && mode ? a.scale + a.scale : a.scale;
        const value z = share * made_of(sums, line, f);
        if (PAIRS)
            store_mode_pair(a, out, mode, c, separate_channels({{z, conjugate(share * made_of(sums, line, -f))}}));
        else if (c < a.outputs)
            store_value(out + 2 * (mode * a.out_stride + c), z);
    }
}

// ---- back: modes as [line][frequency], swapped, so that a forward transform follows
__device__ __forceinline__ void load_modes(const line_arguments &a, const FNO_FROM *in, int c0, value *modes) {
    for (int i = threadIdx.x; i < MODES * FEW_LINES; i += THREADS) {
        const int line = i % FEW_LINES, mode = i / FEW_LINES, f = mode - FNO_LOW, c = c0 + EACH * line;
        value *const to = modes + line * FREQUENCIES + BELOW;
        if (PAIRS) {
            const chunk both = combine_channels(load_mode_pair(a, in, mode, c), mode == 0);
            to[-f] = swapped(both.of[1]);
            to[f] = swapped(both.of[0]);
        } else {
            value z = {REAL(0), REAL(0)};
            if (c < a.channels) z = load_value(in + 2 * (mode * a.in_stride + c));
            if (ALONE && f == 0) z.im = REAL(0);
            to[f] = ALONE ? z : swapped(z);
        }
    }
    __syncthreads();
}
__device__ __forceinline__ void spread_line(const value *modes, const line_targets &put, int t, const REAL *twiddles) {
#pragma unroll 1
    for (int q = t; q < Q; q += THREADS_X) {
        value x[R];
        const powers w(twiddles, q);
#pragma unroll
        for (int r = 0; r < R; r++) x[r] = {REAL(0), REAL(0)};
#pragma unroll
        for (int f = -BELOW; f <= HIGH; f++) add_rotated(x[input_of(f)], modes[f + BELOW], w, f);
        dft<R>(x);
#pragma unroll
        for (int r = 0; r < R; r++) put(q, r * Q, swapped(x[r]));
    }
}

__device__ __forceinline__ void spread_alone(const value *modes, const line_targets &put, int t, const REAL *twiddles) {
#pragma unroll 1
    for (int q = t; q < Q; q += THREADS_X) {
        value x[R], half[R + 1];
        const powers w(twiddles, q);
#pragma unroll
        for (int k = 0; k <= R; k++) half[k] = {REAL(0), REAL(0)};
#pragma unroll
        for (int f = 0; f <= HIGH; f++) {
            value z = {REAL(0), REAL(0)};
            add_rotated(z, modes[f], w, -f);
            // f and -f belong to the same input, which is the sum of z and its conjugate.
            if (f && half_of(f) % R == 0) z = {z.re + z.re, REAL(0)};
            half[half_of(f)] = half[half_of(f)] + (is_conjugate(f) ? conjugate(z) : z);
        }
        real_inputs(half, x);
        dft<R>(x);
#pragma unroll
        for (int r = 0; r < R; r++) put.number(q, 2 * r * Q, x[r].im), put.number(q, (2 * r + 1) * Q, x[r].re);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) fno_few_modes(const __grid_constant__ line_arguments a) {
    extern __shared__ __align__(128) unsigned char stn_shared[];
    REAL *const sums = reinterpret_cast<REAL *>(stn_shared);
    const unsigned groups = static_cast<unsigned>((a.channels + CHANNELS - 1) / CHANNELS);
    const long long item = blockIdx.x / groups, outer = item / a.inner, inner = item % a.inner;
    const int c0 = static_cast<int>(blockIdx.x % groups) * CHANNELS, t = threadIdx.x % THREADS_X,
              line = threadIdx.x / THREADS_X;
    constexpr int FROM = FNO_FORWARD && FNO_REAL ? 1 : 2,
                  TO = !FNO_FORWARD && FNO_REAL ? 1 : 2;  // numbers per point or mode
    const FNO_FROM *const in = a.in + FROM * (outer * a.in_outer + inner * a.in_inner);
    FNO_TO *const out = a.out + TO * (outer * a.out_outer + inner * a.out_inner);
    if constexpr (FNO_FORWARD) {
        value sum[FREQUENCIES] = {};
        const line_points get(a, in, c0 + EACH * line);
        if constexpr (ALONE)
            sum_alone(sum, get, t, a.twiddles);
        else
            sum_line(sum, get, t, a.twiddles);
        add_threads(sum, sums, sums + VALUES * FEW_PARTS);
        store_modes(a, out, c0, sums);
    } else {
        value *const modes = reinterpret_cast<value *>(stn_shared);
        load_modes(a, in, c0, modes);
        const line_targets put(a, out, item, c0 + EACH * line);
        if constexpr (ALONE)
            spread_alone(modes + line * FREQUENCIES, put, t, a.twiddles);
        else
            spread_line(modes + line * FREQUENCIES, put, t, a.twiddles);
    }
}
