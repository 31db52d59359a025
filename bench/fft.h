/* Transforms: the cases, the check of a sample, what was measured. */
#ifndef STN_BENCH_FFT_H
#define STN_BENCH_FFT_H
#include "bench.h"
#include "options.h"
#include "problem/transform.h"

typedef struct fft_case {
    const char *group; /* fft: f16, the paper's sizes; fft-few: every size, 1 and 8 at a time; fft-batch: two sizes, any
                          * number at a time; fft-types: f32 and f64; fft-grid: single grids of 2 and 3 axes, f32 and f64 */
    char name[48];     /* "131072 x 512" */
    stn_transform transform;
    double bar;      /* GB/s of one read and one write; 0: none */
    double of_cufft; /* what share of cuFFT's speed it must reach; 0: none */
    /* GB/s of the best peer measured on the same kind of GPU, 0 if there is none */
    double peer;
} fft_case;

enum { FFT_CASES = 256 };
size_t bench_fft_cases(fft_case list[FFT_CASES]);

enum { FFT_RUNS = 24 };
/* A sample of the output: runs of elements, and what they should be. */
typedef struct fft_sample {
    int runs;
    int64_t start[FFT_RUNS], length; /* elements; all runs are as long */
    double *expected;                /* numbers of all runs */
} fft_sample;
/* Of an output of dense transforms of bench_value's numbers: whole transforms by the host in
 * float64, or single elements of long ones by their sums. */
stn_status bench_fft_sample(bench *machine, const stn_fft *fft, fft_sample *sample, stn_error *error);
void bench_fft_sample_clear(fft_sample *sample);
/* Writes NaN to the sample of `out`; reads it and gives its relative L2 error, NaN if an element is
 * missing. */
stn_status bench_fft_poison(bench *machine, const stn_fft *fft, const fft_sample *sample, void *out, stn_error *error);
stn_status bench_fft_error(bench *machine, const stn_fft *fft, const fft_sample *sample, const void *out,
                           double *relative, stn_error *error);

/* One way to run a case. */
typedef struct fft_timing {
    char strategy[32];
    double seconds, error;
    char problem[200]; /* why it was not measured; "" if it was */
} fft_timing;

typedef struct fft_result {
    fft_case what;
    double bytes, flops; /* of one read and one write; 5 N log2 N */
    double allowed;      /* error that rounding explains */
    fft_timing ours, cufft;
    bool first; /* of those measured */
} fft_result;

/* Measures all cases that the options name, ours and cuFFT's side by side; calls `done` (may be
 * NULL) for each as soon as it is measured. *list is the caller's to free. */
typedef void (*fft_done)(const bench *machine, const fft_result *result);
stn_status bench_fft_run(bench *machine, const bench_options *options, fft_done done, fft_result **list, size_t *count,
                         stn_error *error);
bool bench_fft_right(const fft_result *result);
/* The table's rows go to stdout one by one, with its head before the first. */
void bench_fft_row(const bench *machine, const fft_result *result);
void bench_fft_problems(const bench *machine, const fft_result *list, size_t count, stn_text *text);
void bench_fft_json(const fft_result *list, size_t count, stn_text *text); /* an array */
#endif
