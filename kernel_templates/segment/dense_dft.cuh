// DFTs of N_i points along an axis of a tile as dense matrix products on tensor cores, the building
// blocks of dense_convolution.cuh: the layout of tiles and segments in shared memory (strips,
// slices, and the index of a point, chosen so that a warp's accesses fall in different banks), the
// products by element type, the matrices, and the transforms of a warp's strip along n1 from shared
// memory, and along n2 or n3 in registers. Below, lane 4 g + t has PTX's groupID g and its
// threadID_in_group t.
#pragma once
#include "device/complex.cuh"
#include "device/fragment.cuh"
#include "params.cuh"

constexpr int N1 = DFT_N1, N2 = DFT_N2, N3 = DFT_N3, LENGTH = N1 * N2 * N3, THREADS = 32 * WARPS;
// The lengths in blocks of 8, rounded up.
constexpr int BLOCKS_1 = (N1 + 7) / 8, BLOCKS_2 = (N2 + 7) / 8, BLOCKS_3 = (N3 + 7) / 8;
constexpr int ROW_STRIPS = (N1 + 15) / 16;
// A 3D tile of 16^3 points: the second product transposes its slices, see
// transform_columns_transposed.
constexpr bool TRANSPOSED = DFT_REAL && N1 == 16 && N2 == 16 && N3 == 16;
constexpr bool SCALED = sizeof(STORE) == 2;  // Inputs are scaled.
// Elements of shared memory of a row, of a slice with its gap, and of all slices.
constexpr int PITCH = 8 * BLOCKS_2 + (TRANSPOSED ? 0 : 4),
              SLICE = 16 * ROW_STRIPS * PITCH + (TRANSPOSED ? 0 : SLICE_GAP);
constexpr int BUFFER = N3 * SLICE;
// Even slices are stored before odd ones (dense_convolution.cuh).
constexpr bool EVEN_FIRST = SLICE_GAP % 4 == 0 && !TRANSPOSED;

constexpr int STACKS = BLOCKS_2 == 2 ? N1 : (N1 + 1) / 2;  // Stacks of 16 pairs (k1, k2).
// Elements of a warp's access, two per lane.
constexpr int RUN = 64;
constexpr int PARTS = DFT_REAL ? 1 : 2;  // Parts of a matrix: real, imaginary.
// The matrices in `operands`: F1 as left operands of LEFT values a strip, then F2 and F3.
constexpr int LEFT = BLOCKS_1 * PARTS * 2 * RUN, OPERAND_2 = ROW_STRIPS * LEFT,
              OPERAND_3 = OPERAND_2 + BLOCKS_2 * BLOCKS_2 * PARTS * RUN;
constexpr int OPERANDS = OPERAND_3 + (N3 > 1 ? BLOCKS_3 * BLOCKS_3 * PARTS * RUN : 0);
constexpr int SYMBOLS = (SYMBOL_REAL ? 2 : 4) * RUN;  // For 16 x 8 frequencies.
static_assert(N3 == 1 || (N1 <= 16 && N2 <= 16 && N3 <= 16), "of three factors each is a row of fragments");
static_assert(N3 > 1 || WARPS == ROW_STRIPS, "a warp has a strip of a tile of two factors");

// ---- index of a point in shared memory

// Two factors that fit one warp: all four products are transposed and stay in registers, see
// dense_convolution.cuh.
constexpr bool CHAINED = N3 == 1 && BLOCKS_1 == 2 && BLOCKS_2 == 2;
// PERMUTED: rows 2t and 2t+1 of each block of eight rows are stored where fragments have rows t and
// t + 4, and the columns of left factors are permuted in the same way.
constexpr bool PERMUTED = TRANSPOSED || CHAINED;
constexpr int row_of(int n1) { return PERMUTED ? n1 / 8 * 8 + n1 % 8 / 2 + n1 % 2 * 4 : n1; }
constexpr int row_at(int n1) { return row_of(n1) * PITCH; }
constexpr int slice_at(int n3) { return (EVEN_FIRST ? n3 / 2 + n3 % 2 * ((N3 + 1) / 2) : n3) * SLICE; }
// Transposed slices have no gaps. Instead, the columns of each row are permuted so that the
// elements that a warp accesses together lie in all banks. These are four rows by four columns (in
// f32 by eight), or the same columns of one row in every second of eight slices.
constexpr int column_permutation(int row, int slice) {
    return sizeof(REAL) == 8 ? 4 * ((row ^ slice / 2) % 4) : 8 * ((row / 2 % 2) ^ (slice / 2 % 4));
}
constexpr int cell_at(int row, int column, int slice) {
    if (!TRANSPOSED) return row * PITCH + column;
    return row / 4 * 4 * PITCH + ((row % 4 * PITCH + column) ^ column_permutation(row, slice));
}
// The index of row t, column g of block j of columns, for lane 4 g + t.
constexpr int lane_cell(int lane, int j, int slice) { return cell_at(lane % 4, 8 * j + lane / 4, slice); }
constexpr int point_at(int n1, int n2, int slice) { return cell_at(row_of(n1), n2, slice); }

