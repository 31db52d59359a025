/* An overlap-save pass over a grid along one axis: its kernel, its tables on the device, its
 * launch. */
#ifndef STN_STRATEGIES_SEGMENT_OVERLAP_SAVE_PASS_H
#define STN_STRATEGIES_SEGMENT_OVERLAP_SAVE_PASS_H
#include "context/kernel.h"
#include "strategies/common/launches.h"
#include "strategies/segment/segment_shape.h"

/* The pass and its tables for launches of one number of fused steps. */
typedef struct segment_table_layout {
    segment_pass pass;
    uint64_t fused;
    /* Width of the sides' profiles, along lines; 0: there are none. */
    int width;
    size_t twiddles, symbol, profile, end; /* Byte offsets in the tables, multiples of 256. */
} segment_table_layout;

typedef struct segment_kernel {
    stn_kernel *kernel;
    size_t shared;
    int threads;
    int64_t resident, work_items, tiles; /* Blocks that run at once; work items; segment_tiles. */
    /* Last pass: segment_one_value's value, if there are no sources; else 0. */
    double past;
    /* Compiled with SEGMENT_ROTATED. Either kind of kernel serves any position of the segments. */
    bool rotated;
} segment_kernel;

/* For a task of the plan, `axis` being that of the pass. A kernel made for other weights keeps its
 * SEGMENT_ROTATED. Errors: those of stn_kernel_make. */
stn_status segment_kernel_get(stn_plan *plan, const stn_task *task, const segment_axis *axis,
                              const segment_shape *shape, const segment_pass *pass, segment_kernel *kernel,
                              stn_error *error);
/* Lays out the tables of a pass from byte `at` on; they end at layout->end. */
void segment_tables_lay_out(const stn_task *task, const segment_axis *axis, const segment_pass *pass, uint64_t fused,
                            size_t at, segment_table_layout *layout);
/* Writes these tables to the host copy of all tables, in the kernel's arithmetic type.
 * Errors: out of memory. */
stn_status segment_tables_fill(const stn_task *task, const segment_axis *axis, const segment_table_layout *layout,
                               unsigned char *tables, stn_error *error);
/* One launch, from grid to grid, of pass number `pass` of these layouts. */
stn_status segment_launch(const stn_task *task, const segment_kernel *kernel, const segment_table_layout *layouts,
                          int pass, const void *tables, const stn_fused_launch *launch, stn_error *error);
#endif
