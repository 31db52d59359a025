/* The kernel cache: key -> PTX and cubin. Packs first (read-only, shipped), then the disk; loaded kernels are kept in
 * memory by stn_memo. FORMAT.md specifies entry and pack byte by byte. */
#ifndef STN_CACHE_CACHE_H
#define STN_CACHE_CACHE_H
#include <stdbool.h>

#include "base/log.h"
#include "base/text.h"
#include "stentor.h"

/* ---- key.c: SHA-256 over length-prefixed fields; inputs only, never PTX ------------------------------------------ */
typedef struct stn_key {
    unsigned char bytes[32];
} stn_key;
typedef struct stn_key_builder stn_key_builder;
/* Fields are (label, bytes); each is hashed with both lengths, so no two lists of fields collide by concatenation. */
stn_status stn_key_begin(stn_key_builder **builder, stn_error *error);
void stn_key_add(stn_key_builder *builder, const char *label, const void *bytes, size_t size);
void stn_key_add_text(stn_key_builder *builder, const char *label, const char *text);
void stn_key_finish(stn_key_builder *builder, stn_key *key); /* frees the builder; key may be NULL to abandon */
void stn_key_hex(const stn_key *key, char hex[65]);

/* ---- an entry -----------------------------------------------------------------------------------------------------
 */
typedef struct stn_entry {
    char *metadata; /* readable text, "label: value" lines: what it was made from */
    char *params;   /* the rendered params.cuh */
    char *ptx;
    size_t ptx_size;
    void *cubin; /* NULL when there is only PTX */
    size_t cubin_size;
} stn_entry; /* owns its members */
void stn_entry_clear(stn_entry *entry);

/* ---- the cache: packs and disk; one per context, thread-safe ----------------------------------------------------- */
typedef struct stn_cache stn_cache;
typedef struct stn_cache_options {
    const char *dir;          /* NULL: by the environment; ":memory:": no disk */
    bool shared;              /* accept a folder that others own or may write */
    const char *const *packs; /* NULL-terminated list, or NULL */
    const void *pack_data;
    size_t pack_size;
    const stn_logger *logger; /* borrowed for the cache's life */
} stn_cache_options;
/* Fails only on out of memory or a pack that cannot be used; a disk folder that cannot be used is one warning. */
stn_status stn_cache_open(const stn_cache_options *options, stn_cache **cache, stn_error *error);
void stn_cache_close(stn_cache *cache);
const char *stn_cache_dir(const stn_cache *cache);         /* NULL when in memory only */
const char *stn_cache_dir_problem(const stn_cache *cache); /* why there is no disk, or NULL */

typedef enum stn_cache_source { STN_CACHE_NONE, STN_CACHE_PACK, STN_CACHE_DISK } stn_cache_source;
/* Where the entry was found, STN_CACHE_NONE if nowhere (never an error: a bad entry is removed and counts as absent).
 */
stn_cache_source stn_cache_find(stn_cache *cache, const stn_key *key, stn_entry *entry);
/* Best effort: temp, fsync, rename; trouble is one warning. */
void stn_cache_store(stn_cache *cache, const stn_key *key, const stn_entry *entry);
/* The entry was found but would not load: remove it. */
void stn_cache_reject(stn_cache *cache, const stn_key *key);
/* A bounded per-key lock between processes, so that a kernel is compiled once. NULL when it could not be had in
 * time: go on without it. */
typedef struct stn_cache_lock stn_cache_lock;
stn_cache_lock *stn_cache_lock_key(stn_cache *cache, const stn_key *key);
void stn_cache_unlock(stn_cache_lock *lock); /* NULL is fine */
void stn_cache_stats_get(stn_cache *cache, stn_cache_stats *stats);
void stn_cache_count(stn_cache *cache, double compile_seconds, double load_seconds, bool memory_hit);

/* ---- memo.c: key -> a value that is expensive to make, made once per process (uthash) -----------------------------
 */
typedef struct stn_memo stn_memo;
typedef stn_status (*stn_memo_make)(void *user, const stn_key *key, void **value, stn_error *error);
typedef void (*stn_memo_free)(void *user, void *value);
stn_status stn_memo_create(stn_memo_free free_value, void *user, stn_memo **memo, stn_error *error);
/* The value of key, made by `make` if it is not there; other threads asking for the same key meanwhile wait for it. A
 * failure is given to every waiter and not remembered. Counts a reference; *hit says whether it was there. */
stn_status stn_memo_get(stn_memo *memo, const stn_key *key, stn_memo_make make, void *make_user, void **value,
                        bool *hit, stn_error *error);
void stn_memo_destroy(stn_memo *memo); /* frees all values */
#endif
