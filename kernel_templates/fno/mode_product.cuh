// Complex matrix product of a tile of modes with weights, on tensor cores:
//
//     sum[mode][o] += sum over channels c of  tile[mode][c] * weight[c][o]
//     re = Re Re + (-Im) Im,   im = Re Im + Im Re
//
// WARPS_M x WARPS_N warps share modes and outputs. A warp has TILES_M x TILES_N products of 16
// modes, 8 outputs and 8 channels, each of four real products. Fragments are those of
// device/fragment.cuh. Lane (g, t) holds channels 2t and 2t+1: those of modes g and g + 8 (a chunk
// of the tile for each mode), and those of output g.
//
//                 outputs  8 8 | 8 8 | ..       WARPS_N
//          modes 16 | sum sum | ..
//                16 | sum sum | ..   <- a warp: TILES_M x TILES_N
//                WARPS_M
//
// FNO_PARTS 2 gives full f32 precision: factors are split into two parts, and a product is the sum
// of three products of parts. This sum starts from zero for every 8 channels and is then added to
// the total (needs_separate_sums in device/fragment.cuh).
//
// Reads REAL, FNO_FACTOR, FNO_PARTS, FNO_CONJUGATE, WARPS_M, WARPS_N, TILES_M, TILES_N.
#pragma once
#include "device/fragment.cuh"
#include "fno/tile.cuh"

using factor = operand<FNO_FACTOR, FNO_PARTS>;
constexpr bool SEPARATE_SUMS = needs_separate_sums(FNO_PARTS, FNO_PARTS);
constexpr int MODE_ROWS = 16 * TILES_M * WARPS_M, COLUMNS = 8 * TILES_N * WARPS_N;  // of the sums
constexpr int WEIGHT_PITCH = COLUMNS + 2;  // stride between channels; avoids bank conflicts
using block_sums = REAL[TILES_M][TILES_N][2][4];

__device__ __forceinline__ double negative(double e) { return -e; }
__device__ __forceinline__ unsigned negative(unsigned e) {
    return e ^ (sizeof(FNO_FACTOR) == 2 ? 0x80008000u : 0x80000000u);
}
template <class PAIR>
__device__ __forceinline__ void negate_pair(PAIR &pair) {
    if constexpr (sizeof(pair) == 4)
        pair.e = negative(pair.e);
    else
        pair.e[0] = negative(pair.e[0]), pair.e[1] = negative(pair.e[1]);
}
__device__ __forceinline__ factor negated(factor f) {
#pragma unroll
    for (int p = 0; p < FNO_PARTS; p++) negate_pair(f.part[p]);
    return f;
}

// If a factor is a single tf32 part and modes go unchanged from a transform to products, they are
// rounded once when they are stored in the tile, instead of by every warp that reads them.
constexpr bool TILE_ROUNDED = sizeof(FNO_FACTOR) == 4 && FNO_PARTS == 1 && FNO_FORWARD && !FNO_REAL;
__device__ __forceinline__ double rounded(double v) { return v; }
__device__ __forceinline__ float rounded(float v) { return TILE_ROUNDED ? __uint_as_float(float_to_tf32(v)) : v; }
template <class FACTOR, class T>
__device__ __forceinline__ FACTOR left_operand(T low, T high) {
    if constexpr (TILE_ROUNDED)
        return {{{{__float_as_uint(low), __float_as_uint(high)}}}};
    else
        return make_operand<FNO_FACTOR, FNO_PARTS>(low, high);
}

struct complex_factor {  // two neighbouring terms of the sum
    factor re, im;
};
__device__ __forceinline__ complex_factor make_factor(value low, value high) {
    return {make_operand<FNO_FACTOR, FNO_PARTS>(low.re, high.re), make_operand<FNO_FACTOR, FNO_PARTS>(low.im, high.im)};
}

__device__ __forceinline__ complex_factor make_left(chunk c) {
    return {left_operand<factor>(c.of[0].re, c.of[1].re), left_operand<factor>(c.of[0].im, c.of[1].im)};
}

// The products of one row of tiles (16 modes). The sums of the TILES_N tiles are independent, which
// hides the latency of the products.
__device__ __forceinline__ void multiply_row(REAL (&sum)[TILES_N][2][4], const complex_factor &upper,
                                             const complex_factor &lower, const complex_factor (&right)[TILES_N]) {
    const factor top[3][1] = {{upper.re}, {upper.im}, {negated(upper.im)}};
    const factor bottom[3][1] = {{lower.re}, {lower.im}, {negated(lower.im)}};
    REAL partial[TILES_N][2][4] = {};
#pragma unroll
    for (int pass = 0; pass < passes(FNO_PARTS, FNO_PARTS); pass++)
#pragma unroll
        for (int term = 0; term < 2; term++)
#pragma unroll
            for (int n = 0; n < TILES_N; n++) {
                const factor re[1] = {right[n].re}, im[1] = {right[n].im};
                auto &to = SEPARATE_SUMS ? partial[n] : sum[n];
                product_pass(pass, to[0], top[2 * term], bottom[2 * term], term ? im : re);
                product_pass(pass, to[1], top[term], bottom[term], term ? re : im);
            }
    if (SEPARATE_SUMS)
#pragma unroll
        for (int n = 0; n < TILES_N; n++) add_tile(sum[n][0], partial[n][0]), add_tile(sum[n][1], partial[n][1]);
}

// Modes that were read from memory are already separated into two channels.
__device__ __forceinline__ chunk mode_pair(chunk c) { return FNO_FORWARD ? separate_channels(c) : c; }

// This warp's part of the product. count: channels, a multiple of 8; weights: WEIGHT_PITCH between
// channels.
__device__ __forceinline__ void multiply(block_sums &sum, int warp, value *tile, int pitch, const value *weights,
                                         int count) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int row0 = warp % WARPS_M * TILES_M * 16 + g, column0 = warp / WARPS_M * TILES_N * 8 + g;
#pragma unroll 1
    for (int k = 2 * t; k < count; k += 8) {
        complex_factor right[TILES_N];
#pragma unroll
        for (int n = 0; n < TILES_N; n++) {
            const value *const at = weights + k * WEIGHT_PITCH + column0 + 8 * n;
            right[n] = make_factor(at[0], at[WEIGHT_PITCH]);
            if (FNO_CONJUGATE) right[n].im = negated(right[n].im);
        }
#pragma unroll
        for (int m = 0; m < TILES_M; m++) {
            const chunk upper = mode_pair(*chunk_at(tile, pitch, row0 + 16 * m, k));
            const chunk lower = mode_pair(*chunk_at(tile, pitch, row0 + 16 * m + 8, k));
            multiply_row(sum[m], make_left(upper), make_left(lower), right);
        }
    }
}

// Calls to(mode, output, chunk) for each mode and pair of outputs of this thread.
template <class TO>
__device__ __forceinline__ void for_each_sum(const block_sums &sum, int warp, const TO &to) {
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
    const int row0 = warp % WARPS_M * TILES_M * 16 + g, column0 = warp / WARPS_M * TILES_N * 8 + 2 * t;
#pragma unroll
    for (int m = 0; m < TILES_M; m++)
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
            for (int n = 0; n < TILES_N; n++) {
                const REAL(&re)[4] = sum[m][n][0], (&im)[4] = sum[m][n][1];
                to(row0 + 16 * m + 8 * h, column0 + 8 * n,
                   chunk{{{re[2 * h], im[2 * h]}, {re[2 * h + 1], im[2 * h + 1]}}});
            }
}
