// DFTs in registers whose inputs are multiplied by powers of a twiddle factor w (decimation in
// time):
//
//     X[m] = sum over k of  x[k] * w^k * exp(-2 pi i m k / R),   R = 2 .. 16, a power of two
//
// in natural order before and after. A level combines the transforms E and O of the even and the
// odd inputs, in which powers of w^2 are already included, to transforms of SIZE points. It needs
// one complex constant c = w * exp(-2 pi i m / SIZE) for each m:
//
//     X[m] = E[m] + c O[m],   X[m + SIZE / 2] = 2 E[m] - X[m]
//
// These are six fused multiply-adds, instead of ten operations if the twiddle factors are applied
// first. The constant of m + SIZE / 4 is -i c, and a product with -i is free; so R / 2 constants
// suffice for all levels. They are computed from w by few products.
#pragma once
#include "device/fft.cuh"

// first = a + c b, second = a - c b
template <class T>
__device__ __forceinline__ void butterfly(complex<T> a, complex<T> c, complex<T> b, complex<T> &first,
                                          complex<T> &second) {
    first = {fma(-c.im, b.im, fma(c.re, b.re, a.re)), fma(c.im, b.re, fma(c.re, b.im, a.im))};
    second = {fma(T(2), a.re, -first.re), fma(T(2), a.im, -first.im)};
}

// Combines transforms of SIZE / 2 points to transforms of SIZE points. Point m of the transform of
// inputs b, b + R / SIZE, b + 2 R / SIZE, .. lies at b + (R / SIZE) m. UNIT: w is 1.
template <int SIZE, bool UNIT, int R, class T>
__device__ __forceinline__ void butterfly_level(complex<T> (&x)[R], complex<T> w) {
    constexpr int QUARTER = SIZE > 2 ? SIZE / 4 : 1, GAP = R / SIZE;
    complex<T> c[QUARTER], y[R];
#pragma unroll
    for (int m = 0; m < QUARTER; m++) c[m] = times_root64(UNIT ? complex<T>{T(1), T(0)} : w, m * (64 / SIZE));
#pragma unroll
    for (int b = 0; b < GAP; b++)
#pragma unroll
        for (int m = 0; m < SIZE / 2; m++) {
            const complex<T> even = x[b + 2 * GAP * m], odd = x[b + GAP + 2 * GAP * m];
            const complex<T> o = m < QUARTER ? odd : minus_i(odd);
            complex<T> &first = y[b + GAP * m], &second = y[b + GAP * (m + SIZE / 2)];
            if (UNIT && m % QUARTER == 0)
                first = even + o, second = even - o;
            else
                butterfly(even, c[m % QUARTER], o, first, second);
        }
    memcpy(x, y, sizeof y);  // With a loop, segment_line would take 4% longer to compile.
}

// w, w^2, w^4, w^8. In double they are computed by squaring. In float this would lose a digit, so
// all four are read from a table of `entries` entries: first w and w^2 of all entries, then w^4 and
// w^8, so that neighbouring threads read neighbouring data.
template <class T>
struct twiddles {
    complex<T> w1, w2, w4, w8;
};
__device__ __forceinline__ twiddles<double> read_twiddles(const double *table, int i, int) {
    const complex<double> w = load_pair(table + 2 * i), w2 = w * w, w4 = w2 * w2;
    return {w, w2, w4, w4 * w4};
}
__device__ __forceinline__ twiddles<float> read_twiddles(const float *table, int i, int entries) {
    float low[4], high[4];
    load_run(low, table + 4 * i), load_run(high, table + 4 * (entries + i));
    return {{low[0], low[1]}, {low[2], low[3]}, {high[0], high[1]}, {high[2], high[3]}};
}

template <int R, class T>
__device__ __forceinline__ void dft_twiddled(complex<T> (&x)[R], const twiddles<T> &w) {
    butterfly_level<2, false>(x, R == 2 ? w.w1 : R == 4 ? w.w2 : R == 8 ? w.w4 : w.w8);
    if constexpr (R >= 4) butterfly_level<4, false>(x, R == 4 ? w.w1 : R == 8 ? w.w2 : w.w4);
    if constexpr (R >= 8) butterfly_level<8, false>(x, R == 8 ? w.w1 : w.w2);
    if constexpr (R >= 16) butterfly_level<16, false>(x, w.w1);
}
template <int R, class T>
__device__ __forceinline__ void dft_unit(complex<T> (&x)[R]) {
    const complex<T> one = {T(1), T(0)};
    butterfly_level<2, true>(x, one);
    if constexpr (R >= 4) butterfly_level<4, true>(x, one);
    if constexpr (R >= 8) butterfly_level<8, true>(x, one);
    if constexpr (R >= 16) butterfly_level<16, true>(x, one);
}
