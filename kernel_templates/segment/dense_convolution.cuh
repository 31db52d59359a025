// A tile of N1 x N2 x N3 points in shared memory, transformed by DFT matrix products on tensor
// cores, multiplied by a symbol, and transformed back.
//
//                 n2 ->          a slice n3: rows of PITCH elements, of which N1 x N2 are points;
//     n1  | 0 .  .  .            ROW_STRIPS strips of 16 rows. Slices have SLICE_GAP elements of
//      |  | .  1  .  .           padding, so that the four rows by four columns that half a warp
//      v  | .  .  2  .           accesses for a fragment fall in different banks.
//
// If SLICE_GAP is a multiple of 4, slices begin at whole sectors of 4 elements. Even slices are
// then stored before odd ones (EVEN_FIRST), because along n3 a lane has two neighbouring slices,
// the columns of an accumulator. A transposed 3D tile (dense_dft.cuh) has neither gaps nor padding;
// its columns are permuted.
//
//     a warp, a strip       Y = (F1 X) F2          the accumulator is the next left operand
//     a warp, 16 (k1, k2)   Z = ((Y F3) K^f) F3    forward and inverse in registers
//     a warp, a strip       (F1 Z) F2              inverse
//
// N3 = 1: a warp computes Z = (((F1 X) F2) K^f) F2 of a whole strip and, after an exchange through
// shared memory, F1 Z. If the tile is one strip (CHAINED), there is no exchange: the transpose of
// an accumulator is a right operand, so all four products are from the left, in registers:
//
//     C = F1 X    Y = F2 C^T, times K^f    Z = F1 Y^T    W = F2 Z^T  (rows n2, columns n1)
//
// F_i is the DFT of N_i points as a dense matrix, padded with zeros. Two real arrays are
// transformed together:
//
//   DFT_REAL 0   as the real and the imaginary part, which real taps do not mix. The inverse is
//                    a forward transform between two exchanges of re and im.
//   DFT_REAL 1   separately, by the Hartley transform (cos + sin), which is its own inverse:
//                    half of the products. Taps that are symmetric along each axis have the same
//                    factor for k and -k, so Hartley coefficients are multiplied by it too.
//
// f64 is multiplied in f64, in fragments of DFT_ROWS x 8 x DFT_DEPTH. f32 and f16 take three
// products of tf32, of the upper and lower 11 bits of either operand (3xTF32). With DFT_PARTS 1 or
// 2 they take one or three products of f16 with f32 accumulation, of operands in DFT_PARTS parts of
// 11 bits. Inputs are then scaled by a power of two that brings the largest absolute value of both
// arrays between 1 and 2, because the range of f16 ends at 65504. The matrices are divided by the
// power of two nearest to sqrt(N_i), so that values grow by little more than sqrt(N).
#pragma once
#include "segment/dense_dft.cuh"

// ---- a tile

