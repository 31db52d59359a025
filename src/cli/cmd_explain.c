/* stentor explain: lists the strategies that can serve a problem, the cheapest first. */
#include <stdio.h>

#include "base/error.h"
#include "cli/command.h"
#include "cli/shared_options.h"

typedef struct explain_settings {
    cli_problem_settings problem;
    cli_device_settings device;
    cli_report_settings report;
} explain_settings;

static stn_status explain(const explain_settings *settings, stn_error *error) {
    cli_job job = {0};
    stn_context *context = NULL;
    stn_plan *plan = NULL;
    char *text = NULL;
    stn_plan_options options;
    stn_status status;
    STN_TRY_GOTO(status, cli_plan_options(&settings->device, &options, error), done);
    options.estimate_only = 1; /* needs no compiler */
    STN_TRY_GOTO(status, cli_job_make(&settings->problem, &job, error), done);
    const cli_device_settings device = cli_device_of(&settings->device, &job);
    STN_TRY_GOTO(status, cli_open_context(&device, &settings->report, &context, error), done);
    STN_TRY_GOTO(status, stn_plan_create(context, &job.problem, &options, &plan, error), done);
    STN_TRY_GOTO(status, stn_plan_describe(plan, settings->report.json ? STN_JSON : STN_TEXT, &text, error), done);
    if (!settings->report.quiet) printf("%s%s", text, settings->report.json ? "\n" : "");
done:
    stn_text_free(text);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    cli_job_clear(&job);
    return status;
}

stn_status cmd_explain(int argc, char **argv, stn_error *error) {
    explain_settings settings = {.problem.steps = 1};
    cli_group groups[] = {CLI_PROBLEM_GROUP(&settings.problem), CLI_ARCH_GROUP(&settings.device),
                          CLI_DEVICE_GROUP(&settings.device), CLI_TUNE_GROUP(&settings.device),
                          CLI_REPORT_GROUP(&settings.report)};
    cli_usage usage = {.command = "explain",
                       .summary = "list the strategies that can serve a problem, and their predicted costs",
                       .synopsis = "--size NxN --stencil NAME [options]",
                       .groups = groups,
                       .group_count = sizeof groups / sizeof *groups};
    bool help;
    STN_TRY(cli_parse(&usage, argc, argv, &help, error));
    if (help) return STN_OK;
    STN_TRY(cli_resolve_mode(&settings.problem, &settings.device, error));
    return explain(&settings, error);
}
