// CUDA C++ as plain C++17, for kernels in the emulator. Included before every kernel and compiled
// with each of them, so it is kept small.
#pragma once
#include "engine.h"

#define __CUDACC__ 1
#define __CUDACC_RTC__ 1
#define STENTOR_EMULATOR 1
#define __device__
#define __host__
// __global__ becomes an attribute unknown to the compiler, which the emulator searches for. With
// the race detector kernels are inline: g++ -fsanitize=thread does not instrument static arrays of
// a file whose address does not escape, but it does those of an inline function.
#ifdef STENTOR_EMULATOR_RACES
#define __global__ inline __attribute__((stn_kernel))
#else
#define __global__ __attribute__((stn_kernel))
#endif
#define __constant__ __attribute__((visibility("default")))
#define __grid_constant__
#define __launch_bounds__(...) __attribute__((stn_bounds(__VA_ARGS__)))
#define __maxnreg__(...)
#define __cluster_dims__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __align__(n) __attribute__((aligned(n)))
#define __restrict __restrict__
#define memcpy __builtin_memcpy

using size_t = decltype(sizeof 0);
constexpr int warpSize = 32;

namespace stn_emulator {
extern const Engine *engine;  // set when the module is loaded
__forceinline__ Thread *self() {
#if defined(__x86_64__)
    unsigned long sp;
    asm("mov %%rsp, %0" : "=r"(sp));  // not volatile: one read serves a whole function
#else
    unsigned long sp = (unsigned long)__builtin_frame_address(0);
#endif
    return (Thread *)(sp & ~(REGION_BYTES - 1)) + (sp % REGION_BYTES) / STACK_BYTES;
}
}  // namespace stn_emulator

#define threadIdx (stn_emulator::self()->index)
#define blockIdx (stn_emulator::self()->block->index)
#define blockDim (stn_emulator::self()->block->threads)
#define gridDim (stn_emulator::self()->block->grid)
// Dynamic shared memory is found through the stack pointer; the emulator removes its declaration.
// Static shared arrays belong to an OS thread, which runs one block at a time; they are not
// poisoned and have no guard page, so use them for small fixed tables only.
#define __shared__ static thread_local
#define stn_shared (stn_emulator::self()->block->shared)

#define STN_WHERE stn_emulator::Place place = stn_emulator::Place::here()

// ---- barriers, votes, shuffles
__forceinline__ void __syncthreads(STN_WHERE) {
    stn_emulator::engine->barrier(0, 0, stn_emulator::REDUCE_NONE, 0, place);
}
__forceinline__ int __syncthreads_or(int p, STN_WHERE) {
    return stn_emulator::engine->barrier(0, 0, stn_emulator::REDUCE_OR, p, place);
}
__forceinline__ int __syncthreads_and(int p, STN_WHERE) {
    return stn_emulator::engine->barrier(0, 0, stn_emulator::REDUCE_AND, p, place);
}
__forceinline__ int __syncthreads_count(int p, STN_WHERE) {
    return stn_emulator::engine->barrier(0, 0, stn_emulator::REDUCE_COUNT, p, place);
}
__forceinline__ void __syncwarp(unsigned mask = 0xffffffffu, STN_WHERE) {
    stn_emulator::engine->vote(stn_emulator::VOTE_SYNC, mask, 0, place);
}
__forceinline__ unsigned __ballot_sync(unsigned mask, int p, STN_WHERE) {
    return stn_emulator::engine->vote(stn_emulator::VOTE_BALLOT, mask, p, place);
}
__forceinline__ int __any_sync(unsigned mask, int p, STN_WHERE) {
    return (int)stn_emulator::engine->vote(stn_emulator::VOTE_ANY, mask, p, place);
}
__forceinline__ int __all_sync(unsigned mask, int p, STN_WHERE) {
    return (int)stn_emulator::engine->vote(stn_emulator::VOTE_ALL, mask, p, place);
}
namespace stn_emulator {
template <class T>
__forceinline__ T shuffle(Shuffle mode, unsigned mask, T value, int argument, int width, Place place) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "only 4 and 8 byte values are shuffled");
    unsigned long long bits = 0;
    __builtin_memcpy(&bits, &value, sizeof(T));
    bits = engine->shuffle(mode, mask, bits, argument, width, place);
    __builtin_memcpy(&value, &bits, sizeof(T));
    return value;
}
}  // namespace stn_emulator
template <class T>
__forceinline__ T __shfl_sync(unsigned mask, T value, int lane, int width = 32, STN_WHERE) {
    return stn_emulator::shuffle(stn_emulator::SHUFFLE_INDEX, mask, value, lane, width, place);
}
template <class T>
__forceinline__ T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, STN_WHERE) {
    return stn_emulator::shuffle(stn_emulator::SHUFFLE_UP, mask, value, (int)delta, width, place);
}
template <class T>
__forceinline__ T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, STN_WHERE) {
    return stn_emulator::shuffle(stn_emulator::SHUFFLE_DOWN, mask, value, (int)delta, width, place);
}
template <class T>
__forceinline__ T __shfl_xor_sync(unsigned mask, T value, int lanes, int width = 32, STN_WHERE) {
    return stn_emulator::shuffle(stn_emulator::SHUFFLE_XOR, mask, value, lanes, width, place);
}

