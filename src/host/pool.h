/* A pool of host threads that run one loop at a time. */
#ifndef STN_HOST_POOL_H
#define STN_HOST_POOL_H
#include <stdint.h>

#include "host/watch.h"
#include "stentor.h"

typedef struct stn_pool stn_pool;

/* threads counts the caller: a pool of 1 starts none. 0: all that this process may use (its
 * affinity). Errors: a negative or absurd count, out of memory, no more threads to be had. */
stn_status stn_pool_create(int threads, stn_pool **pool, stn_error *error);
/* NULL is fine; no loop may be running. */
void stn_pool_destroy(stn_pool *pool);
int stn_pool_threads(const stn_pool *pool);
int stn_pool_allowed(void); /* threads of a pool of all that this process may use */

/* Calls body(user, begin, end) over pieces of [0, count) on all threads, the caller's included;
 * returns when all are done. Pieces have at least `grain` items (the last one may have fewer); a
 * loop of one piece never leaves the caller's thread. A forked child may use the pool of its
 * parent. Loops from several threads run one after the other, so body must not start a loop on the
 * same pool. */
/* Where the calling thread has a watch, that is told between pieces, and none is begun once it is
 * cancelled. */
void stn_pool_for(stn_pool *pool, int64_t count, int64_t grain, void (*body)(void *user, int64_t begin, int64_t end),
                  void *user);

/* The loops of the watch's thread are watched until the second. */
void stn_pool_watch(stn_pool *pool, stn_watch *watch);
void stn_pool_unwatch(stn_pool *pool, stn_watch *watch);
/* That of the calling thread, or NULL: for bodies whose pieces are long, to ask between parts of
 * one. */
stn_watch *stn_pool_watched(stn_pool *pool);
#endif
