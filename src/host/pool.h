/* A pool of host threads, for parallel loops; it runs one loop at a time. */
#ifndef STN_HOST_POOL_H
#define STN_HOST_POOL_H
#include <stdint.h>

#include "host/watch.h"
#include "launch/machine.h"
#include "stentor.h"

typedef struct stn_pool stn_pool;

/* threads includes the caller: a pool of 1 starts none. 0: all CPUs that this process may use (its
 * affinity). Errors: invalid count, out of memory, no more threads available. */
stn_status stn_pool_create(int threads, stn_pool **pool, stn_error *error);
/* NULL has no effect; no loop may be running. */
void stn_pool_destroy(stn_pool *pool);
int stn_pool_threads(const stn_pool *pool);
int stn_pool_allowed(void); /* the number of threads that 0 stands for */

/* The host as a machine: names and sizes from the system, rates assumed. threads: 0 for all. */
void stn_machine_of_host(int threads, stn_machine *machine);

/* Calls body(user, begin, end) for pieces of [0, count) on all threads, including the caller's, and
 * returns when all are done. Pieces have at least `min_iterations` iterations (except the last
 * one); a loop of one piece stays on the caller's thread. Loops of several threads run one after
 * the other, so body must not start a loop on the same pool. A forked child may use its parent's
 * pool. Without a pool (NULL), the caller calls body once, for all. If the calling thread has a
 * watch, the watch is called between pieces, and no more pieces start after a cancellation. */
void stn_pool_for(stn_pool *pool, int64_t count, int64_t min_iterations,
                  void (*body)(void *user, int64_t begin, int64_t end), void *user);

/* Registers a watch for the loops of its thread, and removes it. */
void stn_pool_watch(stn_pool *pool, stn_watch *watch);
void stn_pool_unwatch(stn_pool *pool, stn_watch *watch);
/* The watch of the calling thread, or NULL: for bodies with long pieces, to check it in between. */
stn_watch *stn_pool_watched(stn_pool *pool);
#endif
