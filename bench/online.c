/* ONLINE plans compared with the best plan; see online.h. */
#include "online.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "options.h"
#include "plan/plan.h"
#include "tune/compare_results.h"
#include "tune/online_tuning.h"
#include "tune/tuner.h"

enum { UNITS = 1000, QUICK_UNITS = 40, COMPARED = 60 };
/* Seconds of warm-up, and of a turn: an H200's clocks fall within the first tenths of a second and
 * vary by a tenth later, so executions of both plans alternate in turns. */
#define WARM_SECONDS 0.2
#define TURN_SECONDS 5e-3

typedef struct online_case {
    const char *stencil, *boundary;
    int rank;
    size_t extent[STN_MAX_RANK];
    stn_dtype dtype;
    uint64_t steps;
} online_case;

static const online_case cases[] = {
    {"heat-1d", "wrap", 1, {(size_t)1 << 24}, STN_F32, 100},
    {"gaussian-2d:sigma=4,truncate=4", "reflect", 2, {4096, 4096}, STN_F32, 10},
    {"box-2d49p", "wrap", 2, {10240, 10240}, STN_F16, 1},
    {"heat-3d", "fixed", 3, {512, 512, 512}, STN_F32, 1},
    {"heat-2d", "fixed", 2, {4096, 4096}, STN_F64, 10},
    {"star-2d13p", "fixed", 2, {8192, 8192}, STN_F64, 1},
    {"gaussian-3d:sigma=1", "reflect", 3, {256, 256, 256}, STN_F32, 10},
    {"heat-2d", "fixed", 2, {4096, 4096}, STN_F16, 10},
    {"box-2d9p", "nearest", 2, {10240, 10240}, STN_F32, 10},
    {"heat-1d", "fixed", 1, {131072}, STN_F64, 1000},
};
enum { CASES = sizeof cases / sizeof *cases };

typedef struct contest {
    bench *machine;
    const online_case *what;
    stn_problem problem;
    size_t points;
    void *in, *out, *other, *workspace, *sums;
    stn_kernel_set kernels;
    stn_kernel *compare;
    stn_plan *search, *fixed; /* fixed: the best candidate of the search, with `workspace` */
    int units;
    /* Seconds of UNITS executions of ONLINE and of the best plan, alternating; and of as many more
     * with ONLINE's final candidate. */
    double online, best, online_then, best_then;
    double difference;          /* the largest relative L2 difference of ONLINE's results */
    char first[400], last[400]; /* ONLINE's first and final candidate */
    stn_text search_done;       /* JSON members: the final state of the search */
} contest;

/* ---- the two plans --------------------------------------------------------------------------- */

static stn_status find_best(contest *c, double seconds, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ESTIMATE;
    options.estimate_only = options.deterministic = 1;
    STN_TRY(stn_plan_create(c->machine->context, &c->problem, &options, &c->search, error));
    const tune_request order = {.seconds = seconds, .all = true, .within = 3, .without_wisdom = true};
    /* Not timed; compiles ONLINE's kernels too. */
    if (!c->machine->quick) tune_compile(c->search, NULL, &order);
    tune_measure(c->search, NULL, &order);
    const stn_ranked *best = &c->search->ranking[0];
    stn_plan_take(c->search, best);
    if (!(best->measured > 0)) return stn_fail(error, STN_ERROR_UNSUPPORTED, "nothing could be measured");
    STN_TRY(stn_plan_build(c->search, c->problem.steps, best->strategy, &best->candidate, NULL, &c->fixed, error));
    return c->fixed->workspace_size
               ? stn_memory_alloc(c->machine->context, c->fixed->workspace_size, &c->workspace, error)
               : STN_OK;
}

static stn_status make_online(const contest *c, stn_plan **plan, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ONLINE;
    options.executions = UNITS;
    return stn_plan_create(c->machine->context, &c->problem, &options, plan, error);
}

static void name(const stn_plan *plan, const stn_strategy *strategy, const stn_candidate *candidate, char *to,
                 size_t size) {
    stn_text text = STN_TEXT_EMPTY;
    if (strategy->name_candidate) strategy->name_candidate(&plan->task, candidate, &text);
    stn_text_append(&text, "", 1);
    snprintf(to, size, "%s, %s", strategy->name, text.failed ? "" : text.data);
    stn_text_clear(&text);
}

static void name_now(const stn_plan *plan, char *to, size_t size) {
    const stn_plan *now = plan->online ? stn_tuner_default.online_current(plan) : plan;
    name(plan, now->strategy, &now->candidate, to, size);
}

/* ---- running --------------------------------------------------------------------------------- */

