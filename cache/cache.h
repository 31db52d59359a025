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
/* Fields are (label, bytes); each is hashed with both lengths, so no two lists of fields collide by concatenation. The
 * format's and the library's versions are the first field of every key. */
stn_status stn_key_begin(stn_key_builder **builder, stn_error *error);
void stn_key_add(stn_key_builder *builder, const char *label, const void *bytes, size_t size);
void stn_key_add_text(stn_key_builder *builder, const char *label, const char *text);
void stn_key_finish(stn_key_builder *builder, stn_key *key); /* frees the builder; key may be NULL to abandon */
void stn_key_hex(const stn_key *key, char hex[65]);
bool stn_key_parse(const char *hex, stn_key *key); /* 64 digits of either case, nothing else */

/* ---- an entry ---------------------------------------------------------------------------------------------------- */
typedef struct stn_entry {
    char *metadata; /* readable text, "label: value" lines: what it was made from */
    char *params;   /* the rendered params.cuh */
    char *ptx;
    size_t ptx_size; /* without the NUL that follows it in memory */
    void *cubin;     /* NULL when there is only PTX */
    size_t cubin_size;
    stn_key source; /* the key of the same inputs without the compiler; all zero: the entry's own key */
} stn_entry;        /* owns its members */
void stn_entry_clear(stn_entry *entry);
/* The metadata's line "label: value", cut to size; "?" and false when there is none. */
bool stn_entry_field(const stn_entry *entry, const char *label, char *value, size_t size);

/* ---- the cache: packs and disk; one per context, thread-safe ----------------------------------------------------- */
typedef struct stn_cache stn_cache;
typedef struct stn_cache_options {
    const char *dir;          /* NULL: by the environment; ":memory:": no disk */
    bool shared;              /* accept a folder that others own or may write, or a symlink */
    const char *const *packs; /* NULL-terminated list, or NULL */
    const void *pack_data;    /* borrowed for the cache's life */
    size_t pack_size;
    const stn_logger *logger; /* borrowed for the cache's life */
    uint64_t max_bytes;       /* size of all entries together; 0: $STENTOR_CACHE_MAX_BYTES, else 1 GiB */
    uint64_t max_files;       /* 0: $STENTOR_CACHE_MAX_FILES, else 16384 */
    unsigned lock_wait_ms;    /* longest wait for another process's compile; 0: 30 s */
    bool keep_source; /* write each entry's params.cuh beside it, for people; also $STENTOR_CACHE_KEEP_SOURCE=1 */
} stn_cache_options;
/* Fails only on out of memory or a pack that cannot be used; a disk folder that cannot be used is one warning. The
 * folder is made when the first entry is stored. */
stn_status stn_cache_open(const stn_cache_options *options, stn_cache **cache, stn_error *error);
void stn_cache_close(stn_cache *cache);
const char *stn_cache_dir(const stn_cache *cache);         /* NULL when in memory only */
const char *stn_cache_dir_problem(const stn_cache *cache); /* why there is no disk, or NULL */

typedef enum stn_cache_source { STN_CACHE_NONE, STN_CACHE_PACK, STN_CACHE_DISK } stn_cache_source;
/* Where the entry was found, STN_CACHE_NONE if nowhere (never an error: a bad entry is removed and counts as absent).
 */
stn_cache_source stn_cache_find(stn_cache *cache, const stn_key *key, stn_entry *entry);
/* The same by the source key, for when there is no compiler to ask for its identity: packs, then whatever compiler's
 * entry the disk got last. */
stn_cache_source stn_cache_find_source(stn_cache *cache, const stn_key *source, stn_entry *entry);
/* Packs only, by the source key: to be asked before a compiler is opened. */
stn_cache_source stn_cache_find_pack(stn_cache *cache, const stn_key *source, stn_entry *entry);
/* Best effort: temp, fsync, rename; trouble is one warning. */
void stn_cache_store(stn_cache *cache, const stn_key *key, const stn_entry *entry);
/* The entry was found but would not load: remove it (a pack's is passed over from now on). */
void stn_cache_reject(stn_cache *cache, const stn_key *key);
/* A bounded per-key lock between processes, so that a kernel is compiled once: find, lock, find again, compile, store,
 * unlock. NULL when it could not be had in time: go on without it. */
typedef struct stn_cache_lock stn_cache_lock;
stn_cache_lock *stn_cache_lock_key(stn_cache *cache, const stn_key *key);
void stn_cache_unlock(stn_cache_lock *lock); /* NULL is fine */
void stn_cache_stats_get(stn_cache *cache, stn_cache_stats *stats);
/* Adds to the counters. compile_seconds above 0 says that a kernel had to be compiled: a miss. */
void stn_cache_count(stn_cache *cache, double compile_seconds, double load_seconds, bool memory_hit);

/* ---- gc.c: the folder as a whole, for `stentor cache` ------------------------------------------------------------ */
typedef struct stn_cache_item {
    stn_key key;
    uint64_t bytes;                                                      /* of the file */
    int64_t used;                                                        /* last use, seconds since 1970 */
    const stn_entry *entry;                                              /* NULL when it is damaged */
    const char *fault;                                                   /* what is wrong with it, or NULL */
} stn_cache_item;                                                        /* all borrowed during the visit */
typedef bool (*stn_cache_visit)(void *user, const stn_cache_item *item); /* false: stop */
/* Reads and checks every entry, in the order of keys. Changes nothing. Having no disk folder is an error that says
 * why; an absent one is empty. */
stn_status stn_cache_each(stn_cache *cache, stn_cache_visit visit, void *user, stn_error *error);
/* The one key on disk, of an entry or a note, that starts with these hex digits (at least 4). */
stn_status stn_cache_resolve(stn_cache *cache, const char *prefix, stn_key *key, stn_error *error);

