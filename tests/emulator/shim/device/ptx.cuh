// The emulator's version of kernel_templates/device/ptx.cuh: the same functions in C++. Fragment
// layouts are in ../../mma.cpp.
#pragma once
using half_t = unsigned short;  // IEEE binary16 bits

// ---- half <-> float, rounded to nearest even; NaN becomes the canonical NaN of GPUs
__device__ __forceinline__ float half_to_float(half_t h) {
    unsigned sign = (unsigned)(h & 0x8000u) << 16, magnitude = h & 0x7fffu;
    if (magnitude > 0x7c00u) return __uint_as_float(0x7fffffffu);
    if (magnitude == 0x7c00u) return __uint_as_float(sign | 0x7f800000u);
    // Read as a float, the bits are the value times 2^-112, subnormals included: an exact product.
    return __uint_as_float(sign | __float_as_uint(__uint_as_float(magnitude << 13) * 0x1p112f));
}
__device__ __forceinline__ half_t float_to_half(float f) {
    unsigned bits = __float_as_uint(f), sign = bits >> 16 & 0x8000u;
    bits &= 0x7fffffffu;
    if (bits > 0x7f800000u) return 0x7fff;
    if (bits >= 0x477ff000u) return (half_t)(sign | 0x7c00u);  // rounds past 65504
    // Below 2^-14 the sum's last bit is 2^-24, so it rounds as the subnormal does.
    if (bits < 0x38800000u) return (half_t)(sign | (__float_as_uint(__uint_as_float(bits) + 0.5f) - 0x3f000000u));
    return (half_t)(sign | ((bits - 0x38000000u + 0xfffu + (bits >> 13 & 1u)) >> 13));
}
__device__ __forceinline__ unsigned floats_to_half2(float first, float second) {
    return float_to_half(first) | (unsigned)float_to_half(second) << 16;
}
__device__ __forceinline__ float half2_low(unsigned both) { return half_to_float((half_t)both); }
__device__ __forceinline__ float half2_high(unsigned both) { return half_to_float((half_t)(both >> 16)); }

// ---- sine and cosine of an angle from -pi to pi, cut to about the precision of a GPU
__device__ __forceinline__ float sin_approx(float angle) { return rintf(sinf(angle) * 0x1p20f) * 0x1p-20f; }
__device__ __forceinline__ float cos_approx(float angle) { return rintf(cosf(angle) * 0x1p20f) * 0x1p-20f; }

// ---- vectors of N elements in one access
template <class T, int N>
__device__ __forceinline__ void check_run(const T *p, stn_emulator::Place place) {
    static_assert(N * sizeof(T) == 2 || N * sizeof(T) == 4 || N * sizeof(T) == 8 || N * sizeof(T) == 16, "one access");
    if ((size_t)p % (N * sizeof(T))) stn_emulator::engine->misaligned(p, N * sizeof(T), place);
    const stn_emulator::Block *const block = stn_emulator::self()->block;
    const size_t within = (size_t)p - (size_t)block->shared;
    if (within < block->shared_bytes) stn_emulator::engine->fail("a run of shared memory, not of global memory", place);
}
template <class T, int N>
__device__ __forceinline__ void load_run(T (&to)[N], const T *from, STN_WHERE) {
    check_run<T, N>(from, place);
    __builtin_memcpy(to, __builtin_assume_aligned(from, sizeof to), sizeof to);
}
template <class T, int N>
__device__ __forceinline__ void load_own_run(T (&to)[N], const T *from, STN_WHERE) {
    load_run(to, from, place);
}
template <class T, int N>
__device__ __forceinline__ void store_run(T *to, const T (&from)[N], STN_WHERE) {
    check_run<T, N>(to, place);
    __builtin_memcpy(__builtin_assume_aligned(to, sizeof from), from, sizeof from);
}
template <int N>
__device__ __forceinline__ void store_run_if(unsigned flags, unsigned flag, unsigned *to, const unsigned (&from)[N],
                                             STN_WHERE) {
    if (flags & flag) store_run(to, from, place);
}

template <class T>
__device__ __forceinline__ void store_if(unsigned flags, unsigned flag, T *to, T value) {
    if (flags & flag) *to = value;
}

template <class T, int N>
__device__ __forceinline__ void load_shared_run(T (&to)[N], const T *from, STN_WHERE) {
    const size_t within = (size_t)from - (size_t)stn_emulator::self()->block->shared;
    if ((size_t)from % sizeof to) stn_emulator::engine->misaligned(from, sizeof to, place);
    if (within >= stn_emulator::self()->block->shared_bytes)
        stn_emulator::engine->fail("a run of global memory, not of shared memory", place);
    __builtin_memcpy(to, __builtin_assume_aligned(from, sizeof to), sizeof to);
}

