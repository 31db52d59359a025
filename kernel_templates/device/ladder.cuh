// Discrete Fourier transforms of lines that lie in shared memory, in place: down the ladder from
// points to frequencies, up it again to points.
//
//     down:  rung S of radix R does N / R butterflies on points STRIDE apart, then turns output r by w_BLOCK^(q r)
//     up:    the same rungs from the last to the first, turned first: the inverse, without a scale
//
//     rung 0   |<----------------- BLOCK = N ---------------->|     STRIDE = N / R_0, butterfly q: points q, q + STRIDE, ..
//     rung 1   |<-- BLOCK = N/R_0 -->|                    |   |     the same within each part
//     ..
//     last     |R|R|R|R|R| ..                                       STRIDE = 1, nothing to turn
//
// Every butterfly writes where it read, so a rung needs one barrier and any number of threads. At
// the foot, position p = d_0 N/R_0 + d_1 N/(R_0 R_1) + .. holds frequency k = d_0 + R_0 (d_1 + R_1
// (d_2 + ..)): the butterflies of the last rung are numbered by their lowest frequency t, so
// neighbouring threads have neighbouring frequencies t + r N/R there.
//
// Up the ladder points are swapped (re and im change places): that turns an inverse butterfly into
// a forward one, and a product with a conjugate root into one with the root. Swap once at the foot
// and once at the top.
//
// A kernel describes its lines by a type LINE: N, STAGES, radix(s), THREADS (of a line), LINES
// (side by side in a block, neighbouring threads on neighbouring lines), PAD (a cell is left out
// after as many; 0: none), TABLE (a rung with more roots than this forms powers of fewer), SHARES
// (1 or the blocks of a cluster).
//
// A line too long for one block is shared by SHARES blocks of a cluster: block b holds the b-th
// part of its positions, and does the b-th part of rung 0's butterflies, whose results go to the
// blocks that hold them (put_shared); all other rungs are its own.
//
// roots: for each rung but the last w_BLOCK^(q r), [r - 1][q], or w_BLOCK^q, [q], where that is
// more than TABLE.
#pragma once
#include "device/fft.cuh"

template <class LINE>
constexpr int radices_before(int stage) {
    int product = 1;
    for (int s = 0; s < stage; s++) product *= LINE::radix(s);
    return product;
}
template <class LINE, int S>
struct rung {
    static constexpr int R = LINE::radix(S), BLOCK = LINE::N / radices_before<LINE>(S), STRIDE = BLOCK / R;
    static constexpr int COUNT = LINE::N / R / LINE::SHARES;  // of butterflies, of this block
    static constexpr bool WHOLE_TABLE = STRIDE * (R - 1) <= LINE::TABLE;
    static constexpr int ROOTS = WHOLE_TABLE ? STRIDE * (R - 1) : STRIDE;
    static_assert(STRIDE * R * radices_before<LINE>(S) == LINE::N, "the radices make up the length");
    // the first point of butterfly j
    static __device__ __forceinline__ int first(int j) { return j / STRIDE * BLOCK + j % STRIDE; }
};
template <class LINE, int S>
struct roots_before {  // the root where rung S begins in the table
    static constexpr int value = roots_before<LINE, S - 1>::value + rung<LINE, S - 1>::ROOTS;
};
template <class LINE>
struct roots_before<LINE, 0> {
    static constexpr int value = 0;
};

// ---- cells in shared memory
template <class LINE>
__device__ __forceinline__ constexpr int padded(int p) {
    return LINE::PAD ? p + p / (LINE::PAD ? LINE::PAD : 1) : p;
}
template <class LINE>
constexpr int ladder_cells() {  // of all lines
    return (padded<LINE>(LINE::N / LINE::SHARES - 1) + 1) * LINE::LINES;
}
// Where point first + r STRIDE of rung S lies.
template <class LINE, int S>
__device__ __forceinline__ int cell_of(int first, int r) {
    constexpr int STRIDE = rung<LINE, S>::STRIDE, PAD = LINE::PAD ? LINE::PAD : 1;
    if constexpr (!LINE::PAD || STRIDE % PAD == 0 || PAD % rung<LINE, S>::BLOCK == 0)
        return (padded<LINE>(first) + padded<LINE>(r * STRIDE)) * LINE::LINES;
    else
        return padded<LINE>(first + r * STRIDE) * LINE::LINES;
}
template <class LINE, int S, class T>
__device__ __forceinline__ void take_cells(complex<T> (&x)[rung<LINE, S>::R], const complex<T> *line, int first) {
#pragma unroll
    for (int r = 0; r < rung<LINE, S>::R; r++) x[r] = line[cell_of<LINE, S>(first, r)];
}
template <class LINE, int S, class T>
__device__ __forceinline__ void put_cells(const complex<T> (&x)[rung<LINE, S>::R], complex<T> *line, int first) {
#pragma unroll
    for (int r = 0; r < rung<LINE, S>::R; r++) line[cell_of<LINE, S>(first, r)] = x[r];
}

