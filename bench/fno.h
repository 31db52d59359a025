/* Fourier layers: the cases and the results. */
#ifndef STN_BENCH_FNO_H
#define STN_BENCH_FNO_H
#include "bench.h"
#include "options.h"

typedef struct fno_case {
    /* fno: the paper's, complex, one matrix of weights; fno-grid: real, weights for each mode. */
    const char *group;
    /* "1d-128-m64-c64-b4096": points, modes, channels, batch */
    char name[64];
    stn_spectral_conv layer;
    double bar;       /* ms at most; 0: none */
    double of_cublas; /* required speed as a multiple of cuFFT + cuBLAS's; 0: none */
} fno_case;

enum { FNO_CASES = 64 };
size_t bench_fno_cases(fno_case list[FNO_CASES]);

typedef struct fno_timing {
    char strategy[32];
    /* error: relative L2 of a sample of the forward pass against the host's float64 */
    double seconds, error;
    char problem[200]; /* why there is no measurement, or "" */
} fno_timing;

/* Measures the selected cases, forward alone and (fno-grid) followed by both backward passes, by
 * the planner's choice and by cuFFT + cuBLAS; prints a row after each. *measured: the number of
 * rows;
 * *wrong: some result is wrong. */
stn_status bench_fno_run(bench *machine, const bench_options *options, size_t *measured, bool *wrong, stn_error *error);
#endif