__forceinline__ void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__forceinline__ void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__forceinline__ void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
__forceinline__ long long clock64() { return stn_emulator::engine->clock(); }
__forceinline__ int clock() { return (int)stn_emulator::engine->clock(); }
__forceinline__ void __trap(STN_WHERE) { stn_emulator::engine->fail("__trap() was called", place); }
#define assert(condition)                                                                                              \
    ((condition) ? (void)0 : stn_emulator::engine->fail("assertion failed: " #condition, stn_emulator::Place::here()))
extern "C" int printf(const char *, ...);

// ---- atomics; real ones, since blocks run on several OS threads
namespace stn_emulator {
template <class T>
struct Bits {
    using type = unsigned long long;
};
template <>
struct Bits<float> {
    using type = unsigned;
};
template <class T>
__forceinline__ T atomic_add_float(T *p, T v) {
    using B = typename Bits<T>::type;
    B *bits = (B *)p, seen = __atomic_load_n(bits, __ATOMIC_SEQ_CST), next;
    T value;
    do {
        __builtin_memcpy(&value, &seen, sizeof value);
        T sum = value + v;
        __builtin_memcpy(&next, &sum, sizeof next);
    } while (!__atomic_compare_exchange_n(bits, &seen, next, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    return value;
}
template <class T>
__forceinline__ T atomic_pick(T *p, T v, bool larger) {
    T seen = __atomic_load_n(p, __ATOMIC_SEQ_CST);
    while ((larger ? v > seen : v < seen) &&
           !__atomic_compare_exchange_n(p, &seen, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return seen;
}
}  // namespace stn_emulator
#define STN_ATOMICS(T)                                                                                                 \
    __forceinline__ T atomicAdd(T *p, T v) { return __atomic_fetch_add(p, v, __ATOMIC_SEQ_CST); }                      \
    __forceinline__ T atomicMax(T *p, T v) { return stn_emulator::atomic_pick(p, v, true); }                           \
    __forceinline__ T atomicMin(T *p, T v) { return stn_emulator::atomic_pick(p, v, false); }                          \
    __forceinline__ T atomicExch(T *p, T v) { return __atomic_exchange_n(p, v, __ATOMIC_SEQ_CST); }                    \
    __forceinline__ T atomicOr(T *p, T v) { return __atomic_fetch_or(p, v, __ATOMIC_SEQ_CST); }                        \
    __forceinline__ T atomicAnd(T *p, T v) { return __atomic_fetch_and(p, v, __ATOMIC_SEQ_CST); }                      \
    __forceinline__ T atomicXor(T *p, T v) { return __atomic_fetch_xor(p, v, __ATOMIC_SEQ_CST); }                      \
    __forceinline__ T atomicCAS(T *p, T seen, T v) {                                                                   \
        __atomic_compare_exchange_n(p, &seen, v, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                           \
        return seen;                                                                                                   \
    }
STN_ATOMICS(int)
STN_ATOMICS(unsigned)
STN_ATOMICS(unsigned long long)
__forceinline__ int atomicSub(int *p, int v) { return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST); }
__forceinline__ unsigned atomicSub(unsigned *p, unsigned v) { return __atomic_fetch_sub(p, v, __ATOMIC_SEQ_CST); }
__forceinline__ float atomicAdd(float *p, float v) { return stn_emulator::atomic_add_float(p, v); }
__forceinline__ double atomicAdd(double *p, double v) { return stn_emulator::atomic_add_float(p, v); }
__forceinline__ float atomicExch(float *p, float v) {
    __atomic_exchange(p, &v, &v, __ATOMIC_SEQ_CST);
    return v;
}

// ---- vector types
#define STN_VECTOR(T, N, ALIGN)                                                                                        \
    struct alignas(2 * ALIGN) N##2 {                                                                                   \
        T x, y;                                                                                                        \
    };                                                                                                                 \
    struct alignas(4 * ALIGN > 16 ? 16 : 4 * ALIGN) N##4 {                                                             \
        T x, y, z, w;                                                                                                  \
    };                                                                                                                 \
    __forceinline__ N##2 make_##N##2(T x, T y) { return {x, y}; }                                                      \
    __forceinline__ N##4 make_##N##4(T x, T y, T z, T w) { return {x, y, z, w}; }
STN_VECTOR(int, int, 4)
STN_VECTOR(unsigned, uint, 4)
STN_VECTOR(float, float, 4)
STN_VECTOR(double, double, 8)
STN_VECTOR(long long, longlong, 8)
STN_VECTOR(unsigned short, ushort, 2)
STN_VECTOR(unsigned char, uchar, 1)

// ---- loads and stores with cache hints
template <class T>
__forceinline__ T __ldg(const T *p) {
    return *p;
}
template <class T>
__forceinline__ T __ldcs(const T *p) {
    return *p;
}
template <class T>
__forceinline__ T __ldcg(const T *p) {
    return *p;
}
template <class T>
__forceinline__ T __ldca(const T *p) {
    return *p;
}
template <class T>
__forceinline__ void __stcs(T *p, T v) {
    *p = v;
}
template <class T>
__forceinline__ void __stcg(T *p, T v) {
    *p = v;
}
__forceinline__ size_t __cvta_generic_to_shared(const void *p) {
    return (size_t)((const unsigned char *)p - stn_shared);
}

// ---- bits
template <class To, class From>
__forceinline__ To stn_bits(From from) {
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    __builtin_memcpy(&to, &from, sizeof to);
    return to;
}
__forceinline__ unsigned __float_as_uint(float f) { return stn_bits<unsigned>(f); }
__forceinline__ int __float_as_int(float f) { return stn_bits<int>(f); }
__forceinline__ float __uint_as_float(unsigned u) { return stn_bits<float>(u); }
__forceinline__ float __int_as_float(int i) { return stn_bits<float>(i); }
__forceinline__ long long __double_as_longlong(double d) { return stn_bits<long long>(d); }
__forceinline__ double __longlong_as_double(long long l) { return stn_bits<double>(l); }
__forceinline__ int __double2hiint(double d) { return (int)(stn_bits<unsigned long long>(d) >> 32); }
__forceinline__ int __double2loint(double d) { return (int)stn_bits<unsigned long long>(d); }
__forceinline__ double __hiloint2double(int hi, int lo) {
    return stn_bits<double>((unsigned long long)(unsigned)hi << 32 | (unsigned)lo);
}
__forceinline__ int __popc(unsigned u) { return __builtin_popcount(u); }
__forceinline__ int __popcll(unsigned long long u) { return __builtin_popcountll(u); }
__forceinline__ int __ffs(int i) { return __builtin_ffs(i); }
__forceinline__ int __clz(int i) { return i ? __builtin_clz((unsigned)i) : 32; }
__forceinline__ int __clzll(long long i) { return i ? __builtin_clzll((unsigned long long)i) : 64; }
__forceinline__ unsigned __brev(unsigned u) {
    unsigned r = 0;
    for (int i = 0; i < 32; i++) r |= (u >> i & 1u) << (31 - i);
    return r;
}
__forceinline__ unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
__forceinline__ int __mulhi(int a, int b) { return (int)((long long)a * b >> 32); }
__forceinline__ unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
    return (unsigned long long)((unsigned __int128)a * b >> 64);
}
__forceinline__ unsigned __byte_perm(unsigned x, unsigned y, unsigned s) {
    unsigned long long both = (unsigned long long)y << 32 | x;
    unsigned r = 0;
    for (int i = 0; i < 4; i++) {
        unsigned pick = s >> (4 * i), byte = (unsigned)(both >> (8 * (pick & 7))) & 0xffu;
        if (pick & 8) byte = byte & 0x80u ? 0xffu : 0;
        r |= byte << (8 * i);
    }
    return r;
}
__forceinline__ unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) {
    return (unsigned)((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32);
}
__forceinline__ unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) {
    return (unsigned)(((unsigned long long)hi << 32 | lo) >> (n & 31));
}

// ---- arithmetic
#define STN_MIN_MAX(T)                                                                                                 \
    __forceinline__ T min(T a, T b) { return b < a ? b : a; }                                                          \
    __forceinline__ T max(T a, T b) { return a < b ? b : a; }
STN_MIN_MAX(int)
STN_MIN_MAX(unsigned)
STN_MIN_MAX(long)
STN_MIN_MAX(unsigned long)
STN_MIN_MAX(long long)
STN_MIN_MAX(unsigned long long)
__forceinline__ unsigned min(int a, unsigned b) { return min((unsigned)a, b); }
__forceinline__ unsigned min(unsigned a, int b) { return min(a, (unsigned)b); }
__forceinline__ unsigned max(int a, unsigned b) { return max((unsigned)a, b); }
__forceinline__ unsigned max(unsigned a, int b) { return max(a, (unsigned)b); }
#define STN_MATH_1(word)                                                                                               \
    __forceinline__ double word(double x) { return __builtin_##word(x); }                                              \
    __forceinline__ float word(float x) { return __builtin_##word##f(x); }                                             \
    __forceinline__ float word##f(float x) { return __builtin_##word##f(x); }
#define STN_MATH_2(word)                                                                                               \
    __forceinline__ double word(double x, double y) { return __builtin_##word(x, y); }                                 \
    __forceinline__ float word(float x, float y) { return __builtin_##word##f(x, y); }                                 \
    __forceinline__ float word##f(float x, float y) { return __builtin_##word##f(x, y); }
STN_MATH_1(sqrt)
STN_MATH_1(fabs)
STN_MATH_1(floor)
STN_MATH_1(ceil)
STN_MATH_1(trunc)
STN_MATH_1(round)
STN_MATH_1(rint)
STN_MATH_1(exp)
STN_MATH_1(exp2)
STN_MATH_1(log)
STN_MATH_1(log2)
STN_MATH_1(sin)
STN_MATH_1(cos)
STN_MATH_1(tan)
STN_MATH_1(tanh)
STN_MATH_1(erf)
STN_MATH_2(pow)
STN_MATH_2(fmod)
STN_MATH_2(fmin)
STN_MATH_2(fmax)
STN_MATH_2(atan2)
STN_MATH_2(copysign)
__forceinline__ double fma(double a, double b, double c) { return __builtin_fma(a, b, c); }
__forceinline__ float fma(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__forceinline__ float fmaf(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__forceinline__ float __fmaf_rn(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
__forceinline__ double __fma_rn(double a, double b, double c) { return __builtin_fma(a, b, c); }
// Prevents contraction: the empty asm hides the product or sum from the compiler.
#define STN_ROUNDED(name, T, op)                                                                                       \
    __forceinline__ T name(T a, T b) {                                                                                 \
        T r = a op b;                                                                                                  \
        asm("" : "+x"(r));                                                                                             \
        return r;                                                                                                      \
    }
STN_ROUNDED(__fadd_rn, float, +)
STN_ROUNDED(__fsub_rn, float, -)
STN_ROUNDED(__fmul_rn, float, *)
STN_ROUNDED(__fdiv_rn, float, /)
STN_ROUNDED(__dadd_rn, double, +)
STN_ROUNDED(__dsub_rn, double, -)
STN_ROUNDED(__dmul_rn, double, *)
STN_ROUNDED(__ddiv_rn, double, /)
__forceinline__ float min(float a, float b) { return __builtin_fminf(a, b); }
__forceinline__ float max(float a, float b) { return __builtin_fmaxf(a, b); }
__forceinline__ double min(double a, double b) { return __builtin_fmin(a, b); }
__forceinline__ double max(double a, double b) { return __builtin_fmax(a, b); }
__forceinline__ int abs(int a) { return a < 0 ? -a : a; }
__forceinline__ long abs(long a) { return a < 0 ? -a : a; }
__forceinline__ long long abs(long long a) { return a < 0 ? -a : a; }
__forceinline__ float abs(float a) { return __builtin_fabsf(a); }
__forceinline__ double abs(double a) { return __builtin_fabs(a); }
__forceinline__ float rsqrtf(float x) { return 1.0f / __builtin_sqrtf(x); }
__forceinline__ float rsqrt(float x) { return 1.0f / __builtin_sqrtf(x); }
__forceinline__ double rsqrt(double x) { return 1.0 / __builtin_sqrt(x); }
__forceinline__ void sincos(double x, double *s, double *c) { *s = sin(x), *c = cos(x); }
__forceinline__ void sincosf(float x, float *s, float *c) { *s = sin(x), *c = cos(x); }
__forceinline__ bool isnan(float x) { return __builtin_isnan(x); }
__forceinline__ bool isnan(double x) { return __builtin_isnan(x); }
__forceinline__ bool isinf(float x) { return __builtin_isinf(x); }
__forceinline__ bool isinf(double x) { return __builtin_isinf(x); }
__forceinline__ bool isfinite(float x) { return __builtin_isfinite(x); }
__forceinline__ bool isfinite(double x) { return __builtin_isfinite(x); }
__forceinline__ int __float2int_rn(float x) { return (int)__builtin_rintf(x); }
__forceinline__ int __double2int_rn(double x) { return (int)__builtin_rint(x); }

// ---- calling a kernel: a thunk made from its type; the emulator appends one per __global__
// function
namespace stn_emulator {
template <class... A>
struct Arguments {
    static constexpr unsigned count = sizeof...(A);
    static inline const unsigned sizes[sizeof...(A) + 1] = {sizeof(A)..., 0};
};
template <class... A>
Arguments<A...> arguments(void (*)(A...));
constexpr int first(int threads = 1024, int = 0, int = 0) { return threads; }
template <unsigned... I>
struct Indices {};
template <unsigned N, unsigned... I>
struct Count : Count<N - 1, N - 1, I...> {};
template <unsigned... I>
struct Count<0, I...> {
    using type = Indices<I...>;
};
template <class... A, unsigned... I>
void call(void (*kernel)(A...), void *const *values, Indices<I...>) {
    kernel(*(A *)values[I]...);
}
template <class... A>
void call(void (*kernel)(A...), void *const *values) {
    call(kernel, values, typename Count<sizeof...(A)>::type());
}
}  // namespace stn_emulator
