// All inline PTX of the kernels, as functions with plain names. The emulator has the same functions
// in C++ (tests/emulator/shim/device/ptx.cuh); a function added here is added there. Fragment
// layouts (PTX ISA, "Matrix fragments for mma"), with g = lane / 4 and t = lane % 4:
//   f64 m8n8k4    a: (g,t)              b: (t,g)            c: (g,2t) (g,2t+1)
//   f64 m16n8k4   a: (g,t) (g+8,t)      b: (t,g)            c: (g,2t) (g,2t+1) (g+8,2t) (g+8,2t+1)
//   f64 m16n8k8   a: (g,t) (g+8,t) (g,t+4) (g+8,t+4)          b: (t,g) (t+4,g)       c: as above
//   f64 m16n8k16  a: (g,t) (g+8,t) (g,t+4) (g+8,t+4) .. (g,t+12) (g+8,t+12)
//                 b: (t,g) (t+4,g) (t+8,g) (t+12,g)           c: as above
#pragma once
using half_t = unsigned short;  // IEEE binary16 bits
// ---- half <-> float, round to nearest even
__device__ __forceinline__ float half_to_float(half_t h) {
    float f;
    asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(h));
    return f;
}
__device__ __forceinline__ half_t float_to_half(float f) {
    half_t h;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(f));
    return h;
}
// Two halves in one word, the first in the lower part.
__device__ __forceinline__ unsigned floats_to_half2(float first, float second) {
    unsigned both;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}
__device__ __forceinline__ float half2_low(unsigned both) {
    float f;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low;}" : "=f"(f) : "r"(both));
    return f;
}
__device__ __forceinline__ float half2_high(unsigned both) {
    float f;
    asm("{.reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, high;}" : "=f"(f) : "r"(both));
    return f;
}

// ---- sine and cosine of an angle in [-pi, pi], with an error of about 2^-20
__device__ __forceinline__ float sin_approx(float angle) {
    float s;
    asm("sin.approx.f32 %0, %1;" : "=f"(s) : "f"(angle));
    return s;
}
__device__ __forceinline__ float cos_approx(float angle) {
    float c;
    asm("cos.approx.f32 %0, %1;" : "=f"(c) : "f"(angle));
    return c;
}

