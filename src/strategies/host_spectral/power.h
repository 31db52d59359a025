/* K^T computed from 1 - K, so that the relative error of 1 - K^T stays small; host counterpart of
 * power_of in kernel_templates/spectral/symbol.cuh.
 *
 * Binary exponentiation from the highest bit of T. With K^m = 1 - a and K^n = 1 - b, K^(m + n) = 1
 * - (a + b - a b). The partial power is stored as 1 minus itself while that is small, and directly
 * afterwards. */
#ifndef STN_STRATEGIES_HOST_SPECTRAL_POWER_H
#define STN_STRATEGIES_HOST_SPECTRAL_POWER_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct pair {
    double re, im;
} pair;

static inline pair pair_times(pair a, pair b) { return (pair){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
static inline double pair_size(pair a) { return a.re * a.re + a.im * a.im; }

typedef struct real_power {
    double taken, less; /* K^T, 1 - K^T */
} real_power;
typedef struct pair_power {
    pair taken, less;
} pair_power;

/* top: index of T's highest bit. dead: if 1 - |K| exceeds it, K^T rounds to 0. */
static inline real_power power_of_real(double away, uint64_t steps, int top, double dead) {
    if (fmin(away, 2 - away) > dead) return (real_power){0, 1};
    const double once = 1 - away;
    double less = away, taken = once;
    bool near = !(fabs(once) < 0.5);
    for (int bit = top - 1; bit >= 0; bit--) {
        const bool more = steps >> bit & 1;
        if (near) {
            less *= 2 - less;
            if (more) less = less * once + away;
            taken = 1 - less;
            near = !(fabs(taken) < 0.5);
        } else {
            taken *= taken;
            if (more) taken *= once;
        }
    }
    return (real_power){taken, near ? less : 1 - taken};
}

static inline pair_power power_of_pair(pair away, uint64_t steps, int top, double dead) {
    /* 1 - |K|^2 <= 2 (1 - |K|) */
    if (2 * away.re - pair_size(away) > 2 * dead) return (pair_power){{0, 0}, {1, 0}};
    const pair once = {1 - away.re, -away.im};
    pair less = away, taken = once;
    bool near = !(pair_size(once) < 0.25);
    for (int bit = top - 1; bit >= 0; bit--) {
        const bool more = steps >> bit & 1;
        if (near) {
            less = pair_times(less, (pair){2 - less.re, -less.im});
            if (more) {
                less = pair_times(less, once);
                less.re += away.re, less.im += away.im;
            }
            taken = (pair){1 - less.re, -less.im};
            near = !(pair_size(taken) < 0.25);
        } else {
            taken = pair_times(taken, taken);
            if (more) taken = pair_times(taken, once);
        }
    }
    if (!near) less = (pair){1 - taken.re, -taken.im};
    return (pair_power){taken, less};
}

/* 1 + K + .. + K^(T-1) */
static inline double real_sum(double less, double away, uint64_t steps) {
    return away == 0 ? (double)steps : less / away;
}
static inline pair pair_sum(pair less, pair away, uint64_t steps) {
    const double size = pair_size(away);
    if (size == 0) return (pair){(double)steps, 0};
    const pair up = pair_times(less, (pair){away.re, -away.im});
    return (pair){up.re / size, up.im / size};
}
#endif
