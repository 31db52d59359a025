/* The planes of few steps of what a solid's sides add, by taking the steps: kernel_templates/segment/segment_steps.cu. */
#ifndef STN_STRATEGIES_SEGMENT_STEPS_H
#define STN_STRATEGIES_SEGMENT_STEPS_H
#include "context/kernel.h"
#include "plan/plan.h"
#include "strategies/segment/planes.h"
#include "strategies/segment/terms.h"

/* How many of the last terms are such, of planes of these rows and columns. */
int segment_steps_count(const segment_axis *rows, const segment_axis *columns, const segment_terms *terms);
/* Bytes of shared memory of a block. */
size_t segment_steps_shared(const stn_task *task);
stn_status segment_steps_get(stn_plan *plan, const segment_axis *rows, const segment_axis *columns, stn_kernel **kernel,
                             stn_error *error);
/* Planes of the last `count` terms of two sides of all grids. source, out: of the first source, and of its first term. */
stn_status segment_steps_launch(const stn_task *task, const stn_kernel *kernel, const segment_axis *rows,
                                const segment_axis *columns, const segment_planes *planes, int across,
                                const segment_terms *terms, int count, const unsigned char *source, unsigned char *out,
                                void *stream, stn_error *error);
#endif
