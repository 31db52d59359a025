/* Entries as files: DIR/ab/cdef... for the key abcdef... in hex. */
#ifndef STN_CACHE_DISK_H
#define STN_CACHE_DISK_H
#include "cache/entry.h"
#include "cache/folder.h"

typedef struct stn_disk {
    stn_folder folder;
    uint64_t max_bytes, max_files;
    bool keep_source;
    atomic_ullong rejected, bytes_read, bytes_written;
} stn_disk;

#define STN_DISK_NAME 63              /* 62 hex digits and the terminator */
#define STN_DISK_TEMP ".tmp-"         /* prefix of files being written */
#define STN_DISK_PARAMS ".params.cuh" /* suffix of the rendered source beside an entry */
#define STN_DISK_ALIAS ".any"         /* suffix of the symlink whose text names the entry last made from a source key */

/* Where a key lives: subfolder and file name. */
void stn_disk_place(const stn_key *key, char sub[3], char name[STN_DISK_NAME]);

bool stn_disk_find(stn_disk *disk, const stn_key *key, stn_entry *entry);
/* By the source key, by way of the alias (its text is read, it is never opened through); key gets
 * the entry's own. */
bool stn_disk_find_source(stn_disk *disk, const stn_key *source, stn_key *key, stn_entry *entry);
bool stn_disk_store(stn_disk *disk, const stn_key *key, const stn_entry *entry); /* true if it is there now */
bool stn_disk_remove(stn_disk *disk, const stn_key *key);                        /* true if it was there and is gone */

/* Reads and checks the entry `name` in the opened subfolder. A bad one gives STN_ERROR_FORMAT and a
 * clause that says why; an absent or unreadable one STN_ERROR_IO; want of memory its own status.
 * *status is filled with STN_ERROR_FORMAT. `use` notes the time of use. */
stn_status stn_disk_read(const stn_disk *disk, int sub, const char *name, const stn_key *key, stn_entry *entry,
                         struct stat *status, stn_error *error, bool use);
#endif
