/* A task's taps as the direct kernels take them: in what order, which mirror each other, what they
 * cost. */
#ifndef STN_STRATEGIES_DIRECT_TAPS_H
#define STN_STRATEGIES_DIRECT_TAPS_H
#include "strategies/direct/shape.h"

#define DIRECT_MAX_TAPS 480 /* weights travel in the 4 KiB of kernel arguments */

/* The task's tap indices in the order in which a one-step kernel takes its weights. */
void direct_tap_order(const stn_task *task, const direct_shape *shape, uint16_t order[DIRECT_MAX_TAPS]);

/* ---- of the kernels that make several steps in one launch
 * Arithmetic instructions a point and step; in 3D without the sums of opposite points of rows that
 * two lanes need. */
int direct_time_operations(const stn_task *task, const direct_shape *shape, int mirror);
/* Which axes' opposite weights are equal and worth adding first (bits DIRECT_MIRROR_*), for the
 * weights the task has now. */
int direct_time_mirror(const stn_task *task, const direct_shape *shape);
/* Are the weights that shape->mirror takes to be equal so now? */
bool direct_time_mirror_holds(const stn_task *task, const direct_shape *shape);
/* Weights of every offset within the reach, z slowest; 0 where there is no tap. `given`: the taps'
 * own, in their order. Returns how many. */
size_t direct_time_weights(const stn_task *task, const direct_shape *shape, const double *given, double *weights);
#endif
