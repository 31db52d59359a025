// A circular convolution in the registers and the shared memory of THREADS threads: forward transform, product with a
// symbol, inverse transform.
//
//     N = 256 F points, F = SEGMENT_FIRST radix of the first stage, 16 those of the others; 16 points a thread, 16 F threads
//
//     time       j = k3 + 16 k2 + 256 k1          frequency   k = p + F q + 16 F r
//
//                thread                      registers                          turned by w =
//     stage 1    (k2, k3) column t + ...     k1 -> p                            1
//     exchange   between all threads
//     stage 2    t = (p, k3)                 k2 -> q                            exp(-2 pi i p / 16 F)
//     exchange   among the 16 of one p
//     stage 3    t = (p, q)                  k3 -> r, the symbol, r -> c1       exp(-2 pi i (p + F q) / N); 1
//     exchange   among the 16 of one p
//     stage 4    t = (p, c1)                 q -> c2                            exp(-2 pi i c1 / 256)
//     exchange   between all threads
//     stage 5    (c1, c2) column t + ...     p -> c3                            exp(-2 pi i (c1 + 16 c2) / N)
//
// and the digits c1, c2, c3 of the inverse are those of time: nothing is reordered. An inverse transform is a forward one
// between two swaps of re and im. Points go through shared memory whole, or (f64, SEGMENT_WHOLE = 0) as two halves, one after the other, so that
// half the room does. The room of one p is 16 x 17 cells: no two of 16 neighbours meet in a bank.
#pragma once
#include "params.cuh"
#include "segment/butterfly.cuh"

constexpr int F = SEGMENT_FIRST, COLUMNS = 16 / F;  // columns of a thread in stages 1 and 5
constexpr int THREADS = 16 * F, LENGTH = 256 * F, PITCH = 16 * 17;
constexpr int HALVES = sizeof(REAL) == 8 && !SEGMENT_WHOLE ? 2 : 1;
static_assert(F == 2 || F == 4 || F == 8 || F == 16, "a radix that has a butterfly and divides 16");

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
constexpr int CELLS = F * PITCH;  // cells of a convolution

// Half `half` of a point, or all of it.
__device__ __forceinline__ void put_half(REAL *to, point z, int half) { *to = half ? z.im : z.re; }
__device__ __forceinline__ void put_half(point *to, point z, int) { *to = z; }
__device__ __forceinline__ void get_half(const REAL *from, point &z, int half) { (half ? z.im : z.re) = *from; }
__device__ __forceinline__ void get_half(const point *from, point &z, int) { z = *from; }

// Points go where put(i) says and come from where get(i) says. WIDE: between all threads of the block, who then have read what was
// there before; else within a warp.
template <bool WIDE>
__device__ __forceinline__ void meet() {
    if (WIDE)
        __syncthreads();
    else
        __syncwarp();
}
template <bool WIDE, class PUT, class GET>
__device__ __forceinline__ void exchange(point (&x)[16], const PUT &put, const GET &get) {
#pragma unroll
    for (int half = 0; half < HALVES; half++) {
        if (half) meet<WIDE>();
#pragma unroll
        for (int i = 0; i < 16; i++) put_half(put(i), x[i], half);
        meet<WIDE>();
#pragma unroll
        for (int i = 0; i < 16; i++) get_half(get(i), x[i], half);
    }
}

// w, to be read anew for every convolution: roots, their powers and the symbol would fill the registers if they were kept.
__device__ __forceinline__ turns<REAL> root_of(const REAL *roots, int i) {
    keep_here(i);
    return read_turns(roots, i);
}

// The columns of a thread, one after the other: x[F m + k] is point k of column t + THREADS m.
template <bool FIRST>
__device__ __forceinline__ void transform_columns(point (&x)[16], const REAL *roots, int t) {
#pragma unroll
    for (int m = 0; m < COLUMNS; m++) {
        point part[F];
#pragma unroll
        for (int k = 0; k < F; k++) part[k] = x[F * m + k];
        if (FIRST)
            dft_unit(part);
        else
            dft_turned(part, root_of(roots, t + THREADS * m));
#pragma unroll
        for (int k = 0; k < F; k++) x[F * m + k] = part[k];
    }
}

// Times the symbol, re and im swapped. The table has [p][r][q] for p = 0 .. F / 2; the frequencies past that are minus those of
// F - p, 15 - r, 15 - q, where the symbol is the conjugate (SYMBOL_EVEN: the same). SYMBOL_REAL: it has no imaginary part.
__device__ __forceinline__ void times_symbol(point (&x)[16], const REAL *symbol, int p, int q) {
    constexpr int PARTS = SYMBOL_REAL ? 1 : 2;
    const bool turned = p > F / 2;
    int first = PARTS * (turned ? (F - p) * 256 + 255 - q : p * 256 + q);
    keep_here(first);
    const REAL *from = symbol + first;
    const int step = turned ? -16 * PARTS : 16 * PARTS;
    const REAL sign = turned && !SYMBOL_EVEN ? REAL(-1) : REAL(1);
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

// x[F m + k]: point 256 k of column `first` + THREADS m, before and after; after it re and im are swapped. All threads of the block take
// part, THREADS in a convolution, of which this is number t in between; `columns` and `room` are the rooms of the convolutions that
// it is part of at the ends and in between. They must be free to all, and are not when it returns.
__device__ __forceinline__ void convolve(point (&x)[16], cell *columns, int first, cell *room, int t, const REAL *roots,
                                         const REAL *symbol) {
    const int p = t / 16, lane = t % 16;
    cell *const mine = room + p * PITCH;
    const auto column = [&](int i) { return columns + i % F * PITCH + first + THREADS * (i / F); };
    const auto row = [&](int i) { return mine + 16 * i + lane; };
    const auto down = [&](int i) { return mine + 17 * i + lane; };
    const auto along = [&](int i) { return mine + 17 * lane + i; };

    transform_columns<true>(x, roots, first);
    exchange<true>(x, column, row);
    dft_turned(x, root_of(roots, 16 * p));
    __syncwarp();
    exchange<false>(x, down, along);
    dft_turned(x, root_of(roots, p + F * lane));
    times_symbol(x, symbol, p, lane);
    dft_unit(x);
    __syncwarp();
    exchange<false>(x, along, down);
    dft_turned(x, root_of(roots, F * lane));
    __syncwarp();
    exchange<true>(x, row, column);
    transform_columns<false>(x, roots, first);
}
