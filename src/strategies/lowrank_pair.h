/* Taps that are two separable terms, and their powers: f + 1 terms for f steps, by the binomial theorem. */
#ifndef STN_STRATEGIES_LOWRANK_PAIR_H
#define STN_STRATEGIES_LOWRANK_PAIR_H
#include "strategies/lowrank_core.h"

/* The vectors of such a core for cube->fused steps, not yet measured; false if the task's taps are no such pair. */
bool lowrank_pair_make(const stn_task *task, const lowrank_cube *cube, lowrank_core *core);
#endif