// ---- vector accesses: N elements in one access; N * sizeof(element) is 2, 4, 8 or 16 bytes and
// the address is aligned to it. load_run uses the read-only path (ld.global.nc): only for memory
// that the same launch does not write; the compiler may move them freely. load_own_run uses the
// ordinary path, for memory that the launch also writes: a thread reads there only points that no
// other thread writes, before it writes them. The compiler may join equal loads.
#define STN_LOADS(T, N, TYPE, LIST, ...)                                                                               \
    __device__ __forceinline__ void load_run(T(&to)[N], const T *from) {                                               \
        asm("ld.global.nc." TYPE " " LIST ", [%" #N "];" : __VA_ARGS__ : "l"(from));                                   \
    }                                                                                                                  \
    __device__ __forceinline__ void load_own_run(T(&to)[N], const T *from) {                                           \
        asm("ld.global." TYPE " " LIST ", [%" #N "];" : __VA_ARGS__ : "l"(from));                                      \
    }
STN_LOADS(double, 1, "f64", "%0", "=d"(to[0]))
STN_LOADS(double, 2, "v2.f64", "{%0,%1}", "=d"(to[0]), "=d"(to[1]))
STN_LOADS(float, 1, "f32", "%0", "=f"(to[0]))
STN_LOADS(float, 2, "v2.f32", "{%0,%1}", "=f"(to[0]), "=f"(to[1]))
STN_LOADS(float, 4, "v4.f32", "{%0,%1,%2,%3}", "=f"(to[0]), "=f"(to[1]), "=f"(to[2]), "=f"(to[3]))
STN_LOADS(half_t, 1, "u16", "%0", "=h"(to[0]))
STN_LOADS(half_t, 2, "v2.u16", "{%0,%1}", "=h"(to[0]), "=h"(to[1]))
STN_LOADS(half_t, 4, "v4.u16", "{%0,%1,%2,%3}", "=h"(to[0]), "=h"(to[1]), "=h"(to[2]), "=h"(to[3]))
STN_LOADS(unsigned, 1, "u32", "%0", "=r"(to[0]))
STN_LOADS(unsigned, 2, "v2.u32", "{%0,%1}", "=r"(to[0]), "=r"(to[1]))
STN_LOADS(unsigned, 4, "v4.u32", "{%0,%1,%2,%3}", "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3]))
#undef STN_LOADS
__device__ __forceinline__ void load_run(half_t (&to)[8], const half_t *from) {
    unsigned w[4];
    load_run(w, reinterpret_cast<const unsigned *>(from));
#pragma unroll
    for (int i = 0; i < 8; i++) to[i] = static_cast<half_t>(w[i / 2] >> (i % 2 * 16));
}

#define STN_STORE(T, N, TYPE, LIST, ...)                                                                               \
    __device__ __forceinline__ void store_run(T *to, const T(&from)[N]) {                                              \
        asm volatile("st.global." TYPE " [%0], " LIST ";" ::"l"(to), __VA_ARGS__);                                     \
    }
STN_STORE(double, 1, "f64", "%1", "d"(from[0]))
STN_STORE(double, 2, "v2.f64", "{%1,%2}", "d"(from[0]), "d"(from[1]))
STN_STORE(float, 1, "f32", "%1", "f"(from[0]))
STN_STORE(float, 2, "v2.f32", "{%1,%2}", "f"(from[0]), "f"(from[1]))
STN_STORE(float, 4, "v4.f32", "{%1,%2,%3,%4}", "f"(from[0]), "f"(from[1]), "f"(from[2]), "f"(from[3]))
STN_STORE(half_t, 1, "u16", "%1", "h"(from[0]))
STN_STORE(half_t, 2, "v2.u16", "{%1,%2}", "h"(from[0]), "h"(from[1]))
STN_STORE(half_t, 4, "v4.u16", "{%1,%2,%3,%4}", "h"(from[0]), "h"(from[1]), "h"(from[2]), "h"(from[3]))
STN_STORE(unsigned, 1, "u32", "%1", "r"(from[0]))
STN_STORE(unsigned, 2, "v2.u32", "{%1,%2}", "r"(from[0]), "r"(from[1]))
STN_STORE(unsigned, 4, "v4.u32", "{%1,%2,%3,%4}", "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3]))
#undef STN_STORE
__device__ __forceinline__ void store_run(half_t *to, const half_t (&from)[8]) {
    unsigned w[4];
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = from[2 * i] | static_cast<unsigned>(from[2 * i + 1]) << 16;
    store_run(reinterpret_cast<unsigned *>(to), w);
}

// Stores one element if `flags` has the bit `flag`, as store_run_if stores words.
#define STN_STORE_IF(T, TYPE, REGISTER)                                                                                \
    __device__ __forceinline__ void store_if(unsigned flags, unsigned flag, T *to, T value) {                          \
        asm volatile("{ .reg .pred p; .reg .b32 t; and.b32 t, %2, %3; setp.ne.b32 p, t, 0; @p st.global." TYPE         \
                     " [%0], %1; }" ::"l"(to),                                                                         \
                     REGISTER(value), "r"(flags), "r"(flag));                                                          \
    }
STN_STORE_IF(double, "f64", "d")
STN_STORE_IF(float, "f32", "f")
STN_STORE_IF(half_t, "u16", "h")
#undef STN_STORE_IF

// Stores N words if `flags` has the bit `flag`, by a predicated instruction, without a branch. The
// bit is tested next to the access, because there are fewer predicate registers than flags.
#define STN_RUN_IF(N, TYPE, LIST, ...)                                                                                 \
    __device__ __forceinline__ void store_run_if(unsigned flags, unsigned flag, unsigned *to,                          \
                                                 const unsigned(&from)[N]) {                                           \
        asm volatile("{ .reg .pred p; .reg .b32 t; and.b32 t, %1, %2; setp.ne.b32 p, t, 0; @p st.global." TYPE         \
                     " [%0], " LIST "; }" ::"l"(to),                                                                   \
                     "r"(flags), "r"(flag), __VA_ARGS__);                                                              \
    }
STN_RUN_IF(1, "u32", "%3", "r"(from[0]))
STN_RUN_IF(2, "v2.u32", "{%3,%4}", "r"(from[0]), "r"(from[1]))
STN_RUN_IF(4, "v4.u32", "{%3,%4,%5,%6}", "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3]))
#undef STN_RUN_IF

// ---- asynchronous copies, global -> shared (sm_80). A group holds all copies since the last
// commit. Older GPUs load and store instead.
__device__ __forceinline__ unsigned shared_address(const void *p) {
    return static_cast<unsigned>(__cvta_generic_to_shared(p));
}
// Loads several elements of shared memory by one access.
#define STN_SHARED_RUN(T, N, TYPE, LIST, ...)                                                                          \
    __device__ __forceinline__ void load_shared_run(T(&to)[N], const T *from) {                                        \
        asm volatile("ld.shared." TYPE " " LIST ", [%" #N "];" : __VA_ARGS__ : "r"(shared_address(from)) : "memory");  \
    }
STN_SHARED_RUN(float, 2, "v2.f32", "{%0,%1}", "=f"(to[0]), "=f"(to[1]))
STN_SHARED_RUN(half_t, 2, "v2.u16", "{%0,%1}", "=h"(to[0]), "=h"(to[1]))
#undef STN_SHARED_RUN
__device__ __forceinline__ void copy_async_16(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
#else
    unsigned w[4];
    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"(from));
    asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(shared_address(to)), "r"(w[0]), "r"(w[1]), "r"(w[2]),
                 "r"(w[3])
                 : "memory");
#endif
}
// The same with a hint that L2 fetch the surrounding 256 bytes.
__device__ __forceinline__ void copy_async_16_of_256(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16;" ::"r"(shared_address(to)), "l"(from) : "memory");
#else
    copy_async_16(to, from);
#endif
}
__device__ __forceinline__ void copy_async_8(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(shared_address(to)), "l"(from) : "memory");
#else
    unsigned w[2];
    asm volatile("ld.global.v2.u32 {%0,%1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(from));
    asm volatile("st.shared.v2.u32 [%0], {%1,%2};" ::"r"(shared_address(to)), "r"(w[0]), "r"(w[1]) : "memory");
#endif
}
__device__ __forceinline__ void copy_async_4(void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(shared_address(to)), "l"(from) : "memory");
#else
    unsigned w;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(w) : "l"(from));
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared_address(to)), "r"(w) : "memory");
#endif
}
// Copies 4, 8 or 16 bytes if `flags` has the bit `flag`, as store_run_if stores them.
template <int BYTES>
__device__ __forceinline__ void copy_async_if(unsigned flags, unsigned flag, void *to, const void *from) {
#if __CUDA_ARCH__ >= 800
#define STN_COPY_IF(CACHE)                                                                                             \
    asm volatile("{ .reg .pred p; .reg .b32 t; and.b32 t, %2, %3; setp.ne.b32 p, t, 0; @p cp.async." CACHE             \
                 ".shared.global [%0], [%1], %4; }" ::"l"(__cvta_generic_to_shared(to)),                               \
                 "l"(from), "r"(flags), "r"(flag), "n"(BYTES)                                                          \
                 : "memory")
    if constexpr (BYTES == 16)
        STN_COPY_IF("cg");
    else
        STN_COPY_IF("ca");
#undef STN_COPY_IF
#else
    if (!(flags & flag)) return;
    if constexpr (BYTES == 16)
        copy_async_16(to, from);
    else if constexpr (BYTES == 8)
        copy_async_8(to, from);
    else
        copy_async_4(to, from);
#endif
}
__device__ __forceinline__ void copy_async_commit() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
// Waits until at most N of this thread's newest groups are still in flight.
template <int N>
__device__ __forceinline__ void copy_async_wait() {
#if __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

// Prefetches `bytes` into L2 without waiting; `bytes` and the address are multiples of 16. Does
// nothing before sm_90.
__device__ __forceinline__ void prefetch_l2(const void *from, unsigned bytes) {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(from), "r"(bytes) : "memory");
#endif
}

// Hides the value of i from the optimizer: computations that depend on it are neither hoisted above
// this point nor kept from before it.
__device__ __forceinline__ void hide_from_optimizer(int &i) { asm volatile("" : "+r"(i)); }
template <class T>
__device__ __forceinline__ void hide_from_optimizer(T *&p) {
    asm volatile("" : "+l"(p));
}

// ---- f64 tensor products, c += a b
__device__ __forceinline__ void mma_m8n8k4(double (&c)[2], double a, double b) {
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
                 : "+d"(c[0]), "+d"(c[1])
                 : "d"(a), "d"(b));
}
#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ void mma_m16n8k4(double (&c)[4], const double (&a)[2], double b) {
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(b));
}
__device__ __forceinline__ void mma_m16n8k8(double (&c)[4], const double (&a)[4], const double (&b)[2]) {
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}
__device__ __forceinline__ void mma_m16n8k16(double (&c)[4], const double (&a)[8], const double (&b)[4]) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3},{%4,%5,%6,%7,%8,%9,%10,%11},"
        "{%12,%13,%14,%15},{%0,%1,%2,%3};"
        : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
        : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
          "d"(b[2]), "d"(b[3]));
}
#endif

