/* The taps of f steps in one: a stencil convolved with itself, on the host and above the data's precision. */
#ifndef STN_STRATEGIES_LOWRANK_TAPS_H
#define STN_STRATEGIES_LOWRANK_TAPS_H
#include "base/error.h"
#include "problem/task.h"

/* Dense: weight[y * columns + x] belongs to the offset (y - low[0], x - low[1]). */
typedef struct lowrank_taps {
    int fused; /* f */
    int rows, columns, low[2];
    long double *weight; /* owned; rows * columns */
} lowrank_taps;

/* The taps of one step of a 1D or 2D task (rows = 1 in 1D). Errors: out of memory. */
stn_status lowrank_taps_make(const stn_task *task, lowrank_taps *taps, stn_error *error);
/* One step more: taps convolved with the task's. On failure `taps` is as before. */
stn_status lowrank_taps_fuse(const stn_task *task, lowrank_taps *taps, stn_error *error);
/* Weights of `size`, dense, convolved with the task's taps: `to` has reach[axis][0] + reach[axis][1] more along each axis.
 * Errors: out of memory. */
stn_status lowrank_convolve(const stn_task *task, const int size[3], const long double *from, long double *to,
                            stn_error *error);
void lowrank_taps_clear(lowrank_taps *taps);
#endif
