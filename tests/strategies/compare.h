/* A strategy on the context's device against the host definition, for one problem made of random numbers. */
#ifndef STN_TESTS_COMPARE_H
#define STN_TESTS_COMPARE_H
#include <stdbool.h>
#include <stdint.h>

#include "host/pool.h"
#include "stentor.h"

/* Numbers from a seed; never the C library's, so that a case is the same everywhere. */
typedef struct dice {
    uint64_t state;
} dice;
uint64_t dice_next(dice *d);
int dice_int(dice *d, int low, int high); /* inclusive */
double dice_real(dice *d);                /* in [-1, 1) */

/* Number i of data of a dtype. */
double element(stn_dtype dtype, const void *data, int64_t i);
void set_element(stn_dtype dtype, void *data, int64_t i, double value);

typedef enum taps_kind { TAPS_STAR, TAPS_BOX, TAPS_RANDOM } taps_kind;
/* Random weights whose magnitudes sum to 1, so that many steps stay small. TAPS_RANDOM: one tap in three of the box, its
 * corners and centre not among them more often than others. */
stn_stencil *random_stencil(dice *d, int rank, taps_kind kind, int radius);
/* The same for a box of up to `radius` points to each side whose weights are products of one random factor an axis. */
stn_stencil *product_stencil(dice *d, int rank, int radius);

typedef struct comparison {
    double relative_l2, bar;
    double rounding;                    /* relative L2 of the answer itself, rounded to the dtype */
    bool all_written;                   /* no point still holds the poison, no padding was touched */
    char strategy[32], parameters[256]; /* of the plan */
    stn_error error;                    /* of the first call that failed */
} comparison;

/* Plans `problem` with `strategy`, runs it on random data with a poisoned output, and compares every point with the host.
 * True if the result is within numerics.md's bar for stepping strategies (fused: the bar of fused ones). */
/* pick: which of the strategy's candidates to run, in the order of their cost; -1: the planner's choice; from
 * COMPARE_MEASURED on: counted from there, among those worth measuring too. */
#define COMPARE_MEASURED 1000
bool compare_candidate_with_host(stn_context *context, stn_pool *pool, const stn_problem *problem, const char *strategy,
                                 int pick, bool fused, uint64_t seed, comparison *result);
bool compare_with_host(stn_context *context, stn_pool *pool, const stn_problem *problem, const char *strategy,
                       bool fused, uint64_t seed, comparison *result);
/* A plan's result for grids of `count` dense points, `in` rounded to its type, against a fresh plan's on the host in f64:
 * relative L2; infinite when a call fails. */
double compare_plan_with_host(stn_context *context, stn_plan *plan, const stn_problem *p, const double *in,
                              size_t count);
/* A dense f64 grid of random numbers and one NaN, in that column of a row in the middle: how many columns from it the result of a
 * strategy has another; INT64_MAX when a call fails. */
int64_t nan_reaches(stn_context *context, const stn_problem *problem, const char *strategy, size_t column);
#endif
