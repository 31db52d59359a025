/* The pattern of separable terms that a kernel is compiled for: how far each reaches. What a term
 * weighs is data, so new weights, and launches of fewer steps, run on a pattern that holds their
 * terms. */
#ifndef STN_STRATEGIES_LOWRANK_FLAT_PATTERN_H
#define STN_STRATEGIES_LOWRANK_FLAT_PATTERN_H
#include "strategies/lowrank/flat/terms.h"

#define LOWRANK_MAX_TERMS 17 /* those of any taps of radius 8 */

typedef struct lowrank_span {
    int y[2], x[2]; /* how far a term reaches towards the low and the high side */
    int central;    /* its middle weight along y is not small beside the others */
} lowrank_span;
typedef struct lowrank_pattern {
    int count;
    lowrank_span term[LOWRANK_MAX_TERMS];
} lowrank_pattern;

/* Finds a place in the pattern for every term: place[q] of term q, no two the same. Widens the
 * pattern where that is needed; `changed` says so. False if there are more terms than a pattern
 * holds. */
bool lowrank_pattern_cover(lowrank_pattern *pattern, const lowrank_terms *terms, int place[LOWRANK_MAX_TERMS],
                           bool *changed);

/* Does lowrank_mixed take the middle weight along y as 1? One product less for every point; the
 * factor along x, where there is one, takes what it was. */
bool lowrank_pattern_unit(const lowrank_span *place);
/* Scales u and v of a term, u[y] and v[x] in the middle, to the form that lowrank_mixed takes in
 * this place: without a reach along x, v is 1; else the middle of u, where it is unit. */
void lowrank_pattern_scale(const lowrank_span *place, double *u, int rows, int y, double *v, int columns, int x);

/* What lowrank_mixed does with it for 8 columns, so many blocks of 4 columns by 8 of their bands;
 * and its operations (sums, or products and sums) for one point. */
int lowrank_pattern_blocks(const lowrank_pattern *pattern);
int lowrank_pattern_sums(const lowrank_pattern *pattern, bool even);
#endif
