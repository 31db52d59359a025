/* --devices: a run or a transform on several devices of this process. */
#ifndef STN_CLI_TEAM_RUN_H
#define STN_CLI_TEAM_RUN_H
#include "cli/progress.h"
#include "cli/runner.h"
#include "cli/shared_options.h"

typedef struct cli_team_run {
    stn_team *team; /* owned */
    stn_team_plan *plan;
    double seconds; /* median of the repeats, copies to and from the devices included */
} cli_team_run;

/* The team of --devices, as given: "0,1" or "host,host". *team is the caller's. */
stn_status cli_team_open(const char *devices, const cli_device_settings *settings, const cli_report_settings *report,
                         stn_team **team, stn_error *error);
/* devices: as given, "0,1" or "host,host". One of problem and transform is NULL. Runs `repeat`
 * times; source may be NULL. Clear *run also after a failure. */
stn_status cli_team_run_make(const char *devices, const stn_problem *problem, const stn_transform *transform,
                             const cli_device_settings *settings, const cli_report_settings *report, cli_team_run *run,
                             stn_error *error);
stn_status cli_team_run_execute(cli_team_run *run, cli_show show, uint64_t repeat, const void *grid, const void *source,
                                void *result, stn_error *error);
/* Starts *progress, and shows the plan's executions in it if `show` says so. */
stn_status cli_team_progress_start(cli_progress *progress, cli_show show, stn_team_plan *plan, stn_error *error);
void cli_team_run_clear(cli_team_run *run);
#endif
