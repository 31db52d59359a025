/* Entries as files: DIR/ab/cdef... for the key abcdef... in hex. */
#ifndef STN_CACHE_DISK_H
#define STN_CACHE_DISK_H
#include "cache/entry.h"
#include "cache/folder.h"

typedef struct stn_disk {
    stn_folder folder;
    uint64_t max_bytes, max_files;
    atomic_ullong rejected, bytes_read, bytes_written;
} stn_disk;

#define STN_DISK_NAME 63 /* 62 hex digits and the terminator */

/* The subfolder and file name of a key. */
void stn_disk_name(const stn_key *key, char sub[3], char name[STN_DISK_NAME]);

bool stn_disk_find(stn_disk *disk, const stn_key *key, stn_entry *entry);
/* Finds the entry with this source key that was used last; key gets the entry's own key. Both keys
 * begin with the same byte, so that the entries of all compilers lie in one subfolder. */
bool stn_disk_find_source(stn_disk *disk, const stn_key *source, stn_key *key, stn_entry *entry);
/* True if it is stored now. */
bool stn_disk_store(stn_disk *disk, const stn_key *key, const stn_entry *entry);
bool stn_disk_remove(stn_disk *disk, const stn_key *key); /* True if it was there and is removed. */

/* Reads and checks the entry `name` in the opened subfolder. STN_ERROR_FORMAT: damaged, and the
 * error is a clause with the reason; STN_ERROR_IO: absent or unreadable; STN_ERROR_OUT_OF_MEMORY.
 * *status is filled with STN_ERROR_FORMAT. `use` updates the time of last use. */
stn_status stn_disk_read(const stn_disk *disk, int sub, const char *name, const stn_key *key, stn_entry *entry,
                         struct stat *status, stn_error *error, bool use);

/* ---- collection.c */
/* The collection that runs after some stores. */
void stn_disk_collect(stn_disk *disk);
#endif
