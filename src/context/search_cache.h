/* Cache of the results of searches that take milliseconds and are repeated by a plan's strategies,
 * candidates and tables, and by later plans. It belongs to a context and is thread-safe. */
#ifndef STN_CONTEXT_SEARCH_CACHE_H
#define STN_CONTEXT_SEARCH_CACHE_H
#include <pthread.h>

#include "cache/key.h"
#include "launch/machine.h"

typedef enum stn_search_cache_kind {
    STN_SEARCH_CACHE_REACH,
    STN_SEARCH_CACHE_FFT,
    STN_SEARCH_CACHE_SUBPLAN,
    STN_SEARCH_CACHE_KINDS
} stn_search_cache_kind;
enum { STN_SEARCH_CACHE_ENTRIES = 64, STN_SEARCH_CACHE_BYTES = 96, STN_SEARCH_CACHE_SYMBOLS = 8 };

struct stn_search_cache {
    pthread_mutex_t lock; /* guards everything; never held during a search */
    struct {
        stn_key key;
        uint64_t used; /* time of last use, for LRU replacement; 0: empty */
        unsigned char result[STN_SEARCH_CACHE_BYTES];
    } entry[STN_SEARCH_CACHE_KINDS][STN_SEARCH_CACHE_ENTRIES];
    /* The largest |symbol| of some lists of taps, which are owned copies: comparing them is faster
     * than making a key. */
    struct {
        void *taps;
        size_t bytes;
        uint64_t used;
        double largest;
    } symbol[STN_SEARCH_CACHE_SYMBOLS];
    uint64_t now;
    /* Result for the four-step FFT (spectral/four_step.c), freed with free(). */
    void *four_step;
};

/* NULL when out of memory: then every search is repeated. */
stn_search_cache *stn_search_cache_create(void);
void stn_search_cache_destroy(stn_search_cache *found); /* NULL is fine */

/* Copies the result of this key, of `size` bytes, if it is in the cache. The key contains
 * everything that the result depends on. */
bool stn_search_cache_lookup(stn_search_cache *found, stn_search_cache_kind kind, const stn_key *key, void *result,
                             size_t size);
/* Stores a result of at most STN_SEARCH_CACHE_BYTES in place of the least recently used one. */
void stn_search_cache_store(stn_search_cache *found, stn_search_cache_kind kind, const stn_key *key, const void *result,
                            size_t size);
/* The same for the largest |symbol| of a list of taps. */
bool stn_search_cache_lookup_symbol(stn_search_cache *found, const void *taps, size_t bytes, double *largest);
void stn_search_cache_store_symbol(stn_search_cache *found, const void *taps, size_t bytes, double largest);
#endif
