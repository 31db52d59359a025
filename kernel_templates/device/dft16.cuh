// 16-point DFTs on tensor cores, 8 columns side by side: f16 points, f32 sums.
//
// A point is one 32-bit word of two halves (re, im), so one register of the right operand holds a
// point without rearrangement. There are two left operands, m = 0 for even frequencies k and m = 1
// for odd ones. With g = lane / 4, t = lane % 4 and w = w16^(k n), w16 = exp(-+ 2 pi i / 16):
//
//     X[k] = sum over n of  w16^(k n) x[n]      left:  row g      re of k = 2g + m   (Re w, -Im w)
//                                                      row g + 8  im of the same     (Im w,  Re w)
//     right: column g of a tile; the lane's words are n = 4t + s, s = 0 .. 3
//     sums:  the lane has columns 2t + e, e = 0, 1, of k = 2g + m, m = 0, 1
//
// The caller chooses which data a column holds. If column j of tile i is n' = 2j + i, then the
// lane's sums of two tiles are n' = 4t + 2e + i, which are exactly its right-operand words of the
// next DFT, over n', of column g = k.
#pragma once
#include "device/complex.cuh"

// exp(-+ 2 pi i turn / 2^32) with an error of about 2^-20: accurate enough for halves and cheaper
// than a table. Products of `turn` wrap modulo one full turn.
template <bool INVERSE>
__device__ __forceinline__ complex<float> root_of_unity(unsigned turn) {
    const float angle = static_cast<float>(static_cast<int>(turn)) * 1.46291807926715968e-9f;
    return {cos_approx(angle), INVERSE ? sin_approx(angle) : -sin_approx(angle)};
}

struct dft16_matrix {
    unsigned left[2][2][4];  // [m][half of the 16 points]
};
template <bool INVERSE>
__device__ __forceinline__ void set_dft16(dft16_matrix &f, int g, int t) {
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const complex<float> w = root_of_unity<INVERSE>(static_cast<unsigned>((2 * g + m) * (4 * t + s)) << 28);
            f.left[m][s / 2][s % 2 * 2] = floats_to_half2(w.re, -w.im);
            f.left[m][s / 2][s % 2 * 2 + 1] = floats_to_half2(w.im, w.re);
        }
}
// y[m][e] = X[2g + m] of column 2t + e.
__device__ __forceinline__ void dft16(const dft16_matrix &f, const unsigned (&x)[4], complex<float> (&y)[2][2]) {
    const unsigned low[2] = {x[0], x[1]}, high[2] = {x[2], x[3]};
#pragma unroll
    for (int m = 0; m < 2; m++) {
        float sum[4] = {};
        mma_f16_m16n8k16(sum, f.left[m][0], low);
        mma_f16_m16n8k16(sum, f.left[m][1], high);
#pragma unroll
        for (int e = 0; e < 2; e++) y[m][e] = {sum[e], sum[2 + e]};
    }
}

// Four neighbouring points, loaded and stored as 16 bytes.
struct alignas(16) chunk {
    unsigned point[4];
};
// Swizzle for rows of 8 chunks: chunk i of row r is stored at i ^ swizzle(r). Reading chunk g of
// rows 4t + s and writing chunks 2t + e of rows 2g + m are then free of bank conflicts.
__device__ __forceinline__ int swizzle(int r) { return r / 4 % 4 * 2 + r / 2 % 2; }

// 32 columns of 16 points: x[s] is chunk g of row 4t + s; result[m][e] is chunk 2t + e of row 2g +
// m, each point being finish(m, e, index in the chunk, y), such as y times a twiddle factor.
template <class Finish>
__device__ __forceinline__ void dft16_columns(const dft16_matrix &f, const chunk (&x)[4], chunk (&result)[2][2],
                                              Finish finish) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        const unsigned column[4] = {x[0].point[i], x[1].point[i], x[2].point[i], x[3].point[i]};
        complex<float> y[2][2];
        dft16(f, column, y);
#pragma unroll
        for (int m = 0; m < 2; m++)
#pragma unroll
            for (int e = 0; e < 2; e++) put(&result[m][e].point[i], finish(m, e, i, y[m][e]));
    }
}
