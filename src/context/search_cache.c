/* Cache of search results: a table of fixed size for each kind, with LRU replacement. */
#include "context/search_cache.h"

#include <stdlib.h>
#include <string.h>

stn_search_cache *stn_search_cache_create(void) {
    stn_search_cache *found = calloc(1, sizeof *found);
    if (found) pthread_mutex_init(&found->lock, NULL);
    return found;
}

void stn_search_cache_destroy(stn_search_cache *found) {
    if (!found) return;
    pthread_mutex_destroy(&found->lock);
    free(found->four_step);
    for (int i = 0; i < STN_SEARCH_CACHE_SYMBOLS; i++) free(found->symbol[i].taps);
    free(found);
}

/* The index of this key, or of the least recently used entry. */
static int index_of(const stn_search_cache *found, stn_search_cache_kind kind, const stn_key *key, bool *present) {
    int oldest = 0;
    for (int i = 0; i < STN_SEARCH_CACHE_ENTRIES; i++) {
        *present = found->entry[kind][i].used && !memcmp(&found->entry[kind][i].key, key, sizeof *key);
        if (*present) return i;
        if (found->entry[kind][i].used < found->entry[kind][oldest].used) oldest = i;
    }
    return oldest;
}

bool stn_search_cache_lookup(stn_search_cache *found, stn_search_cache_kind kind, const stn_key *key, void *result,
                             size_t size) {
    bool present;
    pthread_mutex_lock(&found->lock);
    const int i = index_of(found, kind, key, &present);
    if (present) {
        memcpy(result, found->entry[kind][i].result, size);
        found->entry[kind][i].used = ++found->now;
    }
    pthread_mutex_unlock(&found->lock);
    return present;
}

void stn_search_cache_store(stn_search_cache *found, stn_search_cache_kind kind, const stn_key *key, const void *result,
                            size_t size) {
    bool present;
    pthread_mutex_lock(&found->lock);
    const int i = index_of(found, kind, key, &present);
    found->entry[kind][i].key = *key;
    memcpy(found->entry[kind][i].result, result, size);
    found->entry[kind][i].used = ++found->now;
    pthread_mutex_unlock(&found->lock);
}

static bool holds(const stn_search_cache *found, int i, const void *taps, size_t bytes) {
    return found->symbol[i].taps && found->symbol[i].bytes == bytes && !memcmp(found->symbol[i].taps, taps, bytes);
}

bool stn_search_cache_lookup_symbol(stn_search_cache *found, const void *taps, size_t bytes, double *largest) {
    int i = 0;
    pthread_mutex_lock(&found->lock);
    while (i < STN_SEARCH_CACHE_SYMBOLS && !holds(found, i, taps, bytes)) i++;
    const bool present = i < STN_SEARCH_CACHE_SYMBOLS;
    if (present) *largest = found->symbol[i].largest, found->symbol[i].used = ++found->now;
    pthread_mutex_unlock(&found->lock);
    return present;
}

void stn_search_cache_store_symbol(stn_search_cache *found, const void *taps, size_t bytes, double largest) {
    void *copy = malloc(bytes);
    if (!copy) return; /* not kept */
    memcpy(copy, taps, bytes);
    pthread_mutex_lock(&found->lock);
    int oldest = 0;
    for (int i = 1; i < STN_SEARCH_CACHE_SYMBOLS; i++)
        if (found->symbol[i].used < found->symbol[oldest].used) oldest = i;
    free(found->symbol[oldest].taps);
    found->symbol[oldest].taps = copy, found->symbol[oldest].bytes = bytes;
    found->symbol[oldest].largest = largest, found->symbol[oldest].used = ++found->now;
    pthread_mutex_unlock(&found->lock);
}
