/* Compares the strategy `aperiodic` with the host at every point: taps without mirror symmetry, all
 * pairs of sides, bands of bands, layouts, sources. Prints TAP.
 *
 *     test_aperiodic [--host] [--full] [--only PART]    --host: on the host, else on a GPU */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "host/stencil_run.h"
#include "streams.h"
#include "waves.h"

static bool on_host;

static int rank_of(const int *extent) { return extent[2] ? 3 : extent[1] ? 2 : 1; }

static void name_of(const char *part, const stn_problem *p, int pick, char *what, size_t size) {
    const int rank = stn_stencil_rank(p->stencil);
    size_t used = (size_t)snprintf(what, size, "%s: %dD", part, rank);
    for (int axis = 0; axis < rank; axis++)
        used += (size_t)snprintf(what + used, size - used, " %zu %s:%s", p->extent[axis],
                                 side_names[p->boundary[axis][0].kind], side_names[p->boundary[axis][1].kind]);
    used +=
        (size_t)snprintf(what + used, size - used, ", %zu taps, %s, %llu steps%s", stn_stencil_tap_count(p->stencil),
                         stn_dtype_name(p->dtype), (unsigned long long)p->steps, p->in_place ? ", in place" : "");
    if (pick >= 0) snprintf(what + used, size - used, ", candidate %d", pick);
}

/* pick: index among all candidates, some of which divide even very small bands; -1: the cheapest.
 * False: there are fewer. */
static bool check_pick(suite *s, const char *part, const stn_problem *p, int pick, uint64_t seed) {
    char what[300];
    comparison c;
    name_of(part, p, pick, what, sizeof what);
    const bool good = compare_candidate_with_host(s->context, s->pool, p, "aperiodic",
                                                  pick < 0 ? -1 : COMPARE_MEASURED + pick, false, seed, &c);
    if (pick > 1 && strstr(c.error.message, "there is no candidate")) return false;
    suite_report_compared(s, good && !strcmp(c.strategy, "aperiodic"), what, &c);
    printf("# %s\n", c.parameters);
    return true;
}

static void check(suite *s, const char *part, const stn_problem *p, uint64_t seed) { check_pick(s, part, p, -1, seed); }

/* Every pair of sides along every axis, with asymmetric taps of both signs and a reach of one to
 * three points; up to 200 steps if the device is fast enough. */
