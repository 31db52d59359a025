/* A strategy on the context's device against the host definition, for one problem made of random
 * numbers. */
#ifndef STN_TESTS_COMPARE_H
#define STN_TESTS_COMPARE_H
#include <stdbool.h>
#include <stdint.h>

#include "host/pool.h"
#include "problem/task.h"
#include "stentor.h"

/* Numbers from a seed; never the C library's, so that a case is the same everywhere. */
typedef struct dice {
    uint64_t state;
} dice;
uint64_t dice_next(dice *d);
int dice_int(dice *d, int low, int high); /* inclusive */
double dice_real(dice *d);                /* in [-1, 1) */
double dice_positive(dice *d);            /* in [0, 1) */

/* Number i of data of a dtype. */
double element(stn_dtype dtype, const void *data, int64_t i);
void set_element(stn_dtype dtype, void *data, int64_t i, double value);

typedef enum taps_kind { TAPS_STAR, TAPS_BOX, TAPS_RANDOM } taps_kind;
/* Random weights whose magnitudes sum to 1, so that many steps stay small. TAPS_RANDOM: one tap in
 * three of the box, its corners and centre not among them more often than others. */
stn_stencil *random_stencil(dice *d, int rank, taps_kind kind, int radius);
/* The product of a factor along each axis, which lies from -low on; the caller destroys it. NULL:
 * there is no memory. */
enum { MOST_FACTORS = 32 };
stn_stencil *stencil_of_factors(int rank, const int low[3], const int size[3], double factor[3][MOST_FACTORS]);
/* The same for a box of up to `radius` points to each side whose weights are products of one random
 * factor an axis. */
stn_stencil *product_stencil(dice *d, int rank, int radius);

typedef struct comparison {
    double relative_l2, bar;
    /* The largest error of a point, over the largest value of the answer */
    double point;
    double rounding;  /* relative L2 of the answer itself, rounded to the dtype */
    double predicted; /* the error that the plan expects; 0: it does not say */
    /* No point still holds the poison, no padding was touched */
    bool all_written;
    char strategy[32], parameters[256]; /* of the plan */
    stn_error error;                    /* of the first call that failed */
} comparison;

/* One wrong point hides in a relative L2: none may be further off than so many bars of the largest
 * value. Errors of rounding have 3 to 5 times their mean somewhere, and the largest value is 3 to 4
 * times the mean one. */
#define COMPARE_POINT 4
bool compare_good(const comparison *c); /* after compare_measure, with a bar */

/* Plans `problem` with `strategy`, runs it on random data with a poisoned output, and compares
 * every point with the host. True if the result is within tests/NUMERICS.md's bar for stepping
 * strategies (fused: the bar of fused ones). */
/* pick: which of the strategy's candidates to run, in the order of their cost; -1: the planner's
 * choice; from COMPARE_MEASURED on: counted from there, among those worth measuring too. */
#define COMPARE_MEASURED 1000
bool compare_candidate_with_host(stn_context *context, stn_pool *pool, const stn_problem *problem, const char *strategy,
                                 int pick, bool fused, uint64_t seed, comparison *result);
bool compare_with_host(stn_context *context, stn_pool *pool, const stn_problem *problem, const char *strategy,
                       bool fused, uint64_t seed, comparison *result);
/* The same of data from another draw than dice_real. */
bool compare_drawn_with_host(stn_context *context, stn_pool *pool, const stn_problem *problem, const char *strategy,
                             int pick, bool fused, double (*draw)(dice *), uint64_t seed, comparison *result);
/* The parts of it. Grids hold NaN in their padding, which nothing may read into a result or
 * write. */
void compare_fill(const stn_task *task, double (*draw)(dice *), dice *d, void *in);
stn_status compare_plan(stn_context *context, const stn_problem *problem, const char *strategy, int pick,
                        stn_plan **plan, comparison *result);
/* Such a plan's result, of grids on the host; `out` comes in as the device's grid is before the
 * run. */
stn_status compare_run(stn_context *context, const stn_problem *problem, const char *strategy, int pick, const void *in,
                       size_t in_bytes, void *out, size_t out_bytes, comparison *result);
/* The host's answer. Strategies that fuse steps round less often than stepping in f32 or f16 does:
 * theirs is compared with f64's, from the same input and the same constants. The array is the
 * caller's; NULL: out of memory. */
void *compare_answer(const stn_task *task, stn_pool *pool, bool fused, const void *in, stn_dtype *dtype);
/* The same with a constant source, which lies as the task's input does; NULL: none. */
void *compare_answer_source(const stn_task *task, stn_pool *pool, bool fused, const void *in, const void *source,
                            stn_dtype *dtype);
/* Every point, then every element that is none. */
void compare_measure(const stn_task *task, const void *got, stn_dtype expected_dtype, const void *expected,
                     comparison *result);
double compare_bar(const stn_task *task, bool fused);
/* A plan's result for grids of `count` dense points, `in` rounded to its type, against a fresh
 * plan's on the host in f64: relative L2, or the largest error of a point over COMPARE_POINT times
 * the largest value, if that is more; infinite when a call fails. */
double compare_plan_with_host(stn_context *context, stn_plan *plan, const stn_problem *p, const double *in,
                              size_t count);
/* A dense f64 grid of random numbers and one NaN, in that column of a row in the middle: how many
 * columns from it the result of a strategy has another; INT64_MAX when a call fails. */
int64_t nan_reaches(stn_context *context, const stn_problem *problem, const char *strategy, size_t column);
#endif
