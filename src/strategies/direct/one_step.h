/* Shapes of the kernels that make one step a launch (direct_line, _tile, _gather), and their cost.
 */
#ifndef STN_STRATEGIES_DIRECT_ONE_STEP_H
#define STN_STRATEGIES_DIRECT_ONE_STEP_H
#include "strategies/direct/direct_shape.h"

/* Lists shapes, best guess first; the last one, direct_gather, serves any task. */
size_t direct_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most);
/* Revalidates a one-step shape after its chunk or blocks changed; false when no kernel takes it. */
bool direct_refit(const stn_task *task, const stn_machine *machine, direct_shape *shape);
void direct_cost(const stn_task *task, const stn_machine *machine, const direct_shape *shape, stn_estimate *estimate);
/* Blocks along z, y and x of direct_tile. */
void direct_tiles(const stn_task *task, const direct_shape *shape, int64_t tiles[3]);
#endif
