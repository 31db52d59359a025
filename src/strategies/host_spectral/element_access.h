/* Reads and writes an element of the task's dtype in memory, as a double. */
#ifndef STN_STRATEGIES_HOST_SPECTRAL_ELEMENT_ACCESS_H
#define STN_STRATEGIES_HOST_SPECTRAL_ELEMENT_ACCESS_H
#include "base/half.h"
#include "stentor.h"

static inline double number_at(stn_dtype dtype, const char *base, int64_t element) {
    if (dtype == STN_F64) return ((const double *)base)[element];
    if (dtype == STN_F32) return (double)((const float *)base)[element];
    return (double)stn_half_to_float(((const uint16_t *)base)[element]);
}

static inline void number_put(stn_dtype dtype, char *base, int64_t element, double value) {
    if (dtype == STN_F64)
        ((double *)base)[element] = value;
    else if (dtype == STN_F32)
        ((float *)base)[element] = (float)value;
    else
        ((uint16_t *)base)[element] = stn_float_to_half((float)value);
}
#endif
