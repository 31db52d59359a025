/* See roots.h. */
#include "strategies/common/roots.h"

#include <math.h>

#include "base/arith.h"

void stn_put_root(void *to, size_t at, bool wide, int64_t k, int64_t n) {
    if (!to) return;
    const long double turn = 6.283185307179586476925286766559L;
    long double angle = turn * (long double)(k % n) / (long double)n;
    double re = (double)cosl(angle), im = (double)-sinl(angle);
    if (wide)
        ((double *)to)[2 * at] = re, ((double *)to)[2 * at + 1] = im;
    else
        ((float *)to)[2 * at] = (float)re, ((float *)to)[2 * at + 1] = (float)im;
}

int stn_root_low(int64_t order) { return (stn_log2(order) + 1) / 2; }

size_t stn_root_tables(int64_t order, int64_t end, stn_dtype dtype, void *to) {
    int64_t low = INT64_C(1) << stn_root_low(order);
    size_t at = 0;
    for (int64_t i = 0; i < low; i++) stn_put_root(to, at++, dtype == STN_F64, i, order);
    for (int64_t i = 0; i < end; i += low) stn_put_root(to, at++, dtype == STN_F64, i, order);
    return at;
}
