/* The cost of sparse's shapes. */
#ifndef STN_STRATEGIES_SPARSE_SPARSE_COST_MODEL_H
#define STN_STRATEGIES_SPARSE_SPARSE_COST_MODEL_H
#include "strategies/faces/margins.h"
#include "strategies/sparse/sparse_shape.h"

void sparse_cost(const stn_task *task, const stn_machine *machine, const sparse_shape *shape, stn_estimate *estimate);
/* sparse_faces: the cost of a launch's faces, equal for all shapes with the same number of fused
 * steps. sparse_cost_with_faces: the cost of a shape, given the cost of its faces. */
stn_faces_cost sparse_faces(const stn_task *task, const stn_machine *machine, const sparse_shape *shape);
void sparse_cost_with_faces(const stn_task *task, const stn_machine *machine, const sparse_shape *shape,
                            const stn_faces_cost *faces, stn_estimate *estimate);

/* Work for each point of the grid, counted as in table 1 of the SPTCStencil paper: multiplications
 * of the products, grid elements read, and elements of the left factors. The paper has 56, 14 and 7
 * for a box of radius 3 in tiles of 8 x 8; tiles of 16 x 64 take 112, 3.5 and 1.75: their windows
 * are wider than that radius needs, and are read once for several rows of taps. */
typedef struct sparse_counts {
    double compute, input, parameters;
} sparse_counts;
sparse_counts sparse_count(const stn_task *task, const sparse_shape *shape);
#endif
