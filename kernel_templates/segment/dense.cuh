// Transforms of N_i points along an axis of a torus as dense products on tensor cores: what product.cuh makes of them. Its cells, the
// matrices, and the transforms of a warp's strip along n1, from shared memory, and along n2 or n3, in registers.
#pragma once
#include "device/complex.cuh"
#include "segment/multiply.cuh"

constexpr int N1 = PRODUCT_1, N2 = PRODUCT_2, N3 = PRODUCT_3, LENGTH = N1 * N2 * N3, THREADS = 32 * WARPS;
constexpr int BLOCKS_1 = (N1 + 7) / 8, BLOCKS_2 = (N2 + 7) / 8, BLOCKS_3 = (N3 + 7) / 8;  // of 8
constexpr int ROW_STRIPS = (N1 + 15) / 16;
// A solid of 16^3 points by real products: its slices are turned by the second product, see transform_columns_turned.
constexpr bool TURNED = PRODUCT_EVEN && N1 == 16 && N2 == 16 && N3 == 16;
// A plane of 16^2 points, which one warp has: turned by each product but the first, it stays in registers, see finish_alone.
constexpr bool ALONE = N1 == 16 && N2 == 16 && N3 == 1;
constexpr int PITCH = 8 * BLOCKS_2 + (TURNED ? 0 : 4), SLICE = 16 * ROW_STRIPS * PITCH + SLICE_GAP, ROOM = N3 * SLICE;
constexpr bool EVEN_FIRST = SLICE_GAP % 4 == 0;
constexpr int slice_at(int n3) { return (EVEN_FIRST ? n3 / 2 + n3 % 2 * ((N3 + 1) / 2) : n3) * SLICE; }
// Where a slice has row n1: of one that is turned rows 2t and 2t+1 of eight are its rows t and t + 4, and nothing but an exclusive or keeps four
// rows by four columns from meeting in a bank, so that three blocks fit a multiprocessor.
constexpr int row_of(int n1) { return TURNED || ALONE ? n1 / 8 * 8 + n1 % 8 / 2 + n1 % 2 * 4 : n1; }
constexpr int cell_in(int row, int column) { return row * PITCH + (TURNED ? column ^ row % 4 * 4 : column); }
constexpr int STACKS = BLOCKS_2 == 2 ? N1 : (N1 + 1) / 2;  // of 16 pairs (k1, k2)
constexpr int RUN = 64;                                    // numbers of a warp's access, two a lane
constexpr int PARTS = PRODUCT_EVEN ? 1 : 2;                // of a matrix: real, imaginary
constexpr int LEFT = BLOCKS_1 * PARTS * 2 * RUN, OPERAND_2 = ROW_STRIPS * LEFT,
              OPERAND_3 = OPERAND_2 + BLOCKS_2 * BLOCKS_2 * PARTS * RUN;
constexpr int OPERANDS = OPERAND_3 + (N3 > 1 ? BLOCKS_3 * BLOCKS_3 * PARTS * RUN : 0);
constexpr int SYMBOLS = (SYMBOL_REAL ? 2 : 4) * RUN;  // of 16 x 8 frequencies
static_assert(N3 == 1 || (N1 <= 16 && N2 <= 16 && N3 <= 16), "of three factors each is a row of fragments");
static_assert(N3 > 1 || WARPS == ROW_STRIPS, "a warp has a strip of a torus of two factors");

__device__ __forceinline__ void load_four(REAL (&to)[4], const REAL *from) {
    REAL half[2];
    load_run(half, from), to[0] = half[0], to[1] = half[1];
    load_run(half, from + RUN), to[2] = half[0], to[3] = half[1];
}

// ---- transforms

constexpr int STEP = PRODUCT_PARTS ? 2 : 1;  // blocks of a product
constexpr bool SCALED = sizeof(STORE) == 2;  // numbers are, on their way in

// Small matrices stay in registers: through a phase, or (KEPT) through the whole run of one slice. Others are
// read where they are used, from the first-level cache, which is the pipe that shared memory has too.
constexpr bool SMALL = BLOCKS_1 <= 2 && BLOCKS_2 <= 2 && BLOCKS_3 <= 2;
constexpr bool KEPT = SMALL && N3 == 1;