/* ---- notes.c: what was measured, remembered beside the kernels: a short text for a key ---------------------------- */
/* *text is freed with free(). False when there is none; a damaged one is removed and counts as absent. */
bool stn_cache_note_find(stn_cache *cache, const stn_key *key, char **text);
/* Is there a folder of notes? One look, for those who never stored any. */
bool stn_cache_has_notes(stn_cache *cache);
/* Best effort, as stn_cache_store. */
void stn_cache_note_store(stn_cache *cache, const stn_key *key, const char *text);
/* The note was found but its text makes no sense. */
void stn_cache_note_reject(stn_cache *cache, const stn_key *key);
typedef struct stn_note_item {
    stn_key key;
    uint64_t bytes;    /* of the file */
    int64_t used;      /* last use, seconds since 1970 */
    const char *text;  /* NULL when it is damaged */
    const char *fault; /* what is wrong with it, or NULL */
} stn_note_item;       /* all borrowed during the visit */
/* Every note, in the order of keys. Changes nothing. */
stn_status stn_cache_note_each(stn_cache *cache, bool (*visit)(void *user, const stn_note_item *item), void *user,
                               stn_error *error);

/* Of kernels and notes together. */
typedef struct stn_cache_sweep {
    uint64_t files, bytes;                 /* entries kept; bytes of notes too */
    uint64_t notes;                        /* notes kept */
    uint64_t removed_files, removed_bytes; /* entries, temporaries and leftovers removed */
    uint64_t damaged;                      /* of those removed, how many were damaged (verify only) */
} stn_cache_sweep;
/* Removes damaged entries. */
stn_status stn_cache_verify(stn_cache *cache, stn_cache_sweep *sweep, stn_error *error);
/* Removes what was used longest ago until the caps hold, but nothing that was used in the last `spare_seconds`
 * (negative: 24 hours), and temporaries that are older than an hour. */
stn_status stn_cache_gc(stn_cache *cache, int64_t spare_seconds, stn_cache_sweep *sweep, stn_error *error);
/* Removes every entry and note; leaves files that are not the cache's. */
stn_status stn_cache_clear(stn_cache *cache, stn_cache_sweep *sweep, stn_error *error);

/* ---- pack.c, pack_write.c: many entries in one read-only file ---------------------------------------------------- */
typedef struct stn_pack stn_pack; /* immutable once open: any thread may read */
/* Checks header and index; entries are checked one by one as they are read, so a big pack opens quickly. */
stn_status stn_pack_open(const char *path, stn_pack **pack, stn_error *error);
/* `data` is borrowed for the pack's life. */
stn_status stn_pack_open_memory(const void *data, size_t size, stn_pack **pack, stn_error *error);
void stn_pack_close(stn_pack *pack); /* NULL is fine */
const char *stn_pack_name(const stn_pack *pack);
size_t stn_pack_count(const stn_pack *pack);
/* False when there is none. Packs are addressed by the source key. */
bool stn_pack_find(const stn_pack *pack, const stn_key *source, size_t *index);
/* One entry, checked; key (may be NULL) gets its own key, with the compiler. STN_ERROR_FORMAT if it is damaged. */
stn_status stn_pack_read(const stn_pack *pack, size_t index, stn_key *key, stn_entry *entry, stn_error *error);
uint64_t stn_pack_entry_bytes(const stn_pack *pack, size_t index);
/* Every entry; the error names the first damaged one. */
stn_status stn_pack_verify(const stn_pack *pack, stn_error *error);

typedef struct stn_pack_writer stn_pack_writer; /* thread-safe */
stn_status stn_pack_writer_create(stn_pack_writer **writer, stn_error *error);
void stn_pack_writer_destroy(stn_pack_writer *writer); /* NULL is fine */
/* Copies the entry. A source key that is there already keeps its first entry (as packs are searched in order). */
stn_status stn_pack_add(stn_pack_writer *writer, const stn_key *key, const stn_entry *entry, stn_error *error);
/* All entries of another pack, checked. */
stn_status stn_pack_add_pack(stn_pack_writer *writer, const stn_pack *pack, stn_error *error);
size_t stn_pack_writer_count(stn_pack_writer *writer);
/* The pack's bytes, the same for the same entries in whatever order they came. *data is freed with free(). */
stn_status stn_pack_finish(stn_pack_writer *writer, void **data, size_t *size, stn_error *error);
/* From now on every entry that the cache finds or stores is added to the writer too (NULL: no longer). Set it while no
 * other thread uses the cache. */
void stn_cache_record(stn_cache *cache, stn_pack_writer *writer);

/* ---- memo.c: key -> a value that is expensive to make, made once per process (uthash) ---------------------------- */
typedef struct stn_memo stn_memo;
typedef stn_status (*stn_memo_make)(void *user, const stn_key *key, void **value, stn_error *error);
typedef void (*stn_memo_free)(void *user, void *value);
stn_status stn_memo_create(stn_memo_free free_value, void *user, stn_memo **memo, stn_error *error);
/* The value of key, made by `make` if it is not there; other threads asking for the same key meanwhile wait for it. A
 * failure is given to every waiter and not remembered. The memo keeps the value until it is destroyed; *hit (may be
 * NULL) says whether it was there. `make` must not ask for its own key. */
stn_status stn_memo_get(stn_memo *memo, const stn_key *key, stn_memo_make make, void *make_user, void **value,
                        bool *hit, stn_error *error);
void stn_memo_destroy(stn_memo *memo); /* frees all values; no thread may be in stn_memo_get; NULL is fine */
#endif
