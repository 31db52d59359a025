/* The clock by which the library measures durations. */
#ifndef STN_BASE_CLOCK_H
#define STN_BASE_CLOCK_H
#include <time.h>

/* Seconds of a clock that never goes back; its start has no meaning. */
static inline double stn_clock_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
#endif
