/* stentor run: reads a grid, applies a stencil for some steps, writes the result. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/command_output.h"
#include "cli/forecast.h"
#include "cli/progress.h"
#include "cli/rank_run.h"
#include "cli/run_files.h"
#include "cli/run_system.h"
#include "cli/runner.h"
#include "cli/shared_options.h"
#include "cli/team_run.h"
#include "context/context.h"
#include "io/relief.h"
#include "problem/stencil.h"

typedef struct run_settings {
    cli_problem_settings problem;
    cli_device_settings device;
    cli_report_settings report;
    cli_run_files files;
    cli_system_settings system;
    uint64_t repeat;
    bool progress, stable;
    const char *devices, *checkpoint;
} run_settings;

typedef struct run_summary {
    const char *strategy;
    double seconds;                      /* median of the repeats */
    double driver, context, plan, first; /* seconds: driver start, context, plan, first execution */
    double context_driver, plan_driver;  /* parts of `context` and `plan` spent in the driver */
    double rate;                         /* points * steps per second */
    cli_forecast forecast;
    bool on_device;
    size_t nonfinite, values; /* numbers of the result that are not finite; all numbers */
} run_summary;

typedef struct run_arrays { /* all owned */
    stn_array grid, source, result;
    stn_panel before;
} run_arrays;

static const cli_option run_options[] = {
    {"--out", "FILE", CLI_TEXT, offsetof(run_settings, files.out),
     "the result: .npy, .raw, a grey .png of integers, or - for the standard\noutput (the summary then goes to "
     "stderr)"},
    {"--png", "FILE.png", CLI_TEXT, offsetof(run_settings, files.png),
     "hill-shaded relief, before and after (2D, or the middle slice of 3D);\nwith --every one of each snapshot: "
     "FILE-0001.png, FILE-0002.png, ..."},
    {"--repeat", "N", CLI_COUNT, offsetof(run_settings, repeat), "run N times and report the median time (default 1)"},
    {"--progress", NULL, CLI_FLAG, offsetof(run_settings, progress),
     "show progress also if stderr is not a terminal or the run is short"},
    {"--devices", "N,N", CLI_TEXT, offsetof(run_settings, devices),
     "several GPUs of this machine, such as 0,1, for one grid; the reported\ntime then includes copies to and from "
     "them"},
    {"--checkpoint", "FILE", CLI_TEXT, offsetof(run_settings, checkpoint),
     "with --every K: write the state to FILE after each K steps, and continue\nfrom FILE if it exists; it is removed "
     "when --out is written"},
    {"--stable", NULL, CLI_FLAG, offsetof(run_settings, stable),
     "fail instead of warning if the run grows (max |symbol| above 1)"},
};

static stn_status check_settings(const run_settings *settings, const cli_job *job, stn_error *error) {
    if (settings->repeat < 1 || settings->repeat > 1000000)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--repeat must be 1 to 1000000");
    return cli_run_files_check(&settings->files, &settings->problem, job, error);
}

/* Allocates the result: like the grid, or with --every a stack of snapshots along a new first
 * axis. */
static stn_status make_result(const cli_job *job, stn_array *result, stn_error *error) {
    size_t extent[STN_ARRAY_RANK + 1] = {job->snapshots};
    int stack = job->problem.every != 0;
    memcpy(extent + stack, job->extent, sizeof job->extent);
    return stn_array_make(job->rank + stack, extent, job->problem.dtype, result, error);
}

/* Runs `repeat` times and keeps the last result. */
static stn_status run_repeats(cli_runner *runner, uint64_t repeat, const run_arrays *arrays, run_summary *summary,
                              stn_error *error) {
    double *seconds = calloc(repeat, sizeof *seconds);
    if (!seconds) return stn_fail_memory(error, "the times", repeat * sizeof *seconds);
    stn_status status = STN_OK;
    for (uint64_t i = 0; i < repeat; i++)
        STN_TRY_GOTO(status, cli_runner_run(runner, arrays->grid.data, arrays->source.data, &seconds[i], error), done);
    summary->first = seconds[0];
    summary->seconds = cli_median(seconds, repeat);
    status = cli_runner_result(runner, arrays->result.data, error);
done:
    free(seconds);
    return status;
}

static void summarize(const cli_job *job, const cli_runner *runner, const stn_array *result, run_summary *summary) {
    summary->strategy = stn_plan_strategy(runner->plan);
    summary->on_device = stn_context_is_device(runner->context);
    const double seconds = summary->seconds;
    summary->plan = runner->plan_seconds;
    summary->plan_driver = runner->driver_seconds;
    summary->rate = seconds > 0 ? (double)job->points * (double)job->problem.steps / seconds : 0;
    summary->nonfinite = stn_array_nonfinite(result);
    summary->values = result->count;
}

