/* Passes of the strategy modes over 3D grids on a GPU, each along lines of one axis
 * (modes_lines.cu). Two neighbouring planes of real numbers are one plane of complex numbers. */
#ifndef STN_STRATEGIES_MODES_LINES_H
#define STN_STRATEGIES_MODES_LINES_H
#include "strategies/modes/line_kernels.h"

/* Whether the passes serve a system of periodic grids without conversions. */
bool modes_lines_fit(const modes_linear *linear, const stn_machine *machine);
size_t modes_lines_bytes(const modes_linear *linear); /* of the spectra */
/* *lines must be zero. The caller clears it in any case. */
stn_status modes_lines_make(stn_plan *plan, const modes_linear *linear, modes_lines *lines, stn_error *error);
/* Computes the states after `steps` steps from those of `in`. */
stn_status modes_lines_run(const modes_lines *lines, const modes_linear *linear, const double *numbers, uint64_t steps,
                           const stn_execution *run, stn_error *error);
#endif
