/* Shapes of the kernels that make several steps in one launch (direct_time_*.cu): how many steps, how many points a lane, and
 * what that costs. A direct_shape with fused > 1 is one of these. */
#ifndef STN_STRATEGIES_DIRECT_TIME_H
#define STN_STRATEGIES_DIRECT_TIME_H
#include "strategies/direct_shape.h"

/* Shapes for task->steps steps, most promising first; none when the task is one that these kernels do not take (a strided
 * fastest axis, a reach too long, an extent that no tile fits). */
size_t direct_time_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most);
/* After a change of a shape's points, blocks or fused; false when no kernel takes it. With `chunk` that is chosen anew. */
bool direct_time_refit(const stn_task *task, const stn_machine *machine, direct_shape *shape, bool chunk);
/* Of the whole run: launches of shape->fused steps, and what is left over as direct_time_rest does it. */
void direct_time_cost(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                      stn_estimate *estimate);
/* The shape for the steps that are left over, fewer than shape->fused; *rest is untouched and false returned when nothing is
 * left. One step is left to a one-step kernel. */
bool direct_time_rest(const stn_task *task, const stn_machine *machine, const direct_shape *shape, direct_shape *rest);

/* Arithmetic instructions a point and step; in 3D without the sums of opposite points of rows that two lanes need. */
int direct_time_operations(const stn_task *task, const direct_shape *shape, int mirror);
/* Which axes' opposite weights are equal and worth adding first (bits DIRECT_MIRROR_*), for the weights the task has now. */
int direct_time_mirror(const stn_task *task, const direct_shape *shape);
/* Are the weights that shape->mirror takes to be equal so now? */
bool direct_time_mirror_holds(const stn_task *task, const direct_shape *shape);
/* Tiles along z, y and x of one grid. */
void direct_time_tiles(const stn_task *task, const direct_shape *shape, int64_t tiles[3]);
/* Weights of every offset within the reach, z slowest; 0 where there is no tap. Returns how many. */
size_t direct_time_weights(const stn_task *task, const direct_shape *shape, double *weights);
/* Bytes of dynamic shared memory of a block. */
size_t direct_time_shared(const stn_task *task, const direct_shape *shape);
/* The part of params.cuh that only these kernels read. */
void direct_time_params(const stn_task *task, const direct_shape *shape, stn_text *params);
#endif