static void print_files(const cli_run_files *files, const cli_job *job) {
    char name[4200];
    if (!files->out && !files->png) {
        printf("kept       nothing: name a file with --out to keep the result\n");
        return;
    }
    printf("wrote      %s", files->out ? files->out : "");
    if (files->png && cli_picture_name(files, job, 0, name, sizeof name)) printf("%s%s", files->out ? ", " : "", name);
    if (files->png && job->snapshots > 1 && cli_picture_name(files, job, job->snapshots - 1, name, sizeof name))
        printf("%s%s", job->snapshots > 2 ? ", ... " : ", ", name);
    printf("\n");
}

static void print_text(const run_settings *settings, const cli_job *job, const run_summary *summary) {
    char extents[128], boundary[256], growth[128], repeats[64] = "";
    cli_forecast_print(&summary->forecast, growth, sizeof growth);
    cli_format_extents(job, extents, sizeof extents);
    cli_format_boundary(job, boundary, sizeof boundary);
    if (settings->repeat > 1)
        snprintf(repeats, sizeof repeats, " (median of %llu)", (unsigned long long)settings->repeat);
    printf("strategy   %s, on the %s\n", summary->strategy, summary->on_device ? "GPU" : "host");
    printf("points     %zu (%s), %s, %s\n", job->points, extents, stn_dtype_name(job->problem.dtype), boundary);
    printf("steps      %llu", (unsigned long long)job->problem.steps);
    if (job->problem.every)
        printf(", a snapshot every %llu: %llu", (unsigned long long)job->problem.every,
               (unsigned long long)job->snapshots);
    printf("\n");
    if (settings->problem.source) printf("source     %s, added at each step\n", settings->problem.source);
    printf("time       %.4g s%s\n", summary->seconds, repeats);
    printf("speed      %.4g GStencil/s\n", summary->rate / 1e9);
    printf("symbol     %s\n", growth);
    print_files(&settings->files, job);
}

static stn_status print_json(const run_settings *settings, const cli_job *job, const cli_runner *runner,
                             const run_summary *summary, stn_error *error) {
    stn_text text = STN_TEXT_EMPTY;
    cli_json_begin(&text, runner->plan, summary->on_device, job->rank, job->extent, job->problem.dtype);
    stn_json_key(&text, "points"), stn_text_printf(&text, "%zu", job->points);
    stn_json_key(&text, "steps"), stn_text_printf(&text, "%llu", (unsigned long long)job->problem.steps);
    stn_json_key(&text, "every"), stn_text_printf(&text, "%llu", (unsigned long long)job->problem.every);
    stn_json_key(&text, "snapshots"), stn_text_printf(&text, "%llu", (unsigned long long)job->snapshots);
    stn_json_key(&text, "source"), stn_json_string(&text, settings->problem.source);
    stn_json_key(&text, "repeat"), stn_text_printf(&text, "%llu", (unsigned long long)settings->repeat);
    stn_json_key(&text, "seconds"), stn_json_number(&text, summary->seconds);
    stn_json_key(&text, "first_result"), stn_text_printf(&text, "{");
    stn_json_key(&text, "driver_seconds"), stn_json_number(&text, summary->driver);
    stn_json_key(&text, "context_seconds"), stn_json_number(&text, summary->context);
    stn_json_key(&text, "plan_seconds"), stn_json_number(&text, summary->plan);
    stn_json_key(&text, "context_in_driver_seconds"), stn_json_number(&text, summary->context_driver);
    stn_json_key(&text, "plan_in_driver_seconds"), stn_json_number(&text, summary->plan_driver);
    stn_json_key(&text, "execute_seconds"), stn_json_number(&text, summary->first);
    stn_text_printf(&text, "}");
    stn_json_key(&text, "gstencil_per_second"), stn_json_number(&text, summary->rate / 1e9);
    stn_json_key(&text, "max_symbol"), stn_json_number(&text, summary->forecast.max_symbol);
    stn_json_key(&text, "stable"), stn_text_printf(&text, summary->forecast.stable ? "true" : "false");
    stn_json_key(&text, "log10_growth"),
        stn_json_number(&text, summary->forecast.stable ? 0 : summary->forecast.log10_growth);
    stn_json_key(&text, "nonfinite"), stn_text_printf(&text, "%zu", summary->nonfinite);
    stn_json_key(&text, "out"), stn_json_string(&text, settings->files.out);
    stn_json_key(&text, "png"), stn_json_string(&text, settings->files.png);
    return cli_json_print(&text, runner->context, runner->plan, error);
}

static stn_status report(const run_settings *settings, const cli_job *job, const cli_runner *runner,
                         const run_summary *summary, stn_error *error) {
    if (settings->report.quiet && !settings->report.json) return STN_OK;
    cli_warn_nonfinite(summary->nonfinite, summary->values, &settings->report);
    if (settings->report.json) return print_json(settings, job, runner, summary, error);
    print_text(settings, job, summary);
    return STN_OK;
}

