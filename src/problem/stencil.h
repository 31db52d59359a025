/* The taps as a value. */
#ifndef STN_PROBLEM_STENCIL_H
#define STN_PROBLEM_STENCIL_H
#include "stentor.h"

struct stn_stencil {
    int rank;
    size_t ntaps;
    stn_tap *taps; /* sorted by offset, axis 0 first */
};

/* stn_stencil_max_symbol of bare taps, lifted or not, in any order; at least one, every |offset| at most
 * STN_MAX_RADIUS. Infinite when the weights add up past the range of double. A stencil counts as stable up to
 * 1 + STN_SYMBOL_ERROR. */
#define STN_SYMBOL_ERROR 1e-6
double stn_taps_max_symbol(size_t ntaps, const stn_tap *taps);

/* An offset as people write it: "(0, -1)". text holds STN_OFFSET_TEXT bytes. */
#define STN_OFFSET_TEXT 80
void stn_offset_print(int rank, const int64_t offset[STN_MAX_RANK], char text[STN_OFFSET_TEXT]);
#endif
