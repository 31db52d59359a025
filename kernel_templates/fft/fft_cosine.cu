// Cosine and sine transforms (DCT, DST) of types II and III (Makhoul 1980). A line is read once and
// written once; between, in shared memory, its points in another order are transformed by an FFT.
// For a line of n numbers the twiddle factors are c_k = scale * exp(-pi i k / 2n).
//
//     v[j] = x[2j] for 2j < n, otherwise x[2n - 1 - 2j]
//     type II    y[k] = c_k V[k] + c_k* V[n-k],  V = FFT of v                  V[n] = V[0]
//     type III   v = inverse FFT of V, V[k] = c_k* (x[k] - i x[n-k])           x[n] = 0
//                y[2j] = v[j] for 2j < n, otherwise y[2n - 1 - 2j] = v[j]
//     sine       type II: x[2j + 1] is negated, y is reversed
//                type III: x is reversed, y[2j + 1] is negated
//
// COSINE_ROWS 0: lines of n = N strided points. A point is a pair of neighbouring numbers: one
// line in its real parts and one in its imaginary parts, which are transformed together.
//
//                column pair 0 1 2 ..   LINE_COUNT lines of a block, THREADS_X threads for each
//     points     | | | |  -> stage 0 -> shared memory -> stage 1 -> .. -> last stage -> frequencies
//
// This is type II; type III runs through the same stages from frequencies to points. A line may be
// shared by a cluster of LINE_SHARES blocks, as in fft_shared. In type II a block then has both
// V[k] and V[n-k].
//
// COSINE_ROWS 1: lines of n = 2N adjacent numbers, transformed as N complex points z: v[2j] and
// v[2j + 1] are real and imaginary parts of z[j], and four adjacent numbers of x are two points,
// which are brought in order in shared memory:
//
//     x[4p .. 4p+3] = Re z[p], Im z[q], Im z[p], Re z[q],   q = N - 1 - p
//
// Reads STORE, REAL, BLOCKS, THREADS_X, LINE_*, FFT_LOOPS, COSINE_*.
#include "device/launch_checks.cuh"
#include "device/line_shape.cuh"
#include "device/shared_fft.cuh"
#include "params.cuh"

constexpr int N = LINE_POINTS, LAST = LINE_STAGES - 1, THREADS = THREADS_X * LINE_COUNT;
static_assert(COSINE_TYPE == 2 || COSINE_TYPE == 3, "a type that has a kernel");
static_assert(LINE_SHARES == 1 || !COSINE_ROWS, "a row lies in one block");
static_assert(LINE_STAGES >= 2, "the first stage loads from global memory, the last one stores to it");
using value = complex<REAL>;
using first_stage = fft_stage<line_shape, 0>;
using last_stage = fft_stage<line_shape, LAST>;
constexpr int R0 = first_stage::R, S0 = first_stage::STRIDE;
constexpr int R = last_stage::R, P = N / R;  // points of a last butterfly are P frequencies apart
static_assert(LINE_SHARES == 1 || COSINE_TYPE == 3 || R0 % (2 * LINE_SHARES) == 0,
              "a block has a result's mirror image");

struct cosine_arguments {
    const STORE *in;
    STORE *out;
    const REAL *twiddles;               // twiddle factors of device/shared_fft.cuh
    const REAL *cosines;                // c_k for k <= N; for rows, exp(-pi i k / N) follow
    long long in_stride, out_stride;    // pairs of numbers between points
    long long in_line[3], out_line[3];  // pairs between lines: innermost loop, then two outer loops
    long long lines;                    // of the innermost loop
    unsigned tiles, rows;               // blocks per innermost loop; length of the second loop
};
static_assert(layout_matches(sizeof(cosine_arguments), 0), "the arguments match the launcher's struct");
static_assert(shared_bytes_match(padded_points<line_shape>() * sizeof(value)),
              "the launcher gives the shared memory that this takes");

// A thread's share of a line.
struct line_work {
    value *line;  // in shared memory
    const STORE *in;
    STORE *out;
    const REAL *cosines;
    int t, share;
    bool active;  // there is such a line
};

