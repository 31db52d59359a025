/* Transforms: the cases, the check of a sample, the results. */
#ifndef STN_BENCH_FFT_H
#define STN_BENCH_FFT_H
#include "bench.h"
#include "options.h"
#include "problem/transform.h"

typedef struct fft_case {
    /* fft: f16, the paper's sizes; fft-few: all sizes in batches of 1 and 8; fft-batch: two sizes
     * in batches of all sizes; fft-types: f32 and f64; fft-grid: single 2D and 3D grids, f32 and
     * f64. */
    const char *group;
    char name[48]; /* "131072 x 512" */
    stn_transform transform;
    double bar;      /* GB/s of one read and one write; 0: none */
    double of_cufft; /* required fraction of cuFFT's speed; 0: none */
    /* The best GB/s of other software on the same kind of GPU; 0: unknown. */
    double peer;
} fft_case;

enum { FFT_CASES = 256 };
size_t bench_fft_cases(fft_case list[FFT_CASES]);

enum { FFT_RUNS = 24 };
/* A sample of the output: runs of consecutive elements, and their correct values. */
typedef struct fft_sample {
    int runs;
    int64_t start[FFT_RUNS], length; /* elements; all runs have the same length */
    double *expected;                /* numbers of all runs */
} fft_sample;
/* Chooses and computes the sample for transforms of bench_value's data: whole transforms by the
 * host in float64, or single elements of long transforms by direct sums. */
stn_status bench_fft_sample(bench *machine, const stn_fft *fft, fft_sample *sample, stn_error *error);
void bench_fft_sample_clear(fft_sample *sample);
/* The first writes NaN to the sample's elements of `out`; the second reads them and gives their
 * relative L2 error, NaN if an element was not written. */
stn_status bench_fft_poison(bench *machine, const stn_fft *fft, const fft_sample *sample, void *out, stn_error *error);
stn_status bench_fft_error(bench *machine, const stn_fft *fft, const fft_sample *sample, const void *out,
                           double *relative, stn_error *error);

/* One way to run a case. */
typedef struct fft_timing {
    char strategy[32];
    double seconds, error;
    char problem[200]; /* why there is no measurement, or "" */
} fft_timing;

typedef struct fft_result {
    fft_case what;
    double bytes, flops; /* of one read and one write; 5 N log2 N */
    double allowed;      /* the largest error that rounding explains */
    fft_timing ours, cufft;
    bool first; /* it is the first measured case */
} fft_result;

/* Measures the selected cases with our plan and with cuFFT, and calls `done` (may be NULL) after
 * each case. *list is freed with free(). */
typedef void (*fft_done)(const bench *machine, const fft_result *result);
stn_status bench_fft_run(bench *machine, const bench_options *options, fft_done done, fft_result **list, size_t *count,
                         stn_error *error);
bool bench_fft_right(const fft_result *result);
/* Prints a row of the table, the first one with the table's header. */
void bench_fft_row(const bench *machine, const fft_result *result);
void bench_fft_problems(const bench *machine, const fft_result *list, size_t count, stn_text *text);
void bench_fft_json(const fft_result *list, size_t count, stn_text *text); /* an array */
#endif
