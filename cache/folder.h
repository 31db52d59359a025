/* The cache's folder: its path, the check of its owner and mode, and opening it. */
#ifndef STN_CACHE_FOLDER_H
#define STN_CACHE_FOLDER_H
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/log.h"
#include "cache/key.h"
#include "stentor.h"

typedef struct stn_folder {
    char *path;  /* absolute; NULL: no disk */
    bool shared; /* others may own or write it */
    const stn_logger *logger;
    atomic_bool warned; /* the only warning about the folder has been logged */
    char problem[512];  /* text of the warning; complete once has_problem is set */
    atomic_bool has_problem;
} stn_folder;

/* dir: NULL or "": from the environment; ":memory:": none. Fails only on out of memory. */
stn_status stn_folder_init(stn_folder *folder, const char *dir, bool shared, const stn_logger *logger,
                           stn_error *error);
void stn_folder_clear(stn_folder *folder);

/* Logs a warning, once per cache; the program continues. */
__attribute__((format(printf, 2, 3))) void stn_folder_warn(stn_folder *folder, const char *format, ...);

/* Returns a descriptor of the folder. The path is opened and checked each time, so that a deleted
 * or replaced folder is noticed. -1 if it is absent (errno ENOENT, no warning) or refused (errno
 * EPERM, warned). `create` makes an absent one, with its parents. */
int stn_folder_open(stn_folder *folder, bool create);
/* The same for the subfolder of an entry ("ab"). */
int stn_folder_open_sub(stn_folder *folder, int root, const char *name, bool create);

/* Opens the subfolder `sub`, or with NULL the folder itself. */
int stn_folder_open_at(stn_folder *folder, const char *sub, bool create);

/* Closes a folder or file, or releases a lock. Keeps errno; -1 has no effect. */
void stn_folder_close(int descriptor);

/* NULL, or why a file with this status is not trusted: "is not owned by this user". */
const char *stn_folder_distrust(const stn_folder *folder, const struct stat *status);

/* ---- the lock between processes on one key */
#define STN_LOCK_NAME "lock"
/* Returns the lock; -1, with errno, if it was not acquired within wait_ms milliseconds. */
int stn_folder_lock(stn_folder *folder, unsigned wait_ms, const stn_key *key);
#endif
