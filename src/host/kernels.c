/* The inner loops. Each is written once; the compiler vectorises it for each instruction set, and the CPU at hand
 * decides which one runs. Multiplications and additions are never fused (-ffp-contract=off), so all give equal bits. */
#include "host/kernels.h"

#include "base/half.h"

#define INLINE static inline __attribute__((always_inline))

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 9")
#endif

/* With ntaps a constant after inlining, the loop over taps unrolls and the loop over x vectorises. */
#define DEFINE_SUM(name, real)                                                                                         \
    INLINE void name##_of(real *restrict sum, const void *const *lines, const real *weights, const int ntaps,          \
                          size_t count, bool add) {                                                                    \
        const real *line[STN_KERNEL_TAPS];                                                                             \
        real weight[STN_KERNEL_TAPS];                                                                                  \
        for (int k = 0; k < ntaps; k++) line[k] = lines[k], weight[k] = weights[k];                                    \
        for (size_t x = 0; x < count; x++) {                                                                           \
            real u = add ? sum[x] : 0;                                                                                 \
            UNROLL for (int k = 0; k < ntaps; k++) u += weight[k] * line[k][x];                                        \
            sum[x] = u;                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    INLINE void name(real *sum, const void *const *lines, const real *weights, int ntaps, size_t count, bool add) {    \
        if (ntaps == 1) name##_of(sum, lines, weights, 1, count, add);                                                 \
        if (ntaps == 2) name##_of(sum, lines, weights, 2, count, add);                                                 \
        if (ntaps == 3) name##_of(sum, lines, weights, 3, count, add);                                                 \
        if (ntaps == 4) name##_of(sum, lines, weights, 4, count, add);                                                 \
        if (ntaps == 5) name##_of(sum, lines, weights, 5, count, add);                                                 \
        if (ntaps == 6) name##_of(sum, lines, weights, 6, count, add);                                                 \
        if (ntaps == 7) name##_of(sum, lines, weights, 7, count, add);                                                 \
        if (ntaps == 8) name##_of(sum, lines, weights, 8, count, add);                                                 \
        if (ntaps == 9) name##_of(sum, lines, weights, 9, count, add);                                                 \
    }

DEFINE_SUM(sum_f64, double)
DEFINE_SUM(sum_f32, float)

INLINE void from_half(float *restrict to, const uint16_t *restrict from, size_t count) {
    for (size_t x = 0; x < count; x++) to[x] = stn_half_to_float(from[x]);
}

INLINE void to_half(uint16_t *restrict to, const float *restrict from, size_t count) {
    for (size_t x = 0; x < count; x++) to[x] = stn_float_to_half(from[x]);
}

#define DEFINE_SET(set, attribute)                                                                                     \
    attribute static void sum_f64_##set(double *sum, const void *const *lines, const double *weights, int ntaps,       \
                                        size_t count, bool add) {                                                      \
        sum_f64(sum, lines, weights, ntaps, count, add);                                                               \
    }                                                                                                                  \
    attribute static void sum_f32_##set(float *sum, const void *const *lines, const float *weights, int ntaps,         \
                                        size_t count, bool add) {                                                      \
        sum_f32(sum, lines, weights, ntaps, count, add);                                                               \
    }                                                                                                                  \
    attribute static void from_half_##set(float *to, const uint16_t *from, size_t count) {                             \
        from_half(to, from, count);                                                                                    \
    }                                                                                                                  \
    attribute static void to_half_##set(uint16_t *to, const float *from, size_t count) { to_half(to, from, count); }   \
    static const stn_kernels kernels_##set = {sum_f64_##set, sum_f32_##set, from_half_##set, to_half_##set};

DEFINE_SET(portable, )
#if defined(__x86_64__)
DEFINE_SET(avx2, __attribute__((target("avx2"))))
DEFINE_SET(avx512, __attribute__((target("avx512f,avx512bw,avx512vl"))))
#endif

const stn_kernels *stn_kernels_at(int index) {
    if (index == 0) return &kernels_portable;
#if defined(__x86_64__)
    if (index == 1 && __builtin_cpu_supports("avx2")) return &kernels_avx2;
    if (index == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return &kernels_avx512;
#endif
    return NULL;
}

const stn_kernels *stn_kernels_best(void) {
    const stn_kernels *best = &kernels_portable, *next;
    for (int i = 1; (next = stn_kernels_at(i)); i++) best = next;
    return best;
}
