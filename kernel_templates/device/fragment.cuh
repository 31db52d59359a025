// Tensor-core products of 16 x 8 x 8 with one interface for all element types.
//
//   STORE    instruction                PARTS: how many parts an element is split into
//   double   f64 m16n8k8                1: the element
//   float    tf32 m16n8k8               1: the upper 11 bits;  2: and the next 11 of the remainder
//   half_t   f16 m16n8k16, f32 sums     1: all of it (a weight: 11 bits);  2: and the next 11
//   bf16_t   bf16 m16n8k8, f32 sums     1: the upper 8 bits of a float; never a storage type
//
// The summation index is split into blocks of 8; one instruction takes STEP blocks. Of every block
// a lane (g = lane / 4, t = lane % 4) holds elements 2t and 2t+1: of rows g (top) and g + 8
// (bottom) of the left factor, of column g of the right factor. PTX has t and t + 4 instead: both
// factors are permuted in the same way, which leaves the product unchanged. An accumulator, (g,2t)
// (g,2t+1) (g+8,2t) (g+8,2t+1), therefore is the left factor of a following product without any
// shuffle.
#pragma once
#include "device/element.cuh"

struct bf16_t {
    unsigned short bits;
};

template <class STORE>
struct tensor;
template <>
struct tensor<double> {
    using real = double;  // type of sums and weights
    static constexpr int STEP = 1;
    struct pair {
        double e[2];
    };
};
template <>
struct tensor<float> {
    using real = float;
    static constexpr int STEP = 1;
    struct pair {
        unsigned e[2];
    };
};
template <>
struct tensor<half_t> {
    using real = float;
    static constexpr int STEP = 2;
    struct pair {
        unsigned e;
    };
};
template <>
struct tensor<bf16_t> {
    using real = float;
    static constexpr int STEP = 1;
    struct pair {
        unsigned e;
    };
};

// Takes part P of PARTS of two values; `low` and `high` become the remainders.
template <int P, int PARTS>
__device__ __forceinline__ void take_part(tensor<double>::pair &to, double &low, double &high) {
    to.e[0] = low, to.e[1] = high;
}
// Tensor cores ignore the low 13 bits of a tf32. With one part the value is rounded to nearest.
// With several parts the first is rounded by an integer addition, which may lose the payload of a
// NaN; the second part then keeps the value NaN. The last part is truncated: remainders have both
// signs, so truncation has no bias there.
template <int P, int PARTS>
__device__ __forceinline__ unsigned tf32_part(float value) {
    if (PARTS == 1) return float_to_tf32(value);
    return P == 0 ? (__float_as_uint(value) + 0x1000u) & ~0x1fffu : __float_as_uint(value);
}
template <int P, int PARTS>
__device__ __forceinline__ void take_part(tensor<float>::pair &to, float &low, float &high) {
    to.e[0] = tf32_part<P, PARTS>(low), to.e[1] = tf32_part<P, PARTS>(high);
    low -= __uint_as_float(to.e[0]), high -= __uint_as_float(to.e[1]);
}
template <int P, int PARTS>
__device__ __forceinline__ void take_part(tensor<half_t>::pair &to, float &low, float &high) {
    to.e = floats_to_half2(low, high);
    low -= half2_low(to.e), high -= half2_high(to.e);
}
template <int P, int PARTS>
__device__ __forceinline__ void take_part(tensor<bf16_t>::pair &to, float &low, float &high) {
    to.e = floats_to_bf16x2(low, high);
}

template <class STORE, int PARTS>
struct alignas(sizeof(typename tensor<STORE>::pair) * PARTS) operand {  // loaded in one access
    typename tensor<STORE>::pair part[PARTS];
};
template <class STORE, int PARTS>
__device__ __forceinline__ operand<STORE, PARTS> make_operand(typename tensor<STORE>::real low,
                                                              typename tensor<STORE>::real high) {
    operand<STORE, PARTS> made;
    take_part<0, PARTS>(made.part[0], low, high);
    if (PARTS > 1) take_part<1, PARTS>(made.part[PARTS - 1], low, high);
    return made;
}

