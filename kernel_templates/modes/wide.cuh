// Real numbers of 106 bits as the sum of two doubles, |rest| at most half a unit in the last place
// of top (Dekker 1971; products by fused multiply-add), imaginary and complex numbers of them, and
// integers that are known to the compiler. `times` and `plus` choose the arithmetic by the types of
// their operands, so that a factor that is real, imaginary or 1 costs no more than it must.
//
// Products and sums are rounded one by one: a contraction of both would break the exact sums.
//
// Without MODES_WIDE, rest is 0 and all arithmetic is that of float64.
#pragma once
#include "params.cuh"

struct wide {
    double top, rest;
};
struct wide_imaginary {
    wide im;
};
struct wide_complex {
    wide re, im;
};
template <int N>
struct whole {};

// sum + error, where |sum| >= |error|.
__device__ __forceinline__ wide renormalised(double sum, double error) {
    const double both = __dadd_rn(sum, error);
    return {both, __dsub_rn(error, __dsub_rn(both, sum))};
}
// The rounded sum, and what the rounding lost (Knuth).
__device__ __forceinline__ wide two_sum(double a, double b) {
    const double sum = __dadd_rn(a, b), from_b = __dsub_rn(sum, a);
    return {sum, __dadd_rn(__dsub_rn(a, __dsub_rn(sum, from_b)), __dsub_rn(b, from_b))};
}

// ---- sums of products, normalised at their end
struct wide_sum {
    double sum = 0, error = 0;
    __device__ __forceinline__ void add(wide a, wide b) {
        if constexpr (!MODES_WIDE) {
            sum += a.top * b.top;
            return;
        }
        const double product = __dmul_rn(a.top, b.top), lost = __fma_rn(a.top, b.top, -product);
        const wide both = two_sum(sum, product);
        sum = both.top;
        error = __dadd_rn(error, __fma_rn(a.top, b.rest, __fma_rn(a.rest, b.top, __dadd_rn(both.rest, lost))));
    }
    __device__ __forceinline__ void subtract(wide a, wide b) { add({-a.top, -a.rest}, b); }
    __device__ __forceinline__ wide value() const { return MODES_WIDE ? renormalised(sum, error) : wide{sum, 0.0}; }
};

// ---- parts
template <int N>
__device__ __forceinline__ wide real_part(whole<N>) {
    return {double(N), 0.0};
}
__device__ __forceinline__ wide real_part(wide a) { return a; }
__device__ __forceinline__ wide real_part(wide_imaginary) { return {0.0, 0.0}; }
__device__ __forceinline__ wide real_part(wide_complex a) { return a.re; }
template <class A>
__device__ __forceinline__ wide imaginary_part(A) {
    return {0.0, 0.0};
}
__device__ __forceinline__ wide imaginary_part(wide_imaginary a) { return a.im; }
__device__ __forceinline__ wide imaginary_part(wide_complex a) { return a.im; }

// ---- signs
template <int N>
__device__ __forceinline__ whole<-N> negated(whole<N>) {
    return {};
}
__device__ __forceinline__ wide negated(wide a) { return {-a.top, -a.rest}; }
__device__ __forceinline__ wide_imaginary negated(wide_imaginary a) { return {negated(a.im)}; }
__device__ __forceinline__ wide_complex negated(wide_complex a) { return {negated(a.re), negated(a.im)}; }

// ---- sums
template <int A, int B>
__device__ __forceinline__ whole<A + B> plus(whole<A>, whole<B>) {
    return {};
}
__device__ __forceinline__ wide plus(wide a, wide b) {
    if constexpr (!MODES_WIDE) return {a.top + b.top, 0.0};
    const wide both = two_sum(a.top, b.top);
    return renormalised(both.top, __dadd_rn(both.rest, __dadd_rn(a.rest, b.rest)));
}
template <int N>
__device__ __forceinline__ wide plus(whole<N> a, wide b) {
    return plus(real_part(a), b);
}
template <int N>
__device__ __forceinline__ wide plus(wide a, whole<N> b) {
    return plus(a, real_part(b));
}
__device__ __forceinline__ wide_imaginary plus(wide_imaginary a, wide_imaginary b) { return {plus(a.im, b.im)}; }
template <class A, class B>
__device__ __forceinline__ wide_complex plus(A a, B b) {
    return {plus(real_part(a), real_part(b)), plus(imaginary_part(a), imaginary_part(b))};
}

// ---- products
__device__ __forceinline__ wide times(wide a, wide b) {
    if constexpr (!MODES_WIDE) return {a.top * b.top, 0.0};
    const double product = __dmul_rn(a.top, b.top), lost = __fma_rn(a.top, b.top, -product);
    return renormalised(product, __fma_rn(a.top, b.rest, __fma_rn(a.rest, b.top, lost)));
}
__device__ __forceinline__ wide_imaginary times(wide a, wide_imaginary b) { return {times(a, b.im)}; }
__device__ __forceinline__ wide_imaginary times(wide_imaginary a, wide b) { return {times(a.im, b)}; }
__device__ __forceinline__ wide times(wide_imaginary a, wide_imaginary b) { return negated(times(a.im, b.im)); }
__device__ __forceinline__ wide_complex times(wide a, wide_complex b) { return {times(a, b.re), times(a, b.im)}; }
__device__ __forceinline__ wide_complex times(wide_complex a, wide b) { return times(b, a); }
__device__ __forceinline__ wide_complex times(wide_imaginary a, wide_complex b) {
    return {negated(times(a.im, b.im)), times(a.im, b.re)};
}
__device__ __forceinline__ wide_complex times(wide_complex a, wide_imaginary b) { return times(b, a); }
__device__ __forceinline__ wide_complex times(wide_complex a, wide_complex b) {
    wide_sum re, im;
    re.add(a.re, b.re), re.subtract(a.im, b.im);
    im.add(a.re, b.im), im.add(a.im, b.re);
    return {re.value(), im.value()};
}
template <int N, class B>
__device__ __forceinline__ auto times(whole<N> a, B b) {
    if constexpr (N == 1)
        return b;
    else if constexpr (N == -1)
        return negated(b);
    else
        return times(real_part(a), b);
}

// A or B.
template <bool, class A, class B>
struct chosen {
    using type = A;
};
template <class A, class B>
struct chosen<false, A, B> {
    using type = B;
};