__device__ __forceinline__ value cosine_twiddle(const line_work &w, int k) { return load_pair(w.cosines + 2 * k); }
__device__ __forceinline__ value half_twiddle(const line_work &w, int k) {
    return load_pair(w.cosines + 2 * (N + 1 + k));
}
__device__ __forceinline__ value negated(value z) { return {-z.re, -z.im}; }
// The index in x (type III: in y) of number v[j]; sine transforms negate numbers at odd indices.
__device__ __forceinline__ int place_of(int j) { return 2 * j < N ? 2 * j : 2 * N - 1 - 2 * j; }
__device__ __forceinline__ value signed_by(value z, int place) { return COSINE_SINE && place % 2 ? negated(z) : z; }
// The index of frequency k in a line of n numbers: sine transforms reverse the frequencies.
__device__ __forceinline__ int frequency_place(int k, int n) { return COSINE_SINE ? n - 1 - k : k; }

// Result r of stage 0 is put at slot_of(r), so that a block of a cluster holds the frequencies of
// r and R0 - r, which type II combines.
__device__ __forceinline__ constexpr int slot_of(int r) {
    if (LINE_SHARES == 1 || COSINE_TYPE == 3) return r;
    return r == 0 || 2 * r == R0 ? r != 0 : 2 * r < R0 ? 2 * r : 2 * (R0 - r) + 1;
}
// The butterfly with the frequencies t + r P, which this block holds.
__device__ __forceinline__ void load_last(value (&x)[R], const value *line, int t) {
    load_butterfly<line_shape, LAST>(x, line, digit_reversed_first<line_shape>(t - t % R0 + slot_of(t % R0)));
    dft<R>(x);
}

// ---- lines of strided points
// x[r] = V[q + r S0] of type III, with real and imaginary part exchanged for the inverse. Loads are
// issued together, eight points at a time.
__device__ __forceinline__ void load_frequencies(const line_work &w, long long stride, int q, value (&x)[R0]) {
    constexpr int MANY = R0 < 8 ? R0 : 8;
#pragma unroll
    for (int r0 = 0; r0 < R0; r0 += MANY) {
        value mirror[MANY];
#pragma unroll
        for (int i = 0; i < MANY; i++) {
            const int r = r0 + i, k = q + r * S0, other = k ? N - k : N - 1;
            if (r >= R0) break;
            x[r] = load_pair(w.in + 2 * (frequency_place(k, N) * stride));
            mirror[i] = load_pair(w.in + 2 * (frequency_place(other, N) * stride));
        }
#pragma unroll
        for (int i = 0; i < MANY; i++) {
            const int r = r0 + i, k = q + r * S0;
            if (r >= R0) break;
            const value rotated = minus_i(mirror[i]), zero = {REAL(0), REAL(0)};
            x[r] = swapped(conjugate(cosine_twiddle(w, k)) * (x[r] + (k ? rotated : zero)));
        }
    }
}
__device__ __forceinline__ void load_points(const line_work &w, long long stride, const REAL *twiddles) {
#pragma unroll 1
    for (int j = w.t; j < first_stage::COUNT; j += THREADS_X) {
        value x[R0];
        const int q = j + w.share * first_stage::COUNT;
#pragma unroll
        for (int r = 0; r < R0; r++) x[r] = {REAL(0), REAL(0)};
        if (w.active && COSINE_TYPE == 3) load_frequencies(w, stride, q, x);
        if (w.active && COSINE_TYPE == 2)
#pragma unroll
            for (int r = 0; r < R0; r++) {
                const int place = place_of(q + r * S0);
                x[r] = signed_by(load_pair(w.in + 2 * (place * stride)), place);
            }
        dft<R0>(x);
        apply_twiddles<line_shape, 0>(x, q, twiddles);
        value results[R0];
#pragma unroll
        for (int r = 0; r < R0; r++) results[slot_of(r)] = x[r];
        store_butterfly_in_cluster<line_shape>(results, w.line, q);
    }
}
__device__ __forceinline__ void store_points(const line_work &w, long long stride) {
#pragma unroll 1
    for (int j = w.t; j < last_stage::COUNT; j += THREADS_X) {
        value x[R];
        const int t = frequency_of<line_shape>(j, static_cast<unsigned>(w.share));
        load_butterfly<line_shape, LAST>(x, w.line, digit_reversed_first<line_shape>(t));
        dft<R>(x);
        if (!w.active) continue;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int place = place_of(t + r * P);
            store_pair(w.out + 2 * (place * stride), signed_by(swapped(x[r]), place));
        }
    }
}
// With a = c_k V[k] and b = c_k* V[n-k]: y[k] = a + b, y[n-k] = i (a - b).
// A thread does the butterflies t and P - t together; in a cluster also 0 and P / 2, each of which
// is its own mirror image. A block of a cluster does those t of which t % R0 is one of EACH
// remainders below R0 / 2, and their mirror images; all multiples of R0 / 2 go with remainder 0.
__device__ __forceinline__ void store_frequencies(const line_work &w, long long stride) {
    constexpr int PAIRS = LINE_SHARES == 1 ? P / 2 + 1 : last_stage::COUNT / 2, EACH = (R0 / LINE_SHARES + 1) / 2;
#pragma unroll 1
    for (int j = w.t; j < PAIRS; j += THREADS_X) {
        value x[R], y[R];
        int t = j;
        if constexpr (LINE_SHARES > 1) {
            const int first = w.share * EACH + j % EACH, i = j / EACH;
            t = first ? first + R0 * i : R0 / 2 * i;
        }
        load_last(x, w.line, t);
        load_last(y, w.line, t ? P - t : LINE_SHARES > 1 ? P / 2 : 0);
        if (!w.active) continue;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = t + r * P;
            const value c = cosine_twiddle(w, k), a = c * x[r], b = conjugate(c) * (t ? y[R - 1 - r] : x[(R - r) % R]);
            store_pair(w.out + 2 * (frequency_place(k, N) * stride), a + b);
            if (t && (LINE_SHARES > 1 || 2 * t != P))
                store_pair(w.out + 2 * (frequency_place(N - k, N) * stride), minus_i(b - a));
            if (t || LINE_SHARES == 1) continue;
            const int half = k + P / 2;
            const value middle = cosine_twiddle(w, half);
            store_pair(w.out + 2 * (frequency_place(half, N) * stride),
                       middle * y[r] + conjugate(middle) * y[R - 1 - r]);
        }
    }
}

