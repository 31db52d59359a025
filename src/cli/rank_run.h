/* stentor run by rows: as one of the processes of mpirun, each of which reads, computes and writes
 * its own rows; and with checkpoints, by mpirun or in one process. */
#ifndef STN_CLI_RANK_RUN_H
#define STN_CLI_RANK_RUN_H
#include "cli/run_files.h"
#include "cli/shared_options.h"

typedef struct cli_rank_settings {
    const cli_problem_settings *problem;
    const cli_device_settings *device;
    const cli_report_settings *report;
    const cli_run_files *files;
    const char *checkpoint, *devices; /* --checkpoint and --devices; NULL: none */
    uint64_t repeat;
    bool stable;
} cli_rank_settings;

/* Was this process started by mpirun, as one of several? */
bool cli_ranks_launched(void);
/* The team of mpirun's processes, else of --devices (NULL: one). *team is the caller's. */
stn_status cli_ranks_open(const char *devices, const cli_device_settings *device, const cli_report_settings *report,
                          stn_team **team, stn_error *error);
/* Chooses which process says why they all failed. */
void cli_ranks_choose_part(const stn_team *team);
stn_status cli_rank_run(const cli_rank_settings *settings, stn_error *error);

/* Whether this process prints why it failed. One of several processes does. If this one does
 * not know that another does, it first waits for 2 s, and mpirun may end it meanwhile. */
bool cli_ranks_may_say_why(void);
#endif