// ---- products

struct tile {  // An accumulator: (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1).
    REAL re[4], im[4];
};
template <int D>
struct left {  // Left operand, D blocks of 8 along the sum: (g, t) (g+8, t) (g, t+4) (g+8, t+4).
    REAL re[D][4], im[D][4];
};
template <int D>
struct blocks_of {
    static constexpr int COUNT = D;
};
template <int D>
struct right {  // Right operand: (t, g) (t+4, g).
    REAL re[D][2], im[D][2];
};
__device__ __forceinline__ void multiply(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
    const double first[2] = {a[0], a[1]}, second[2] = {a[2], a[3]};
    if (DFT_DEPTH >= 8)
        product(c, a, b);
    else if (DFT_ROWS == 16)
        product(c, first, b[0]), product(c, second, b[1]);
    else
        product_of_eights(c, a, b);
}
// The lower part is rounded, because truncation would bias the error.
__device__ __forceinline__ void split(float value, unsigned &high, unsigned &low) {
    high = tf32_part<0, 2>(value), low = float_to_tf32(value - __uint_as_float(high));
}
__device__ __forceinline__ void multiply(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
    unsigned high[4], low[4], high_b[2], low_b[2];
#pragma unroll
    for (int e = 0; e < 4; e++) split(a[e], high[e], low[e]);
#pragma unroll
    for (int e = 0; e < 2; e++) split(b[e], high_b[e], low_b[e]);
    // Tensor cores truncate their sums, which biases the error; so each product is added to c in
    // f32 arithmetic, which rounds.
    float sum[4] = {0, 0, 0, 0};
    mma_tf32_m16n8k8(sum, low, high_b), mma_tf32_m16n8k8(sum, high, low_b), mma_tf32_m16n8k8(sum, high, high_b);
    add_tile(c, sum);
}
// A register of an f16 fragment holds two neighbouring terms of the sum. Terms t and t + 4, which a
// lane has for TF32, are put there: both operands are permuted alike, so the sum is the same.
__device__ __forceinline__ void multiply_halves(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    mma_f16_m16n8k16(c, a, b);
}
__device__ __forceinline__ void multiply_halves(float (&c)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
    mma_f16_m16n8k8(c, a, b[0]);
}
__device__ __forceinline__ void split_halves(float first, float second, unsigned &high, unsigned &low) {
    high = floats_to_half2(first, second);
    if (DFT_PARTS == 2) low = floats_to_half2(first - half2_low(high), second - half2_high(high));
}
template <int D>
__device__ __forceinline__ void multiply_all(float (&c)[4], const float (&a)[D][4], const float (&b)[D][2]) {
    if (!DFT_PARTS) {
#pragma unroll
        for (int d = 0; d < D; d++) multiply(c, a[d], b[d]);
        return;
    }
    unsigned high[2 * D], low[2 * D], high_b[D], low_b[D];
#pragma unroll
    for (int d = 0; d < D; d++) {
        split_halves(a[d][0], a[d][2], high[2 * d], low[2 * d]);
        split_halves(a[d][1], a[d][3], high[2 * d + 1], low[2 * d + 1]);
        split_halves(b[d][0], b[d][1], high_b[d], low_b[d]);
    }
    if (DFT_PARTS == 2) multiply_halves(c, low, high_b), multiply_halves(c, high, low_b);
    multiply_halves(c, high, high_b);
}
template <int D>
__device__ __forceinline__ void multiply_all(double (&c)[4], const double (&a)[D][4], const double (&b)[D][2]) {
    if constexpr (D == 2) {
        const double left[8] = {a[0][0], a[0][1], a[0][2], a[0][3], a[1][0], a[1][1], a[1][2], a[1][3]};
        const double right[4] = {b[0][0], b[0][1], b[1][0], b[1][1]};
        product(c, left, right);
    } else {
        multiply(c, a[0], b[0]);
    }
}
// Complex products with a matrix from the left and from the right. DFT_REAL: the matrix is real,
// and `re` and `im` are two real arrays.
template <int D>
__device__ __forceinline__ void add_complex(tile &c, const left<D> &a, const right<D> &b) {
    REAL minus[D][2];
#pragma unroll
    for (int d = 0; d < D; d++) minus[d][0] = -b.im[d][0], minus[d][1] = -b.im[d][1];
    multiply_all<D>(c.re, a.re, b.re), multiply_all<D>(c.im, a.re, b.im);
    multiply_all<D>(c.re, a.im, minus), multiply_all<D>(c.im, a.im, b.re);
}
template <int D>
__device__ __forceinline__ void add_from_left(tile &c, const left<D> &f, const right<D> &x) {
    if (DFT_REAL)
        multiply_all<D>(c.re, f.re, x.re), multiply_all<D>(c.im, f.re, x.im);
    else
        add_complex<D>(c, f, x);
}
template <int D>
__device__ __forceinline__ void add_from_right(tile &c, const left<D> &x, const right<D> &f) {
    if (DFT_REAL)
        multiply_all<D>(c.re, x.re, f.re), multiply_all<D>(c.im, x.im, f.re);
    else
        add_complex<D>(c, x, f);
}
__device__ __forceinline__ void load_four(REAL (&to)[4], const REAL *from) {
    REAL half[2];
    load_run(half, from), to[0] = half[0], to[1] = half[1];
    load_run(half, from + RUN), to[2] = half[0], to[3] = half[1];
}

