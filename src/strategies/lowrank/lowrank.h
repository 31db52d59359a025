/* The three tables of operations between which lowrank.c dispatches. */
#ifndef STN_STRATEGIES_LOWRANK_LOWRANK_H
#define STN_STRATEGIES_LOWRANK_LOWRANK_H
#include "plan/plan.h"

extern const stn_strategy lowrank_plane, lowrank_volume; /* fused steps in 1D and 2D, and in 3D */
/* Separable taps of any radius, in 2D and 3D: one step, by one pass over memory for each axis. */
extern const stn_strategy lowrank_axes;
/* Whether the candidate belongs to lowrank_axes. */
bool lowrank_axes_is(const stn_candidate *candidate);
#endif
