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
    size_t key_size;
    stn_search_cache_kind kind;
} entry;

struct stn_search_cache {
    pthread_mutex_t lock; /* guards everything; never held during a search */
    entry entries[ENTRIES];
    uint64_t now;
};

stn_search_cache *stn_search_cache_create(void) {
    stn_search_cache *found = calloc(1, sizeof *found);
    if (found) pthread_mutex_init(&found->lock, NULL);
    return found;
}

void stn_search_cache_destroy(stn_search_cache *found) {
    if (!found) return;
    pthread_mutex_destroy(&found->lock);
    for (int i = 0; i < ENTRIES; i++) free(found->entries[i].bytes);
    free(found);
}

/* Keys may hold thousands of taps. Four words are hashed at a time, because the multiplications of
 * one hash wait for each other. */
static uint64_t hash_of(stn_search_cache_kind kind, const unsigned char *key, size_t size) {
    enum { WORDS = 4 };
    uint64_t hash[WORDS] = {kind, size}, word[WORDS];
    const size_t whole = size / sizeof word * sizeof word;
#define MIX(k) hash[k] = (hash[k] ^ word[k]) * UINT64_C(0x9E3779B97F4A7C15), hash[k] ^= hash[k] >> 32
    for (size_t i = 0; i < whole; i += sizeof word) {
        memcpy(word, key + i, sizeof word);
        for (int k = 0; k < WORDS; k++) MIX(k);
    }
    memset(word, 0, sizeof word);
    if (size > whole) memcpy(word, key + whole, size - whole);
    for (int k = 0; k < WORDS; k++) MIX(k);
    for (int k = 1; k < WORDS; k++) word[0] = hash[k], MIX(0);
#undef MIX
    return hash[0];
}

/* The entry of this key, or the least recently used one of its set. */
static entry *entry_of(stn_search_cache *found, const entry *wanted, const void *key, bool *present) {
    entry *const set = found->entries + wanted->hash % SETS * WAYS, *oldest = set;
    for (entry *each = set; each < set + WAYS; each++) {
        *present = each->used && each->hash == wanted->hash && each->kind == wanted->kind &&
                   each->key_size == wanted->key_size && !memcmp(each->bytes, key, wanted->key_size);
        if (*present) return each;
        if (each->used < oldest->used) oldest = each;
    }
    return oldest;
}

bool stn_search_cache_lookup(stn_search_cache *found, stn_search_cache_kind kind, const void *key, size_t key_size,
                             void *result, size_t size) {
    if (!found) return false;
    const entry wanted = {.hash = hash_of(kind, key, key_size), .key_size = key_size, .kind = kind};
    bool present;
    pthread_mutex_lock(&found->lock);
    entry *at = entry_of(found, &wanted, key, &present);
    if (present) {
        memcpy(result, at->bytes + key_size, size);
        at->used = ++found->now;
    }
    pthread_mutex_unlock(&found->lock);
    return present;
}

void stn_search_cache_store(stn_search_cache *found, stn_search_cache_kind kind, const void *key, size_t key_size,
                            const void *result, size_t size) {
    unsigned char *bytes = found ? malloc(key_size + size) : NULL;
    if (!bytes) return; /* not kept */
    memcpy(bytes, key, key_size);
    memcpy(bytes + key_size, result, size);
    entry added = {.hash = hash_of(kind, key, key_size), .bytes = bytes, .key_size = key_size, .kind = kind};
    bool present;
    pthread_mutex_lock(&found->lock);
    entry *at = entry_of(found, &added, key, &present);
    free(at->bytes);
    added.used = ++found->now;
    *at = added;
    pthread_mutex_unlock(&found->lock);
}
