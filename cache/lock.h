/* The lock between processes on one key. */
#ifndef STN_CACHE_LOCK_H
#define STN_CACHE_LOCK_H
#include "cache/key.h"

#define STN_LOCK_NAME "lock"

struct stn_folder;
typedef struct stn_cache_lock stn_cache_lock;
/* NULL, with errno, if it was not acquired within wait_ms milliseconds. */
stn_cache_lock *stn_folder_lock(struct stn_folder *folder, unsigned wait_ms, const stn_key *key);
void stn_cache_unlock(stn_cache_lock *lock); /* NULL is fine */
#endif
