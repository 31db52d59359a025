/* direct with several steps in one launch against the host: every boundary pair, rank, dtype, tap
 * pattern and radius, numbers of steps with a remainder, partial and several tiles. Prints TAP.
 * Usage: test_time [--full] [--only PART]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "plan/plan.h"
#include "strategies/direct/direct_shape.h"

/* The ranks of candidates that fuse steps; returns their number. */
static int fused_places(suite *s, const stn_problem *problem, int places[STN_PLAN_RANKING]) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "direct";
    options.estimate_only = 1;
    stn_plan *plan = NULL;
    int count = 0;
    if (stn_plan_create(s->context, problem, &options, &plan, NULL) != STN_OK) return 0;
    for (size_t i = 0; i < plan->ranked; i++) {
        direct_shape shape;
        memcpy(&shape, plan->ranking[i].candidate.values, sizeof shape);
        if (shape.fused > 1) places[count++] = (int)i;
    }
    stn_plan_destroy(plan);
    return count;
}

/* Checks one random candidate. A problem without any fails the test. */
static void check(suite *s, dice *d, const char *what, const stn_problem *problem) {
    int places[STN_PLAN_RANKING], count = fused_places(s, problem, places);
    comparison c = {.bar = 0};
    bool good = count > 0 && compare_candidate_with_host(s->context, s->pool, problem, "direct",
                                                         places[dice_int(d, 0, count - 1)], true, d->state, &c);
    char named[400];
    snprintf(named, sizeof named, "%s: %s", what, count ? c.parameters : "no candidate fuses steps");
    suite_report_compared(s, good, named, &c);
}

/* Extents from the least that the kernels take, mostly odd. */
static void random_extents(dice *d, int rank, int radius, int extent[3]) {
    for (int axis = 0; axis < rank; axis++) {
        int least = 2 * radius + 2;
        extent[axis] = dice_int(d, least, rank == 1 ? 900 : rank == 2 ? 90 : 30);
        if (axis == rank - 1 && rank > 1) extent[axis] = dice_int(d, least, 150);
        if (axis == rank - 1 && dice_int(d, 0, 1)) extent[axis] = (extent[axis] + 8) / 8 * 8;
    }
}

static void boundary_pairs(suite *s) {
    for (side_pair at = {.rank = 1}; suite_side_pair(s, 3, 3, 3, &at);) {
        at.d.state += 7;
        stn_dtype dtype = (stn_dtype)dice_int(&at.d, 0, 2);
        int extent[3], radius = dice_int(&at.d, 1, at.rank == 3 ? 2 : 3);
        taps_kind taps = (taps_kind)dice_int(&at.d, 0, 2);
        stn_stencil *stencil = random_stencil(&at.d, at.rank, taps, radius);
        random_extents(&at.d, at.rank, radius, extent);
        stn_problem p = grid_problem(stencil, extent, dtype, 1);
        suite_set_sides(&at, &p);
        /* f16 loses precision as random weights shrink the values. */
        p.steps = (uint64_t)dice_int(&at.d, 2, dtype == STN_F16 ? 4 : 23);
        char what[160];
        snprintf(what, sizeof what, "%s, %s radius %d, %s, %llu steps", at.what, taps_names[taps], radius,
                 stn_dtype_name(dtype), (unsigned long long)p.steps);
        check(s, &at.d, what, &p);
        stn_stencil_destroy(stencil);
    }
}

