/* The files that `stentor run` writes: the result, and pictures of it or of each snapshot. */
#ifndef STN_CLI_RUN_FILES_H
#define STN_CLI_RUN_FILES_H
#include "cli/shared_options.h"
#include "io/relief.h"

#define CLI_PICTURES_MAX 1000 /* most pictures of one run */

typedef struct cli_run_files {
    const char *out, *png; /* as given; NULL: none */
} cli_run_files;

/* The name of picture i: the given one or, with --every, the given one with a four-digit number
 * from 1 on before its extension (out-0001.png). False: it does not fit. */
bool cli_picture_name(const cli_run_files *files, const cli_job *job, uint64_t i, char *name, size_t size);

/* Checks, before a long run, that the files can be written and that none overwrites another output
 * or an input; --out may overwrite the grid of --in. */
stn_status cli_run_files_check(const cli_run_files *files, const cli_problem_settings *settings, const cli_job *job,
                               stn_error *error);

/* Fails if both paths are given and name one file. what: of `other`, "the result of --out". */
stn_status cli_check_not_overwriting(const char *option, const char *path, const char *other, const char *what,
                                     stn_error *error);

/* Writes the files; all are complete before the first is renamed into place. before: the left panel
 * of each picture. */
stn_status cli_run_files_write(const cli_run_files *files, const cli_job *job, const stn_array *result,
                               const stn_panel *before, const cli_report_settings *report, stn_error *error);
#endif
