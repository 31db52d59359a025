/* lowrank for separable taps of any radius, in 2D and 3D, as a table of operations: one pass over
 * memory for each axis. */
#ifndef STN_STRATEGIES_LOWRANK_AXES_LOWRANK_AXES_H
#define STN_STRATEGIES_LOWRANK_AXES_LOWRANK_AXES_H
#include "plan/plan.h"

extern const stn_strategy lowrank_axes;
/* Whether the candidate belongs to this table. */
bool lowrank_axes_is(const stn_candidate *candidate);
#endif
