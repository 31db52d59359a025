// A circular convolution in the registers and the shared memory of THREADS threads: forward FFT,
// product with a symbol, inverse FFT.
//
//     N = 256 F points; radix F = SEGMENT_FIRST in stages 1 and 5, 16 in the others
//     16 F threads with 16 points each
//     F = 1: no stages 1 and 5, no exchange between warps; a warp has two convolutions
//
//     time       j = k3 + 16 k2 + 256 k1          frequency   k = p + F q + 16 F r
//
//                thread                    registers                 twiddle factor w =
//     stage 1    columns (k2, k3)          k1 -> p                   1
//     exchange   between all threads
//     stage 2    t = (p, k3)               k2 -> q                   exp(-2 pi i p / (16 F))
//     exchange   among the 16 of one p
//     stage 3    t = (p, q)                k3 -> r, symbol, r -> c1  exp(-2 pi i (p + F q) / N); 1
//     exchange   among the 16 of one p
//     stage 4    t = (p, c1)               q -> c2                   exp(-2 pi i c1 / 256)
//     exchange   between all threads
//     stage 5    columns (c1, c2)          p -> c3                   exp(-2 pi i (c1 + 16 c2) / N)
//
// In stages 1 and 5 a thread has the columns column_of(first, 0), column_of(first, 1), .. The
// digits c1, c2, c3 of the inverse are those of time, so nothing is reordered. The inverse is a
// forward FFT whose inputs and outputs have their real and imaginary parts swapped. In f32 a point
// is exchanged at once; in f64 first all real parts, then all imaginary parts, which needs half the
// shared memory. The buffer of one p has 16 x 17 elements: no two of 16 neighbours fall in the same
// bank.
//
// SEGMENT_SINGLE 1: the real and the imaginary parts hold the even and the odd points of one real
// segment of 2 N points, instead of two segments (multiply_real_segment). 2: two teams of THREADS
// threads share one real segment of 4 N points; the second team has the odd frequencies:
//
//     stage 0    sum or difference of points j and j + N of both teams; its twiddle factors are
//                included in those of the second team: w is exp(-2 pi i / (2 F)) in stage 1,
//                and p + 1/2 takes the place of p in the formulas of stages 2 and 3
//     stage 6    the second team's points times exp(-2 pi i j / (2 N)); sum and difference again
#pragma once
#include "params.cuh"
#include "segment/butterfly.cuh"

constexpr int F = SEGMENT_FIRST, COLUMNS = 16 / F;  // Columns of a thread in stages 1 and 5.
constexpr int THREADS = 16 * F, LENGTH = 256 * F, PITCH = 16 * 17;
constexpr int HALVES = sizeof(REAL) == 8 ? 2 : 1;
static_assert(F == 1 || F == 2 || F == 4 || F == 8 || F == 16, "a radix that has a butterfly and divides 16");
static_assert(!SEGMENT_COSINES || (F > 1 && F < 16 && SYMBOL_REAL), "a thread has a column and its mirror image");
constexpr bool SINGLE = SEGMENT_SINGLE > 0;
constexpr int TEAMS = SEGMENT_SINGLE > 1 ? 2 : 1;
static_assert(!SINGLE || (F == 16 && !SEGMENT_COSINES), "long segments have a column a thread");

using point = complex<REAL>;
template <int PARTS>
struct cell_of {
    using type = point;
};
template <>
struct cell_of<2> {
    using type = REAL;
};
using cell = cell_of<HALVES>::type;

// Loads two adjacent numbers from shared memory as a complex number.
__device__ __forceinline__ complex<float> raw_pair(const half_t *from) { return {widen(from[0]), widen(from[1])}; }
template <class T>
__device__ __forceinline__ complex<T> raw_pair(const T *from) {
    return *reinterpret_cast<const complex<T> *>(from);
}

constexpr int CELLS = F * PITCH;            // Elements of shared memory of a convolution.
constexpr int SYMBOLS = (F / 2 + 1) * 256;  // Values of a real symbol.

// Store and load the real (half 0) or imaginary part (half 1) of a point, or a whole point.
__device__ __forceinline__ void put_half(REAL *to, point z, int half) { *to = half ? z.im : z.re; }
__device__ __forceinline__ void put_half(point *to, point z, int) { *to = z; }
__device__ __forceinline__ void get_half(const REAL *from, point &z, int half) { (half ? z.im : z.re) = *from; }
__device__ __forceinline__ void get_half(const point *from, point &z, int) { z = *from; }

