/* See lowrank_core.h. Every slice of the taps is a sum of a few slices of theirs, so the vectors along z and x are the
 * coefficients of those sums, and the core is made of the taps' own fibres along y. */
#include "strategies/lowrank_core.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "strategies/lowrank_pair.h"
#include "strategies/lowrank_slices.h"
#include "strategies/lowrank_taps.h"

#define SIDE LOWRANK_CORE_SIDE
#define EXACT 0x1p-50 /* residual that counts as rounding */
/* What rounding may be multiplied by, so that numerics.md's bars hold: two digits of the sixteen in f64. */
static double most_growth(stn_dtype dtype) { return dtype == STN_F64 ? 64 : dtype == STN_F32 ? 8 : 4; }

/* ---- powers ---------------------------------------------------------------------------------------------------- */

static size_t cube_count(const lowrank_cube *cube) {
    return (size_t)cube->size[0] * (size_t)cube->size[1] * (size_t)cube->size[2];
}

static stn_status cube_alloc(lowrank_cube *cube, stn_error *error) {
    size_t bytes = cube_count(cube) * sizeof *cube->weight;
    cube->weight = calloc(1, bytes);
    return cube->weight ? STN_OK : stn_fail_memory(error, "fused taps", bytes);
}

stn_status lowrank_cube_make(const stn_task *task, lowrank_cube *cube, stn_error *error) {
    *cube = (lowrank_cube){.fused = 1};
    for (int axis = 0; axis < 3; axis++) {
        cube->low[axis] = task->reach[axis][0];
        cube->size[axis] = task->reach[axis][0] + task->reach[axis][1] + 1;
    }
    STN_TRY(cube_alloc(cube, error));
    for (size_t k = 0; k < task->ntaps; k++) {
        const int64_t *o = task->taps[k].offset;
        *lowrank_cube_at(cube, (int)o[0] + cube->low[0], (int)o[1] + cube->low[1], (int)o[2] + cube->low[2]) =
            task->taps[k].weight;
    }
    return STN_OK;
}

stn_status lowrank_cube_fuse(const stn_task *task, lowrank_cube *cube, stn_error *error) {
    lowrank_cube next = {.fused = cube->fused + 1};
    for (int axis = 0; axis < 3; axis++) {
        next.low[axis] = cube->low[axis] + task->reach[axis][0];
        next.size[axis] = cube->size[axis] + task->reach[axis][0] + task->reach[axis][1];
    }
    STN_TRY(cube_alloc(&next, error));
    stn_status status = lowrank_convolve(task, cube->size, cube->weight, next.weight, error);
    lowrank_cube_clear(status == STN_OK ? cube : &next);
    if (status == STN_OK) *cube = next;
    return status;
}

void lowrank_cube_clear(lowrank_cube *cube) {
    free(cube->weight);
    memset(cube, 0, sizeof *cube);
}

/* ---- the core -------------------------------------------------------------------------------------------------- */

static void measure(const lowrank_cube *cube, lowrank_core *core) {
    long double rest = 0, all = 0, sizes = 0, weights = 0;
    for (int z = 0; z < cube->size[0]; z++)
        for (int y = 0; y < cube->size[1]; y++)
            for (int x = 0; x < cube->size[2]; x++) {
                long double weight = *lowrank_cube_at(cube, z, y, x), left = weight;
                for (int r = 0; r < core->rights; r++) {
                    long double part =
                        (long double)core->c[core->sum[r]][z] * core->v[r][y] * core->u[core->left[r]][x];
                    left -= part;
                    sizes += fabsl(part);
                }
                rest += left * left;
                all += weight * weight;
                weights += fabsl(weight);
            }
    core->residual = all > 0 ? (double)sqrtl(rest / all) : 0;
    core->growth = weights > 0 ? (double)(sizes / weights) : 1;
}

