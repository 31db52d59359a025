/* The kernel cache maps a key to PTX and cubin. It searches packs first (read-only files; the last
 * pack is a part of the library), then its folder on disk. FORMAT.md specifies entry and pack byte
 * by byte. */
#ifndef STN_CACHE_CACHE_H
#define STN_CACHE_CACHE_H
#include <pthread.h>
#include <stdbool.h>

#include "base/log.h"
#include "cache/entry.h"
#include "cache/folder.h"
#include "cache/pack.h"

/* ---- the cache: packs and disk; one per context, thread-safe --------------------------------- */
typedef struct stn_cache {
    const stn_logger *logger;
    /* Its path is NULL when in memory only. An entry is the file DIR/ab/cdef... for the key
     * abcdef... in hex. */
    stn_folder folder;
    uint64_t max_bytes, max_files;
    unsigned lock_wait_ms;
    atomic_uint stores; /* number of stores; some of them start a collection */
    struct opened_pack *packs;
    size_t npacks;
    bool has_embedded;       /* the last pack is the one in the library */
    stn_pack_writer *record; /* borrowed; usually NULL */
    pthread_mutex_t lock;    /* guards stats */
    stn_cache_stats stats;
} stn_cache;
typedef struct stn_cache_options {
    const char *dir;          /* NULL or "": from the environment; ":memory:": no disk */
    bool shared;              /* Accept a folder that others own or may write, or a symlink. */
    const char *const *packs; /* NULL-terminated list, or NULL */
    /* NULL, or a public key or its file (signature.h) by which all packs must be signed */
    const char *trust;
    const void *pack_data; /* borrowed for the cache's life */
    size_t pack_size;
    const stn_logger *logger; /* borrowed for the cache's life */
    /* size of all entries together; 0: $STENTOR_CACHE_MAX_BYTES, else 1 GiB */
    uint64_t max_bytes;
    uint64_t max_files;    /* 0: $STENTOR_CACHE_MAX_FILES, else 16384 */
    unsigned lock_wait_ms; /* longest wait for another process's compile; 0: 30 s */
} stn_cache_options;
/* Fails only on out of memory or on a pack that cannot be used; a disk folder that cannot be used
 * causes one warning. The folder is made when the first entry is stored. */
stn_status stn_cache_open(const stn_cache_options *options, stn_cache **cache, stn_error *error);
void stn_cache_close(stn_cache *cache);
/* True if the cache has no packs of the caller, and a folder in which nothing was ever stored. */
bool stn_cache_is_empty(stn_cache *cache);
const char *stn_cache_dir_problem(const stn_cache *cache); /* why there is no disk, or NULL */

/* Finds an entry in the packs, which are searched by the source key, before a compiler is opened.
 * Never an error: a damaged entry is skipped. */
bool stn_cache_find_pack(stn_cache *cache, const stn_key *source, stn_entry *entry);
/* Finds an entry in the folder. Never an error: a damaged entry is removed and counts as absent. */
bool stn_cache_find(stn_cache *cache, const stn_key *key, stn_entry *entry);
/* The same by the source key, if there is no compiler whose identity could be part of the key:
 * finds the entry that was used last, of any compiler. Both keys begin with the same byte, so that
 * the entries of all compilers lie in one subfolder. *key is set to the key with which
 * stn_cache_reject removes the entry. */
bool stn_cache_find_source(stn_cache *cache, const stn_key *source, stn_key *key, stn_entry *entry);
/* Stores an entry (temporary file, fsync, rename). A failure only causes a warning. */
void stn_cache_store(stn_cache *cache, const stn_key *key, const stn_entry *entry);
/* Removes an entry that was found but cannot be loaded (a pack's entry is skipped from now on).
 * False if the entry is built into the library, which is no fault: the driver may be too old for
 * it. */
bool stn_cache_reject(stn_cache *cache, const stn_key *key);
/* A per-key lock between processes with a time limit, so that a kernel is compiled once: find,
 * lock, find again, compile, store, unlock. -1 if the time is up: continue without it. */
