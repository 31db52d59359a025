/* The lock between processes on one key. */
#ifndef STN_CACHE_LOCK_H
#define STN_CACHE_LOCK_H
#include "cache/key.h"

#define STN_LOCK_NAME "lock"

struct stn_folder;
/* Returns the lock; -1, with errno, if it was not acquired within wait_ms milliseconds. */
int stn_folder_lock(struct stn_folder *folder, unsigned wait_ms, const stn_key *key);
void stn_cache_unlock(int lock); /* -1 is fine */
#endif
