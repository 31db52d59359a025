/* Tests of tiles; see check_tiles.h. */
#include "check_tiles.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

typedef struct tile_case {
    int ny, nx, batch;
    stn_dtype dtype;
    int radius; /* Radius of random taps; 0: symmetric taps of reach 1. */
    stn_boundary_kind side[2][2];
    uint64_t steps;
    bool in_place;
    const char *words; /* Substring of the candidate's name. */
    /* Substring of its description on a GPU with more multiprocessors than blocks; NULL: any. */
    const char *chunks;
} tile_case;

/* Weights that drift if `radius` is given. */
static stn_stencil *stencil_of(const tile_case *c, dice *d) {
    stn_stencil *stencil = NULL;
    if (c->radius) return random_stencil(d, 2, c->radius > 4 ? TAPS_RANDOM : TAPS_BOX, c->radius);
    stn_tap taps[9];
    for (int i = 0; i < 9; i++) {
        taps[i] = (stn_tap){{i / 3 - 1, i % 3 - 1}, 0};
        taps[i].weight = i == 4 ? 0.2 : i / 3 == 1 ? 0.15 : i % 3 == 1 ? 0.09 : 0.08;
    }
    stn_stencil_create(2, 9, taps, &stencil, NULL);
    return stencil;
}

/* Whether the plan's description contains `words`. */
static bool says(const suite *s, const stn_problem *p, int pick, const char *words) {
    comparison result;
    stn_plan *plan = NULL;
    char *text = NULL;
    bool good = compare_plan(s->context, p, "spectral", pick, &plan, &result) == STN_OK &&
                stn_plan_describe(plan, STN_TEXT, &text, NULL) == STN_OK && strstr(text, words);
    stn_text_free(text);
    stn_plan_destroy(plan);
    return good;
}

static void one_plane(suite *s, const tile_case *c, uint64_t seed) {
    dice d = {seed};
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = stencil_of(c, &d);
    p.stencil = stencil, p.dtype = c->dtype, p.steps = c->steps, p.batch = (size_t)c->batch, p.in_place = c->in_place;
    p.extent[0] = (size_t)c->ny, p.extent[1] = (size_t)c->nx;
    for (int axis = 0; axis < 2; axis++)
        for (int side = 0; side < 2; side++) p.boundary[axis][side].kind = c->side[axis][side];
    if (seed % 3 == 0 && !c->in_place) { /* Rows with padding, of any alignment. */
        p.in_stride[1] = p.out_stride[1] = 1;
        p.in_stride[0] = c->nx + 5, p.out_stride[0] = c->nx + 2;
    }
    char what[200], detail[1200];
    snprintf(what, sizeof what, "tiles: %d x %d x %d, %s, %s:%s %s:%s, %llu steps%s, %s", c->batch, c->ny, c->nx,
             stn_dtype_name(c->dtype), side_names[c->side[0][0]], side_names[c->side[0][1]], side_names[c->side[1][0]],
             side_names[c->side[1][1]], (unsigned long long)c->steps, c->in_place ? ", in place" : "", c->words);
    comparison result;
    const stn_problem typed = suite_problem(s, &p);
    const int pick = suite_candidate(s, &typed, "spectral", c->words);
    bool good = compare_candidate_with_host(s->context, s->pool, &typed, "spectral", pick, true, d.state, &result);
    s->worst = fmax(s->worst, good ? result.relative_l2 / result.bar : 0);
    suite_detail(&result, detail, sizeof detail);
    if (good && c->chunks && !says(s, &typed, pick, c->chunks)) {
        good = false;
        snprintf(detail, sizeof detail, "the plan does not say '%s' of itself", c->chunks);
    }
    suite_report(s, good, what, detail);
    stn_stencil_destroy(stencil);
}

/* Nine weights with the given spread, drifting or not. */
static void nine_weights(double spread, bool drifts, double weights[9]) {
    for (int i = 0; i < 9; i++) weights[i] = i == 4 ? 1 - spread : spread / 8 * (drifts && i % 3 == 2 ? 0.4 : 1);
}

/* A plan of tiles takes new weights if its tiles have room for their reach, and otherwise a new one
 * is chosen. */
