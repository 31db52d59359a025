/* What is said of the folder as a whole: each entry to a visitor, and what an upkeep did. */
#ifndef STN_CACHE_LISTING_H
#define STN_CACHE_LISTING_H
#include "cache/entry.h"

typedef struct stn_cache_item {
    stn_key key;
    uint64_t bytes;         /* of the file */
    int64_t used;           /* last use, seconds since 1970 */
    const stn_entry *entry; /* NULL with a fault */
    const char *fault;      /* what is wrong with it, or NULL */
    bool damaged;           /* the fault is its own; else it could not be read now */
} stn_cache_item;           /* all borrowed during the visit */
typedef bool (*stn_cache_visit)(void *user, const stn_cache_item *item); /* false: stop */

/* Of kernels and wisdom together. */
typedef struct stn_cache_sweep {
    uint64_t files, bytes;                 /* kernels kept; bytes of wisdom too */
    uint64_t measured;                     /* entries of wisdom kept */
    uint64_t removed_files, removed_bytes; /* entries, temporaries and leftovers removed */
    uint64_t damaged;                      /* of those removed, how many were damaged (verify only) */
    uint64_t left; /* faulty or unreadable and still there, each named to the logger (verify only) */
} stn_cache_sweep;
#endif