/* Runs and waits; adds the wall-clock time to *seconds. */
static stn_status run(contest *c, stn_plan *plan, void *workspace, void *out, int units, double *seconds,
                      stn_error *error) {
    const stn_execution each = {.struct_size = sizeof each, .in = c->in, .out = out, .workspace = workspace};
    STN_TRY(stn_synchronize(c->machine->context, NULL, error));
    const double begin = bench_now();
    for (int i = 0; i < units; i++) STN_TRY(stn_plan_run(plan, &each, error));
    STN_TRY(stn_synchronize(c->machine->context, NULL, error));
    if (seconds) *seconds += bench_now() - begin;
    return STN_OK;
}

static stn_status compare(contest *c, stn_error *error) {
    double difference;
    STN_TRY(tune_compare(c->machine->context, c->compare, c->other, c->out, c->sums, (int64_t)c->points, NULL,
                         &difference, error));
    if (!(difference <= c->difference)) c->difference = difference; /* NaN stays */
    return STN_OK;
}

static int units_of(const contest *c, double seconds, int most) {
    const double units = seconds / c->search->ranking[0].measured;
    return c->machine->quick || units < 1 ? 1 : units < most ? (int)units : most;
}

/* Both plans write to the same memory, and share a workspace if possible, because addresses may
 * affect the time. */
static stn_status take_turns(contest *c, stn_plan *plan, double *online, double *best, stn_error *error) {
    const int turn = units_of(c, TURN_SECONDS, c->units);
    void *workspace = plan->workspace_size >= c->fixed->workspace_size ? plan->workspace : c->workspace;
    for (int done = 0, units; done < c->units; done += units) {
        units = c->units - done < turn ? c->units - done : turn;
        STN_TRY(run(c, c->fixed, workspace, c->other, units, best, error));
        STN_TRY(run(c, plan, NULL, c->other, units, online, error));
    }
    return STN_OK;
}

/* Prints the final state of the search, in seconds per execution, to explain wrong choices. */
static void print_search(const stn_online *o, stn_text *text) {
    stn_text_printf(text, ",\"arms\":%zu,\"over\":%s,\"spent_by_events\":", o->count,
                    o->next == o->count ? "true" : "false");
    stn_json_number(text, o->trial_seconds);
    stn_text_printf(text, ",\"tried\":[");
    for (size_t i = 0; i < o->count; i++) {
        const tune_trial *trial = &o->trials[i];
        const double numbers[] = {(double)trial->state, trial->predicted, trial->run_seconds};
        for (int k = 0; k < 3; k++)
            stn_text_printf(text, "%s", k ? ", " : i ? ", [" : "["), stn_json_number(text, numbers[k]);
        for (size_t k = 0; k < trial->count; k++) stn_text_printf(text, ", "), stn_json_number(text, trial->samples[k]);
        stn_text_printf(text, "]");
    }
    stn_text_printf(text, "]");
}

static stn_status run_online(contest *c, stn_error *error) {
    stn_plan *plan;
    STN_TRY(make_online(c, &plan, error));
    name_now(plan, c->first, sizeof c->first);
    const int warm = units_of(c, WARM_SECONDS, INT32_MAX);
    stn_status status = run(c, c->fixed, c->workspace, c->other, warm, NULL, error);
    if (status == STN_OK) status = take_turns(c, plan, &c->online, &c->best, error);
    if (status == STN_OK) status = compare(c, error); /* the last execution */
    name_now(plan, c->last, sizeof c->last);
    if (status == STN_OK && !c->machine->quick) status = take_turns(c, plan, &c->online_then, &c->best_then, error);
    if (plan->online) print_search(plan->online, &c->search_done);
    stn_plan_destroy(plan);
    return status;
}

/* Compares the first results of another ONLINE plan, whose search starts from the beginning. */
static stn_status compare_results(contest *c, stn_error *error) {
    stn_plan *plan;
    stn_status status;
    STN_TRY(make_online(c, &plan, error));
    for (int i = 0; i < (c->machine->quick ? 5 : COMPARED); i++) {
        STN_TRY_GOTO(status, run(c, plan, NULL, c->other, 1, NULL, error), done);
        STN_TRY_GOTO(status, compare(c, error), done);
    }
    status = STN_OK;
done:
    stn_plan_destroy(plan);
    return status;
}

/* ---- one problem ----------------------------------------------------------------------------- */

