/* A strategy of transforms against the definition, for one transform of random numbers. */
#ifndef STN_TESTS_COMPARE_FFT_H
#define STN_TESTS_COMPARE_FFT_H
#include "../suite.h"
#include "problem/transform.h"

typedef struct fft_comparison {
    double relative_l2, bar;
    double worst;     /* largest error of one element, in parts of the root mean square of all */
    bool served;      /* false: the strategy says that it cannot; error says why */
    bool all_written; /* no element still holds the poison, no padding was touched, the input is as it was */
    char strategy[32], parameters[256];
    stn_error error;
} fft_comparison;

/* Runs the transform on random data, in poisoned memory, and compares every element: with the sum
 * that defines it, in long double, up to 256 points; with the host's float64 above (whose own large
 * results are compared with that sum at some elements). pick: which of the strategy's candidates,
 * in the order of their cost; -1: the planner's choice. False if it could not be run, or is further
 * off than the bar. */
bool compare_fft(suite *s, const stn_transform *transform, const char *strategy, int pick, uint64_t seed,
                 fft_comparison *result);

/* A dense transform of float64 numbers (rounded to the dtype on the way) by a strategy; false after
 * an error. */
bool run_dense(suite *s, const stn_transform *transform, const char *strategy, const double *in, double *out,
               stn_error *error);

/* `batch` lines of n points; what a transform is, in words. */
stn_transform fft_line(stn_dtype dtype, size_t n, size_t batch);
void fft_name(const stn_transform *transform, char *what, size_t size);

/* May the strategy say that it does not serve this transform (served.c)? Any other refusal is a
 * failure. */
bool fft_may_refuse(const char *strategy, const stn_fft *fft);
/* The story of a comparison that failed. */
void fft_explain(const fft_comparison *c, char *detail, size_t size);

/* `count` random transforms of up to `most` points (random_fft.c). */
void check_random(suite *s, const char *strategy, uint64_t seed, int count, size_t most);

/* Impulse, linearity, shift, Parseval, there and back, for lines of several sizes
 * (properties.c). */
void check_properties(suite *s, const char *strategy);

/* The relative L2 error that N points may have: the bars of tests/NUMERICS.md. */
double fft_bar(stn_dtype dtype, bool f16_sums, double points);
double relative_l2(const double *got, const double *expected, size_t count);
#endif
