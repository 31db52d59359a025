/* What a source beside a side of a solid adds, as a sum of few products. At depth d from the side, and of a symbol m of one step along it,
 *
 *     sum over k < f of  m^k (A^k at d of a one beside the side)  =  sum over j of  depth_j(d) m^(power_j)       A: a step across the side
 *
 * to rounding: as functions of m the powers 0 .. f - 1 are all but combinations of few of them. So a side takes a plane for each of these powers, which
 * is convolved along the side as a plane of so many steps, and times a number for each depth. */
#ifndef STN_STRATEGIES_SEGMENT_TERMS_H
#define STN_STRATEGIES_SEGMENT_TERMS_H
#include "strategies/segment/axis.h"

enum { SEGMENT_TERMS = 64 }; /* at most */
typedef struct segment_terms {
    int count;
    uint32_t power[SEGMENT_TERMS]; /* falling */
    double low, high;              /* m is between these */
} segment_terms;

/* The powers for sides across `deep`, past which one symmetric tap reaches, that lie along two axes of symmetric taps. False: more are needed, or the
 * symbols grow. */
bool segment_terms_find(const segment_axis *deep, const segment_axis *const along[2], uint64_t steps, stn_dtype dtype,
                        segment_terms *terms);
/* depth[j * width + d], and counts[d]: at depth d and deeper only so many of the first terms are not 0. *off: what sums are off by, at most.
 * Errors: out of memory. */
stn_status segment_terms_fit(const segment_axis *deep, int side, uint64_t steps, stn_dtype dtype,
                             const segment_terms *terms, int width, double *depth, int32_t *counts, double *off,
                             stn_error *error);
/* What they may be off by at a depth. And grids then, relative L2, at most: grids of 40^3 are off by up to 0.6 times the tail in f64 and 2.3 times in f32. */
double segment_terms_tail(stn_dtype dtype);
double segment_terms_error(stn_dtype dtype);
#endif