static cli_show show_of(const run_settings *settings) {
    if (settings->report.quiet || settings->report.json) return CLI_SHOW_NEVER;
    if (settings->progress) return CLI_SHOW_ALWAYS;
    return isatty(STDERR_FILENO) ? CLI_SHOW_AUTO : CLI_SHOW_NEVER;
}

static stn_status read_arrays(const run_settings *settings, const cli_job *job, run_arrays *arrays, stn_error *error) {
    STN_TRY(cli_job_grid(&settings->problem, job, &arrays->grid, error));
    STN_TRY(cli_job_source(&settings->problem, job, &arrays->source, error));
    if (settings->files.png)
        STN_TRY(stn_panel_make(&arrays->grid, job->rank > stn_stencil_rank(job->stencil), &arrays->before, error));
    return make_result(job, &arrays->result, error);
}

static void clear_arrays(run_arrays *arrays) {
    stn_panel_clear(&arrays->before);
    stn_array_clear(&arrays->grid);
    stn_array_clear(&arrays->source);
    stn_array_clear(&arrays->result);
}

static void warn(const run_settings *settings, const cli_job *job, const run_arrays *arrays, const cli_runner *runner,
                 const cli_forecast *forecast) {
    cli_warn_rounded(&arrays->grid, settings->problem.in, &settings->report);
    cli_warn_rounded(&arrays->source, settings->problem.source, &settings->report);
    cli_warn_growth(forecast, job, &arrays->grid, &settings->report);
    cli_print_duration(runner->predicted * (double)settings->repeat, &settings->report);
}

static stn_status check_growth(const run_settings *settings, const cli_forecast *forecast, stn_error *error) {
    if (!settings->stable || forecast->stable) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "max |symbol| is %.7g, above 1, so that this run grows by up to 10^%.4g: use smaller weights, or "
                    "leave out --stable",
                    forecast->max_symbol, forecast->log10_growth);
}

/* Reports a run on several devices, without the ranking of candidates. */
static stn_status report_team(const run_settings *settings, const cli_job *job, const cli_team_run *team,
                              const run_arrays *arrays, stn_error *error) {
    char *description = NULL;
    const double rate = team->seconds > 0 ? (double)job->points * (double)job->problem.steps / team->seconds / 1e9 : 0;
    const size_t nonfinite = stn_array_nonfinite(&arrays->result);
    cli_warn_nonfinite(nonfinite, arrays->result.count, &settings->report);
    if (settings->report.json) {
        stn_text text = STN_TEXT_EMPTY;
        stn_text_printf(&text, "{\"members\":%d,\"points\":%zu,\"steps\":%llu,\"seconds\":", stn_team_size(team->team),
                        job->points, (unsigned long long)job->problem.steps);
        stn_json_number(&text, team->seconds);
        stn_json_key(&text, "gstencil_per_second"), stn_json_number(&text, rate);
        stn_json_key(&text, "nonfinite"), stn_text_printf(&text, "%zu", nonfinite);
        stn_json_key(&text, "out"), stn_json_string(&text, settings->files.out);
        stn_text_printf(&text, "}");
        STN_TRY(stn_text_take(&text, &description, error));
        printf("%s\n", description);
    } else if (!settings->report.quiet) {
        STN_TRY(stn_team_plan_describe(team->plan, &description, error));
        printf("%s\ntime       %.4g s, with the grid's way to the devices and back\nspeed      %.4g GStencil/s\n",
               description, team->seconds, rate);
        print_files(&settings->files, job);
    }
    stn_text_free(description);
    return STN_OK;
}

static stn_status run_team(const run_settings *settings, stn_error *error) {
    stn_status status;
    cli_job job = {0};
    run_arrays arrays = {0};
    cli_team_run team = {0};
    STN_TRY_GOTO(status, cli_job_make(&settings->problem, &job, error), done);
    STN_TRY_GOTO(status, check_settings(settings, &job, error), done);
    STN_TRY_GOTO(status, read_arrays(settings, &job, &arrays, error), done);
    const cli_forecast forecast = cli_forecast_of(&job);
    STN_TRY_GOTO(status, check_growth(settings, &forecast, error), done);
    STN_TRY_GOTO(
        status,
        cli_team_run_make(settings->devices, &job.problem, NULL, &settings->device, &settings->report, &team, error),
        done);
    cli_warn_growth(&forecast, &job, &arrays.grid, &settings->report);
    STN_TRY_GOTO(status,
                 cli_team_run_execute(&team, show_of(settings), settings->repeat, arrays.grid.data,
                                      job.problem.has_source ? arrays.source.data : NULL, arrays.result.data, error),
                 done);
    STN_TRY_GOTO(status,
                 cli_run_files_write(&settings->files, &job, &arrays.result, &arrays.before, &settings->report, error),
                 done);
    status = report_team(settings, &job, &team, &arrays, error);
done:
    cli_team_run_clear(&team);
    clear_arrays(&arrays);
    cli_job_clear(&job);
    return status;
}