template <bool WIDE>
__device__ __forceinline__ void synchronize() {
    if (WIDE)
        __syncthreads();
    else
        __syncwarp();
}
// Each thread stores x[i] at the address put(i) of shared memory, and then loads x[i] from get(i).
// WIDE: between all threads of the block, which must have finished reading the previous contents;
// otherwise within a warp.
template <bool WIDE, class PUT, class GET>
__device__ __forceinline__ void exchange(point (&x)[16], const PUT &put, const GET &get) {
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
        if (half) synchronize<WIDE>();
#pragma unroll
        for (int i = 0; i < 16; i++) put_half(put(i), x[i], half);
        synchronize<WIDE>();
#pragma unroll
        for (int i = 0; i < 16; i++) get_half(get(i), x[i], half);
    }
}

// Offsets of the twiddle factors of each stage, in the order in which neighbouring threads read
// them: by column, by p, by (p, q), by c1.
constexpr int TWIDDLES_2 = 256, TWIDDLES_3 = TWIDDLES_2 + F, TWIDDLES_4 = TWIDDLES_3 + 16 * F,
              ONE_TEAM = TWIDDLES_4 + 16;
// All twiddle factors, with those of stage 6, by column.
constexpr int ALL_TWIDDLES = TEAMS * ONE_TEAM + (TEAMS - 1) * 256;
// Reads a twiddle factor. It is read again for every convolution, because keeping all of them and
// the symbol needs too many registers.
__device__ __forceinline__ twiddles<REAL> twiddles_at(const REAL *twiddle_table, int i) {
    hide_from_optimizer(i);
    return read_twiddles(twiddle_table, i, ALL_TWIDDLES);
}

// Column m of the thread whose first column is `first`. SEGMENT_COSINES: half of them are mirror
// images of the others, so that registers i and 15 - i have points j and N - 1 - j.
__device__ __forceinline__ int column_of(int first, int m) {
    return SEGMENT_COSINES && m >= COLUMNS / 2 ? 255 - first - THREADS * (COLUMNS - 1 - m) : first + THREADS * m;
}
// The point in register i at the first and the last stage.
__device__ __forceinline__ int point_of(int first, int i) { return column_of(first, i / F) + 256 * (i % F); }

// Twiddle factors of stage 1: for the second team exp(-2 pi i / (2 F)), where F = 16, and its
// powers; for the first team 1.
__device__ __forceinline__ twiddles<REAL> half_twiddles(int team) {
    const auto root = [&](int k) {
        return team ? times_root64(point{REAL(1), REAL(0)}, 2 * k) : point{REAL(1), REAL(0)};
    };
    return {root(1), root(2), root(4), root(8)};
}

// The columns of a thread, one after the other: x[F m + k] is point k of its column m.
template <bool FIRST>
__device__ __forceinline__ void transform_columns(point (&x)[16], const REAL *twiddle_table, int t, int team) {
#pragma unroll
    for (int m = 0; m < COLUMNS; m++) {
        point part[F];
#pragma unroll
        for (int k = 0; k < F; k++) part[k] = x[F * m + k];
        if (FIRST && TEAMS > 1)
            dft_twiddled(part, half_twiddles(team));
        else if (FIRST)
            dft_unit(part);
        else
            dft_twiddled(part, twiddles_at(twiddle_table, column_of(t, m)));
#pragma unroll
        for (int k = 0; k < F; k++) x[F * m + k] = part[k];
    }
}

// Multiplies by the symbol, and swaps the real and imaginary parts. The table has the order
// [p][r][q], with p from 0 to F / 2. For p > F / 2 the frequency is the negative of that of entry
// [F - p][15 - r][15 - q], so the symbol is the conjugate of this entry or, with SYMBOL_EVEN,
// equal to this entry. SYMBOL_REAL: the symbol's imaginary part is 0.
__device__ __forceinline__ void times_symbol(point (&x)[16], const REAL *symbol, int p, int q) {
    constexpr int PARTS = SYMBOL_REAL ? 1 : 2;
    const bool mirrored = p > F / 2;
    int first = PARTS * (mirrored ? (F - p) * 256 + 255 - q : p * 256 + q);
    hide_from_optimizer(first);
    const REAL *from = symbol + first;
    const int step = mirrored ? -16 * PARTS : 16 * PARTS;
    const REAL sign = mirrored && !SYMBOL_EVEN ? REAL(-1) : REAL(1);
#pragma unroll
    for (int r = 0; r < 16; r++) {
        if (SYMBOL_REAL) {
            REAL s[1];
            load_run(s, from + r * step);
            x[r] = swapped(s[0] * x[r]);
        } else {
            const point s = load_pair(from + r * step);
            x[r] = swapped(x[r] * point{s.re, sign * s.im});
        }
    }
}

