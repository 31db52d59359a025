/* Finds the core of fused 3D taps. Every slice of the taps, perpendicular to z or x, is a linear
 * combination of a few of these slices. The vectors along z and x hold the coefficients of these
 * combinations, and the core consists of the taps' own fibres along y (the weights at one z and x).
 */
#include "strategies/lowrank/volume/core_search.h"

#include <math.h>
#include <string.h>

#include "strategies/lowrank/lowrank_types.h"
#include "strategies/lowrank/volume/pair_split.h"
#include "strategies/lowrank/volume/spanning_slices.h"

#define SIDE LOWRANK_CORE_SIDE
#define EXACT 0x1p-50 /* a smaller residual counts as rounding */
/* The largest amplification of rounding errors that meets the bounds of tests/NUMERICS.md; in f64
 * it costs two of sixteen digits. */
static double most_growth(stn_dtype dtype) { return dtype == STN_F64 ? 64 : dtype == STN_F32 ? 8 : 4; }

static void measure(const stn_power *taps, lowrank_core *core) {
    long double rest = 0, all = 0, sizes = 0, weights = 0;
    for (int z = 0; z < taps->size[0]; z++)
        for (int y = 0; y < taps->size[1]; y++) {
            long double row[LOWRANK_CORE_TERMS];
            for (int r = 0; r < core->terms; r++) row[r] = (long double)core->c[core->sum[r]][z] * core->v[r][y];
            for (int x = 0; x < taps->size[2]; x++) {
                long double weight = *stn_power_at(taps, z, y, x), left = weight;
                for (int r = 0; r < core->terms; r++) {
                    long double part = row[r] * core->u[core->x_factor[r]][x];
                    left -= part;
                    sizes += fabsl(part);
                }
                rest += left * left;
                all += weight * weight;
                weights += fabsl(weight);
            }
        }
    core->residual = all > 0 ? (double)sqrtl(rest / all) : 0;
    core->growth = weights > 0 ? (double)(sizes / weights) : 1;
}

/* Sets the reaches of the vectors along y. If a sum contributes to only one plane, its weight is
 * multiplied into them and becomes 1. */
static void finish_rights(const stn_power *taps, lowrank_core *core) {
    for (int k = 0; k < core->sums; k++) {
        int count = 0, last = 0;
        for (int z = 0; z < taps->size[0]; z++)
            if (core->c[k][z] != 0) count++, last = z;
        if (count != 1) continue;
        for (int r = 0; r < core->terms; r++)
            for (int y = 0; y < taps->size[1] && core->sum[r] == k; y++) core->v[r][y] *= core->c[k][last];
        core->c[k][last] = 1;
    }
    for (int r = 0; r < core->terms; r++)
        for (int y = 0; y < taps->size[1]; y++) {
            if (core->v[r][y] == 0) continue;
            if (taps->low[1] - y > core->low[r]) core->low[r] = taps->low[1] - y;
            if (y - taps->low[1] > core->high[r]) core->high[r] = y - taps->low[1];
        }
}

static bool is_middle(const lowrank_slices *x, int k, int low) {
    for (int i = 0; i < x->count; i++)
        if ((x->part[k][i] != 0) != (i == low)) return false;
    return true;
}

static bool fill_core(const stn_power *taps, const lowrank_slices *z, const lowrank_slices *x, lowrank_core *core) {
    int order[SIDE], x_factors = 0;
    for (int pass = 1; pass >= 0; pass--) /* the identity first */
        for (int k = 0; k < x->rank; k++)
            if (is_middle(x, k, taps->low[2]) == (pass == 1)) order[x_factors++] = k, core->identity += pass;
    core->x_factors = x->rank, core->sums = z->rank;
    for (int k = 0; k < z->rank; k++)
        for (int i = 0; i < z->count; i++) core->c[k][i] = (double)z->part[k][i];
    for (int l = 0; l < x_factors; l++) {
        for (int i = 0; i < x->count; i++) core->u[l][i] = (double)x->part[order[l]][i];
        for (int k = 0; k < z->rank; k++) {
            if (lowrank_fibre_is_zero(taps, z->pivot[k], x->pivot[order[l]]) && z->rank * x->rank > 1) continue;
            if (core->terms == LOWRANK_CORE_TERMS) return false;
            for (int y = 0; y < taps->size[1]; y++)
                core->v[core->terms][y] = (double)*stn_power_at(taps, z->pivot[k], y, x->pivot[order[l]]);
            core->x_factor[core->terms] = l;
            core->sum[core->terms++] = k;
        }
    }
    return true;
}

static bool make_sliced(const stn_power *taps, bool outer_first, lowrank_core *core) {
    lowrank_slices z = {0}, x = {0};
    bool made =
        lowrank_slices_make(taps, 0, outer_first, NULL, &z) && lowrank_slices_make(taps, 2, outer_first, &z, &x);
    if (made) {
        lowrank_slices_divide(&z);
        lowrank_slices_divide(&x);
        made = fill_core(taps, &z, &x, core);
    }
    if (x.terms > LOWRANK_CORE_TERMS) core->terms = LOWRANK_TOO_MANY_TERMS;
    lowrank_slices_clear(&z);
    lowrank_slices_clear(&x);
    return made;
}

static bool make(const stn_task *task, const stn_power *taps, lowrank_core_method method, lowrank_core *core) {
    bool made = method == LOWRANK_CORE_PAIR ? lowrank_pair_make(task, taps, core)
                                            : make_sliced(taps, method == LOWRANK_CORE_OUTER, core);
    if (!made) return false;
    finish_rights(taps, core);
    measure(taps, core);
    int values =
        core->sums * taps->size[0] + (core->x_factors - core->identity) * taps->size[2] + core->terms * taps->size[1];
    return core->residual <= EXACT && core->growth <= most_growth(task->dtype) &&
           values + taps->size[2] <= LOWRANK_CORE_VALUES;
}

bool lowrank_core_make(const stn_task *task, const stn_power *taps, lowrank_core_method method, lowrank_core *core) {
    const double numbers[LOWRANK_KEY_NUMBERS] = {method, taps->fused, task->dtype};
    core->terms = 0; /* callers look at it after a failure */
    for (int axis = 0; axis < 3; axis++)
        if (taps->size[axis] > SIDE) return false;
    if (!lowrank_lookup(task, STN_SEARCH_CACHE_LOWRANK_CORE, numbers, core, sizeof *core)) {
        memset(core, 0, sizeof *core);
        if (!make(task, taps, method, core) && core->terms > 0) core->terms = 0;
        lowrank_store(task, STN_SEARCH_CACHE_LOWRANK_CORE, numbers, core, sizeof *core);
    }
    return core->terms > 0;
}
