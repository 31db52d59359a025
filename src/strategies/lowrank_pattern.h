/* The pattern of separable terms that a kernel is compiled for: how far each reaches. What a term weighs is data, so new
 * weights, and launches of fewer steps, run on a pattern that holds their terms. */
#ifndef STN_STRATEGIES_LOWRANK_PATTERN_H
#define STN_STRATEGIES_LOWRANK_PATTERN_H
#include "strategies/lowrank_terms.h"

#define LOWRANK_MAX_TERMS 17 /* those of any taps of radius 8 */

typedef struct lowrank_span {
    int y[2], x[2]; /* how far a term reaches towards the low and the high side */
} lowrank_span;
typedef struct lowrank_pattern {
    int count;
    lowrank_span term[LOWRANK_MAX_TERMS];
} lowrank_pattern;

/* Finds a place in the pattern for every term: place[q] of term q, no two the same. Widens the pattern where that is
 * needed; `changed` says so. False if there are more terms than a pattern holds. */
bool lowrank_pattern_cover(lowrank_pattern *pattern, const lowrank_terms *terms, int place[LOWRANK_MAX_TERMS],
                           bool *changed);

/* What lowrank_mixed does with it for 8 columns, so many blocks of 4 columns by 8 of their bands; and its operations
 * (sums, or products and sums) for one point. */
int lowrank_pattern_blocks(const lowrank_pattern *pattern);
int lowrank_pattern_sums(const lowrank_pattern *pattern, bool even);
#endif