// ---- asynchronous copies, global to shared; a group is all copies since the last commit
__device__ __forceinline__ unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }
__device__ __forceinline__ void copy_async_16(void *to, const void *from, STN_WHERE) {
    stn_emulator::engine->copy_async(to, from, 16, place);
}
__device__ __forceinline__ void copy_async_16_of_256(void *to, const void *from, STN_WHERE) {
    stn_emulator::engine->copy_async(to, from, 16, place);
}
__device__ __forceinline__ void copy_async_8(void *to, const void *from, STN_WHERE) {
    stn_emulator::engine->copy_async(to, from, 8, place);
}
__device__ __forceinline__ void copy_async_4(void *to, const void *from, STN_WHERE) {
    stn_emulator::engine->copy_async(to, from, 4, place);
}
template <int BYTES>
__device__ __forceinline__ void copy_async_if(unsigned flags, unsigned flag, void *to, const void *from, STN_WHERE) {
    if (flags & flag) stn_emulator::engine->copy_async(to, from, BYTES, place);
}
__device__ __forceinline__ void copy_async_commit() { stn_emulator::engine->copy_async_commit(); }
template <int N>
__device__ __forceinline__ void copy_async_wait(STN_WHERE) {
    stn_emulator::engine->copy_async_wait(N, place);
}

__device__ __forceinline__ void hide_from_optimizer(int &i) { asm volatile("" : "+r"(i)); }
template <class T>
__device__ __forceinline__ void hide_from_optimizer(T *&p) {
    asm volatile("" : "+r"(p));
}

// ---- matrix products, c += a b: the last lane to arrive computes the whole warp's product
#define STN_MMA(name, SHAPE, C, NC, A, NA, B, NB)                                                                      \
    __device__ __forceinline__ void name(C(&c)[NC], const A(&a)[NA], const B(&b)[NB], STN_WHERE) {                     \
        stn_emulator::engine->mma(stn_emulator::SHAPE, c, a, b, 0, 0, place);                                          \
    }
#define STN_MMA_ONE_B(name, SHAPE, C, NC, A, NA, B)                                                                    \
    __device__ __forceinline__ void name(C(&c)[NC], const A(&a)[NA], B b, STN_WHERE) {                                 \
        stn_emulator::engine->mma(stn_emulator::SHAPE, c, a, &b, 0, 0, place);                                         \
    }
#define STN_MMA_SPARSE(name, SHAPE, NA, NB)                                                                            \
    template <int SELECTOR>                                                                                            \
    __device__ __forceinline__ void name(float(&c)[4], const unsigned(&a)[NA], const unsigned(&b)[NB], unsigned meta,  \
                                         STN_WHERE) {                                                                  \
        stn_emulator::engine->mma(stn_emulator::SHAPE, c, a, b, meta, SELECTOR, place);                                \
    }
