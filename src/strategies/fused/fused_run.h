/* The kernel of a fused launch: its text, its arguments, its launch. */
#ifndef STN_STRATEGIES_FUSED_FUSED_RUN_H
#define STN_STRATEGIES_FUSED_FUSED_RUN_H
#include "context/kernel.h"
#include "strategies/fused/schedule.h"

typedef struct fused_kernel {
    fused_schedule schedule;
    fused_shape shape;
    stn_kernel *kernel;
    size_t shared;    /* bytes of shared memory of a block */
    size_t arguments; /* bytes */
    int64_t blocks;
    unsigned char header[STN_SYSTEM_MAX_ARGUMENTS]; /* the arguments that are known before a run */
} fused_kernel;

/* Bytes of a launch's arguments. */
size_t fused_argument_bytes(const stn_system_task *task, const fused_reads *reads, const fused_schedule *schedule);
stn_status fused_kernel_make(stn_plan *plan, fused_reads *reads, const fused_shape *shape, fused_kernel *made,
                             stn_error *error);
/* from, to: all levels of all fields, in the order of a task's arrays. The caller copies levels of
 * states that the launch does not compute. */
stn_status fused_kernel_run(const fused_kernel *kernel, const stn_system_task *task, const fused_reads *reads,
                            const stn_system_arrays *arrays, const void *const *from, void *const *to, void *stream,
                            stn_error *error);
#endif
