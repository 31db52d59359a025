// A point of a normalized convolution is a pair: a weighted sum of values, and the share, from 0 to
// 1, of the weights whose points are not missing. An array has pairs or numbers. A number that is
// read has share 1, or 0 if it is missing; the number that is written is value / share.
#pragma once
#include "device/number.cuh"
#include "params.cuh"

struct alignas(2 * sizeof(REAL)) normalized_pair {
    REAL value, share;
};

__device__ __forceinline__ normalized_pair pair_of(const normalized_pair &pair) { return pair; }
// A number is missing if it is NaN and NAN_IS_MISSING is set.
template <class STORED>
__device__ __forceinline__ normalized_pair pair_of(const STORED &number) {
    const REAL value = static_cast<REAL>(to_double(number));
    const bool missing = NAN_IS_MISSING && value != value;
    return {missing ? REAL(0) : value, missing ? REAL(0) : REAL(1)};
}

__device__ __forceinline__ void put_pair(normalized_pair *to, const normalized_pair &sum) { *to = sum; }
// If all points are missing, the number is 0 / 0, NaN.
template <class STORED>
__device__ __forceinline__ void put_pair(STORED *to, const normalized_pair &sum) {
    put(to, sum.value / sum.share);
}

__device__ __forceinline__ void add_tap(normalized_pair &sum, REAL weight, const normalized_pair &point) {
    sum.value += weight * point.value;
    sum.share += weight * point.share;
}