// Stores the fragments of a strip. Odd rows store their second column first, to avoid bank
// conflicts between rows.
__device__ __forceinline__ void put(const tile (&c)[BLOCKS_2], REAL *re, REAL *im, int strip, int lane) {
#pragma unroll
    for (int m = 0; m < BLOCKS_2; m++)
#pragma unroll
        for (int half = 0; half < 2; half++) {
            const int row = 16 * strip + lane / 4 + 8 * half;
            const int cell = row * PITCH + 8 * m + lane % 4 * 2, odd = lane / 4 % 2;
            const REAL r[2] = {c[m].re[2 * half], c[m].re[2 * half + 1]},
                       i[2] = {c[m].im[2 * half], c[m].im[2 * half + 1]};
            const REAL first = odd ? r[1] : r[0], second = odd ? r[0] : r[1];
            const REAL first_im = odd ? i[1] : i[0], second_im = odd ? i[0] : i[1];
            re[cell + odd] = first, im[cell + odd] = first_im;
            re[cell + 1 - odd] = second, im[cell + 1 - odd] = second_im;
        }
}
// Stores a transposed tile.
__device__ __forceinline__ void put_transposed(const tile (&c)[BLOCKS_2], REAL *re, REAL *im, int slice, int lane) {
    const int first = TRANSPOSED ? 0 : lane_cell(lane, 0, slice);
#pragma unroll
    for (int n = 0; n < BLOCKS_2; n++)
#pragma unroll
        for (int k = 0; k < 4; k++) {
            const int across = TRANSPOSED ? lane_cell(lane, k / 2, slice) : k / 2 * 8 + first;
            const int cell = row_at(8 * n + k % 2) + across;
            re[cell] = c[n].re[k], im[cell] = c[n].im[k];
        }
}
// A warp has slices one after another, or with N3 = 1 one strip of the only slice.
__device__ __forceinline__ int strip_of(int warp) { return N3 == 1 ? warp : 0; }
__device__ __forceinline__ int first_slice(int warp) { return N3 == 1 ? 0 : warp; }
// Transforms a slice along n2.
template <class MATRICES>
__device__ __forceinline__ void transform_second(tile (&c)[BLOCKS_2], MATRICES &f) {
    if constexpr (TRANSPOSED)
        transform_columns_transposed(&tile::re, c, f.first.all),
            transform_columns_transposed(&tile::im, c, f.first.all);
    else
        transform_columns(c, f.second);
}
__device__ __forceinline__ void put_second(const tile (&c)[BLOCKS_2], REAL *re, REAL *im, int slice, int strip,
                                           int lane) {
    if constexpr (TRANSPOSED)
        put_transposed(c, re, im, slice, lane);
    else
        put(c, re, im, strip, lane);
}
// Transforms a slice from `raw` to `work`, which may be the same if a warp has the whole slice. If
// CHAINED, the results stay in registers (c). Both pointers are to the slice.
__device__ __forceinline__ void forward_slice(matrices &f, const REAL *symbol, const REAL *raw, REAL *work,
                                              tile (&c)[BLOCKS_2], int slice, int lane, int warp, REAL scale) {
    const int strip = strip_of(warp);
    transform_rows(c, raw, raw + BUFFER, f.first, slice, lane, scale);
    if (CHAINED) return;
    transform_second(c, f);
    if (N3 == 1) {
        times_symbol(c, symbol + strip * BLOCKS_2 * SYMBOLS, lane);
        transform_columns(c, f.second);
    }
    if (ROW_STRIPS == 1) __syncwarp();
    put_second(c, work, work + BUFFER, slice, strip, lane);
}
// Transforms the warp's slices. CHAINED: c returns the accumulators with which chain() continues.
__device__ __forceinline__ void forward(matrices &f, const REAL *symbol, const REAL *raw, REAL *work,
                                        tile (&c)[BLOCKS_2], int lane, int warp, REAL scale) {
    prepare_slices(f, strip_of(warp), lane);
#pragma unroll 1
    for (int slice = first_slice(warp); slice < N3; slice += WARPS)
        forward_slice(f, symbol, raw + slice_at(slice), work + slice_at(slice), c, slice, lane, warp, scale);
}
// TRANSPOSED, tiles of 16^3 points: taps are symmetric along each axis, and so is the symbol.
// Frequencies 0 to 8 are kept in shared memory, [k1][k2][k3], because data streaming through L1
// evict the whole symbol.
constexpr int HALF = 9, OCTANT = HALF * HALF * HALF;
__device__ __forceinline__ void load_octant(REAL *to, const REAL *symbol) {
    for (int i = threadIdx.x; i < OCTANT; i += THREADS) {
        const int k1 = i / (HALF * HALF), k2 = i / HALF % HALF, k3 = i % HALF;
        const int run = (k1 * BLOCKS_3 + k3 / 8) * SYMBOLS + k2 / 8 * RUN;
        to[i] = symbol[run + (k2 % 8 * 4 + k3 % 8 / 2) * 2 + k3 % 2];
    }
}
template <int BLOCKS_N>
__device__ __forceinline__ void times_octant(tile (&x)[BLOCKS_N], const REAL *symbol, int k1, int lane) {
    const int k2 = lane / 4, k3 = lane % 4 * 2;
    const REAL *const of = symbol + min(k1, 16 - k1) * HALF * HALF;
#pragma unroll
    for (int m = 0; m < BLOCKS_N; m++)
#pragma unroll
        for (int e = 0; e < 4; e++) {
            const REAL s = of[(e / 2 ? 8 - k2 : k2) * HALF + (m ? 8 - k3 - e % 2 : k3 + e % 2)];
            x[m].re[e] *= s, x[m].im[e] *= s;
        }
}
// Transforms along the third axis, multiplies by the symbol and transforms back. A thread writes
// the elements that it has read. Called after prepare_third.
__device__ __forceinline__ void transform_third(matrices &f, const REAL *symbol, REAL *work, int lane, int warp) {
    constexpr bool WHOLE = N3 % 8 == 0;  // No column lies beyond the tile.
    hide_from_optimizer(lane);
    const auto cell = [&](int i, int j, int e) {
        // The index of the element in slice first + 2 t, in row i and column g or g + 8. Where rows
        // have 8 columns, a stack i consists of two rows: row 2 i or 2 i + 1, column g.
        const int first = 8 * j + e % 2, t = lane % 4, g = lane / 4;
        if (TRANSPOSED) return slice_at(first) + 2 * t * SLICE + cell_at(row_of(i), g + e / 2 * 8, 2 * t);
        const int row = BLOCKS_2 == 2 ? row_at(i) + g + e / 2 * 8 : (2 * i + e / 2) * PITCH + g;
        return first + 2 * t < N3 || WHOLE ? row + slice_at(first) + t * (EVEN_FIRST ? SLICE : 2 * SLICE) : -1;
    };
#pragma unroll 1
    for (int i = warp; i < STACKS; i += WARPS) {
        tile c[BLOCKS_3];
#pragma unroll
        for (int k = 0; k < 4 * BLOCKS_3; k++) {
            const int from = cell(i, k / 4, k % 4);
            c[k / 4].re[k % 4] = !WHOLE && from < 0 ? REAL(0) : work[from];
            c[k / 4].im[k % 4] = !WHOLE && from < 0 ? REAL(0) : work[BUFFER + from];
        }
        transform_columns(c, f.third);
        if constexpr (TRANSPOSED)
            times_octant(c, symbol, i, lane);
        else
            times_symbol(c, symbol + i * BLOCKS_3 * SYMBOLS, lane);
        transform_columns(c, f.third);
#pragma unroll
        for (int k = 0; k < 4 * BLOCKS_3; k++) {
            const int to = cell(i, k / 4, k % 4);
            if (WHOLE || to >= 0) work[to] = c[k / 4].re[k % 4], work[BUFFER + to] = c[k / 4].im[k % 4];
        }
    }
}
// CHAINED: computes and stores all products that follow F1 X. The inverse transform has re and im
// exchanged, because times_symbol exchanges them.
template <int BLOCKS_N>
__device__ __forceinline__ void chain(tile (&c)[BLOCKS_N], matrices &f, const REAL *symbol, REAL *work, int lane) {
    transform_transposed(c, f.across);
    times_symbol(c, symbol, lane);
    transform_transposed(c, f.first);
    transform_transposed(c, f.across);
    put_transposed(c, work + (DFT_REAL ? 0 : BUFFER), work + (DFT_REAL ? BUFFER : 0), 0, lane);
}
__device__ __forceinline__ void back_slice(matrices &f, const REAL *symbol, REAL *work, tile (&c)[BLOCKS_2], int slice,
                                           int lane, int warp) {
    if constexpr (CHAINED) {
        chain(c, f, symbol, work, lane);
        return;
    }
    transform_rows(c, work, work + BUFFER, f.first, slice, lane, REAL(1));
    if (N3 > 1) transform_second(c, f);
    if (ROW_STRIPS > 1)  // All threads have read, also the elements of other strips.
        __syncthreads();
    else
        __syncwarp();
    if (N2 % 8) {  // Padding is set to 0: it may be NaN, if inputs are.
#pragma unroll
        for (int e = 0; e < 4; e++)
            if (N2 / 8 * 8 + lane % 4 * 2 + e % 2 >= N2) c[N2 / 8].re[e] = c[N2 / 8].im[e] = REAL(0);
    }
    put_second(c, work + (DFT_REAL ? 0 : BUFFER), work + (DFT_REAL ? BUFFER : 0), slice, strip_of(warp), lane);
}
// Barrier of the block.
__device__ __forceinline__ void wait_for_all() {
    if (WARPS > 1)
        __syncthreads();
    else
        __syncwarp();
}
// The transforms after forward(). All threads of the block call it once all warps have completed
// forward(); it ends with a barrier.
__device__ __forceinline__ void finish(matrices &f, const REAL *symbol, REAL *work, tile (&c)[BLOCKS_2], int lane,
                                       int warp) {
    if (N3 > 1) {
        prepare_third(f, lane);
        transform_third(f, symbol, work, lane, warp);
        __syncthreads();
    }
    prepare_slices(f, strip_of(warp), lane);
#pragma unroll 1
    for (int slice = first_slice(warp); slice < N3; slice += WARPS)
        back_slice(f, symbol, N3 > 1 ? work + slice_at(slice) : work, c, slice, lane, warp);
    wait_for_all();
}

