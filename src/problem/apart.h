/* Do two grids share memory? Asked before a run that would read what it has just written. */
#ifndef STN_PROBLEM_APART_H
#define STN_PROBLEM_APART_H
#include "problem/task.h"
#include "problem/transform.h"

#define STN_POINTS_AXES 5 /* three of a grid, the batch, the snapshots */

/* Points in memory: n[a] of them along each axis, stride[a] bytes apart, `size` bytes each. An axis
 * of one point may have any stride. */
typedef struct stn_points {
    uintptr_t first;
    int64_t n[STN_POINTS_AXES], stride[STN_POINTS_AXES];
    int64_t size;
} stn_points;

stn_points stn_points_of_task(const stn_task *task, bool of_output, const void *first);
/* Of its constant source. */
stn_points stn_points_of_source(const stn_task *task, const void *first);
/* Numbers one behind the other. */
stn_points stn_points_in_a_row(const void *first, int64_t numbers, stn_dtype dtype);
stn_points stn_points_of_side(const stn_fft *fft, const stn_fft_side *side, const void *first);

/* True if some byte is known to belong to a point of both. Grids that lie between each other (every
 * other number of an array, two halves of each row) do not meet. One answer takes a few comparisons
 * where the grids lie one behind the other; else rows are looked at, `looks` of them at most, and
 * what is not found until then counts as apart. */
bool stn_points_meet(const stn_points *a, const stn_points *b, int64_t looks);
#endif