static stn_status run(const run_settings *settings, stn_error *error) {
    stn_status status;
    cli_job job = {0};
    run_arrays arrays = {0};
    stn_context *context = NULL;
    cli_runner runner = {0};
    run_summary summary = {0};
    STN_TRY_GOTO(status, cli_job_make(&settings->problem, &job, error), done);
    STN_TRY_GOTO(status, check_settings(settings, &job, error), done);
    const double begin = stn_clock_seconds();
    cli_device_settings device = cli_device_of(&settings->device, &job);
    STN_TRY_GOTO(status, cli_open_context(&device, &settings->report, &context, error), done);
    summary.driver = context->start_seconds;
    summary.context = stn_clock_seconds() - begin - summary.driver;
    summary.context_driver = context->driver_seconds;
    STN_TRY_GOTO(status, read_arrays(settings, &job, &arrays, error), done);
    summary.forecast = cli_forecast_of(&job);
    STN_TRY_GOTO(status, check_growth(settings, &summary.forecast, error), done);
    device.first_result = true;
    STN_TRY_GOTO(status, cli_runner_make(context, &job, &device, show_of(settings), &runner, error), done);
    warn(settings, &job, &arrays, &runner, &summary.forecast);
    STN_TRY_GOTO(status, run_repeats(&runner, settings->repeat, &arrays, &summary, error), done);
    summarize(&job, &runner, &arrays.result, &summary);
    STN_TRY_GOTO(status,
                 cli_run_files_write(&settings->files, &job, &arrays.result, &arrays.before, &settings->report, error),
                 done);
    status = report(settings, &job, &runner, &summary, error);
done:
    cli_runner_clear(&runner);
    stn_context_destroy(context);
    clear_arrays(&arrays);
    cli_job_clear(&job);
    return status;
}

static stn_status run_system(const run_settings *settings, stn_error *error) {
    if (settings->repeat != 1)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--repeat is not offered with --system: leave it out");
    return cli_run_system(&(cli_system_run_settings){.system = &settings->system,
                                                     .problem = &settings->problem,
                                                     .device = &settings->device,
                                                     .files = &settings->files,
                                                     .report = &settings->report,
                                                     .show = show_of(settings),
                                                     .stable = settings->stable,
                                                     .checkpoint = settings->checkpoint,
                                                     .devices = settings->devices},
                          error);
}

static stn_status check_no_system(const cli_system_settings *system, stn_error *error) {
    if (!system->fields[0] && !system->coefficients[0] && !system->keep[0]) return STN_OK;
    return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                    "--field, --coefficient and --keep are of a system: name its text with --system FILE");
}

/* As one of mpirun's processes, or with checkpoints. */
static stn_status run_by_rows(const run_settings *settings, stn_error *error) {
    if (settings->devices && cli_ranks_launched())
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "--devices is not offered by several processes: leave it out");
    if (settings->system.text) return run_system(settings, error);
    return cli_rank_run(&(cli_rank_settings){.problem = &settings->problem,
                                             .device = &settings->device,
                                             .report = &settings->report,
                                             .files = &settings->files,
                                             .checkpoint = settings->checkpoint,
                                             .devices = settings->devices,
                                             .repeat = settings->repeat,
                                             .stable = settings->stable},
                        error);
}

stn_status cmd_run(int argc, char **argv, stn_error *error) {
    run_settings settings = {.problem.steps = 1, .repeat = 1};
    cli_group groups[] = {CLI_PROBLEM_GROUP(&settings.problem),
                          CLI_SYSTEM_GROUP(&settings.system),
                          CLI_GROUP("Output", run_options, &settings),
                          CLI_DEVICE_GROUP(&settings.device),
                          CLI_TUNE_GROUP(&settings.device),
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
    if (help) return STN_OK;
    STN_TRY(cli_resolve_mode(&settings.problem, &settings.device, error));
    STN_TRY(cli_reserve_stdout(settings.files.out, error));
    if (settings.files.out == NULL || strcmp(settings.files.out, "-") != 0)
        STN_TRY(cli_reserve_stdout(settings.files.png, error));
    if (!settings.system.text) STN_TRY(check_no_system(&settings.system, error));
    if (settings.checkpoint || cli_ranks_launched()) return run_by_rows(&settings, error);
    if (settings.system.text) return run_system(&settings, error);
    return settings.devices ? run_team(&settings, error) : run(&settings, error);
}
