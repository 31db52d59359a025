/* The forms of `segment` beside each other: in 1D length by length FFT words on CUDA cores and
 * coprime products on tensor cores; tiles of planes and solids by products beside other
 * strategies. */
#ifndef STN_BENCH_FORMS_H
#define STN_BENCH_FORMS_H
#include "../bench.h"

/* A Markdown table to `text`, of a list of steps or (steps > 0) of so many; every plan is checked
 * before it is timed. lengths: of products, comma-separated; NULL: all. Errors: a result is wrong,
 * or none could be measured. */
stn_status bench_forms(bench *machine, uint64_t steps, const char *lengths, stn_text *text, stn_error *error);
/* Likewise of box-2d9p, box-2d49p and box-3d27p, or of those among `stencils`, on grids of so many
 * points along each axis; 0: on each one's own. */
stn_status bench_form_tiles(bench *machine, uint64_t steps, const char *stencils, size_t edge, stn_text *text,
                            stn_error *error);
#endif
