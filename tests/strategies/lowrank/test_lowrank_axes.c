/* lowrank's passes along the axes, for separable taps of any radius, against the host: every
 * boundary, rank, layout and type, new weights, on any device. Prints TAP. Usage: test_axes
 * [--full] [--only PART] [--dtype T]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "plan/plan.h"

#define LONGEST (2 * STN_MAX_RADIUS + 1)

/* Products of one random factor for each axis, from low[axis] points on one side to high[axis] on
 * the other; with `holes` one weight in three, except at the ends, is 0 and not a tap. */
static stn_stencil *wide_stencil(dice *d, int rank, const int low[3], const int high[3], bool holes) {
    double factor[3][LONGEST];
    int size[3] = {1, 1, 1}, most = 1, count = 0;
    for (int axis = 0; axis < rank; axis++) {
        double sum = 0;
        size[axis] = low[axis] + high[axis] + 1;
        for (int i = 0; i < size[axis]; i++) {
            bool end = i == 0 || i == size[axis] - 1;
            factor[axis][i] = holes && !end && dice_int(d, 0, 2) == 0 ? 0 : 0.2 + dice_real(d);
            sum += fabs(factor[axis][i]);
        }
        for (int i = 0; i < size[axis]; i++) factor[axis][i] /= sum;
        most *= size[axis];
    }
    stn_tap *taps = calloc((size_t)most, sizeof *taps);
    for (int i = 0; i < most; i++) {
        stn_tap tap = {.weight = 1};
        for (int axis = rank - 1, rest = i; axis >= 0; rest /= size[axis--]) {
            tap.offset[axis] = rest % size[axis] - low[axis];
            tap.weight *= factor[axis][rest % size[axis]];
        }
        if (tap.weight != 0) taps[count++] = tap;
    }
    stn_stencil *stencil = NULL;
    stn_stencil_create(rank, (size_t)count, taps, &stencil, NULL);
    free(taps);
    return stencil;
}

/* Where f16 rounds between passes whose weights cancel, the plan predicts an error above the bound:
 * it must then be as accurate as predicted, and no plan with an alternative may choose it. */
static bool as_it_says(suite *s, const stn_problem *problem, const comparison *c) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    stn_error error;
    options.estimate_only = 1;
    bool good = c->all_written && c->relative_l2 <= 1.25 * c->predicted && c->point <= COMPARE_POINT * c->predicted &&
                stn_plan_create(s->context, problem, &options, &plan, &error) == STN_OK;
    /* direct's bound, by steps. */
    good = good && plan->estimate.error <= c->bar * sqrt((double)problem->steps);
    stn_plan_destroy(plan);
    return good;
}

/* Compares the candidate with this kernel with the host; another candidate may be cheaper on a
 * small grid. */
static void check(suite *s, const char *what, const stn_problem *problem, uint64_t seed) {
    comparison c;
    char detail[1200];
    stn_problem typed = suite_problem(s, problem);
    bool good = true, served = false;
    for (int pick = 0; pick < STN_CANDIDATES && good && !served; pick++) {
        good = compare_candidate_with_host(s->context, s->pool, &typed, "lowrank", pick, true, seed, &c);
        served = strstr(c.parameters, "lowrank_axis") != NULL;
    }
    if (served && !good && c.predicted > c.bar) good = as_it_says(s, &typed, &c);
    s->worst = fmax(s->worst, good ? c.relative_l2 / c.bar : 0);
    suite_detail(&c, detail, sizeof detail);
    suite_report(s, good && served, what, good && !served ? "another kernel served it" : detail);
}

static stn_problem random_problem(dice *d, int rank, int least, int most, const stn_stencil *stencil) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.steps = 1;
    for (int axis = 0; axis < rank; axis++) p.extent[axis] = (size_t)dice_int(d, least, most);
    random_sides(d, &p, rank);
    return p;
}

