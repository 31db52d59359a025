/* Teams: a grid divided over 1 to 8 members gives one device's result, bitwise if all members use
 * the same strategy. Members share the processors, or are the emulator's GPUs. Random problems: all
 * boundaries, uneven parts, parts thinner than halos, types, batches, sources. Prints TAP.
 *
 *     test_team [--gpus N] [--count N] [--seed S]
 *
 * By default the seed is the time; it is printed. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../strategies/random/problem.h"
#include "../strategies/suite.h"
#include "all_sizes.h"
#include "plan/plan.h"
#include "run_alone.h"
#include "team/team.h"

static size_t points_of(const stn_problem *p, int rank) {
    size_t points = p->batch ? p->batch : 1;
    for (int axis = 0; axis < rank; axis++) points *= p->extent[axis];
    return points;
}

/* Computes it by parts on the members' devices, in grids allocated here. */
static stn_status run_parts(stn_team *team, stn_team_plan *plan, const stn_problem *p, int rank, const void *in,
                            const void *source, void *out, stn_error *error) {
    void *at[3][MAX_MEMBERS] = {{NULL}};
    const size_t batch = p->batch ? p->batch : 1,
                 row = points_of(p, rank) / batch / p->extent[0] * stn_dtype_size(p->dtype);
    stn_status status = STN_OK;
    for (int m = 0; m < stn_team_size(team) && status == STN_OK; m++) {
        stn_context *context = stn_team_context(team, m);
        size_t first, rows;
        status = stn_team_plan_local(plan, m, &first, &rows, error);
        for (int i = 0; i < 3 && rows && status == STN_OK; i++)
            status = stn_memory_alloc(context, batch * rows * row, &at[i][m], error);
        for (size_t b = 0; b < batch && rows && status == STN_OK; b++)
            for (int i = 0; i < 3 && status == STN_OK; i++)
                if (i != 1)
                    status = stn_memory_upload(context, (char *)at[i][m] + b * rows * row,
                                               (const char *)(i ? source : in) + (b * p->extent[0] + first) * row,
                                               rows * row, error);
    }
    const void *const *sources = p->has_source ? (const void *const *)at[2] : NULL;
    if (status == STN_OK) status = stn_team_plan_execute(plan, (const void *const *)at[0], at[1], sources, error);
    for (int m = 0; m < stn_team_size(team) && status == STN_OK; m++) {
        size_t first, rows;
        status = stn_team_plan_local(plan, m, &first, &rows, error);
        for (size_t b = 0; b < batch && rows && status == STN_OK; b++)
            status = stn_memory_download(stn_team_context(team, m), (char *)out + (b * p->extent[0] + first) * row,
                                         (char *)at[1][m] + b * rows * row, rows * row, error);
    }
    for (int i = 0; i < 3; i++)
        for (int m = 0; m < stn_team_size(team); m++) stn_memory_free(stn_team_context(team, m), at[i][m]);
    return status;
}

static double difference_of(const stn_problem *p, const void *a, const void *b, size_t points) {
    double sum = 0, whole = 0;
    for (size_t i = 0; i < points; i++) {
        const double x = element(p->dtype, a, (int64_t)i), y = element(p->dtype, b, (int64_t)i);
        sum += (x - y) * (x - y), whole += y * y;
    }
    return whole > 0 ? sqrt(sum / whole) : sqrt(sum);
}

