/* Margins at faces: they make a fused strategy correct near the faces of a grid.
 *
 * A launch that fuses f steps into one operator is correct only where no tap of the f steps reaches
 * past a face: f * reach points inside each side that does not wrap. After the strategy's own
 * launch, another launch computes the f steps of these margins in shared memory (faces_tile.cu),
 * or, for stencils with too many taps, small tasks of strategy direct do (strips.h).
 *
 * This header is the folder's only interface: strategies include nothing else of it. */
#ifndef STN_STRATEGIES_FACES_MARGINS_H
#define STN_STRATEGIES_FACES_MARGINS_H
#include "strategies/common/launches.h"
#include "strategies/faces/interior.h"

/* Seconds of the margins of one launch of f steps; 0 when there are none. `early`: their launch
 * starts while the strategy's own one runs, if that one lets it, and waits before it stores. */
typedef struct stn_faces_cost {
    double seconds;
    bool early;
} stn_faces_cost;
stn_faces_cost stn_faces_cost_of(const stn_task *task, const stn_machine *machine, int fused);
double stn_faces_seconds(const stn_task *task, const stn_machine *machine, int fused);
/* Seconds of a launch, which alone takes `launch` seconds, together with its margins. If they are
 * `early`, they overlap. waves: blocks of the launch over those that the GPU holds at once. */
double stn_faces_after(const stn_faces_cost *faces, const stn_machine *machine, double launch, double waves);

typedef struct stn_faces stn_faces;
/* For a run of plan->task in so many launches, of one or two lengths (common/launches.h). *faces is
 * NULL when there are no margins; the calls below accept NULL. Errors: those of stn_kernel_get,
 * memory, driver. */
stn_status stn_faces_create(stn_plan *plan, int launches, stn_faces **faces, stn_error *error);
/* Bytes of workspace, a multiple of 256. Nothing in it persists between launches. */
size_t stn_faces_workspace(const stn_faces *faces);
/* To be called after plan->task.taps got new weights. */
stn_status stn_faces_set_weights(stn_plan *plan, stn_faces *faces, stn_error *error);
/* Completes a launch of this length, after the strategy's own launch, which must write at least the
 * points of stn_faces_interior and may write anything elsewhere: corrects all other points.
 * launch->margins: stn_faces_workspace bytes. Neither allocates nor synchronises. */
stn_status stn_faces_run(const stn_plan *plan, const stn_faces *faces, int length, const stn_fused_launch *launch,
                         stn_error *error);
void stn_faces_destroy(stn_faces *faces);
#endif
