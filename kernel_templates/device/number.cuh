// Number types of arrays beyond those of the dtype, and conversions to and from double, the same as
// those of the host (src/host/stencil_kernels.h).
#pragma once
#include "device/ptx.cuh"

// 16-bit types that are not half_t, and bool, a byte of 0 or 1.
struct bfloat_t {
    unsigned short bits;
};
struct u16_t {
    unsigned short value;
};
struct bool_t {
    unsigned char value;
};

__device__ __forceinline__ double to_double(double v) { return v; }
__device__ __forceinline__ double to_double(float v) { return v; }
__device__ __forceinline__ double to_double(half_t v) { return half_to_float(v); }
__device__ __forceinline__ double to_double(bfloat_t v) { return __uint_as_float(static_cast<unsigned>(v.bits) << 16); }
__device__ __forceinline__ double to_double(signed char v) { return v; }
__device__ __forceinline__ double to_double(unsigned char v) { return v; }
__device__ __forceinline__ double to_double(short v) { return v; }
__device__ __forceinline__ double to_double(u16_t v) { return v.value; }
__device__ __forceinline__ double to_double(int v) { return v; }
__device__ __forceinline__ double to_double(unsigned v) { return v; }
__device__ __forceinline__ double to_double(long long v) { return static_cast<double>(v); }
__device__ __forceinline__ double to_double(unsigned long long v) { return static_cast<double>(v); }
__device__ __forceinline__ double to_double(bool_t v) { return v.value; }

// Truncated towards zero; the least number where the value is outside of the range.
__device__ __forceinline__ long long whole_of(double v) {
    return fabs(v) < 9223372036854775808.0 ? static_cast<long long>(v) : -9223372036854775807LL - 1;
}
// Truncated, then reduced to the lowest bits. Conversion to 32 bits is faster.
__device__ __forceinline__ unsigned low_bits_of(double v) {
    return static_cast<unsigned>(fabs(v) < 2147483648.0 ? static_cast<int>(v) : static_cast<int>(whole_of(v)));
}

__device__ __forceinline__ void put(double *to, double v) { *to = v; }
__device__ __forceinline__ void put(float *to, double v) { *to = static_cast<float>(v); }
__device__ __forceinline__ void put(half_t *to, double v) { *to = float_to_half(static_cast<float>(v)); }
__device__ __forceinline__ void put(bfloat_t *to, double v) {
    const unsigned bits = __float_as_uint(static_cast<float>(v));
    const unsigned rounded = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16,
                   not_a_number = (bits >> 16 & 0x8000u) | 0x7fc0u;
    to->bits = static_cast<unsigned short>((bits & 0x7fffffffu) > 0x7f800000u ? not_a_number : rounded);
}
__device__ __forceinline__ void put(signed char *to, double v) { *to = static_cast<signed char>(low_bits_of(v)); }
__device__ __forceinline__ void put(unsigned char *to, double v) { *to = static_cast<unsigned char>(low_bits_of(v)); }
__device__ __forceinline__ void put(short *to, double v) { *to = static_cast<short>(low_bits_of(v)); }
__device__ __forceinline__ void put(u16_t *to, double v) { to->value = static_cast<unsigned short>(low_bits_of(v)); }
__device__ __forceinline__ void put(int *to, double v) { *to = static_cast<int>(low_bits_of(v)); }
__device__ __forceinline__ void put(unsigned *to, double v) { *to = low_bits_of(v); }
__device__ __forceinline__ void put(long long *to, double v) { *to = whole_of(v); }
__device__ __forceinline__ void put(unsigned long long *to, double v) {
    const bool above = v >= 9223372036854775808.0 && v < 18446744073709551616.0;
    *to = above ? static_cast<unsigned long long>(v) : static_cast<unsigned long long>(whole_of(v));
}
__device__ __forceinline__ void put(bool_t *to, double v) { to->value = whole_of(v) != 0; }

// One element of another array, converted unless both have the same type.
template <class E>
__device__ __forceinline__ void copy_number(E *to, const E *from) {
    *to = *from;
}
template <class TO, class FROM>
__device__ __forceinline__ void copy_number(TO *to, const FROM *from) {
    put(to, to_double(*from));
}