// Two elements in shared memory, at any two addresses.
template <class STORE, int PARTS>
__device__ __forceinline__ void load_operand(operand<STORE, PARTS> &to, const STORE *low, const STORE *high) {
    to = make_operand<STORE, PARTS>(*low, *high);
}
__device__ __forceinline__ void load_operand(operand<half_t, 1> &to, const half_t *low, const half_t *high) {
    to.part[0].e = *low | static_cast<unsigned>(*high) << 16;
}
// Two neighbouring elements.
template <int PARTS>
__device__ __forceinline__ void load_operand(operand<double, PARTS> &to, const double *from) {
    to = make_operand<double, PARTS>(from[0], from[1]);
}
template <int PARTS>
__device__ __forceinline__ void load_operand(operand<float, PARTS> &to, const float *from) {
    const unsigned long long both = *reinterpret_cast<const unsigned long long *>(from);
    to = make_operand<float, PARTS>(__uint_as_float(static_cast<unsigned>(both)),
                                    __uint_as_float(static_cast<unsigned>(both >> 32)));
}
__device__ __forceinline__ void load_operand(operand<half_t, 1> &to, const half_t *from) {
    to.part[0].e = *reinterpret_cast<const unsigned *>(from);
}

// Two elements minus `subtrahend`, as an operand. Only f32 operands of two parts subtract it.
template <class STORE, int PARTS>
__device__ __forceinline__ void load_difference(operand<STORE, PARTS> &to, const STORE *from,
                                                typename tensor<STORE>::real) {
    load_operand(to, from);
}
__device__ __forceinline__ void load_difference(operand<float, 2> &to, const float *from, float subtrahend) {
    const unsigned long long both = *reinterpret_cast<const unsigned long long *>(from);
    to = make_operand<float, 2>(__uint_as_float(static_cast<unsigned>(both)) - subtrahend,
                                __uint_as_float(static_cast<unsigned>(both >> 32)) - subtrahend);
}
template <class STORE, int PARTS>
__device__ __forceinline__ void load_difference(operand<STORE, PARTS> &to, const STORE *low, const STORE *high,
                                                typename tensor<STORE>::real) {
    load_operand(to, low, high);
}
__device__ __forceinline__ void load_difference(operand<float, 2> &to, const float *low, const float *high,
                                                float subtrahend) {
    to = make_operand<float, 2>(*low - subtrahend, *high - subtrahend);
}

