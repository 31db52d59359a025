/* The slices of fused taps across one axis, as sums of a few of them. */
#ifndef STN_STRATEGIES_LOWRANK_SOLID_SLICES_H
#define STN_STRATEGIES_LOWRANK_SOLID_SLICES_H
#include "strategies/common/powers.h"
#include "strategies/lowrank/solid/core.h"

/* The slices across one axis, each as one vector, and those that span the others. */
typedef struct lowrank_slices {
    int count, length, rank;
    int pivot[LOWRANK_CORE_SIDE];                            /* of the spanning ones */
    long double part[LOWRANK_CORE_SIDE][LOWRANK_CORE_SIDE];  /* slice i = sum over k of part[k][i] * slice pivot[k] */
    long double upper[LOWRANK_CORE_SIDE][LOWRANK_CORE_SIDE]; /* slice pivot[k] = sum over j of upper[j][k] * q[j] */
    long double *slice, *q;                                  /* count and rank vectors, one allocation */
} lowrank_slices;

/* Cuts across axis 0 (z) or 2 (x), and finds the slices that span the others: those farthest from
 * the middle first, or those of which most is left. What is smaller than rounding is no slice of
 * its own. False: out of memory. */
bool lowrank_slices_make(const stn_power *taps, int axis, bool outer_first, lowrank_slices *slices);
void lowrank_slices_clear(lowrank_slices *slices);
#endif
