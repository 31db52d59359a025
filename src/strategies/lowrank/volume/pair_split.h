/* Taps that are the sum of two separable terms, and the powers of such taps: f + 1 terms for f
 * steps, by the binomial theorem. */
#ifndef STN_STRATEGIES_LOWRANK_VOLUME_PAIR_SPLIT_H
#define STN_STRATEGIES_LOWRANK_VOLUME_PAIR_SPLIT_H
#include "strategies/common/stencil_power.h"
#include "strategies/lowrank/volume/tap_core.h"

/* Makes the vectors of such a core for taps->fused steps, without measuring its residual; false if
 * the task's taps are not such a pair. */
bool lowrank_pair_make(const stn_task *task, const stn_power *taps, lowrank_core *core);
#endif
