/* stentor run: read a grid, apply the stencil, write what became of it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/report.h"
#include "cli/runner.h"
#include "cli/settings.h"
#include "io/npy.h"
#include "io/output.h"
#include "io/relief.h"
#include "problem/stencil.h"

typedef struct run_settings {
    cli_problem_settings problem;
    cli_device_settings device;
    cli_report_settings report;
    const char *out, *png;
    uint64_t repeat;
    bool progress;
} run_settings;

typedef struct run_summary {
    const char *strategy;
    double seconds; /* median of the repeats */
    double rate;    /* points * steps per second */
    double max_symbol, log10_growth;
    bool stable, on_device;
    size_t nonfinite;
} run_summary;

static const cli_option run_options[] = {
    {"--out", "FILE.npy", CLI_TEXT, offsetof(run_settings, out), "the result"},
    {"--png", "FILE.png", CLI_TEXT, offsetof(run_settings, png),
     "hill-shaded relief, before and after (2D, or the middle slice of 3D)"},
    {"--repeat", "N", CLI_COUNT, offsetof(run_settings, repeat), "run N times and give the median time (default 1)"},
    {"--progress", NULL, CLI_FLAG, offsetof(run_settings, progress),
     "show progress even where stderr is no terminal or the run is short"},
};

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Everything about the outputs that can be known before a long run. */
static stn_status check_outputs(const run_settings *settings, const cli_job *job, stn_error *error) {
    if (settings->repeat < 1 || settings->repeat > 1000000)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--repeat wants 1 to 1000000");
    if (settings->png && stn_stencil_rank(job->stencil) < 2)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--png draws grids of two or three axes: this has one");
    if (settings->out && settings->png && !strcmp(settings->out, settings->png))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--out and --png both name '%s': give each a file of its own", settings->out);
    if (settings->out) STN_TRY(stn_output_probe(settings->out, error));
    return settings->png ? stn_output_probe(settings->png, error) : STN_OK;
}

/* Runs `repeat` times; the grid then holds the result. */
static stn_status run_repeats(cli_runner *runner, uint64_t repeat, stn_array *grid, double *median, stn_error *error) {
    double *seconds = calloc(repeat, sizeof *seconds);
    if (!seconds) return stn_fail_memory(error, "the times", repeat * sizeof *seconds);
    stn_status status = STN_OK;
    for (uint64_t i = 0; i < repeat; i++)
        STN_TRY_GOTO(status, cli_runner_run(runner, grid->data, &seconds[i], error), done);
    qsort(seconds, repeat, sizeof *seconds, compare);
    *median = repeat % 2 ? seconds[repeat / 2] : (seconds[repeat / 2 - 1] + seconds[repeat / 2]) / 2;
    status = cli_runner_result(runner, grid->data, error);
done:
    free(seconds);
    return status;
}

static void summarize(const cli_job *job, const cli_runner *runner, const stn_array *result, double seconds,
                      run_summary *summary) {
    summary->strategy = stn_plan_strategy(runner->plan);
    summary->on_device = stn_context_is_device(runner->context);
    summary->seconds = seconds;
    summary->rate = seconds > 0 ? (double)job->points * (double)job->problem.steps / seconds : 0;
    summary->max_symbol = stn_stencil_max_symbol(job->stencil);
    summary->stable = summary->max_symbol <= 1 + STN_SYMBOL_ERROR;
    summary->log10_growth = (double)job->problem.steps * log10(summary->max_symbol);
    summary->nonfinite = stn_array_nonfinite(result);
}

static stn_status prepare_png(const run_settings *settings, const cli_job *job, const stn_array *result,
                              const stn_panel *before, stn_output *png, stn_error *error) {
    stn_panel after = {0};
    char caption[64];
    snprintf(caption, sizeof caption, "after %llu step%s", (unsigned long long)job->problem.steps,
             job->problem.steps == 1 ? "" : "s");
    STN_TRY(stn_panel_make(result, job->rank > stn_stencil_rank(job->stencil), &after, error));
    stn_status status = stn_relief_prepare(settings->png, before, &after, "before", caption, png, error);
    stn_panel_clear(&after);
    return status;
}

/* Both files are complete before either takes its place. */
static stn_status write_outputs(const run_settings *settings, const cli_job *job, const stn_array *result,
                                const stn_panel *before, stn_error *error) {
    stn_output out = {0}, png = {0};
    stn_status status = STN_OK;
    if (settings->png) STN_TRY_GOTO(status, prepare_png(settings, job, result, before, &png, error), done);
    if (settings->out) STN_TRY_GOTO(status, stn_npy_prepare(settings->out, result, &out, error), done);
    STN_TRY_GOTO(status, stn_output_commit(&out, error), done);
    STN_TRY_GOTO(status, stn_output_commit(&png, error), done);
done:
    stn_output_abandon(&out);
    stn_output_abandon(&png);
    return status;
}

static void print_text(const run_settings *settings, const cli_job *job, const run_summary *summary) {
    char extents[128], boundary[256], repeats[64] = "";
    cli_format_extents(job, extents, sizeof extents);
    cli_format_boundary(job, boundary, sizeof boundary);
    if (settings->repeat > 1)
        snprintf(repeats, sizeof repeats, " (median of %llu)", (unsigned long long)settings->repeat);
    printf("strategy   %s, on the %s\n", summary->strategy, summary->on_device ? "GPU" : "host");
    printf("points     %zu (%s), %s, %s\n", job->points, extents, stn_dtype_name(job->problem.dtype), boundary);
    printf("steps      %llu\n", (unsigned long long)job->problem.steps);
    printf("time       %.4g s%s\n", summary->seconds, repeats);
    printf("speed      %.4g GStencil/s\n", summary->rate / 1e9);
    printf("symbol     max |K| = %.7g: %s", summary->max_symbol, summary->stable ? "stable\n" : "unstable, ");
    if (!summary->stable) printf("grows by up to 10^%.4g\n", summary->log10_growth);
    if (settings->out || settings->png)
        printf("wrote      %s%s%s\n", settings->out ? settings->out : "", settings->out && settings->png ? ", " : "",
               settings->png ? settings->png : "");
}

