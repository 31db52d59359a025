/* Shared by the cache's tests: temporary folders, distinguishable entries, a log that counts. */
#ifndef STN_TESTS_CACHE_HELPERS_H
#define STN_TESTS_CACHE_HELPERS_H
#include <stdatomic.h>
#include <sys/types.h>

#include "cache/cache.h"
#include "cache/wisdom.h"

char *make_temp_folder(void);                    /* freed with remove_temp_folder */
void remove_temp_folder(char *path);             /* with everything in it */
void give_folder(const char *path, uid_t owner); /* with everything in it */
char *path_in(const char *, const char *);       /* "folder/name", from malloc */

stn_key key_of_number(unsigned number);
stn_entry entry_of_number(unsigned number, size_t cubin_size);    /* freed with stn_entry_clear */
bool entry_is_of_number(const stn_entry *entry, unsigned number); /* for any cubin size */
/* Wisdom with one entry with these lines; its keys are those of number, 100 + number and 200. */
stn_wisdom wisdom_of_number(unsigned number, const char *lines);
char *entry_path(const char *folder, const stn_key *key); /* DIR/ab/cdef..., from malloc */
/* from malloc; NULL when absent */
unsigned char *read_file(const char *path, size_t *size);
void write_file(const char *path, const void *bytes, size_t size); /* mode 0600 */
bool exists(const char *path);
/* plain files, at any depth */
unsigned count_files(const char *folder, const char *prefix_or_null);
/* sets the last use to so many seconds ago */
void set_age(const char *path, long seconds);

/* Reads these bytes, and refuses them with a byte changed (to any other one or to a few others),
 * cut short, or with up to 70 zeros more. */
void expect_only_whole(unsigned char *bytes, size_t size, bool (*reads)(const unsigned char *, size_t), bool any_other);

/* Changes one byte of every entry; returns how many there were. */
unsigned damage_entries(const char *folder);

/* Mounts a file system that only this test's process and its children see; false if not
 * permitted. */
bool mount_small(const char *at, const char *size);

typedef struct counting_log {
    stn_logger logger;
    atomic_uint warnings;
    char last[1024];
} counting_log;
void counting_log_init(counting_log *log);

/* The fixture of most suites: a temporary folder, a log that counts, and the cache that a test
 * opens, which is closed with the folder. Paths by in_dir and entry_at last as long. */
extern char *dir;
extern counting_log heard;
extern stn_cache *cache;
void open_folder(void);
void close_folder(void);
void close_cache(void);
/* The same with another folder, not as root, who may read and write everything. */
void as_nobody(void);
char *in_dir(const char *name); /* "dir/name" */
char *entry_at(unsigned number);

stn_cache *open_cache(const char *path, counting_log *log); /* or the test fails */
void store_number(stn_cache *into, unsigned number, size_t cubin_size);
bool find_number(stn_cache *in, unsigned number); /* a wrong entry fails the test */
#endif
