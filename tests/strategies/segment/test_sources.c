/* segment where fixed sides, and constants of several values, add something to planes and solids, against host, on whatever device there is. Prints TAP.
 * Usage: test_segment_sources [--full] [--only PART] [--dtype T]. */
#include <stdio.h>
#include <string.h>

#include "grids.h"

/* Sides that add something, of planes: any kinds that one tap reaches past, beside any others. */
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

/* The same of solids: fixed sides and constants that differ across one axis or more, of long and short lines. */
static void solids(suite *s) {
    for (int i = 0; i < (s->full ? 60 : 9); i++) {
        dice d = {(uint64_t)i + 1700};
        const int axis = i % 3, wide = i % 5 == 3 ? dice_int(&d, 2, 3) : 1,
                  radius[3] = {axis ? wide : 1, axis == 1 ? 1 : wide, axis == 2 ? 1 : wide};
        stn_stencil *stencil = even_product(&d, 3, radius);
        stn_problem p = grid_of(stencil, dice_int(&d, 4, 24), dice_int(&d, 4, 24), dice_int(&d, 4, 24),
                                (uint64_t)dice_int(&d, 1, 60));
        if (i % 4 == 0) p.extent[i / 4 % 3] = (size_t)dice_int(&d, 100, 300);
        if (i % 4 == 2) p.extent[i / 4 % 3] = (size_t)dice_int(&d, 500, 600);
        for (int k = 0; k < 3; k++)
            for (int side = 0; side < 2; side++) p.boundary[k][side] = any_side(&d, k == axis || wide == 1);
        p.boundary[axis][i / 2 % 2] = (stn_boundary){i % 4 ? STN_FIXED : STN_CONSTANT, 0.9};
        if (i % 5 == 4) p.boundary[(axis + 1) % 3][0].kind = p.boundary[(axis + 1) % 3][1].kind = STN_WRAP;
        if (i % 6 == 1) p.batch = 3;
        if (i % 6 == 2) p.in_place = 1;
        if (i % 6 == 5) p.steps *= 10;
        char what[240];
        snprintf(what, sizeof what, "%d x %d x %d, z %s:%s, y %s:%s, x %s:%s, radius %d but along axis %d, %d steps",
                 (int)p.extent[0], (int)p.extent[1], (int)p.extent[2], side_names[p.boundary[0][0].kind],
                 side_names[p.boundary[0][1].kind], side_names[p.boundary[1][0].kind],
                 side_names[p.boundary[1][1].kind], side_names[p.boundary[2][0].kind],
                 side_names[p.boundary[2][1].kind], wide, axis, (int)p.steps);
        comparison c;
        char detail[1200];
        p = suite_problem(s, &p);
        const bool good = compare_with_host(s->context, s->pool, &p, "segment", true, d.state, &c);
        suite_detail(&c, detail, sizeof detail);
        suite_report(s, good && strstr(c.parameters, "segments of"), what, detail); /* not by tiles */
        stn_stencil_destroy(stencil);
    }
}

/* Solids: many steps, and all of few; rows that begin anywhere. */
static void steps(suite *s) {
    static const int counts[] = {1, 2, 16, 17, 100, 1000, 4096};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        dice d = {(uint64_t)i + 2300};
        stn_stencil *stencil = NULL;
        stn_stencil_parse("gaussian-3d:sigma=1,truncate=1", &stencil, NULL);
        stn_problem p =
            grid_of(stencil, dice_int(&d, 4, 40), dice_int(&d, 4, 40), dice_int(&d, 4, 40), (uint64_t)counts[i]);
        if (i % 2) p.extent[0] = 7, p.extent[2] = 31;
        if (i == 4) p.extent[0] = p.extent[1] = p.extent[2], p.batch = 2; /* axes that are alike */
        for (int k = 0; k < 3; k++)
            for (int side = 0; side < 2; side++) p.boundary[k][side].kind = STN_FIXED;
        if (i % 3 == 1) {
            p.in_stride[1] = 41, p.out_stride[1] = 43, p.in_stride[0] = 1723, p.out_stride[0] = 1721;
            p.in_stride[2] = p.out_stride[2] = 1;
        }
        char what[120];
        snprintf(what, sizeof what, "a solid of %d x %d x %d, %d steps", (int)p.extent[0], (int)p.extent[1],
                 (int)p.extent[2], counts[i]);
        suite_compare(s, "segment", true, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* New weights change the tables of sides too; uneven ones suit no such side. */
static void new_weights_of(suite *s, int rank) {
    enum { NZ = 9, NY = 37, NX = 51 };
    static const double factors[2][3][3] = {{{0.1, 0.8, 0.1}, {0.2, 0.6, 0.2}, {0.15, 0.7, 0.15}},
                                            {{0.1, 0.8, 0.1}, {0.2, 0.5, 0.3}, {0.1, 0.8, 0.1}}};
    static double in[NZ * NY * NX];
    const int count = rank == 3 ? 27 : 9;
    const size_t points = (size_t)(rank == 3 ? NZ : 1) * NY * NX;
    dice d = {77};
    for (size_t i = 0; i < points; i++) in[i] = dice_real(&d);
    const int radius[3] = {1, 1, 1};
    stn_stencil *stencil = NULL, *fresh = NULL;
    if (rank == 3)
        stn_stencil_parse("gaussian-3d:sigma=1,truncate=1", &stencil, NULL);
    else
        stencil = even_product(&d, 2, radius);
    stn_problem p = rank == 3 ? grid_of(stencil, NZ, NY, NX, 40) : grid_of(stencil, NY, NX, 0, 40);
    p.boundary[0][0].kind = p.boundary[1][1].kind = STN_FIXED;
    p.boundary[0][1] = p.boundary[1][0] = (stn_boundary){STN_CONSTANT, 0.4};
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "segment";
    stn_plan *plan = NULL;
    stn_error error = {0};
    bool good = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_OK;
    for (int which = 0; which < 2 && good; which++) {
        stn_tap taps[27];
        double weights[27];
        for (int i = 0; i < count; i++) {
            const int z = i / 9, y = i / 3 % 3, x = i % 3;
            weights[i] = (rank == 3 ? factors[which][0][z] : 1) * factors[which][1][y] * factors[which][2][x];
            taps[i] =
                rank == 3 ? (stn_tap){{z - 1, y - 1, x - 1}, weights[i]} : (stn_tap){{y - 1, x - 1, 0}, weights[i]};
        }
        const stn_status status = stn_plan_set_weights(plan, (size_t)count, weights, &error);
        stn_stencil_destroy(fresh);
        stn_stencil_create(rank, (size_t)count, taps, &fresh, NULL);
        p.stencil = fresh;
        good = status == STN_OK && compare_plan_with_host(s->context, plan, &p, in, points) < 1e-13;
        char what[120];
        snprintf(what, sizeof what, "%dD: %s", rank,
                 which ? "uneven weights, for which the plan chooses again" : "new weights");
        suite_report(s, good, what, error.message);
    }
    if (!plan) suite_report(s, false, "a plan for new weights", error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil), stn_stencil_destroy(fresh);
}

static void new_weights(suite *s) {
    for (int rank = 2; rank <= 3 && !s->dtype_given; rank++) new_weights_of(s, rank);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {
        {"planes", planes}, {"solids", solids}, {"steps", steps}, {"weights", new_weights}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
