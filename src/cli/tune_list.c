/* See tune_list.h: measures the problems of a list in a spread order, and writes the fastest
 * candidates. */
#include "cli/tune_list.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/sanitize.h"
#include "cli/problem_list.h"
#include "cli/progress.h"
#include "cli/tune_precompile.h"
#include "plan/plan.h"

static const cli_listed_kind *const kinds[] = {&cli_listed_transform, &cli_listed_stencil, NULL};

typedef struct session {
    const cli_tune_list *order;
    const cli_report_settings *report;
    stn_plan_options options; /* options of the plans whose candidates are measured */
    tune_request tuning;
    stn_context *context;
    cli_problem_list problems;
    size_t measured, failed, left;
} session;

/* ---- one problem ----------------------------------------------------------------------------- */

static void print_failure(const session *s, const cli_listed_problem *problem, const stn_error *why) {
    stn_text text = STN_TEXT_EMPTY;
    char *line = NULL;
    if (s->report->quiet) return;
    if (s->report->json) {
        stn_text_printf(&text, "{");
        stn_json_key(&text, "label"), stn_json_string(&text, problem->label);
        stn_json_key(&text, "error"), stn_json_string(&text, why->message);
        stn_text_printf(&text, "}");
    } else
        stn_text_printf(&text, "%s: %s", problem->label, why->message);
    if (stn_text_take(&text, &line, NULL) != STN_OK) return;
    stn_text_sanitize(line);
    puts(line);
    stn_text_free(line);
}

static size_t measured_rows(const stn_plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->ranked; i++) count += plan->ranking[i].measured > 0;
    return count;
}

/* The measurement of one problem. */
typedef struct measurement {
    const cli_listed_problem *problem;
    stn_plan *plan;
    stn_ranked estimated;                 /* the choice of STN_MODE_ESTIMATE */
    double wait_seconds, measure_seconds; /* seconds: waiting for kernels, measuring */
    bool again;
} measurement;

static void put_values(const stn_candidate *candidate, stn_text *text) {
    stn_json_comma(text);
    stn_text_printf(text, "[");
    for (int i = 0; i < STN_CANDIDATE_VALUES; i++) stn_text_printf(text, "%s%d", i ? "," : "", candidate->values[i]);
    stn_text_printf(text, "]");
}

/* Prints the parameters of the estimate's choice and of each ranked candidate, since names may be
 * equal. */
static void put_all_values(const measurement *c, stn_text *text) {
    stn_json_key(text, "estimated_values");
    put_values(&c->estimated.candidate, text);
    stn_json_open(text, "values", "[");
    for (size_t i = 0; i < c->plan->ranked; i++) put_values(&c->plan->ranking[i].candidate, text);
    stn_text_printf(text, "]");
}

static void put_times(const measurement *c, stn_text *text) {
    stn_text name = STN_TEXT_EMPTY;
    const stn_strategy *strategy = c->estimated.strategy;
    stn_json_key(text, "label"), stn_json_string(text, c->problem->label);
    stn_json_key(text, "again"), stn_text_printf(text, c->again ? "true" : "false");
    stn_json_key(text, "waited_seconds"), stn_json_number(text, c->wait_seconds);
    stn_json_key(text, "measuring_seconds"), stn_json_number(text, c->measure_seconds);
    if (strategy->name_candidate) strategy->name_candidate(&c->plan->task, &c->estimated.candidate, &name);
    stn_text_append(&name, "", 1);
    stn_json_open(text, "estimated", "[");
    stn_json_string(text, strategy->name);
    stn_text_printf(text, ",");
    if (strategy->name_candidate && !name.failed)
        stn_json_string(text, name.data);
    else
        stn_text_printf(text, "null");
    stn_text_printf(text, "]");
    stn_text_clear(&name);
    put_all_values(c, text);
}

static stn_status print_json(const measurement *c, stn_error *error) {
    stn_text text = STN_TEXT_EMPTY;
    char *description, *line;
    STN_TRY(stn_plan_describe(c->plan, STN_JSON, &description, error));
    stn_text_append(&text, description, strlen(description) - 1); /* without the closing bracket */
    stn_text_free(description);
    put_times(c, &text);
    stn_text_printf(&text, "}");
    STN_TRY(stn_text_take(&text, &line, error));
    puts(line);
    stn_text_free(line);
    return STN_OK;
}

static stn_status print_measurement(const session *s, const measurement *c, stn_error *error) {
    const stn_plan *plan = c->plan;
    if (s->report->quiet) return STN_OK;
    if (s->report->json)
        STN_TRY(print_json(c, error));
    else
        printf("%s: %zu candidates measured%s, %s, %.6g s, %.6g s predicted\n", c->problem->label, measured_rows(plan),
               c->again ? " again" : "", plan->strategy->name, plan->measured, plan->estimate.seconds);
    fflush(stdout);
    return STN_OK;
}

