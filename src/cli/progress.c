/* See progress.h: the progress bar. */
#include "cli/progress.h"

#include <stdio.h>

#define WIDE 30

void cli_progress_start(cli_progress *progress, bool shown, uint64_t total) {
    *progress = (cli_progress){.shown = shown, .total = total, .started = stn_clock_seconds()};
}

void cli_progress_update(cli_progress *progress, uint64_t done) {
    double now = stn_clock_seconds();
    if (!progress->shown || !done || (now - progress->drawn < 0.1 && done < progress->total)) return;
    progress->drawn = now;
    double part = (double)done / (double)progress->total;
    double left = (now - progress->started) * (1 - part) / part;
    char bar[WIDE + 1];
    for (int i = 0; i < WIDE; i++) bar[i] = i < (int)(part * WIDE) ? '#' : '.';
    bar[WIDE] = '\0';
    unsigned long seconds = (unsigned long)(left + 0.5);
    fprintf(stderr, "\r[%s] %3.0f%%  step %llu of %llu  %02lu:%02lu:%02lu left ", bar, part * 100,
            (unsigned long long)done, (unsigned long long)progress->total, seconds / 3600, seconds / 60 % 60,
            seconds % 60);
    fflush(stderr);
}

void cli_progress_end(cli_progress *progress) {
    if (progress->shown && progress->drawn > 0) fprintf(stderr, "\r\x1b[K");
}