/* Reaches of the vectors along y; a sum that goes to one plane takes its weight into them. */
static void finish_rights(const lowrank_cube *cube, lowrank_core *core) {
    for (int k = 0; k < core->sums; k++) {
        int count = 0, last = 0;
        for (int z = 0; z < cube->size[0]; z++)
            if (core->c[k][z] != 0) count++, last = z;
        if (count != 1) continue;
        for (int r = 0; r < core->rights; r++)
            for (int y = 0; y < cube->size[1] && core->sum[r] == k; y++) core->v[r][y] *= core->c[k][last];
        core->c[k][last] = 1;
    }
    for (int r = 0; r < core->rights; r++)
        for (int y = 0; y < cube->size[1]; y++) {
            if (core->v[r][y] == 0) continue;
            if (cube->low[1] - y > core->low[r]) core->low[r] = cube->low[1] - y;
            if (y - cube->low[1] > core->high[r]) core->high[r] = y - cube->low[1];
        }
}

static bool is_middle(const lowrank_slices *x, int k, int low) {
    for (int i = 0; i < x->count; i++)
        if ((x->part[k][i] != 0) != (i == low)) return false;
    return true;
}

static bool fill_core(const lowrank_cube *cube, const lowrank_slices *z, const lowrank_slices *x, lowrank_core *core) {
    int order[SIDE], lefts = 0;
    for (int pass = 1; pass >= 0; pass--) /* the identity first */
        for (int k = 0; k < x->rank; k++)
            if (is_middle(x, k, cube->low[2]) == (pass == 1)) order[lefts++] = k, core->identity += pass;
    core->lefts = x->rank, core->sums = z->rank;
    for (int k = 0; k < z->rank; k++)
        for (int i = 0; i < z->count; i++) core->c[k][i] = (double)z->part[k][i];
    for (int l = 0; l < lefts; l++) {
        for (int i = 0; i < x->count; i++) core->u[l][i] = (double)x->part[order[l]][i];
        for (int k = 0; k < z->rank; k++) {
            bool any = false;
            for (int y = 0; y < cube->size[1]; y++)
                any = any || *lowrank_cube_at(cube, z->pivot[k], y, x->pivot[order[l]]) != 0;
            if (!any && z->rank * x->rank > 1) continue;
            if (core->rights == LOWRANK_CORE_RIGHTS) return false;
            for (int y = 0; y < cube->size[1]; y++)
                core->v[core->rights][y] = (double)*lowrank_cube_at(cube, z->pivot[k], y, x->pivot[order[l]]);
            core->left[core->rights] = l;
            core->sum[core->rights++] = k;
        }
    }
    return true;
}

static bool make_sliced(const lowrank_cube *cube, bool outer_first, lowrank_core *core) {
    lowrank_slices z = {0}, x = {0};
    bool made = lowrank_slices_make(cube, 0, outer_first, &z) && lowrank_slices_make(cube, 2, outer_first, &x) &&
                fill_core(cube, &z, &x, core);
    lowrank_slices_clear(&z);
    lowrank_slices_clear(&x);
    return made;
}

bool lowrank_core_make(const stn_task *task, const lowrank_cube *cube, lowrank_core_way way, lowrank_core *core) {
    memset(core, 0, sizeof *core);
    for (int axis = 0; axis < 3; axis++)
        if (cube->size[axis] > SIDE) return false;
    bool made = way == LOWRANK_CORE_PAIR ? lowrank_pair_make(task, cube, core)
                                         : make_sliced(cube, way == LOWRANK_CORE_OUTER, core);
    if (!made) return false;
    finish_rights(cube, core);
    measure(cube, core);
    int values =
        core->sums * cube->size[0] + (core->lefts - core->identity) * cube->size[2] + core->rights * cube->size[1];
    return core->residual <= EXACT && core->growth <= most_growth(task->dtype) &&
           values + cube->size[2] <= LOWRANK_CORE_VALUES;
}
