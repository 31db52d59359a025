/* Slabs: what makes a fused strategy right near the faces of a grid.
 *
 * A launch that fuses f steps into one operator is right only where no tap of the f steps reaches past a face: f * reach
 * points inside each side that does not wrap. After the strategy's own launch, another one steps these margins, f steps in
 * shared memory (slabs_tile.cu). Of separable weights most of their points come out of products on the tensor cores in one
 * more launch (slabs_chain.cu); of stencils with too many taps they are small tasks of strategy direct (slabs_strips.h). */
#ifndef STN_STRATEGIES_SLABS_H
#define STN_STRATEGIES_SLABS_H
#include "plan/plan.h"
#include "strategies/layout.h"

/* The box of points that f fused steps get right by themselves: low[axis] <= index < high[axis], at 0 and n for axes that
 * wrap or that no tap leaves. False if it is empty: then fusing f steps is no use. Needs no slabs object: for estimates and
 * candidates. */
bool stn_slabs_interior(const stn_task *task, int fused, int64_t low[3], int64_t high[3]);
/* Does this side take a margin? */
bool stn_slabs_has_face(const stn_task *task, int axis, int side);
/* Seconds that slabs add to one launch of f steps; 0 when there are none. */
double stn_slabs_seconds(const stn_task *task, const stn_machine *machine, int fused);

typedef struct stn_slabs stn_slabs;
/* How margins are done: as strips, as tiles, as chains with tiles where a second face is near; or what takes least by estimate. */
typedef enum stn_slabs_way { STN_SLABS_CHEAPEST, STN_SLABS_STRIPS, STN_SLABS_TILES, STN_SLABS_CHAINS } stn_slabs_way;
/* For launches of `fused` steps of plan->task; *slabs is NULL when there are none, which the calls below accept. Adds its
 * kernels to plan->kernels. A way that does not serve gives way to the cheapest. Errors: those of stn_kernel_get, memory,
 * driver. */
stn_status stn_slabs_create(stn_plan *plan, int fused, stn_slabs_way way, stn_slabs **slabs, stn_error *error);
stn_slabs_way stn_slabs_way_of(const stn_slabs *slabs);
/* Bytes of workspace, a multiple of 256; it holds nothing between runs, so slabs of different f may share it. */
size_t stn_slabs_workspace(const stn_slabs *slabs);
/* plan->task.taps hold new weights. */
stn_status stn_slabs_set_weights(stn_plan *plan, stn_slabs *slabs, stn_error *error);
/* One launch of f steps from grid `in` to grid `out`, which must not overlap. */
typedef struct stn_fused_launch {
    const stn_grid_layout *from, *to;
    const void *in;
    void *out;
    void *stream;
} stn_fused_launch;
/* The strategy's own part of it: writes at least the points of stn_slabs_interior, and may write nonsense outside. */
typedef stn_status (*stn_interior)(const stn_plan *plan, const void *user, const stn_fused_launch *launch,
                                   stn_error *error);
/* The whole launch: calls `interior` once, with `user`, and makes all other points right. workspace:
 * stn_slabs_workspace bytes, 256-byte aligned. Allocates nothing, waits for nothing. */
stn_status stn_slabs_run(const stn_plan *plan, const stn_slabs *slabs, stn_interior interior, const void *user,
                         const stn_fused_launch *launch, void *workspace, stn_error *error);
void stn_slabs_destroy(const stn_plan *plan, stn_slabs *slabs); /* NULL is fine */
#endif
