/* Integer helpers: overflow-checked sums and products, rounding up, and division by
 * multiplication. */
#ifndef STN_BASE_ARITH_H
#define STN_BASE_ARITH_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool stn_mul_overflows(int64_t a, int64_t b, int64_t *product) {
    return __builtin_mul_overflow(a, b, product);
}
static inline bool stn_add_overflows(int64_t a, int64_t b, int64_t *sum) { return __builtin_add_overflow(a, b, sum); }
static inline int64_t stn_div_up(int64_t a, int64_t b) {
    return (a + b - 1) / b; /* NOLINT(clang-analyzer-core.DivideZero) */
}
static inline int64_t stn_round_up(int64_t a, int64_t b) { return stn_div_up(a, b) * b; }
static inline int stn_log2(int64_t n) { /* The logarithm is rounded up; n > 0. */
    int bits = 0;
    while ((INT64_C(1) << bits) < n) bits++;
    return bits;
}
/* An invariant divisor of kernel_templates/device/divide.cuh: for x < 2^31 and 0 < d <= 2^31, x / d
 * = (2 x * multiplier) >> (32 + shift). */
typedef struct stn_divisor {
    uint32_t multiplier, shift;
} stn_divisor;
static inline stn_divisor stn_divisor_of(int64_t d) {
    const int shift = stn_log2(d);
    return (stn_divisor){(uint32_t)stn_div_up(INT64_C(1) << (31 + shift), d), (uint32_t)shift};
}
static inline int64_t stn_min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t stn_max(int64_t a, int64_t b) { return a > b ? a : b; }
#endif
