/* Shapes of the kernels that make several steps in one launch (direct_time_*.cu): how many steps,
 * how many points a lane, and what that costs. A direct_shape with fused > 1 is one of these. */
#ifndef STN_STRATEGIES_DIRECT_TIME_H
#define STN_STRATEGIES_DIRECT_TIME_H
#include "strategies/direct/shape.h"

#define DIRECT_TIME_PREFETCH                                                                                           \
    2 /* planes that direct_time_tile asks for ahead: a third gained nothing, one lost a tenth in 3D */

/* Shapes for task->steps steps, most promising first; none when the task is one that these kernels
 * do not take (a strided fastest axis, a reach too long, an extent that no tile fits). tally: of
 * those left out, may be NULL, here and below. */
size_t direct_time_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most,
                          stn_tally *tally);
/* After a change of a shape's points, blocks or fused; false when no kernel takes it. With `chunk`
 * that is chosen anew. */
bool direct_time_refit(const stn_task *task, const stn_machine *machine, direct_shape *shape, bool chunk,
                       stn_tally *tally);
/* Seconds of one launch of shape->fused steps; *computed: points that each step of it computes,
 * those that several tiles have in common counted as often. */
double direct_time_launch_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                                  double *computed);

enum { DIRECT_TIME_LANES = 32, DIRECT_TIME_ADDRESSES = 44 }; /* ADDRESSES: registers of a lane beside its sums */
/* The rows of a tile that take the least, into shape->chunk. */
void direct_time_fit_chunk(const stn_task *task, const stn_machine *machine, direct_shape *shape);
/* ONE_BARRIER of device/time_tile.cuh: one barrier a turn. */
bool direct_time_one_barrier(const stn_task *task, const direct_shape *shape);
/* REFRESH of direct/time_tile.cuh: points past an edge along y or x are taken from others of their
 * plane in every stage. */
bool direct_time_settles(const stn_task *task, const direct_shape *shape);

/* Tiles along z, y and x of one grid. */
void direct_time_tiles(const stn_task *task, const direct_shape *shape, int64_t tiles[3]);
/* Does one tile of the plane hold whole rows, and the points past their ends? Then nothing comes in
 * from there. */
bool direct_time_spans(const stn_task *task, const direct_shape *shape);
/* Bytes of dynamic shared memory of a block. */
size_t direct_time_shared(const stn_task *task, const direct_shape *shape);
#endif
