/* Fused steps of `segment` beside a stencil by cuFFT, which transforms the whole grid: time, and
 * memory held (the paper's figures 9 and 8). */
#ifndef STN_BENCH_FUSION_H
#define STN_BENCH_FUSION_H
#include "../bench.h"

/* Markdown tables to `text`, of one line and one plane in f64. cuFFT's time is that of its two
 * transforms, measured, and of its factor of each frequency at the copy rate: less than any real
 * one takes. steps 0: a list of them; names: of cases, comma-separated; NULL: all. Errors: a result
 * is wrong, or there is no cuFFT. */
stn_status bench_fusion(bench *machine, uint64_t steps, const char *names, stn_text *text, stn_error *error);
#endif