// ---- rung 0 of a line that a cluster shares: butterfly q, of all blocks
template <class LINE>
struct shared_top {
    using top = rung<LINE, 0>;
    static_assert(top::R % LINE::SHARES == 0, "each block holds as many of a butterfly's results");
    static_assert(top::STRIDE % LINE::SHARES == 0, "and does as many of the butterflies");
    static constexpr int EACH = top::R / LINE::SHARES;
    // of result r: the block that holds it, and where
    static __device__ __forceinline__ unsigned block(int r) { return static_cast<unsigned>(r / EACH); }
    static __device__ __forceinline__ int cell(int q, int r) { return cell_of<LINE, 0>(q, r % EACH); }
};
template <class T>
struct words_of {
    unsigned word[sizeof(complex<T>) / 4];
};
template <class LINE, class T>
__device__ __forceinline__ void put_shared(const complex<T> (&x)[rung<LINE, 0>::R], complex<T> *line, int q) {
    using top = shared_top<LINE>;
    if constexpr (LINE::SHARES == 1)
        put_cells<LINE, 0>(x, line, q);
    else
#pragma unroll
        for (int r = 0; r < rung<LINE, 0>::R; r++) {
            words_of<T> words;
            words_from(x[r], words.word);
            cluster_store(reinterpret_cast<unsigned *>(line + top::cell(q, r)), words.word, top::block(r));
        }
}
template <class LINE, class T>
__device__ __forceinline__ void take_shared(complex<T> (&x)[rung<LINE, 0>::R], const complex<T> *line, int q) {
    using top = shared_top<LINE>;
    if constexpr (LINE::SHARES == 1)
        take_cells<LINE, 0>(x, line, q);
    else
#pragma unroll
        for (int r = 0; r < rung<LINE, 0>::R; r++) {
            words_of<T> words;
            cluster_load(words.word, reinterpret_cast<const unsigned *>(line + top::cell(q, r)), top::block(r));
            x[r] = from_words<T>(words.word);
        }
}
// Until all blocks that share a line are here.
template <class LINE>
__device__ __forceinline__ void wait_for_shares() {
    if constexpr (LINE::SHARES == 1)
        __syncthreads();
    else
        cluster_barrier();
}

// ---- rungs
// x[r] *= w_BLOCK^(q r), for the butterfly that begins at first
template <class LINE, int S, class T>
__device__ __forceinline__ void turn_rung(complex<T> (&x)[rung<LINE, S>::R], int first, const T *roots) {
    using here = rung<LINE, S>;
    if constexpr (here::STRIDE > 1) {
        const T *const mine = roots + 2 * (roots_before<LINE, S>::value + first % here::STRIDE);
        if constexpr (here::WHOLE_TABLE)
            times_table<here::R>(x, mine, here::STRIDE);
        else
            times_powers<here::R>(x, load_pair(mine));
    }
}
// One of them, from and to shared memory; a barrier after it.
template <class LINE, int S, class T>
__device__ __forceinline__ void descend_rung(complex<T> *line, int t, const T *roots) {
    using here = rung<LINE, S>;
#pragma unroll 1
    for (int j = t; j < here::COUNT; j += LINE::THREADS) {
        complex<T> x[here::R];
        const int first = here::first(j);
        take_cells<LINE, S>(x, line, first);
        dft<here::R>(x);
        turn_rung<LINE, S>(x, first, roots);
        put_cells<LINE, S>(x, line, first);
    }
    __syncthreads();
}
template <class LINE, int S, class T>
__device__ __forceinline__ void ascend_rung(complex<T> *line, int t, const T *roots) {
    using here = rung<LINE, S>;
#pragma unroll 1
    for (int j = t; j < here::COUNT; j += LINE::THREADS) {
        complex<T> x[here::R];
        const int first = here::first(j);
        take_cells<LINE, S>(x, line, first);
        turn_rung<LINE, S>(x, first, roots);
        dft<here::R>(x);
        put_cells<LINE, S>(x, line, first);
    }
    __syncthreads();
}
// Rungs FROM to TO - 1.
template <class LINE, int FROM, int TO, class T>
__device__ __forceinline__ void descend(complex<T> *line, int t, const T *roots) {
    if constexpr (FROM < TO) {
        descend_rung<LINE, FROM>(line, t, roots);
        descend<LINE, FROM + 1, TO>(line, t, roots);
    }
}
// Rungs FROM - 1 down to TO of the way up, on swapped points.
template <class LINE, int FROM, int TO, class T>
__device__ __forceinline__ void ascend(complex<T> *line, int t, const T *roots) {
    if constexpr (FROM > TO) {
        ascend_rung<LINE, FROM - 1>(line, t, roots);
        ascend<LINE, FROM - 1, TO>(line, t, roots);
    }
}

// ---- the foot: the last rung
// Where in its block the butterfly begins that has the frequencies t + r N/R: the digits of t the
// other way round.
template <class LINE, int S = 0>
__device__ __forceinline__ int foot_of(int t) {
    if constexpr (S == LINE::STAGES - 1)
        return 0;
    else if constexpr (S == 0 && LINE::SHARES > 1)
        return t % shared_top<LINE>::EACH * rung<LINE, 0>::STRIDE + foot_of<LINE, 1>(t / LINE::radix(0));
    else
        return t % LINE::radix(S) * rung<LINE, S>::STRIDE + foot_of<LINE, S + 1>(t / LINE::radix(S));
}
// The t of this block's butterfly number j.
template <class LINE>
__device__ __forceinline__ int frequency_of(int j, unsigned rank) {
    if constexpr (LINE::SHARES == 1) return j;
    constexpr int EACH = LINE::radix(0) / LINE::SHARES;
    return static_cast<int>(rank) * EACH + j % EACH + j / EACH * LINE::radix(0);
}