// ---- tensor products with f32 sums, c += a b
// OF_HALF: products of half the depth: 8 in f16 and bf16, 4 in tf32.
#define STN_MMA_OF_HALF(name, SHAPE)                                                                                   \
    __device__ __forceinline__ void name(float(&c)[4], const unsigned(&a)[2], unsigned b) {                            \
        asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3},{%4,%5},{%6},{%0,%1,%2,%3};"                            \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(b));                                                                  \
    }
#define STN_MMA(name, SHAPE)                                                                                           \
    __device__ __forceinline__ void name(float(&c)[4], const unsigned(&a)[4], const unsigned(&b)[2]) {                 \
        asm volatile("mma.sync.aligned." SHAPE " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"                   \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));                              \
    }
// f16 and bf16: a register holds two halves, the lower column (a) or row (b) first.
STN_MMA_OF_HALF(mma_f16_m16n8k8, "m16n8k8.row.col.f32.f16.f16.f32")
STN_MMA_OF_HALF(mma_bf16_m16n8k8, "m16n8k8.row.col.f32.bf16.bf16.f32")
STN_MMA(mma_f16_m16n8k16, "m16n8k16.row.col.f32.f16.f16.f32")
// tf32: operands are float bits, rounded by float_to_tf32.
STN_MMA_OF_HALF(mma_tf32_m16n8k4, "m16n8k4.row.col.f32.tf32.tf32.f32")
STN_MMA(mma_tf32_m16n8k8, "m16n8k8.row.col.f32.tf32.tf32.f32")
#undef STN_MMA_OF_HALF
#undef STN_MMA
// Two bf16 in one word, the first in the lower half.
__device__ __forceinline__ unsigned floats_to_bf16x2(float first, float second) {
    unsigned both;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(both) : "f"(second), "f"(first));
    return both;
}
__device__ __forceinline__ unsigned float_to_tf32(float f) {
    unsigned bits;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(bits) : "f"(f));
    return bits;
}