static stn_status print_json(const run_settings *settings, const cli_job *job, const cli_runner *runner,
                             const run_summary *summary, stn_error *error) {
    stn_text text = STN_TEXT_EMPTY;
    cli_json_begin(&text, runner->plan, summary->on_device, job->rank, job->extent, job->problem.dtype);
    stn_json_key(&text, "points"), stn_text_printf(&text, "%zu", job->points);
    stn_json_key(&text, "steps"), stn_text_printf(&text, "%llu", (unsigned long long)job->problem.steps);
    stn_json_key(&text, "repeat"), stn_text_printf(&text, "%llu", (unsigned long long)settings->repeat);
    stn_json_key(&text, "seconds"), stn_json_number(&text, summary->seconds);
    stn_json_key(&text, "gstencil_per_second"), stn_json_number(&text, summary->rate / 1e9);
    stn_json_key(&text, "max_symbol"), stn_json_number(&text, summary->max_symbol);
    stn_json_key(&text, "stable"), stn_text_printf(&text, summary->stable ? "true" : "false");
    stn_json_key(&text, "log10_growth"), stn_json_number(&text, summary->stable ? 0 : summary->log10_growth);
    stn_json_key(&text, "nonfinite"), stn_text_printf(&text, "%zu", summary->nonfinite);
    stn_json_key(&text, "out"), stn_json_string(&text, settings->out);
    stn_json_key(&text, "png"), stn_json_string(&text, settings->png);
    return cli_json_print(&text, runner->context, runner->plan, error);
}

static stn_status report(const run_settings *settings, const cli_job *job, const cli_runner *runner,
                         const run_summary *summary, stn_error *error) {
    if (settings->report.quiet && !settings->report.json) return STN_OK;
    if (!settings->report.quiet && !summary->stable)
        fprintf(stderr, "stentor: warning: max |symbol| is %.7g, above 1: this stencil grows without bound\n",
                summary->max_symbol);
    if (!settings->report.quiet && summary->nonfinite)
        fprintf(stderr, "stentor: warning: %zu of %zu values of the result are NaN or infinite\n", summary->nonfinite,
                job->points);
    if (settings->report.json) return print_json(settings, job, runner, summary, error);
    print_text(settings, job, summary);
    return STN_OK;
}

static cli_show show_of(const run_settings *settings) {
    if (settings->report.quiet || settings->report.json) return CLI_SHOW_NEVER;
    if (settings->progress) return CLI_SHOW_ALWAYS;
    return isatty(STDERR_FILENO) ? CLI_SHOW_AUTO : CLI_SHOW_NEVER;
}

static stn_status run(const run_settings *settings, stn_error *error) {
    stn_status status;
    cli_job job = {0};
    stn_array grid = {0};
    stn_panel before = {0};
    stn_context *context = NULL;
    cli_runner runner = {0};
    run_summary summary = {0};
    double seconds = 0;
    STN_TRY_GOTO(status, cli_job_make(&settings->problem, &job, error), done);
    STN_TRY_GOTO(status, check_outputs(settings, &job, error), done);
    STN_TRY_GOTO(status, cli_open_context(&settings->device, &settings->report, &context, error), done);
    STN_TRY_GOTO(status, cli_job_grid(&settings->problem, &job, &grid, error), done);
    if (settings->png)
        STN_TRY_GOTO(status, stn_panel_make(&grid, job.rank > stn_stencil_rank(job.stencil), &before, error), done);
    STN_TRY_GOTO(status, cli_runner_make(context, &job, &settings->device, show_of(settings), &runner, error), done);
    STN_TRY_GOTO(status, run_repeats(&runner, settings->repeat, &grid, &seconds, error), done);
    summarize(&job, &runner, &grid, seconds, &summary);
    STN_TRY_GOTO(status, write_outputs(settings, &job, &grid, &before, error), done);
    status = report(settings, &job, &runner, &summary, error);
done:
    cli_runner_clear(&runner);
    stn_context_destroy(context);
    stn_panel_clear(&before);
    stn_array_clear(&grid);
    cli_job_clear(&job);
    return status;
}

stn_status cmd_run(int argc, char **argv, stn_error *error) {
    run_settings settings = {.problem.steps = 1, .repeat = 1};
    cli_group groups[] = {CLI_PROBLEM_GROUP(&settings.problem), CLI_GROUP("Output", run_options, &settings),
                          CLI_DEVICE_GROUP(&settings.device), CLI_TUNE_GROUP(&settings.device),
                          CLI_REPORT_GROUP(&settings.report)};
    cli_usage usage = {.command = "run",
                       .summary = "apply a stencil to a grid, for any number of steps",
                       .synopsis = "--in FILE.npy --stencil NAME [options]",
                       .notes =
                           "u[t+1](x) = sum over taps of weight * u[t](x + offset): a correlation.\n"
                           "Outputs appear only after success, each whole; what was there before is kept until "
                           "then.\n",
                       .groups = groups,
                       .group_count = sizeof groups / sizeof *groups};
    bool help;
    STN_TRY(cli_parse(&usage, argc, argv, &help, error));
    return help ? STN_OK : run(&settings, error);
}
