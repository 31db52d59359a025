/* Complex numbers in long double, for symbols that need more precision than f64. */
#ifndef STN_STRATEGIES_SEGMENT_LONG_DOUBLE_COMPLEX_H
#define STN_STRATEGIES_SEGMENT_LONG_DOUBLE_COMPLEX_H
#include <stdint.h>
#include <stdlib.h>

#include "strategies/common/twiddles.h"

typedef struct cplx {
    long double re, im;
} cplx;

static inline cplx product(cplx a, cplx b) { return (cplx){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

static inline cplx power(cplx base, uint64_t exponent) {
    cplx result = {1, 0};
    /* A real base takes one multiplication each. */
    for (; base.im == 0 && exponent; exponent >>= 1, base.re *= base.re)
        if (exponent & 1) result.re *= base.re;
    for (; exponent; exponent >>= 1, base = product(base, base))
        if (exponent & 1) result = product(result, base);
    return result;
}

/* exp(2 pi i k / n), where 0 <= k < n. */
static inline cplx root_of(int64_t k, int64_t n) {
    cplx root;
    stn_root(k, n, &root.re, &root.im);
    return root;
}

/* exp(2 pi i k / n) for k = 0 .. n - 1; NULL: out of memory. If 8 divides n, only the first octant
 * is computed, and the others are its mirror images. */
static inline cplx *roots_of(int64_t n) {
    cplx *root = calloc((size_t)n, sizeof *root);
    for (int64_t k = 0; root && k < n; k++) {
        if (n % 8 || k <= n / 8)
            root[k] = root_of(k, n);
        else if (k <= n / 4)
            root[k] = (cplx){root[n / 4 - k].im, root[n / 4 - k].re};
        else if (k <= n / 2)
            root[k] = (cplx){-root[n / 2 - k].re, root[n / 2 - k].im};
        else
            root[k] = (cplx){root[n - k].re, -root[n - k].im};
    }
    return root;
}
#endif
