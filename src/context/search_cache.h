/* Cache of the results of searches that take milliseconds and are repeated by a plan's strategies,
 * candidates and tables, and by later plans. It belongs to a context and is thread-safe. */
#ifndef STN_CONTEXT_SEARCH_CACHE_H
#define STN_CONTEXT_SEARCH_CACHE_H
#include <stdbool.h>
#include <stddef.h>

#include "launch/machine.h"

typedef enum stn_search_cache_kind {
    STN_SEARCH_CACHE_REACH,
    STN_SEARCH_CACHE_LINE_POWER,
    STN_SEARCH_CACHE_SYMBOL,
    STN_SEARCH_CACHE_FFT,
    STN_SEARCH_CACHE_FOUR_STEP,
    STN_SEARCH_CACHE_FACES,
    STN_SEARCH_CACHE_LOWRANK_SVD,
    STN_SEARCH_CACHE_LOWRANK_TERMS,
    STN_SEARCH_CACHE_LOWRANK_CORE,
    STN_SEARCH_CACHE_POWER,
    STN_SEARCH_CACHE_RETAINED,
    STN_SEARCH_CACHE_SUBPLAN
} stn_search_cache_kind;

/* NULL when out of memory: then every search is repeated. */
stn_search_cache *stn_search_cache_create(void);
void stn_search_cache_destroy(stn_search_cache *searches); /* NULL has no effect */

/* Looks up a result in the cache and copies its first `size` bytes to `result`; false if it is not
 * there or is shorter, or if `searches` is NULL. The key is the bytes of everything that the result
 * depends on, without padding. */
bool stn_search_cache_lookup(stn_search_cache *searches, stn_search_cache_kind kind, const void *key, size_t key_size,
                             void *result, size_t size);
/* Stores a result in place of the least recently used one. Does nothing if `searches` is NULL. */
void stn_search_cache_store(stn_search_cache *searches, stn_search_cache_kind kind, const void *key, size_t key_size,
                            const void *result, size_t size);
#endif