static void tile_weights(suite *s, uint64_t steps, stn_boundary_kind side, bool drifts, bool served) {
    enum { NY = 90, NX = 130 };
    double old[9], fresh[9], *grid = malloc(NY * NX * sizeof *grid);
    stn_tap taps[9];
    stn_stencil *narrow = NULL, *wide = NULL;
    stn_plan *plan = NULL;
    comparison c;
    dice d = {steps};
    for (int i = 0; i < NY * NX; i++) grid[i] = dice_real(&d);
    nine_weights(steps == 2 ? 0.5 : 0.02, false, old), nine_weights(0.7, drifts, fresh);
    for (int i = 0; i < 9; i++) taps[i] = (stn_tap){{i / 3 - 1, i % 3 - 1}, old[i]};
    stn_stencil_create(2, 9, taps, &narrow, NULL);
    for (int i = 0; i < 9; i++) taps[i].weight = fresh[i];
    stn_stencil_create(2, 9, taps, &wide, NULL);
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = narrow, p.steps = steps, p.extent[0] = NY, p.extent[1] = NX;
    for (int axis = 0; axis < 2; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = side;
    stn_problem q = p;
    q.stencil = wide;
    const int pick = suite_candidate(s, &p, "spectral", "tiles of");
    bool good = compare_plan(s->context, &p, "spectral", pick, &plan, &c) == STN_OK;
    const stn_status status = good ? stn_plan_set_weights(plan, 9, fresh, &c.error) : STN_ERROR_INTERNAL;
    double off = good ? compare_plan_with_host(s->context, plan, &q, grid, NY * NX) : INFINITY;
    char what[100];
    snprintf(what, sizeof what, "tiles: new weights, %s, %llu steps%s: %s", side_names[side], (unsigned long long)steps,
             drifts ? ", drifting" : "", served ? "taken" : "chosen again");
    good = good && off < 4e-13 && status == STN_OK && (plan->again[0] == 0) == served;
    suite_report(s, good, what, c.error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(narrow), stn_stencil_destroy(wide);
    free(grid);
}

/* One tile and several along either axis, with short last ones; taps that drift, random dense taps
 * with a transformed symbol, mirrors of all kinds, whose images lie in the carry. */
void tiles(suite *s) {
#define WRAPS                                                                                                          \
    {                                                                                                                  \
        {STN_WRAP, STN_WRAP}, { STN_WRAP, STN_WRAP }                                                                   \
    }
    static const tile_case list[] = {
        {257, 263, 1, STN_F64, 2, WRAPS, 9, false, "tiles of 65", NULL},
        {200, 400, 1, STN_F32, 1, WRAPS, 20, false, "tiles of 50 x 104", NULL},
        {128, 96, 3, STN_F64, 1, WRAPS, 7, true, "tiles of 64 x 96", NULL},
        {311,
         127,
         2,
         STN_F64,
         0,
         {{STN_REFLECT, STN_MIRROR}, {STN_NEAREST, STN_REFLECT}},
         15,
         false,
         "tiles of 78",
         NULL},
        {211, 150, 1, STN_F32, 0, {{STN_MIRROR, STN_NEAREST}, {STN_WRAP, STN_WRAP}}, 12, true, "tiles of 53", NULL},
        {199, 222, 1, STN_F16, 0, {{STN_MIRROR, STN_MIRROR}, {STN_MIRROR, STN_MIRROR}}, 4, false, "tiles of 100", NULL},
        {180,
         300,
         1,
         STN_F64,
         9,
         {{STN_REFLECT, STN_REFLECT}, {STN_REFLECT, STN_MIRROR}},
         1,
         false,
         "tiles of 45",
         NULL},
        {233, 190, 2, STN_F32, 9, WRAPS, 1, false, "tiles of 59", NULL},
        {383, 61, 2, STN_F64, 1, WRAPS, 2, false, "tiles of 96", "2 chunks"},
        {640, 80, 1, STN_F32, 2, WRAPS, 2, true, "tiles of 160", "2 chunks"},
        {640, 80, 1, STN_F64, 1, WRAPS, 3, false, "waves", NULL},
        {401,
         50,
         3,
         STN_F64,
         0,
         {{STN_REFLECT, STN_MIRROR}, {STN_NEAREST, STN_NEAREST}},
         3,
         false,
         "tiles of 58",
         "3 chunks"},
        {30000, 24, 1, STN_F64, 1, WRAPS, 3, false, "tiles of", NULL},
        {3, 60013, 1, STN_F32, 0, {{STN_NEAREST, STN_NEAREST}, {STN_REFLECT, STN_MIRROR}}, 4, false, "tiles of", NULL},
        {450, 66, 1, STN_F64, 0, {{STN_MIRROR, STN_REFLECT}, {STN_WRAP, STN_WRAP}}, 2, true, "tiles of 38", "6 chunks"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) one_plane(s, &list[i], i + 3);
    tile_weights(s, 2, STN_WRAP, true, true);
    tile_weights(s, 2, STN_REFLECT, false, true);
    tile_weights(s, 2, STN_REFLECT, true, false);
    tile_weights(s, 30, STN_WRAP, false, false);
}
