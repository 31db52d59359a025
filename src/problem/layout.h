/* Where the points of a task's grids lie in memory. */
#ifndef STN_PROBLEM_LAYOUT_H
#define STN_PROBLEM_LAYOUT_H
#include "problem/task.h"

/* Checks one side's strides as the caller gave them (stride[0..rank), in the problem's axes) and
 * lifts them into the task's in_ or out_ fields; rank, n, batch and dtype must be set. Strides that
 * are all 0 mean dense in C order; a batch stride of 0 means the largest extent * stride of an
 * axis, so padded rows keep their padding between grids. Refused: zero or negative strides, two
 * points at one element or grids that interleave, more bytes than 63 bits. */
stn_status stn_layout_lift(stn_task *task, bool of_output, const ptrdiff_t *stride, ptrdiff_t batch_stride,
                           stn_error *error);
#endif
