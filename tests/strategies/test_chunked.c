/* Strategy chunked: a run as chunks of steps equals the host's steps, in place and in batches, with
 * and without remaining steps. On the emulator or a GPU. Prints TAP. Usage: test_chunked
 * [--full]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"
#include "strategies/table.h"
#include "suite.h"

static const char *const stencils[] = {"1d5p", "heat-2d", "box-2d9p", "heat-3d", "laplace-1d:order=4"};
static const stn_boundary_kind kinds[] = {STN_WRAP, STN_CONSTANT, STN_NEAREST, STN_REFLECT, STN_MIRROR, STN_FIXED};

static void runs(suite *s) {
    for (int i = 0; i < (s->full ? 80 : 16); i++) {
        dice d = {(uint64_t)i + 500};
        stn_stencil *stencil = NULL;
        stn_stencil_parse(stencils[i % 5], &stencil, NULL);
        stn_problem p = STN_PROBLEM_INIT;
        const int rank = stn_stencil_rank(stencil);
        p.stencil = stencil;
        p.dtype = i % 4 == 3 ? STN_F32 : STN_F64;
        /* A step of laplace-1d multiplies values by up to 5.3: f32 holds 50 such steps. */
        p.steps = (uint64_t)dice_int(&d, 2, i % 5 == 4 && p.dtype == STN_F32 ? 40 : 120);
        p.batch = i % 7 == 2 ? 2 : 1;
        p.in_place = i % 3 == 1;
        for (int axis = 0; axis < rank; axis++) {
            p.extent[axis] = (size_t)dice_int(&d, 9, rank == 1 ? 400 : 30);
            if (rank == 1 && i % 2 && !p.in_place) p.in_stride[0] = 2; /* only the first chunk's */
            for (int side = 0; side < 2; side++) {
                p.boundary[axis][side].kind = kinds[i % 6 ? dice_int(&d, 1, 5) : 0];
                p.boundary[axis][side].value = p.boundary[axis][side].kind == STN_CONSTANT ? 0.4 : 0;
            }
        }
        char what[160];
        snprintf(what, sizeof what, "%s, %d steps%s", stencils[i % 5], (int)p.steps, p.in_place ? ", in place" : "");
        suite_compare(s, "chunked", true, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* In place, where rows are not padded, the number of chunks is even: the first one would overwrite
 * what it reads. */
static void pairs(suite *s) {
    stn_stencil *stencil = NULL;
    stn_stencil_parse("heat-3d", &stencil, NULL);
    for (uint64_t steps = 2; steps < 16; steps++) {
        stn_problem p = STN_PROBLEM_INIT;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        stn_plan *plan = NULL;
        stn_candidate best;
        stn_text text = STN_TEXT_EMPTY;
        char what[80];
        p.stencil = stencil, p.extent[0] = p.extent[1] = p.extent[2] = 64, p.steps = steps, p.in_place = 1;
        options.estimate_only = 1;
        bool good = stn_plan_create(s->context, &p, &options, &plan, NULL) == STN_OK;
        if (good) plan->ranked = 0; /* any chunks are better */
        /* A short trial is in place, too. Three steps have no shorter one, and no chunks of one
         * step. */
        if (good && steps != 3)
            good = stn_strategy_chunked.shorten(&plan->task, &(stn_candidate){{1}}, 3, &best) % 2 == 0;
        if (good && stn_strategy_chunked.compose(plan, &best, 1)) {
            stn_strategy_chunked.name_candidate(&plan->task, &best, &text);
            stn_text_append(&text, "", 1);
            good = text.data && strtol(text.data, NULL, 10) % 2 == 0;
        }
        snprintf(what, sizeof what, "%d steps in place: an even number of chunks", (int)steps);
        suite_report(s, good, what, text.data);
        stn_text_clear(&text);
        stn_plan_destroy(plan);
    }
    stn_stencil_destroy(stencil);
}

/* A plan of the problem with half the weights, in such chunks, that gets the problem's weights. */
static stn_status make_chunks(suite *s, const stn_problem *p, const stn_candidate *by, stn_plan **plan) {
    const size_t ntaps = stn_stencil_tap_count(p->stencil);
    stn_tap taps[64];
    double weights[64];
    stn_problem halved = *p;
    stn_stencil *stencil = NULL;
    stn_plan *like = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.estimate_only = true;
    memcpy(taps, stn_stencil_taps(p->stencil), ntaps * sizeof *taps);
    for (size_t i = 0; i < ntaps; i++) weights[i] = taps[i].weight, taps[i].weight /= 2;
    stn_status status = stn_stencil_create(stn_stencil_rank(p->stencil), ntaps, taps, &stencil, NULL);
    halved.stencil = stencil;
    if (status == STN_OK) status = stn_plan_create(s->context, &halved, &options, &like, NULL);
    if (status == STN_OK) status = stn_plan_build(like, p->steps, &stn_strategy_chunked, by, NULL, plan, NULL);
    if (status == STN_OK) status = stn_plan_set_weights(*plan, ntaps, weights, NULL);
    stn_plan_destroy(like);
    stn_stencil_destroy(stencil);
    return status;
}

/* Whether a run in such chunks, whose first is of `first` steps, gives the host's result. */
static bool divided(suite *s, const stn_problem *p, int steps, int first, dice *d) {
    const stn_candidate candidate = {{steps, first}};
    size_t count = p->batch;
    for (int axis = 0; axis < stn_stencil_rank(p->stencil); axis++) count *= p->extent[axis];
    stn_plan *plan = NULL;
    double *in = malloc(count * sizeof *in), error = INFINITY, bar = 0;
    stn_task task;
    for (size_t i = 0; in && i < count; i++) in[i] = dice_real(d);
    if (in && make_chunks(s, p, &candidate, &plan) == STN_OK &&
        stn_memory_alloc(s->context, plan->workspace_size, &plan->workspace, NULL) == STN_OK) {
        plan->caller_workspace = false;
        error = compare_plan_with_host(s->context, plan, p, in, count);
    }
    if (stn_task_make(p, &task, NULL) == STN_OK) bar = compare_bar(&task, true), stn_task_clear(&task);
    stn_plan_destroy(plan);
    free(in);
    return error <= bar;
}

/* Rows of any length with a single first step, and with equal chunks. */
static void divisions(suite *s) {
    static const char *const planes[] = {"heat-2d", "box-2d9p", "heat-3d"};
    dice d = {dice_seed()};
    for (int i = 0; i < (s->full ? 60 : 12); i++) {
        stn_stencil *stencil = NULL;
        stn_stencil_parse(planes[i % 3], &stencil, NULL);
        stn_problem p = STN_PROBLEM_INIT;
        const int rank = stn_stencil_rank(stencil);
        p.stencil = stencil, p.dtype = (stn_dtype)dice_int(&d, STN_F64, STN_F16);
        p.batch = (size_t)dice_int(&d, 1, 2), p.steps = (uint64_t)dice_int(&d, 4, 14);
        for (int axis = 0; axis < rank; axis++) p.extent[axis] = (size_t)dice_int(&d, 9, 40);
        random_sides(&d, &p, rank);
        const int steps = dice_int(&d, 1, (int)p.steps - 2), first = i % 2 ? 1 : steps;
        char what[160];
        snprintf(what, sizeof what, "%s, %d columns, %s, %d steps in chunks of %d, the first of %d", planes[i % 3],
                 (int)p.extent[rank - 1], stn_dtype_name(p.dtype), (int)p.steps, steps, first);
        suite_report(s, divided(s, &p, steps, first, &d), what, NULL);
        stn_stencil_destroy(stencil);
    }
}

enum { ROWS = 20, COLUMNS = 17, PITCH = 19, STATES = 3 };

static stn_status stack_by(suite *s, const stn_problem *p, const char *strategy, const double *in,
                           double stack[STATES * ROWS * COLUMNS], stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy;
    stn_plan *plan = NULL;
    stn_status status = stn_plan_create(s->context, p, &options, &plan, error);
    if (status == STN_OK)
        status = compare_execute(s->context, plan, in, ROWS * PITCH * sizeof *in, NULL, stack,
                                 STATES * ROWS * COLUMNS * sizeof *stack, error);
    stn_plan_destroy(plan);
    return status;
}

/* Snapshots whose layout differs from the input's: the later runs have a plan of their own, also in
 * chunks. */
static void stacks(suite *s) {
    static double in[ROWS * PITCH], chunked[STATES * ROWS * COLUMNS], single[STATES * ROWS * COLUMNS];
    dice d = {dice_seed()};
    stn_stencil *stencil = NULL;
    stn_error error = {STN_OK, ""};
    stn_stencil_parse("heat-2d", &stencil, NULL);
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil, p.extent[0] = ROWS, p.extent[1] = COLUMNS, p.steps = 8 * STATES, p.every = 8;
    p.in_stride[0] = PITCH, p.in_stride[1] = 1, p.accuracy = STN_ACCURACY_LOCAL;
    for (int i = 0; i < ROWS * PITCH; i++) in[i] = dice_real(&d);
    stn_status status = stack_by(s, &p, "chunked", in, chunked, &error);
    if (status == STN_OK) status = stack_by(s, &p, "direct", in, single, &error);
    double most = 0;
    for (int i = 0; i < STATES * ROWS * COLUMNS; i++) most = fmax(most, fabs(chunked[i] - single[i]));
    suite_report(s, status == STN_OK && most < 1e-13, "snapshots of another layout than the input's", error.message);
    stn_stencil_destroy(stencil);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"runs", runs}, {"pairs", pairs}, {"divisions", divisions}, {"stacks", stacks}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