static stn_status measure_candidates(const session *s, measurement *c, const char *strategy, const tune_request *order,
                                     stn_error *error) {
    const double start = stn_clock_seconds();
    if (!c->plan->machine.present) { /* on an absent GPU: only the ranking by estimate */
        stn_plan_rank(c->plan, strategy, STN_PLAN_RANKING);
        return print_measurement(s, c, error);
    }
    tune_measure(c->plan, strategy, order);
    stn_plan_take(c->plan, &c->plan->ranking[0]);
    c->measure_seconds = stn_clock_seconds() - start;
    return measured_rows(c->plan) ? print_measurement(s, c, error)
                                  : stn_fail(error, STN_ERROR_UNSUPPORTED, "nothing could be measured");
}

static stn_status tune_made(session *s, const cli_listed_problem *problem, const void *job, double wait_seconds,
                            stn_error *error) {
    measurement c = {.problem = problem, .wait_seconds = wait_seconds};
    stn_plan_options options = s->options;
    if (problem->strategy) options.strategy = problem->strategy;
    STN_TRY(problem->kind->plan(job, s->context, &options, &c.plan, error));
    c.estimated = c.plan->ranking[0];
    stn_status status = measure_candidates(s, &c, options.strategy, &s->tuning, error);
    if (status == STN_OK && s->order->again) {
        c.again = true, c.wait_seconds = 0;
        status = measure_candidates(s, &c, options.strategy,
                                    &(tune_request){.seconds = s->tuning.seconds, .without_wisdom = true}, error);
    }
    stn_plan_destroy(c.plan);
    return status;
}

static void tune_one(session *s, const cli_listed_problem *problem, double wait_seconds) {
    stn_error why = {0};
    void *job = calloc(1, problem->kind->job_size);
    stn_status status = job ? problem->kind->make(problem->value, job, &why) : stn_fail_memory(&why, "a problem", 1);
    if (status == STN_OK) status = tune_made(s, problem, job, wait_seconds, &why);
    if (status != STN_OK) print_failure(s, problem, &why);
    if (job && problem->kind->clear) problem->kind->clear(job);
    free(job);
    s->measured += status == STN_OK;
    s->failed += status != STN_OK;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static size_t common_divisor(size_t a, size_t b) { return b ? common_divisor(b, a % b) : a; }

/* A stride near 0.618 * count spreads over the list; coprime to count, it reaches all problems. */
static size_t stride_of(size_t count) {
    size_t stride = (size_t)(0.618 * (double)count);
    while (stride > 1 && common_divisor(count, stride) > 1) stride--;
    return stride ? stride : 1;
}

static void tune_in_order(session *s, const cli_listed_problem *const *order, cli_tune_precompile *ahead) {
    const double start = stn_clock_seconds();
    for (size_t i = 0; i < s->problems.count; i++) {
        const double asked = stn_clock_seconds();
        if (s->order->limit > 0 && asked - start > s->order->limit) {
            s->left = s->problems.count - i;
            return;
        }
        cli_tune_precompile_wait(ahead, i);
        tune_one(s, order[i], stn_clock_seconds() - asked);
    }
}

static stn_status tune_all(session *s, const cli_device_settings *device, stn_error *error) {
    const size_t count = s->problems.count, stride = stride_of(count);
    const cli_listed_problem **order = calloc(count ? count : 1, sizeof *order);
    if (!order) return stn_fail_memory(error, "the problems' order", count * sizeof *order);
    for (size_t i = 0; i < count; i++) order[i] = &s->problems.list[i * stride % count];
    cli_tune_precompile *ahead = cli_tune_precompile_begin(order, count, s->context, device, &s->options, &s->tuning);
    tune_in_order(s, order, ahead);
    cli_tune_precompile_end(ahead);
    free(order);
    return STN_OK;
}

/* Sets up the search from the options. The plans to be measured are made by estimate. */
static void order_search(session *s) {
    const bool all = s->options.mode == STN_MODE_PATIENT;
    const double given = s->options.tune_seconds;
    s->tuning = (tune_request){.seconds = given > 0 ? given : all ? INFINITY : 10, .all = all};
    s->tuning.within = s->order->within;
    s->options.mode = STN_MODE_ESTIMATE;
    s->options.estimate_only = s->options.deterministic = 1;
}

stn_status cli_tune_list_run(const cli_tune_list *order, const cli_device_settings *device,
                             const cli_report_settings *report, stn_error *error) {
    session s = {.order = order, .report = report};
    stn_status status;
    STN_TRY_GOTO(status, cli_plan_options(device, &s.options, error), done);
    order_search(&s);
    STN_TRY_GOTO(status, cli_problem_list_read(order->problems, kinds, &s.problems, error), done);
    STN_TRY_GOTO(status, cli_open_context(device, report, &s.context, error), done);
    STN_TRY_GOTO(status, tune_all(&s, device, error), done);
    if (!report->quiet && !report->json)
        printf("%zu problems measured, %zu not, %zu left for want of time\n", s.measured, s.failed, s.left);
done:
    cli_problem_list_clear(&s.problems);
    stn_context_destroy(s.context);
    return status;
}
