/* Cache of the results of searches that take milliseconds and are repeated by a plan's strategies,
 * candidates and tables, and by later plans. It belongs to a context and is thread-safe. */
#ifndef STN_CONTEXT_SEARCH_CACHE_H
#define STN_CONTEXT_SEARCH_CACHE_H
#include <pthread.h>

#include "cache/key.h"
#include "launch/machine.h"

typedef enum stn_found_kind { STN_FOUND_REACH, STN_FOUND_NORM, STN_FOUND_FFT, STN_FOUND_KINDS } stn_found_kind;
enum { STN_FOUND_ENTRIES = 64, STN_FOUND_BYTES = 96 };

struct stn_found {
    pthread_mutex_t lock; /* guards everything; never held during a search */
    struct {
        stn_key key;
        uint64_t used; /* time of last use, for LRU replacement; 0: empty */
        unsigned char result[STN_FOUND_BYTES];
    } entry[STN_FOUND_KINDS][STN_FOUND_ENTRIES];
    uint64_t now;
    /* Cache of the four-step FFT (spectral/four_step.c), freed with free(). */
    void *sheets;
};

/* NULL when out of memory: then every search is repeated. */
stn_found *stn_found_create(void);
void stn_found_destroy(stn_found *found); /* NULL is fine */

/* Copies the result of this key, of `size` bytes, if it is in the cache. The key contains
 * everything that the result depends on. */
bool stn_found_lookup(stn_found *found, stn_found_kind kind, const stn_key *key, void *result, size_t size);
/* Stores a result of at most STN_FOUND_BYTES in place of the least recently used one. */
void stn_found_store(stn_found *found, stn_found_kind kind, const stn_key *key, const void *result, size_t size);
#endif
