/* Dense test weights with structures that matter for splitting taps into terms. */
#ifndef STN_TESTS_LOWRANK_STRUCTURE_H
#define STN_TESTS_LOWRANK_STRUCTURE_H
#include "../compare.h"

/* Structures, for 3 x 3 to 7 x 7 weights. */
typedef enum structure {
    SEPARABLE,
    SYMMETRIC,
    UNIFORM,
    ZERO_CORNERS,
    ZERO_CENTRE,
    EVEN_ZERO_CORNERS,
    EVEN_ZERO_CENTRE,
    EVEN_TINY_CORNERS,
    EVEN_RANK_TWO,
    ONE_SIDED,
    EVEN_ROWS,
    EVEN_COLUMNS,
    ILL,
    ONE_TAP,
    ZERO,
    STRUCTURES
} structure;
extern const char *const structure_names[STRUCTURES];

/* Writes side x side weights whose magnitudes sum to 1. */
void fill_weights(dice *d, structure kind, int side, double *w);
#endif
