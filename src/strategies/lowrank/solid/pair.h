/* Taps that are two separable terms, and their powers: f + 1 terms for f steps, by the binomial
 * theorem. */
#ifndef STN_STRATEGIES_LOWRANK_SOLID_PAIR_H
#define STN_STRATEGIES_LOWRANK_SOLID_PAIR_H
#include "strategies/common/powers.h"
#include "strategies/lowrank/solid/core.h"

/* Makes the vectors of such a core for taps->fused steps, without measuring its residual; false if
 * the task's taps are not such a pair. */
bool lowrank_pair_make(const stn_task *task, const stn_power *taps, lowrank_core *core);
#endif
