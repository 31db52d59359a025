/* Fused steps of `segment` compared with a stencil by cuFFT, which transforms the whole grid: time
 * and memory (FlashFFTStencil's figures 9 and 8). */
#ifndef STN_BENCH_FUSION_H
#define STN_BENCH_FUSION_H
#include "../bench.h"

/* Writes Markdown tables for a 1D and a 2D grid in f64. cuFFT's time is the measured time of both
 * transforms plus the product with the symbol at the copy bandwidth, a lower bound. steps 0: a list
 * of steps; names: of cases, comma-separated; NULL: all. Errors: a result is wrong, or there is no
 * cuFFT. */
stn_status bench_fusion(bench *machine, uint64_t steps, const char *names, stn_text *text, stn_error *error);
#endif
