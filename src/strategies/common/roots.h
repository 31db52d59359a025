/* Roots of unity in tables, as pairs of float or, for f64, of double. `to` may be NULL: only count. */
#ifndef STN_STRATEGIES_COMMON_ROOTS_H
#define STN_STRATEGIES_COMMON_ROOTS_H
#include <stdbool.h>

#include "stentor.h"

/* exp(-2 pi i k / n) as number `at` of a table; wide: double. */
void stn_put_root(void *to, size_t at, bool wide, int64_t k, int64_t n);

/* exp(-2 pi i k / order) for any k < end as the product of two roots: 2^low of them, then those of multiples of 2^low.
 * Returns how many complex numbers that takes. */
int stn_root_low(int64_t order);
size_t stn_root_tables(int64_t order, int64_t end, stn_dtype dtype, void *to);
#endif
