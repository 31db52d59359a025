/* segment on 2D grids with fixed sides, and constant sides of several values, which add a source;
 * compared with host on any device. Prints TAP. Usage: test_segment_sources [--full] [--only PART]
 * [--dtype T]. */
#include <stdio.h>

#include "segment_grids.h"

/* Sides of 2D grids that have a source: any kinds past which one tap reaches, combined with any
 * others. */
static stn_boundary any_side(dice *d, bool one_past) {
    static const stn_boundary_kind kinds[] = {STN_FIXED, STN_CONSTANT, STN_REFLECT, STN_MIRROR, STN_NEAREST};
    const stn_boundary_kind kind = one_past ? kinds[dice_int(d, 0, 4)] : kinds[dice_int(d, 2, 3)];
    return (stn_boundary){kind, kind == STN_CONSTANT ? dice_real(d) : 0};
}

static void planes(suite *s) {
    for (int i = 0; i < (s->full ? 60 : 10); i++) {
        dice d = {(uint64_t)i + 900};
        const int axis = i % 2, wide = i % 7 == 3 ? 3 : 1, radius[3] = {axis ? wide : 1, axis ? 1 : wide, 0};
        stn_stencil *stencil = even_product(&d, 2, radius);
        stn_problem p = grid_of(stencil, dice_int(&d, 4, 60), dice_int(&d, 4, 90), 0, (uint64_t)dice_int(&d, 1, 60));
        if (i % 3 == 0) p.extent[axis] = (size_t)dice_int(&d, 500, 900);
        for (int k = 0; k < 2; k++)
            for (int side = 0; side < 2; side++) p.boundary[k][side] = any_side(&d, k == axis || wide == 1);
        p.boundary[axis][i / 2 % 2] = (stn_boundary){i % 4 ? STN_FIXED : STN_CONSTANT, 0.9};
        if (i % 5 == 4) p.boundary[1 - axis][0].kind = p.boundary[1 - axis][1].kind = STN_WRAP;
        if (i % 6 == 1) p.batch = 3;
        if (i % 6 == 2) p.in_place = 1;
        if (i % 6 == 5) p.steps *= 10;
        char what[200];
        snprintf(what, sizeof what, "%d x %d, y %s:%s, x %s:%s, radius %d along axis %d, %d steps", (int)p.extent[0],
                 (int)p.extent[1], side_names[p.boundary[0][0].kind], side_names[p.boundary[0][1].kind],
                 side_names[p.boundary[1][0].kind], side_names[p.boundary[1][1].kind], wide, 1 - axis, (int)p.steps);
        suite_compare(s, "segment", true, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* New weights change the tables of sides too; asymmetric ones are rejected at such a side. */
static void new_weights(suite *s) {
    enum { NY = 37, NX = 51, COUNT = 9 };
    static const double factors[2][2][3] = {{{0.2, 0.6, 0.2}, {0.15, 0.7, 0.15}}, {{0.2, 0.5, 0.3}, {0.1, 0.8, 0.1}}};
    static double in[NY * NX];
    if (s->dtype_given) return;
    dice d = {77};
    for (size_t i = 0; i < NY * NX; i++) in[i] = dice_real(&d);
    const int radius[3] = {1, 1, 1};
    stn_stencil *stencil = even_product(&d, 2, radius), *fresh = NULL;
    stn_problem p = grid_of(stencil, NY, NX, 0, 40);
    p.boundary[0][0].kind = p.boundary[1][1].kind = STN_FIXED;
    p.boundary[0][1] = p.boundary[1][0] = (stn_boundary){STN_CONSTANT, 0.4};
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "segment";
    stn_plan *plan = NULL;
    stn_error error = {0};
    bool good = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_OK;
    for (int which = 0; which < 2 && good; which++) {
        stn_tap taps[COUNT];
        double weights[COUNT];
        for (int i = 0; i < COUNT; i++) {
            weights[i] = factors[which][0][i / 3] * factors[which][1][i % 3];
            taps[i] = (stn_tap){{i / 3 - 1, i % 3 - 1, 0}, weights[i]};
        }
        const stn_status status = stn_plan_set_weights(plan, COUNT, weights, &error);
        stn_stencil_destroy(fresh);
        stn_stencil_create(2, COUNT, taps, &fresh, NULL);
        p.stencil = fresh;
        good = status == STN_OK && compare_plan_with_host(s->context, plan, &p, in, NY * NX) < 1e-13;
        suite_report(s, good, which ? "uneven weights, for which the plan chooses again" : "new weights",
                     error.message);
    }
    if (!plan) suite_report(s, false, "a plan for new weights", error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil), stn_stencil_destroy(fresh);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"planes", planes}, {"weights", new_weights}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
