/* Comparison of the forms of `segment`: in 1D, for each length, FFTs on CUDA cores and prime-factor
 * dense DFTs on tensor cores; dense-DFT tiles in 2D and 3D and other strategies. */
#ifndef STN_BENCH_FORMS_H
#define STN_BENCH_FORMS_H
#include "../bench.h"

/* Writes a Markdown table for a list of steps or (steps > 0) one number of steps; every plan is
 * checked before it is timed. lengths: of dense DFTs, comma-separated; NULL: all. Errors: a result
 * is wrong, or none could be measured. */
stn_status bench_forms(bench *machine, uint64_t steps, const char *lengths, stn_text *text, stn_error *error);
/* The same for box-2d9p, box-2d49p and box-3d27p, or those of `stencils`, on grids of `edge` points
 * along each axis; 0: the default of each. */
stn_status bench_form_tiles(bench *machine, uint64_t steps, const char *stencils, size_t edge, stn_text *text,
                            stn_error *error);
#endif