static void radii(suite *s) {
    for (int rank = 1; rank <= 3; rank++)
        for (int radius = 1; radius <= (rank == 3 ? 2 : 4); radius++)
            for (int taps = 0; taps < 3; taps++)
                for (int dtype = 0; dtype < 3; dtype++) {
                    if (!s->full && (radius + taps + dtype + rank) % 3) continue;
                    dice d = {(uint64_t)(7000 + rank * 1000 + radius * 100 + taps * 10 + dtype)};
                    int extent[3];
                    stn_stencil *stencil = random_stencil(&d, rank, (taps_kind)taps, radius);
                    random_extents(&d, rank, radius, extent);
                    stn_problem p = grid_problem(stencil, extent, (stn_dtype)dtype, 1);
                    random_sides(&d, &p, rank);
                    p.steps = (uint64_t)dice_int(&d, 2, p.dtype == STN_F16 ? 4 : 40);
                    char what[160];
                    snprintf(what, sizeof what, "%dD %s radius %d, %s, %llu steps", rank, taps_names[taps], radius,
                             stn_dtype_name(p.dtype), (unsigned long long)p.steps);
                    check(s, &d, what, &p);
                    stn_stencil_destroy(stencil);
                }
}

/* Named stencils with equal mirrored weights, on grids of many tiles, with every remainder of
 * steps. */
