/* Roots of unity: one by one, and in tables as pairs of float or, for f64, of double, where `to`
 * may be NULL: only count. */
#ifndef STN_STRATEGIES_COMMON_ROOTS_H
#define STN_STRATEGIES_COMMON_ROOTS_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "stentor.h"

/* cos and sin of 2 pi k / n, k in [0, n): by the angle from the nearest axis, an eighth of a turn
 * at most, which is exact in n, so that no digits go into leaving whole turns away, and points that
 * mirror each other are the same to the bit. */
static inline void stn_root(int64_t k, int64_t n, long double *re, long double *im) {
    const long double turn = 6.28318530717958647692528676655900577L;
    const int64_t quarters = (8 * k + n) / (2 * n); /* of a turn, to the nearest axis */
    const long double angle = turn * (long double)(4 * k - quarters * n) / (4 * (long double)n);
    long double c, s;
    sincosl(angle, &s, &c);
    switch (quarters % 4) {
        case 0:
            *re = c, *im = s;
            return;
        case 1:
            *re = -s, *im = c;
            return;
        case 2:
            *re = -c, *im = -s;
            return;
        default:
            *re = s, *im = -c;
    }
}

/* exp(-2 pi i k / n) as a pair of doubles, k of any size. */
static inline void stn_root_pair(int64_t k, int64_t n, double pair[2]) {
    long double re, im;
    k %= n;
    stn_root(k < 0 ? k + n : k, n, &re, &im);
    pair[0] = (double)re, pair[1] = (double)-im;
}

/* exp(-2 pi i k / n) as number `at` of a table; wide: double. */
void stn_put_root(void *to, size_t at, bool wide, int64_t k, int64_t n);

/* exp(-2 pi i k / order) for any k < end as the product of two roots: 2^low of them, then those of
 * multiples of 2^low. Returns how many complex numbers that takes. */
int stn_root_low(int64_t order);
size_t stn_root_tables(int64_t order, int64_t end, stn_dtype dtype, void *to);
#endif
