/* Helpers of the host's tests: random numbers, tasks from simple descriptions, grids of any dtype
 * in poisoned memory. */
#ifndef STN_TESTS_HOST_GRIDS_H
#define STN_TESTS_HOST_GRIDS_H
#include "host/stencil_run.h"

/* The same sequence on every machine. */
double random_unit(uint64_t *state);                            /* in [-1, 1) */
int64_t random_int(uint64_t *state, int64_t low, int64_t high); /* in [low, high] */

/* A task from a problem with a stencil of these taps; fails the test if it is refused. */
stn_task make_task(int rank, size_t ntaps, const stn_tap *taps, stn_problem problem);

/* Element `index` of an array of a dtype, as an exact double. Writing rounds. */
double get(stn_dtype dtype, const void *array, int64_t index);
void set(stn_dtype dtype, void *array, int64_t index, double value);

/* An array of `elements` elements with all bytes 0xff: NaN in every dtype. The caller frees it. */
void *poisoned(stn_dtype dtype, int64_t elements);

/* stn_host_run with a pool, and a poisoned workspace of exactly the required size. */
void run(const stn_task *task, int threads, const void *in, void *out);

/* Relative L2 distance of dense doubles. */
double distance(int64_t count, const double *got, const double *expected);
#endif
