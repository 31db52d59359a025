/* Passes of the strategy modes over grids of 2 axes on a GPU (modes_plane.cu): along x, along y
 * with the powers, back along x. The functions are those of lines.h for such grids. */
#ifndef STN_STRATEGIES_MODES_PLANE_H
#define STN_STRATEGIES_MODES_PLANE_H
#include "strategies/modes/line_kernels.h"

bool modes_plane_fits(const modes_linear *linear, const stn_machine *machine);
size_t modes_plane_bytes(const modes_linear *linear);
stn_status modes_plane_make(stn_plan *plan, const modes_linear *linear, modes_lines *plane, stn_error *error);
stn_status modes_plane_run(const modes_lines *plane, const modes_linear *linear, const double *numbers, uint64_t steps,
                           const stn_execution *run, stn_error *error);
#endif
