/* Cache collection on disk; the stn_cache_ functions of the same names document it. */
#ifndef STN_CACHE_COLLECTION_H
#define STN_CACHE_COLLECTION_H
#include "cache/disk.h"
#include "cache/listing.h"

stn_status stn_disk_each(stn_disk *disk, stn_cache_visit visit, void *user, stn_error *error);
/* Visits every entry's key without reading the entry. */
stn_status stn_disk_keys(stn_disk *disk, void (*visit)(void *user, const stn_key *key), void *user, stn_error *error);
stn_status stn_disk_verify(stn_disk *disk, stn_cache_collection *counts, stn_error *error);
stn_status stn_disk_gc(stn_disk *disk, int64_t spare_seconds, stn_cache_collection *counts, stn_error *error);
stn_status stn_disk_clear(stn_disk *disk, stn_cache_collection *counts, stn_error *error);
/* The collection that runs after some stores. */
void stn_disk_collect(stn_disk *disk);
#endif
