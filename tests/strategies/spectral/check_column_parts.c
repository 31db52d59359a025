/* Tests of columns in parts; see checks.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "checks.h"
#include "plan/plan.h"

/* Weights at offsets low .. high down a column and -1 .. 1 along a row, symmetric along rows or
 * not. */
static stn_stencil *stencil_of(int low, int high, bool symmetric, dice *d) {
    stn_tap taps[3 * 129];
    stn_stencil *stencil = NULL;
    size_t count = 0;
    double sum = 0;
    for (int y = low; y <= high; y++)
        for (int x = -1; x <= 1; x++) taps[count++] = (stn_tap){{y, x}, dice_real(d) - 0.5};
    for (size_t i = 0; symmetric && i < count; i += 3) taps[i + 2].weight = taps[i].weight;
    for (size_t i = 0; i < count; i++) sum += fabs(taps[i].weight);
    for (size_t i = 0; i < count; i++) taps[i].weight /= sum;
    stn_stencil_create(2, count, taps, &stencil, NULL);
    return stencil;
}

typedef struct part_case {
    int ny, nx, batch, low, high;
    stn_dtype dtype;
    stn_boundary_kind side[2][2];
    bool in_place;
    const char *words; /* Substring of the candidate's name. */
} part_case;

static void one_plane(suite *s, const part_case *c, uint64_t seed) {
    dice d = {seed};
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = stencil_of(c->low, c->high, false, &d);
    p.stencil = stencil, p.dtype = c->dtype, p.batch = (size_t)c->batch, p.in_place = c->in_place, p.steps = 1;
    p.extent[0] = (size_t)c->ny, p.extent[1] = (size_t)c->nx;
    for (int axis = 0; axis < 2; axis++)
        for (int side = 0; side < 2; side++) p.boundary[axis][side].kind = c->side[axis][side];
    if (seed % 2 && !c->in_place) { /* Rows with padding. */
        p.in_stride[1] = p.out_stride[1] = 1;
        p.in_stride[0] = c->nx + 3, p.out_stride[0] = c->nx + 2;
    }
    char what[200];
    snprintf(what, sizeof what, "parts: %d x %d x %d, %s, %s:%s %s:%s, taps from %d to %d%s", c->batch, c->ny, c->nx,
             stn_dtype_name(c->dtype), side_names[c->side[0][0]], side_names[c->side[0][1]], side_names[c->side[1][0]],
             side_names[c->side[1][1]], c->low, c->high, c->in_place ? ", in place" : "");
    suite_compare_words(s, "spectral", c->words, what, &p, d.state);
    stn_stencil_destroy(stencil);
}

/* Row sides with a source, for columns of many taps: their symbol is not a transform of the taps,
 * in short and long columns. */
static void with_source(suite *s, int ny, stn_boundary_kind side) {
    dice d = {(uint64_t)ny};
    stn_problem p = STN_PROBLEM_INIT;
    char what[100];
    p.stencil = stencil_of(-5, 4, true, &d), p.steps = 1, p.extent[0] = (size_t)ny, p.extent[1] = 24;
    p.boundary[1][0] = p.boundary[1][1] = (stn_boundary){.kind = side, .value = side == STN_CONSTANT ? 0.5 : 0};
    snprintf(what, sizeof what, "parts: none of %d points beside %s sides of rows", ny, side_names[side]);
    suite_compare(s, "spectral", true, what, &p, d.state);
    stn_stencil_destroy((stn_stencil *)p.stencil);
}