// ---- products of signed or unsigned bytes (a) and signed ones (b) with 32-bit integer sums. A
// register holds four bytes, the lowest column (a) or row (b) first.
#define STN_MMA_OF_BYTES(name, TYPE)                                                                                   \
    __device__ __forceinline__ void name(int(&d)[4], const unsigned(&a)[4], const unsigned(&b)[2], const int(&c)[4]) { \
        asm volatile("mma.sync.aligned.m16n8k32.row.col.s32." TYPE                                                     \
                     ".s8.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%11,%12,%13};"                                  \
                     : "=r"(d[0]), "=r"(d[1]), "=r"(d[2]), "=r"(d[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(c[0]), "r"(c[1]),         \
                       "r"(c[2]), "r"(c[3]));                                                                          \
    }
STN_MMA_OF_BYTES(mma_s8_m16n8k32, "s8")
STN_MMA_OF_BYTES(mma_u8_m16n8k32, "u8")
#undef STN_MMA_OF_BYTES

// Loads four matrices of 8 x 8 elements of two bytes from shared memory, transposed. `row` of lane
// 8 i + r is the address of row r of matrix i, of 16 bytes. Register i of lane (g, t) has column g
// of rows 2t and 2t + 1 of matrix i.
__device__ __forceinline__ void load_matrices_transposed(unsigned (&to)[4], const void *row) {
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(row))
                 : "memory");
}

// The smaller of each of two unsigned numbers of 16 bits.
__device__ __forceinline__ unsigned min_u16x2(unsigned a, unsigned b) {
#if __CUDA_ARCH__ >= 900
    unsigned both;
    asm("min.u16x2 %0, %1, %2;" : "=r"(both) : "r"(a), "r"(b));
    return both;
#else
    const unsigned low_a = a & 0xffffu, low_b = b & 0xffffu, high_a = a >> 16, high_b = b >> 16;
    return (low_a < low_b ? low_a : low_b) | (high_a < high_b ? high_a : high_b) << 16;
#endif
}

// ---- 2:4 sparse products: `a` holds only the non-zeros, `meta` their positions (two bits each);
// SELECTOR names the lanes whose `meta` is used.
#define STN_MMA_SPARSE_OF_HALF(name, SHAPE)                                                                            \
    template <int SELECTOR>                                                                                            \
    __device__ __forceinline__ void name(float(&c)[4], const unsigned(&a)[2], const unsigned(&b)[2], unsigned meta) {  \
        asm volatile("mma.sp::ordered_metadata.sync.aligned." SHAPE                                                    \
                     " {%0,%1,%2,%3},{%4,%5},{%6,%7},{%0,%1,%2,%3},%8,%9;"                                             \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(b[0]), "r"(b[1]), "r"(meta), "n"(SELECTOR));                          \
    }