// ---- scaling of f16

constexpr int MAXIMA = SCALED ? WARPS : 0;  // Elements in shared memory behind both buffers.

struct scales {
    REAL in, out;  // Factors of the inputs and of the outputs.
};
// Returns powers of two, which all threads compute from all inputs. The symbol's own scale is
// stored behind the matrices. One infinite input makes all outputs NaN.
__device__ __forceinline__ scales find_scales(const REAL *operands, const REAL *raw, REAL *maxima, int t) {
    if (!SCALED) return {REAL(1), REAL(1)};
    float most = 0;
#pragma unroll 4
    for (int i = t; i < 2 * BUFFER; i += THREADS) most = fmaxf(most, fabsf(static_cast<float>(raw[i])));
#pragma unroll
    for (int far = 16; far; far /= 2) most = fmaxf(most, __shfl_xor_sync(~0u, most, far));
    if (t % 32 == 0) maxima[t / 32] = most;
    __syncthreads();
#pragma unroll
    for (int w = 0; w < WARPS; w++) most = fmaxf(most, static_cast<float>(maxima[w]));
    const unsigned power = min(__float_as_uint(most) >> 23, 253u);
    return {__uint_as_float((254u - power) << 23), __uint_as_float(power << 23) * operands[OPERANDS]};
}