// ---- products of single parts
// The 16 x 8 x 8 product as four sm_80 instructions; their fragments have the same layout.
__device__ __forceinline__ void product_of_eights(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
    double low[2] = {c[0], c[1]}, high[2] = {c[2], c[3]};
    mma_m8n8k4(low, a[0], b[0]);
    mma_m8n8k4(low, a[2], b[1]);
    mma_m8n8k4(high, a[1], b[0]);
    mma_m8n8k4(high, a[3], b[1]);
    c[0] = low[0], c[1] = low[1], c[2] = high[0], c[3] = high[1];
}
__device__ __forceinline__ void product(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
#if __CUDA_ARCH__ >= 900
    mma_m16n8k8(c, a, b);
#else
    product_of_eights(c, a, b);
#endif
}
// 16 x 8 x 16: two such products, one after the other.
__device__ __forceinline__ void product(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
#if __CUDA_ARCH__ >= 900
    mma_m16n8k16(c, a, b);
#else
    const double first[4] = {a[0], a[1], a[2], a[3]}, then[4] = {a[4], a[5], a[6], a[7]};
    const double low[2] = {b[0], b[1]}, high[2] = {b[2], b[3]};
    product_of_eights(c, first, low), product_of_eights(c, then, high);
#endif
}
// 16 x 8 x 4: half the depth, at the same rate.
__device__ __forceinline__ void product(double (&c)[4], const double (&a)[2], double b) {
#if __CUDA_ARCH__ >= 900
    mma_m16n8k4(c, a, b);
#else
    double low[2] = {c[0], c[1]}, high[2] = {c[2], c[3]};
    mma_m8n8k4(low, a[0], b);
    mma_m8n8k4(high, a[1], b);
    c[0] = low[0], c[1] = low[1], c[2] = high[0], c[3] = high[1];
#endif
}
template <int L, int R>
__device__ __forceinline__ void product_of_parts(double (&c)[4], const operand<double, L> (&top)[1],
                                                 const operand<double, L> (&bottom)[1], int,
                                                 const operand<double, R> (&right)[1], int) {
    const double(&u)[2] = top[0].part[0].e, (&v)[2] = bottom[0].part[0].e;
    const double a[4] = {u[0], v[0], u[1], v[1]};
    product(c, a, right[0].part[0].e);
}
template <int L, int R>
__device__ __forceinline__ void product_of_parts(float (&c)[4], const operand<float, L> (&top)[1],
                                                 const operand<float, L> (&bottom)[1], int l,
                                                 const operand<float, R> (&right)[1], int r) {
    const unsigned(&u)[2] = top[0].part[l].e, (&v)[2] = bottom[0].part[l].e;
    const unsigned a[4] = {u[0], v[0], u[1], v[1]};
    mma_tf32_m16n8k8(c, a, right[0].part[r].e);
}
template <int L, int R>
__device__ __forceinline__ void product_of_parts(float (&c)[4], const operand<half_t, L> (&top)[2],
                                                 const operand<half_t, L> (&bottom)[2], int l,
                                                 const operand<half_t, R> (&right)[2], int r) {
    const unsigned a[4] = {top[0].part[l].e, bottom[0].part[l].e, top[1].part[l].e, bottom[1].part[l].e};
    const unsigned b[2] = {right[0].part[r].e, right[1].part[r].e};
    mma_f16_m16n8k16(c, a, b);
}
template <int L, int R>  // one block only: half the depth
__device__ __forceinline__ void product_of_parts(float (&c)[4], const operand<half_t, L> (&top)[1],
                                                 const operand<half_t, L> (&bottom)[1], int l,
                                                 const operand<half_t, R> (&right)[1], int r) {
    const unsigned a[2] = {top[0].part[l].e, bottom[0].part[l].e};
    mma_f16_m16n8k8(c, a, right[0].part[r].e);
}
template <int L, int R>
__device__ __forceinline__ void product_of_parts(float (&c)[4], const operand<bf16_t, L> (&top)[1],
                                                 const operand<bf16_t, L> (&bottom)[1], int,
                                                 const operand<bf16_t, R> (&right)[1], int) {
    const unsigned a[2] = {top[0].part[0].e, bottom[0].part[0].e};
    mma_bf16_m16n8k8(c, a, right[0].part[0].e);
}

// ---- products of factors in several parts: one pass for each pair of parts, smallest products
// first. The product of the two second parts is below the last bit and is left out. Passes of one
// product depend on each other, so kernels interleave the passes of several products.
constexpr int passes(int left_parts, int right_parts) { return left_parts + right_parts - 1; }
template <class STORE, int L, int R, int BLOCKS>
__device__ __forceinline__ void product_pass(int pass, typename tensor<STORE>::real (&c)[4],
                                             const operand<STORE, L> (&top)[BLOCKS],
                                             const operand<STORE, L> (&bottom)[BLOCKS],
                                             const operand<STORE, R> (&right)[BLOCKS]) {
    const bool last = pass == passes(L, R) - 1, left_rest = !last && L == 2 && pass == 0;
    product_of_parts(c, top, bottom, left_rest, right, !last && !left_rest);
}

// Tensor cores truncate an f32 sum towards zero, and over a long sum and many launches the error
// accumulates. Where full f32 precision is needed, with two parts on both sides, each product is
// summed from zero and then added to the total with rounding.
constexpr bool needs_separate_sums(int left_parts, int right_parts) { return left_parts == 2 && right_parts == 2; }
template <class REAL>
__device__ __forceinline__ void add_tile(REAL (&sum)[4], const REAL (&product)[4]) {
#pragma unroll
    for (int e = 0; e < 4; e++) sum[e] += product[e];
}
