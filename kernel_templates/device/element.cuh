// Storage types (double, float, half) and conversions to and from the arithmetic type.
#pragma once
#include "device/ptx.cuh"

__device__ __forceinline__ double widen(double v) { return v; }
__device__ __forceinline__ float widen(float v) { return v; }
__device__ __forceinline__ float widen(half_t v) { return half_to_float(v); }
template <class S>
__device__ __forceinline__ S narrow(double v) {
    return static_cast<S>(v);
}
template <class S>
__device__ __forceinline__ S narrow(float v) {
    return static_cast<S>(v);
}
template <>
__device__ __forceinline__ half_t narrow<half_t>(float v) {
    return float_to_half(v);
}

// Leading pad, in elements, of a shared-memory stage. A line of a stage begins `lead` elements
// before the tile's own columns, which begin on a cache line. With the pad, each 16-byte
// asynchronous copy has the same offset within its 32-byte sector in shared memory as in the grid;
// otherwise a sector that is split over two sectors costs two transactions.
template <class STORED>
__device__ constexpr int alignment_pad(int lead) {
    return lead * static_cast<int>(sizeof(STORED)) % 32 ? 16 / static_cast<int>(sizeof(STORED)) : 0;
}

// Copies one element to shared memory. There are no asynchronous copies of two bytes.
__device__ __forceinline__ void copy_element(double *to, const double *from) { copy_async_8(to, from); }
__device__ __forceinline__ void copy_element(float *to, const float *from) { copy_async_4(to, from); }
__device__ __forceinline__ void copy_element(half_t *to, const half_t *from) { *to = *from; }
__device__ __forceinline__ void copy_element(float *to, const half_t *from) { *to = widen(*from); }
