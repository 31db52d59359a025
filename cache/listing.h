/* Entries as visitors see them, and the counts of a collection. */
#ifndef STN_CACHE_LISTING_H
#define STN_CACHE_LISTING_H
#include "cache/entry.h"

typedef struct stn_cache_item {
    stn_key key;
    uint64_t bytes;         /* of the file */
    int64_t used;           /* last use, seconds since 1970 */
    const stn_entry *entry; /* NULL with a fault */
    const char *fault;      /* what is wrong with it, or NULL */
    bool damaged;           /* True: the entry is damaged; false: it could not be read now. */
} stn_cache_item;           /* all borrowed during the visit */
typedef bool (*stn_cache_visit)(void *user, const stn_cache_item *item); /* false: stop */

/* Counts of kernels and wisdom together. */
typedef struct stn_cache_collection {
    uint64_t files, bytes;                 /* kernels kept; bytes of kernels and wisdom kept */
    uint64_t measured;                     /* wisdom entries kept */
    uint64_t removed_files, removed_bytes; /* entries, temporary files and leftovers */
    uint64_t damaged;                      /* damaged ones among the removed (verify only) */
    /* Faulty or unreadable ones that remain, each named to the logger (verify only). */
    uint64_t left;
} stn_cache_collection;
#endif
