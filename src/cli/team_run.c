/* See team_run.h: parsing of --devices, and timed runs of a team. */
#include "cli/team_run.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "cli/command_output.h"
#include "cli/option_values.h"
#include "team/team.h"

enum { MAX_DEVICES = 64, NAME = 40 };

/* Parses "0,1" into devices; a number alone is a GPU. */
static stn_status parse_devices(const char *text, int *devices, int *count, stn_error *error) {
    *count = 0;
    for (const char *at = text;; at++) {
        char name[NAME];
        const size_t size = strcspn(at, ",");
        if (*count == MAX_DEVICES)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--devices names more than %d devices", MAX_DEVICES);
        if (!size || size >= sizeof name)
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "--devices %.80s: give GPUs' numbers with commas, such as 0,1, or host,host", text);
        memcpy(name, at, size), name[size] = '\0';
        char *end;
        const long number = strtol(name, &end, 10);
        if (*end == '\0' && number >= 0 && number < 1000)
            devices[*count] = STN_DEVICE_CUDA((int)number);
        else
            devices[*count] = STN_DEVICE_AUTO;
        if (devices[*count] == STN_DEVICE_AUTO &&
            (cli_parse_device(name, &devices[*count], error) != STN_OK || devices[*count] == STN_DEVICE_AUTO))
            return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                            "--devices %.80s: '%.60s' names no device: give GPUs' numbers with commas, such as 0,1, or "
                            "host,host",
                            text, name);
        (*count)++;
        at += size;
        if (!*at) return STN_OK;
    }
}

stn_status cli_team_open(const char *devices, const cli_device_settings *settings, const cli_report_settings *report,
                         stn_team **team, stn_error *error) {
    int list[MAX_DEVICES], count;
    stn_context_options context;
    if (settings->device)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "--devices and --device exclude each other: give one");
    STN_TRY(parse_devices(devices, list, &count, error));
    STN_TRY(cli_context_options(settings, report, &context, error));
    return stn_team_create(&context, count, list, team, error);
}

stn_status cli_team_run_make(const char *devices, const stn_problem *problem, const stn_transform *transform,
                             const cli_device_settings *settings, const cli_report_settings *report, cli_team_run *run,
                             stn_error *error) {
    stn_plan_options options;
    *run = (cli_team_run){.team = NULL};
    STN_TRY(cli_team_open(devices, settings, report, &run->team, error));
    STN_TRY(cli_plan_options(settings, &options, error));
    return problem ? stn_team_plan_create(run->team, problem, &options, &run->plan, error)
                   : stn_team_plan_create_fft(run->team, transform, &options, &run->plan, error);
}

stn_status cli_team_progress_start(cli_progress *progress, cli_show show, stn_team_plan *plan, stn_error *error) {
    const bool shown = cli_progress_is_shown(show, plan->predicted);
    cli_progress_start(progress, shown);
    return shown ? stn_team_plan_set_progress(plan, cli_progress_update, progress, error) : STN_OK;
}

stn_status cli_team_run_execute(cli_team_run *run, cli_show show, uint64_t repeat, const void *grid, const void *source,
                                void *result, stn_error *error) {
    cli_progress progress;
    double *seconds = calloc(repeat, sizeof *seconds);
    if (!seconds) return stn_fail_memory(error, "the times", repeat * sizeof *seconds);
    stn_status status = cli_team_progress_start(&progress, show, run->plan, error);
    for (uint64_t i = 0; i < repeat && status == STN_OK; i++) {
        const double begin = stn_clock_seconds();
        status = stn_team_plan_execute_host(run->plan, grid, result, source, error);
        seconds[i] = stn_clock_seconds() - begin;
    }
    cli_progress_end(&progress);
    run->seconds = cli_median(seconds, repeat);
    free(seconds);
    return status;
}

void cli_team_run_clear(cli_team_run *run) {
    stn_team_plan_destroy(run->plan);
    stn_team_destroy(run->team);
    *run = (cli_team_run){.team = NULL};
}
