/* K^T computed from 1 - K, so that the relative error of 1 - K^T stays small; host counterpart of
 * power_of in kernel_templates/spectral/symbol_power.cuh.
 *
 * Binary exponentiation from the highest bit of T. With K^m = 1 - a and K^n = 1 - b, K^(m + n) = 1
 * - (a + b - a b). The partial power is stored as 1 minus itself while that is small, and directly
 * afterwards. */
#ifndef STN_STRATEGIES_HOST_SPECTRAL_SYMBOL_POWER_H
#define STN_STRATEGIES_HOST_SPECTRAL_SYMBOL_POWER_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct cdouble {
    double re, im;
} cdouble;

static inline cdouble cdouble_times(cdouble a, cdouble b) {
    return (cdouble){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
static inline double cdouble_norm(cdouble a) { return a.re * a.re + a.im * a.im; }

typedef struct real_power {
    double value, one_minus; /* K^T, 1 - K^T */
} real_power;
typedef struct cdouble_power {
    cdouble value, one_minus;
} cdouble_power;

/* top: index of T's highest bit. decay_bound: if 1 - |K| exceeds it, K^T rounds to 0. */
static inline real_power power_of_real(double one_minus_k, uint64_t steps, int top, double decay_bound) {
    if (fmin(one_minus_k, 2 - one_minus_k) > decay_bound) return (real_power){0, 1};
    const double k = 1 - one_minus_k;
    double one_minus = one_minus_k, value = k;
    bool near = !(fabs(k) < 0.5);
    for (int bit = top - 1; bit >= 0; bit--) {
        const bool more = steps >> bit & 1;
        if (near) {
            one_minus *= 2 - one_minus;
            if (more) one_minus = one_minus * k + one_minus_k;
            value = 1 - one_minus;
            near = !(fabs(value) < 0.5);
        } else {
            value *= value;
            if (more) value *= k;
        }
    }
    return (real_power){value, near ? one_minus : 1 - value};
}

static inline cdouble_power power_of_complex(cdouble one_minus_k, uint64_t steps, int top, double decay_bound) {
    /* 1 - |K|^2 <= 2 (1 - |K|) */
    if (2 * one_minus_k.re - cdouble_norm(one_minus_k) > 2 * decay_bound) return (cdouble_power){{0, 0}, {1, 0}};
    const cdouble k = {1 - one_minus_k.re, -one_minus_k.im};
    cdouble one_minus = one_minus_k, value = k;
    bool near = !(cdouble_norm(k) < 0.25);
    for (int bit = top - 1; bit >= 0; bit--) {
        const bool more = steps >> bit & 1;
        if (near) {
            one_minus = cdouble_times(one_minus, (cdouble){2 - one_minus.re, -one_minus.im});
            if (more) {
                one_minus = cdouble_times(one_minus, k);
                one_minus.re += one_minus_k.re, one_minus.im += one_minus_k.im;
            }
            value = (cdouble){1 - one_minus.re, -one_minus.im};
            near = !(cdouble_norm(value) < 0.25);
        } else {
            value = cdouble_times(value, value);
            if (more) value = cdouble_times(value, k);
        }
    }
    if (!near) one_minus = (cdouble){1 - value.re, -value.im};
    return (cdouble_power){value, one_minus};
}

/* 1 + K + .. + K^(T-1) */
static inline double real_sum(double one_minus, double one_minus_k, uint64_t steps) {
    return one_minus_k == 0 ? (double)steps : one_minus / one_minus_k;
}
static inline cdouble cdouble_sum(cdouble one_minus, cdouble one_minus_k, uint64_t steps) {
    const double size = cdouble_norm(one_minus_k);
    if (size == 0) return (cdouble){(double)steps, 0};
    const cdouble up = cdouble_times(one_minus, (cdouble){one_minus_k.re, -one_minus_k.im});
    return (cdouble){up.re / size, up.im / size};
}
#endif
