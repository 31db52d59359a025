/* Runs a job: one plan, executed at once or, to show progress, some launches at a time. */
#ifndef STN_CLI_RUNNER_H
#define STN_CLI_RUNNER_H
#include "cli/shared_options.h"

typedef enum cli_show { CLI_SHOW_AUTO, CLI_SHOW_ALWAYS, CLI_SHOW_NEVER } cli_show;

typedef struct cli_runner {
    stn_context *context; /* borrowed */
    stn_plan *plan;
    double plan_seconds;   /* seconds to make the plan */
    double driver_seconds; /* part of them spent in the driver: modules, memory, tables */
    uint64_t steps, launches;
    cli_show show;
    /* launches between two updates of the bar; 0: all at once */
    uint64_t part;
    double predicted;                    /* seconds of one run, measured if known */
    size_t grid_bytes, result_bytes;     /* the result has one grid for each snapshot */
    void *in, *out, *source, *workspace; /* in the context's memory */
} cli_runner;

/* Plans and allocates; the context and the job must outlive the runner. AUTO shows progress if a
 * second or more is predicted. A run in one launch shows none. */
stn_status cli_runner_make(stn_context *context, const cli_job *job, const cli_device_settings *settings, cli_show show,
                           cli_runner *runner, stn_error *error);

/* Uploads the grid and the source (NULL: the job has none), runs, and returns the seconds of the
 * steps, copies excluded. May be called again. */
stn_status cli_runner_run(cli_runner *runner, const void *grid, const void *source, double *seconds, stn_error *error);

/* Copies the result of the last run into runner->result_bytes bytes. */
stn_status cli_runner_result(cli_runner *runner, void *grid, stn_error *error);

void cli_runner_clear(cli_runner *runner); /* an empty or partly made runner is fine */
#endif
