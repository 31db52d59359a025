/* See runner.h: execution in chunks of launches, so that progress can be shown. */
#include "cli/runner.h"

#include <string.h>

#include "base/error.h"
#include "cli/progress.h"
#include "context/context.h"
#include "launch/driver.h"
#include "plan/plan.h"

#define SHOWN_FROM 1.0    /* seconds of a predicted run from which a bar is shown */
#define PART_SECONDS 0.25 /* seconds of work between two updates */
#define MIN_PARTS 10
#define MAX_PARTS 1000

/* Launches between two updates of the bar; 0 if it is not shown or there is only one launch. */
static uint64_t choose_part(const cli_runner *runner, cli_show show) {
    double parts = runner->predicted / PART_SECONDS;
    if (show == CLI_SHOW_NEVER || runner->launches < 2) return 0;
    if (show == CLI_SHOW_AUTO && !(runner->predicted >= SHOWN_FROM)) return 0;
    if (!(parts >= MIN_PARTS)) parts = MIN_PARTS;
    if (parts > MAX_PARTS) parts = MAX_PARTS;
    uint64_t part = (uint64_t)((double)runner->launches / parts);
    return part ? part : 1;
}

stn_status cli_runner_make(stn_context *context, const cli_job *job, const cli_device_settings *settings, cli_show show,
                           cli_runner *runner, stn_error *error) {
    memset(runner, 0, sizeof *runner);
    runner->context = context;
    runner->steps = job->problem.steps;
    stn_plan_options options;
    STN_TRY(cli_plan_options(settings, &options, error));
    options.no_auto_workspace = 1; /* allocated below, for executions in chunks */
    if (__builtin_mul_overflow(job->points, stn_dtype_size(job->problem.dtype), &runner->grid_bytes) ||
        __builtin_mul_overflow(runner->grid_bytes, job->snapshots, &runner->result_bytes))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the result has more bytes than memory can address");
    stn_status status;
    const double begin = stn_clock_seconds(), before = stn_device_seconds(context->device);
    STN_TRY_GOTO(status, stn_plan_create(context, &job->problem, &options, &runner->plan, error), fail);
    runner->plan_seconds = stn_clock_seconds() - begin;
    runner->driver_seconds = stn_device_seconds(context->device) - before;
    runner->predicted = runner->plan->measured > 0 ? runner->plan->measured : stn_plan_predicted_seconds(runner->plan);
    runner->show = show;
    size_t workspace = stn_plan_workspace_size(runner->plan);
    STN_TRY_GOTO(status, stn_memory_alloc(context, runner->grid_bytes, &runner->in, error), fail);
    STN_TRY_GOTO(status, stn_memory_alloc(context, runner->result_bytes, &runner->out, error), fail);
    if (job->problem.has_source)
        STN_TRY_GOTO(status, stn_memory_alloc(context, runner->grid_bytes, &runner->source, error), fail);
    if (workspace) STN_TRY_GOTO(status, stn_memory_alloc(context, workspace, &runner->workspace, error), fail);
    return STN_OK;
fail:
    cli_runner_clear(runner);
    return status;
}

/* Steps done after `launches` launches, for the progress bar: nearly all launches make the same
 * number of steps. */
static uint64_t steps_after(const cli_runner *runner, uint64_t launches) {
    if (launches == runner->launches) return runner->steps;
    return (uint64_t)((double)launches / (double)runner->launches * (double)runner->steps);
}

stn_status cli_runner_run(cli_runner *runner, const void *grid, const void *source, double *seconds, stn_error *error) {
    STN_TRY(stn_memory_upload(runner->context, runner->in, grid, runner->grid_bytes, error));
    if (source) STN_TRY(stn_memory_upload(runner->context, runner->source, source, runner->grid_bytes, error));
    runner->launches = stn_plan_launches(runner->plan);
    runner->part = choose_part(runner, runner->show);
    cli_progress progress;
    cli_progress_start(&progress, runner->part > 0, runner->steps);
    stn_status status = STN_OK;
    stn_execution run = STN_EXECUTION_INIT;
    run.in = runner->in, run.out = runner->out, run.source = runner->source, run.workspace = runner->workspace;
    double start = stn_clock_seconds();
    for (uint64_t done = 0; status == STN_OK && done < runner->launches;) {
        uint64_t left = runner->launches - done;
        stn_part part = {done, runner->part && runner->part < left ? runner->part : left};
        status = stn_plan_execute_part(runner->plan, part, &run, error);
        if (status == STN_OK) status = stn_synchronize(runner->context, NULL, error);
        done += part.count;
        if (status == STN_OK) cli_progress_update(&progress, steps_after(runner, done));
    }
    *seconds = stn_clock_seconds() - start;
    cli_progress_end(&progress);
    return status;
}

stn_status cli_runner_result(cli_runner *runner, void *grid, stn_error *error) {
    return stn_memory_download(runner->context, grid, runner->out, runner->result_bytes, error);
}

void cli_runner_clear(cli_runner *runner) {
    stn_plan_destroy(runner->plan);
    void *const buffers[] = {runner->in, runner->out, runner->source, runner->workspace};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        if (buffers[i]) stn_memory_free(runner->context, buffers[i]);
    memset(runner, 0, sizeof *runner);
}
