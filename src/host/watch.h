/* The watch over one execution: the caller's function that is told how far it is, and may cancel
 * it. */
#ifndef STN_HOST_WATCH_H
#define STN_HOST_WATCH_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "stentor.h"

typedef struct stn_watch {
    stn_progress_fn tell;
    void *user;
    uint64_t done, total; /* steps */
    uint64_t base, span;  /* on the host: steps before the run that goes on, and its own; 0: it does not count passes */
    pthread_t thread;     /* the one that executes, on which `tell` is called */
    double told;          /* when it was, last */
    bool telling;         /* it is called now */
    atomic_bool cancelled;
    struct stn_watch *next; /* of a pool's */
} stn_watch;

/* Begins with the calling thread. */
void stn_watch_begin(stn_watch *watch, const stn_execution *run, uint64_t total);
/* Tells, at most every 50 ms and on the watch's own thread alone. False: the execution is
 * cancelled, and what is left may be left out. NULL: true. */
bool stn_watch_goes_on(stn_watch *watch);
/* The run that goes on has made `passes` of `of` passes. */
void stn_watch_reach(stn_watch *watch, uint64_t passes, uint64_t of);
/* The end: STN_ERROR_CANCELLED, or all is told to be done. */
stn_status stn_watch_end(stn_watch *watch, stn_status status, stn_error *error);
#endif
