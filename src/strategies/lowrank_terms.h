/* Fused taps and their separable terms: the mathematics of the lowrank strategy, on the host and above the data's
 * precision. */
#ifndef STN_STRATEGIES_LOWRANK_TERMS_H
#define STN_STRATEGIES_LOWRANK_TERMS_H
#include "base/error.h"
#include "problem/task.h"

/* The taps of f steps in one, dense: weight[y * columns + x] belongs to the offset (y - low[0], x - low[1]). */
typedef struct lowrank_taps {
    int fused; /* f */
    int rows, columns, low[2];
    long double *weight; /* owned; rows * columns */
} lowrank_taps;

/* The taps of one step of a 1D or 2D task (rows = 1 in 1D). Errors: out of memory. */
stn_status lowrank_taps_make(const stn_task *task, lowrank_taps *taps, stn_error *error);
/* One step more: taps convolved with the task's. On failure `taps` is as before. */
stn_status lowrank_taps_fuse(const stn_task *task, lowrank_taps *taps, stn_error *error);
void lowrank_taps_clear(lowrank_taps *taps);

/* weight[y][x] = sum over terms q of  u[q][y] v[q][x], largest term first. */
typedef struct lowrank_terms {
    int count, rows, columns;
    double *u, *v;   /* owned; count rows of `rows` and of `columns` numbers */
    double residual; /* what the terms, as they are rounded to double, leave: relative, Frobenius */
} lowrank_terms;

/* The fewest terms whose residual is at most `tolerance` (relative, Frobenius), but no less than rounding: the singular
 * value decomposition. At least one term, of zeros if all weights are. Errors: out of memory. */
stn_status lowrank_terms_make(const lowrank_taps *taps, double tolerance, lowrank_terms *terms, stn_error *error);
void lowrank_terms_clear(lowrank_terms *terms);
#endif
