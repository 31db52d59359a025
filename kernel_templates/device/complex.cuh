// Complex numbers: arithmetic in float or double; stored as pairs (re, im) of a storage type.
#pragma once
#include "device/element.cuh"

template <class T>
struct alignas(2 * sizeof(T)) complex {
    T re, im;
};

template <class T>
__device__ __forceinline__ complex<T> operator+(complex<T> a, complex<T> b) {
    return {a.re + b.re, a.im + b.im};
}
template <class T>
__device__ __forceinline__ complex<T> operator-(complex<T> a, complex<T> b) {
    return {a.re - b.re, a.im - b.im};
}
template <class T>
__device__ __forceinline__ complex<T> operator*(complex<T> a, complex<T> b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T>
__device__ __forceinline__ complex<T> operator*(T a, complex<T> b) {
    return {a * b.re, a * b.im};
}
template <class T>
__device__ __forceinline__ complex<T> conjugate(complex<T> a) {
    return {a.re, -a.im};
}
template <class T>
__device__ __forceinline__ complex<T> swapped(complex<T> a) {  // i times the conjugate
    return {a.im, a.re};
}
template <class T>
__device__ __forceinline__ complex<T> minus_i(complex<T> a) {  // -i a
    return {a.im, -a.re};
}

// x[r] = point(r) for all r, in a loop that is not unrolled, because point() is long and rarely
// called.
template <int R, class T, class POINT>
__device__ __forceinline__ void fill_in_loop(complex<T> (&x)[R], const POINT &point) {
#pragma unroll
    for (int r = 0; r < R; r++) x[r] = {T(0), T(0)};
#pragma unroll 1
    for (int i = 0; i < R; i++) {
        const complex<T> last = point(i);
#pragma unroll
        for (int r = 0; r + 1 < R; r++) x[r] = x[r + 1];
        x[R - 1] = last;
    }
}

// ---- loads and stores of a complex number in global memory, one access each
__device__ __forceinline__ complex<double> load_pair(const double *from) {
    double v[2];
    load_run(v, from);
    return {v[0], v[1]};
}
__device__ __forceinline__ complex<float> load_pair(const float *from) {
    float v[2];
    load_run(v, from);
    return {v[0], v[1]};
}
__device__ __forceinline__ complex<float> load_pair(const half_t *from) {
    unsigned both[1];
    load_run(both, reinterpret_cast<const unsigned *>(from));
    return {half2_low(both[0]), half2_high(both[0])};
}
template <class T>
__device__ __forceinline__ void store_pair(T *to, complex<T> z) {
    const T v[2] = {z.re, z.im};
    store_run(to, v);
}
__device__ __forceinline__ void store_pair(half_t *to, complex<float> z) {
    const unsigned both[1] = {floats_to_half2(z.re, z.im)};
    store_run(reinterpret_cast<unsigned *>(to), both);
}

// ---- complex numbers in shared memory: in the arithmetic type, or packed as two halves in one
// word
template <class S>
struct packed {
    using type = complex<S>;
};
template <>
struct packed<half_t> {
    using type = unsigned;
};
template <class T>
__device__ __forceinline__ void put(complex<T> *to, complex<T> z) {
    *to = z;
}
__device__ __forceinline__ void put(unsigned *to, complex<float> z) { *to = floats_to_half2(z.re, z.im); }
template <class T>
__device__ __forceinline__ complex<T> get(const complex<T> *from) {
    return *from;
}
__device__ __forceinline__ complex<float> get(const unsigned *from) {
    const unsigned both = *from;
    return {half2_low(both), half2_high(both)};
}

// ---- conversion to and from 32-bit words, for shuffles and cluster copies
__device__ __forceinline__ void to_words(complex<float> z, unsigned (&to)[2]) {
    to[0] = __float_as_uint(z.re), to[1] = __float_as_uint(z.im);
}
__device__ __forceinline__ void to_words(complex<double> z, unsigned (&to)[4]) {
    const long long re = __double_as_longlong(z.re), im = __double_as_longlong(z.im);
    to[0] = static_cast<unsigned>(re), to[1] = static_cast<unsigned>(re >> 32);
    to[2] = static_cast<unsigned>(im), to[3] = static_cast<unsigned>(im >> 32);
}
template <class T>
__device__ __forceinline__ complex<float> from_words(const unsigned (&w)[2]) {
    return {__uint_as_float(w[0]), __uint_as_float(w[1])};
}
template <class T>
__device__ __forceinline__ complex<double> from_words(const unsigned (&w)[4]) {
    const unsigned long long re = w[0] | static_cast<unsigned long long>(w[1]) << 32;
    const unsigned long long im = w[2] | static_cast<unsigned long long>(w[3]) << 32;
    return {__longlong_as_double(static_cast<long long>(re)), __longlong_as_double(static_cast<long long>(im))};
}
