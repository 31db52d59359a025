/* Fused taps of a 3D stencil and what lowrank_brick makes of them: a small core between vectors along z and x, on the host
 * and above the data's precision. */
#ifndef STN_STRATEGIES_LOWRANK_CORE_H
#define STN_STRATEGIES_LOWRANK_CORE_H
#include "base/error.h"
#include "problem/task.h"

#define LOWRANK_CORE_SIDE 17 /* longest axis of the fused taps: reach 8 */
#define LOWRANK_CORE_RIGHTS 32
#define LOWRANK_CORE_VALUES 480 /* vectors travel in the 4 KiB of kernel arguments */

/* The taps of f steps in one, dense: weight[(z * size[1] + y) * size[2] + x] belongs to offset (z, y, x) - low. */
typedef struct lowrank_cube {
    int fused;
    int size[3], low[3];
    long double *weight; /* owned */
} lowrank_cube;
stn_status lowrank_cube_make(const stn_task *task, lowrank_cube *cube, stn_error *error); /* one step */
/* One step more. On failure `cube` is as before. */
stn_status lowrank_cube_fuse(const stn_task *task, lowrank_cube *cube, stn_error *error);
void lowrank_cube_clear(lowrank_cube *cube);

/* weight[z][y][x] = sum over rights r of  c[sum[r]][z] * v[r][y] * u[left[r]][x]. Left 0 is the identity (one weight, 1,
 * at offset 0) if `identity`. A sum that goes to one plane z has 1 there. */
typedef struct lowrank_core {
    int lefts, sums, rights, identity;
    int left[LOWRANK_CORE_RIGHTS], sum[LOWRANK_CORE_RIGHTS];
    int low[LOWRANK_CORE_RIGHTS], high[LOWRANK_CORE_RIGHTS]; /* how far v[r] reaches */
    double c[LOWRANK_CORE_SIDE][LOWRANK_CORE_SIDE], u[LOWRANK_CORE_SIDE][LOWRANK_CORE_SIDE],
        v[LOWRANK_CORE_RIGHTS][LOWRANK_CORE_SIDE];
    double residual; /* what it leaves, as its numbers are rounded to double: relative, Frobenius */
    double growth;   /* sum of all products' sizes over the sum of all weights' sizes: what rounding is multiplied by */
} lowrank_core;

/* Ways to find one. */
typedef enum lowrank_core_way {
    LOWRANK_CORE_OUTER, /* vectors through the outermost slices: nested reaches, so stars and symmetric taps stay sparse */
    LOWRANK_CORE_LARGEST, /* through the largest slices: safe for any weights */
    LOWRANK_CORE_PAIR,    /* one step's taps are two separable terms: f + 1 of them for f steps */
    LOWRANK_CORE_WAYS
} lowrank_core_way;
/* False if this way finds none that is exact to rounding, or none small enough. `cube` holds the task's fused taps. */
bool lowrank_core_make(const stn_task *task, const lowrank_cube *cube, lowrank_core_way way, lowrank_core *core);
#endif
