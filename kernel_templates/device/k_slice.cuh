// Products of the smallest k-slice that mma offers for a type: 4 terms of the sum in f64, 8 in
// other types. In f64, a band that ends in the middle of a block of 8 then costs only half of this
// block.
//
//   f64      m16n8k4: a block of 8 has two slices, of each of which a lane (t = lane % 4) holds one
//            element
//   others   a slice is a block of device/fragment.cuh, of which a lane holds two elements
#pragma once
#include "device/fragment.cuh"

template <class STORE>
constexpr int k_slice_size() {
    return sizeof(STORE) == 8 ? 4 : 8;
}
template <class STORE, int PARTS>
struct k_slice {
    using operand = ::operand<STORE, PARTS>;
};
template <int PARTS>
struct k_slice<double, PARTS> {
    using operand = double;
};

// One pass of c += (top, bottom) right: rows 0 .. 7 and 8 .. 15 of the left factor.
template <class STORE, int L, int R>
__device__ __forceinline__ void k_slice_product(int pass, typename tensor<STORE>::real (&c)[4],
                                                const operand<STORE, L> &top, const operand<STORE, L> &bottom,
                                                const operand<STORE, R> &right) {
    const operand<STORE, L> tops[1] = {top}, bottoms[1] = {bottom};
    const operand<STORE, R> rights[1] = {right};
    product_pass(pass, c, tops, bottoms, rights);
}
__device__ __forceinline__ void k_slice_product(int, double (&c)[4], double top, double bottom, double right) {
    const double left[2] = {top, bottom};
    product(c, left, right);
}

// Loads COUNT k-slices of a row in shared memory that begin at an even element: elements 2t and
// 2t+1 of each block. If COUNT is odd in f64, the last slice is loaded alone: element t.
template <int PARTS, int COUNT>
__device__ __forceinline__ void load_k_slices(double (&to)[COUNT], const double *from, int t) {
    struct __align__(16) pair {
        double value[2];
    };
#pragma unroll
    for (int s = 0; s + 1 < COUNT; s += 2) {
        const pair both = *reinterpret_cast<const pair *>(from + 4 * s + 2 * t);
        to[s] = both.value[0], to[s + 1] = both.value[1];
    }
    if (COUNT % 2) to[COUNT - 1] = from[4 * (COUNT - 1) + t];
}
template <int PARTS, int COUNT, class STORE>
__device__ __forceinline__ void load_k_slices(operand<STORE, PARTS> (&to)[COUNT], const STORE *from, int t) {
#pragma unroll
    for (int s = 0; s < COUNT; s++) load_operand(to[s], from + 8 * s + 2 * t);
}

// Slice q of an accumulator block, as the left factor of the next product.
template <int PARTS>
__device__ __forceinline__ void take_k_slice(double &top, double &bottom, const double (&block)[4], int q) {
    top = block[q], bottom = block[q + 2];
}
template <int PARTS, class STORE>
__device__ __forceinline__ void take_k_slice(operand<STORE, PARTS> &top, operand<STORE, PARTS> &bottom,
                                             const float (&block)[4], int) {
    top = make_operand<STORE, PARTS>(block[0], block[1]);
    bottom = make_operand<STORE, PARTS>(block[2], block[3]);
}
