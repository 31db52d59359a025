/* The per-key lock between processes. */
#ifndef STN_CACHE_LOCK_H
#define STN_CACHE_LOCK_H
#include "cache/disk.h"

#define STN_LOCK_NAME "lock"

stn_cache_lock *stn_disk_lock(stn_disk *disk, const stn_key *key);
#endif
