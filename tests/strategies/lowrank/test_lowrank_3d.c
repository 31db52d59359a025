/* lowrank in 3D against the host: boundaries, radii, steps, sizes, layouts, weights of every
 * structure, all candidates, and new weights on a plan, on any device. Prints TAP. Usage:
 * test_lowrank_3d [--full] [--only PART] [--dtype T] [--tolerance X] [--strategy sparse]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"

static void check(suite *s, const char *what, const stn_problem *problem, uint64_t seed) {
    suite_compare(s, s->strategy ? s->strategy : "lowrank", true, what, problem, seed);
}

/* Every pair of sides on every axis, the other axes random: fused launches and faces. */
static void boundaries(suite *s) {
    for (int low = 0; low < 6; low++)
        for (int high = low ? 1 : 0; high < (low ? 6 : 1); high++)
            for (int axis = 0; axis < 3; axis++) {
                if (!s->full && (low * 7 + high * 3 + axis) % 7) continue;
                dice d = {(uint64_t)(low * 100 + high * 10 + axis)};
                stn_stencil *stencil = random_stencil(&d, 3, (taps_kind)dice_int(&d, 0, 1), 1);
                stn_problem p =
                    grid_problem(stencil, (int[]){dice_int(&d, 14, 30), dice_int(&d, 14, 53), dice_int(&d, 14, 70)},
                                 STN_F64, (uint64_t)dice_int(&d, 1, 9));
                random_sides(&d, &p, 3);
                p.boundary[axis][0] = (stn_boundary){(stn_boundary_kind)low, low == STN_CONSTANT ? 0.3 : 0};
                p.boundary[axis][1] = (stn_boundary){(stn_boundary_kind)high, high == STN_CONSTANT ? -1.1 : 0};
                char what[160];
                snprintf(what, sizeof what, "%s:%s on axis %d, %llu steps", side_names[low], side_names[high], axis,
                         (unsigned long long)p.steps);
                check(s, what, &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* Symmetric taps between mirrors: no faces, folds far past the faces. */
static void mirrors(suite *s) {
    static const stn_boundary_kind kinds[] = {STN_REFLECT, STN_MIRROR};
    static const char *const names[] = {"heat-3d", "box-3d27p", "gaussian-3d:sigma=1,truncate=1"};
    for (int which = 0; which < 3; which++)
        for (int pair = 0; pair < 4; pair++) {
            if (!s->full && (which + pair) % 3) continue;
            stn_stencil *stencil = NULL;
            stn_stencil_parse(names[which], &stencil, NULL);
            stn_problem p = grid_problem(stencil, (int[]){17 + pair, 33, 65 - pair}, STN_F64, 8);
            for (int axis = 0; axis < 3; axis++) {
                p.boundary[axis][0].kind = kinds[(pair + axis) / 2 % 2];
                p.boundary[axis][1].kind = kinds[(pair + axis) % 2];
            }
            char what[160];
            snprintf(what, sizeof what, "%s between mirrors %d", names[which], pair);
            check(s, what, &p, (uint64_t)(which * 10 + pair));
            stn_stencil_destroy(stencil);
        }
}

/* Every radius that the kernel takes, and a clear refusal where it takes none. */
static void radii(suite *s) {
    for (int radius = 1; radius <= 8; radius++)
        for (int taps = 0; taps < 3; taps++) {
            if (taps && radius > 2) continue; /* more terms than the kernel takes */
            if (!s->full && (radius + taps) % 3) continue;
            dice d = {(uint64_t)(radius * 10 + taps)};
            stn_stencil *stencil = random_stencil(&d, 3, (taps_kind)taps, radius);
            stn_problem p = grid_problem(stencil,
                                         (int[]){dice_int(&d, 2 * radius + 1, 30), dice_int(&d, 2 * radius + 1, 50),
                                                 dice_int(&d, 2 * radius + 1, 50)},
                                         STN_F64, (uint64_t)dice_int(&d, 1, 3));
            char what[160];
            snprintf(what, sizeof what, "%s radius %d, %llu steps", taps_names[taps], radius,
                     (unsigned long long)p.steps);
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
    dice d = {77};
    stn_stencil *far = random_stencil(&d, 3, TAPS_STAR, 9);
    stn_problem p = grid_problem(far, (int[]){40, 40, 40}, STN_F64, 1);
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "lowrank";
    stn_plan *plan = NULL;
    stn_error error = {0};
    bool refused = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_ERROR_UNSUPPORTED;
    suite_report(s, refused && strlen(error.message) > 20, "radius 9 is refused in a sentence", error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(far);
}

/* T = 1 to 20, on odd sizes. */
static void steps(suite *s) {
    for (int t = 1; t <= 20; t++) {
        if (!s->full && t % 6 != 1) continue;
        dice d = {(uint64_t)t};
        stn_stencil *stencil = NULL;
        stn_stencil_parse(t % 3 == 0   ? "heat-3d"
                          : t % 3 == 1 ? "box-3d27p"
                                       : "gaussian-3d:sigma=1,truncate=1",
                          &stencil, NULL);
        stn_problem p = grid_problem(stencil, (int[]){19, 35, 67}, STN_F64, (uint64_t)t);
        if (t % 2)
            for (int axis = 0; axis < 3; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_FIXED;
        char what[160];
        snprintf(what, sizeof what, "%d steps", t);
        check(s, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
    stn_stencil *smooth = NULL; /* systematic errors of launches would add up */
    stn_stencil_parse("gaussian-3d:sigma=1,truncate=1", &smooth, NULL);
    stn_problem p = grid_problem(smooth, (int[]){14, 20, 30}, STN_F64, 300);
    /* f16 grids are rounded after every launch. */
    if (s->dtype != STN_F16) check(s, "300 steps", &p, 5);
    stn_stencil_destroy(smooth);
}

/* Sizes around those of tiles, and far smaller than the reach of the fused taps. */
static void sizes(suite *s) {
    static const int grids[][3] = {{1, 1, 1},    {1, 1, 40},  {40, 1, 1},  {1, 40, 1},  {2, 3, 5},    {15, 17, 16},
                                   {16, 32, 32}, {5, 31, 33}, {9, 33, 31}, {64, 9, 9},  {3, 128, 9},  {3, 9, 128},
                                   {7, 48, 64},  {7, 49, 65}, {33, 47, 7}, {2, 97, 97}, {130, 16, 16}};
    dice d = {17};
    stn_stencil *stencil = random_stencil(&d, 3, TAPS_BOX, 1);
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        if (!s->full && i % 3) continue;
        stn_problem p = grid_problem(stencil, (int[]){grids[i][0], grids[i][1], grids[i][2]}, STN_F64, 3);
        for (int axis = 0; axis < 3 && i % 2; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_WRAP;
        char what[80];
        snprintf(what, sizeof what, "%d x %d x %d points, 3 steps", grids[i][0], grids[i][1], grids[i][2]);
        check(s, what, &p, i);
    }
    /* A band's zeros multiply values past a side. */
    for (int high = 0; high < 2 && !s->dtype_given; high++) {
        stn_problem p = grid_problem(stencil, (int[]){20, 30, 160}, STN_F64, 4);
        for (int i = 0; i < 6; i++) p.boundary[i / 2][i % 2].kind = STN_FIXED;
        suite_report(s, nan_reaches(s->context, &p, "lowrank", high ? 157 : 3) < 64, "a NaN stays near its side", NULL);
    }
    stn_stencil_destroy(stencil);
}

/* Dense weights of some structure, 3 or 5 a side. */
typedef enum structure {
    SEPARABLE,
    TWO_TERMS,
    SYMMETRIC,
    UNIFORM,
    ZERO_CORNERS,
    ZERO_CENTRE,
    ONE_SIDED,
    STAR_IN_PLANES,
    ILL,
    ONE_TAP,
    ZERO,
    STRUCTURES
} structure;
static const char *const structure_names[] = {
    "separable", "two separable terms", "symmetric in all axes", "uniform", "zero corners", "zero centre", "one-sided",
    "flat star", "ill-conditioned",     "one tap off centre",    "all zero"};

static void fill_weights(dice *d, structure kind, int side, double *w) {
    double f[2][3][5], sum = 0;
    int half = side / 2;
    for (int i = 0; i < 30; i++) f[i / 15][i / 5 % 3][i % 5] = 0.2 + fabs(dice_real(d));
    for (int i = 0; i < side * side * side; i++) {
        int z = i / side / side, y = i / side % side, x = i % side;
        int a = abs(z - half), b = abs(y - half), c = abs(x - half);
        double first = f[0][0][z] * f[0][1][y] * f[0][2][x], second = f[1][0][z] * f[1][1][y] * f[1][2][x];
        double value = dice_real(d);
        if (kind == SEPARABLE) value = first;
        if (kind == TWO_TERMS) value = first + 0.3 * second;
        if (kind == SYMMETRIC) value = cos(a * 2 + b * b + c * a + b * c);
        if (kind == UNIFORM) value = 1;
        if (kind == ZERO_CORNERS && a == half && b == half && c == half) value = 0;
        if (kind == ZERO_CENTRE && !a && !b && !c) value = 0;
        if (kind == ONE_SIDED && (z > half || y > half || x > half)) value = 0;
        if (kind == STAR_IN_PLANES && b && c) value = 0;
        if (kind == ILL) value = first + 1e-13 * value;
        if (kind == ONE_TAP) value = z == 0 && y == side - 1 && x == 0;
        if (kind == ZERO) value = 0;
        w[i] = value;
        sum += fabs(value);
    }
    for (int i = 0; i < side * side * side && sum > 0; i++) w[i] /= sum;
}

static void weights(suite *s) {
    for (int kind = 0; kind < STRUCTURES; kind++)
        for (int side = 3; side <= 5; side += 2)
            for (int t = 1; t <= 5; t += 4) {
                if (!s->full && (kind + side / 2 + t / 4) % 3) continue;
                dice d = {(uint64_t)(kind * 100 + side * 10 + t)};
                double w[125];
                size_t extent[3] = {(size_t)side, (size_t)side, (size_t)side};
                fill_weights(&d, (structure)kind, side, w);
                stn_stencil *stencil = NULL;
                stn_stencil_create_dense(3, extent, w, &stencil, NULL);
                stn_problem p = grid_problem(stencil, (int[]){13, 35, 38}, STN_F64, (uint64_t)t);
                for (int axis = 0; axis < 3; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_WRAP;
                char what[160];
                snprintf(what, sizeof what, "%d a side, %s, %d steps", side, structure_names[kind], t);
                check(s, what, &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* A tap of weight 0 is a tap: grids are read as far as it reaches, beyond every term. It is the
 * outermost tap at one end of an axis, or the only one, or there is another of weight 0 at the
 * other end. */
static void zero_taps(suite *s) {
    for (int others = 0; others <= 3; others++)
        for (int end = 0; end < 6; end++) {
            int axis = end / 2, side = end % 2 ? 1 : -1;
            if (others == 2 || (!s->full && end != 3 && end != others)) continue;
            stn_tap taps[4] = {{{0, 0, 0}, 0}, {{0, 0, 0}, 0.5}, {{1, 0, 1}, 0.25}, {{0, 1, -1}, -0.25}};
            taps[0].offset[axis] = 2 * side;
            taps[0].offset[(axis + 1) % 3] = 1;
            if (others == 1) taps[1] = (stn_tap){{-taps[0].offset[0], -taps[0].offset[1], -taps[0].offset[2]}, 0};
            stn_stencil *stencil = NULL;
            stn_stencil_create(3, (size_t)others + 1, taps, &stencil, NULL);
            stn_problem p = grid_problem(stencil, (int[]){11, 35, 38}, STN_F64, 1 + (uint64_t)end % 3);
            for (int i = 0; i < 3; i++) p.boundary[i][0].kind = p.boundary[i][1].kind = end % 4 ? STN_FIXED : STN_WRAP;
            char what[160];
            snprintf(what, sizeof what, "a tap of weight 0 at %d on axis %d and %d others, %d steps", 2 * side, axis,
                     others, (int)p.steps);
            check(s, what, &p, (uint64_t)end);
            stn_stencil_destroy(stencil);
        }
}

typedef enum layout_kind { PADDED, ODD_ROWS, ODD_PLANES, BATCHED, ODD_GRIDS, IN_PLACE, UNALIGNED, LAYOUTS } layout_kind;
static const char *const layout_names[] = {
    "padded rows", "rows of an odd pitch",    "planes of an odd pitch", "a batch", "grids an odd way apart",
    "in place",    "alignment of one element"};

static void layouts(suite *s) {
    for (int layout = 0; layout < LAYOUTS; layout++)
        for (uint64_t t = 1; t <= 7; t += 6) {
            if (!s->full && (layout + (int)t / 6) % 2) continue;
            dice d = {(uint64_t)layout};
            stn_stencil *stencil = random_stencil(&d, 3, TAPS_STAR, 1);
            stn_problem p = grid_problem(stencil, (int[]){14, 21, 54}, STN_F64, t);
            if (layout <= ODD_PLANES) {
                p.in_stride[2] = p.out_stride[2] = 1;
                p.in_stride[1] = layout == ODD_ROWS ? 57 : 64;
                p.out_stride[1] = layout == ODD_ROWS ? 61 : 96;
                p.in_stride[0] = p.in_stride[1] * 22 + (layout == ODD_PLANES);
                p.out_stride[0] = p.out_stride[1] * 21 + (layout == ODD_PLANES);
            }
            if (layout == BATCHED || layout == ODD_GRIDS) p.batch = 3;
            if (layout == ODD_GRIDS) p.in_batch_stride = 54 * 21 * 14 + 1, p.out_batch_stride = 54 * 21 * 14 + 3;
            for (int axis = 0; axis < 3; axis++)
                p.boundary[axis][0].kind = p.boundary[axis][1].kind = layout % 2 ? STN_REFLECT : STN_WRAP;
            if (layout == IN_PLACE) p.in_place = 1;
            if (layout == UNALIGNED) p.alignment = 8;
            char what[160];
            snprintf(what, sizeof what, "%s, %llu steps", layout_names[layout], (unsigned long long)t);
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Every candidate of the planner and of measuring, not only the one it would choose. */
static void candidates(suite *s) {
    static const char *const names[] = {"heat-3d", "box-3d27p", "gaussian-3d:sigma=1,truncate=1", "laplace-3d:order=8"};
    for (int which = 0; which < 4; which++)
        for (int pick = 0; pick < 20; pick++) {
            if (!s->full && (which * 3 + pick) % 9) continue;
            stn_stencil *stencil = NULL;
            stn_stencil_parse(names[which], &stencil, NULL);
            stn_problem p = grid_problem(stencil, (int[]){21, 50, 67}, STN_F64, which == 3 ? 2 : 9);
            for (int axis = 0; axis < 3; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_WRAP;
            p = suite_problem(s, &p);
            comparison c;
            char what[160];
            bool good =
                compare_candidate_with_host(s->context, s->pool, &p, "lowrank", COMPARE_MEASURED + pick, true, 7, &c);
            stn_stencil_destroy(stencil);
            /* No more candidates. */
            if (pick > 3 && c.error.status == STN_ERROR_INVALID_ARGUMENT) break;
            snprintf(what, sizeof what, "%s, candidate %d", names[which], pick);
            suite_report_compared(s, good, what, &c);
        }
}

/* New weights with the same core, a smaller one, and larger ones, on a plan made for a separable
 * stencil. */
static void new_weights(suite *s) {
    enum { NZ = 16, NY = 21, NX = 38 };
    static double in[NZ * NY * NX];
    dice d = {99};
    for (size_t i = 0; i < NZ * NY * NX; i++) in[i] = dice_real(&d);
    size_t extent[3] = {3, 3, 3};
    double w[125];
    fill_weights(&d, SEPARABLE, 3, w);
    stn_stencil *stencil = NULL;
    stn_stencil_create_dense(3, extent, w, &stencil, NULL);
    stn_problem p = grid_problem(stencil, (int[]){NZ, NY, NX}, STN_F64, 7);
    /* With or without faces, depending on the weights. */
    p.boundary[0][0].kind = p.boundary[0][1].kind = STN_REFLECT;
    p.boundary[1][0].kind = p.boundary[1][1].kind = STN_WRAP;
    p.boundary[2][0].kind = p.boundary[2][1].kind = STN_MIRROR;
    p = suite_problem(s, &p);
    double bar = fmax(p.dtype == STN_F64 ? 5e-13 : p.dtype == STN_F32 ? 4e-6 : 1e-3, p.tolerance);
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "lowrank";
    stn_plan *plan = NULL;
    stn_error error = {0};
    bool made = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_OK;
    suite_report(s, made, "a plan for a separable stencil", error.message);
    static const structure kinds[] = {SEPARABLE, UNIFORM, TWO_TERMS, SYMMETRIC, ZERO_CENTRE, SEPARABLE};
    for (size_t k = 0; made && k < sizeof kinds / sizeof *kinds; k++) {
        fill_weights(&d, kinds[k], 3, w);
        if (kinds[k] == ZERO_CENTRE) w[13] = 1e-9; /* keeps the tap */
        stn_stencil *fresh = NULL;
        stn_stencil_create_dense(3, extent, w, &fresh, NULL);
        stn_problem q = p;
        q.stencil = fresh;
        bool set = stn_plan_set_weights(plan, 27, w, &error) == STN_OK;
        double relative = set ? compare_plan_with_host(s->context, plan, &q, in, NZ * NY * NX) : INFINITY;
        char what[120], detail[1200];
        snprintf(what, sizeof what, "new weights, %s", structure_names[kinds[k]]);
        snprintf(detail, sizeof detail, "relative L2 %.3g; %s", relative, set ? "no error" : error.message);
        suite_report(s, relative < bar, what, detail);
        stn_stencil_destroy(fresh);
    }
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {
        {"boundaries", boundaries}, {"mirrors", mirrors},        {"radii", radii},         {"steps", steps},
        {"sizes", sizes},           {"weights", weights},        {"zero-taps", zero_taps}, {"layouts", layouts},
        {"candidates", candidates}, {"new-weights", new_weights}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
