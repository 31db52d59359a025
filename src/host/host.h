/* The definition: T steps of any task on the CPU. */
#ifndef STN_HOST_HOST_H
#define STN_HOST_HOST_H
#include "host/pool.h"
#include "problem/task.h"

/* Bytes of workspace that a run needs. */
size_t stn_host_workspace(const stn_task *task);
/* Runs task->steps steps from in to out (task->in_place: the same pointer). in and out have the task's dtype, strides
 * and batch. f16 is stored as half between steps and computed in float32; f32 in float32; f64 in float64. */
void stn_host_run(const stn_task *task, stn_pool *pool, const void *in, void *out, void *workspace);
#endif
