/* What the fixed and constant sides of a plane add: values beside each side, in a line. A line is
 * convolved along its side by a symbol for each distance from it. See
 * kernel_templates/segment/segment_source.cu and segment_face.cu. */
#ifndef STN_STRATEGIES_SEGMENT_SOURCE_H
#define STN_STRATEGIES_SEGMENT_SOURCE_H
#include "strategies/segment/pass.h"
#include "strategies/segment/planes.h"

/* Of launches of one length: each side's table in bytes from the tables' beginning, and for how
 * many points from it. [0]: y. */
typedef struct segment_source_tables {
    uint64_t fused;
    size_t side[2][2], taps, end;
    int width[2];
} segment_source_tables;

typedef struct segment_source {
    bool has;
    stn_kernel *begin, *back;
    segment_kernel along[2]; /* of y sides (along x), of x sides */
    size_t bytes;            /* in the workspace, whole 256: what is added, what is frozen */
} segment_source;

/* For plan->task, whose passes are `shape`'s; axes[i]: of pass i. Errors: those of
 * stn_kernel_make. */
stn_status segment_source_get(stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                              segment_source *source, stn_error *error);
/* Lays the tables out from byte `at` on, which is whole 256; their end is tables->end. */
void segment_source_place(const stn_task *task, const segment_axis *axes, const segment_shape *shape, uint64_t fused,
                          size_t at, segment_source_tables *tables);
/* Fills host memory of all tables. Errors: out of memory. */
stn_status segment_source_fill(const stn_task *task, const segment_axis *axes, const segment_shape *shape,
                               const segment_source_tables *tables, unsigned char *to, stn_error *error);

/* Before a launch's first pass: the values, from grid l->in. */
stn_status segment_source_begin(const stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                                const segment_source *source, const segment_source_tables *tables, const void *table,
                                void *values, const stn_fused_launch *l, stn_error *error);
/* After its last pass, on grid l->out. sweeps[i]: of pass i, for its roots. */
stn_status segment_source_add(const stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                              const segment_source *source, const segment_source_tables *tables,
                              const segment_sweep *sweeps, const void *table, void *values, const stn_fused_launch *l,
                              stn_error *error);
#endif