static void tiles(suite *s) {
    static const struct {
        const char *stencil;
        int extent[3];
        uint64_t steps;
    } grids[] = {{"heat-1d", {20001, 0, 0}, 193}, {"1d7p", {7777, 0, 0}, 50},       {"heat-2d", {301, 523, 0}, 21},
                 {"box-2d9p", {403, 344, 0}, 13}, {"star-2d13p", {190, 418, 0}, 7}, {"box-2d49p", {290, 333, 0}, 5},
                 {"heat-2d", {40, 1504, 0}, 30},  {"heat-3d", {45, 70, 122}, 7},    {"box-3d27p", {30, 33, 64}, 3}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
        for (int dtype = 0; dtype < 3; dtype++) {
            if (!s->full && ((int)g + 1) % 3 != dtype) continue;
            dice d = {500 + g * 10 + (uint64_t)dtype};
            stn_stencil *stencil = NULL;
            stn_error error = {0};
            if (stn_stencil_parse(grids[g].stencil, &stencil, &error) != STN_OK) continue;
            stn_problem p = grid_problem(stencil, grids[g].extent, (stn_dtype)dtype, 1);
            random_sides(&d, &p, stn_stencil_rank(stencil));
            p.steps = grids[g].steps;
            char what[160];
            snprintf(what, sizeof what, "%s, many tiles, %s, %llu steps", grids[g].stencil, stn_dtype_name(p.dtype),
                     (unsigned long long)p.steps);
            check(s, &d, what, &p);
            stn_stencil_destroy(stencil);
        }
    /* Between wrapped sides a star's planes need one barrier an iteration: the rows of this
     * iteration and of the last one are stored separately. */
    dice d = {590};
    stn_stencil *star = NULL;
    if (stn_stencil_parse("heat-3d", &star, NULL) != STN_OK) return;
    stn_problem p = grid_problem(star, (int[]){40, 66, 100}, STN_F32, 1);
    for (int i = 0; i < 6; i++) p.boundary[i / 2][i % 2].kind = STN_WRAP;
    p.steps = 6;
    check(s, &d, "heat-3d, one barrier a turn, 6 steps", &p);
    stn_stencil_destroy(star);
}

typedef enum layout_kind { PADDED, BATCHED, IN_PLACE, UNALIGNED, LAYOUTS } layout_kind;
static const char *const layout_names[] = {"padded rows", "a batch", "in place", "alignment of one element"};

static void layouts(suite *s) {
    for (int rank = 1; rank <= 3; rank++)
        for (int layout = 0; layout < LAYOUTS; layout++)
            for (int steps = 16; steps <= 18; steps++) {
                if (!s->full && (rank + layout + steps) % 3) continue;
                dice d = {(uint64_t)(90000 + rank * 100 + layout * 10 + steps)};
                int extent[3];
                stn_stencil *stencil = random_stencil(&d, rank, TAPS_STAR, 1);
                random_extents(&d, rank, 1, extent);
                stn_problem p = grid_problem(stencil, extent, (stn_dtype)(steps % 3), 1);
                random_sides(&d, &p, rank);
                p.steps = (uint64_t)steps;
                if (layout == PADDED && rank == 2) {
                    p.in_stride[1] = p.out_stride[1] = 1;
                    p.in_stride[0] = (extent[1] + 23) / 8 * 8;
                    p.out_stride[0] = p.in_stride[0] + 16;
                }
                if (layout == BATCHED) p.batch = 3;
                if (layout == IN_PLACE) p.in_place = 1;
                if (layout == UNALIGNED) p.alignment = (int)stn_dtype_size(p.dtype);
                char what[160];
                snprintf(what, sizeof what, "%dD %s, %s, %d steps", rank, layout_names[layout], stn_dtype_name(p.dtype),
                         steps);
                check(s, &d, what, &p);
                stn_stencil_destroy(stencil);
            }
}

/* A kernel compiled for equal mirrored weights is replaced when new weights differ: compared with a
 * plan made with them. */
static bool same_after_new_weights(suite *s, const char *name, char *why, size_t why_size) {
    stn_stencil *old = NULL, *fresh = NULL;
    stn_plan *plan[2] = {NULL, NULL};
    stn_error error = {0};
    enum { NY = 37, NX = 154, N = NY * NX };
    double *grid = malloc(3 * N * sizeof *grid), difference = 0;
    void *in = NULL, *out = NULL;
    dice d = {77};
    for (int i = 0; i < 3 * N; i++) grid[i] = i < N ? dice_real(&d) : NAN;
    bool good = stn_stencil_parse(name, &old, &error) == STN_OK;
    size_t count = good ? stn_stencil_tap_count(old) : 0;
    stn_tap taps[64];
    double weights[64];
    for (size_t k = 0; k < count; k++) {
        taps[k] = stn_stencil_taps(old)[k];
        weights[k] = taps[k].weight *= 0.5 + 0.1 * dice_real(&d);
    }
    good = good && stn_stencil_create(2, count, taps, &fresh, &error) == STN_OK;
    const int extent[3] = {NY, NX, 0};
    for (int p = 0; p < 2 && good; p++) {
        stn_problem problem = grid_problem(p ? fresh : old, extent, STN_F64, 1);
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        options.strategy = "direct";
        problem.steps = 10;
        good = stn_plan_create(s->context, &problem, &options, &plan[p], &error) == STN_OK;
    }
    good = good && stn_plan_set_weights(plan[0], count, weights, &error) == STN_OK &&
           stn_memory_alloc(s->context, N * sizeof *grid, &in, &error) == STN_OK &&
           stn_memory_alloc(s->context, N * sizeof *grid, &out, &error) == STN_OK &&
           stn_memory_upload(s->context, in, grid, N * sizeof *grid, &error) == STN_OK;
    for (int p = 0; p < 2 && good; p++)
        good = stn_plan_execute(plan[p], in, out, NULL, &error) == STN_OK &&
               stn_synchronize(s->context, NULL, &error) == STN_OK &&
               stn_memory_download(s->context, grid + (p + 1) * N, out, N * sizeof *grid, &error) == STN_OK;
    for (int i = 0; i < N && good; i++) difference = fmax(difference, fabs(grid[N + i] - grid[2 * N + i]));
    snprintf(why, why_size, "differs by %.3g; %s", difference, good ? "no error" : error.message);
    stn_memory_free(s->context, in);
    stn_memory_free(s->context, out);
    for (int p = 0; p < 2; p++) stn_plan_destroy(plan[p]);
    stn_stencil_destroy(old);
    stn_stencil_destroy(fresh);
    free(grid);
    return good && difference < 1e-14;
}

static void new_weights(suite *s) {
    static const char *const names[] = {"box-2d9p", "box-2d49p", "heat-2d"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char why[1200];
        bool good = same_after_new_weights(s, names[i], why, sizeof why);
        char what[80];
        snprintf(what, sizeof what, "%s with new weights", names[i]);
        suite_report(s, good, what, why);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"boundaries", boundary_pairs},
                                       {"radii", radii},
                                       {"tiles", tiles},
                                       {"layouts", layouts},
                                       {"new-weights", new_weights}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