// Convolves a whole line of N points that is mirrored at both ends: point -1 - j equals point j.
// Its period is 2 N, but one FFT of N points suffices if the points are reordered as for a DCT:
// first the even points in ascending order, then the odd points in descending order,
//
//     index      0    1    2  ..                  N - 1     index j is point 2 j,
//     point      0    2    4  ..      5    3    1           or 2 N - 1 - 2 j past the middle
//
// With the symbol L on a circle of 2 N points, the transform Z is mapped to
//
//     Z'[k] = a Z[k] + c Z[N - k],   a = (L[k] + L[N - k]) / 2
//                                    c = exp(pi i k / N) (L[k] - L[N - k]) / 2
//
// The table has all a, in the order of times_symbol, then all c. For p > F / 2 the entries of
// frequency N - k are used: the same a, and the conjugate of c. Z[N - k] is held by the same warp
// (p_of), in register 15 - r; if p = q = 0 by the same thread, in register 16 - r.
__device__ __forceinline__ int dct_point_of(int j) {
    return !SEGMENT_COSINES ? j : 2 * j < LENGTH ? 2 * j : 2 * LENGTH - 1 - 2 * j;
}
__device__ __forceinline__ point shuffled(point z, int lane) {
    return {__shfl_sync(~0u, z.re, lane), __shfl_sync(~0u, z.im, lane)};
}
// The p of a thread. If frequencies k and N - k are needed together, a warp has p and F - p, and
// the first warp has 0 and F / 2.
__device__ __forceinline__ int p_of(int t, int team) {
    const int warp = t / 32, second = t / 16 % 2;
    if (!SEGMENT_COSINES && !SINGLE) return t / 16;
    if (team) return second ? F - 1 - warp : warp;  // Frequencies k and N - 1 - k.
    return warp == 0 ? second * (F / 2) : second ? F - warp : warp;
}
// The lane whose register 15 - r holds frequency N - k (the second team's: N - 1 - k). The first
// lane of the first team is an exception: its own register 16 - r holds it.
__device__ __forceinline__ int mirrored_lane(int t, int q, int team) {
    return !team && t < 16 ? (16 - q) % 16 : !team && t < 32 ? 47 - t : 31 - t % 32;
}
// Replaces x[r] by mixed(r, x[r], the point at frequency N - k).
template <class MIXED>
__device__ __forceinline__ void mix_mirrored(point (&x)[16], int t, int q, int team, const MIXED &mixed) {
    const int lane = mirrored_lane(t, q, team);
    point before = x[0];  // The old value of register 16 - r.
#pragma unroll
    for (int r = 0; r < 8; r++) {
        const int s = 15 - r;
        point low = shuffled(x[s], lane), high = shuffled(x[r], lane);
        if (t == 0 && !team) low = before, high = x[r + 1];
        before = x[s];
        x[r] = mixed(r, x[r], low), x[s] = mixed(s, x[s], high);
    }
}
__device__ __forceinline__ void multiply_mirrored_line(point (&x)[16], const REAL *symbol, int t, int p, int q) {
    const bool mirrored = p > F / 2;
    int first = mirrored ? (F - p) * 256 + 255 - q : p * 256 + q;
    hide_from_optimizer(first);
    const REAL *const first_a = symbol + first, *const first_c = symbol + (F / 2 + 1) * 256 + 2 * first;
    const int step = mirrored ? -16 : 16;
    const REAL sign = mirrored ? REAL(-1) : REAL(1);
    mix_mirrored(x, t, q, 0, [&](int r, point own, point other) {
        REAL a[1];
        load_run(a, first_a + r * step);
        const point c = load_pair(first_c + 2 * r * step);
        return swapped(a[0] * own + other * point{c.re, sign * c.im});
    });
}