__device__ __forceinline__ void mma_m8n8k4(double (&c)[2], double a, double b, STN_WHERE) {
    stn_emulator::engine->mma(stn_emulator::MMA_F64_M8N8K4, c, &a, &b, 0, 0, place);
}
#if __CUDA_ARCH__ >= 900
STN_MMA_ONE_B(mma_m16n8k4, MMA_F64_M16N8K4, double, 4, double, 2, double)
STN_MMA(mma_m16n8k8, MMA_F64_M16N8K8, double, 4, double, 4, double, 2)
STN_MMA(mma_m16n8k16, MMA_F64_M16N8K16, double, 4, double, 8, double, 4)
#endif
STN_MMA_ONE_B(mma_bf16_m16n8k8, MMA_BF16_M16N8K8, float, 4, unsigned, 2, unsigned)
// Round to nearest, ties to even, at 7 bits of mantissa.
__device__ __forceinline__ unsigned floats_to_bf16x2(float first, float second) {
    unsigned two[2] = {__float_as_uint(first), __float_as_uint(second)};
    for (unsigned &bits : two)
        bits = (bits & 0x7fffffffu) > 0x7f800000u ? 0x7fffu : (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16;
    return two[0] | two[1] << 16;
}
STN_MMA_ONE_B(mma_f16_m16n8k8, MMA_F16_M16N8K8, float, 4, unsigned, 2, unsigned)
STN_MMA(mma_f16_m16n8k16, MMA_F16_M16N8K16, float, 4, unsigned, 4, unsigned, 2)
// Round to nearest, ties away from zero, at 10 bits of mantissa.
__device__ __forceinline__ unsigned float_to_tf32(float f) {
    unsigned bits = __float_as_uint(f);
    if ((bits & 0x7f800000u) == 0x7f800000u) return bits & 0x7fffffu ? 0x7fffffffu : bits;
    return (bits + 0x1000u) & ~0x1fffu;
}
STN_MMA_ONE_B(mma_tf32_m16n8k4, MMA_TF32_M16N8K4, float, 4, unsigned, 2, unsigned)
STN_MMA(mma_tf32_m16n8k8, MMA_TF32_M16N8K8, float, 4, unsigned, 4, unsigned, 2)
__device__ __forceinline__ void mma_s8_m16n8k32(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                                const int (&c)[4], STN_WHERE) {
    for (int i = 0; i < 4; i++) d[i] = c[i];
    stn_emulator::engine->mma(stn_emulator::MMA_S8_M16N8K32, d, a, b, 0, 0, place);
}
// An unsigned byte is a signed one and twice 64.
__device__ __forceinline__ void mma_u8_m16n8k32(int (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2],
                                                const int (&c)[4], STN_WHERE) {
    const unsigned signed_bytes[4] = {a[0] ^ 0x80808080u, a[1] ^ 0x80808080u, a[2] ^ 0x80808080u, a[3] ^ 0x80808080u},
                   middle[4] = {0x40404040u, 0x40404040u, 0x40404040u, 0x40404040u};
    mma_s8_m16n8k32(d, signed_bytes, b, c, place);
    for (int i = 0; i < 2; i++) mma_s8_m16n8k32(d, middle, b, d, place);
}
__device__ __forceinline__ void load_matrices_transposed(unsigned (&to)[4], const void *row, STN_WHERE) {
    const int lane = (int)(stn_emulator::self()->linear % 32), g = lane / 4, t = lane % 4;
    for (int i = 0; i < 8; i++) {  // row 2t + i % 2 of matrix i / 2
        const unsigned short *const from =
            stn_emulator::shuffle(stn_emulator::SHUFFLE_INDEX, 0xffffffffu, static_cast<const unsigned short *>(row),
                                  8 * (i / 2) + 2 * t + i % 2, 32, place);
        to[i / 2] = (i % 2 ? to[i / 2] : 0) | static_cast<unsigned>(from[g]) << (16 * (i % 2));
    }
}
STN_MMA_SPARSE(mma_sp_f16_m16n8k16, MMA_SP_F16_M16N8K16, 2, 2)
STN_MMA_SPARSE(mma_sp_f16_m16n8k32, MMA_SP_F16_M16N8K32, 4, 4)
STN_MMA_SPARSE(mma_sp_tf32_m16n8k8, MMA_SP_TF32_M16N8K8, 2, 2)
STN_MMA_SPARSE(mma_sp_tf32_m16n8k16, MMA_SP_TF32_M16N8K16, 4, 4)

__device__ __forceinline__ unsigned min_u16x2(unsigned a, unsigned b) {
    const unsigned low_a = a & 0xffffu, low_b = b & 0xffffu, high_a = a >> 16, high_b = b >> 16;
    return (low_a < low_b ? low_a : low_b) | (high_a < high_b ? high_a : high_b) << 16;
}

__device__ __forceinline__ unsigned transpose_halves(unsigned two, STN_WHERE) {
    const unsigned lane = stn_emulator::self()->linear % 32, row = lane / 4, pair = lane % 4;
    unsigned both = 0;
    for (int e = 0; e < 2; e++) {  // the lane's column of rows 2 pair and 2 pair + 1
        const unsigned got = (unsigned)stn_emulator::engine->shuffle(stn_emulator::SHUFFLE_INDEX, 0xffffffffu, two,
                                                                     (int)(4 * (2 * pair + e) + row / 2), 32, place);
        both |= (got >> (16 * (row % 2)) & 0xffffu) << (16 * e);
    }
    return both;
}

__device__ __forceinline__ void prefetch_l2(const void *, unsigned) {}

// ---- programmatic dependent launch; some blocks of the dependent launch begin before this one
__device__ __forceinline__ void let_next_launch_begin() {}
__device__ __forceinline__ void wait_for_previous_launch(STN_WHERE) { stn_emulator::engine->wait_for_launch(place); }

// ---- clusters
__device__ __forceinline__ unsigned cluster_rank() { return stn_emulator::self()->block->rank; }
__device__ __forceinline__ void cluster_barrier(STN_WHERE) { stn_emulator::engine->cluster_barrier(place); }
template <int N>
__device__ __forceinline__ void cluster_load(unsigned (&to)[N], const unsigned *from, unsigned rank, STN_WHERE) {
    static_assert(N == 2 || N == 4, "8 or 16 bytes");
    const void *there = stn_emulator::engine->cluster_shared(from, sizeof to, rank, place);
    __builtin_memcpy(to, there, sizeof to);
}
template <int N>
__device__ __forceinline__ void cluster_store(unsigned *to, const unsigned (&from)[N], unsigned rank, STN_WHERE) {
    static_assert(N == 2 || N == 4, "8 or 16 bytes");
    const void *there = stn_emulator::engine->cluster_shared(to, sizeof from, rank, place);
    __builtin_memcpy(const_cast<void *>(there), from, sizeof from);
}
