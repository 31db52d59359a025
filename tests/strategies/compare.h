/* Compares a strategy on the context's device with the host's definition, for random data. */
#ifndef STN_TESTS_COMPARE_H
#define STN_TESTS_COMPARE_H
#include <stdbool.h>
#include <stdint.h>

#include "host/pool.h"
#include "problem/task.h"
#include "stentor.h"

/* Random numbers that are the same on all machines, unlike the C library's. */
typedef struct dice {
    uint64_t state;
} dice;
uint64_t dice_next(dice *d);
int dice_int(dice *d, int low, int high); /* inclusive */
double dice_real(dice *d);                /* in [-1, 1) */
double dice_positive(dice *d);            /* in [0, 1) */
/* STENTOR_TEST_SEED, or the time; it is printed. */
uint64_t dice_seed(void);

/* Element i of data of a dtype. */
double element(stn_dtype dtype, const void *data, int64_t i);
void set_element(stn_dtype dtype, void *data, int64_t i, double value);

typedef enum taps_kind { TAPS_STAR, TAPS_BOX, TAPS_RANDOM } taps_kind;
/* Random weights whose magnitudes sum to 1, so that values stay bounded. TAPS_RANDOM: a third of
 * the box's taps, all with equal probability. */
stn_stencil *random_stencil(dice *d, int rank, taps_kind kind, int radius);
/* The separable stencil of a factor along each axis, which begins at -low; destroyed by the caller.
 * NULL: out of memory. */
enum { MAX_FACTORS = 32 };
stn_stencil *stencil_of_factors(int rank, const int low[3], const int size[3], double factor[3][MAX_FACTORS]);
/* The same with random factors, of up to `radius` points to each side. */
stn_stencil *product_stencil(dice *d, int rank, int radius);

typedef struct comparison {
    double relative_l2, bar;
    /* The largest error of a point, relative to the largest value of the result. */
    double point;
    double rounding;  /* relative L2 error of the correct result rounded to the dtype */
    double predicted; /* the error that the plan predicts; 0: none */
    /* No point still has the poison value; no padding was overwritten. */
    bool all_written;
    char strategy[32], parameters[256]; /* of the plan */
    stn_error error;                    /* of the first call that failed */
} comparison;

/* A single wrong point hardly changes the relative L2 error, so the error of each point is limited
 * to so many error bounds times the largest value. The largest rounding error is 3 to 5 times the
 * mean, and the largest value 3 to 4 times the mean. */
#define COMPARE_POINT 4
bool compare_good(const comparison *c); /* after compare_measure; needs `bar` */

/* Plans `problem` with `strategy`, runs it on random data with a poisoned output, and compares
 * every point with the host. True if the error is within the bound of tests/NUMERICS.md for single
 * steps (fused: for fused steps). */
/* pick: the index of the strategy's candidate in the order of cost; -1: the planner's choice;
 * COMPARE_MEASURED + i: index i among all candidates, with those for measuring only. */
#define COMPARE_MEASURED 1000
bool compare_candidate_with_host(stn_context *context, stn_pool *pool, const stn_problem *problem, const char *strategy,
                                 int pick, bool fused, uint64_t seed, comparison *result);
bool compare_with_host(stn_context *context, stn_pool *pool, const stn_problem *problem, const char *strategy,
                       bool fused, uint64_t seed, comparison *result);
/* The same with data drawn by another function than dice_real. */
bool compare_drawn_with_host(stn_context *context, stn_pool *pool, const stn_problem *problem, const char *strategy,
                             int pick, bool fused, double (*draw)(dice *), uint64_t seed, comparison *result);
/* The parts of the same. The padding of grids is NaN, which must not affect a result or be
 * overwritten. */
void compare_fill(const stn_task *task, double (*draw)(dice *), dice *d, void *in);
stn_status compare_plan(stn_context *context, const stn_problem *problem, const char *strategy, int pick,
                        stn_plan **plan, comparison *result);
/* Builds candidate `pick` of a plan's ranking (-1: it is built), and names the plan's strategy and
 * parameters. */
stn_status compare_build(stn_plan *plan, int pick, char strategy[32], char parameters[256], stn_error *error);
/* Runs a plan once on arrays of host memory: out is uploaded and then downloaded; in (NULL: in
 * place) and source (NULL: none; of in's size) must not change. */
stn_status compare_execute(stn_context *context, stn_plan *plan, const void *in, size_t in_bytes, const void *source,
                           void *out, size_t out_bytes, stn_error *error);
/* The result of such a plan for grids in host memory; on entry `out` has the initial content of the
 * output. */
stn_status compare_run(stn_context *context, const stn_problem *problem, const char *strategy, int pick, const void *in,
                       size_t in_bytes, void *out, size_t out_bytes, comparison *result);
/* The host's result. Strategies that fuse steps round less often than single steps in f32 or f16,
 * so they are compared with f64 from the same input and constants. Freed by the caller; NULL: out
 * of memory. */
void *compare_answer(const stn_task *task, stn_pool *pool, bool fused, const void *in, stn_dtype *dtype);
/* The same with a constant source in the input's layout; NULL: none. */
void *compare_answer_source(const stn_task *task, stn_pool *pool, bool fused, const void *in, const void *source,
                            stn_dtype *dtype);
/* Compares every point, then checks every padding element. */
void compare_measure(const stn_task *task, const void *got, stn_dtype expected_dtype, const void *expected,
                     comparison *result);
double compare_bar(const stn_task *task, bool fused);
/* The error of a plan's result for dense grids of `count` points, `in` rounded to its type, against
 * a new f64 plan on the host: the larger of the relative L2 error and of the largest error of a
 * point divided by COMPARE_POINT times the largest value; infinite if a call fails. */
double compare_plan_with_host(stn_context *context, stn_plan *plan, const stn_problem *p, const double *in,
                              size_t count);
/* Runs a strategy on a dense f64 grid of random numbers with one NaN in that column of the middle
 * row; returns the largest distance, in columns, of a NaN in the result; INT64_MAX if a call
 * fails. */
int64_t nan_reaches(stn_context *context, const stn_problem *problem, const char *strategy, size_t column);
#endif
