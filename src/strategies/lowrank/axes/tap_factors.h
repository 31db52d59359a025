/* Taps that are products of one factor for each axis, of any radius; taps of weight zero may be
 * missing. */
#ifndef STN_STRATEGIES_LOWRANK_AXES_TAP_FACTORS_H
#define STN_STRATEGIES_LOWRANK_AXES_TAP_FACTORS_H
#include "problem/task.h"

#define LOWRANK_FACTOR (2 * STN_MAX_RADIUS + 1) /* longest factor */

/* The tap at offset (z, y, x) has weight weight[0][z + reach[0][0]] * weight[1][y + reach[1][0]] *
 * weight[2][x + reach[2][0]]. The magnitudes of the x factor, and then of the y factor, sum to
 * between 1/2 and 1, so that intermediate sums do not exceed the range of the grid's values. An
 * axis of reach 0 has the factor 1, unless all axes have reach 0. */
typedef struct lowrank_factors {
    double weight[3][LOWRANK_FACTOR];
    double residual; /* relative Frobenius norm of taps minus products */
} lowrank_factors;

/* False if no factors have a residual below the rounding of the task's dtype. */
bool lowrank_factors_make(const stn_task *task, lowrank_factors *factors);
#endif
