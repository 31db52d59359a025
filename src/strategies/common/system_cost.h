/* Bytes moved and operations of a run of a system, independent of the strategy. */
#ifndef STN_STRATEGIES_COMMON_SYSTEM_COST_H
#define STN_STRATEGIES_COMMON_SYSTEM_COST_H
#include "plan/strategy.h"

/* Fills bytes, flops, unit and launches: each assignment reads each array that it mentions once,
 * writes one, and evaluates each of its nodes once at each point. */
void stn_system_cost(const stn_system_task *task, stn_estimate *estimate);
#endif
