/* The terms that the fixed and constant sides of a 2D grid add: the values next to each side form a
 * line, which is convolved along the side with one symbol for each distance from it. See
 * kernel_templates/segment/segment_source.cu and segment_face.cu. */
#ifndef STN_STRATEGIES_SEGMENT_SEGMENT_BOUNDARY_SOURCE_H
#define STN_STRATEGIES_SEGMENT_SEGMENT_BOUNDARY_SOURCE_H
#include "strategies/segment/overlap_save_pass.h"

/* For launches of one number of fused steps: the byte offsets of the tables side[which][low, high]
 * and of the taps, and the depth in points to which the tables of a pair of sides extend. which: 0
 * for y sides, 1 for x sides. */
typedef struct segment_source_tables {
    uint64_t fused;
    size_t side[2][2], taps, end;
    int width[2];
} segment_source_tables;

typedef struct segment_source {
    bool has;
    stn_kernel *begin, *back;
    segment_kernel along[2]; /* Of y sides (along x), of x sides (along y). */
    /* In the workspace, a multiple of 256: the added terms, then the frozen values. */
    size_t bytes;
} segment_source;

/* For plan->task with the passes of `shape`; axes[i] belongs to pass i. Errors: those of
 * stn_kernel_make. */
stn_status segment_source_get(stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                              segment_source *source, stn_error *error);
/* Lays out the tables from byte `at` on, a multiple of 256; they end at tables->end. */
void segment_source_place(const stn_task *task, const segment_axis *axes, const segment_shape *shape, uint64_t fused,
                          size_t at, segment_source_tables *tables);
/* Writes the tables to host memory. Errors: out of memory. */
stn_status segment_source_fill(const stn_task *task, const segment_axis *axes, const segment_shape *shape,
                               const segment_source_tables *tables, unsigned char *to, stn_error *error);

/* Runs before a launch's first pass: computes the values from grid l->in. */
stn_status segment_source_begin(const stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                                const segment_source *source, const segment_source_tables *tables, const void *table,
                                void *values, const stn_fused_launch *l, stn_error *error);
/* Runs after its last pass: adds the terms to grid l->out. layouts[i]: of pass i, for twiddles. */
stn_status segment_source_add(const stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                              const segment_source *source, const segment_source_tables *tables,
                              const segment_table_layout *layouts, const void *table, void *values,
                              const stn_fused_launch *l, stn_error *error);
#endif
