/* segment with FFT tiles of 2D grids, compared with host: weights of any kind, on any device.
 * Prints TAP. Usage: test_segment_tiles [--full] [--only PART] [--dtype T]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../suite.h"
#include "plan/plan.h"

static stn_problem plane_of(const stn_stencil *stencil, int ny, int nx, uint64_t steps) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.extent[0] = (size_t)ny, p.extent[1] = (size_t)nx;
    p.steps = steps;
    for (int axis = 0; axis < 2; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_WRAP;
    return p;
}

/* Weights symmetric along both axes, but not separable; their absolute values sum to 1. */
static stn_stencil *even_plane(dice *d, int radius) {
    stn_tap taps[17 * 17];
    int count = 0;
    double sum = 0;
    for (int y = -radius; y <= radius; y++)
        for (int x = -radius; x <= radius; x++) taps[count++] = (stn_tap){{y, x, 0}, 0};
    for (int y = 0; y <= radius; y++)
        for (int x = 0; x <= radius; x++) {
            const double weight = (0.1 + fabs(dice_real(d))) * (dice_int(d, 0, 3) ? 1 : -1);
            for (int i = 0; i < count; i++)
                if (labs((long)taps[i].offset[0]) == y && labs((long)taps[i].offset[1]) == x)
                    taps[i].weight = weight, sum += fabs(weight);
        }
    for (int i = 0; i < count; i++) taps[i].weight /= sum;
    stn_stencil *stencil = NULL;
    stn_stencil_create(2, (size_t)count, taps, &stencil, NULL);
    return stencil;
}

/* Uses the first tile whose name contains `words`. */
static void check(suite *s, const char *words, const char *what, const stn_problem *problem, uint64_t seed) {
    char all[300];
    snprintf(all, sizeof all, "%s: %s", words, what);
    suite_compare_words(s, "segment", words, all, problem, seed);
}

/* Tiles of each side length along each axis, with a reach across that leaves shorter tiles too few
 * outputs. */
