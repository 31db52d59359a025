/* Passes of the strategy modes on a GPU, each along lines of one axis: of 3D grids
 * (modes_lines.cu), of which two neighbouring planes of real numbers are one plane of complex
 * numbers, and of 2D grids (plane.h). */
#ifndef STN_STRATEGIES_MODES_LINES_H
#define STN_STRATEGIES_MODES_LINES_H
#include "strategies/common/shared_fft.h"
#include "strategies/modes/power_kernel.h"

/* Transforms along x and, in 3D, y; along the slowest axis, the power, and back; back along y and
 * x. */
enum { MODES_ALONG_X, MODES_ALONG_Y, MODES_POWER, MODES_BACK_Y, MODES_BACK_X, MODES_LINES_PASSES };

typedef struct modes_lines {
    modes_power power; /* without a kernel */
    stn_shared_fft line[MODES_LINES_PASSES];
    stn_kernel *kernel[MODES_LINES_PASSES];
    void *tables;                                       /* device memory, owned: twiddle factors */
    size_t twiddles[MODES_LINES_PASSES], half_twiddles; /* byte offsets */
    int columns;                                        /* of a block of MODES_POWER */
} modes_lines;

/* Whether the passes serve a system of periodic grids without conversions. */
bool modes_lines_fit(const modes_linear *linear, const stn_machine *machine);
size_t modes_lines_bytes(const modes_linear *linear); /* of the spectra */
/* *lines must be zero. The caller clears it in any case. */
stn_status modes_lines_make(stn_plan *plan, const modes_linear *linear, modes_lines *lines, stn_error *error);
/* Makes the tables of all lines, with the half twiddles of the lines of pass `half`. */
stn_status modes_lines_make_tables(const stn_plan *plan, bool wide, int half, modes_lines *lines, stn_error *error);
void modes_lines_clear(const stn_plan *plan, modes_lines *lines);
/* Computes the states after `steps` steps from those of `in`. */
stn_status modes_lines_run(const modes_lines *lines, const modes_linear *linear, const double *numbers, uint64_t steps,
                           const stn_execution *run, stn_error *error);
#endif
