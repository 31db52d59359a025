/* The reference implementation of stencils: T steps of any task on the CPU. */
#ifndef STN_HOST_STENCIL_RUN_H
#define STN_HOST_STENCIL_RUN_H
#include "host/pool.h"
#include "host/row_spectra.h"
#include "problem/task.h"

/* Bytes of workspace that a run needs. */
size_t stn_host_workspace(const stn_task *task);
/* Runs task->steps steps from in to out (the same pointer if task->in_place). in and out have the
 * task's types, strides and batch. Sums are computed in float64 for every dtype and rounded to the
 * dtype once in each step; between steps the state is stored in the dtype. */
void stn_host_run(const stn_task *task, stn_pool *pool, const void *in, void *out, void *workspace);
/* The same with a constant source (task->source; NULL: none), laid out like in. Each step adds it
 * to every point that no fixed side freezes, before the sum is rounded to the dtype. It must not
 * overlap out. spectra: of the task, for a faster run; or NULL. */
void stn_host_run_source(const stn_task *task, const stn_row_spectra *spectra, stn_pool *pool, const void *in,
                         const void *source, void *out, void *workspace);
/* The same in parts: a run consists of stn_host_passes passes over some grids of the batch; this
 * runs `count` passes from pass `first` on. Parts must be run in order. */
uint64_t stn_host_passes(const stn_task *task);
void stn_host_run_part(const stn_task *task, const stn_row_spectra *spectra, stn_pool *pool, uint64_t first,
                       uint64_t count, const void *in, const void *source, void *out, void *workspace);
#endif
