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

/* With the numbers of terms constant after inlining, the loops over taps unroll and the loop over x vectorises. */
#define DEFINE_SUM(name, real, result)                                                                                 \
    INLINE void name##_of(result *restrict sum, const void *const *lines, const double *weights, const int single,     \
                          const int pairs, const bool odd, size_t count, const bool add) {                             \
        const real *line[STN_KERNEL_TAPS];                                                                             \
        double weight[STN_KERNEL_TAPS];                                                                                \
        for (int k = 0; k < single + 2 * pairs; k++) line[k] = lines[k];                                               \
        for (int k = 0; k < single + pairs; k++) weight[k] = weights[k];                                               \
        for (size_t x = 0; x < count; x++) {                                                                           \
            double u = add ? sum[x] : 0;                                                                               \
            UNROLL for (int k = 0; k < single + pairs; k++) {                                                          \
                const int at = k < single ? k : 2 * k - single;                                                        \
                double term = line[at][x];                                                                             \
                if (k >= single) term = odd ? term - line[at + 1][x] : term + line[at + 1][x];                         \
                term *= weight[k];                                                                                     \
                u = k || add ? u + term : term;                                                                        \
            }                                                                                                          \
            sum[x] = (result)u;                                                                                        \
        }                                                                                                              \
    }                                                                                                                  \
    INLINE void name(result *sum, const void *const *lines, const double *weights, stn_terms terms, size_t count,      \
                     const bool add) {                                                                                 \
        EACH_TERMS(name)                                                                                               \
    }

#define CASE(name, s, p, o)                                                                                            \
    if (terms.single == (s) && terms.pairs == (p) && terms.odd == (o))                                                 \
        name##_of(sum, lines, weights, s, p, o, count, add);
#define EACH_TERMS(name)                                                                                               \
    CASE(name, 1, 0, 0)                                                                                                \
    CASE(name, 2, 0, 0)                                                                                                \
    CASE(name, 3, 0, 0)                                                                                                \
    CASE(name, 4, 0, 0)                                                                                                \
    CASE(name, 5, 0, 0)                                                                                                \
    CASE(name, 6, 0, 0)                                                                                                \
    CASE(name, 7, 0, 0)                                                                                                \
    CASE(name, 8, 0, 0)                                                                                                \
    CASE(name, 9, 0, 0)                                                                                                \
    CASE(name, 0, 1, 0)                                                                                                \
    CASE(name, 0, 2, 0)                                                                                                \
    CASE(name, 0, 3, 0)                                                                                                \
    CASE(name, 0, 4, 0)                                                                                                \
    CASE(name, 1, 1, 0)                                                                                                \
    CASE(name, 1, 2, 0)                                                                                                \
    CASE(name, 1, 3, 0)                                                                                                \
    CASE(name, 1, 4, 0)                                                                                                \
    CASE(name, 0, 1, 1)                                                                                                \
    CASE(name, 0, 2, 1)                                                                                                \
    CASE(name, 0, 3, 1)                                                                                                \
    CASE(name, 0, 4, 1)

DEFINE_SUM(sum_f64, double, double)
DEFINE_SUM(sum_f32, float, double)
DEFINE_SUM(sum_float, float, float)

INLINE void from_float(double *restrict to, const float *restrict from, size_t count) {
    for (size_t x = 0; x < count; x++) to[x] = from[x];
}

INLINE void to_float(float *restrict to, const double *restrict from, size_t count) {
    for (size_t x = 0; x < count; x++) to[x] = (float)from[x];
}

INLINE void from_half(double *restrict to, const uint16_t *restrict from, size_t count) {
    for (size_t x = 0; x < count; x++) to[x] = stn_half_to_float(from[x]);
}

INLINE void to_half(uint16_t *restrict to, const double *restrict from, size_t count) {
    for (size_t x = 0; x < count; x++) to[x] = stn_float_to_half((float)from[x]);
}

#define DEFINE_SET(set, attribute)                                                                                     \
    attribute static void sum_f64_##set(double *sum, const void *const *lines, const double *weights, stn_terms terms, \
                                        size_t count, bool add) {                                                      \
        if (add)                                                                                                       \
            sum_f64(sum, lines, weights, terms, count, true);                                                          \
        else                                                                                                           \
            sum_f64(sum, lines, weights, terms, count, false);                                                         \
    }                                                                                                                  \
    attribute static void sum_f32_##set(double *sum, const void *const *lines, const double *weights, stn_terms terms, \
                                        size_t count, bool add) {                                                      \
        if (add)                                                                                                       \
            sum_f32(sum, lines, weights, terms, count, true);                                                          \
        else                                                                                                           \
            sum_f32(sum, lines, weights, terms, count, false);                                                         \
    }                                                                                                                  \
    attribute static void sum_float_##set(float *sum, const void *const *lines, const double *weights,                 \
                                          stn_terms terms, size_t count) {                                             \
        sum_float(sum, lines, weights, terms, count, false);                                                           \
    }                                                                                                                  \
    attribute static void from_float_##set(double *to, const float *from, size_t count) {                              \
        from_float(to, from, count);                                                                                   \
    }                                                                                                                  \
    attribute static void to_float_##set(float *to, const double *from, size_t count) { to_float(to, from, count); }   \
    attribute static void from_half_##set(double *to, const uint16_t *from, size_t count) {                            \
        from_half(to, from, count);                                                                                    \
    }                                                                                                                  \
    attribute static void to_half_##set(uint16_t *to, const double *from, size_t count) { to_half(to, from, count); }  \
    static const stn_kernels kernels_##set = {sum_f64_##set,  sum_f32_##set,   sum_float_##set, from_float_##set,      \
                                              to_float_##set, from_half_##set, to_half_##set};

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
