/* Complex numbers in long double, for symbols that need more precision than f64. */
#ifndef STN_STRATEGIES_SEGMENT_LONG_DOUBLE_COMPLEX_H
#define STN_STRATEGIES_SEGMENT_LONG_DOUBLE_COMPLEX_H
#include <stdint.h>

#include "strategies/common/twiddles.h"

typedef struct cplx {
    long double re, im;
} cplx;

static inline cplx product(cplx a, cplx b) { return (cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

static inline cplx power(cplx base, uint64_t exponent) {
    cplx result = {1, 0};
    for (; exponent; exponent >>= 1, base = product(base, base))
        if (exponent & 1) result = product(result, base);
    return result;
}

/* exp(2 pi i k / n) for k = 0 .. n - 1. */
static inline cplx root_of(int64_t k, int64_t n) {
    cplx root;
    stn_root(k, n, &root.re, &root.im);
    return root;
}
#endif
