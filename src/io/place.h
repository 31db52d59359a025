/* Where the name of an output leads: through symbolic links to a file, there or not yet, or to an
 * open stream. */
#ifndef STN_IO_PLACE_H
#define STN_IO_PLACE_H
#include <stdbool.h>
#include <sys/stat.h>

#include "stentor.h"

typedef struct stn_place {
    char *path; /* owned: the file's folder, which exists, without links, and its name; NULL: a stream */
    int stream; /* /dev/stdout, /dev/fd/N and the like: this process's descriptor; else -1 */
} stn_place;

/* Errors: STN_ERROR_IO for a folder that is not there, links in a circle, or a name that only a
 * folder can have. */
stn_status stn_place_find(const char *name, stn_place *place, stn_error *error);
void stn_place_clear(stn_place *place);

/* Whether two names lead to one place, so that what is written to one replaces what is in the
 * other. A second hard link is another place. Names that lead nowhere are the same as none. */
bool stn_place_same(const char *a, const char *b);

/* Why a file that is there cannot be replaced by renaming another onto it, in a phrase; NULL when
 * it can, or nothing is known against it. */
const char *stn_place_obstacle(const char *path, const struct stat *there);
#endif
