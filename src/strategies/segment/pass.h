/* A pass over a grid along one axis: its kernel, its tables on the device, its launch. */
#ifndef STN_STRATEGIES_SEGMENT_PASS_H
#define STN_STRATEGIES_SEGMENT_PASS_H
#include "context/kernel.h"
#include "strategies/common/fused.h"
#include "strategies/segment/shape.h"

/* Of launches of one length. */
typedef struct segment_sweep {
    segment_pass pass;
    uint64_t fused;
    int width;                          /* of the sides' profiles, along lines; 0: there are none */
    size_t roots, symbol, profile, end; /* bytes from the tables' beginning, whole 256 */
} segment_sweep;

typedef struct segment_kernel {
    stn_kernel *kernel;
    size_t shared;
    int threads;
    int64_t resident, works, tiles; /* blocks that run at once; what they take; segment_tiles */
    double past;                    /* of the last pass: segment_one_value's value, where there are no sources */
    bool turned;                    /* either kind serves wherever segments begin */
} segment_kernel;

/* For a task of the plan's. `axis`: that of the pass. A kernel that is there, for other weights, is
 * turned or not as before. Errors: those of stn_kernel_make. */
stn_status segment_kernel_get(stn_plan *plan, const stn_task *task, const segment_axis *axis,
                              const segment_shape *shape, const segment_pass *pass, segment_kernel *kernel,
                              stn_error *error);
/* Lays the tables of a sweep out from byte `at` on; its end is sweep->end. */
void segment_sweep_place(const stn_task *task, const segment_axis *axis, const segment_pass *pass, uint64_t fused,
                         size_t at, segment_sweep *sweep);
/* Fills host memory of all tables with this sweep's, in the kernel's arithmetic type. Errors: out
 * of memory. */
stn_status segment_sweep_fill(const stn_task *task, const segment_axis *axis, const segment_sweep *sweep,
                              unsigned char *tables, stn_error *error);
/* One launch, from grid to grid: of pass number `pass` of these sweeps. */
stn_status segment_launch(const stn_task *task, const segment_kernel *kernel, const segment_sweep *sweeps, int pass,
                          const void *tables, const stn_fused_launch *launch, stn_error *error);
#endif
