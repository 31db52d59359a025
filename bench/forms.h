/* The two forms of `segment` beside each other, length by length: FFT words on CUDA cores, coprime products on tensor cores. */
#ifndef STN_BENCH_FORMS_H
#define STN_BENCH_FORMS_H
#include "bench.h"

/* A Markdown table to `text`, of a list of steps or (steps > 0) of so many; every plan is checked before it is timed. lengths: of products,
 * comma-separated; NULL: all. Errors: a result is wrong, or none could be measured. */
stn_status bench_forms(bench *machine, uint64_t steps, const char *lengths, stn_text *text, stn_error *error);
#endif
