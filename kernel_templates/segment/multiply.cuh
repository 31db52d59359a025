// Products of fragments of 16 x 8 x 8 by element type, of real and of complex numbers, for dense.cuh.
#pragma once
#include "device/fragment.cuh"
#include "params.cuh"

struct tile {  // an accumulator: (g, 2t) (g, 2t+1) (g+8, 2t) (g+8, 2t+1)
    REAL re[4], im[4];
};
template <int D>
struct left {  // of D blocks of 8 indices of the sum: (g, t) (g+8, t) (g, t+4) (g+8, t+4)
    REAL re[D][4], im[D][4];
};
template <int D>
struct blocks_of {
    static constexpr int COUNT = D;
};
template <int D>
struct right {  // (t, g) (t+4, g)
    REAL re[D][2], im[D][2];
};
__device__ __forceinline__ void multiply(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
    const double first[2] = {a[0], a[1]}, second[2] = {a[2], a[3]};
    if (PRODUCT_DEPTH == 8)
        product(c, a, b);
    else if (PRODUCT_ROWS == 16)
        product(c, first, b[0]), product(c, second, b[1]);
    else
        product_of_eights(c, a, b);
}
// The lower part is rounded too: cut off, it would all err one way.
__device__ __forceinline__ void split(float value, unsigned &high, unsigned &low) {
    high = tf32_part<0, 2>(value), low = float_to_tf32(value - __uint_as_float(high));
}
__device__ __forceinline__ void multiply(float (&c)[4], const float (&a)[4], const float (&b)[2]) {
    unsigned high[4], low[4], high_b[2], low_b[2];
#pragma unroll
    for (int e = 0; e < 4; e++) split(a[e], high[e], low[e]);
#pragma unroll
    for (int e = 0; e < 2; e++) split(b[e], high_b[e], low_b[e]);
    float sum[4] = {
        0, 0, 0, 0};  // tensor cores cut off what a sum does not hold, always towards zero: it is added with rounding
    mma_tf32_m16n8k8(sum, low, high_b), mma_tf32_m16n8k8(sum, high, low_b), mma_tf32_m16n8k8(sum, high, high_b);
    add_tile(c, sum);
}
// In halves a lane holds two neighbours of a sum where tf32 has indices t and t + 4: both factors are permuted alike.
__device__ __forceinline__ void multiply_halves(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
    mma_f16_m16n8k16(c, a, b);
}
__device__ __forceinline__ void multiply_halves(float (&c)[4], const unsigned (&a)[2], const unsigned (&b)[1]) {
    mma_f16_m16n8k8(c, a, b[0]);
}
__device__ __forceinline__ void split_halves(float first, float second, unsigned &high, unsigned &low) {
    high = floats_to_half2(first, second);
    if (PRODUCT_PARTS == 2) low = floats_to_half2(first - half2_low(high), second - half2_high(high));
}
template <int D>
__device__ __forceinline__ void multiply_all(float (&c)[4], const float (&a)[D][4], const float (&b)[D][2]) {
    if (!PRODUCT_PARTS) {
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
    if (PRODUCT_PARTS == 2) multiply_halves(c, low, high_b), multiply_halves(c, high, low_b);
    multiply_halves(c, high, high_b);
}
template <int D>
__device__ __forceinline__ void multiply_all(double (&c)[4], const double (&a)[D][4], const double (&b)[D][2]) {
#pragma unroll
    for (int d = 0; d < D; d++) multiply(c, a[d], b[d]);
}
// A matrix from the left, and one from the right. Of real ones `im` belongs to the second array alone.
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
    if (PRODUCT_EVEN)
        multiply_all<D>(c.re, f.re, x.re), multiply_all<D>(c.im, f.re, x.im);
    else
        add_complex<D>(c, f, x);
}
template <int D>
__device__ __forceinline__ void add_from_right(tile &c, const left<D> &x, const right<D> &f) {
    if (PRODUCT_EVEN)
        multiply_all<D>(c.re, x.re, f.re), multiply_all<D>(c.im, x.im, f.re);
    else
        add_complex<D>(c, x, f);
}
