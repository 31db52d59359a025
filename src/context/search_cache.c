/* Cache of search results: a set-associative table of fixed size, with LRU replacement. */
#include "context/search_cache.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SETS = 64, WAYS = 8, ENTRIES = SETS * WAYS };

typedef struct entry {
    uint64_t hash;        /* of kind and key */
    uint64_t used;        /* time of last use; 0: empty */
    unsigned char *bytes; /* owned: the key, then the result */
    size_t key_size, size;
    stn_search_cache_kind kind;
} entry;

struct stn_search_cache {
    pthread_mutex_t lock; /* guards everything; never held during a search */
    entry entries[ENTRIES];
    uint64_t now;
};

stn_search_cache *stn_search_cache_create(void) {
    stn_search_cache *searches = calloc(1, sizeof *searches);
    if (searches) pthread_mutex_init(&searches->lock, NULL);
    return searches;
}

void stn_search_cache_destroy(stn_search_cache *searches) {
    if (!searches) return;
    pthread_mutex_destroy(&searches->lock);
    for (int i = 0; i < ENTRIES; i++) free(searches->entries[i].bytes);
    free(searches);
}

/* Of a long key only both ends are hashed: if its many taps are equal, keys differ at the ends. */
static uint64_t hash_of(stn_search_cache_kind kind, const unsigned char *key, size_t size) {
    enum { END = 512 };
    uint64_t hash = (uint64_t)kind << 32 ^ size, word = 0;
    for (size_t i = 0; i < size; i += sizeof word) {
        if (i == END && size > 2 * END) i = size - END;
        if (i + sizeof word <= size)
            memcpy(&word, key + i, sizeof word);
        else
            memcpy(&word, key + i, size - i);
        hash = (hash ^ word) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 32;
    }
    return hash;
}

/* The entry of this key, or the least recently used one of its set. */
static entry *entry_of(stn_search_cache *searches, const entry *wanted, const void *key, bool *present) {
    entry *const set = searches->entries + wanted->hash % SETS * WAYS, *oldest = set;
    for (entry *each = set; each < set + WAYS; each++) {
        *present = each->used && each->hash == wanted->hash && each->kind == wanted->kind &&
                   each->key_size == wanted->key_size && !memcmp(each->bytes, key, wanted->key_size);
        if (*present) return each;
        if (each->used < oldest->used) oldest = each;
    }
    return oldest;
}

bool stn_search_cache_lookup(stn_search_cache *searches, stn_search_cache_kind kind, const void *key, size_t key_size,
                             void *result, size_t size) {
    if (!searches) return false;
    const entry wanted = {.hash = hash_of(kind, key, key_size), .key_size = key_size, .kind = kind};
    bool present;
    pthread_mutex_lock(&searches->lock);
    entry *at = entry_of(searches, &wanted, key, &present);
    present = present && size <= at->size;
    if (present) {
        memcpy(result, at->bytes + key_size, size);
        at->used = ++searches->now;
    }
    pthread_mutex_unlock(&searches->lock);
    return present;
}

void stn_search_cache_store(stn_search_cache *searches, stn_search_cache_kind kind, const void *key, size_t key_size,
                            const void *result, size_t size) {
    unsigned char *bytes = searches ? malloc(key_size + size) : NULL;
    if (!bytes) return; /* not kept */
    memcpy(bytes, key, key_size);
    memcpy(bytes + key_size, result, size);
    entry added = {
        .hash = hash_of(kind, key, key_size), .bytes = bytes, .key_size = key_size, .size = size, .kind = kind};
    bool present;
    pthread_mutex_lock(&searches->lock);
    entry *at = entry_of(searches, &added, key, &present);
    free(at->bytes);
    added.used = ++searches->now;
    *at = added;
    pthread_mutex_unlock(&searches->lock);
}
