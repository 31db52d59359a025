/* Shapes of the kernels that make several steps in one launch (direct_time_*.cu): steps a launch,
 * points a lane, and their cost. A direct_shape with fused > 1 is one of these. */
#ifndef STN_STRATEGIES_DIRECT_TEMPORAL_BLOCKING_H
#define STN_STRATEGIES_DIRECT_TEMPORAL_BLOCKING_H
#include "strategies/direct/direct_shape.h"

/* Planes that direct_time_tile prefetches: three were no faster, one was a tenth slower in 3D. */
#define DIRECT_TIME_PREFETCH 2

/* Lists shapes for task->steps steps, most promising first; none when these kernels cannot run
 * the task (strided fastest axis, reach too long, extents that no tile fits). */
size_t direct_time_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most);
/* Revalidates a shape after its points, blocks or fused changed; false when no kernel takes it.
 * chunk: also choose shape->chunk again. */
bool direct_time_refit(const stn_task *task, const stn_machine *machine, direct_shape *shape, bool chunk);
/* Seconds of one launch of shape->fused steps. *computed: points computed in each step; a point
 * counts once for each tile that computes it. */
double direct_time_launch_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                                  double *computed);

/* ADDRESSES: registers of a lane besides its partial sums. */
enum { DIRECT_TIME_LANES = 32, DIRECT_TIME_ADDRESSES = 44 };
/* Tiles along z, y and x of one grid. */
void direct_time_tiles(const stn_task *task, const direct_shape *shape, int64_t tiles[3]);
/* Whether a tile of a 2D grid is as wide as the grid and the points that taps reach past its ends.
 * Then no neighbouring tile is needed along x, and the tile has no margins of fused steps. */
bool direct_time_spans(const stn_task *task, const direct_shape *shape);
/* Bytes of dynamic shared memory of a block. */
size_t direct_time_shared(const stn_task *task, const direct_shape *shape);
#endif
