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
/* The last `count` terms of sides across an axis. source, out: of the first side, and of its first term. */
typedef struct segment_steps_job {
    const stn_kernel *kernel;
    const segment_axis *rows, *columns;
    const segment_terms *terms;
    int across, count;
    const unsigned char *source;
    unsigned char *out;
} segment_steps_job;
/* Their planes, of both sides of all grids; axes that are alike in one launch, for one has no more blocks than a GPU multiprocessors. */
stn_status segment_steps_launch(const stn_task *task, const segment_planes *planes, const segment_steps_job *jobs,
                                int count, void *stream, stn_error *error);
#endif