/* Every pair of sides on every axis, the other sides random. */
static void boundaries(suite *s) {
    for (side_pair at = {.rank = 2}; suite_side_pair(s, 3, 4, 4, &at);) {
        int least = at.rank == 2 ? 9 : 3, far = at.rank == 2 ? 40 : 9, reach[2][3];
        for (int i = 0; i < 6; i++) reach[i / 3][i % 3] = dice_int(&at.d, least, far);
        reach[0][at.axis] = reach[1][at.axis] = far;
        stn_stencil *stencil = wide_stencil(&at.d, at.rank, reach[0], reach[1], false);
        stn_problem p = random_problem(&at.d, at.rank, far, at.rank == 2 ? 100 : 25, stencil);
        suite_set_sides(&at, &p);
        p.steps = (uint64_t)dice_int(&at.d, 1, 3);
        char what[160];
        snprintf(what, sizeof what, "%s, %llu steps", at.what, (unsigned long long)p.steps);
        check(s, what, &p, at.d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Radii up to the largest, to one side or both, along one axis or all, with holes. */
static void radii(suite *s) {
    static const int reaches[][6] = {{0, 9, 0, 64, 64, 64},    {0, 64, 64, 0, 64, 64}, {0, 64, 0, 0, 64, 0},
                                     {0, 0, 64, 0, 0, 64},     {0, 0, 30, 0, 50, 0},   {0, 60, 60, 0, 60, 60},
                                     {0, 31, 33, 0, 24, 17},   {0, 57, 1, 0, 60, 1},   {0, 1, 40, 0, 0, 41},
                                     {30, 0, 0, 30, 0, 0},     {0, 30, 0, 0, 30, 0},   {0, 0, 30, 0, 0, 30},
                                     {16, 16, 16, 16, 16, 16}, {20, 0, 5, 3, 1, 17},   {64, 1, 1, 64, 1, 1},
                                     {0, 10, 40, 0, 12, 33},   {2, 2, 64, 2, 2, 64}};
    for (size_t i = 0; i < sizeof reaches / sizeof *reaches; i++) {
        const int *r = reaches[i];
        dice d = {i + 1};
        int rank = i < 9 ? 2 : 3, first = 3 - rank, n = rank == 2 ? 65 : r[0] > 20 || r[2] > 20 ? 64 : 31;
        if (!s->full && rank == 3 && i % 2) continue;
        stn_stencil *stencil = wide_stencil(&d, rank, r + first, r + 3 + first, i % 3 == 2);
        stn_problem p = random_problem(&d, rank, n, n + 20, stencil);
        if (rank == 3)
            for (int axis = 0; axis < 3; axis++)
                if (r[axis] < 20 && r[3 + axis] < 20) p.extent[axis] = (size_t)dice_int(&d, 20, 31);
        char what[160];
        snprintf(what, sizeof what, "%dD reach %d %d %d, %d %d %d", rank, r[0], r[1], r[2], r[3], r[4], r[5]);
        check(s, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Sizes around tiles and segments; grids hardly larger than the reach; batches, strides, in place,
 * small alignment. */
static void layouts(suite *s) {
    static const int sizes[][2] = {{18, 18},     {19, 200}, {200, 19}, {31, 33},
                                   {64, 16 * 9}, {129, 65}, {600, 20}, {20, 700}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int variant = 0; variant < 4; variant++) {
            if (!s->full && (i + (size_t)variant) % 2) continue;
            dice d = {100 * i + (uint64_t)variant};
            stn_stencil *stencil = wide_stencil(&d, 2, (int[]){18, 17, 0}, (int[]){16, 18, 0}, variant == 3);
            stn_problem p = random_problem(&d, 2, 18, 18, stencil);
            for (int axis = 0; axis < 2; axis++) p.extent[axis] = (size_t)sizes[i][axis];
            p.steps = (uint64_t)(1 + variant % 2);
            p.in_place = variant == 1 || variant == 2;
            p.alignment = variant == 3 ? 2 << s->dtype_given : 0;
            if (p.alignment && !s->dtype_given) p.alignment = 8;
            if (variant >= 2) {
                p.batch = 3;
                p.in_stride[0] = (ptrdiff_t)p.extent[1] + (variant == 2 ? 16 : 3), p.in_stride[1] = 1;
                p.in_batch_stride = p.in_stride[0] * (ptrdiff_t)p.extent[0] + 16;
                p.out_stride[0] = p.in_place ? p.in_stride[0] : (ptrdiff_t)p.extent[1] + 5, p.out_stride[1] = 1;
                if (p.in_place) p.out_batch_stride = p.in_batch_stride;
            }
            char what[160];
            snprintf(what, sizeof what, "%d x %d, %s%s%s, %d steps", sizes[i][0], sizes[i][1],
                     p.in_place ? "in place, " : "", p.batch ? "a batch of 3, strides, " : "dense, ",
                     variant == 3 ? "unaligned, holes" : "aligned", (int)p.steps);
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
    dice d = {5};
    stn_stencil *one = wide_stencil(&d, 2, (int[]){0, 18, 0}, (int[]){0, 18, 0}, false);
    for (int steps = 1; steps <= 4; steps++) { /* one pass a step: ping-pong launches */
        stn_problem p = random_problem(&d, 2, 40, 60, one);
        p.in_place = steps % 2, p.steps = (uint64_t)steps;
        p.boundary[1][0].kind = p.boundary[1][1].kind = steps < 3 ? STN_FIXED : STN_REFLECT;
        char what[80];
        snprintf(what, sizeof what, "one pass a step, %d steps%s", steps, p.in_place ? ", in place" : "");
        check(s, what, &p, d.state);
    }
    stn_stencil_destroy(one);
}

/* Weights along y that cancel except one, with a large mean: the rounding of f16 between the passes
 * is large relative to the result, and the plan predicts it. */
static void cancelled(suite *s) {
    enum { REACH = 16, SIDE = 2 * REACH + 1 };
    stn_tap taps[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) {
        int y = i / SIDE, x = i % SIDE;
        taps[i] = (stn_tap){{y - REACH, x - REACH, 0}, (y % 2 ? -1.0 : 1.0) / SIDE / SIDE};
    }
    stn_stencil *stencil = NULL;
    stn_stencil_create(2, SIDE * SIDE, taps, &stencil, NULL);
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.steps = 1;
    p.extent[0] = 20, p.extent[1] = 40;
    for (int i = 0; i < 4; i++) p.boundary[i / 2][i % 2] = (stn_boundary){STN_CONSTANT, 1.3};
    check(s, "weights that cancel between constant sides", &p, 3);
    p = suite_problem(s, &p);
    comparison c;
    compare_with_host(s->context, s->pool, &p, "lowrank", true, 3, &c);
    /* Whether f32 misses it depends on the number of products. */
    const bool misses = s->dtype_given && s->dtype == STN_F16;
    const bool told = s->dtype_given && s->dtype == STN_F32 ? c.relative_l2 <= c.predicted
                                                            : misses == (c.predicted > c.bar) && c.predicted > 0;
    char detail[1200];
    snprintf(detail, sizeof detail, "predicted %.3g, bound %.3g, relative L2 %.3g", c.predicted, c.bar, c.relative_l2);
    suite_report(s, told, "the plan says whether it exceeds the bound", detail);
    stn_stencil_destroy(stencil);
}

/* Other weights of the same reach on the same plan; then weights that are not separable, for which
 * the plan chooses again. */
static void new_weights(suite *s) {
    dice d = {11};
    stn_stencil *stencil = wide_stencil(&d, 2, (int[]){18, 12, 0}, (int[]){16, 18, 0}, false);
    stn_stencil *other = wide_stencil(&d, 2, (int[]){18, 12, 0}, (int[]){16, 18, 0}, false);
    stn_problem p = random_problem(&d, 2, 33, 60, stencil);
    p = suite_problem(s, &p);
    size_t count = p.extent[0] * p.extent[1], taps = stn_stencil_tap_count(stencil);
    double *in = malloc(count * sizeof *in), *weights = malloc(taps * sizeof *weights);
    for (size_t i = 0; i < count; i++) in[i] = dice_real(&d);
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    stn_error error = {0};
    options.strategy = "lowrank";
    double bar = s->dtype_given ? s->dtype == STN_F32 ? 1e-6 : 1e-3 : 1e-13;
    bool good = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_OK;
    suite_report(s, good && compare_plan_with_host(s->context, plan, &p, in, count) < bar, "a plan", error.message);
    for (size_t i = 0; i < taps; i++) weights[i] = stn_stencil_taps(other)[i].weight;
    good = good && stn_plan_set_weights(plan, taps, weights, &error) == STN_OK;
    p.stencil = other;
    suite_report(s, good && compare_plan_with_host(s->context, plan, &p, in, count) < bar, "its new weights",
                 error.message);
    weights[taps / 2] += 0.5;
    stn_tap *mixed = malloc(taps * sizeof *mixed);
    memcpy(mixed, stn_stencil_taps(other), taps * sizeof *mixed);
    mixed[taps / 2].weight = weights[taps / 2];
    stn_stencil_destroy(other);
    stn_stencil_create(2, taps, mixed, &other, NULL);
    p.stencil = other;
    suite_report(s, good && stn_plan_set_weights(plan, taps, weights, &error) == STN_OK,
                 "weights that are no products are taken", error.message);
    suite_report(s, good && compare_plan_with_host(s->context, plan, &p, in, count) < bar, "and the plan's",
                 error.message);
    free(mixed);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
    stn_stencil_destroy(other);
    free(in), free(weights);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"boundaries", boundaries},
                                       {"radii", radii},
                                       {"layouts", layouts},
                                       {"cancelled", cancelled},
                                       {"new-weights", new_weights}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
