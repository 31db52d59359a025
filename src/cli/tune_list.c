/* See tune_list.h. */
#include "cli/tune_list.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/problem_list.h"
#include "cli/progress.h"
#include "io/output.h"
#include "plan/plan.h"
#include "tune/seeds.h"

static const cli_listed_kind *const kinds[] = {&cli_listed_transform, &cli_listed_stencil, NULL};

typedef struct session {
    const cli_tune_list *order;
    const cli_report_settings *report;
    stn_plan_options options;
    stn_context *context;
    cli_problem_list problems;
    tune_wisdom seeds;
    size_t measured, failed, left;
} session;

/* ---- one problem ------------------------------------------------------------------------------------------------- */

static void tell_failure(const session *s, const cli_listed_problem *problem, const stn_error *why) {
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
    stn_text_plain(line);
    puts(line);
    stn_text_free(line);
}

static size_t measured_rows(const stn_plan *plan) {
    size_t count = 0;
    for (size_t i = 0; i < plan->ranked; i++) count += plan->ranking[i].measured > 0;
    return count;
}

static stn_status tell(const session *s, const cli_listed_problem *problem, const stn_plan *plan, stn_error *error) {
    char *text;
    if (s->report->quiet) return STN_OK;
    if (s->report->json) {
        STN_TRY(stn_plan_describe(plan, STN_JSON, &text, error));
        puts(text);
        stn_text_free(text);
    } else
        printf("%s: %zu candidates measured, %s, %.6g s, %.6g s predicted\n", problem->label, measured_rows(plan),
               plan->strategy->name, plan->measured, plan->estimate.seconds);
    fflush(stdout);
    return STN_OK;
}

static stn_status tune_made(session *s, const cli_listed_problem *problem, const void *job, stn_error *error) {
    stn_plan *plan;
    stn_plan_options options = s->options;
    if (problem->strategy) options.strategy = problem->strategy;
    STN_TRY(problem->kind->plan(job, s->context, &options, &plan, error));
    const bool good = measured_rows(plan) > 0;
    stn_status status =
        good ? tell(s, problem, plan, error) : stn_fail(error, STN_ERROR_UNSUPPORTED, "nothing could be measured");
    if (status == STN_OK && s->order->seeds) status = tune_seed_add(plan, &s->seeds, error);
    stn_plan_destroy(plan);
    return status;
}

static void tune_one(session *s, const cli_listed_problem *problem) {
    stn_error why = {0};
    void *job = calloc(1, problem->kind->job_size);
    stn_status status = job ? problem->kind->make(problem->value, job, &why) : stn_fail_memory(&why, "a problem", 1);
    if (status == STN_OK) status = tune_made(s, problem, job, &why);
    if (status != STN_OK) tell_failure(s, problem, &why);
    if (job && problem->kind->clear) problem->kind->clear(job);
    free(job);
    s->measured += status == STN_OK;
    s->failed += status != STN_OK;
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static size_t common_factor(size_t a, size_t b) { return b ? common_factor(b, a % b) : a; }

/* A step about the golden part of the list, without a factor in common with it, comes by all. */
static size_t stride_of(size_t count) {
    size_t stride = (size_t)(0.618 * (double)count);
    while (stride > 1 && common_factor(count, stride) > 1) stride--;
    return stride ? stride : 1;
}

static void tune_all(session *s) {
    const size_t count = s->problems.count, stride = stride_of(count);
    const double start = cli_now();
    for (size_t i = 0; i < count; i++) {
        if (s->order->limit > 0 && cli_now() - start > s->order->limit) {
            s->left = count - i;
            return;
        }
        tune_one(s, &s->problems.list[i * stride % count]);
    }
}

static stn_status write_seeds(const session *s, stn_error *error) {
    stn_text text = STN_TEXT_EMPTY;
    char *data;
    if (!s->order->seeds) return STN_OK;
    if (!s->seeds.count) return stn_fail(error, STN_ERROR_UNSUPPORTED, "nothing was measured, so there are no seeds");
    tune_wisdom_print(&s->seeds, &text);
    STN_TRY(stn_text_take(&text, &data, error));
    stn_status status = stn_output_write(s->order->seeds, data, strlen(data), error);
    stn_text_free(data);
    return status;
}

stn_status cli_tune_list_run(const cli_tune_list *order, const cli_device_settings *device,
                             const cli_report_settings *report, stn_error *error) {
    session s = {.order = order, .report = report};
    stn_status status;
    STN_TRY_GOTO(status, cli_plan_options(device, &s.options, error), done);
    if (s.options.mode == STN_MODE_AUTO) s.options.mode = STN_MODE_MEASURE;
    s.options.estimate_only = 1;
    if (order->seeds) STN_TRY_GOTO(status, stn_output_probe(order->seeds, error), done);
    STN_TRY_GOTO(status, cli_problem_list_read(order->problems, kinds, &s.problems, error), done);
    STN_TRY_GOTO(status, cli_open_context(device, report, &s.context, error), done);
    tune_all(&s);
    if (!report->quiet && !report->json)
        printf("%zu problems measured, %zu not, %zu left for want of time\n", s.measured, s.failed, s.left);
    status = write_seeds(&s, error);
done:
    tune_wisdom_clear(&s.seeds);
    cli_problem_list_clear(&s.problems);
    stn_context_destroy(s.context);
    return status;
}
