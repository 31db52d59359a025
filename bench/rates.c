/* See rates.h. Problem i of the list is a function of i: sizes and steps follow a low-discrepancy
 * sequence, of which every prefix fills their ranges evenly. For each problem the best candidates
 * of the two strategies with the lowest estimates are measured. */
#include "rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/plan.h"

enum { PROBLEMS = 96, QUICK_PROBLEMS = 6, AT_ONCE = 8, RUNS = 2, SAMPLES = 5, EXECUTIONS_MOST = 256 };
#define LEAST_BYTES 1e6
#define MOST_BYTES 8e9
#define MOST_STEPS 1001.0
#define LONGEST 0.15 /* seconds of one run: longer runs get fewer steps */
#define SAMPLE_SECONDS 2e-3
/* Candidates whose estimate is more than so many times the best one are not measured. */
#define DOMINATED 4

typedef struct rates_run {
    char strategy[24];
    stn_plan *plan;
    stn_error why; /* why it could not be built */
} rates_run;

typedef struct rates_problem {
    stn_problem problem;
    stn_stencil *stencil;
    const char *name, *boundary;
    size_t points;
    rates_run run[RUNS];
    int runs;
    stn_status status;
    stn_error why;
} rates_problem;

typedef struct rates_batch {
    bench *machine;
    rates_problem *list;
    int first; /* index of the first problem */
} rates_batch;

/* ---- the list -------------------------------------------------------------------------------- */

static const char *const stencils[3][4] = {{"heat-1d", "1d5p", "1d7p", "heat-1d"},
                                           {"heat-2d", "box-2d9p", "star-2d13p", "box-2d49p"},
                                           {"heat-3d", "box-3d27p", "gaussian-3d:sigma=1,truncate=1", "heat-3d"}};
static const char *const boundaries[] = {"wrap", "fixed", "reflect", "constant=0.5"};

/* Element i of a low-discrepancy sequence in [0, 1): multiples of an irrational number. */
static double fraction(int i, double irrational) { return fmod((i + 1) * irrational, 1); }

/* Chooses extents that differ by less than a quarter; one problem in four has odd extents. */
static void choose_extents(int i, int rank, double points, stn_problem *problem) {
    static const double longer[STN_MAX_RANK] = {1, 1.12, 0.94};
    const double side = pow(points, 1.0 / rank);
    for (int axis = 0; axis < rank; axis++) {
        size_t extent = (size_t)(side * (rank > 1 ? longer[axis] : 1));
        problem->extent[axis] = i % 4 == 3 ? extent | 1 : (extent + 15) / 16 * 16;
    }
}

static stn_status choose_problem(const bench *machine, int i, rates_problem *p, stn_error *error) {
    const int rank = 1 + i % 3, which = i / 9 % 4;
    const double size = machine->quick ? 3e4 : LEAST_BYTES * pow(MOST_BYTES / LEAST_BYTES, fraction(i, 0.6180339887));
    const double steps = i % 4 == 1 ? 1 : pow(MOST_STEPS, fraction(i, 0.7548776662));
    *p = (rates_problem){
        .problem = STN_PROBLEM_INIT, .name = stencils[rank - 1][which], .boundary = boundaries[i / 3 % 4]};
    p->problem.dtype = (stn_dtype)(i / 3 % 3);
    p->problem.steps = machine->quick ? (uint64_t)(1 + i % 4) : (uint64_t)steps;
    choose_extents(i, rank, size / (double)stn_dtype_size(p->problem.dtype), &p->problem);
    p->points = 1;
    for (int axis = 0; axis < rank; axis++) p->points *= p->problem.extent[axis];
    STN_TRY(stn_stencil_parse(p->name, &p->stencil, error));
    p->problem.stencil = p->stencil;
    for (int axis = 0; axis < rank; axis++) STN_TRY(stn_boundary_parse(p->boundary, p->problem.boundary[axis], error));
    return STN_OK;
}

/* Chooses the strategies to run, cheapest first; halves the steps while the cheapest takes too
 * long. */
static stn_status choose_runs(const bench *machine, rates_problem *p, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan;
    options.estimate_only = 1;
    for (;; p->problem.steps /= 2) {
        STN_TRY(stn_plan_create(machine->context, &p->problem, &options, &plan, error));
        if (plan->ranking[0].estimate.seconds <= LONGEST || p->problem.steps == 1) break;
        stn_plan_destroy(plan);
    }
    for (size_t i = 0; i < plan->ranked && plan->ranking[i].applies && p->runs < RUNS; i++) {
        const stn_ranked *row = &plan->ranking[i];
        bool there = row->estimate.seconds > DOMINATED * plan->ranking[0].estimate.seconds;
        for (int r = 0; r < p->runs; r++) there = there || !strcmp(p->run[r].strategy, row->strategy->name);
        if (!there) snprintf(p->run[p->runs++].strategy, sizeof p->run[0].strategy, "%s", row->strategy->name);
    }
    stn_plan_destroy(plan);
    return STN_OK;
}

/* Creates plans, on any thread, so that kernels are compiled in parallel. */
static void build_runs(void *user, int64_t begin, int64_t end) {
    const rates_batch *batch = user;
    for (int64_t i = begin; i < end; i++) {
        rates_problem *p = &batch->list[i];
        p->status = choose_problem(batch->machine, batch->first + (int)i, p, &p->why);
        if (p->status == STN_OK) p->status = choose_runs(batch->machine, p, &p->why);
        for (int r = 0; p->status == STN_OK && r < p->runs; r++) {
            stn_plan_options options = STN_PLAN_OPTIONS_INIT;
            options.strategy = p->run[r].strategy;
            options.mode = STN_MODE_ESTIMATE; /* a fixed choice */
            options.no_auto_workspace = 1;
            if (stn_plan_create(batch->machine->context, &p->problem, &options, &p->run[r].plan, &p->run[r].why) !=
                STN_OK)
                p->run[r].plan = NULL;
        }
    }
}

