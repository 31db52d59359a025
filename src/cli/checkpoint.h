/* --checkpoint: the state of a run after each K steps in an .npy file whose header names the steps
 * made, the problem and its input files. The same command continues from it, with any number of
 * processes or devices. */
#ifndef STN_CLI_CHECKPOINT_H
#define STN_CLI_CHECKPOINT_H
#include "cli/row_files.h"

typedef struct cli_checkpoint {
    const char *path;      /* NULL: none */
    uint64_t every, steps; /* steps between two checkpoints; steps of the run */
    uint64_t hash;         /* hash of the problem with all its steps, and of the files */
    uint64_t begun;        /* steps that the file has made already */
} cli_checkpoint;

/* How a run by rows is named in messages: "by several processes" or "with --checkpoint". */
const char *cli_by_rows(void);

/* Checks the options of a run by rows: a checkpoint and --every come together. */
stn_status cli_checkpoint_check_options(const char *path, uint64_t every, stn_error *error);
/* Fails if the file cannot be written, or is one of the others. NULL entries are skipped. */
stn_status cli_checkpoint_check_file(const char *path, size_t count, const char *const *others, stn_error *error);
/* Adds to the hash: a run continues from a checkpoint only with the numbers and files that it began
 * with. A path that is NULL adds nothing. */
void cli_checkpoint_add(cli_checkpoint *checkpoint, uint64_t bits);
void cli_checkpoint_add_file(cli_checkpoint *checkpoint, const char *path);
/* Sets checkpoint->begun; 0 if there is no file. */
stn_status cli_checkpoint_find(cli_checkpoint *checkpoint, stn_error *error);
/* Writes the state after `steps` steps, complete or not at all: cli_rows_write. */
stn_status cli_checkpoint_write(const cli_checkpoint *checkpoint, uint64_t steps, const cli_rows *rows,
                                const stn_array *state, stn_error *error);
/* Removes the file after the outputs are written. Without an output the file is kept. */
void cli_checkpoint_remove(const cli_checkpoint *checkpoint, const stn_team *team, bool has_output);
#endif