static void lengths(suite *s) {
    static const int points[] = {32, 48, 64, 80, 96, 112, 128, 160, 192};
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        for (int along = 0; along < 2; along++) {
            dice d = {(uint64_t)(i * 2 + (size_t)along + 40)};
            const bool whole = i > 6; /* The longest: periods of both axes. */
            stn_stencil *stencil =
                whole || (i + (size_t)along) % 2 ? even_plane(&d, 2) : random_stencil(&d, 2, TAPS_BOX, 2);
            const int n = whole ? points[i] : 211, other = whole ? 64 : 37;
            const uint64_t steps = s->dtype_given && whole ? 100 : whole ? 800 : (uint64_t)points[i] / (i > 3 ? 6 : 12);
            stn_problem p = plane_of(stencil, along ? other : n, along ? n : other, steps);
            char words[80], what[120];
            snprintf(words, sizeof words, along ? " x %d points" : "tiled FFTs of %d x ", points[i]);
            snprintf(what, sizeof what, "%d x %d, %d steps", (int)p.extent[0], (int)p.extent[1], (int)p.steps);
            check(s, words, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Every pair of sides served exactly for symmetric weights. */
static void sides(suite *s) {
    static const stn_boundary_kind kinds[] = {STN_REFLECT, STN_MIRROR, STN_NEAREST};
    for (int pair = 0; pair < 9; pair++)
        for (int axis = 0; axis < 2; axis++) {
            dice d = {(uint64_t)(pair * 3 + axis)};
            const bool nearest = pair % 3 == 2 || pair / 3 == 2;
            const int radius = nearest ? 1 : dice_int(&d, 1, 3);
            stn_stencil *stencil = even_plane(&d, radius);
            stn_problem p =
                plane_of(stencil, dice_int(&d, 4, 200), dice_int(&d, 4, 200), (uint64_t)dice_int(&d, 1, 30 / radius));
            for (int side = 0; side < 2; side++)
                p.boundary[axis][side].kind = kinds[side ? pair / 3 : pair % 3],
                p.boundary[1 - axis][side].kind = pair % 2 ? STN_WRAP : STN_REFLECT;
            char what[160];
            snprintf(what, sizeof what, "%s:%s on axis %d, radius %d, %d x %d, %d steps", side_names[kinds[pair % 3]],
                     side_names[kinds[pair / 3]], axis, radius, (int)p.extent[0], (int)p.extent[1], (int)p.steps);
            check(s, "tiled FFTs of", what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Stars and boxes, symmetric and not; prime sizes, and grids smaller than any tile; one launch and
 * several; batches, unaligned layouts. */
static void problems(suite *s) {
    const int count = s->full ? 60 : 16;
    for (int i = 0; i < count; i++) {
        dice d = {(uint64_t)i + 300};
        const int radius = dice_int(&d, 1, 3), kind = dice_int(&d, 0, 3);
        stn_stencil *stencil = kind == 3 ? even_plane(&d, radius) : random_stencil(&d, 2, (taps_kind)kind, radius);
        stn_problem p =
            plane_of(stencil, dice_int(&d, 1, 300), dice_int(&d, 1, 300), (uint64_t)dice_int(&d, 1, 40 / radius));
        if (kind == 3)
            for (int axis = 0; axis < 2; axis++)
                for (int side = 0; side < 2; side++)
                    p.boundary[axis][side].kind = dice_int(&d, 0, 1) ? STN_REFLECT : STN_MIRROR;
        for (int axis = 0; axis < 2; axis++)
            if (kind == 3 && p.extent[axis] < 4) p.extent[axis] = 4;
        p.batch = (size_t)dice_int(&d, 1, 3);
        p.in_place = i % 5 == 1;
        if (i % 4 == 2) p.alignment = s->dtype_given ? 4 : 8;
        char what[160];
        snprintf(what, sizeof what, "problem %d, radius %d, %d grids of %d x %d, %d steps", i, radius, (int)p.batch,
                 (int)p.extent[0], (int)p.extent[1], (int)p.steps);
        check(s, "tiled FFTs of", what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Sides that tiles do not serve exactly: their margins are stepped. Weights of any kind, one launch
 * and several. */
static void margins(suite *s) {
    static const stn_boundary_kind kinds[] = {STN_FIXED, STN_CONSTANT, STN_NEAREST, STN_REFLECT, STN_MIRROR};
    const int count = s->full ? 60 : 20;
    for (int i = 0; i < count; i++) {
        dice d = {(uint64_t)i + 900};
        const int radius = dice_int(&d, 1, 3), kind = dice_int(&d, 0, 3), open = dice_int(&d, 0, 2);
        stn_stencil *stencil = kind == 3 ? even_plane(&d, radius) : random_stencil(&d, 2, (taps_kind)kind, radius);
        stn_problem p = plane_of(stencil, dice_int(&d, 60, 300), dice_int(&d, 60, 300),
                                 (uint64_t)dice_int(&d, 1, (i % 3 ? 24 : 60) / radius));
        for (int axis = 0; axis < 2; axis++) /* 0, 1: the other axis wraps. */
            for (int side = 0; side < 2 && open != 1 - axis; side++) {
                stn_boundary *to = &p.boundary[axis][side];
                to->kind = kinds[side == open % 2 ? dice_int(&d, 0, 2) : dice_int(&d, 0, 4)];
                if (to->kind == STN_CONSTANT) to->value = dice_int(&d, 0, 1) ? dice_real(&d) : 0;
            }
        p.batch = (size_t)dice_int(&d, 1, 3);
        p.in_place = i % 5 == 1;
        if (i % 4 == 2) p.alignment = s->dtype_given ? 4 : 8;
        char what[200];
        snprintf(what, sizeof what, "problem %d, radius %d, %s:%s and %s:%s, %d grids of %d x %d, %d steps", i, radius,
                 side_names[p.boundary[0][0].kind], side_names[p.boundary[0][1].kind],
                 side_names[p.boundary[1][0].kind], side_names[p.boundary[1][1].kind], (int)p.batch, (int)p.extent[0],
                 (int)p.extent[1], (int)p.steps);
        check(s, "tiled FFTs of", what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Runs of more launches than FEW_LAUNCHES. */
static void many(suite *s) {
    static const struct {
        const char *name;
        int kind, steps;
    } cases[] = {{"box-2d49p", STN_WRAP, 700}, {"star-2d13p", STN_FIXED, 330}, {"box-2d9p", STN_CONSTANT, 500}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dice d = {(uint64_t)i + 40};
        stn_stencil *stencil = NULL;
        stn_stencil_parse(cases[i].name, &stencil, NULL);
        stn_problem p = plane_of(stencil, 131, 163, (uint64_t)cases[i].steps);
        for (int k = 0; k < 4; k++) p.boundary[k / 2][k % 2].kind = (stn_boundary_kind)cases[i].kind;
        char what[120];
        snprintf(what, sizeof what, "%s, %s, %d steps", cases[i].name, side_names[cases[i].kind], cases[i].steps);
        check(s, "tiled FFTs of", what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* A tile that holds whole periods of both axes needs no overlap at any reach. */
static void periods(suite *s) {
    static const struct {
        int ny, nx, y, x;
        uint64_t steps;
        const char *words;
    } cases[] = {{64, 96, STN_WRAP, STN_WRAP, 1000, "tiled FFTs of 64 x 96 points, 64 x 96 of them"},
                 {32, 48, STN_REFLECT, STN_REFLECT, 4096, "tiled FFTs of 64 x 96 points, 32 x 48 of them"},
                 {33, 64, STN_MIRROR, STN_WRAP, 300, "tiled FFTs of 64 x 64 points, 33 x 64 of them"},
                 {16, 128, STN_WRAP, STN_WRAP, 2000, " x 128 points, 16 x 128 of them"},
                 {80, 56, STN_WRAP, STN_REFLECT, 500, "tiled FFTs of 80 x 112 points, 80 x 56 of them"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        dice d = {(uint64_t)i + 70};
        stn_stencil *stencil = even_plane(&d, i == 3 ? 2 : 1);
        stn_problem p = plane_of(stencil, cases[i].ny, cases[i].nx, s->dtype_given ? 40 : cases[i].steps);
        for (int side = 0; side < 2; side++)
            p.boundary[0][side].kind = (stn_boundary_kind)cases[i].y,
            p.boundary[1][side].kind = (stn_boundary_kind)cases[i].x;
        p.batch = 5;
        char what[120];
        snprintf(what, sizeof what, "%s, %s, %d steps", side_names[cases[i].y], side_names[cases[i].x], (int)p.steps);
        check(s, cases[i].words, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* GPUs before sm_90 have no clusters, and are offered no tile that needs them. */
static bool has_clusters(suite *s) {
    dice d = {8};
    stn_stencil *stencil = even_plane(&d, 1);
    stn_problem p = plane_of(stencil, 256, 256, 100);
    const int pick = suite_candidate(s, &p, "segment", "in a cluster of");
    comparison c = {0};
    stn_plan *plan = NULL;
    const bool offered = compare_plan(s->context, &p, "segment", pick, &plan, &c) == STN_OK;
    const bool has = plan && plan->machine.sm >= 90;
    suite_report(s, plan && offered == has, has ? "clusters" : "no clusters", c.error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
    return has && offered;
}

/* Tiles shared by the blocks of a cluster: each of them, on smaller and larger grids, with
 * symmetric and asymmetric weights, sides folded in and stepped, one launch and several,
 * batches. */
static void clusters(suite *s) {
    static const struct {
        const char *tile;
        int shares, ny, nx, kind, steps; /* kind: the sides. */
        bool more;                       /* With --full only. */
    } cases[] = {{"128 x 256", 8, 61, 257, STN_WRAP, 12, false},   {"256 x 128", 4, 257, 61, STN_REFLECT, 12, false},
                 {"192 x 192", 4, 97, 193, STN_WRAP, 30, false},   {"256 x 256", 4, 256, 256, STN_WRAP, 700, false},
                 {"256 x 192", 8, 211, 307, STN_FIXED, 20, false}, {"192 x 256", 4, 131, 413, STN_CONSTANT, 20, false},
                 {"128 x 256", 2, 401, 97, STN_WRAP, 20, false},   {"256 x 256", 8, 128, 128, STN_REFLECT, 90, true},
                 {"192 x 192", 2, 192, 96, STN_WRAP, 500, true},   {"128 x 256", 4, 331, 200, STN_MIRROR, 30, true},
                 {"256 x 128", 2, 128, 128, STN_WRAP, 90, true},   {"256 x 128", 8, 223, 227, STN_NEAREST, 20, true},
                 {"192 x 256", 2, 192, 256, STN_WRAP, 400, true},  {"256 x 192", 4, 409, 307, STN_REFLECT, 40, true},
                 {"256 x 256", 8, 400, 300, STN_MIRROR, 60, true}, {"192 x 192", 4, 211, 307, STN_FIXED, 20, true}};
    if (!has_clusters(s)) return;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].more && !s->full) continue;
        dice d = {(uint64_t)i + 500};
        const int kind = cases[i].kind;
        const bool folds = kind == STN_REFLECT || kind == STN_MIRROR;
        stn_stencil *stencil =
            folds || i % 2 ? even_plane(&d, 1) : random_stencil(&d, 2, i % 4 ? TAPS_STAR : TAPS_BOX, 1);
        const bool whole = cases[i].steps > 60; /* Periods of both axes. */
        const bool wide = i % 3 != 1;           /* Some cases in f32, unless a type is requested. */
        const int steps = whole && (s->dtype_given || !wide) ? 100 : cases[i].steps;
        stn_problem p = plane_of(stencil, cases[i].ny, cases[i].nx, (uint64_t)steps);
        for (int k = 0; k < 4; k++) p.boundary[k / 2][k % 2].kind = (stn_boundary_kind)kind;
        p.batch = whole ? 3 : 1;
        p.dtype = wide ? STN_F64 : STN_F32;
        p.in_place = i % 3 == 1;
        if (i % 4 == 2) p.alignment = s->dtype_given ? 4 : 8;
        char words[120], what[120];
        snprintf(words, sizeof words, "tiled FFTs of %s points|in a cluster of %d blocks", cases[i].tile,
                 cases[i].shares);
        snprintf(what, sizeof what, "%s, %d x %d, %d steps%s", side_names[kind], cases[i].ny, cases[i].nx, steps,
                 wide || s->dtype_given ? "" : ", f32");
        check(s, words, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* A plan takes new weights: symmetric and asymmetric ones with wrap; by the fastest tile, and by a
 * cluster's. */
static void weights(suite *s) {
    enum { NY = 150, NX = 131, TAPS = 9 };
    static const struct {
        const char *what, *words;
        bool uneven, mirrors;
    } cases[] = {{"new even weights", "tiled FFTs of", false, false},
                 {"new uneven weights", "tiled FFTs of", true, false},
                 {"new weights between mirrors", "tiled FFTs of", false, true},
                 {"new uneven weights in a cluster", "in a cluster of", true, false}};
    if (s->dtype_given && s->dtype != STN_F64) return;
    static double in[NY * NX];
    dice d = {11};
    for (int i = 0; i < NY * NX; i++) in[i] = dice_real(&d);
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        stn_stencil *stencil = even_plane(&d, 1),
                    *fresh = cases[k].uneven ? random_stencil(&d, 2, TAPS_BOX, 1) : even_plane(&d, 1);
        stn_problem p = plane_of(stencil, NY, NX, 13);
        for (int i = 0; i < 4 && cases[k].mirrors; i++) p.boundary[i / 2][i % 2].kind = STN_REFLECT;
        stn_plan *plan = NULL;
        comparison c = {0};
        double values[TAPS], relative = INFINITY;
        for (int i = 0; i < TAPS; i++) values[i] = stn_stencil_taps(fresh)[i].weight;
        const int pick = suite_candidate(s, &p, "segment", cases[k].words);
        const bool made = compare_plan(s->context, &p, "segment", pick, &plan, &c) == STN_OK;
        const bool none = !made && k == 3 && plan && plan->machine.sm < 90;
        if (made && stn_plan_set_weights(plan, TAPS, values, &c.error) == STN_OK) {
            p.stencil = fresh;
            relative = compare_plan_with_host(s->context, plan, &p, in, NY * NX);
        }
        char detail[1200];
        snprintf(detail, sizeof detail, "relative L2 %.3g; %s", relative, c.error.message);
        if (!none) suite_report(s, relative < 1e-13, cases[k].what, detail);
        stn_plan_destroy(plan);
        stn_stencil_destroy(stencil), stn_stencil_destroy(fresh);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"lengths", lengths}, {"sides", sides},      {"problems", problems},
                                       {"margins", margins}, {"many", many},        {"periods", periods},
                                       {"weights", weights}, {"clusters", clusters}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
