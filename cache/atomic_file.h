/* Atomic file writing (temporary file, rename) and checked reading. */
#ifndef STN_CACHE_ATOMIC_FILE_H
#define STN_CACHE_ATOMIC_FILE_H
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "cache/folder.h"

#define STN_TEMP ".tmp-" /* prefix of files being written */

/* Writes a temporary file in the folder's subfolder `sub` (NULL: the folder itself), which is made
 * if it does not exist, and renames it to `name`. On failure errno has the reason and nothing is
 * left behind. sync: waits until the file would be there after a loss of power. */
bool stn_file_store(stn_folder *folder, const char *sub, const char *name, const void *bytes, size_t size, bool sync);

/* Reads a regular file that only the folder's user may write, and appends a NUL; freed with free().
 * `use` updates the time of last use. STN_ERROR_FORMAT: not such a file, or its size is below
 * `least` or above `most` bytes; *status identifies it. STN_ERROR_IO (with errno, ENOENT if absent)
 * and STN_ERROR_OUT_OF_MEMORY: it cannot be read now, which says nothing about its content. The
 * error message is a clause without the file's name ("it is a symlink"), which the caller
 * completes. */
stn_status stn_file_read(const stn_folder *folder, int dir, const char *name, size_t least, size_t most, bool use,
                         char **bytes, struct stat *status, stn_error *error);

/* Removes a file or an empty folder if it is still the one in `seen`: another process may have
 * replaced it with a good file. False with errno: ESTALE if replaced, ENOENT if gone. */
bool stn_file_remove_seen(int dir, const char *name, const struct stat *seen);
/* The same without that check. */
bool stn_file_remove(int dir, const char *name);
#endif