// ---- transforms

constexpr int STEP = DFT_PARTS || DFT_DEPTH == 16 ? 2 : 1;  // Blocks of a product.
// The same for products whose right operand is an unchanged accumulator.
constexpr int STEP_TRANSPOSED = DFT_PARTS ? 2 : 1;

// Small matrices stay in registers: for the whole run (KEPT) if there is one slice or all axes
// share a matrix, otherwise during a phase over several slices. Large ones are read from L1 where
// they are used, although L1 shares its data path with shared memory.
constexpr bool SMALL = BLOCKS_1 <= 2 && BLOCKS_2 <= 2 && BLOCKS_3 <= 2;
constexpr bool KEPT = SMALL && (N3 == 1 || TRANSPOSED);
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
// left_matrix: F_i as left operand, for a strip. right_matrix: F_i as right operand, with rows in
// the order of an accumulator's columns. again() is called before each use, so that a matrix that
// does not stay in registers is read again.
template <bool>
struct left_matrix {
    left<BLOCKS_1> all;
    __device__ __forceinline__ void load(const REAL *from, int lane) { read_rows(all, from + 2 * lane); }
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
    __device__ __forceinline__ void again() { hide_from_optimizer(at); }
    template <int D>
    __device__ __forceinline__ void get(left<D> &a, int s) const {
        read_rows(a, all + at + s * PARTS * 2 * RUN);
    }
};
template <bool, int BLOCKS_N>
struct right_matrix {
    right<BLOCKS_N> all[BLOCKS_N];  // By columns.
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
    __device__ __forceinline__ void again() { hide_from_optimizer(at); }
    template <int D>
    __device__ __forceinline__ void get(right<D> &b, int j, int m) const {
        read_columns(b, all + at + (j * BLOCKS_N + m) * PARTS * RUN, BLOCKS_N);
    }
};
struct matrices {
    const REAL *from;
    left_matrix<SMALL> first, across;  // across: F2, if CHAINED.
    right_matrix<SMALL, BLOCKS_2> second;
    right_matrix<SMALL, BLOCKS_3> third;
};
__device__ __forceinline__ void load_slices(matrices &f, int strip, int lane) {
    f.first.load(f.from + strip * LEFT, lane);
    if (CHAINED)
        f.across.load(f.from + OPERAND_2, lane);
    else
        f.second.load(f.from + OPERAND_2, lane);
}
__device__ __forceinline__ matrices find_matrices(const REAL *operands, int warp, int lane) {
    matrices f;
    f.from = operands;
    if (KEPT) load_slices(f, N3 == 1 ? warp : 0, lane);
    return f;
}
// Called before a phase: reads the matrices that stay in registers only during that phase.
__device__ __forceinline__ void prepare_slices(matrices &f, int strip, int lane) {
    hide_from_optimizer(lane);
    if (!KEPT) load_slices(f, strip, lane);
}
template <class MATRICES>
__device__ __forceinline__ void prepare_third(MATRICES &f, int lane) {
    // F is symmetric, and its columns are permuted like its rows, so the same registers hold it as
    // left and as right operand.
    if constexpr (TRANSPOSED) {
#pragma unroll
        for (int i = 0; i < 8; i++) f.third.all[i % 2].re[i / 4][i / 2 % 2] = f.first.all.re[i / 4][i % 4];
        return;
    }
    hide_from_optimizer(lane);
    f.third.load(f.from + OPERAND_3, lane);
}
// c += F1 X of a strip, for blocks s to s + D - 1 of the sum. `re` and `im` point to this lane's
// first element, or to the whole slice if it is transposed.
template <int D>
__device__ __forceinline__ void add_rows(tile (&c)[BLOCKS_2], const left_matrix<SMALL> &f, const REAL *re,
                                         const REAL *im, int s, int slice, int lane, REAL scale) {
    left<D> a;
    f.get(a, s);
#pragma unroll
    for (int j = 0; j < BLOCKS_2; j++) {
        right<D> x;
#pragma unroll
        for (int d = 0; d < D; d++)
#pragma unroll
            for (int e = 0; e < 2; e++) {
                const int cell = (8 * (s + d) + 4 * e) * PITCH + (TRANSPOSED ? lane_cell(lane, j, slice) : 8 * j);
                x.re[d][e] = SCALED ? re[cell] * scale : re[cell];
                x.im[d][e] = SCALED ? im[cell] * scale : im[cell];
            }
        add_from_left<D>(c[j], a, x);
    }
}
// Large matrices of f32 are multiplied in a loop that is not unrolled. Unrolled, 48 x 40 points
// would have 170 KB of code, more than the instruction caches hold, and compile in twice the time,
// and would execute as many instructions. In f64 a loop would execute 30% more.
constexpr bool LOOP_OF_ROWS = sizeof(STORE) == 4 && BLOCKS_1 * BLOCKS_2 * PARTS > 30;
// c = F1 X of a strip of a slice; c[j] has columns 8 j to 8 j + 7.
__device__ __forceinline__ void transform_rows(tile (&c)[BLOCKS_2], const REAL *re, const REAL *im,
                                               left_matrix<SMALL> &f, int slice, int lane, REAL scale) {
    const int first = TRANSPOSED ? 0 : lane_cell(lane, 0, slice);
    f.again();
#pragma unroll
    for (int j = 0; j < BLOCKS_2; j++) c[j] = {};
#pragma unroll(LOOP_OF_ROWS ? 1 : BLOCKS_1)
    for (int s = 0; s + STEP <= BLOCKS_1; s += STEP)
        add_rows<STEP>(c, f, re + first, im + first, s, slice, lane, scale);
    if (BLOCKS_1 % STEP) add_rows<1>(c, f, re + first, im + first, BLOCKS_1 - 1, slice, lane, scale);
}
// y += x F, for blocks j to j + D - 1 of x.
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
// Replaces x by (x F)^T = F x^T, whose rows are the columns of the slice: an accumulator can be a
// left operand only after moves between registers, but its transpose is a right operand as it is.
// Rows 2t and 2t+1 of each eight rows of a slice are stored where a right operand has rows t and
// t + 4. So this product and the one along n1 have the same left operand, and stores have no bank
// conflicts.
template <int BLOCKS_N, int D>
__device__ __forceinline__ void transform_columns_transposed(REAL (tile::*part)[4], tile (&x)[BLOCKS_N],
                                                             const left<D> &f) {
    REAL y[2][4] = {};
#pragma unroll
    for (int j = 0; j + STEP_TRANSPOSED <= BLOCKS_N; j += STEP_TRANSPOSED)
#pragma unroll
        for (int n = 0; n < 2; n++) {
            REAL a[STEP_TRANSPOSED][4], b[STEP_TRANSPOSED][2];
#pragma unroll
            for (int d = 0; d < STEP_TRANSPOSED; d++) {
#pragma unroll
                for (int e = 0; e < 4; e++) a[d][e] = f.re[j + d][e];
#pragma unroll
                for (int e = 0; e < 2; e++) b[d][e] = (x[j + d].*part)[2 * n + e];
            }
            multiply_all<STEP_TRANSPOSED>(y[n], a, b);
        }
#pragma unroll
    for (int n = 0; n < BLOCKS_N; n++)
#pragma unroll
        for (int e = 0; e < 4; e++) (x[n].*part)[e] = y[n][e];
}
// Replaces x by F x^T, for both arrays.
__device__ __forceinline__ void transform_transposed(tile (&x)[2], const left_matrix<SMALL> &f) {
    tile y[2] = {};
#pragma unroll
    for (int j = 0; j < 2; j += STEP_TRANSPOSED) {
        left<STEP_TRANSPOSED> a;
        f.get(a, j);
#pragma unroll
        for (int half = 0; half < 2; half++) {
            right<STEP_TRANSPOSED> b;
#pragma unroll
            for (int k = 0; k < 2 * STEP_TRANSPOSED; k++) {
                b.re[k / 2][k % 2] = x[j + k / 2].re[2 * half + k % 2];
                b.im[k / 2][k % 2] = x[j + k / 2].im[2 * half + k % 2];
            }
            add_from_left<STEP_TRANSPOSED>(y[half], a, b);
        }
    }
    x[0] = y[0], x[1] = y[1];
}
// Transforms one of two real arrays, which needs fewer registers than both at once.
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
    if (SMALL && DFT_REAL) {
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
// Multiplies by the symbol and, unless DFT_REAL, exchanges re and im.
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
            x[m].re[e] = DFT_REAL ? scaled.re : scaled.im, x[m].im[e] = DFT_REAL ? scaled.im : scaled.re;
        }
    }
}
