/* The cache's folder: where it is, whether it may be trusted, and opening it. */
#ifndef STN_CACHE_FOLDER_H
#define STN_CACHE_FOLDER_H
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "base/log.h"
#include "stentor.h"

typedef struct stn_folder {
    char *path;  /* absolute; NULL: no disk */
    bool shared; /* others may own or write it */
    const stn_logger *logger;
    atomic_bool warned; /* the one warning was given */
    char problem[512];  /* its text; complete once warned is set */
    atomic_bool told;   /* problem is complete */
} stn_folder;

/* dir: NULL or "" for the environment's, ":memory:" for none. Only running out of memory fails. */
stn_status stn_folder_init(stn_folder *folder, const char *dir, bool shared, const stn_logger *logger,
                           stn_error *error);
void stn_folder_clear(stn_folder *folder);

/* Says what is wrong, once per cache. The run goes on. */
__attribute__((format(printf, 2, 3))) void stn_folder_warn(stn_folder *folder, const char *format, ...);

/* A descriptor of the folder, looked up and checked anew each time, so that one deleted or replaced
 * underneath is noticed; -1 when it is absent (errno ENOENT, no warning) or refused (errno EPERM,
 * warned). With `create` an absent one is made, its parents too. */
int stn_folder_open(stn_folder *folder, bool create);
/* The same for the subfolder that an entry lives in ("ab"). */
int stn_folder_open_sub(stn_folder *folder, int root, const char *name, bool create);

/* Both at once: the subfolder `sub`, or with NULL the folder itself. */
int stn_folder_open_at(stn_folder *folder, const char *sub, bool create);

/* Does no entry lie in it? */
bool stn_folder_is_empty(stn_folder *folder);

/* NULL, or why something with this status is not to be trusted: "is not owned by this user". */
const char *stn_folder_distrust(const stn_folder *folder, const struct stat *status);
#endif
