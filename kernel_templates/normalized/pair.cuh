// Points of a normalized convolution: a weighted sum of values, and the share of the weights whose
// points are there, from 0 to 1. Arrays have pairs, or numbers: the value, or value / share.
#pragma once
#include "device/number.cuh"
#include "params.cuh"

struct alignas(2 * sizeof(REAL)) normalized_pair {
    REAL value, share;
};

__device__ __forceinline__ normalized_pair pair_of(const normalized_pair &pair) { return pair; }
// A number counts whole, or, if it is NaN and NaN is missing, not at all.
template <class STORED>
__device__ __forceinline__ normalized_pair pair_of(const STORED &number) {
    const REAL value = static_cast<REAL>(to_double(number));
    const bool missing = NAN_IS_MISSING && value != value;
    return {missing ? REAL(0) : value, missing ? REAL(0) : REAL(1)};
}

__device__ __forceinline__ void put_pair(normalized_pair *to, const normalized_pair &sum) { *to = sum; }
// Where no point is there, 0 / 0: NaN.
template <class STORED>
__device__ __forceinline__ void put_pair(STORED *to, const normalized_pair &sum) {
    put(to, sum.value / sum.share);
}

__device__ __forceinline__ void add_tap(normalized_pair &sum, REAL weight, const normalized_pair &point) {
    sum.value += weight * point.value;
    sum.share += weight * point.share;
}
