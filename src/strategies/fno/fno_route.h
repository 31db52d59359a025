/* A Fourier layer as a sequence of launches: in which order axes are transformed, where the product
 * is, and the layouts in between.
 *
 *     rank 3    x [b][c][n0 n1 n2] -> axis 2 -> [b][k2][c][n0 n1] -> axis 1 -> [b][k1 k2][c][n0]
 *               -> axis 0, the product, and back
 *
 * b: batch item, c: channel, n: points of an axis, k: retained modes of an axis.
 * The first axis is the one that may be fused with the product; if it is not, modes are stored as
 * [k][b][c]. */
#ifndef STN_STRATEGIES_FNO_FNO_ROUTE_H
#define STN_STRATEGIES_FNO_FNO_ROUTE_H
#include "problem/fourier_layer.h"
#include "strategies/fno/fno_mode_product.h"
#include "strategies/fno/fno_pass.h"
#include "strategies/fno/fno_sum.h"

enum { FNO_STAGES = 12 };

/* Which transforms of the first axis are fused with the product (the steps of the TurboFNO
 * paper). */
typedef enum fno_fusion { FNO_FUSE_NONE, FNO_FUSE_FORWARD, FNO_FUSE_BACK, FNO_FUSE_ALL, FNO_FUSIONS } fno_fusion;

/* Where a stage reads and writes: arrays of the execution, and three parts of the workspace. */
typedef enum fno_place {
    FNO_X,
    FNO_GRADIENT,
    FNO_WEIGHTS,
    FNO_SKIP,
    FNO_Y,
    FNO_BIAS_GRADIENT,
    FNO_SKIP_GRADIENT,
    FNO_A,
    FNO_B,
    FNO_C,
    FNO_PLACES
} fno_place;

typedef struct fno_stage {
    /* along an axis; product for each mode or point; sum */
    enum { FNO_PASS, FNO_MODE_PRODUCT, FNO_SUM } kind;
    fno_pass pass;
    fno_mode_product mode_product;
    fno_sum sum;
    fno_place from, right, to; /* right: second factor of a product */
} fno_stage;

typedef struct fno_route {
    int count;
    fno_stage stage[FNO_STAGES];
    int64_t sizes[FNO_PLACES]; /* sizes of the parts of the workspace, in complex numbers */
} fno_route;

/* False, with the reason, if the layer cannot be fused in this way. */
bool fno_route_for(const stn_layer *layer, fno_fusion fusion, fno_route *route, char *reason, size_t size);
#endif
