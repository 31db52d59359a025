/* Resolves the path of an output through symbolic links to a file, which need not exist, or to an
 * open stream. */
#ifndef STN_IO_OUTPUT_PATH_H
#define STN_IO_OUTPUT_PATH_H
#include <stdbool.h>
#include <sys/stat.h>

#include "stentor.h"

typedef struct stn_output_path {
    char *path; /* owned: the resolved folder, which exists, and the file's name; NULL: a stream */
    int stream; /* this process's descriptor (/dev/stdout, /dev/fd/N and the like); else -1 */
} stn_output_path;

/* Errors: STN_ERROR_IO for a missing folder, a loop of links, or a path that can only be a
 * folder. */
stn_status stn_output_path_resolve(const char *name, stn_output_path *place, stn_error *error);

/* Do two paths lead to the same output, so that one would overwrite the other? A second hard link
 * is another output. Paths that cannot be resolved are never the same. */
bool stn_output_path_same(const char *a, const char *b);

/* Why an existing file cannot be replaced by rename, as a phrase; NULL: no reason is known. */
const char *stn_output_path_obstacle(const char *path, const struct stat *there);
#endif