template <int D>
__device__ __forceinline__ void read_rows(left<D> &a, const REAL *from) {
#pragma unroll
    for (int d = 0; d < D; d++) {
        load_four(a.re[d], from + d * PARTS * 2 * RUN);
        if (PARTS == 2) load_four(a.im[d], from + (d * 2 + 1) * 2 * RUN);
    }
}
template <int D>
__device__ __forceinline__ void read_columns(right<D> &b, const REAL *from, int far) {
#pragma unroll
    for (int d = 0; d < D; d++) {
        load_run(b.re[d], from + d * far * PARTS * RUN);
        if (PARTS == 2) load_run(b.im[d], from + d * far * PARTS * RUN + RUN);
    }
}
// A factor F_i on the left, of a strip, and one on the right: its rows are in the order in which accumulators hold columns. `again`
// before each use.
template <bool>
struct left_matrix {
    left<BLOCKS_1> all;
    __device__ __forceinline__ void load(const REAL *from, int lane) { read_rows(all, from + 2 * lane); }
    // Turned: columns 2t and 2t+1, where positions t and t + 4 are read. From the right matrix, which is the same, of two blocks too.
    __device__ __forceinline__ void load_turned(const REAL *from, int lane) {
#pragma unroll
        for (int k = 0; k < 4 * BLOCKS_1; k++)
            load_one(k, from + (k / 4 * BLOCKS_1 + k % 2) * PARTS * RUN + 2 * lane + k / 2 % 2, RUN);
    }
    __device__ __forceinline__ void load_one(int k, const REAL *from, int far) {
        REAL one[1];
        load_run(one, from), all.re[k / 4][k % 4] = one[0];
        if (PARTS == 2) load_run(one, from + far), all.im[k / 4][k % 4] = one[0];
    }
    __device__ __forceinline__ void again() {}
    template <int D>
    __device__ __forceinline__ void get(left<D> &a, int s) const {
#pragma unroll
        for (int d = 0; d < D; d++)
#pragma unroll
            for (int e = 0; e < 4; e++) a.re[d][e] = all.re[s + d][e], a.im[d][e] = all.im[s + d][e];
    }
};
template <>
struct left_matrix<false> {
    const REAL *all;
    int at;
    __device__ __forceinline__ void load(const REAL *from, int lane) { all = from, at = 2 * lane; }
    __device__ __forceinline__ void load_turned(const REAL *, int) {}
    __device__ __forceinline__ void again() { keep_here(at); }
    template <int D>
    __device__ __forceinline__ void get(left<D> &a, int s) const {
        read_rows(a, all + at + s * PARTS * 2 * RUN);
    }
};
template <bool, int BLOCKS_N>
struct right_matrix {
    right<BLOCKS_N> all[BLOCKS_N];  // by columns
    __device__ __forceinline__ void load(const REAL *from, int lane) {
#pragma unroll
        for (int m = 0; m < BLOCKS_N; m++) read_columns(all[m], from + m * PARTS * RUN + 2 * lane, BLOCKS_N);
    }
    __device__ __forceinline__ void again() {}
    template <int D>
    __device__ __forceinline__ void get(right<D> &b, int j, int m) const {
#pragma unroll
        for (int d = 0; d < D; d++)
#pragma unroll
            for (int e = 0; e < 2; e++) b.re[d][e] = all[m].re[j + d][e], b.im[d][e] = all[m].im[j + d][e];
    }
};
template <int BLOCKS_N>
struct right_matrix<false, BLOCKS_N> {
    const REAL *all;
    int at;
    __device__ __forceinline__ void load(const REAL *from, int lane) { all = from, at = 2 * lane; }
    __device__ __forceinline__ void again() { keep_here(at); }
    template <int D>
    __device__ __forceinline__ void get(right<D> &b, int j, int m) const {
        read_columns(b, all + at + (j * BLOCKS_N + m) * PARTS * RUN, BLOCKS_N);
    }
};
struct matrices {
    const REAL *from;
    left_matrix<SMALL> first;
    right_matrix<SMALL, BLOCKS_2> second;
    right_matrix<SMALL, BLOCKS_3> third;
};
__device__ __forceinline__ void load_slices(matrices &f, int strip, int lane) {
    if (TURNED || ALONE)
        f.first.load_turned(f.from + OPERAND_2, lane);
    else
        f.first.load(f.from + strip * LEFT, lane), f.second.load(f.from + OPERAND_2, lane);
}
__device__ __forceinline__ matrices find_matrices(const REAL *operands, int warp, int lane) {
    matrices f;
    f.from = operands;
    if (KEPT) load_slices(f, warp, lane);
    return f;
}
// Before a phase. What stays through a phase alone is read in it.
__device__ __forceinline__ void before_slices(matrices &f, int strip, int lane) {
    keep_here(lane);
    if (!KEPT) load_slices(f, strip, lane);
}
__device__ __forceinline__ void before_middle(matrices &f, int lane) {
    keep_here(lane);
    if (!KEPT) f.third.load(f.from + OPERAND_3, lane);
}
// c += F1 X of a strip, blocks s to s + D - 1 of the sum. re, im: this lane's.
template <int D>
__device__ __forceinline__ void add_rows(tile (&c)[BLOCKS_2], const left_matrix<SMALL> &f, const REAL *re,
                                         const REAL *im, int s, REAL scale) {
    left<D> a;
    f.get(a, s);
#pragma unroll
    for (int j = 0; j < BLOCKS_2; j++) {
        right<D> x;
#pragma unroll
        for (int d = 0; d < D; d++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int cell = (8 * (s + d) + 4 * e) * PITCH + 8 * j;
                x.re[d][e] = SCALED ? re[cell] * scale : re[cell];
                x.im[d][e] = SCALED ? im[cell] * scale : im[cell];
            }
        add_from_left<D>(c[j], a, x);
    }
}
// c = F1 X of a strip of a slice, columns 8 j .. of it in c[j].
__device__ __forceinline__ void transform_rows(tile (&c)[BLOCKS_2], const REAL *re, const REAL *im,
                                               left_matrix<SMALL> &f, int lane, REAL scale) {
    const int first = lane % 4 * PITCH + lane / 4;
    f.again();
#pragma unroll
    for (int j = 0; j < BLOCKS_2; j++) c[j] = {};
#pragma unroll
    for (int s = 0; s + STEP <= BLOCKS_1; s += STEP) add_rows<STEP>(c, f, re + first, im + first, s, scale);
    if (BLOCKS_1 % STEP) add_rows<1>(c, f, re + first, im + first, BLOCKS_1 - 1, scale);
}
// The same of one array by itself, of two blocks.
__device__ __forceinline__ void transform_rows_of(REAL (tile::*part)[4], tile (&c)[BLOCKS_2], const REAL *from,
                                                  const left<BLOCKS_1> &f, int lane, REAL scale) {
#pragma unroll
    for (int j = 0; j < BLOCKS_2; j++) (c[j].*part)[0] = (c[j].*part)[1] = (c[j].*part)[2] = (c[j].*part)[3] = REAL(0);
#pragma unroll
    for (int s = 0; s < BLOCKS_1; s += STEP)
#pragma unroll
        for (int j = 0; j < BLOCKS_2; j++) {
            REAL a[STEP][4], x[STEP][2];
#pragma unroll
            for (int d = 0; d < STEP; d++) {
#pragma unroll
                for (int e = 0; e < 4; e++) a[d][e] = f.re[s + d][e];
#pragma unroll
                for (int e = 0; e < 2; e++) {
                    const REAL value = from[(8 * (s + d) + 4 * e) * PITCH + cell_in(lane % 4, 8 * j + lane / 4)];
                    x[d][e] = SCALED ? value * scale : value;
                }
            }
            multiply_all<STEP>(c[j].*part, a, x);
        }
}
// y += x F, of blocks j to j + D - 1 of x.
template <int D, int BLOCKS_N>
__device__ __forceinline__ void add_columns(tile (&y)[BLOCKS_N], const tile (&x)[BLOCKS_N],
                                            const right_matrix<SMALL, BLOCKS_N> &f, int j) {
    left<D> a;
#pragma unroll
    for (int d = 0; d < D; d++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const int from = e % 2 * 2 + e / 2;
            a.re[d][e] = x[j + d].re[from], a.im[d][e] = x[j + d].im[from];
        }
#pragma unroll
    for (int m = 0; m < BLOCKS_N; m++) {
        right<D> b;
        f.get(b, j, m);
        add_from_right<D>(y[m], a, b);
    }
}
// An accumulator c is a left factor only once it is copied to other registers, but c^T is a right factor as it stands: c becomes (c F)^T, whose
// rows are columns of the slice. Rows of slices lie where the first product reads rows 2t and 2t+1 as those of such a factor are: at t and
// t + 4 of each eight. So both products have one left factor, and what is put does not meet in a bank.
template <int BLOCKS_N, int D>
__device__ __forceinline__ void transform_columns_turned(REAL (tile::*part)[4], tile (&x)[BLOCKS_N], const left<D> &f) {
    REAL y[2][4] = {};
#pragma unroll
    for (int j = 0; j + STEP <= BLOCKS_N; j += STEP)
#pragma unroll
        for (int n = 0; n < 2; n++) {
            REAL a[STEP][4], b[STEP][2];
#pragma unroll
            for (int d = 0; d < STEP; d++) {
#pragma unroll
                for (int e = 0; e < 4; e++) a[d][e] = f.re[j + d][e];
#pragma unroll
                for (int e = 0; e < 2; e++) b[d][e] = (x[j + d].*part)[2 * n + e];
            }
            multiply_all<STEP>(y[n], a, b);
        }
#pragma unroll
    for (int n = 0; n < BLOCKS_N; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) (x[n].*part)[e] = y[n][e];
}
// One of two arrays by themselves: then the other's registers are free meanwhile.
template <int BLOCKS_N>
__device__ __forceinline__ void transform_columns_of(REAL (tile::*part)[4], tile (&x)[BLOCKS_N],
                                                     const right_matrix<SMALL, BLOCKS_N> &f) {
    REAL y[BLOCKS_N][4] = {};
    const auto add = [&](auto blocks, int j) {
        constexpr int D = decltype(blocks)::COUNT;
        REAL a[D][4];
#pragma unroll
        for (int d = 0; d < D; d++)
#pragma unroll
            for (int e = 0; e < 4; e++) a[d][e] = (x[j + d].*part)[e % 2 * 2 + e / 2];
#pragma unroll
        for (int m = 0; m < BLOCKS_N; m++) {
            right<D> b;
            f.get(b, j, m);
            multiply_all<D>(y[m], a, b.re);
        }
    };
#pragma unroll
    for (int j = 0; j + STEP <= BLOCKS_N; j += STEP) add(blocks_of<STEP>(), j);
    if (BLOCKS_N % STEP) add(blocks_of<1>(), BLOCKS_N - 1);
#pragma unroll
    for (int m = 0; m < BLOCKS_N; m++)
#pragma unroll
        for (int e = 0; e < 4; e++) (x[m].*part)[e] = y[m][e];
}
// x F
template <int BLOCKS_N>
__device__ __forceinline__ void transform_columns(tile (&x)[BLOCKS_N], right_matrix<SMALL, BLOCKS_N> &f) {
    if (SMALL && PRODUCT_EVEN) {
        transform_columns_of(&tile::re, x, f), transform_columns_of(&tile::im, x, f);
        return;
    }
    tile y[BLOCKS_N] = {};
    f.again();
#pragma unroll
    for (int j = 0; j + STEP <= BLOCKS_N; j += STEP) add_columns<STEP>(y, x, f, j);
    if (BLOCKS_N % STEP) add_columns<1>(y, x, f, BLOCKS_N - 1);
#pragma unroll
    for (int m = 0; m < BLOCKS_N; m++) x[m] = y[m];
}
// Times a real symbol, one of two arrays by themselves.
template <int BLOCKS_N>
__device__ __forceinline__ void times_symbol_of(REAL (tile::*part)[4], tile (&x)[BLOCKS_N], const REAL *symbol,
                                                int lane) {
#pragma unroll
    for (int m = 0; m < BLOCKS_N; m++) {
        REAL s[4];
        load_four(s, symbol + m * SYMBOLS + 2 * lane);
#pragma unroll
        for (int e = 0; e < 4; e++) (x[m].*part)[e] *= s[e];
    }
}
// Times the symbol, re and im swapped; but of arrays by themselves.
template <int BLOCKS_N>
__device__ __forceinline__ void times_symbol(tile (&x)[BLOCKS_N], const REAL *symbol, int lane) {
#pragma unroll
    for (int m = 0; m < BLOCKS_N; m++) {
        REAL s[4], s_im[4] = {REAL(0), REAL(0), REAL(0), REAL(0)};
        load_four(s, symbol + m * SYMBOLS + 2 * lane);
        if (!SYMBOL_REAL) load_four(s_im, symbol + m * SYMBOLS + 2 * RUN + 2 * lane);
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const complex<REAL> z = {x[m].re[e], x[m].im[e]},
                                scaled = SYMBOL_REAL ? s[e] * z : z * complex<REAL>{s[e], s_im[e]};
            x[m].re[e] = PRODUCT_EVEN ? scaled.re : scaled.im, x[m].im[e] = PRODUCT_EVEN ? scaled.im : scaled.re;
        }
    }
}
