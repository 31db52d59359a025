/* Bytes moved and operations of a run of a system, independent of the strategy. */
#ifndef STN_STRATEGIES_COMMON_SYSTEM_COST_H
#define STN_STRATEGIES_COMMON_SYSTEM_COST_H
#include "plan/strategy.h"

/* Fills bytes, flops, unit and launches: at each point an assignment reads each of its arrays once,
 * writes one array, and evaluates each of its nodes once. */
void stn_system_cost(const stn_system_task *task, stn_estimate *estimate);
#endif
