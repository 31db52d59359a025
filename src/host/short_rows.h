/* One filter of arrays whose rows are short. */
#ifndef STN_HOST_SHORT_ROWS_H
#define STN_HOST_SHORT_ROWS_H
#include "host/pool.h"
#include "problem/task.h"

/* One step of a task, as stn_host_run. The task's axes may be reordered. Can run out of memory. */
stn_status stn_host_filter(stn_task *task, stn_pool *pool, const void *in, void *out, stn_error *error);
#endif
