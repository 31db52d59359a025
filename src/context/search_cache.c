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
