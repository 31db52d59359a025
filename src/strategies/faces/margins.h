/* Margins at faces: what makes a fused strategy right near the faces of a grid.
 *
 * A launch that fuses f steps into one operator is right only where no tap of the f steps reaches
 * past a face: f * reach points inside each side that does not wrap. After the strategy's own
 * launch, another one steps these margins, f steps in shared memory (faces_tile.cu); of stencils
 * with too many taps they are small tasks of strategy direct (strips.h).
 *
 * This header is the only door: strategies include nothing else of this room. */
#ifndef STN_STRATEGIES_FACES_MARGINS_H
#define STN_STRATEGIES_FACES_MARGINS_H
#include "strategies/common/fused.h"
#include "strategies/faces/interior.h"

/* Seconds that faces add to one launch of f steps; 0 when there are none. */
double stn_faces_seconds(const stn_task *task, const stn_machine *machine, int fused);

typedef struct stn_faces stn_faces;
/* How margins are done: as strips or as tiles, or whichever of the two takes less by estimate. */
typedef enum stn_faces_way { STN_FACES_CHEAPEST, STN_FACES_STRIPS, STN_FACES_TILES } stn_faces_way;
/* For launches of `fused` steps of plan->task; *faces is NULL when there are none, which the calls
 * below accept. Adds its kernels to plan->kernels. A way that does not serve gives way to the
 * cheapest. Errors: those of stn_kernel_get, memory, driver. */
stn_status stn_faces_create(stn_plan *plan, int fused, stn_faces_way way, stn_faces **faces, stn_error *error);
stn_faces_way stn_faces_way_of(const stn_faces *faces);
/* Bytes of workspace, a multiple of 256; it holds nothing between runs, so faces of different f may
 * share it. */
size_t stn_faces_workspace(const stn_faces *faces);
/* plan->task.taps hold new weights. */
stn_status stn_faces_set_weights(stn_plan *plan, stn_faces *faces, stn_error *error);
/* The whole launch: calls `interior` once, with `user`, which writes at least the points of
 * stn_faces_interior and may write nonsense outside; then makes all other points right. workspace:
 * stn_faces_workspace bytes, 256-byte aligned. Allocates nothing, waits for nothing. */
stn_status stn_faces_run(const stn_plan *plan, const stn_faces *faces, stn_interior interior, const void *user,
                         const stn_fused_launch *launch, void *workspace, stn_error *error);
void stn_faces_destroy(const stn_plan *plan, stn_faces *faces); /* NULL is fine */
#endif