int stn_cache_lock_key(stn_cache *cache, const stn_key *key);
/* Adds to one of the counters in cache->stats. */
static inline void stn_cache_add(stn_cache *cache, uint64_t *counter, uint64_t by) {
    pthread_mutex_lock(&cache->lock);
    *counter += by;
    pthread_mutex_unlock(&cache->lock);
}
void stn_cache_stats_get(stn_cache *cache, stn_cache_stats *stats);
/* Adds to the counters. compile_seconds > 0 means that a kernel had to be compiled: a miss. */
void stn_cache_count(stn_cache *cache, double compile_seconds, double load_seconds, bool memory_hit);

/* ---- garbage_collection.c: listing, checking and collecting the folder ----------------------- */

/* An entry as visitors see it. */
typedef struct stn_cache_item {
    stn_key key;
    uint64_t bytes;         /* of the file */
    int64_t used;           /* last use, seconds since 1970 */
    const stn_entry *entry; /* NULL with a fault */
    const char *fault;      /* what is wrong with it, or NULL */
    bool damaged;           /* True: the entry is damaged; false: it could not be read now. */
    struct stat seen;       /* of the file that was read, if damaged */
} stn_cache_item;           /* all borrowed during the visit */
typedef bool (*stn_cache_visit)(void *user, const stn_cache_item *item); /* false: stop */

/* Counts of kernels and wisdom together. */
typedef struct stn_cache_collection {
    uint64_t files, bytes;                 /* kernels kept; bytes of kernels and wisdom kept */
    uint64_t measured;                     /* wisdom entries kept */
    uint64_t removed_files, removed_bytes; /* entries, temporary files and leftovers */
    uint64_t damaged;                      /* damaged ones among the removed (verify only) */
    /* Entries that cannot be removed, and faulty or unreadable ones that verify keeps; each is
     * named to the logger. */
    uint64_t left;
} stn_cache_collection;

/* Reads and checks every entry, in the order of keys; changes nothing. A missing folder is empty; a
 * cache without a disk folder is an error that says why. */
stn_status stn_cache_each(stn_cache *cache, stn_cache_visit visit, void *user, stn_error *error);
/* The one key on disk that starts with these hex digits (at least 4). */
stn_status stn_cache_resolve(stn_cache *cache, const char *prefix, stn_key *key, stn_error *error);

/* Removes damaged entries. Entries that cannot be read now (no memory, no file handles, its mode)
 * or cannot be removed (a non-empty folder under an entry's name) are left, counted and named to
 * the logger. */
stn_status stn_cache_verify(stn_cache *cache, stn_cache_collection *counts, stn_error *error);
/* Removes the least recently used entries until the limits hold, except those used in the last
 * `spare_seconds` (negative: 24 hours), and temporary files older than an hour. */
stn_status stn_cache_gc(stn_cache *cache, int64_t spare_seconds, stn_cache_collection *counts, stn_error *error);
/* Removes every entry and all wisdom; leaves files that are not the cache's. */
stn_status stn_cache_clear(stn_cache *cache, stn_cache_collection *counts, stn_error *error);

/* The subfolder and file name of a key: 62 hex digits and the terminator. */
#define STN_FILE_NAME 63
void stn_cache_file_name(const stn_key *key, char sub[3], char name[STN_FILE_NAME]);
/* Reads and checks the entry `name` in the opened subfolder. STN_ERROR_FORMAT: damaged, and the
 * error is a clause with the reason; STN_ERROR_IO: absent or unreadable; STN_ERROR_OUT_OF_MEMORY.
 * *status, of the file, is set also where the result is STN_ERROR_FORMAT. `use` updates the time of
 * last use. */
stn_status stn_cache_read_file(const stn_cache *cache, int sub, const char *name, const stn_key *key, stn_entry *entry,
                               struct stat *status, stn_error *error, bool use);
/* The collection that runs after some stores. */
void stn_cache_collect(stn_cache *cache);

/* Adds every entry that the cache finds or stores from now on to the writer too (NULL: stop). The
 * embedded pack is not searched meanwhile, so that one compiler makes all kernels. Call only while
 * no other thread uses the cache. */
void stn_cache_record(stn_cache *cache, stn_pack_writer *writer);

#endif