static stn_status open_contest(contest *c, stn_stencil **stencil, stn_error *error) {
    stn_context *context = c->machine->context;
    STN_TRY(bench_stencil(c->what->stencil, stencil, error));
    c->problem = (stn_problem)STN_PROBLEM_INIT;
    c->problem.stencil = *stencil;
    c->problem.dtype = c->what->dtype;
    c->problem.steps = c->machine->quick && c->what->steps > 4 ? 4 : c->what->steps;
    memcpy(c->problem.extent, c->what->extent, sizeof c->what->extent);
    for (int axis = 0; c->machine->quick && axis < c->what->rank; axis++)
        c->problem.extent[axis] = c->what->rank == 1 ? 1500 : c->what->rank == 2 ? 70 : 20;
    STN_TRY(bench_boundary(c->what->boundary, c->what->rank, c->problem.boundary, error));
    c->points = 1;
    for (int axis = 0; axis < c->what->rank; axis++) c->points *= c->problem.extent[axis];
    const size_t bytes = c->points * stn_dtype_size(c->what->dtype);
    STN_TRY(stn_memory_alloc(context, bytes, &c->in, error));
    STN_TRY(stn_memory_alloc(context, bytes, &c->out, error));
    STN_TRY(stn_memory_alloc(context, bytes, &c->other, error));
    STN_TRY(stn_memory_alloc(context, TUNE_SUMS_BYTES, &c->sums, error));
    c->kernels.context = context;
    STN_TRY(tune_kernel(&c->kernels, c->what->dtype, "tune_compare", &c->compare, error));
    return bench_fill(c->machine, c->in, c->points, c->what->dtype, c->what->dtype, error);
}

static void close_contest(contest *c, stn_stencil *stencil) {
    void *const memory[] = {c->in, c->out, c->other, c->workspace, c->sums};
    stn_kernel_set_clear(&c->kernels);
    stn_text_clear(&c->search_done);
    stn_plan_destroy(c->fixed);
    stn_plan_destroy(c->search);
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++) stn_memory_free(c->machine->context, memory[i]);
    stn_stencil_destroy(stencil);
}

static void print(const contest *c) {
    stn_text text = STN_TEXT_EMPTY, problem = STN_TEXT_EMPTY;
    char best[400];
    name(c->fixed, c->fixed->strategy, &c->fixed->candidate, best, sizeof best);
    c->fixed->kind->print(c->fixed, &problem);
    stn_text_append(&problem, "", 1);
    const double allowed = c->fixed->kind->allowed_difference(c->fixed, c->problem.steps);
    stn_text_printf(&text, "{\"problem\":");
    stn_json_string(&text, problem.failed ? "" : problem.data);
    const struct {
        const char *key;
        double value;
    } numbers[] = {{"units", c->units},         {"online", c->online},
                   {"best_seconds", c->best},   {"online_then", c->online_then},
                   {"best_then", c->best_then}, {"difference", c->difference},
                   {"allowed", allowed}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        stn_json_key(&text, numbers[i].key);
        stn_json_number(&text, numbers[i].value);
    }
    if (c->search_done.size) stn_text_append(&text, c->search_done.data, c->search_done.size);
    stn_json_key(&text, "best"), stn_json_string(&text, best);
    stn_json_key(&text, "first"), stn_json_string(&text, c->first);
    stn_json_key(&text, "last"), stn_json_string(&text, c->last);
    stn_text_printf(&text, "}");
    stn_text_append(&text, "", 1);
    if (!text.failed) puts(text.data);
    fflush(stdout);
    stn_text_clear(&problem);
    stn_text_clear(&text);
}

static stn_status measure(contest *c, double seconds, stn_error *error) {
    stn_stencil *stencil = NULL;
    stn_status status;
    c->units = c->machine->quick ? QUICK_UNITS : UNITS;
    STN_TRY_GOTO(status, open_contest(c, &stencil, error), done);
    STN_TRY_GOTO(status, find_best(c, seconds, error), done);
    STN_TRY_GOTO(status, run(c, c->fixed, c->workspace, c->out, 1, NULL, error),
                 done); /* the reference of the comparison */
    STN_TRY_GOTO(status, run_online(c, error), done);
    STN_TRY_GOTO(status, compare_results(c, error), done);
    print(c);
done:
    close_contest(c, stencil);
    return status;
}

stn_status bench_online(bench *machine, double seconds, const char *cases_asked, stn_error *error) {
    if (!machine->device) return stn_fail(error, STN_ERROR_NO_DEVICE, "--online needs a GPU");
    for (size_t i = 0; i < CASES; i++) {
        contest c = {.machine = machine, .what = &cases[i]};
        if (!bench_listed(cases_asked, cases[i].stencil)) continue;
        STN_TRY(measure(&c, seconds, error));
    }
    return STN_OK;
}
