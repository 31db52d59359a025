/* Runs a job: one plan and its arrays. */
#ifndef STN_CLI_RUNNER_H
#define STN_CLI_RUNNER_H
#include "cli/progress.h"
#include "cli/shared_options.h"

typedef struct cli_runner {
    stn_context *context; /* borrowed */
    stn_plan *plan;
    double plan_seconds;             /* seconds to make the plan */
    double driver_seconds;           /* part of them spent in the driver: modules, memory, tables */
    bool shown;                      /* a run shows a progress bar */
    double predicted;                /* seconds of one run, measured if known */
    size_t grid_bytes, result_bytes; /* the result has one grid for each snapshot */
    void *in, *out, *source;         /* in the context's memory */
} cli_runner;

/* Plans and allocates; the context and the job must outlive the runner. AUTO shows progress if a
 * second or more is predicted. A run in one launch shows none. */
stn_status cli_runner_make(stn_context *context, const cli_job *job, const cli_device_settings *settings, cli_show show,
                           cli_runner *runner, stn_error *error);

/* Uploads the grid and the source (NULL: the job has none), runs, and sets *seconds to those of the
 * steps, copies excluded. May be called again. */
stn_status cli_runner_run(cli_runner *runner, const void *grid, const void *source, double *seconds, stn_error *error);

/* Copies the result of the last run into runner->result_bytes bytes. */
stn_status cli_runner_result(cli_runner *runner, void *grid, stn_error *error);

void cli_runner_clear(cli_runner *runner); /* also an empty or partly made one */
#endif
