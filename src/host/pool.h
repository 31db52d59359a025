/* A pool of host threads that run one loop at a time. */
#ifndef STN_HOST_POOL_H
#define STN_HOST_POOL_H
#include <stdint.h>

#include "stentor.h"

typedef struct stn_pool stn_pool;
stn_status stn_pool_create(int threads, stn_pool **pool, stn_error *error); /* 0: all this process may use */
void stn_pool_destroy(stn_pool *pool);
int stn_pool_threads(const stn_pool *pool);
/* Calls body(user, begin, end) over pieces of [0, count) on all threads, the caller's included; returns when all are
 * done. Loops from several threads run one after the other. */
void stn_pool_for(stn_pool *pool, int64_t count, int64_t grain, void (*body)(void *user, int64_t begin, int64_t end),
                  void *user);
#endif
