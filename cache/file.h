/* Files that appear whole or not at all. */
#ifndef STN_CACHE_FILE_H
#define STN_CACHE_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Writes `prefix` + random digits in the folder `dir` (AT_FDCWD for paths), fsyncs if asked, renames it to `name`. On
 * failure errno says why and nothing is left behind. mode is subject to the umask. */
bool stn_file_put(int dir, const char *prefix, const char *name, mode_t mode, const void *bytes, size_t size,
                  bool sync);

/* A symlink whose text is `target`, put in place the same way. */
bool stn_file_link(int dir, const char *prefix, const char *name, const char *target);
#endif
