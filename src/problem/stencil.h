/* The taps as a value. */
#ifndef STN_PROBLEM_STENCIL_H
#define STN_PROBLEM_STENCIL_H
#include <stdbool.h>

#include "stentor.h"

struct stn_stencil {
    int rank;
    size_t ntaps;
    stn_tap *taps; /* sorted by offset, axis 0 first */
};

/* stn_stencil_max_symbol of bare taps, lifted or not, in any order; at least one, every |offset| at
 * most STN_MAX_RADIUS. Infinite when the weights add up past the range of double. */
double stn_taps_max_symbol(size_t ntaps, const stn_tap *taps);
/* Does a run of so many steps stay in bounds? Up to 1 + STN_SYMBOL_ERROR, which rounded weights
 * reach, it does if it is too short to double anything. */
#define STN_SYMBOL_ERROR 1e-6
bool stn_symbol_stable(double max_symbol, uint64_t steps);
/* The first step after which numbers of this magnitude may be past the type's range; infinite where
 * nothing grows. */
double stn_symbol_overflow(double max_symbol, stn_dtype dtype, double magnitude);

/* An offset as people write it: "(0, -1)". text holds STN_OFFSET_TEXT bytes. */
#define STN_OFFSET_TEXT 80
void stn_offset_print(int rank, const int64_t offset[STN_MAX_RANK], char text[STN_OFFSET_TEXT]);
#endif