static void compare(rig *r, const random_problem *drawn, const stn_problem *p, int members, const char *strategy,
                    uint64_t index) {
    const int rank = drawn->rank;
    const size_t points = points_of(p, rank), bytes = points * stn_dtype_size(p->dtype);
    void *in = malloc(bytes), *source = malloc(bytes), *want = malloc(bytes), *got = calloc(1, bytes),
         *parts = calloc(1, bytes);
    dice d = {drawn->data};
    stn_error error = {0};
    stn_team_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy;
    for (size_t i = 0; i < points; i++) {
        set_element(p->dtype, in, (int64_t)i, dice_real(&d));
        set_element(p->dtype, source, (int64_t)i, 0.1 * dice_real(&d));
    }
    char what[200], detail[600] = "";
    snprintf(what, sizeof what, "problem %" PRIu64 ": %d members, %dD %zu rows, %d steps, %s%s", index, members, rank,
             p->extent[0], (int)p->steps, strategy ? strategy : "auto", p->has_source ? ", a source" : "");
    stn_status status = run_alone(r->alone, p, strategy, in, source, want, bytes, &error);
    if (status == STN_ERROR_UNSUPPORTED) { /* The strategy does not support the problem. */
        strategy = NULL, options.strategy = NULL;
        status = run_alone(r->alone, p, NULL, in, source, want, bytes, &error);
    }
    /* Strategies may compute all steps between two exchanges in one launch; some problems shall
     * have several. */
    r->team[members]->steps_per_exchange = index % 3 ? 0 : 1 + index / 3 % 3;
    if (status == STN_OK) status = stn_team_plan_create(r->team[members], p, &options, &plan, &error);
    if (status == STN_ERROR_UNSUPPORTED && strategy) {
        strategy = NULL, options.strategy = NULL;
        status = stn_team_plan_create(r->team[members], p, &options, &plan, &error);
    }
    if (status == STN_OK) status = stn_team_plan_execute_host(plan, in, got, p->has_source ? source : NULL, &error);
    if (status == STN_OK) status = run_parts(r->team[members], plan, p, rank, in, source, parts, &error);
    const double off = difference_of(p, got, want, points), other = difference_of(p, parts, got, points);
    const double steps = (double)p->steps;
    const double rounding = p->dtype == STN_F64   ? 2e-13 * (1 + log2(steps))
                            : p->dtype == STN_F32 ? 3e-6 * sqrt(steps)
                                                  : 3e-3 * sqrt(steps);
    /* A GPU rounds f16 once a launch, and the steps per launch depend on the part. */
    const bool to_the_bit = strategy && !(r->gpus && p->dtype == STN_F16);
    /* Kernels of one step and of several add symmetric taps in another order: a few units in the
     * last place. Emulated GPUs and real ones choose them by the number of rows. */
    const double order = !r->gpus || p->steps == 1 ? 0 : 4 * (p->dtype == STN_F64 ? 0x1p-53 : 0x1p-24) * sqrt(steps);
    const double bar = to_the_bit ? order : rounding + p->tolerance;
    char *words = NULL;
    if (plan) (void)stn_team_plan_describe(plan, &words, NULL);
    snprintf(detail, sizeof detail, "%.100s; off by %.3g, parts by %.3g, allowed %.3g; %.300s", error.message, off,
             other, bar, words ? words : "");
    for (char *c = detail; *c; c++) *c = *c == '\n' ? ' ' : *c;
    const bool good = status == STN_OK && off <= bar && other == 0;
    report(r, good, what, detail);
    if (!good) random_problem_print(drawn, strategy ? strategy : "auto", 0);
    stn_text_free(words);
    stn_team_plan_destroy(plan);
    free(in), free(source), free(want), free(got), free(parts);
}

static void draw(rig *r, uint64_t seed, uint64_t index) {
    random_problem drawn;
    random_problem_draw(seed, index, false, index % 5 == 4, &drawn);
    dice d = {seed * 31 + index};
    stn_stencil *stencil = random_problem_stencil(&drawn);
    stn_problem p = drawn.problem;
    p.stencil = stencil;
    p.every = 0, p.in_place = 0, p.in_batch_stride = p.out_batch_stride = 0, p.alignment = 0;
    memset(p.in_stride, 0, sizeof p.in_stride), memset(p.out_stride, 0, sizeof p.out_stride);
    /* Few rows are refused where a mirrored side is across from a fixed one. */
    if (drawn.rank == 3 && p.extent[0] < 20) {
        do p.extent[0] = (size_t)dice_int(&d, 1, 40);
        while (stn_problem_validate(&p, NULL) != STN_OK);
    }
    compare(r, &drawn, &p, dice_int(&d, 1, MAX_MEMBERS), dice_int(&d, 0, 1) ? (r->gpus ? "direct" : "host") : NULL,
            index);
    stn_stencil_destroy(stencil);
}

