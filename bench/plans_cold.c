/* Mode cold of stentor-plans; see plans.c. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "launch/driver.h"
#include "plans.h"

/* Executions after which the time is taken. */
static const uint64_t counts[] = {1, 2, 5, 20, 1000};
enum { COUNTS = sizeof counts / sizeof *counts, MANY = 20 };
#define MAX_SECONDS 2.0 /* of the executions of one plan */

/* Seconds of a plan with its executions. */
typedef struct times {
    double plan;
    double choose;        /* alone, in a context of its own */
    double load;          /* the part of `plan` that loads kernels */
    size_t kernels;       /* that were loaded */
    double first;         /* one execution, synchronised */
    double many;          /* MANY executions, enqueued; NaN: they would take too long */
    double after[COUNTS]; /* until the counts[i]-th execution has ended, plan included */
    bool generic;         /* the first execution runs the generic kernel */
} times;

static stn_status open_context(const char *folder, stn_context **context, stn_error *error) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_CUDA(0);
    options.cache_dir = folder;
    return stn_context_create(&options, context, error);
}

/* Executes the plan until each of counts[], and measures from `begin` on, the time when making the
 * plan began. each: seconds of an execution; counts that would take more than MAX_SECONDS are left
 * out (NaN). */
static stn_status run_to(plans_device *d, const drawn_problem *p, stn_plan *plan, double begin, double each, times *t,
                         stn_error *error) {
    uint64_t done = 0;
    double seconds;
    for (int i = 0; i < COUNTS; i++) {
        t->after[i] = NAN;
        if (i && (double)counts[i] * each > MAX_SECONDS) continue;
        STN_TRY(plans_wait(d, p, plan, counts[i] - done, &seconds, error));
        done = counts[i];
        t->after[i] = bench_now() - begin;
    }
    return STN_OK;
}

/* Chooses in a new context with the given cache folder, as for a plan that is prepared. */
static stn_status time_choosing(const drawn_problem *p, const char *folder, double *seconds, stn_error *error) {
    stn_context *context = NULL;
    stn_plan *plan = calloc(1, sizeof *plan);
    stn_status status;
    if (!plan) return stn_fail_memory(error, "a plan", sizeof *plan);
    plan->kind = stn_kinds[STN_KIND_STENCIL], plan->may_be_chunked = true;
    STN_TRY_GOTO(status, open_context(folder, &context, error), done);
    plan->context = context;
    stn_context_machine_copy(context, false, &plan->machine);
    const double begin = bench_now();
    STN_TRY_GOTO(status, plan->kind->make(plan, &p->r.problem, error), done);
    stn_plan_rank_best(plan, NULL, (stn_rank_limit){0});
    *seconds = bench_now() - begin;
done:
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    return status;
}

/* Makes a plan in a new context with the given cache folder, and executes it. */
static stn_status time_plan(plans_device *d, const drawn_problem *p, const char *folder, bool first_result, double each,
                            times *t, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_context *context = NULL;
    stn_plan *plan = NULL;
    stn_cache_stats stats;
    stn_status status;
    options.first_result = first_result, options.no_auto_workspace = 1;
    STN_TRY_GOTO(status, open_context(folder, &context, error), done);
    const double begin = bench_now();
    STN_TRY_GOTO(status, stn_plan_create(context, &p->r.problem, &options, &plan, error), done);
    t->plan = bench_now() - begin;
    stn_context_cache_stats(context, &stats);
    t->load = stats.load_seconds, t->kernels = plan->kernels->count;
    STN_TRY_GOTO(status, plans_device_workspace(d, plan, error), done);
    if (first_result) {
        t->generic = stn_first_result_now(plan) != plan;
        STN_TRY_GOTO(status, run_to(d, p, plan, bench_now() - t->plan, each, t, error), done);
        goto done;
    }
    STN_TRY_GOTO(status, plans_wait(d, p, plan, 1, &t->first, error), done);
    t->many = NAN;
    if (MANY * t->first <= MAX_SECONDS) STN_TRY_GOTO(status, plans_wait(d, p, plan, MANY, &t->many, error), done);
done:
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    return status;
}

/* Choosing, and one execution by the generic kernel, in a new context with the given cache folder;
 * INFINITY where it is predicted to take too long. */
static stn_status time_generic(plans_device *d, const drawn_problem *p, const char *folder, double *seconds,
                               stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_context *context = NULL;
    stn_plan *like = NULL, *plan = NULL;
    stn_ranked row;
    stn_status status;
    double run;
    *seconds = INFINITY;
    options.estimate_only = 1;
    STN_TRY_GOTO(status, open_context(folder, &context, error), done);
    const double begin = bench_now();
    STN_TRY_GOTO(status, stn_plan_create(context, &p->r.problem, &options, &like, error), done);
    if (!stn_plan_generic(like, &row) || row.estimate.seconds > MAX_SECONDS) goto done;
    STN_TRY_GOTO(status,
                 stn_plan_build(like, like->kind->shape(like).steps, row.strategy, &row.candidate, NULL, &plan, error),
                 done);
    const double planned = bench_now() - begin;
    STN_TRY_GOTO(status, plans_device_workspace(d, plan, error), done);
    STN_TRY_GOTO(status, plans_wait(d, p, plan, 1, &run, error), done);
    *seconds = planned + run;
done:
    stn_plan_destroy(plan);
    stn_plan_destroy(like);
    stn_context_destroy(context);
    return status;
}

