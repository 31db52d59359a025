/* Words of cost models. */
#ifndef STN_STRATEGIES_COMMON_COST_H
#define STN_STRATEGIES_COMMON_COST_H
#include "plan/strategy.h"

/* Seconds of two kinds of work that run beside each other on the same warps. The longer of them
 * alone where they differ; where both take the same each waits for the other now and then: 12%
 * more. A smooth maximum (their 6-norm), whose exponent was read off lowrank_mixed on an H200:
 * bench/results/2026-11-21-lowrank-mixed.md. */
double stn_cost_beside(double one, double other);

/* Least seconds of a launch of lowrank whose rows lie so that every access has one element of less
 * than eight bytes: copies take turns of a multiprocessor then, whatever the memory could do. 0
 * where accesses are wider. Read off the problems of odd extents in
 * bench/results/2026-11-22-rates.md. */
double stn_cost_narrow(const stn_task *task, const stn_machine *machine);
#endif
