/* Tables of twiddle factors. */
#include "strategies/common/twiddles.h"

#include "base/arith.h"

void stn_store_twiddle(void *to, size_t at, bool wide, int64_t k, int64_t n) {
    if (!to) return;
    double root[2];
    stn_root_pair(k, n, root);
    for (int part = 0; part < 2; part++)
        if (wide)
            ((double *)to)[2 * at + (size_t)part] = root[part];
        else
            ((float *)to)[2 * at + (size_t)part] = (float)root[part];
}

int stn_twiddle_low(int64_t order) { return (stn_log2(order) + 1) / 2; }

size_t stn_twiddle_tables(int64_t order, int64_t end, stn_dtype dtype, void *to) {
    int64_t low = INT64_C(1) << stn_twiddle_low(order);
    size_t at = 0;
    for (int64_t i = 0; i < low; i++) stn_store_twiddle(to, at++, dtype == STN_F64, i, order);
    for (int64_t i = 0; i < end; i += low) stn_store_twiddle(to, at++, dtype == STN_F64, i, order);
    return at;
}