/* A plan of parts takes new weights if its parts have room for their reach. */
static void new_weights(suite *s, bool served) {
    enum { NY = 2100, NX = 20, REACH = 20, INNER = 12 };
    double fresh[3 * (2 * REACH + 1)], *grid = malloc(NY * NX * sizeof *grid);
    stn_tap taps[3 * (2 * REACH + 1)];
    stn_stencil *near = NULL, *far = NULL;
    stn_plan *plan = NULL;
    comparison c;
    dice d = {served + 77u};
    const int count = (int)(sizeof taps / sizeof *taps);
    for (int i = 0; i < NY * NX; i++) grid[i] = dice_real(&d);
    for (int i = 0; i < count; i++) {
        const int y = i / 3 - REACH;
        fresh[i] = (dice_real(&d) - 0.5) / count;
        taps[i] = (stn_tap){{y, i % 3 - 1}, served || abs(y) <= INNER ? fresh[i] : 0};
    }
    stn_stencil_create(2, (size_t)count, taps, &near, NULL);
    for (int i = 0; i < count; i++) taps[i].weight = fresh[i] = 2 * fresh[i];
    stn_stencil_create(2, (size_t)count, taps, &far, NULL);
    stn_problem p = STN_PROBLEM_INIT, q;
    p.stencil = near, p.steps = 1, p.extent[0] = NY, p.extent[1] = NX;
    for (int axis = 0; axis < 2; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_REFLECT;
    q = p, q.stencil = far;
    const int pick = suite_candidate(s, &p, "spectral", "columns in");
    bool good = compare_plan(s->context, &p, "spectral", pick, &plan, &c) == STN_OK;
    const stn_status status = good ? stn_plan_set_weights(plan, (size_t)count, fresh, &c.error) : STN_ERROR_INTERNAL;
    const double off = good ? compare_plan_with_host(s->context, plan, &q, grid, NY * NX) : INFINITY;
    good = good && off < 4e-13 && status == STN_OK && (plan->choice_before[0] == 0) == served;
    suite_report(s, good, served ? "parts: new weights" : "parts: weights that reach too far", c.error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(near), stn_stencil_destroy(far);
    free(grid);
}

/* Columns long enough for parts: lengths that are multiples of the parts and others, one-sided
 * taps, every pair of sides, all types. */
void in_parts(suite *s) {
    static const part_case list[] = {
        {2304, 20, 1, -12, 12, STN_F32, {{STN_WRAP, STN_WRAP}, {STN_WRAP, STN_WRAP}}, false, "columns in"},
        {2131, 13, 2, -9, 17, STN_F64, {{STN_WRAP, STN_WRAP}, {STN_REFLECT, STN_MIRROR}}, false, "columns in"},
        {2500, 10, 1, 0, 40, STN_F32, {{STN_REFLECT, STN_REFLECT}, {STN_REFLECT, STN_REFLECT}}, true, "columns in"},
        {2049, 17, 1, -60, 60, STN_F32, {{STN_REFLECT, STN_MIRROR}, {STN_WRAP, STN_WRAP}}, false, "columns in"},
        {4096, 9, 1, -60, 60, STN_F32, {{STN_REFLECT, STN_REFLECT}, {STN_REFLECT, STN_REFLECT}}, false, "columns in"},
        {2201, 11, 1, -64, 50, STN_F64, {{STN_MIRROR, STN_MIRROR}, {STN_REFLECT, STN_MIRROR}}, false, "columns in"},
        {2310, 8, 3, -30, 0, STN_F64, {{STN_MIRROR, STN_REFLECT}, {STN_MIRROR, STN_MIRROR}}, true, "columns in"},
        {3001, 7, 1, -24, 24, STN_F16, {{STN_WRAP, STN_WRAP}, {STN_REFLECT, STN_REFLECT}}, false, "columns in"},
        {5003, 12, 1, -64, 3, STN_F32, {{STN_REFLECT, STN_REFLECT}, {STN_WRAP, STN_WRAP}}, false, "columns in"},
        {2222, 9, 1, -31, 20, STN_F32, {{STN_REFLECT, STN_MIRROR}, {STN_WRAP, STN_WRAP}}, false, "columns in 2 parts"},
        {2600, 9, 1, -11, 20, STN_F64, {{STN_WRAP, STN_WRAP}, {STN_WRAP, STN_WRAP}}, false, "columns in 4 parts"},
    };
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) one_plane(s, &list[i], 900 + i);
    with_source(s, 48, STN_FIXED);
    with_source(s, 2304, STN_CONSTANT);
    new_weights(s, true);
    new_weights(s, false);
}
