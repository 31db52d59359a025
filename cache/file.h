/* Files that appear whole or not at all. */
#ifndef STN_CACHE_FILE_H
#define STN_CACHE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Writes `prefix` + random digits in the folder `dir` (AT_FDCWD for paths), fsyncs if asked, renames it to `name`. On
 * failure errno says why and nothing is left behind. mode is subject to the umask. */
bool stn_file_put(int dir, const char *prefix, const char *name, mode_t mode, const void *bytes, size_t size,
                  bool sync);

/* A symlink whose text is `target`, put in place the same way. */
bool stn_file_link(int dir, const char *prefix, const char *name, const char *target);

/* Removes a file, or a folder that is empty, if it still is the one that was looked at: another process may have put a
 * good file in its place. False with errno: ESTALE it was replaced, ENOENT it is gone already. */
bool stn_file_remove_seen(int dir, const char *name, const struct stat *seen);
/* The same whatever it is by now. */
bool stn_file_remove(int dir, const char *name);
#endif
