/* A file that appears whole or not at all: written beside its place under another name, synced,
 * then renamed. */
#ifndef STN_IO_OUTPUT_H
#define STN_IO_OUTPUT_H
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "stentor.h"

typedef struct stn_output {
    char *name;    /* as it was given */
    char *path;    /* where it shall appear, symbolic links resolved; NULL: a stream of this process */
    char *temp;    /* its name until then; NULL for a stream, a device, a pipe: these are written straight */
    FILE *file;    /* write here */
    int slot;      /* in the list of files that a signal removes */
    bool replaces; /* a file is there, of this mode */
    mode_t mode;
} stn_output;

/* Finds out, leaving nothing behind, whether stn_output_open would succeed now: for use before a
 * long run. */
stn_status stn_output_probe(const char *path, stn_error *error);

/* Keeps the standard output for the one output named "-": what is printed from here on goes to
 * stderr. Refuses a terminal. */
stn_status stn_output_take_stdout(stn_error *error);

/* Starts a file; "-" is the standard output. The folder must exist; an existing file keeps its
 * content until stn_output_commit. Symbolic links are followed, to a file that is not there yet
 * too. /dev/stdout and /dev/fd/N are the stream: it is written from where it stands. What cannot be
 * replaced (a mount point, another's file in a sticky folder) is refused here. */
stn_status stn_output_open(const char *path, stn_output *output, stn_error *error);

/* A part in a file that another process began, whose temporary name this is: a signal removes it
 * here too. stn_output_abandon removes it; stn_output_leave does not, for when it has taken its
 * place. */
stn_status stn_output_join(const char *temp, stn_output *output, stn_error *error);
void stn_output_leave(stn_output *output);

/* Flush, sync, close: what can fail for want of space fails here. Then only the commit is left, so
 * that several outputs can appear together. Ends the output when it fails. */
stn_status stn_output_finish(stn_output *output, stn_error *error);

/* Finish, if that is still to do, and rename. On failure the place keeps what it had. Ends the
 * output either way. An output that is not open is fine. */
stn_status stn_output_commit(stn_output *output, stn_error *error);

/* For writers: ends the output, with the sentence for an errno. */
stn_status stn_output_fail(stn_output *output, int why, stn_error *error);

/* Gives up: removes the temporary file. An output that is not open is fine. */
void stn_output_abandon(stn_output *output);

/* Open, write these bytes, commit. */
stn_status stn_output_write(const char *path, const void *bytes, size_t size, stn_error *error);

/* Makes SIGINT, SIGTERM and SIGHUP remove unfinished files before they end the process. Call once,
 * at the start of a command; this is process state and so no business of the library. */
void stn_output_catch_signals(void);
#endif
