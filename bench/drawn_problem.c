/* See drawn_problem.h. */
#include "drawn_problem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "problem/task.h"

/* The range of points, and the most steps: for a GPU, and for the emulator. */
static const struct { double points, ratio, steps; } ranges[] = {{1e5, 2e3, 1e5}, {1e3, 10, 12}};

static bool chance(dice *d, int percent) { return dice_int(d, 1, 100) <= percent; }

/* Uniform in the logarithm, from 1 to `most`. */
static double log_uniform(dice *d, double most) { return pow(most, dice_positive(d)); }

static stn_stencil *named_stencil(dice *d, int rank) {
    char name[80];
    stn_stencil *stencil = NULL;
    const int kind = dice_int(d, 0, 3), order = 2 * dice_int(d, 1, rank == 3 ? 4 : 8);
    const double sigma = 0.5 * log_uniform(d, rank == 3 ? 4 : 16);
    if (kind == 0)
        snprintf(name, sizeof name, "heat-%dd", rank);
    else if (kind == 1)
        snprintf(name, sizeof name, "laplace-%dd:order=%d", rank, order);
    else if (kind == 2)
        snprintf(name, sizeof name, "gaussian-%dd:sigma=%.3g,truncate=%d", rank, sigma, dice_int(d, 1, 4));
    else
        snprintf(name, sizeof name, "%s", rank == 1 ? "1d5p" : rank == 2 ? "box-2d9p" : "box-3d27p");
    return stn_stencil_parse(name, &stencil, NULL) == STN_OK ? stencil : NULL;
}

/* Weights without structure, of a large radius; in half of the cases the same on both sides. */
static void draw_wide_taps(dice *d, random_problem *r) {
    static const double most[] = {0, 64, 64, 6};
    const int reach = (int)log_uniform(d, most[r->rank]), side = 2 * reach + 1;
    const bool even = chance(d, 50);
    r->ntaps = 1;
    for (int axis = 0; axis < r->rank; axis++) r->ntaps *= (size_t)side;
    for (size_t i = 0; i < r->ntaps; i++) {
        stn_tap *tap = &r->taps[i];
        size_t rest = i;
        for (int axis = r->rank - 1; axis >= 0; axis--, rest /= (size_t)side)
            tap->offset[axis] = (int)(rest % (size_t)side) - reach;
        tap->weight = even && i > r->ntaps / 2 ? r->taps[r->ntaps - 1 - i].weight : dice_real(d) + 0.3;
    }
    random_taps_normalise(r);
}

static void draw_taps(dice *d, random_problem *r) {
    if (chance(d, 10)) {
        draw_wide_taps(d, r);
        return;
    }
    stn_stencil *stencil = chance(d, 50) ? named_stencil(d, r->rank) : NULL;
    const size_t count = stencil ? stn_stencil_tap_count(stencil) : 0;
    if (count && count <= RANDOM_TAPS) {
        memcpy(r->taps, stn_stencil_taps(stencil), count * sizeof *r->taps);
        r->ntaps = count;
        random_taps_normalise(r);
    } else
        random_taps_draw(d, r, true);
    stn_stencil_destroy(stencil);
}

static bool is_prime(size_t n) {
    for (size_t k = 2; k * k <= n; k++)
        if (n % k == 0) return false;
    return n > 1;
}

static void draw_extents(dice *d, bool small, random_problem *r) {
    const double points = ranges[small].points * log_uniform(d, ranges[small].ratio) / (double)r->problem.batch;
    double side = pow(points, 1.0 / r->rank), left = points;
    const int kind = dice_int(d, 0, 3);
    for (int axis = 0; axis < r->rank; axis++) {
        const double length = axis == r->rank - 1 ? left : fmin(left, side * pow(2, 1.5 * dice_real(d)));
        size_t n = length > 4 ? (size_t)length : 4;
        if (kind == 0) n = n > 64 ? (n + 32) / 64 * 64 : n;
        if (kind == 1) n |= 1;
        if (kind == 2)
            while (!is_prime(n)) n++;
        left /= (double)n;
        r->problem.extent[axis] = n;
    }
}

