/* Runs by launches of several steps each: the steps that remain at the end, and the total cost. */
#ifndef STN_STRATEGIES_DIRECT_REMAINING_STEPS_H
#define STN_STRATEGIES_DIRECT_REMAINING_STEPS_H
#include "strategies/direct/direct_shape.h"

/* Chooses the shape for the steps that remain, fewer than shape->fused. Returns false and leaves
 * *rest as it is when none remain. A single remaining step goes to a one-step kernel. */
bool direct_time_remainder(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                           direct_shape *rest);
/* Cost of the whole run: launches of shape->fused steps, and the remaining steps by
 * direct_time_remainder. */
void direct_time_cost(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                      stn_estimate *estimate);
#endif
