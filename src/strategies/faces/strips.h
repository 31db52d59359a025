/* Strips: margins of fused steps at the faces of a grid, for stencils with too many taps for
 * faces_tile.cu. The two margins of an axis form one small task for strategy direct, on a grid that
 * has only the points on which f steps of the margins depend:
 *
 *     0    m0   depth0            n - depth1   m1   n
 *     |####|.....|                     |.....|####|
 *                     shortened: |####|.....|.....|####|
 *
 * depth = f * (the reach towards the face + the larger reach). The strip's faces are the grid's
 * own. Each step invalidates one more reach around the seam between the two parts; after f steps
 * the invalid points border the margins (#). Axes are processed one after another: gather, step,
 * scatter. */
#ifndef STN_STRATEGIES_FACES_STRIPS_H
#define STN_STRATEGIES_FACES_STRIPS_H
#include "strategies/common/launches.h"
#include "strategies/faces/interior.h"

typedef struct faces_strips faces_strips;
/* Errors: memory, those of stn_kernel_get, driver. */
stn_status faces_strips_create(stn_plan *plan, int fused, faces_strips **strips, stn_error *error);
void faces_strips_destroy(faces_strips *strips); /* accepts NULL */
size_t faces_strips_workspace(const faces_strips *strips);
stn_status faces_strips_set_weights(stn_plan *plan, faces_strips *strips, stn_error *error);
stn_status faces_strips_run(const stn_plan *plan, const faces_strips *strips, const stn_fused_launch *launch,
                            stn_error *error);
double faces_strips_seconds(const stn_task *task, const stn_machine *machine, int fused);
#endif
