/* segment along several axes: separable weights, compared with host on any device. Prints TAP.
 * Usage: test_segment_axes [--full] [--only PART] [--dtype T]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "segment_grids.h"

static void check(suite *s, const char *what, const stn_problem *problem, uint64_t seed) {
    suite_compare(s, "segment", true, what, problem, seed);
}

/* Sides served exactly for symmetric weights: even ones at any radius, and at radius 1 nearest and
 * constant 0. */
static void sides(suite *s) {
    static const stn_boundary_kind kinds[] = {STN_REFLECT, STN_MIRROR, STN_NEAREST, STN_CONSTANT};
    for (int rank = 2; rank <= 3; rank++)
        for (int axis = 0; axis < rank; axis++)
            for (int pair = 0; pair < 16; pair++) {
                if (!s->full && (pair * 5 + axis + rank) % 7) continue;
                dice d = {(uint64_t)(rank * 100 + axis * 20 + pair)};
                const int radius = pair % 4 < 2 && pair / 4 < 2 ? dice_int(&d, 1, 3) : 1,
                          all[3] = {radius, radius, radius};
                stn_stencil *stencil = even_product(&d, rank, all);
                stn_problem p = grid_of(stencil, dice_int(&d, 6, 40), dice_int(&d, 6, 60), dice_int(&d, 6, 60),
                                        (uint64_t)dice_int(&d, 1, 40));
                p.extent[axis] = (size_t)dice_int(&d, 100, 700);
                for (int k = 0; k < rank; k++)
                    p.boundary[k][0].kind = p.boundary[k][1].kind = k % 2 ? STN_REFLECT : STN_MIRROR;
                p.boundary[axis][0].kind = kinds[pair % 4];
                p.boundary[axis][1].kind = kinds[pair / 4];
                char what[160];
                snprintf(what, sizeof what, "%dD, %s:%s on axis %d, radius %d, %d steps", rank,
                         side_names[kinds[pair % 4]], side_names[kinds[pair / 4]], axis, radius, (int)p.steps);
                check(s, what, &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* One value past all constant sides: weights that sum to 1 do not change it. */
static void shifts(suite *s) {
    for (int rank = 2; rank <= 3; rank++)
        for (int which = 1; which < 1 << rank;
             which++) { /* Axes with such sides; the others mirror, or one of their sides does. */
            if (!s->full && (which + rank) % 3 == 1) continue;
            dice d = {(uint64_t)(rank * 10 + which)};
            stn_stencil *stencil = NULL;
            stn_stencil_parse(rank == 2 ? "gaussian-2d:sigma=1,truncate=1" : "gaussian-3d:sigma=1,truncate=1", &stencil,
                              NULL);
            stn_problem p = grid_of(stencil, dice_int(&d, 6, 40), dice_int(&d, 6, 60), dice_int(&d, 6, 60),
                                    (uint64_t)dice_int(&d, 1, 300));
            p.extent[which % rank] = (size_t)dice_int(&d, 100, 600);
            p.batch = (size_t)(1 + which % 2);
            for (int k = 0; k < rank; k++) {
                const stn_boundary value = {STN_CONSTANT, -0.7}, other = {which % 2 ? STN_REFLECT : STN_MIRROR, 0};
                p.boundary[k][0] = which >> k & 1 ? value : other;
                p.boundary[k][1] = which >> k & 1 && k != which % rank ? value : other;
            }
            char what[160];
            snprintf(what, sizeof what, "%dD, -0.7 past sides of axes %d, %d steps", rank, which, (int)p.steps);
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Lines with as many points as a segment, mirrored at both ends, along each axis in turn, combined
 * with other sides or with a value. */
static void cosines(suite *s) {
    static const struct {
        int rank, axis, n, odd; /* odd: rows are not aligned. */
        bool value;
    } cases[] = {{2, 0, 512, 0, false},  {2, 1, 512, 0, false},  {3, 0, 1024, 1, false}, {3, 2, 1024, 0, false},
                 {2, 0, 2048, 1, false}, {2, 1, 2048, 1, false}, {3, 1, 512, 0, true},   {3, 0, 512, 1, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!s->full && (s->dtype_given ? i > 1 : i != 0 && i != 3 && i != 6)) continue;
        dice d = {(uint64_t)i + 300};
        const int radius = cases[i].value ? 1 : dice_int(&d, 1, 3), all[3] = {radius, radius, radius};
        stn_stencil *stencil = even_product(&d, cases[i].rank, all);
        if (cases[i].value) {
            stn_stencil_destroy(stencil);
            stn_stencil_parse("gaussian-3d:sigma=1,truncate=1", &stencil, NULL);
        }
        stn_problem p = grid_of(stencil, 2 * dice_int(&d, 3, 6), 2 * dice_int(&d, 3, 9), 2 * dice_int(&d, 3, 9),
                                (uint64_t)dice_int(&d, 1, 300));
        p.extent[cases[i].rank - 1] += (size_t)cases[i].odd;
        p.extent[cases[i].axis] = (size_t)cases[i].n;
        p.batch = 1 + i % 2;
        for (int k = 0; k < cases[i].rank; k++)
            for (int side = 0; side < 2; side++)
                p.boundary[k][side] = k == cases[i].axis || !cases[i].value
                                          ? (stn_boundary){k == cases[i].axis ? STN_REFLECT : STN_MIRROR, 0}
                                          : (stn_boundary){STN_CONSTANT, 0.4};
        char what[160];
        comparison c;
        const stn_problem asked = suite_problem(s, &p);
        const int pick = suite_candidate(s, &asked, "segment", "as half a period");
        const bool good = compare_candidate_with_host(s->context, s->pool, &asked, "segment", pick, true, d.state, &c);
        snprintf(what, sizeof what, "%dD, %d points along axis %d, radius %d, %d steps", cases[i].rank, cases[i].n,
                 cases[i].axis, radius, (int)p.steps);
        suite_report_compared(s, good, what, &c);
        stn_stencil_destroy(stencil);
    }
}

/* Asymmetric factors with wrap: any radius, odd and prime sizes, more steps than the grid has
 * points. */
static void wrapped(suite *s) {
    for (int rank = 2; rank <= 3; rank++)
        for (int i = 0; i < 12; i++) {
            if (!s->full && i % 4 != rank) continue;
            dice d = {(uint64_t)(rank * 50 + i)};
            stn_stencil *stencil = product_stencil(&d, rank, dice_int(&d, 1, rank == 2 ? 5 : 2));
            static const int counts[] = {1, 2, 17, 100, 333, 1000};
            stn_problem p = grid_of(stencil, dice_int(&d, 11, rank == 2 ? 300 : 30), dice_int(&d, 11, 90),
                                    dice_int(&d, 11, 90), (uint64_t)counts[i % (rank == 2 ? 6 : 4)]);
            /* With more steps, the result underflows in float. */
            if (s->dtype_given && p.steps > 60) p.steps = 60;
            char what[160];
            snprintf(what, sizeof what, "%dD, uneven factors, %d steps", rank, (int)p.steps);
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Taps along one axis of a 3D grid, and values past its sides: along x as for a line, along the
 * others one value. */
static void fewer_sides(suite *s) {
    for (int axis = 0; axis < 3; axis++) {
        stn_tap taps[3] = {{{0}, 0.25}, {{0}, 0.5}, {{0}, 0.25}};
        taps[0].offset[axis] = -1, taps[2].offset[axis] = 1;
        stn_stencil *stencil = NULL;
        stn_stencil_create(3, 3, taps, &stencil, NULL);
        stn_problem p = grid_of(stencil, 23, 31, 45, 30);
        p.boundary[axis][0] = p.boundary[axis][1] = (stn_boundary){STN_CONSTANT, 0.3};
        if (axis == 2) p.boundary[axis][0].kind = STN_FIXED;
        char what[80];
        snprintf(what, sizeof what, "taps along axis %d, values past its sides", axis);
        check(s, what, &p, (uint64_t)axis);
        stn_stencil_destroy(stencil);
    }
}

/* Factors of one tap: there is no pass along that axis, and the values past its sides are never
 * read. */
static void fewer(suite *s) {
    for (int which = 1; which < 7; which++) {
        dice d = {(uint64_t)which};
        const int radius[3] = {which & 1, which >> 1 & 1, which >> 2 & 1};
        stn_stencil *stencil = even_product(&d, 3, radius);
        stn_problem p = grid_of(stencil, 23, 31, 45, 9);
        for (int axis = 0; axis < 3; axis++)
            if (!radius[axis]) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_FIXED;
        char what[80];
        snprintf(what, sizeof what, "taps along%s%s%s", radius[0] ? " z" : "", radius[1] ? " y" : "",
                 radius[2] ? " x" : "");
        check(s, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
    fewer_sides(s);
}

static void layouts(suite *s) {
    static const char *const names[] = {"padded rows", "rows of an odd pitch",     "a batch",
                                        "in place",    "alignment of one element", "an odd width"};
    for (int layout = 0; layout < 6; layout++)
        for (int rank = 2; rank <= 3; rank++) {
            if (rank == 3 && layout < 2) continue;
            dice d = {(uint64_t)layout};
            const int radius[3] = {1, 2, 1};
            stn_stencil *stencil = even_product(&d, rank, radius);
            stn_problem p = grid_of(stencil, 41, 54, 20, 12);
            p.boundary[0][0].kind = p.boundary[0][1].kind = STN_REFLECT;
            if (layout < 2) {
                p.in_stride[1] = p.out_stride[1] = 1;
                p.in_stride[0] = layout == 0 ? 64 : 57;
                p.out_stride[0] = layout == 0 ? 96 : 61;
            }
            if (layout == 2) p.batch = 3;
            if (layout == 3) p.in_place = 1;
            if (layout == 4) p.alignment = s->dtype_given ? 4 : 8;
            if (layout == 5) p.extent[rank - 1] = 37;
            char what[160];
            snprintf(what, sizeof what, "%dD, %s", rank, names[layout]);
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Every candidate: tiles of 4, 8 and 16 columns, segments of each length, one launch and several;
 * with wrap, and with sides that have a source. */
static void try_candidates(suite *s, const stn_problem *problem, uint64_t seed, int each, bool adds) {
    const stn_problem p = suite_problem(s, problem);
    int tried = 0;
    bool wide[3] = {false};
    for (int pick = 0; pick < 40; pick++) {
        comparison c;
        char what[400], detail[1200];
        if (!s->full && pick % each) continue;
        bool good =
            compare_candidate_with_host(s->context, s->pool, &p, "segment", COMPARE_MEASURED + pick, true, seed, &c);
        if (c.error.status == STN_ERROR_INVALID_ARGUMENT) break; /* No more candidates. */
        for (int k = 0; k < 3; k++) {
            char columns[40];
            snprintf(columns, sizeof columns, "tiles of %d columns", 4 << k);
            wide[k] = wide[k] || strstr(c.parameters, columns);
        }
        tried++;
        snprintf(what, sizeof what, "candidate %d: %s", pick, c.parameters);
        suite_detail(&c, detail, sizeof detail);
        const bool tile = strstr(c.parameters, " of them outputs, ") && strstr(c.parameters, " x ");
        suite_report(s, good && (tile || adds == (strstr(c.parameters, "sources of sides") != NULL)), what, detail);
    }
    char half[40];
    comparison c;
    snprintf(half, sizeof half, "%d steps a launch", (int)(p.steps + 1) / 2);
    const bool several = compare_candidate_with_host(s->context, s->pool, &p, "segment",
                                                     suite_candidate(s, &p, "segment", half), true, seed, &c);
    suite_report(s, tried > 3 && (adds || (wide[0] && wide[1])) && several,
                 "tiles of different widths, and several launches, are among them", NULL);
}

static void candidates(suite *s) {
    dice d = {5};
    stn_stencil *stencil = product_stencil(&d, 2, 2);
    stn_problem p = grid_of(stencil, 331, 70, 0, 60);
    try_candidates(s, &p, d.state, 2, false);
    stn_stencil_destroy(stencil);
    const int radius[3] = {1, 1, 0};
    stencil = even_product(&d, 2, radius);
    p = grid_of(stencil, 331, 70, 0, 61);
    for (int axis = 0; axis < 2; axis++) {
        p.boundary[axis][0].kind = STN_FIXED;
        p.boundary[axis][1] = (stn_boundary){STN_CONSTANT, 0.6};
    }
    try_candidates(s, &p, d.state, 5, true);
    stn_stencil_destroy(stencil);
}

/* Problems that passes along axes cannot serve exactly are served by tiles; taps that reach past
 * all of these are rejected with a message. */
static void refusals(suite *s) {
    static const struct {
        const char *stencil, *what;
        stn_boundary_kind kind;
        double value;
    } cases[] = {
        {"heat-3d", "weights that are no product", STN_WRAP, 0},
        {"gaussian-3d:sigma=1,truncate=2", "fixed sides of a solid that several taps reach past", STN_FIXED, 0},
        {"gaussian-2d:sigma=1,truncate=3", "fixed sides that several taps reach past", STN_FIXED, 0},
        {"gaussian-2d:sigma=1,truncate=3", "a constant of 0 that several taps reach past", STN_CONSTANT, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_stencil *stencil = NULL;
        stn_stencil_parse(cases[i].stencil, &stencil, NULL);
        stn_problem p = grid_of(stencil, 43, 38, 16, 3);
        p.boundary[1][0] = p.boundary[1][1] = (stn_boundary){cases[i].kind, cases[i].value};
        comparison c;
        char what[120], detail[1200];
        p = suite_problem(s, &p);
        const bool good = compare_with_host(s->context, s->pool, &p, "segment", true, i, &c);
        snprintf(what, sizeof what, "%s: tiles", cases[i].what);
        suite_detail(&c, detail, sizeof detail);
        const bool by_tiles = strstr(c.parameters, "tiles of") || strstr(c.parameters, "tiled FFTs of");
        suite_report(s, good && by_tiles && !strstr(c.parameters, "columns"), what, detail);
        stn_stencil_destroy(stencil);
    }
    const stn_tap far[3] = {{{0, 0, 0}, 0.5}, {{60, 1, 0}, 0.25}, {{-60, 0, 0}, 0.25}};
    stn_stencil *stencil = NULL;
    stn_stencil_create(2, 3, far, &stencil, NULL);
    stn_problem p = grid_of(stencil, 100, 100, 0, 2);
    p.boundary[0][0].kind = p.boundary[0][1].kind = STN_FIXED;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "segment";
    stn_plan *plan = NULL;
    stn_error error = {0};
    const bool refused = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_ERROR_UNSUPPORTED;
    suite_report(s, refused && strlen(error.message) > 30, "taps that reach past tiles: refused in a sentence",
                 error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"sides", sides},           {"cosines", cosines},  {"shifts", shifts},
                                       {"wrapped", wrapped},       {"fewer", fewer},      {"layouts", layouts},
                                       {"candidates", candidates}, {"refusals", refusals}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
