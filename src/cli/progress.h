/* A progress bar with the remaining time, on stderr. */
#ifndef STN_CLI_PROGRESS_H
#define STN_CLI_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

typedef enum cli_show { CLI_SHOW_AUTO, CLI_SHOW_ALWAYS, CLI_SHOW_NEVER } cli_show;

typedef struct cli_progress {
    bool shown;
    double started, drawn; /* in seconds of stn_clock_seconds */
} cli_progress;

/* AUTO shows the bar of a run that is predicted to take a second or more. */
bool cli_progress_is_shown(cli_show show, double predicted);
/* Starts the clock; draws nothing. */
void cli_progress_start(cli_progress *progress, bool shown);
/* A stn_progress_fn whose `user` is a cli_progress; draws at most 10 times a second, and at the
 * end. */
int cli_progress_update(void *user, uint64_t done, uint64_t total);
void cli_progress_end(cli_progress *progress); /* clears the line, if a bar was drawn */
#endif
