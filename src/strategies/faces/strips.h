/* Strips: the margins that fused steps leave at the faces of a grid, for stencils that
 * faces_tile.cu has no room for. The two margins of an axis are one small task for strategy direct,
 * on the grid pinched along that axis to what f steps of them can see:
 *
 *     0    m0   depth0            n - depth1   m1   n         depth = f * (the reach towards the face + the larger reach)
 *     |####|.....|                     |.....|####|
 *                    pinched:  |####|.....|.....|####|
 *
 * Its faces are the grid's own. Where the two parts meet, what one step gets wrong is a reach wider
 * after each step, and after f of them it has come up to the margins (#). Axes take their turns:
 * gather, step, scatter. */
#ifndef STN_STRATEGIES_FACES_STRIPS_H
#define STN_STRATEGIES_FACES_STRIPS_H
#include "strategies/common/fused.h"
#include "strategies/faces/interior.h"

typedef struct faces_strips faces_strips;
/* Errors: memory, those of stn_kernel_get, driver. */
stn_status faces_strips_create(stn_plan *plan, int fused, faces_strips **strips, stn_error *error);
void faces_strips_destroy(faces_strips *strips); /* NULL is fine */
size_t faces_strips_workspace(const faces_strips *strips);
stn_status faces_strips_set_weights(stn_plan *plan, faces_strips *strips, stn_error *error);
/* Adds its kernels to plan->kernels. */
void faces_strips_list(stn_plan *plan, const faces_strips *strips);
stn_status faces_strips_run(const stn_plan *plan, const faces_strips *strips, const stn_fused_launch *launch,
                            void *workspace, stn_error *error);
double faces_strips_seconds(const stn_task *task, const stn_machine *machine, int fused);
#endif
