/* Overlap check: whether two strided grids share memory, so that an execution would overwrite its
 * own input. */
#ifndef STN_PROBLEM_OVERLAP_H
#define STN_PROBLEM_OVERLAP_H
#include "problem/task.h"
#include "problem/transform.h"

#define STN_POINTS_AXES 5 /* three axes of a grid, the batch, the snapshots */

/* A strided set of points in memory: n[a] points along each axis a, stride[a] bytes apart, `size`
 * bytes each. The stride of an axis of one point is arbitrary. */
typedef struct stn_points {
    uintptr_t first;
    int64_t n[STN_POINTS_AXES], stride[STN_POINTS_AXES];
    int64_t size;
} stn_points;

stn_points stn_points_of_task(const stn_task *task, bool of_output, const void *first);
/* The points of the task's constant source. */
stn_points stn_points_of_source(const stn_task *task, const void *first);
/* A contiguous array. */
stn_points stn_points_contiguous(const void *first, int64_t numbers, stn_dtype dtype);
stn_points stn_points_of_side(const stn_fft *fft, const stn_fft_side *side, const void *first);

/* True if a search finds a byte that a point of `a` and a point of `b` share. Interleaved grids
 * (the even and the odd elements of an array, two halves of each row) do not overlap. Disjoint
 * spans take a few comparisons; otherwise at most `budget` slices are compared, and the result is
 * false if no common byte is found by then. */
bool stn_points_overlap(const stn_points *a, const stn_points *b, int64_t budget);
#endif
