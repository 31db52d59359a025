/* The stencil object: sorted taps; the bound of its symbol. */
#ifndef STN_PROBLEM_STENCIL_H
#define STN_PROBLEM_STENCIL_H
#include <stdbool.h>

#include "stentor.h"

struct stn_stencil {
    int rank;
    size_t ntaps;
    stn_tap *taps; /* sorted by offset, axis 0 first */
};

/* stn_stencil_max_symbol of a list of taps in any order, on any number of axes; at least one tap,
 * every |offset| at most STN_MAX_HOST_RADIUS. Infinite if the weights add up past the range of
 * double. */
double stn_taps_max_symbol(size_t ntaps, const stn_tap *taps);
/* Is a run of `steps` steps stable? It is if max_symbol <= 1. Rounding of the weights may raise
 * max_symbol up to 1 + STN_SYMBOL_ERROR; then it is if max_symbol^steps < 2. */
#define STN_SYMBOL_ERROR 1e-6
bool stn_symbol_stable(double max_symbol, uint64_t steps);
/* The first step after which numbers of initially this magnitude may exceed the dtype's range;
 * infinite if nothing grows. */
double stn_symbol_overflow(double max_symbol, stn_dtype dtype, double magnitude);

/* Formats an offset as "(0, -1)" in STN_OFFSET_TEXT bytes. */
#define STN_OFFSET_TEXT 80
void stn_offset_print(int rank, const int64_t offset[STN_MAX_RANK], char text[STN_OFFSET_TEXT]);
#endif
