/* The inner loops of systems. Each is written once, as a macro of type and instruction set; the
 * compiler vectorises it. */
#include "host/system_kernels.h"

#include <math.h>

#define INLINE static inline __attribute__((always_inline))

#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 8")
#endif

#define EACH(op, value)                                                                                                \
    case STN_SYSTEM_##op:                                                                                              \
        for (size_t x = 0; x < count; x++) to[x] = (value);                                                            \
        break;

/* min and max ignore NaN, as fmin and fmax do; of two zeros they return the second. */
#define DEFINE_ROWS(type, real, f)                                                                                     \
    INLINE void apply_##type(stn_system_op op, real *to, const real *a, const real *b, const real *c, size_t count) {  \
        switch (op) {                                                                                                  \
            EACH(NEGATE, -a[x])                                                                                        \
            EACH(ADD, a[x] + b[x])                                                                                     \
            EACH(SUBTRACT, a[x] - b[x])                                                                                \
            EACH(MULTIPLY, a[x] * b[x])                                                                                \
            EACH(DIVIDE, a[x] / b[x])                                                                                  \
            EACH(LESS, a[x] < b[x])                                                                                    \
            EACH(LESS_EQUAL, a[x] <= b[x])                                                                             \
            EACH(GREATER, a[x] > b[x])                                                                                 \
            EACH(GREATER_EQUAL, a[x] >= b[x])                                                                          \
            EACH(EQUAL, a[x] == b[x])                                                                                  \
            EACH(NOT_EQUAL, a[x] != b[x])                                                                              \
            EACH(MIN, a[x] < b[x] || b[x] != b[x] ? a[x] : b[x])                                                       \
            EACH(MAX, a[x] > b[x] || b[x] != b[x] ? a[x] : b[x])                                                       \
            EACH(POW, pow##f(a[x], b[x]))                                                                              \
            EACH(ABS, fabs##f(a[x]))                                                                                   \
            EACH(SQRT, sqrt##f(a[x]))                                                                                  \
            EACH(EXP, exp##f(a[x]))                                                                                    \
            EACH(LOG, log##f(a[x]))                                                                                    \
            EACH(SIN, sin##f(a[x]))                                                                                    \
            EACH(COS, cos##f(a[x]))                                                                                    \
            EACH(TANH, tanh##f(a[x]))                                                                                  \
            EACH(WHERE, a[x] != 0 ? b[x] : c[x])                                                                       \
            default:                                                                                                   \
                break;                                                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    INLINE void sum_of_##type(real *restrict to, const void *const *rows, const double *weights, const int terms,      \
                              const bool add, size_t count) {                                                          \
        const real *row[STN_SYSTEM_ROW_TERMS];                                                                         \
        real weight[STN_SYSTEM_ROW_TERMS];                                                                             \
        for (int k = 0; k < terms; k++) row[k] = rows[k], weight[k] = (real)weights[k];                                \
        for (size_t x = 0; x < count; x++) {                                                                           \
            real u = add ? to[x] : 0;                                                                                  \
            UNROLL for (int k = 0; k < terms; k++) u = k || add ? u + weight[k] * row[k][x] : weight[k] * row[k][x];   \
            to[x] = u;                                                                                                 \
        }                                                                                                              \
    }                                                                                                                  \
    INLINE void sum_##type(real *to, const void *const *rows, const double *weights, int terms, const bool add,        \
                           size_t count) {                                                                             \
        switch (terms) {                                                                                               \
            SUM(type, 1) SUM(type, 2) SUM(type, 3) SUM(type, 4) SUM(type, 5) SUM(type, 6) SUM(type, 7) SUM(type, 8)    \
        }                                                                                                              \
    }                                                                                                                  \
    INLINE void fill_##type(real *to, double value, size_t count) {                                                    \
        for (size_t x = 0; x < count; x++) to[x] = (real)value;                                                        \
    }                                                                                                                  \
    INLINE void scale_##type(real *to, double by, size_t count) {                                                      \
        for (size_t x = 0; x < count; x++) to[x] *= (real)by;                                                          \
    }

#define SUM(type, n)                                                                                                   \
    case n:                                                                                                            \
        sum_of_##type(to, rows, weights, n, add, count);                                                               \
        break;

DEFINE_ROWS(f64, double, )
DEFINE_ROWS(f32, float, f)

#define DEFINE_SET(type, set, attribute)                                                                               \
    attribute static void apply_##type##_##set(stn_system_op op, void *to, const void *a, const void *b,               \
                                               const void *c, size_t count) {                                          \
        apply_##type(op, to, a, b, c, count);                                                                          \
    }                                                                                                                  \
    attribute static void sum_##type##_##set(void *to, const void *const *rows, const double *weights, int terms,      \
                                             bool add, size_t count) {                                                 \
        if (add)                                                                                                       \
            sum_##type(to, rows, weights, terms, true, count);                                                         \
        else                                                                                                           \
            sum_##type(to, rows, weights, terms, false, count);                                                        \
    }                                                                                                                  \
    attribute static void fill_##type##_##set(void *to, double value, size_t count) { fill_##type(to, value, count); } \
    attribute static void scale_##type##_##set(void *to, double by, size_t count) { scale_##type(to, by, count); }     \
    static const stn_system_kernels kernels_##type##_##set = {apply_##type##_##set, sum_##type##_##set,                \
                                                              fill_##type##_##set, scale_##type##_##set};

DEFINE_SET(f64, portable, )
DEFINE_SET(f32, portable, )
#if defined(__x86_64__)
DEFINE_SET(f64, avx2, __attribute__((target("avx2"))))
DEFINE_SET(f32, avx2, __attribute__((target("avx2"))))
DEFINE_SET(f64, avx512, __attribute__((target("avx512f,avx512bw,avx512vl"))))
DEFINE_SET(f32, avx512, __attribute__((target("avx512f,avx512bw,avx512vl"))))
#endif

const stn_system_kernels *stn_system_kernels_at(int index, bool wide) {
    if (index == 0) return wide ? &kernels_f64_portable : &kernels_f32_portable;
#if defined(__x86_64__)
    if (index == 1 && __builtin_cpu_supports("avx2")) return wide ? &kernels_f64_avx2 : &kernels_f32_avx2;
    if (index == 2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512vl"))
        return wide ? &kernels_f64_avx512 : &kernels_f32_avx512;
#endif
    return NULL;
}

const stn_system_kernels *stn_system_kernels_best(bool wide) {
    const stn_system_kernels *best = NULL, *next;
    for (int i = 0; (next = stn_system_kernels_at(i, wide)); i++) best = next;
    return best;
}
