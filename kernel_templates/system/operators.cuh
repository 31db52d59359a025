// Arithmetic of the assignments of systems. A compiler must not contract these operations, so that
// all kernels give the same bits; rendered assignments include this file.
#pragma once

__device__ __forceinline__ double product(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ float product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double sum(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ float sum(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double add_product(double weight, double value, double to) {
    return __fma_rn(weight, value, to);
}
__device__ __forceinline__ float add_product(float weight, float value, float to) {
    return __fmaf_rn(weight, value, to);
}
