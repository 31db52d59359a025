/* Taps that are products of one factor an axis, whatever their radius; zeros in between may be
 * missing. */
#ifndef STN_STRATEGIES_LOWRANK_AXES_FACTORS_H
#define STN_STRATEGIES_LOWRANK_AXES_FACTORS_H
#include "problem/task.h"

#define LOWRANK_FACTOR (2 * STN_MAX_RADIUS + 1) /* the longest */

/* The tap at offset (z, y, x) weighs weight[0][z + reach[0][0]] * weight[1][y + reach[1][0]] *
 * weight[2][x + reach[2][0]]. Sizes of the factors along x, and then along y, sum up to between 1/2
 * and 1, so that no sum of one or two of them exceeds what the grid holds. An axis of reach 0 has
 * the factor 1, unless all have. */
typedef struct lowrank_factors {
    double weight[3][LOWRANK_FACTOR];
    double residual; /* what they leave of the taps: relative, Frobenius */
} lowrank_factors;

/* False if there are none that leave less than rounding of the task's dtype. */
bool lowrank_factors_make(const stn_task *task, lowrank_factors *factors);
#endif
