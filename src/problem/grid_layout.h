/* Strides of a task's grids. */
#ifndef STN_PROBLEM_GRID_LAYOUT_H
#define STN_PROBLEM_GRID_LAYOUT_H
#include "problem/task.h"

/* Checks the caller's strides of the input or output (stride[0..rank), in the problem's axes) and
 * writes the canonical ones to the task's in_ or out_ fields; rank, n, batch and dtype must be set.
 * Strides that are all 0 mean dense in C order. A batch stride of 0 means the largest product of an
 * axis's extent and its stride, so that padded rows keep their padding between grids. Errors: zero
 * or negative strides, overlapping points, interleaved grids, 2^63 bytes or more. */
stn_status stn_layout_canonicalise(stn_task *task, bool of_output, const ptrdiff_t *stride, ptrdiff_t batch_stride,
                                   stn_error *error);
#endif