// ---- rows
// Numbers 2m and 2m + 1 of a row are Re z[p] and Im z[q] for even m, otherwise Im z[p] and Re z[q],
// where p = m / 2, rounded down, and q = N - 1 - p.
__device__ __forceinline__ REAL &part_of(const line_work &w, int point, int part) {
    return reinterpret_cast<REAL *>(w.line + padded<line_shape>(point) * LINE_COUNT)[part];
}
__device__ __forceinline__ void load_row(const line_work &w) {
    for (int m = w.t; m < N; m += THREADS_X) {
        const value pair = w.active ? load_pair(w.in + 2 * m) : value{REAL(0), REAL(0)};
        part_of(w, m / 2, m % 2) = pair.re;
        part_of(w, N - 1 - m / 2, 1 - m % 2) = COSINE_SINE ? -pair.im : pair.im;
    }
}
// Stores a row after the inverse, whose results have real and imaginary parts exchanged.
__device__ __forceinline__ void store_row(const line_work &w) {
    for (int m = w.t; m < N && w.active; m += THREADS_X) {
        const REAL even = part_of(w, m / 2, 1 - m % 2), odd = part_of(w, N - 1 - m / 2, m % 2);
        store_pair(w.out + 2 * m, value{even, COSINE_SINE ? -odd : odd});
    }
}
__device__ __forceinline__ void put_number(const line_work &w, int k, REAL number) {
    w.out[frequency_place(k, 2 * N)] = narrow<STORE>(number);
}
__device__ __forceinline__ REAL get_number(const line_work &w, int k) { return widen(w.in[frequency_place(k, 2 * N)]); }
// Computes 2 V[k] and 2 V[N-k] from Z[k] and Z[N-k], as fft_shared does for real lines. y[k] and
// -y[2N-k] are the real and the imaginary part of c_k 2 V[k]; 2 V[N-k] gives y[N-k] and y[N+k].
__device__ __forceinline__ void store_row_frequencies(const line_work &w) {
#pragma unroll 1
    for (int t = w.t; 2 * t <= P; t += THREADS_X) {
        value x[R], y[R];
        load_last(x, w.line, t);
        load_last(y, w.line, t ? P - t : 0);
        if (!w.active) continue;
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = t + r * P;
            const value z = x[r], mirror = conjugate(t ? y[R - 1 - r] : y[(R - r) % R]);
            const value s = z + mirror, d = minus_i(half_twiddle(w, k) * (z - mirror));
            const value a = cosine_twiddle(w, k) * (s + d), b = cosine_twiddle(w, N - k) * conjugate(s - d);
            put_number(w, k, a.re);
            if (k) put_number(w, 2 * N - k, -a.im);
            if (k == 0 || (t && 2 * t != P)) put_number(w, N - k, b.re);
            if (t && 2 * t != P) put_number(w, N + k, -b.im);
        }
    }
}
__device__ __forceinline__ void load_row_frequencies(const line_work &w) {
#pragma unroll 1
    for (int t = w.t; 2 * t <= P; t += THREADS_X) {
        value x[R], y[R];  // x[k] and x[2N-k], x[N-k] and x[N+k]
#pragma unroll
        for (int r = 0; r < R; r++) x[r] = y[r] = {REAL(0), REAL(0)};
        if (w.active)
#pragma unroll
            for (int r = 0; r < R; r++) {
                const int k = t + r * P;
                x[r] = {get_number(w, k), get_number(w, k ? 2 * N - k : N)};
                y[r] = {get_number(w, N - k), get_number(w, N + k)};
            }
        value mirrored[R];
#pragma unroll
        for (int r = 0; r < R; r++) {
            const int k = t + r * P;
            const value z = conjugate(cosine_twiddle(w, k)) * value{x[r].re, k ? -x[r].im : REAL(0)};
            const value mirror = cosine_twiddle(w, N - k) * y[r];
            const value s = z + mirror, d = conjugate(half_twiddle(w, k)) * (z - mirror);
            x[r] = swapped(s - minus_i(d)), mirrored[R - 1 - r] = swapped(conjugate(s + minus_i(d)));
        }
#pragma unroll
        for (int r = 0; r < R; r++) y[r] = mirrored[r];
        store_partners<line_shape>(x, y, w.line, t);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) fft_cosine(const __grid_constant__ cosine_arguments a) {
    extern __shared__ __align__(16) unsigned char stn_shared[];
    const unsigned block = blockIdx.x / LINE_SHARES, row = FFT_LOOPS > 1 ? block / a.tiles : 0,
                   row2 = FFT_LOOPS > 2 ? row / a.rows : 0;
    const int lane = static_cast<int>(threadIdx.x) % LINE_COUNT;
    const long long row1 = row - row2 * a.rows;
    const long long number = static_cast<long long>(block - row * a.tiles) * LINE_COUNT + lane;
    const line_work w = {reinterpret_cast<value *>(stn_shared) + lane,
                         a.in + 2 * (row2 * a.in_line[2] + row1 * a.in_line[1] + number * a.in_line[0]),
                         a.out + 2 * (row2 * a.out_line[2] + row1 * a.out_line[1] + number * a.out_line[0]),
                         a.cosines,
                         static_cast<int>(threadIdx.x) / LINE_COUNT,
                         LINE_SHARES > 1 ? static_cast<int>(cluster_rank()) : 0,
                         number < a.lines};
    if constexpr (COSINE_ROWS && COSINE_TYPE == 3) {
        load_row_frequencies(w);
        __syncthreads();
        inverse_stages<line_shape, LAST, 0>(w.line, w.t, a.twiddles);
        store_row(w);
    } else if constexpr (COSINE_ROWS) {
        load_row(w);
        __syncthreads();
        forward_stages<line_shape, 0, LAST>(w.line, w.t, a.twiddles);
        store_row_frequencies(w);
    } else {
        if (LINE_SHARES > 1) line_barrier_in_cluster<line_shape>();  // all blocks have started
        load_points(w, a.in_stride, a.twiddles);
        line_barrier_in_cluster<line_shape>();
        forward_stages<line_shape, 1, LAST>(w.line, w.t, a.twiddles);
        if constexpr (COSINE_TYPE == 3) {
            store_points(w, a.out_stride);
        } else {
            store_frequencies(w, a.out_stride);
        }
    }
}
