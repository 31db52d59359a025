/* The decomposition of a 3D stencil's fused taps that lowrank_volume computes: a small core between
 * vectors along z and x. */
#ifndef STN_STRATEGIES_LOWRANK_VOLUME_TAP_CORE_H
#define STN_STRATEGIES_LOWRANK_VOLUME_TAP_CORE_H
#include <stdbool.h>

#define LOWRANK_CORE_SIDE 17 /* longest axis of the fused taps: reach 8 */
#define LOWRANK_CORE_TERMS 32
#define LOWRANK_CORE_VALUES 480 /* vectors are passed in the 4 KiB of kernel arguments */

/* weight[z][y][x] = sum over terms r of  c[sum[r]][z] * v[r][y] * u[x_factor[r]][x]
 *
 * X factor 0 is the identity (one weight, 1, at offset 0) if `identity`. A sum that contributes to
 * only one plane z has weight 1 there. */
typedef struct lowrank_core {
    int x_factors, sums, terms, identity;
    int x_factor[LOWRANK_CORE_TERMS], sum[LOWRANK_CORE_TERMS];
    int low[LOWRANK_CORE_TERMS], high[LOWRANK_CORE_TERMS]; /* reach of v[r] */
    double c[LOWRANK_CORE_SIDE][LOWRANK_CORE_SIDE], u[LOWRANK_CORE_SIDE][LOWRANK_CORE_SIDE],
        v[LOWRANK_CORE_TERMS][LOWRANK_CORE_SIDE];
    double residual; /* of the vectors rounded to double: relative Frobenius norm */
    /* The amplification of rounding errors: the sum of the magnitudes of all products, over that of
     * all weights. */
    double growth;
} lowrank_core;
/* Whether v[r] is a single weight, at offset 0. */
static inline bool lowrank_core_single(const lowrank_core *core, int r) {
    return core->low[r] == 0 && core->high[r] == 0;
}
#endif
