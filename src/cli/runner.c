/* Running a job, chunk by chunk where someone is watching. */
#include "cli/runner.h"

#include <string.h>

#include "base/error.h"
#include "cli/progress.h"

#define SHOWN_FROM 1.0     /* seconds of predicted run that get a bar */
#define CHUNK_SECONDS 0.25 /* of work between two looks at the clock */
#define CHUNKS_MOST 1000

static stn_status make_plan(stn_context *context, const cli_job *job, const char *strategy, uint64_t steps, bool tune,
                            stn_plan **plan, stn_error *error) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_problem problem = job->problem;
    problem.steps = steps;
    problem.tolerance *= (double)steps / (double)job->problem.steps; /* which is the whole run's */
    options.strategy = strategy;
    options.tune = tune;
    options.no_auto_workspace = 1; /* the plans take turns with one workspace */
    return stn_plan_create(context, &problem, &options, plan, error);
}

/* Chunks that the strategy of the whole runs as well; a strategy that cannot do fewer steps runs all at once. */
static void split(cli_runner *runner, const cli_job *job, cli_show show) {
    double predicted = stn_plan_predicted_seconds(runner->plan);
    if (show == CLI_SHOW_NEVER || runner->steps < 2) return;
    if (show == CLI_SHOW_AUTO && !(predicted >= SHOWN_FROM)) return;
    double chunks = predicted / CHUNK_SECONDS;
    if (!(chunks >= 10)) chunks = 10;
    if (chunks > CHUNKS_MOST) chunks = CHUNKS_MOST;
    uint64_t chunk = (uint64_t)((double)runner->steps / chunks), rest;
    if (chunk == 0) chunk = 1;
    rest = runner->steps % chunk;
    const char *strategy = stn_plan_strategy(runner->plan);
    bool made = make_plan(runner->context, job, strategy, chunk, runner->tune, &runner->chunk_plan, NULL) == STN_OK &&
                (!rest || make_plan(runner->context, job, strategy, rest, false, &runner->rest_plan, NULL) == STN_OK);
    if (!made) return;
    runner->chunk = chunk;
    runner->rest = rest;
    runner->show_progress = true;
}

stn_status cli_runner_make(stn_context *context, const cli_job *job, const cli_device_settings *settings, cli_show show,
                           cli_runner *runner, stn_error *error) {
    memset(runner, 0, sizeof *runner);
    runner->context = context;
    runner->steps = job->problem.steps;
    runner->tune = settings->tune;
    stn_status status;
    if (__builtin_mul_overflow(job->points, stn_dtype_size(job->problem.dtype), &runner->grid_bytes))
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "the grid has more bytes than memory can address");
    STN_TRY_GOTO(status, make_plan(context, job, settings->strategy, runner->steps, runner->tune, &runner->plan, error),
                 fail);
    split(runner, job, show);
    stn_plan *plans[] = {runner->plan, runner->chunk_plan, runner->rest_plan};
    size_t workspace = 0;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        size_t size = plans[i] && (i || !runner->chunk) ? stn_plan_workspace_size(plans[i]) : 0;
        if (size > workspace) workspace = size;
    }
    for (int i = 0; i < 2; i++)
        STN_TRY_GOTO(status, stn_memory_alloc(context, runner->grid_bytes, &runner->grids[i], error), fail);
    if (workspace) STN_TRY_GOTO(status, stn_memory_alloc(context, workspace, &runner->workspace, error), fail);
    return STN_OK;
fail:
    cli_runner_clear(runner);
    return status;
}

/* One execution from grids[0] to grids[1], waited for; then the result is in grids[0]. */
static stn_status advance(cli_runner *runner, stn_plan *plan, stn_error *error) {
    STN_TRY(stn_plan_execute_with(plan, runner->grids[0], runner->grids[1], runner->workspace, NULL, error));
    STN_TRY(stn_synchronize(runner->context, NULL, error));
    void *result = runner->grids[1];
    runner->grids[1] = runner->grids[0];
    runner->grids[0] = result;
    return STN_OK;
}

stn_status cli_runner_run(cli_runner *runner, const void *grid, double *seconds, stn_error *error) {
    STN_TRY(stn_memory_upload(runner->context, runner->grids[0], grid, runner->grid_bytes, error));
    cli_progress progress;
    cli_progress_start(&progress, runner->show_progress, runner->steps);
    stn_status status = STN_OK;
    double start = cli_now();
    if (!runner->chunk)
        status = advance(runner, runner->plan, error);
    else {
        for (uint64_t done = 0; status == STN_OK && runner->steps - done >= runner->chunk; done += runner->chunk) {
            status = advance(runner, runner->chunk_plan, error);
            cli_progress_update(&progress, done + runner->chunk);
        }
        if (status == STN_OK && runner->rest) status = advance(runner, runner->rest_plan, error);
        if (status == STN_OK) cli_progress_update(&progress, runner->steps);
    }
    *seconds = cli_now() - start;
    cli_progress_end(&progress);
    return status;
}

stn_status cli_runner_result(cli_runner *runner, void *grid, stn_error *error) {
    return stn_memory_download(runner->context, grid, runner->grids[0], runner->grid_bytes, error);
}

void cli_runner_clear(cli_runner *runner) {
    stn_plan_destroy(runner->plan);
    stn_plan_destroy(runner->chunk_plan);
    stn_plan_destroy(runner->rest_plan);
    for (int i = 0; i < 2; i++)
        if (runner->grids[i]) stn_memory_free(runner->context, runner->grids[i]);
    if (runner->workspace) stn_memory_free(runner->context, runner->workspace);
    memset(runner, 0, sizeof *runner);
}
