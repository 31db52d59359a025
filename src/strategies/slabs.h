/* Slabs: what makes a fused strategy right near the faces of a grid.
 *
 * A launch that fuses f steps into one operator is right only where no tap of the f steps reaches past a face: f * reach
 * points inside each side that does not wrap. The slabs are those margins. They are stepped one by one, from the same input
 * grid, in trapezoids that shrink by one reach a step: after step j a slab is right (and kept) to a depth of
 * f * reach + (f - j) * reach. All boundaries are exact there, edges and corners included.
 *
 * How a strategy uses it: prepare calls stn_slabs_create for each f that it launches, and adds stn_slabs_workspace to its
 * own workspace. execute, for each launch of f steps from grid `in` to grid `out`: its own kernel writes the points
 * of stn_slabs_interior (and may write nonsense outside), then stn_slabs_run on the same stream writes exactly all other
 * points. */
#ifndef STN_STRATEGIES_SLABS_H
#define STN_STRATEGIES_SLABS_H
#include "plan/plan.h"

/* Where a grid lies: the strides of axes 0 to 2 and from one grid of the batch to the next, in elements. */
typedef struct stn_grid_layout {
    int64_t stride[3], batch;
} stn_grid_layout;

/* The box of points that f fused steps get right by themselves: low[axis] <= index < high[axis], at 0 and n for axes that
 * wrap or that no tap leaves. False if it is empty: then fusing f steps is no use. Needs no slabs object: for estimates and
 * candidates. */
bool stn_slabs_interior(const stn_task *task, int fused, int64_t low[3], int64_t high[3]);
/* Seconds that the slabs of one launch of f steps take; 0 when there are none. */
double stn_slabs_seconds(const stn_task *task, const stn_machine *machine, int fused);

typedef struct stn_slabs stn_slabs;
/* For launches of `fused` steps of plan->task; *slabs is NULL when there are none, which the calls below accept. Adds its
 * kernel to plan->kernels. Errors: those of stn_kernel_get, memory. */
stn_status stn_slabs_create(stn_plan *plan, int fused, stn_slabs **slabs, stn_error *error);
/* Bytes of workspace, a multiple of 256; it holds nothing between runs, so slabs of different f may share it. */
size_t stn_slabs_workspace(const stn_slabs *slabs);
/* plan->task.taps hold new weights. */
stn_status stn_slabs_set_weights(stn_plan *plan, stn_slabs *slabs, stn_error *error);
/* f launches on `stream`; in and out must not overlap. workspace: stn_slabs_workspace bytes, 256-byte aligned. Allocates
 * nothing, waits for nothing. */
stn_status stn_slabs_run(const stn_plan *plan, const stn_slabs *slabs, const stn_grid_layout *from, const void *in,
                         const stn_grid_layout *to, void *out, void *workspace, void *stream, stn_error *error);
void stn_slabs_destroy(stn_plan *plan, stn_slabs *slabs);
#endif
