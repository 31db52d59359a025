/* Comparison of transforms by a strategy with their definition, on random numbers. */
#ifndef STN_TESTS_COMPARE_FFT_H
#define STN_TESTS_COMPARE_FFT_H
#include "../suite.h"
#include "problem/transform.h"

typedef struct fft_comparison {
    double relative_l2, bar;
    double worst;     /* largest error of one element, relative to the root mean square of all */
    bool served;      /* false: the strategy cannot run it; `error` has the reason */
    bool all_written; /* all elements were written; padding was not */
    char strategy[32], parameters[256];
    stn_error error;
} fft_comparison;

/* Runs the transform on random data in poisoned memory, and compares every element with the
 * defining sum in long double, up to 256 points; above, with the host's float64 (which is compared
 * with that sum at some elements). pick: index of the strategy's candidate in order of cost; -1:
 * the planner's choice. Returns false if it could not be run, or if the error exceeds the bar. */
bool compare_fft(suite *s, const stn_transform *transform, const char *strategy, int pick, uint64_t seed,
                 fft_comparison *result);

/* Runs a dense transform of float64 numbers (rounded to the dtype) by a strategy; false after an
 * error. */
bool run_dense(suite *s, const stn_transform *transform, const char *strategy, const double *in, double *out,
               stn_error *error);

/* A transform of `batch` lines of n points; the description of a transform. */
stn_transform fft_line(stn_dtype dtype, size_t n, size_t batch);
void fft_name(const stn_transform *transform, char *what, size_t size);

/* Whether the strategy may refuse this transform (fft_may_refuse.c). Any other refusal is a
 * failure. */
bool fft_may_refuse(const char *strategy, const stn_fft *fft);
/* The description of a failed comparison. */
void fft_explain(const fft_comparison *c, char *detail, size_t size);

/* Checks `count` random transforms of up to `most` points (random_fft.c). */
void check_random(suite *s, const char *strategy, uint64_t seed, int count, size_t most);

/* Checks impulse, linearity, shift, Parseval and round trip for lines of several sizes
 * (fft_properties.c). */
void check_properties(suite *s, const char *strategy);

/* Maximum relative L2 error for a transform of `points` points: the bars of tests/NUMERICS.md. */
double fft_bar(stn_dtype dtype, bool f16_sums, double points);
double relative_l2(const double *got, const double *expected, size_t count);
#endif