static void sides(suite *s) {
    const int most = s->full || on_host ? 200 : 14;
    static const int extents[][3] = {{401, 0, 0}, {97, 120, 0}, {40, 44, 50}};
    for (size_t e = 0; e < 3; e++)
        for (int low = STN_CONSTANT; low <= STN_FIXED; low++)
            for (int high = STN_CONSTANT; high <= STN_FIXED; high++) {
                dice d = {(uint64_t)(low * 1000 + high * 100) + e};
                const int rank = rank_of(extents[e]), axis = dice_int(&d, 0, rank - 1);
                const bool skipped = !s->full && e > 0 && (low + high + (int)e) % 3;
                if (skipped) continue;
                const stn_dtype dtype = (stn_dtype)((low + 2 * high) % 5 % 3);
                stn_stencil *stencil = random_stencil(&d, rank, (taps_kind)((low + high) % 3),
                                                      e == 0   ? 3
                                                      : e == 1 ? 2
                                                               : 1);
                stn_problem p = grid_problem(stencil, extents[e], dtype,
                                             (uint64_t)(dtype == STN_F16 ? 4
                                                        : e == 2         ? 6
                                                                         : dice_int(&d, 9, most)));
                random_sides(&d, &p, rank);
                p.boundary[axis][0] = (stn_boundary){(stn_boundary_kind)low, low == STN_CONSTANT ? 0.3 : 0};
                p.boundary[axis][1] = (stn_boundary){(stn_boundary_kind)high, high == STN_CONSTANT ? -1.1 : 0};
                check(s, "sides", &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* Symmetric taps that reach several points past sides, of which one is a mirror and the other is
 * not: bands at one side only. */
static void mixed(suite *s) {
    static const stn_boundary_kind kinds[][2] = {{STN_FIXED, STN_REFLECT},
                                                 {STN_MIRROR, STN_NEAREST},
                                                 {STN_CONSTANT, STN_FIXED},
                                                 {STN_WRAP, STN_WRAP},
                                                 {STN_REFLECT, STN_CONSTANT}};
    static const int extent[3] = {150, 131, 0};
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 5; k++) {
            if (i == 3 && k == 3) continue;
            if (!s->full && (i + k) % 2) continue;
            stn_stencil *stencil = NULL;
            stn_stencil_parse("star-2d13p", &stencil, NULL);
            stn_problem p = grid_problem(stencil, extent, k == 1 ? STN_F32 : STN_F64, 12 + i);
            for (int side = 0; side < 2; side++) {
                p.boundary[0][side] = (stn_boundary){kinds[i][side], kinds[i][side] == STN_CONSTANT ? 0.7 : 0};
                p.boundary[1][side] = (stn_boundary){kinds[k][side], kinds[k][side] == STN_CONSTANT ? -0.2 : 0};
            }
            check(s, "mixed", &p, i * 10 + k);
            stn_stencil_destroy(stencil);
        }
}

/* Bands of bands along both axes, at both sides of each. */
static void crossed(suite *s) {
    stn_stencil *stencil = NULL;
    stn_stencil_parse("star-2d13p", &stencil, NULL);
    stn_problem p = grid_problem(stencil, (const int[3]){290, 300, 0}, STN_F64, 62);
    for (int side = 0; side < 4; side++) p.boundary[side / 2][side % 2].kind = STN_FIXED;
    const int pick = suite_candidate(s, &p, "aperiodic", "31, then 7 steps at once wherever");
    check_pick(s, "crossed", &p, pick - COMPARE_MEASURED, 62);
    stn_stencil_destroy(stencil);
}

/* Bands of bands in three levels, also very small ones, with remaining steps at each level. */
static void deep(suite *s) {
    /* On the emulator only 1D and 2D, with bands of bands. */
    const bool all = s->full || on_host;
    static const int extents[][3] = {{900, 0, 0}, {260, 241, 0}, {100, 96, 90}};
    static const uint64_t steps[] = {64, 45, 10};
    for (size_t e = 0; e < (all ? 3 : 2); e++)
        for (int pick = all ? 0 : 4, more = 1; more && (all || e == 0 || pick < 7); pick++) {
            dice d = {e * 10 + (uint64_t)pick + 60};
            const int rank = rank_of(extents[e]);
            stn_stencil *stencil = random_stencil(&d, rank, e == 2 ? TAPS_STAR : TAPS_BOX, e == 0 ? 2 : 1);
            stn_problem p = grid_problem(stencil, extents[e], STN_F64, steps[e] + (uint64_t)pick % 2);
            for (int axis = 0; axis < rank; axis++)
                p.boundary[axis][0].kind = axis ? STN_FIXED : STN_NEAREST, p.boundary[axis][1].kind = STN_MIRROR;
            more = check_pick(s, "deep", &p, pick, d.state);
            stn_stencil_destroy(stencil);
        }
    crossed(s);
}

/* Taps that reach to one side only, or farther to one side: after many steps the domain of
 * dependence is far away. */
static void drift(suite *s) {
    static const double weights[][5] = {{0, 0, 0.3, 0.7, 0},        {0, 0.05, 0.25, 0.7, 0}, {0.6, 0.3, 0.1, 0, 0},
                                        {0.4, -0.3, 0.1, 0.1, 0.1}, {0, 0, 0, 0, 1},         {0.2, 0.1, 0.1, 0.1, 0.5}};
    static const int extent[3] = {2400, 0, 0};
    for (size_t i = 0; i < 6; i++)
        for (int k = 0; k < 2; k++) {
            const size_t taps = 5;
            stn_stencil *stencil = NULL;
            stn_stencil_create_dense(1, &taps, weights[i], &stencil, NULL);
            stn_problem p = grid_problem(stencil, extent, STN_F64, 180 + i);
            p.boundary[0][0].kind = k ? STN_FIXED : STN_CONSTANT, p.boundary[0][0].value = k ? 0 : 2;
            p.boundary[0][1].kind = k ? STN_NEAREST : STN_REFLECT;
            check(s, "drift", &p, i);
            if (!k) check_pick(s, "drift", &p, 5, i);
            stn_stencil_destroy(stencil);
        }
}

/* Many chunks of many steps. */
static void rounds(suite *s) {
    static const int extent[3] = {320, 290, 0};
    static const struct {
        const char *stencil;
        stn_boundary_kind kind;
        stn_dtype dtype;
    } list[] = {
        {"star-2d13p", STN_FIXED, STN_F64}, {"box-2d49p", STN_NEAREST, STN_F64}, {"star-2d13p", STN_CONSTANT, STN_F32}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        stn_stencil *stencil = NULL;
        stn_stencil_parse(list[i].stencil, &stencil, NULL);
        stn_problem p = grid_problem(stencil, extent, list[i].dtype, 601);
        for (int axis = 0; axis < 2; axis++)
            for (int side = 0; side < 2; side++) p.boundary[axis][side] = (stn_boundary){list[i].kind, 0.6};
        check(s, "rounds", &p, i);
        stn_stencil_destroy(stencil);
    }
}

static void layouts(suite *s) {
    for (int layout = 0; layout < 5; layout++) {
        static const int extent[3] = {90, 105, 0};
        dice d = {(uint64_t)(layout + 900)};
        stn_stencil *stencil = random_stencil(&d, 2, TAPS_RANDOM, 2);
        stn_problem p = grid_problem(stencil, extent, (stn_dtype)(layout % 2), 9);
        for (int axis = 0; axis < 2; axis++)
            p.boundary[axis][0].kind = STN_FIXED, p.boundary[axis][1].kind = STN_REFLECT;
        if (layout == 0) p.in_stride[1] = 2, p.out_stride[1] = 3, p.in_stride[0] = 301, p.out_stride[0] = 340;
        if (layout == 1) p.batch = 3;
        if (layout == 2) p.in_place = 1, p.batch = 2;
        if (layout == 3) p.alignment = (int)stn_dtype_size(p.dtype);
        if (layout == 4) p.batch = 2, p.in_batch_stride = 10000, p.out_batch_stride = 9601;
        check(s, "layouts", &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Chunks that read and write the caller's grids: one, two and three chunks, in place and not. */
static void turns(suite *s) {
    static const int extent[3] = {700, 0, 0};
    size_t sizes[2] = {0, 0};
    for (int in_place = 0; in_place < 2; in_place++)
        for (int pick = 0, more = 1; more && pick < 7; pick++) {
            dice d = {(uint64_t)(pick + 40)};
            stn_stencil *stencil = random_stencil(&d, 1, TAPS_BOX, 2);
            stn_problem p = grid_problem(stencil, extent, STN_F64, (uint64_t)(31 + pick));
            p.boundary[0][0].kind = STN_FIXED, p.boundary[0][1].kind = STN_NEAREST;
            p.batch = 2, p.in_place = in_place;
            more = check_pick(s, "turns", &p, pick, d.state);
            stn_stencil_destroy(stencil);
        }
    for (int padded = 0; padded < 2; padded++) {
        stn_stencil *stencil = NULL;
        stn_plan *plan = NULL;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        options.strategy = "aperiodic";
        stn_stencil_parse("star-2d13p", &stencil, NULL);
        stn_problem p = grid_problem(stencil, (const int[3]){300, 280, 0}, STN_F64, 600);
        for (int axis = 0; axis < 2; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_FIXED;
        if (padded) p.in_stride[0] = p.out_stride[0] = 281, p.in_stride[1] = p.out_stride[1] = 1;
        if (stn_plan_create(s->context, &p, &options, &plan, NULL) == STN_OK)
            sizes[padded] = stn_plan_workspace_size(plan);
        stn_plan_destroy(plan);
        stn_stencil_destroy(stencil);
    }
    suite_report(s, sizes[0] && sizes[1] >= sizes[0] + (size_t)(300 * 280) * 8,
                 "turns: packed grids take a grid less of workspace", NULL);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* Runs with a constant source. */
static void check_source(suite *s, const stn_problem *p, int pick, uint64_t seed) {
    char what[300];
    name_of("sources", p, pick, what, sizeof what);
    suite_compare_source(s, "aperiodic", pick < 0 ? -1 : COMPARE_MEASURED + pick, what, p, seed);
}

static void sources(suite *s) {
    static const int extents[][3] = {{500, 0, 0}, {110, 121, 0}};
    for (size_t e = 0; e < 2; e++)
        for (int i = 0; i < 5; i++) {
            dice d = {e * 100 + (uint64_t)i + 9};
            const int rank = rank_of(extents[e]);
            stn_stencil *stencil = random_stencil(&d, rank, TAPS_BOX, 1);
            stn_problem p = grid_problem(stencil, extents[e], STN_F64, 19);
            for (int axis = 0; axis < rank; axis++)
                p.boundary[axis][0].kind = STN_FIXED, p.boundary[axis][1] = (stn_boundary){STN_CONSTANT, 0.5};
            p.has_source = 1, p.batch = i == 2 || i == 4 ? 2 : 1;
            if (i > 2) p.alignment = 8;
            check_source(s, &p, i % 3 == 1 ? 5 : -1, d.state);
            stn_stencil_destroy(stencil);
        }
}

static void new_weights(suite *s) {
    static const double old[5] = {0.1, 0.1, 0.5, 0.2, 0.1}, near[5] = {0.02, 0.1, 0.8, 0.05, 0.03},
                        far[5] = {0.3, 0.1, 0.1, 0.1, 0.4};
    const size_t extent = 5;
    double in[1500];
    stn_stencil *stencil = NULL, *again = NULL;
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_error error = {.status = STN_OK};
    dice d = {3};
    options.strategy = "aperiodic";
    stn_stencil_create_dense(1, &extent, old, &stencil, NULL);
    stn_stencil_create_dense(1, &extent, near, &again, NULL);
    for (int i = 0; i < 1500; i++) in[i] = dice_real(&d);
    stn_problem p = grid_problem(stencil, (const int[3]){1500, 0, 0}, STN_F64, 100);
    p.boundary[0][0].kind = STN_FIXED, p.boundary[0][1].kind = STN_REFLECT;
    stn_status status = stn_plan_create(s->context, &p, &options, &plan, &error);
    suite_report(s, status == STN_OK && compare_plan_with_host(s->context, plan, &p, in, 1500) < 1e-12,
                 "weights: those it was made for", error.message);
    status = stn_plan_set_weights(plan, 5, near, &error);
    p.stencil = again;
    suite_report(s, status == STN_OK && compare_plan_with_host(s->context, plan, &p, in, 1500) < 1e-12,
                 "weights: that reach less far", error.message);
    status = stn_plan_set_weights(plan, 5, far, &error);
    stn_stencil_destroy(again);
    stn_stencil_create_dense(1, &extent, far, &again, NULL);
    p.stencil = again;
    suite_report(s, status == STN_OK && compare_plan_with_host(s->context, plan, &p, in, 1500) < 1e-12,
                 "weights: that reach further", error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil), stn_stencil_destroy(again);
}

static void check_choice(suite *s, const char *what, const char *named, stn_boundary_kind kind, int extent,
                         uint64_t steps, const char *strategy, const char *expected) {
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_error error = {.status = STN_OK};
    stn_stencil_parse(named, &stencil, NULL);
    stn_problem p = grid_problem(stencil, (const int[3]){extent, extent, 0}, STN_F64, steps);
    for (int axis = 0; axis < 2; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = kind;
    options.estimate_only = 1, options.strategy = strategy;
    const bool made = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_OK;
    const char *found = made ? stn_plan_strategy(plan) : error.message;
    suite_report(s, made ? !strcmp(found, expected) : strstr(found, expected) != NULL, what, found);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

/* On the host: the planner's choices, and errors. */
static void choice(suite *s) {
    check_choice(s, "choice: many steps of a large grid", "star-2d13p", STN_FIXED, 4096, 1000, NULL, "aperiodic");
    check_choice(s, "choice: not of a small one", "star-2d13p", STN_FIXED, 128, 1000, NULL, "host");
    check_choice(s, "choice: nor few steps", "star-2d13p", STN_FIXED, 2048, 4, NULL, "host");
    check_choice(s, "choice: what transforms alone serve", "heat-2d", STN_FIXED, 2048, 1000, NULL, "host-spectral");
    check_choice(s, "refusals: that", "heat-2d", STN_FIXED, 500, 100, "aperiodic", "transforms alone serve all sides");
    check_choice(s, "refusals: one step", "star-2d13p", STN_FIXED, 500, 1, "aperiodic", "a single step");
    check_choice(s, "refusals: no room for bands", "star-2d13p", STN_FIXED, 9, 1000, "aperiodic",
                 "leave nothing between them");
}

/* Each step of the points next to a side is a launch, or a loop on the host, so the number of steps
 * depends on the device's speed. */
static void waves(suite *s) { waves_until(s, on_host ? 100000 : s->full ? 10000 : 100); }

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"streams", streams},     {"sides", sides},   {"mixed", mixed},
                                       {"deep", deep},           {"drift", drift},   {"layouts", layouts},
                                       {"turns", turns},         {"waves", waves},   {"sources", sources},
                                       {"weights", new_weights}, {"choice", choice}, {"rounds", rounds}};
    on_host = argc > 1 && !strcmp(argv[1], "--host");
    /* All parts except streams. */
    if (on_host) return suite_main_on(STN_DEVICE_HOST, argc - 1, argv + 1, parts + 1, 11);
    /* All parts except the last three. */
    return suite_main(argc, argv, parts, 9);
}
