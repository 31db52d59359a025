// Storage and arithmetic types: what is kept in memory (double, float, half) and what it is
// computed in.
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

// Elements that stages begin late: a line of a stage begins `lead` before a tile's own columns,
// which begin a line of memory, and its 16 bytes lie in their sectors of 32 as they do in the grid.
// Those of a sector that go to two sectors are answered as one sector each
// (bench/results/2026-11-23-sparse-5.md).
template <class STORED>
__device__ constexpr int late(int lead) {
    return lead * static_cast<int>(sizeof(STORED)) % 32 ? 16 / static_cast<int>(sizeof(STORED)) : 0;
}

// One element to shared memory; there are no asynchronous copies of two bytes.
__device__ __forceinline__ void copy_element(double *to, const double *from) { copy_async_8(to, from); }
__device__ __forceinline__ void copy_element(float *to, const float *from) { copy_async_4(to, from); }
__device__ __forceinline__ void copy_element(half_t *to, const half_t *from) { *to = *from; }
__device__ __forceinline__ void copy_element(float *to, const half_t *from) { *to = widen(*from); }
