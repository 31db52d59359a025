/* Shared formulas of the strategies' cost models. */
#ifndef STN_STRATEGIES_COMMON_OVERLAP_COST_H
#define STN_STRATEGIES_COMMON_OVERLAP_COST_H
#include "plan/strategy.h"

/* Seconds of two kinds of work that run concurrently on the same warps: the longer time if the two
 * differ much, and 12% more than either if they are equal, because each sometimes waits for the
 * other. A smooth maximum (p-norm with p = 6), fitted to lowrank_mixed on an H200. */
double stn_cost_overlapped(double one, double other);

/* A lower bound on the seconds of a lowrank launch whose row alignment limits accesses to one
 * element of less than eight bytes: such a launch is bound by the rate of instructions, not by
 * memory. 0 if accesses are wider. Fitted to problems with odd extents. */
double stn_cost_scalar_access(const stn_task *task, const stn_machine *machine);
/* Seconds in which a GPU loads (and stores) `count` elements one by one. */
double stn_cost_elements(stn_dtype dtype, double count, const stn_machine *machine);
#endif