/* Two runs, each of which continues the last one, equal one run of all steps. */
static void goes_on(rig *r) {
    enum { NY = 60, NX = 20 };
    double in[NY * NX], twice[NY * NX], once[NY * NX] = {0};
    dice d = {5};
    stn_stencil *stencil = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_error error = {0};
    options.strategy = r->gpus ? "direct" : "host";
    for (int i = 0; i < NY * NX; i++) in[i] = dice_real(&d);
    stn_stencil_parse("heat-2d", &stencil, NULL);
    p.stencil = stencil, p.extent[0] = NY, p.extent[1] = NX, p.tolerance = 1e-9;
    for (int members = 1; members <= 4; members++) {
        stn_team_plan *plan = NULL;
        p.steps = 7, r->team[members]->steps_per_exchange = 2;
        stn_status status = stn_team_plan_create(r->team[members], &p, &options, &plan, &error);
        report(r, plan && plan->part[0].plan[0]->task.tolerance < 0.6 * p.tolerance,
               "four launches share the tolerance", error.message);
        r->team[members]->steps_per_exchange = 0;
        const bool refused = status == STN_OK && stn_team_plan_execute(plan, NULL, NULL, NULL, &error) != STN_OK;
        report(r, refused, "there is nothing to go on from", error.message);
        if (status == STN_OK) status = stn_team_plan_execute_host(plan, in, NULL, NULL, &error);
        if (status == STN_OK) status = stn_team_plan_execute_host(plan, NULL, once, NULL, &error);
        stn_team_plan_destroy(plan);
        p.steps = 14;
        if (status == STN_OK) status = run_alone(r->alone, &p, options.strategy, in, in, twice, sizeof in, &error);
        report(r, status == STN_OK && !memcmp(once, twice, sizeof in), "a run goes on from the last one",
               error.message);
    }
    stn_stencil_destroy(stencil);
}