/* ---- measuring ------------------------------------------------------------------------------- */

static stn_status time_run(bench *machine, stn_plan *plan, const bench_buffers *buffers, double *seconds,
                           stn_error *error) {
    bench_execution e = bench_execution_of(plan, buffers->in, buffers->out, NULL);
    const double count = SAMPLE_SECONDS / plan->estimate.seconds;
    /* Consecutive executions are timed together, as in long runs of a user. */
    const int calls = machine->quick || count < 1 ? 1 : count > EXECUTIONS_MOST ? EXECUTIONS_MOST : (int)count;
    machine->repeat = machine->quick ? 1 : SAMPLES;
    if (plan->workspace_size)
        STN_TRY(stn_memory_alloc(machine->context, plan->workspace_size, &e.run.workspace, error));
    stn_status status = bench_time_calls(machine, bench_execute, &e, calls, seconds, error);
    stn_memory_free(machine->context, e.run.workspace);
    return status;
}

static void print_run(const rates_problem *p, const rates_run *run, bool chosen, double seconds) {
    const stn_estimate *e = &run->plan->estimate;
    stn_text text = STN_TEXT_EMPTY;
    stn_text_append(&text, "{", 1);
    stn_json_key(&text, "stencil"), stn_json_string(&text, p->name);
    stn_json_key(&text, "boundary"), stn_json_string(&text, p->boundary);
    stn_json_integer(&text, "rank", run->plan->task.rank);
    stn_json_key(&text, "dtype"), stn_json_string(&text, stn_dtype_name(p->problem.dtype));
    stn_json_integer(&text, "bytes", (int64_t)(p->points * stn_dtype_size(p->problem.dtype)));
    stn_json_integer(&text, "steps", (int64_t)p->problem.steps);
    stn_json_key(&text, "strategy"), stn_json_string(&text, run->strategy);
    stn_json_integer(&text, "fused", e->launches < (double)p->problem.steps);
    stn_json_integer(&text, "chosen", chosen);
    stn_json_key(&text, "launches"), stn_json_number(&text, e->launches);
    stn_json_key(&text, "model"), stn_json_number(&text, e->model);
    stn_json_key(&text, "predicted"), stn_json_number(&text, e->seconds);
    stn_json_key(&text, "measured"), stn_json_number(&text, seconds);
    stn_text_append(&text, "}", 2);
    if (!text.failed) puts(text.data);
    fflush(stdout);
    stn_text_clear(&text);
}

/* Failures are reported on stderr and skipped. */
static void measure_problem(bench *machine, const rates_problem *p, const bench_buffers *buffers) {
    if (p->status != STN_OK) fprintf(stderr, "stentor-bench: %s: %s\n", p->name ? p->name : "", p->why.message);
    for (int r = 0; p->status == STN_OK && r < p->runs; r++) {
        const rates_run *run = &p->run[r];
        stn_error error = run->why;
        double seconds;
        if (run->plan && time_run(machine, run->plan, buffers, &seconds, &error) == STN_OK)
            print_run(p, run, r == 0, seconds);
        else
            fprintf(stderr, "stentor-bench: %s by %s: %s\n", p->name, run->strategy, error.message);
    }
}

static void print_machine(const bench *machine) {
    stn_text text = STN_TEXT_EMPTY;
    stn_text_append(&text, "{", 1);
    stn_json_key(&text, "machine"), stn_json_string(&text, machine->context->machine.name);
    stn_json_key(&text, "arch"), stn_json_string(&text, machine->context->machine.arch);
    stn_json_key(&text, "copy_bandwidth"), stn_json_number(&text, machine->copy_bandwidth);
    stn_text_append(&text, "}", 2);
    if (!text.failed) puts(text.data);
    stn_text_clear(&text);
}

stn_status bench_rates(bench *machine, double seconds, stn_error *error) {
    const int count = machine->quick ? QUICK_PROBLEMS : PROBLEMS;
    const size_t bytes = machine->quick ? (size_t)1 << 20 : (size_t)(1.4 * MOST_BYTES);
    const double end = bench_now() + (seconds > 0 ? seconds : INFINITY);
    bench_buffers buffers = {0};
    stn_status status;
    STN_TRY_GOTO(status, bench_measure_copy(machine, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, bytes, &buffers.in, error), done);
    STN_TRY_GOTO(status, stn_memory_alloc(machine->context, bytes, &buffers.out, error), done);
    /* the bytes of f16 values are small numbers in any type: no run overflows or has only subnormal
     * numbers */
    STN_TRY_GOTO(status, bench_fill(machine, buffers.in, bytes / 2, STN_F16, STN_F16, error), done);
    print_machine(machine);
    for (int first = 0; first < count && bench_now() < end; first += AT_ONCE) {
        rates_problem list[AT_ONCE] = {{.status = STN_OK}};
        const int some = count - first < AT_ONCE ? count - first : AT_ONCE;
        stn_pool_for(machine->pool, some, 1, build_runs, &(rates_batch){machine, list, first});
        for (int i = 0; i < some; i++) {
            if (bench_now() < end) measure_problem(machine, &list[i], &buffers);
            for (int r = 0; r < list[i].runs; r++) stn_plan_destroy(list[i].run[r].plan);
            stn_stencil_destroy(list[i].stencil);
        }
    }
done:
    stn_memory_free(machine->context, buffers.in);
    stn_memory_free(machine->context, buffers.out);
    return status;
}
