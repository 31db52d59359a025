/* The files that `stentor run` writes: the result, and a picture of it or one of each snapshot. */
#ifndef STN_CLI_RUN_FILES_H
#define STN_CLI_RUN_FILES_H
#include "cli/settings.h"
#include "io/relief.h"

#define CLI_PICTURES_MOST 1000 /* of one run: snapshots that are drawn */

typedef struct cli_run_files {
    const char *out, *png; /* as given; NULL: none */
} cli_run_files;

/* The name of picture i: the given one, or with --every that one with a number before its ending,
 * out-0001.png from 1 on, of four digits. False: it does not fit. */
bool cli_picture_name(const cli_run_files *files, const cli_job *job, uint64_t i, char *name, size_t size);

/* Everything about them that can be known before a long run: they can be written, and none takes
 * the place of another nor of a file that is read, but for --out that of the grid. */
stn_status cli_run_files_check(const cli_run_files *files, const cli_problem_settings *settings, const cli_job *job,
                               stn_error *error);

/* Writes them; all are complete before the first takes its place. before: what each picture shows
 * beside its state. */
stn_status cli_run_files_write(const cli_run_files *files, const cli_job *job, const stn_array *result,
                               const stn_panel *before, const cli_report_settings *report, stn_error *error);
#endif