/* Several launches of a batch, the last of which is shorter. */
static void several_launches(rig *r, const char *boundary, int members, uint64_t between, int halves) {
    enum { NY = 59, NX = 24, BATCH = 2, POINTS = BATCH * NY * NX };
    static double in[POINTS], source[POINTS], want[POINTS], got[POINTS], parts[POINTS];
    dice d = {7};
    stn_stencil *stencil = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_team_plan *plan = NULL;
    stn_error error = {0};
    char what[120];
    options.strategy = r->gpus ? "direct" : "host";
    for (int i = 0; i < POINTS; i++) in[i] = dice_real(&d), source[i] = 0.1 * dice_real(&d);
    memset(got, 0, sizeof got), memset(parts, 0, sizeof parts);
    stn_stencil_parse("heat-2d", &stencil, NULL);
    p.stencil = stencil, p.extent[0] = NY, p.extent[1] = NX, p.batch = BATCH, p.has_source = !r->gpus;
    p.steps = 4 * between + (uint64_t)halves * between / 2;
    for (int axis = 0; axis < 2; axis++) (void)stn_boundary_parse(boundary, p.boundary[axis], NULL);
    snprintf(what, sizeof what, "%d members, %s, %d steps, %d between exchanges", members, boundary, (int)p.steps,
             (int)between);
    r->team[members]->steps_per_exchange = between;
    stn_status status = run_alone(r->alone, &p, options.strategy, in, source, want, sizeof want, &error);
    if (status == STN_OK) status = stn_team_plan_create(r->team[members], &p, &options, &plan, &error);
    const bool does = status == STN_OK && plan->steps_per_exchange == between;
    if (status == STN_OK) status = stn_team_plan_execute_host(plan, in, got, r->gpus ? NULL : source, &error);
    if (status == STN_OK) status = run_parts(r->team[members], plan, &p, 2, in, source, parts, &error);
    const bool same = !memcmp(got, want, sizeof want), parts_same = !memcmp(parts, want, sizeof want);
    char detail[400];
    snprintf(detail, sizeof detail, "as asked for %d, equal %d, by parts %d; %.300s", does, same, parts_same,
             error.message);
    report(r, does && status == STN_OK && same && parts_same, what, detail);
    r->team[members]->steps_per_exchange = 0;
    stn_team_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

/* All steps by transforms of the divided grid, for other weights first, twice. */
static void by_transforms(rig *r, uint64_t seed, uint64_t index) {
    enum { TAPS = 27 };
    dice d = {seed * 97 + index};
    const int rank = dice_int(&d, 2, 3), members = dice_int(&d, 2, MAX_MEMBERS);
    const int most = r->gpus ? 12 : 40;
    stn_stencil *stencil = random_stencil(&d, rank, (taps_kind)dice_int(&d, 0, 2), 1);
    stn_problem p = STN_PROBLEM_INIT;
    stn_team_plan *plan = NULL;
    stn_error error = {0};
    double weights[TAPS], other[TAPS];
    const size_t taps = stn_stencil_tap_count(stencil);
    p.dtype = dice_int(&d, 0, 1) ? STN_F64 : STN_F32;
    /* More steps would leave numbers too small for float32. */
    p.steps = (uint64_t)dice_int(&d, 1, dice_int(&d, 0, 1) ? 9 : p.dtype == STN_F64 ? 300 : 40);
    p.batch = members > 2 ? (size_t)dice_int(&d, 0, 2) : 1;
    for (int i = 0; i < rank; i++) p.extent[i] = (size_t)(2 * dice_int(&d, 2, most / 2)) + (i + 1 < rank && !r->gpus);
    if (index % 4 == 1) p.extent[0] = (size_t)dice_int(&d, 3, 5); /* fewer than members */
    for (size_t i = 0; i < taps; i++) {
        weights[i] = stn_stencil_taps(stencil)[i].weight;
        other[i] = 1 / (double)taps;
    }
    const size_t points = points_of(&p, rank), bytes = points * stn_dtype_size(p.dtype);
    void *in = malloc(bytes), *want = malloc(bytes), *got = calloc(1, bytes), *parts = calloc(1, bytes);
    for (size_t i = 0; i < points; i++) set_element(p.dtype, in, (int64_t)i, dice_real(&d));
    char what[160], detail[400];
    snprintf(what, sizeof what, "transforms %" PRIu64 ": %d members, %zu x %zu x %zu, batch %zu, %s, %d steps", index,
             members, p.extent[0], p.extent[1], p.extent[2], p.batch, stn_dtype_name(p.dtype), (int)p.steps);
    p.stencil = stencil;
    stn_status status = run_alone(r->alone, &p, NULL, in, in, want, bytes, &error);
    stn_stencil *first = NULL;
    if (status == STN_OK) {
        stn_tap list[TAPS];
        memcpy(list, stn_stencil_taps(stencil), taps * sizeof *list);
        for (size_t i = 0; i < taps; i++) list[i].weight = other[i];
        status = stn_stencil_create(rank, taps, list, &first, &error);
    }
    p.stencil = first;
    r->team[members]->steps_per_exchange = 0;
    r->team[members]->transforms = true;
    if (status == STN_OK) status = stn_team_plan_create(r->team[members], &p, NULL, &plan, &error);
    r->team[members]->transforms = false;
    const bool does = status == STN_OK && plan->spectral;
    if (status == STN_OK) status = stn_team_plan_set_weights(plan, taps, weights, &error);
    if (status == STN_OK) status = stn_team_plan_execute_host(plan, in, got, NULL, &error);
    if (status == STN_OK) status = run_parts(r->team[members], plan, &p, rank, in, in, parts, &error);
    const double off = difference_of(&p, got, want, points), by_parts = difference_of(&p, parts, got, points);
    const double bar = p.dtype == STN_F64 ? 2e-13 * (1 + log2((double)p.steps)) : 3e-6 * sqrt((double)p.steps);
    snprintf(detail, sizeof detail, "%.200s; by transforms %d, off by %.3g, parts by %.3g, allowed %.3g", error.message,
             does, off, by_parts, bar);
    report(r, does && status == STN_OK && off <= bar && by_parts == 0, what, detail);
    stn_team_plan_destroy(plan);
    stn_stencil_destroy(stencil), stn_stencil_destroy(first);
    free(in), free(want), free(got), free(parts);
}

/* As in every problem, 0 steps mean 1. */
static void no_steps(rig *r) {
    enum { NY = 30, NX = 20 };
    double in[NY * NX], want[NY * NX], got[NY * NX] = {0};
    dice d = {6};
    stn_stencil *stencil = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_team_plan *plan = NULL;
    stn_error error = {0};
    options.strategy = r->gpus ? "direct" : "host";
    for (int i = 0; i < NY * NX; i++) in[i] = dice_real(&d);
    stn_stencil_parse("heat-2d", &stencil, NULL);
    p.stencil = stencil, p.extent[0] = NY, p.extent[1] = NX;
    stn_status status = stn_team_plan_create(r->team[2], &p, &options, &plan, &error);
    if (status == STN_OK) status = stn_team_plan_execute_host(plan, in, got, NULL, &error);
    if (status == STN_OK) status = run_alone(r->alone, &p, options.strategy, in, in, want, sizeof in, &error);
    report(r, status == STN_OK && !memcmp(got, want, sizeof in), "0 steps mean 1", error.message);
    stn_team_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

static void refusals(rig *r) {
    stn_error error = {0};
    stn_team *team;
    stn_team_plan *plan;
    const int wrong[] = {STN_DEVICE_AUTO, -2};
    for (int i = 0; i < 2; i++)
        report(r, stn_team_create(NULL, 1, &wrong[i], &team, &error) == STN_ERROR_INVALID_ARGUMENT && !team,
               "a device that is none", error.message);
    report(r, stn_team_create(NULL, 0, wrong, &team, &error) == STN_ERROR_INVALID_ARGUMENT, "no devices",
           error.message);
    stn_stencil *stencil = NULL;
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil_parse("heat-2d", &stencil, NULL);
    p.stencil = stencil, p.extent[0] = p.extent[1] = 16, p.steps = 4;
    p.every = 2;
    report(r, stn_team_plan_create(r->team[2], &p, NULL, &plan, &error) == STN_ERROR_UNSUPPORTED && !plan, "snapshots",
           error.message);
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = r->gpus ? "host" : "direct", p.every = 0;
    report(r, stn_team_plan_create(r->team[2], &p, &options, &plan, &error) == STN_ERROR_UNSUPPORTED && !plan,
           "a strategy that cannot serve", error.message);
    p.in_stride[0] = 20, p.in_stride[1] = 1;
    report(r, stn_team_plan_create(r->team[2], &p, NULL, &plan, &error) == STN_ERROR_UNSUPPORTED && !plan, "strides",
           error.message);
    p.in_stride[0] = p.in_stride[1] = 0;
    double grid[256] = {0};
    const bool made = stn_team_plan_create(r->team[2], &p, NULL, &plan, &error) == STN_OK;
    report(r, made && stn_team_plan_execute_host(plan, grid, grid, grid, &error) == STN_ERROR_INVALID_ARGUMENT,
           "a source that is not asked for", error.message);
    const void *none[2] = {NULL};
    void *nowhere[2] = {NULL};
    report(r, made && stn_team_plan_execute(plan, none, nowhere, NULL, &error) == STN_ERROR_INVALID_ARGUMENT,
           "no pointers", error.message);
    stn_team_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

int main(int argc, char **argv) {
    rig r = {.count = 40};
    stn_error error = {0};
    if (open_rig(&r, argc, argv, &error)) {
        refusals(&r), goes_on(&r), no_steps(&r);
        several_launches(&r, "fixed", 2, 3, 1), several_launches(&r, "wrap", 5, 2, 1);
        several_launches(&r, "reflect", 8, 2, 0);
        for (uint64_t i = 0; i < r.count; i++) draw(&r, r.seed, i);
        for (uint64_t i = 0; i < r.count / 4; i++) by_transforms(&r, r.seed, i);
    }
    return close_rig(&r, &error);
}
