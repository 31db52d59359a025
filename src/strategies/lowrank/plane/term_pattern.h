/* The pattern of separable terms that a kernel is compiled for: the reach of each term. The terms'
 * weights are data, so new weights, and launches of fewer steps, run on a pattern that covers their
 * terms. */
#ifndef STN_STRATEGIES_LOWRANK_PLANE_TERM_PATTERN_H
#define STN_STRATEGIES_LOWRANK_PLANE_TERM_PATTERN_H
#include "strategies/lowrank/plane/separable_terms.h"

#define LOWRANK_MAX_TERMS 17 /* as many as taps of radius 8 can have */

typedef struct lowrank_span {
    int y[2], x[2]; /* reach of a term towards the low and the high side */
    int central;    /* 1: the middle weight along y is not small compared with the others */
} lowrank_span;
typedef struct lowrank_pattern {
    int count;
    lowrank_span term[LOWRANK_MAX_TERMS];
} lowrank_pattern;

/* Finds a slot in the pattern for every term: slot[q] for term q, all different. Widens the
 * pattern where needed and sets `changed`. False if there are more terms than a pattern holds. */
bool lowrank_pattern_cover(lowrank_pattern *pattern, const lowrank_terms *terms, int slot[LOWRANK_MAX_TERMS],
                           bool *changed);

/* Whether lowrank_mixed takes the middle weight along y as 1, which saves a multiplication a point;
 * the factor along x, if any, is scaled accordingly. */
bool lowrank_pattern_unit(const lowrank_span *slot);
/* Scales u and v of a term, with middle weights u[y] and v[x], to the form that lowrank_mixed
 * expects in this slot: if the slot has no reach along x, v is 1; otherwise, if
 * lowrank_pattern_unit(slot), u[y] is 1. */
void lowrank_pattern_scale(const lowrank_span *slot, double *u, int rows, int y, double *v, int columns, int x);

/* The work of lowrank_mixed. lowrank_pattern_blocks: the number of 8 x 4 blocks of all terms' bands
 * along x, by which 8 columns are multiplied. lowrank_pattern_sums: additions, or multiply-adds,
 * for one point; even: the terms are symmetric along y. */
int lowrank_pattern_blocks(const lowrank_pattern *pattern);
int lowrank_pattern_sums(const lowrank_pattern *pattern, bool even);
#endif