/* What is printed of a problem: numbers in this order, then the seconds of first_result until each
 * of counts[]. */
static const char *const names[] = {"cold_plan",     "stored_plan", "cold_first",        "cold_many",
                                    "stored_first",  "stored_many", "first_result_plan", "generic",
                                    "stored_choose", "stored_load", "stored_kernels",    "first_result_generic"};
enum { NAMES = sizeof names / sizeof *names, MAX_REPEATS = 15 };
typedef double figures[NAMES + COUNTS];

/* Each figure is the median of `repeats`; one that was not measured counts as infinite. */
static void print(const drawn_problem *p, figures *measured, int repeats) {
    stn_text text = STN_TEXT_EMPTY;
    double median[NAMES + COUNTS];
    for (int i = 0; i < NAMES + COUNTS; i++) {
        double values[MAX_REPEATS];
        for (int r = 0; r < repeats; r++) values[r] = isnan(measured[r][i]) ? INFINITY : measured[r][i];
        median[i] = bench_median(values, repeats);
    }
    stn_text_printf(&text, "{\"label\":");
    stn_json_string(&text, p->label);
    for (int i = 0; i < NAMES; i++) stn_json_key(&text, names[i]), stn_json_number(&text, median[i]);
    stn_json_key(&text, "first_result");
    stn_text_printf(&text, "{");
    for (int i = 0; i < COUNTS; i++) {
        stn_text_printf(&text, "%s\"%" PRIu64 "\":", i ? "," : "", counts[i]);
        stn_json_number(&text, median[NAMES + i]);
    }
    stn_text_printf(&text, "}}");
    stn_text_append(&text, "", 1);
    if (!text.failed) puts(text.data), fflush(stdout);
    stn_text_clear(&text);
}

static stn_status measure(plans_device *d, const drawn_problem *p, figures measured, stn_error *error) {
    /* Kernels of the cold and the stored plan; of first_result; of the generic kernel. */
    char folders[3][64];
    int made = 0;
    times cold = {0}, stored = {0}, first_result = {0};
    double generic;
    stn_status status;
    for (; made < 3; made++)
        if (!plans_folder_make(folders[made], sizeof folders[made])) {
            status = stn_fail(error, STN_ERROR_IO, "no temporary folder");
            goto done;
        }
    const char *const folder = folders[0];
    STN_TRY_GOTO(status, time_plan(d, p, folder, false, 0, &cold, error), done);
    STN_TRY_GOTO(status, time_plan(d, p, folder, false, 0, &stored, error), done);
    STN_TRY_GOTO(status, time_choosing(p, folder, &stored.choose, error), done);
    STN_TRY_GOTO(status, time_plan(d, p, folders[1], true, stored.first, &first_result, error), done);
    STN_TRY_GOTO(status, time_generic(d, p, folders[2], &generic, error), done);
    const figures all = {
        cold.plan,         stored.plan, cold.first,    cold.many,   stored.first,           stored.many,
        first_result.plan, generic,     stored.choose, stored.load, (double)stored.kernels, first_result.generic};
    memcpy(measured, all, sizeof all);
    memcpy(measured + NAMES, first_result.after, sizeof first_result.after);
done:
    while (made) plans_folder_remove(folders[--made]);
    return status;
}

static stn_status measure_all(plans_device *d, const drawn_problem *p, int repeats, stn_error *error) {
    figures measured[MAX_REPEATS];
    STN_TRY(plans_device_load(d, p, error));
    for (int r = 0; r < repeats; r++) STN_TRY(measure(d, p, measured[r], error));
    print(p, measured, repeats);
    return STN_OK;
}

/* The predicted seconds of the choice, and its error message where there is none. */
static double predicted(plans_device *d, const drawn_problem *p) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    options.estimate_only = 1;
    if (stn_plan_create(d->machine.context, &p->r.problem, &options, &plan, NULL) != STN_OK) return NAN;
    const double seconds = plan->estimate.seconds;
    stn_plan_destroy(plan);
    return seconds;
}

stn_status plans_cold(const plans_options *o, stn_error *error) {
    plans_device device = {0};
    drawn_problem *p = malloc(sizeof *p);
    stn_status status = STN_OK;
    const int repeats = (int)fmin(fmax(o->repeat, 1), MAX_REPEATS);
    int done = 0;
    if (!p) return stn_fail_memory(error, "a problem", sizeof *p);
    STN_TRY_GOTO(status, plans_device_open(":memory:", &device, error), done);
    const double end = bench_now() + o->limit;
    for (uint64_t i = (uint64_t)o->first; done < (int)o->count && bench_now() < end; i++) {
        stn_error why = {0};
        if (!drawn_problem_make(o->seed, i, o->small, p)) continue;
        const double seconds = predicted(&device, p);
        if (seconds >= o->least && seconds <= o->most) {
            if (measure_all(&device, p, repeats, &why) == STN_OK)
                done++;
            else
                fprintf(stderr, "%s: %s\n", p->label, why.message);
        }
        drawn_problem_clear(p);
    }
done:
    free(p);
    plans_device_close(&device);
    return status;
}
