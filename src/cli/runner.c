/* See runner.h. */
#include "cli/runner.h"

#include <string.h>

#include "base/error.h"
#include "cli/progress.h"
#include "context/context.h"
#include "launch/driver.h"
#include "plan/plan.h"

stn_status cli_runner_make(stn_context *context, const cli_job *job, const cli_device_settings *settings, cli_show show,
                           cli_runner *runner, stn_error *error) {
    memset(runner, 0, sizeof *runner);
    runner->context = context;
    stn_plan_options options;
    STN_TRY(cli_plan_options(settings, &options, error));
    if (__builtin_mul_overflow(job->points, stn_dtype_size(job->problem.dtype), &runner->grid_bytes) ||
        __builtin_mul_overflow(runner->grid_bytes, job->snapshots, &runner->result_bytes))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the result has more bytes than memory can address");
    stn_status status;
    const double begin = stn_clock_seconds(), driver_begin = stn_device_seconds(context->device);
    STN_TRY_GOTO(status, stn_plan_create(context, &job->problem, &options, &runner->plan, error), fail);
    runner->plan_seconds = stn_clock_seconds() - begin;
    runner->driver_seconds = stn_device_seconds(context->device) - driver_begin;
    runner->predicted = runner->plan->measured > 0 ? runner->plan->measured : stn_plan_predicted_seconds(runner->plan);
    runner->shown = cli_progress_is_shown(show, runner->predicted);
    STN_TRY_GOTO(status, stn_memory_alloc(context, runner->grid_bytes, &runner->in, error), fail);
    STN_TRY_GOTO(status, stn_memory_alloc(context, runner->result_bytes, &runner->out, error), fail);
    if (job->problem.has_source)
        STN_TRY_GOTO(status, stn_memory_alloc(context, runner->grid_bytes, &runner->source, error), fail);
    return STN_OK;
fail:
    cli_runner_clear(runner);
    return status;
}

stn_status cli_runner_run(cli_runner *runner, const void *grid, const void *source, double *seconds, stn_error *error) {
    STN_TRY(stn_memory_upload(runner->context, runner->in, grid, runner->grid_bytes, error));
    if (source) STN_TRY(stn_memory_upload(runner->context, runner->source, source, runner->grid_bytes, error));
    cli_progress progress;
    stn_execution run = STN_EXECUTION_INIT;
    run.in = runner->in, run.out = runner->out, run.source = runner->source;
    if (runner->shown) run.progress = cli_progress_update, run.progress_user = &progress;
    cli_progress_start(&progress, runner->shown);
    const double start = stn_clock_seconds();
    stn_status status = stn_plan_run(runner->plan, &run, error);
    if (status == STN_OK) status = stn_synchronize(runner->context, NULL, error);
    *seconds = stn_clock_seconds() - start;
    cli_progress_end(&progress);
    return status;
}

stn_status cli_runner_result(cli_runner *runner, void *grid, stn_error *error) {
    return stn_memory_download(runner->context, grid, runner->out, runner->result_bytes, error);
}

void cli_runner_clear(cli_runner *runner) {
    stn_plan_destroy(runner->plan);
    void *const buffers[] = {runner->in, runner->out, runner->source};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) stn_memory_free(runner->context, buffers[i]);
    memset(runner, 0, sizeof *runner);
}
