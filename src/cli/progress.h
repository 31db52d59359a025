/* A progress bar with the remaining time, on stderr. */
#ifndef STN_CLI_PROGRESS_H
#define STN_CLI_PROGRESS_H
#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"

typedef struct cli_progress {
    bool shown; /* false: all calls do nothing */
    uint64_t total;
    double started, drawn; /* in seconds of stn_clock_seconds */
} cli_progress;

void cli_progress_start(cli_progress *progress, bool shown, uint64_t total);
/* draws at most 10 times a second */
void cli_progress_update(cli_progress *progress, uint64_t done);
void cli_progress_end(cli_progress *progress); /* clears the line */
#endif