#define STN_MMA_SPARSE(name, SHAPE)                                                                                    \
    template <int SELECTOR>                                                                                            \
    __device__ __forceinline__ void name(float(&c)[4], const unsigned(&a)[4], const unsigned(&b)[4], unsigned meta) {  \
        asm volatile("mma.sp::ordered_metadata.sync.aligned." SHAPE                                                    \
                     " {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9,%10,%11},{%0,%1,%2,%3},%12,%13;"                             \
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])                                                  \
                     : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]), "r"(b[2]), "r"(b[3]),         \
                       "r"(meta), "n"(SELECTOR));                                                                      \
    }
STN_MMA_SPARSE_OF_HALF(mma_sp_f16_m16n8k16, "m16n8k16.row.col.f32.f16.f16.f32")
STN_MMA_SPARSE(mma_sp_f16_m16n8k32, "m16n8k32.row.col.f32.f16.f16.f32")
STN_MMA_SPARSE_OF_HALF(mma_sp_tf32_m16n8k8, "m16n8k8.row.col.f32.tf32.tf32.f32")
STN_MMA_SPARSE(mma_sp_tf32_m16n8k16, "m16n8k16.row.col.f32.tf32.tf32.f32")
#undef STN_MMA_SPARSE_OF_HALF
#undef STN_MMA_SPARSE

// Transposes an 8 x 8 matrix of halves; lane 4g + t holds elements 2t and 2t + 1 of row g.
__device__ __forceinline__ unsigned transpose_halves(unsigned two) {
    unsigned transposed;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(transposed) : "r"(two));
    return transposed;
}

// ---- programmatic dependent launch (sm_90): the next launch may begin once every block of this
// one has called this function or ended.
__device__ __forceinline__ void let_next_launch_begin() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
// Waits until the previous launch has ended and its writes are visible.
__device__ __forceinline__ void wait_for_previous_launch() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// ---- thread block clusters (sm_90): blocks that run together and access each other's shared
// memory. On older GPUs a cluster is one block.
__device__ __forceinline__ unsigned cluster_rank() {  // rank of this block in its cluster
    unsigned rank = 0;
#if __CUDA_ARCH__ >= 900
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
#endif
    return rank;
}
// Barrier of all threads of the cluster; shared-memory writes before it are visible after it.
__device__ __forceinline__ void cluster_barrier() {
#if __CUDA_ARCH__ >= 900
    asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#else
    __syncthreads();
#endif
}
// Loads 16 bytes from the shared memory of block `rank`, at the address that `from` has in this
// block.
__device__ __forceinline__ void cluster_load(unsigned (&to)[4], const unsigned *from, unsigned rank) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .u32 there; mapa.shared::cluster.u32 there, %4, %5;\n"
        "ld.shared::cluster.v4.u32 {%0,%1,%2,%3}, [there];}"
        : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
        : "r"(shared_address(from)), "r"(rank)
        : "memory");
#else
    asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(shared_address(from))
                 : "memory");
#endif
}
// The same for 8 bytes, and the stores.
__device__ __forceinline__ void cluster_load(unsigned (&to)[2], const unsigned *from, unsigned rank) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .u32 there; mapa.shared::cluster.u32 there, %2, %3;\n"
        "ld.shared::cluster.v2.u32 {%0,%1}, [there];}"
        : "=r"(to[0]), "=r"(to[1])
        : "r"(shared_address(from)), "r"(rank)
        : "memory");
#else
    asm volatile("ld.shared.v2.u32 {%0,%1}, [%2];" : "=r"(to[0]), "=r"(to[1]) : "r"(shared_address(from)) : "memory");
#endif
}
__device__ __forceinline__ void cluster_store(unsigned *to, const unsigned (&from)[4], unsigned rank) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .u32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
        "st.shared::cluster.v4.u32 [there], {%2,%3,%4,%5};}" ::"r"(shared_address(to)),
        "r"(rank), "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
        : "memory");
#else
    asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(shared_address(to)), "r"(from[0]), "r"(from[1]),
                 "r"(from[2]), "r"(from[3])
                 : "memory");
#endif
}
__device__ __forceinline__ void cluster_store(unsigned *to, const unsigned (&from)[2], unsigned rank) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "{.reg .u32 there; mapa.shared::cluster.u32 there, %0, %1;\n"
        "st.shared::cluster.v2.u32 [there], {%2,%3};}" ::"r"(shared_address(to)),
        "r"(rank), "r"(from[0]), "r"(from[1])
        : "memory");
#else
    asm volatile("st.shared.v2.u32 [%0], {%1,%2};" ::"r"(shared_address(to)), "r"(from[0]), "r"(from[1]) : "memory");
#endif
}
