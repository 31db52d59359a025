/* faces_chain.cu: the margins of separable weights as chains of products on the tensor cores, but for their rims, points from
 * which f steps reach an end of another axis: faces_tile steps those. f64. */
#ifndef STN_STRATEGIES_FACES_CHAIN_CHAIN_H
#define STN_STRATEGIES_FACES_CHAIN_CHAIN_H
#include "base/text.h"
#include "strategies/common/fused.h"
#include "strategies/faces/interior.h"

#define FACES_CHAIN_ARGUMENTS 1024 /* bytes, at most */
#define FACES_CHAIN_WARPS 4        /* of a block */

typedef struct faces_chain {
    int fused;
    int vector;    /* 2: pairs of points are aligned */
    size_t shared; /* bytes of a block */
    double seconds;
} faces_chain;

/* The matrices of faces normal to an axis: extents, in blocks of 8 where the name has no `taps`, `rows` or `frozen`, and where
 * they lie among a face's tables, in doubles. The twin of `chain` in device/chain_shape.cuh. */
typedef struct faces_chain_shape {
    int axis_1, axis_2;                          /* along the face; a warp walks along the second one */
    int bands, depth, depths, rows, outs;        /* depth, rows: points */
    int line;                                    /* doubles of a walk's line in shared memory */
    int frozen, levels, columns, hankel, taps_2; /* levels: of a frozen row */
    int band_at, taps_at, value_at, m_at, f_at, l_at, size;
} faces_chain_shape;

/* ---- chain.c
 * False where there is none: other types, ranks or weights, too many steps, a grid that margins cover. Then *chain is
 * untouched. seconds: of a launch. */
bool faces_chain_choose(const stn_task *task, const stn_machine *machine, int fused, faces_chain *chain);
void faces_chain_params(const stn_task *task, const faces_chain *chain, stn_text *params);
/* Writes the kernel's arguments; returns how many bytes. tables: as faces_chain_tables writes them, on the device. `blocks`: of
 * the launch. */
size_t faces_chain_arguments(const stn_task *task, const stn_machine *machine, const faces_chain *chain,
                             const stn_fused_launch *launch, const double *tables,
                             unsigned char arguments[FACES_CHAIN_ARGUMENTS], int64_t *blocks);
faces_chain_shape faces_chain_extents(const stn_task *task, int fused, int axis);
/* The points that are no rims: low[axis] <= index < high[axis]. */
void faces_chain_middle(const stn_task *task, int fused, int64_t low[3], int64_t high[3]);
bool faces_chain_has_face(const stn_task *task, int axis); /* on any side */

/* ---- tables.c
 * The tables of all faces, axis by axis, the low side first. *tables is the caller's to free. Errors: memory. */
stn_status faces_chain_tables(const stn_task *task, int fused, double **tables, size_t *count, stn_error *error);
#endif
