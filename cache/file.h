/* Files that appear whole or not at all. */
#ifndef STN_CACHE_FILE_H
#define STN_CACHE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "cache/folder.h"

/* Writes `prefix` + random digits in the folder `dir` (AT_FDCWD for paths), fsyncs if asked,
 * renames it to `name`. On failure errno says why and nothing is left behind. mode is subject to
 * the umask. */
bool stn_file_put(int dir, const char *prefix, const char *name, mode_t mode, const void *bytes, size_t size,
                  bool sync);

/* stn_file_put in the folder's subfolder `sub` (NULL: in the folder itself), which is made where it
 * is not there. */
bool stn_file_store(stn_folder *folder, const char *sub, const char *name, const void *bytes, size_t size, bool sync);

/* All bytes of a plain file that the folder's user alone may write, and a NUL behind them, freed
 * with free(). `use` notes the time of use. STN_ERROR_FORMAT: it is no such file, or has less than
 * `least` or more than `most` bytes; *status says which file it is. STN_ERROR_IO (and errno),
 * STN_ERROR_OUT_OF_MEMORY: it is absent (ENOENT), or cannot be read now, which says nothing of its
 * content. The error is a clause to put behind a name. */
stn_status stn_file_read(const stn_folder *folder, int dir, const char *name, size_t least, size_t most, bool use,
                         char **bytes, struct stat *status, stn_error *error);

/* A symlink whose text is `target`, put in place the same way. */
bool stn_file_link(int dir, const char *prefix, const char *name, const char *target);

/* Removes a file, or a folder that is empty, if it still is the one that was looked at: another
 * process may have put a good file in its place. False with errno: ESTALE it was replaced, ENOENT
 * it is gone already. */
bool stn_file_remove_seen(int dir, const char *name, const struct stat *seen);
/* The same whatever it is by now. */
bool stn_file_remove(int dir, const char *name);
#endif
