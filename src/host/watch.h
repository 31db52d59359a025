/* Progress and cancellation of one execution: calls the caller's function, which may cancel the
 * execution. */
#ifndef STN_HOST_WATCH_H
#define STN_HOST_WATCH_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stentor.h"

typedef struct stn_watch {
    stn_progress_fn progress;
    void *user;
    uint64_t done, total; /* steps */
    /* On the host: steps before the current run, and steps of that run; span 0: passes over the
     * grid are not counted. */
    uint64_t base, span;
    pthread_t thread; /* the executing thread, on which `progress` is called */
    double last_call; /* time of the last call, in seconds */
    bool calling;     /* a call is in progress */
    atomic_bool cancelled;
    struct stn_watch *next; /* in the list of a pool */
} stn_watch;

/* Starts watching the calling thread. */
void stn_watch_begin(stn_watch *watch, const stn_execution *run, uint64_t total);
/* Calls the caller's function if this is the watch's thread, at most every 50 ms. Returns false if
 * the execution is cancelled, and true if it is not or if `watch` is NULL. */
bool stn_watch_continues(stn_watch *watch);
/* Records that the current run has completed `passes` of `of` passes. */
void stn_watch_set_done(stn_watch *watch, uint64_t passes, uint64_t of);
/* Ends the watch of an execution that returned `status`: after a success, returns
 * STN_ERROR_CANCELLED if the caller's function cancelled, or else reports that all steps are done.
 * A failure is returned as it is. */
stn_status stn_watch_end(stn_watch *watch, stn_status status, stn_error *error);
#endif
