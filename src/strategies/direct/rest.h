/* Whole runs of launches that make several steps each: the steps that are left over, and what all
 * of it costs. */
#ifndef STN_STRATEGIES_DIRECT_REST_H
#define STN_STRATEGIES_DIRECT_REST_H
#include "strategies/direct/shape.h"

/* The shape for the steps that are left over, fewer than shape->fused; *rest is untouched and false
 * returned when nothing is left. One step is left to a one-step kernel. */
bool direct_time_rest(const stn_task *task, const stn_machine *machine, const direct_shape *shape, direct_shape *rest);
/* Of the whole run: launches of shape->fused steps, and what is left over as direct_time_rest does
 * it. */
void direct_time_cost(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                      stn_estimate *estimate);
#endif
