/* Atomic file output: the file is written under a temporary name in the same folder, synced, then
 * renamed, so that it appears complete or not at all. */
#ifndef STN_IO_OUTPUT_H
#define STN_IO_OUTPUT_H
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "stentor.h"

typedef struct stn_output {
    char *name; /* as given */
    char *path; /* final path, symbolic links resolved; NULL: a stream of this process */
    /* temporary path; NULL for streams, devices and pipes, which are written directly */
    char *temp;
    FILE *file;    /* write here */
    int slot;      /* index in the list of files that a signal removes */
    bool replaces; /* a file exists already, and has this mode */
    mode_t mode;
} stn_output;

/* Checks, leaving nothing behind, whether stn_output_open would succeed now: for use before a long
 * run. */
stn_status stn_output_probe(const char *path, stn_error *error);

/* Reserves the standard output for the output named "-": later prints go to stderr. Fails if it is
 * a terminal. */
stn_status stn_output_reserve_stdout(stn_error *error);

/* Starts an output; "-" is the standard output. The folder must exist; an existing file keeps its
 * content until stn_output_commit. Symbolic links are followed, also to a file that does not exist
 * yet. /dev/stdout and /dev/fd/N are the open stream, written from its current position. Files that
 * cannot be replaced (a mount point, another user's file in a sticky folder) are an error here. */
stn_status stn_output_open(const char *path, stn_output *output, stn_error *error);

/* Joins an output that another process has opened under the temporary name `temp`: a signal to this
 * process then removes that file too. stn_output_abandon removes the file; stn_output_leave does
 * not, for when the file is complete and the other process renames it. */
stn_status stn_output_join(const char *temp, stn_output *output, stn_error *error);
void stn_output_leave(stn_output *output);

/* Flushes, syncs and closes the temporary file: lack of space is reported here. Only the commit is
 * left, so that several outputs can appear together. On failure it ends the output. */
stn_status stn_output_finish(stn_output *output, stn_error *error);

/* Finishes if necessary, and renames. On failure the previous file is kept. Ends the output in any
 * case. Has no effect on an output that is not open. */
stn_status stn_output_commit(stn_output *output, stn_error *error);

/* For writers: ends the output, with an error message for an errno value. */
stn_status stn_output_fail(stn_output *output, int why, stn_error *error);

/* Discards the output and removes the temporary file. Has no effect on an output that is not
 * open. */
void stn_output_abandon(stn_output *output);

/* Opens, writes these bytes, commits. */
stn_status stn_output_write(const char *path, const void *bytes, size_t size, stn_error *error);

/* SIGINT, SIGTERM and SIGHUP remove unfinished files before they end the process. For the command's
 * start only: it changes process state, which the library must not do. */
void stn_output_catch_signals(void);
#endif
