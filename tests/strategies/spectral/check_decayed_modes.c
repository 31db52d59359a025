/* Tests of decayed modes; see check_decayed_modes.h. */
#include "check_decayed_modes.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct decayed_case {
    int n[3], batch;
    stn_dtype dtype;
    stn_boundary_kind z[2];
    uint64_t steps;
    /* Spread of the symmetric taps along z; negative: they sharpen, so that lambda of the recursion
     * is negative. */
    double spread;
} decayed_case;

/* 27 weights, symmetric along each axis, with sum 1. */
static stn_stencil *stencil_of(double spread) {
    stn_stencil *stencil = NULL;
    stn_tap taps[27];
    for (int i = 0; i < 27; i++) {
        const int z = i / 9 - 1, y = i / 3 % 3 - 1, x = i % 3 - 1;
        const double along = z ? spread / 2 : 1 - spread, across = y ? 0.24 : 0.52, fast = x ? 0.22 : 0.56;
        taps[i] = (stn_tap){{z, y, x}, along * across * fast};
    }
    stn_stencil_create(3, 27, taps, &stencil, NULL);
    return stencil;
}

static void one_grid(suite *s, const decayed_case *c, const char *words, uint64_t seed) {
    dice d = {seed};
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = stencil_of(c->spread);
    p.stencil = stencil, p.dtype = c->dtype, p.steps = c->steps, p.batch = (size_t)c->batch;
    for (int axis = 0; axis < 3; axis++) p.extent[axis] = (size_t)c->n[axis];
    random_sides(&d, &p, 3);
    /* Provides a source, whatever the sides along z. */
    p.boundary[1][seed % 2] = (stn_boundary){STN_FIXED, 0};
    p.boundary[1][1 - seed % 2] = (stn_boundary){seed % 3 ? STN_CONSTANT : STN_NEAREST, seed % 3 ? 0.7 : 0};
    if (p.boundary[2][0].kind == STN_WRAP) p.boundary[2][0].kind = p.boundary[2][1].kind = STN_REFLECT;
    for (int side = 0; side < 2; side++)
        p.boundary[0][side] = (stn_boundary){c->z[side], c->z[side] == STN_CONSTANT ? -0.4 : 0};
    char what[200];
    snprintf(what, sizeof what, "settled: %d x %d x %d x %d, %s, %s:%s %s:%s %s:%s, %llu steps, spread %g, %s",
             c->batch, c->n[0], c->n[1], c->n[2], stn_dtype_name(c->dtype), side_names[p.boundary[0][0].kind],
             side_names[p.boundary[0][1].kind], side_names[p.boundary[1][0].kind], side_names[p.boundary[1][1].kind],
             side_names[p.boundary[2][0].kind], side_names[p.boundary[2][1].kind], (unsigned long long)c->steps,
             c->spread, words);
    comparison result;
    const stn_problem typed = suite_problem(s, &p);
    const int pick = suite_candidate(s, &typed, "spectral", words);
    const bool good =
        compare_candidate_with_host(s->context, s->pool, &typed, "spectral", pick, true, d.state, &result);
    suite_report_compared(s, good, what, &result);
    stn_stencil_destroy(stencil);
}

void decayed_modes(suite *s) {
    static const char *const ways[] = {"recursion by 8", "recursion by rows", "recursion by 16"};
    static const decayed_case list[] = {
        {{24, 25, 31}, 1, STN_F64, {STN_FIXED, STN_FIXED}, 200, 0.5},
        {{33, 20, 27}, 2, STN_F32, {STN_FIXED, STN_CONSTANT}, 150, 0.4},
        {{48, 23, 40}, 1, STN_F64, {STN_CONSTANT, STN_CONSTANT}, 300, 0.6},
        {{17, 26, 22}, 1, STN_F64, {STN_REFLECT, STN_FIXED}, 120, 0.3},
        {{31, 22, 26}, 1, STN_F32, {STN_MIRROR, STN_REFLECT}, 170, 0.5},
        {{32, 21, 36}, 1, STN_F64, {STN_WRAP, STN_WRAP}, 160, 0.4},
        {{19, 24, 30}, 2, STN_F64, {STN_NEAREST, STN_MIRROR}, 220, 0.5},
        {{40, 24, 24}, 1, STN_F64, {STN_CONSTANT, STN_MIRROR}, 400, 0.1},
        {{5, 28, 34}, 1, STN_F64, {STN_FIXED, STN_CONSTANT}, 250, 0.5},
        {{4, 28, 34}, 1, STN_F32, {STN_WRAP, STN_WRAP}, 250, 0.9},
        {{37, 22, 29}, 1, STN_F16, {STN_FIXED, STN_FIXED}, 90, 0.5},
        {{9, 20, 20}, 1, STN_F64, {STN_MIRROR, STN_MIRROR}, 2000, 0.5},
        {{117, 12, 22}, 1, STN_F64, {STN_FIXED, STN_CONSTANT}, 1500, 0.9},
        {{113, 12, 22}, 1, STN_F32, {STN_WRAP, STN_WRAP}, 2500, 0.9},
        {{34, 24, 26}, 1, STN_F64, {STN_FIXED, STN_NEAREST}, 200, -0.02},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        for (size_t way = 0; way < 3; way++)
            if (s->full || i % 3 == way) one_grid(s, &list[i], ways[way], i + 90);
}
