/* See progress.h. */
#include "cli/progress.h"

#include <stdio.h>

#define BAR_WIDTH 30 /* characters */

bool cli_progress_is_shown(cli_show show, double predicted) {
    return show == CLI_SHOW_ALWAYS || (show == CLI_SHOW_AUTO && predicted >= 1);
}

void cli_progress_start(cli_progress *progress, bool shown) {
    *progress = (cli_progress){.shown = shown, .started = stn_clock_seconds()};
}

int cli_progress_update(void *user, uint64_t done, uint64_t total) {
    cli_progress *progress = user;
    double now = stn_clock_seconds();
    if (!done || (now - progress->drawn < 0.1 && done < total)) return 0;
    progress->drawn = now;
    double part = (double)done / (double)total;
    double left = (now - progress->started) * (1 - part) / part;
    char bar[BAR_WIDTH + 1];
    for (int i = 0; i < BAR_WIDTH; i++) bar[i] = i < (int)(part * BAR_WIDTH) ? '#' : '.';
    bar[BAR_WIDTH] = '\0';
    unsigned long seconds = (unsigned long)(left + 0.5);
    fprintf(stderr, "\r[%s] %3.0f%%  step %llu of %llu  %02lu:%02lu:%02lu left ", bar, part * 100,
            (unsigned long long)done, (unsigned long long)total, seconds / 3600, seconds / 60 % 60, seconds % 60);
    fflush(stderr);
    return 0;
}

void cli_progress_end(cli_progress *progress) {
    if (progress->shown && progress->drawn > 0) fprintf(stderr, "\r\x1b[K");
}
