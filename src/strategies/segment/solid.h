/* What fixed and constant sides of a solid add: for each of few powers (terms.h) the side's plane after so many steps along it, times a number for each
 * depth. Planes of many steps are convolved in segments as the grid is, those of few take the steps (steps.h). See kernel_templates/segment/segment_solid.cu. */
#ifndef STN_STRATEGIES_SEGMENT_SOLID_H
#define STN_STRATEGIES_SEGMENT_SOLID_H
#include "strategies/segment/pass.h"
#include "strategies/segment/planes.h"
#include "strategies/segment/steps.h"

/* Of sides across each axis; [][0]: of their planes along x or y, the rows, [][1]: along their columns. No terms: there are no such sides. */
typedef struct segment_solid_tables {
    segment_terms terms[3];
    int stepped[3]; /* so many of the last terms by steps.h */
    int width[3];   /* depths */
    segment_sweep sweep[3][2];
    size_t depth[3][2], counts[3][2]; /* of each side, bytes from the tables' beginning */
} segment_solid_tables;

typedef struct segment_solid_kernels {
    segment_kernel along[3][2];
    stn_kernel *steps[3], *add;
    size_t turned, planes; /* bytes of the workspace: planes convolved along rows, and along both */
} segment_solid_kernels;

/* Are there fixed or constant sides across an axis? */
bool segment_solid_across(const segment_axis *axes, int across);
/* Whether all planes have passes in segments as shape's, for steps that reach so far. */
bool segment_solid_fits(const stn_task *task, const segment_axis *axes, const stn_reach reach[3],
                        const segment_shape *shape);
/* Terms of sides across an axis, 0: there are none. False: they take too many. */
bool segment_solid_terms(const stn_task *task, const segment_axis *axes, int across, uint64_t fused,
                         segment_terms *terms);
/* So many of the last of them may be made by steps. */
int segment_solid_stepped(const segment_axis *axes, int across, const segment_terms *terms);
/* Bytes of shared memory of a block that adds. */
size_t segment_solid_shared(const stn_task *task, int slices);
/* The end of tables from byte `at` on; 0: there are none for these weights. */
size_t segment_solid_place(const stn_task *task, const segment_axis *axes, const segment_shape *shape, uint64_t fused,
                           size_t at, segment_solid_tables *tables);
stn_status segment_solid_fill(const stn_task *task, const segment_axis *axes, const segment_solid_tables *tables,
                              unsigned char *to, stn_error *error);
stn_status segment_solid_get(stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                             const segment_solid_tables *tables, segment_solid_kernels *kernels, stn_error *error);
/* After the last pass, on grid l->out. source: planes of what sides add; planes: bytes `turned` and `planes`. */
stn_status segment_solid_add(const stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                             const segment_solid_kernels *kernels, const segment_solid_tables *tables,
                             const unsigned char *table, const unsigned char *source, unsigned char *planes,
                             const stn_fused_launch *l, stn_error *error);
#endif
