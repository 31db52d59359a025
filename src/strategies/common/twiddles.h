/* Roots of unity, and tables of twiddle factors as pairs of float or, for f64, double, where `to`
 * may be NULL to get the size only. */
#ifndef STN_STRATEGIES_COMMON_TWIDDLES_H
#define STN_STRATEGIES_COMMON_TWIDDLES_H
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "stentor.h"

/* cos and sin of 2 pi k / n, k in [0, n). They are computed from the angle to the nearest axis, at
 * most 1/8 of a circle, which is an exact fraction of n. So no digits are lost to range reduction,
 * and mirrored points agree bit by bit. */
static inline void stn_root(int64_t k, int64_t n, long double *re, long double *im) {
    const long double turn = 6.28318530717958647692528676655900577L;
    const int64_t quarters = (8 * k + n) / (2 * n); /* quarter turns to the nearest axis */
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

/* exp(-2 pi i k / n) as a pair of doubles, for any k. */
static inline void stn_root_pair(int64_t k, int64_t n, double pair[2]) {
    long double re, im;
    k %= n;
    stn_root(k < 0 ? k + n : k, n, &re, &im);
    pair[0] = (double)re, pair[1] = (double)-im;
}

/* Writes exp(-2 pi i k / n) as element `at` of a table; wide: double. */
void stn_store_twiddle(void *to, size_t at, bool wide, int64_t k, int64_t n);

/* Tables for exp(-2 pi i k / order), k < end, as products of two roots: the first 2^low roots, then
 * those of multiples of 2^low. Returns the number of complex elements. */
int stn_twiddle_low(int64_t order);
size_t stn_twiddle_tables(int64_t order, int64_t end, stn_dtype dtype, void *to);
#endif
