// Transforms of 16 points on tensor cores, 8 side by side: f16 points, f32 sums.
//
// A point is one word, two halves (re, im), and so one register of a right operand holds a point as it stands. Rows of the
// left one are real and imaginary parts by turns; with g = lane / 4 and t = lane % 4:
//
//     X[k] = sum over n of  w16^(k n) x[n]      left:  row g      re of k = 2g + m   (Re w, -Im w) for each n
//                                                      row g + 8  im of the same     (Im w,  Re w)
//     right: column g of a tile, the lane's words are n = 4t + s, s = 0 .. 3
//     sums:  the lane has columns 2t + e, e = 0, 1, of k = 2g + m, m = 0, 1
//
// Which data a column holds is the caller's to choose. Where column j of tile i is n' = 2j + i, the lane's sums of two
// tiles are n' = 4t + 2e + i: its words of the next transform, over n', of column g = k.
#pragma once
#include "device/complex.cuh"

struct dft16_roots {
    unsigned left[2][2][4];  // [m][half of the points]
};
// `root(i)` is w16^i, or its conjugate for inverse transforms.
template <class Root>
__device__ __forceinline__ void set_dft16(dft16_roots &f, int g, int t, Root root) {
#pragma unroll
    for (int m = 0; m < 2; m++)
#pragma unroll
        for (int s = 0; s < 4; s++) {
            const complex<float> w = root((2 * g + m) * (4 * t + s) % 16);
            f.left[m][s / 2][s % 2 * 2] = floats_to_half2(w.re, -w.im);
            f.left[m][s / 2][s % 2 * 2 + 1] = floats_to_half2(w.im, w.re);
        }
}
// y[m][e]
__device__ __forceinline__ void dft16(const dft16_roots &f, const unsigned (&x)[4], complex<float> (&y)[2][2]) {
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