static void draw_boundaries(dice *d, random_problem *r) {
    const int kind = dice_int(d, 0, 9), same = dice_int(d, 1, 5);
    for (int axis = 0; axis < r->rank; axis++) {
        const bool wraps = kind < 3 || chance(d, 10);
        for (int side = 0; side < 2; side++) {
            stn_boundary *b = &r->problem.boundary[axis][side];
            b->kind = (stn_boundary_kind)(wraps ? 0 : kind < 7 ? same : dice_int(d, 1, 5));
            b->value = b->kind == STN_CONSTANT ? 0.5 * dice_int(d, 0, 2) : 0;
        }
    }
}

static void draw_more(dice *d, bool small, stn_problem *p) {
    static const double allowed[3][2] = {{1e-9, 1e-6}, {5e-4, 1e-3}, {1e-3, 1e-2}};
    p->dtype = (stn_dtype)dice_int(d, STN_F64, STN_F16);
    p->steps = chance(d, 30) ? 1 : (uint64_t)log_uniform(d, ranges[small].steps);
    p->tolerance = chance(d, 80) ? 0 : allowed[p->dtype][dice_int(d, 0, 1)];
    p->in_place = chance(d, 12);
    p->has_source = chance(d, 8);
}

static void write_label(drawn_problem *p, uint64_t seed, uint64_t index) {
    const stn_problem *q = &p->r.problem;
    int reach[3][2], used = snprintf(p->label, sizeof p->label, "%" PRIu64 ":%" PRIu64 " ", seed, index);
    random_problem_reach(&p->r, reach);
    if (q->batch > 1) used += snprintf(p->label + used, sizeof p->label - (size_t)used, "%zu of ", q->batch);
    for (int axis = 0; axis < p->r.rank; axis++)
        used += snprintf(p->label + used, sizeof p->label - (size_t)used, "%s%zu", axis ? "x" : "", q->extent[axis]);
    used += snprintf(p->label + used, sizeof p->label - (size_t)used, " %s T=%" PRIu64 ", %zu taps",
                     stn_dtype_name(q->dtype), q->steps, p->r.ntaps);
    for (int axis = 0; axis < p->r.rank; axis++)
        used +=
            snprintf(p->label + used, sizeof p->label - (size_t)used, " %d+%d %s:%s", reach[axis][0], reach[axis][1],
                     stn_boundary_name(q->boundary[axis][0].kind), stn_boundary_name(q->boundary[axis][1].kind));
    if (q->tolerance > 0)
        used += snprintf(p->label + used, sizeof p->label - (size_t)used, ", tolerance %g", q->tolerance);
    snprintf(p->label + used, sizeof p->label - (size_t)used, "%s%s", q->in_place ? ", in place" : "",
             q->has_source ? ", source" : "");
}

bool drawn_problem_make(uint64_t seed, uint64_t index, bool small, drawn_problem *p) {
    dice first = {seed}, d = {dice_next(&first) + index};
    d.state = dice_next(&d);
    random_problem *r = &p->r;
    memset(p, 0, sizeof *p);
    do {
        memset(r, 0, sizeof *r);
        r->problem = (stn_problem)STN_PROBLEM_INIT;
        r->rank = dice_int(&d, 1, 3);
        r->problem.batch = chance(&d, 88) ? 1 : (size_t)(1 + log_uniform(&d, small ? 4 : 500));
        draw_taps(&d, r);
        draw_extents(&d, small, r);
        draw_boundaries(&d, r);
        draw_more(&d, small, &r->problem);
    } while (!random_problem_valid(r));
    r->problem.stencil = p->stencil = random_problem_stencil(r);
    p->bytes = r->problem.batch * stn_dtype_size(r->problem.dtype);
    for (int axis = 0; axis < r->rank; axis++) p->bytes *= r->problem.extent[axis];
    write_label(p, seed, index);
    return p->stencil;
}

void drawn_problem_clear(drawn_problem *p) {
    stn_stencil_destroy(p->stencil);
    p->r.problem.stencil = p->stencil = NULL;
}

stn_status drawn_problem_plan(stn_context *context, const drawn_problem *p, const char *strategy, bool estimate_only,
                              stn_plan **plan, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy, options.estimate_only = estimate_only;
    options.deterministic = options.no_auto_workspace = 1;
    return stn_plan_create(context, &p->r.problem, &options, plan, error);
}
