/* `stentor run --system`: time steps of a system of coupled fields, from files to files. */
#ifndef STN_CLI_RUN_SYSTEM_H
#define STN_CLI_RUN_SYSTEM_H
#include "cli/run_files.h"
#include "cli/runner.h"
#include "cli/shared_options.h"
#include "cli/system_input.h"

extern const cli_option cli_system_options[4];
#define CLI_SYSTEM_GROUP(settings) CLI_GROUP("Systems of coupled fields", cli_system_options, settings)

typedef struct cli_system_run_settings {
    const cli_system_settings *system;
    const cli_problem_settings *problem;
    const cli_device_settings *device;
    const cli_run_files *files;
    const cli_report_settings *report;
    cli_show show;
    bool stable;
    const char *checkpoint, *devices; /* --checkpoint and --devices; NULL: none */
} cli_system_run_settings;

/* Runs the whole command: on one device, on several of this process, or as one of mpirun's
 * processes, each of which reads, computes and writes its own rows. With a checkpoint, --out and
 * --keep get the last state alone. */
stn_status cli_run_system(const cli_system_run_settings *settings, stn_error *error);
#endif