// Convolves one real segment of 2 N points that is packed as N complex ones, Z = even + i odd.
// (With SEGMENT_SINGLE 2, N is twice that of one team.) With the symbol L on a circle of 2 N points
// and t = pi k / N,
//
//     Z'[k] = a Z[k] + i c conj(Z[N - k]),   a = s - d sin t,  c = d cos t
//                                            s, d = (L[k] +- L[k + N]) / 2
//
// The table has the order [team][p][r][q]. With SYMBOL_REAL each entry is the real pair a, c;
// otherwise all complex a come first, then all complex c.
__device__ __forceinline__ void multiply_real_segment(point (&x)[16], const REAL *symbol, int t, int team, int p,
                                                      int q) {
    int first = (team * F + p) * 256 + q;
    hide_from_optimizer(first);
    const REAL *const table = symbol + 2 * first;
    mix_mirrored(x, t, q, team, [&](int r, point own, point other) {
        const point first_pair = load_pair(table + 32 * r);
        if (SYMBOL_REAL) {
            const REAL real_a = first_pair.re, real_c = first_pair.im;
            return swapped(real_a * own + real_c * swapped(other));
        }
        const point a = first_pair, c = load_pair(table + 2 * TEAMS * LENGTH + 32 * r);
        return swapped(own * a + swapped(other) * c);
    });
}
// Stage 6.
__device__ __forceinline__ void combine_teams(point (&x)[16], cell *buffer, const REAL *twiddle_table, int t,
                                              int team) {
    if (team) {
        const point one = {REAL(1), REAL(0)};
        times_progression(x, twiddles_at(twiddle_table, TEAMS * ONE_TEAM + t).w1, times_root64(one, 2));
    }
    cell *const own = buffer + team * CELLS + t, *const other = buffer + (1 - team) * CELLS + t;
    const REAL sign = team ? REAL(-1) : REAL(1);
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) put_half(own + THREADS * i, x[i], half);
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i++) {
            point z = x[i];
            get_half(other + THREADS * i, z, half);
            if (HALVES == 1 || half == 0) x[i].re = fma(sign, x[i].re, z.re);
            if (HALVES == 1 || half == 1) x[i].im = fma(sign, x[i].im, z.im);
        }
    }
}

// x[i] is point point_of(first, i), before and after; afterwards its real and imaginary parts are
// swapped. All threads of the block must call it; THREADS threads do one convolution, and t is this
// thread's number within it. In the first and the last stage a thread may work for another
// convolution than in between: `columns` is the buffer of the former, `buffer` that of the latter.
// On entry no thread may be using these buffers; on return other threads may still be using them.
__device__ __forceinline__ void convolve(point (&x)[16], cell *columns, int first, cell *buffer, int t,
                                         const REAL *twiddle_table, const REAL *symbol, int team = 0) {
    const int p = p_of(t, team), lane = t % 16, from = team * ONE_TEAM;
    cell *const own_buffer = buffer + team * CELLS + p * PITCH, *const column_buffer = columns + team * CELLS;
    const auto column_address = [&](int i) { return column_buffer + i % F * PITCH + column_of(first, i / F); };
    const auto row_address = [&](int i) { return own_buffer + 16 * i + lane; };
    const auto q_address = [&](int i) { return own_buffer + 17 * i + lane; };
    const auto k3_address = [&](int i) { return own_buffer + 17 * lane + i; };

    if constexpr (F > 1) {
        transform_columns<true>(x, twiddle_table, first, team);
        exchange<true>(x, column_address, row_address);
        dft_twiddled(x, twiddles_at(twiddle_table, from + TWIDDLES_2 + p));
        __syncwarp();
    } else
        dft_unit(x);
    exchange<false>(x, q_address, k3_address);
    dft_twiddled(x, twiddles_at(twiddle_table, from + TWIDDLES_3 + 16 * p + lane));
    if constexpr (SINGLE)
        multiply_real_segment(x, symbol, t, team, p, lane);
    else if constexpr (SEGMENT_COSINES)
        multiply_mirrored_line(x, symbol, t, p, lane);
    else
        times_symbol(x, symbol, p, lane);
    dft_unit(x);
    __syncwarp();
    exchange<false>(x, k3_address, q_address);
    dft_twiddled(x, twiddles_at(twiddle_table, TWIDDLES_4 + lane));
    if constexpr (F > 1) {
        __syncwarp();
        exchange<true>(x, row_address, column_address);
        transform_columns<false>(x, twiddle_table, first, team);
    }
    if constexpr (TEAMS > 1) combine_teams(x, buffer, twiddle_table, t, team);
}
