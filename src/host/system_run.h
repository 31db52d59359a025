/* The reference implementation of systems: T steps of any task on the CPU. */
#ifndef STN_HOST_SYSTEM_RUN_H
#define STN_HOST_SYSTEM_RUN_H
#include "host/pool.h"
#include "problem/system_task.h"

/* Immutable programs: several threads may run it, each with its own workspace. */
typedef struct stn_host_system stn_host_system;

/* The task is borrowed. threads: size of the pool that will run it. */
stn_status stn_host_system_create(const stn_system_task *task, int threads, stn_host_system **made, stn_error *error);
void stn_host_system_destroy(stn_host_system *host); /* NULL has no effect */
size_t stn_host_system_workspace(const stn_host_system *host);
/* The pointers must be valid for the task. */
void stn_host_system_run(const stn_host_system *host, stn_pool *pool, const stn_system_arrays *arrays, void *workspace);
#endif
