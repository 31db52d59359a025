/* Strips: the margins that fused steps leave at the faces of a grid, for stencils that slabs_tile.cu has no room for. The two
 * margins of an axis are one small task for strategy direct, on the grid pinched along that axis to what f steps of them can see:
 *
 *     0    m0   depth0            n - depth1   m1   n         depth = f * (the reach towards the face + the larger reach)
 *     |####|.....|                     |.....|####|
 *                    pinched:  |####|.....|.....|####|
 *
 * Its faces are the grid's own. Where the two parts meet, what one step gets wrong is a reach wider after each step, and
 * after f of them it has come up to the margins (#). Axes take their turns: gather, step, scatter. */
#ifndef STN_STRATEGIES_SLABS_STRIPS_H
#define STN_STRATEGIES_SLABS_STRIPS_H
#include "strategies/slabs.h"

typedef struct slabs_strips slabs_strips;
/* Errors: memory, those of stn_kernel_get, driver. */
stn_status slabs_strips_create(stn_plan *plan, int fused, slabs_strips **strips, stn_error *error);
void slabs_strips_destroy(slabs_strips *strips); /* NULL is fine */
size_t slabs_strips_workspace(const slabs_strips *strips);
stn_status slabs_strips_set_weights(stn_plan *plan, slabs_strips *strips, stn_error *error);
/* Adds its kernels to plan->kernels. */
void slabs_strips_list(stn_plan *plan, const slabs_strips *strips);
stn_status slabs_strips_run(const stn_plan *plan, const slabs_strips *strips, const stn_fused_launch *launch,
                            void *workspace, stn_error *error);
double slabs_strips_seconds(const stn_task *task, const stn_machine *machine, int fused);
#endif
