/* stentor tune: measures a problem's candidates, stores the times, and reports the search. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "cli/command.h"
#include "cli/command_output.h"
#include "cli/shared_options.h"
#include "cli/tune_list.h"
#include "cli/tune_page.h"
#include "io/output.h"

typedef struct tune_settings {
    cli_problem_settings problem;
    cli_device_settings device;
    cli_report_settings report;
    const char *html;
    cli_tune_list list;
    const char *limit, *within; /* as given */
} tune_settings;

static const cli_option page_options[] = {
    {"--html", "FILE.html", CLI_TEXT, offsetof(tune_settings, html),
     "write a report page: time by candidate, roofline, predicted against\nmeasured, table"},
};

static const cli_option list_options[] = {
    {"--problems", "LIST.json", CLI_TEXT, offsetof(tune_settings, list.problems),
     "all problems of a list, in the format of pack build, instead of one;\nwith --json one object per line"},
    {"--limit", "SECONDS", CLI_TEXT, offsetof(tune_settings, limit), "start no further problem after this time"},
    {"--within", "TIMES", CLI_TEXT, offsetof(tune_settings, within),
     "skip candidates whose estimate exceeds this multiple of the best one,\nexcept the best of each strategy"},
    {"--again", NULL, CLI_FLAG, offsetof(tune_settings, list.again),
     "measure each problem twice, the second time without stored times"},
};

/* text NULL: the option was not given. */
static stn_status parse_positive(const char *option, const char *text, const char *what, double *value,
                                 stn_error *error) {
    if (text && (!stn_number_parse(text, strlen(text), value) || !(*value > 0)))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "%s '%.40s': give %s, more than 0", option, text, what);
    return STN_OK;
}

static stn_status tune_list(tune_settings *settings, stn_error *error) {
    STN_TRY(parse_positive("--limit", settings->limit, "seconds", &settings->list.limit, error));
    STN_TRY(parse_positive("--within", settings->within, "a number", &settings->list.within, error));
    if (settings->html || settings->problem.size || settings->problem.in)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--problems is a list, and --size, --in and --html describe one problem: leave one out");
    return cli_tune_list_run(&settings->list, &settings->device, &settings->report, error);
}

static stn_status write_page(const char *path, const stn_plan *plan, stn_error *error) {
    stn_text html = STN_TEXT_EMPTY;
    char *data;
    cli_tune_page(plan, &html);
    STN_TRY(stn_text_take(&html, &data, error));
    stn_status status = stn_output_write(path, data, strlen(data), error);
    stn_text_free(data);
    return status;
}

static stn_status show(const tune_settings *settings, const stn_plan *plan, stn_error *error) {
    char *text;
    STN_TRY(stn_plan_describe(plan, settings->report.json ? STN_JSON : STN_TEXT, &text, error));
    if (!settings->report.quiet) printf("%s%s", text, settings->report.json ? "\n" : "");
    stn_text_free(text);
    return settings->html ? write_page(settings->html, plan, error) : STN_OK;
}

static stn_status tune(const tune_settings *settings, stn_error *error) {
    cli_job job = {0};
    stn_context *context = NULL;
    stn_plan *plan = NULL;
    stn_plan_options options;
    stn_status status;
    STN_TRY_GOTO(status, cli_plan_options(&settings->device, &options, error), done);
    if (options.mode == STN_MODE_AUTO) options.mode = STN_MODE_MEASURE;
    options.estimate_only = 1; /* candidates are measured and stored; the plan is not executed */
    STN_TRY_GOTO(status, cli_job_make(&settings->problem, &job, error), done);
    STN_TRY_GOTO(status, cli_open_context(&settings->device, &settings->report, &context, error), done);
    STN_TRY_GOTO(status, stn_plan_create(context, &job.problem, &options, &plan, error), done);
    status = show(settings, plan, error);
done:
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    cli_job_clear(&job);
    return status;
}

stn_status cmd_tune(int argc, char **argv, stn_error *error) {
    tune_settings settings = {.problem.steps = 1};
    cli_group groups[] = {CLI_PROBLEM_GROUP(&settings.problem),
                          CLI_GROUP("Output", page_options, &settings),
                          CLI_GROUP("A list of problems", list_options, &settings),
                          CLI_ARCH_GROUP(&settings.device),
                          CLI_DEVICE_GROUP(&settings.device),
                          CLI_TUNE_GROUP(&settings.device),
                          CLI_REPORT_GROUP(&settings.report)};
    cli_usage usage = {.command = "tune",
                       .summary = "measure a problem's candidates, store the times, write a report",
                       .synopsis = "--size NxN --stencil NAME [--mode patient] [--html FILE.html] [options]",
                       .groups = groups,
                       .group_count = sizeof groups / sizeof *groups};
    bool help;
    STN_TRY(cli_parse(&usage, argc, argv, &help, error));
    if (help) return STN_OK;
    STN_TRY(cli_resolve_mode(&settings.problem, &settings.device, error));
    STN_TRY(cli_reserve_stdout(settings.html, error));
    return settings.list.problems ? tune_list(&settings, error) : tune(&settings, error);
}
