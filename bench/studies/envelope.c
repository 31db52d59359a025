/* See envelope.h. heat-1d, heat-2d and heat-3d in f64, periodic and with fixed sides, 1 to 10^5
 * steps, by every strategy that applies. A strategy is measured at one step, and if it is predicted
 * to take at most DOMINATED times as long as the cheapest one; compiling the others would take most
 * of the time. */
#include "envelope.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../options.h"
#include "base/error.h"
#include "plan/plan.h"

enum { STRATEGIES = 8, SAMPLES = 3, CASES = 6, QUICK_CASES = 1, QUICK_LENGTHS = 2 };
#define LONGEST 0.1 /* seconds: runs predicted to take longer are not measured */
#define DOMINATED 3

static const uint64_t lengths[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 500, 1000, 3000, 10000, 30000, 100000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

typedef struct envelope_case {
    const char *stencil, *boundary;
    int rank;
    size_t extent[STN_MAX_RANK];
} envelope_case;
static const envelope_case cases[CASES] = {
    {"heat-2d", "wrap", 2, {10240, 10240}},    {"heat-2d", "fixed", 2, {10240, 10240}},
    {"heat-3d", "wrap", 3, {512, 512, 512}},   {"heat-3d", "fixed", 3, {512, 512, 512}},
    {"heat-1d", "wrap", 1, {(size_t)1 << 27}}, {"heat-1d", "fixed", 1, {(size_t)1 << 27}}};

typedef struct envelope_run {
    char strategy[24];
    stn_estimate estimate;
    stn_plan *plan; /* NULL: too long, or it could not be built */
    stn_error why;
} envelope_run;

typedef struct envelope_group { /* one number of steps; cheapest estimate first */
    stn_problem problem;
    envelope_run run[STRATEGIES];
    int runs;
} envelope_group;

typedef struct envelope {
    bench *machine;
    const envelope_case *what;
    stn_stencil *stencil;
    size_t extent[STN_MAX_RANK], points;
    envelope_group group[LENGTHS];
    bench_buffers buffers;
} envelope;

/* True if it is predicted to be so slow that measuring it is useless. */
static bool is_dominated(const envelope_group *g, int r) {
    const double seconds = g->run[r].estimate.seconds, cheapest = g->run[0].estimate.seconds;
    return seconds > LONGEST || (g->problem.steps > 1 && seconds > DOMINATED * cheapest);
}

/* ---- plans ----------------------------------------------------------------------------------- */

static stn_status rank_group(const envelope *e, uint64_t steps, envelope_group *g, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan;
    *g = (envelope_group){.problem = STN_PROBLEM_INIT};
    g->problem.stencil = e->stencil, g->problem.dtype = STN_F64, g->problem.steps = steps;
    memcpy(g->problem.extent, e->extent, sizeof e->extent);
    STN_TRY(bench_boundary(e->what->boundary, e->what->rank, g->problem.boundary, error));
    options.estimate_only = 1;
    STN_TRY(stn_plan_create(e->machine->context, &g->problem, &options, &plan, error));
    for (size_t i = 0; i < plan->ranked && plan->ranking[i].applies && g->runs < STRATEGIES; i++) {
        const stn_ranked *row = &plan->ranking[i];
        bool there = false;
        for (int r = 0; r < g->runs; r++) there = there || !strcmp(g->run[r].strategy, row->strategy->name);
        if (there) continue;
        envelope_run *run = &g->run[g->runs++];
        snprintf(run->strategy, sizeof run->strategy, "%s", row->strategy->name);
        run->estimate = row->estimate;
    }
    stn_plan_destroy(plan);
    return STN_OK;
}

/* Creates plans, on any thread, so that kernels are compiled in parallel. */
static void build(void *user, int64_t begin, int64_t end) {
    envelope *e = user;
    for (int64_t i = begin; i < end; i++) {
        envelope_group *g = &e->group[i / STRATEGIES];
        const int r = (int)(i % STRATEGIES);
        if (r >= g->runs || is_dominated(g, r)) continue;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        options.strategy = g->run[r].strategy;
        options.mode = STN_MODE_ESTIMATE; /* compiled before it is measured */
        options.no_auto_workspace = 1;
        if (stn_plan_create(e->machine->context, &g->problem, &options, &g->run[r].plan, &g->run[r].why) != STN_OK)
            g->run[r].plan = NULL;
    }
}

/* ---- measuring ------------------------------------------------------------------------------- */

static stn_status time_run(const envelope *e, stn_plan *plan, double *seconds, stn_error *error) {
    bench_execution work = bench_execution_of(plan, e->buffers.in, e->buffers.out, NULL);
    if (plan->workspace_size)
        STN_TRY(stn_memory_alloc(e->machine->context, plan->workspace_size, &work.run.workspace, error));
    stn_status status = bench_time(e->machine, bench_execute, &work, seconds, error);
    stn_memory_free(e->machine->context, work.run.workspace);
    return status;
}

static void print_run(const envelope *e, const envelope_group *g, const envelope_run *run, double seconds) {
    stn_text text = STN_TEXT_EMPTY;
    stn_text_append(&text, "{", 1);
    stn_json_key(&text, "stencil"), stn_json_string(&text, e->what->stencil);
    stn_json_key(&text, "boundary"), stn_json_string(&text, e->what->boundary);
    stn_json_integer(&text, "rank", e->what->rank);
    stn_json_key(&text, "dtype"), stn_json_string(&text, stn_dtype_name(g->problem.dtype));
    stn_json_integer(&text, "points", (int64_t)e->points);
    stn_json_integer(&text, "steps", (int64_t)g->problem.steps);
    stn_json_key(&text, "strategy"), stn_json_string(&text, run->strategy);
    stn_json_integer(&text, "fused", run->estimate.launches < (double)g->problem.steps);
    stn_json_integer(&text, "chosen", run == g->run);
    stn_json_key(&text, "launches"), stn_json_number(&text, run->estimate.launches);
    stn_json_key(&text, "model"), stn_json_number(&text, run->estimate.seconds);
    stn_json_key(&text, "predicted"), stn_json_number(&text, run->estimate.seconds);
    if (seconds > 0) stn_json_key(&text, "measured"), stn_json_number(&text, seconds);
    stn_text_append(&text, "}", 2);
    if (!text.failed) puts(text.data);
    fflush(stdout);
    stn_text_clear(&text);
}

/* Failures are reported on stderr; runs that were not measured are printed with predictions. */
static void measure_group(const envelope *e, envelope_group *g) {
    for (int r = 0; r < g->runs; r++) {
        envelope_run *run = &g->run[r];
        double seconds = 0;
        const bool built = run->plan && time_run(e, run->plan, &seconds, &run->why) == STN_OK;
        if (built || is_dominated(g, r))
            print_run(e, g, run, seconds);
        else
            fprintf(stderr, "stentor-bench: %s by %s: %s\n", e->what->stencil, run->strategy, run->why.message);
        stn_plan_destroy(run->plan);
    }
}

static stn_status run_case(envelope *e, stn_error *error) {
    stn_status status = STN_OK;
    const int count = e->machine->quick ? QUICK_LENGTHS : LENGTHS;
    STN_TRY(bench_stencil(e->what->stencil, &e->stencil, error));
    for (int i = 0; i < count && status == STN_OK; i++) status = rank_group(e, lengths[i], &e->group[i], error);
    if (status == STN_OK) stn_pool_for(e->machine->pool, (int64_t)count * STRATEGIES, 1, build, e);
    for (int i = 0; i < count && status == STN_OK; i++) measure_group(e, &e->group[i]);
    stn_stencil_destroy(e->stencil);
    return status;
}

static void print_machine(const bench *machine) {
    stn_text text = STN_TEXT_EMPTY;
    stn_text_append(&text, "{", 1);
    stn_json_key(&text, "machine"), stn_json_string(&text, machine->context->machine.name);
    stn_json_key(&text, "copy_bandwidth"), stn_json_number(&text, machine->copy_bandwidth);
    stn_json_key(&text, "peers");
    stn_text_append(&text, "[", 1);
    for (size_t i = 0; i < bench_case_count; i++) {
        const bench_case *c = &bench_cases[i];
        const bool line = !strcmp(c->group, "segment") && !strcmp(c->name, c->stencil);
        if ((!line && strcmp(c->group, "time") != 0) || !c->peer) continue;
        stn_json_comma(&text);
        stn_text_printf(&text, "{\"stencil\": \"%s\", \"peer\": \"%s\", \"gstencils\": %g}", c->name, c->peer,
                        c->peer_gstencils);
    }
    stn_text_append(&text, "]}", 3);
    if (!text.failed) puts(text.data);
    stn_text_clear(&text);
}

static stn_status measure_case(envelope *e, stn_error *error) {
    stn_status status;
    const size_t bytes = e->points * sizeof(double);
    STN_TRY_GOTO(status, stn_memory_alloc(e->machine->context, bytes, &e->buffers.in, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(e->machine->context, bytes, &e->buffers.out, error), done);
    STN_TRY_GOTO(status, bench_fill(e->machine, e->buffers.in, e->points, STN_F64, STN_F64, error), done);
    status = run_case(e, error);
done:
    stn_memory_free(e->machine->context, e->buffers.in);
    stn_memory_free(e->machine->context, e->buffers.out);
    return status;
}

/* True if the list has the stencil's name, or the name with the sides: heat-3d, heat-3d-fixed. */
static bool is_listed(const char *names, const envelope_case *what) {
    char name[64];
    snprintf(name, sizeof name, "%s-%s", what->stencil, what->boundary);
    return bench_listed(names, what->stencil) || bench_listed(names, name);
}

stn_status bench_envelope(bench *machine, const char *names, stn_error *error) {
    stn_status status = STN_OK;
    int done = 0;
    machine->repeat = machine->quick ? 1 : SAMPLES;
    STN_TRY(bench_measure_copy(machine, error));
    print_machine(machine);
    for (int c = 0; c < CASES && status == STN_OK; c++) {
        if (!is_listed(names, &cases[c]) || (machine->quick && !names && done == QUICK_CASES)) continue;
        done++;
        envelope *e = calloc(1, sizeof *e);
        if (!e) return stn_fail_memory(error, "the runs of a case", sizeof *e);
        *e = (envelope){.machine = machine, .what = &cases[c], .points = 1};
        memcpy(e->extent, cases[c].extent, sizeof e->extent);
        if (machine->quick) bench_extent_quick(cases[c].rank, e->extent);
        for (int axis = 0; axis < cases[c].rank; axis++) e->points *= e->extent[axis];
        status = measure_case(e, error);
        free(e);
    }
    if (status == STN_OK && !done)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--envelope has no case of this name: heat-2d, heat-3d, heat-1d; or with -wrap or -fixed");
    return status;
}
