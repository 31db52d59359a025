/* Runs a job: one plan for all steps at once, or, to show progress, one for a chunk of steps and one for the rest. */
#ifndef STN_CLI_RUNNER_H
#define STN_CLI_RUNNER_H
#include "cli/settings.h"

typedef struct cli_runner {
    stn_context *context; /* borrowed */
    stn_plan *plan;       /* all steps; its description is the job's */
    stn_plan *chunk_plan, *rest_plan;
    uint64_t steps, chunk, rest; /* chunk 0: all at once */
    size_t grid_bytes;
    void *grids[2], *workspace; /* where the context computes */
    bool show_progress, tune;
} cli_runner;

typedef enum cli_show { CLI_SHOW_AUTO, CLI_SHOW_ALWAYS, CLI_SHOW_NEVER } cli_show;

/* Plans and allocates; the context and the job must outlive the runner. AUTO shows progress of what is predicted to
 * take a second or more. */
stn_status cli_runner_make(stn_context *context, const cli_job *job, const cli_device_settings *settings, cli_show show,
                           cli_runner *runner, stn_error *error);

/* Uploads the grid, runs, and says how long the steps took, copies not counted. May be called again. */
stn_status cli_runner_run(cli_runner *runner, const void *grid, double *seconds, stn_error *error);

/* The result of the last run, into runner->grid_bytes bytes. */
stn_status cli_runner_result(cli_runner *runner, void *grid, stn_error *error);

void cli_runner_clear(cli_runner *runner); /* an empty or half-made one is fine */
#endif
