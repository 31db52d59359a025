/* Resolves the path of an output through symbolic links to a file, which need not exist, or to an
 * open stream. */
#ifndef STN_IO_PLACE_H
#define STN_IO_PLACE_H
#include <stdbool.h>
#include <sys/stat.h>

#include "stentor.h"

typedef struct stn_place {
    char *path; /* owned: the resolved folder, which exists, and the file's name; NULL: a stream */
    int stream; /* this process's descriptor (/dev/stdout, /dev/fd/N and the like); else -1 */
} stn_place;

/* Errors: STN_ERROR_IO for a missing folder, a loop of links, or a path that can only be a
 * folder. */
stn_status stn_place_find(const char *name, stn_place *place, stn_error *error);
void stn_place_clear(stn_place *place);

/* Do two paths lead to the same output, so that one would overwrite the other? A second hard link
 * is another output. Paths that cannot be resolved are never the same. */
bool stn_place_same(const char *a, const char *b);

/* Why an existing file cannot be replaced by rename, as a phrase; NULL: no reason is known. */
const char *stn_place_obstacle(const char *path, const struct stat *there);
#endif
