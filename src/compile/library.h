/* Finding CUDA's libraries where users have them: by a variable, already loaded, in pip's wheels,
 * on the loader's path, in a toolkit. Looks at files and opens nothing, so a search takes well
 * under a millisecond. */
#ifndef STN_COMPILE_LIBRARY_H
#define STN_COMPILE_LIBRARY_H
#include <stdbool.h>

#include "base/text.h"
#include "stentor.h"

typedef struct stn_library_spec {
    const char *name;       /* "NVRTC" */
    const char *variable;   /* of the environment: a file or a folder; when it is set nothing else is looked at */
    const char *stem;       /* "libnvrtc.so": files are STEM.VERSION */
    const char *wheels[4];  /* folders below site-packages/nvidia that have its lib/; ends with NULL */
    const char *sonames[4]; /* newest first, the next one that may come included; ends with NULL */
} stn_library_spec;

extern const stn_library_spec stn_library_nvrtc, stn_library_cufft, stn_library_cublas;

/* Calls visit with the path of each file that could be the library, best first, until it returns
 * true (and then returns true). Files are not opened: visit decides. The last path is a bare soname
 * when the loader may know more than we do. */
typedef bool (*stn_library_visit)(void *user, const char *path);
bool stn_library_search(const stn_library_spec *spec, stn_library_visit visit, void *user);

/* False if the path leads to something that is there and no file: to open a FIFO waits for a
 * writer, perhaps for ever. A path that leads nowhere, or a bare soname, is the loader's to
 * judge. */
bool stn_library_may_open(const char *path);

/* Opens such a file, never to be unloaded; close the handle when done with it. NULL: why not is
 * added to the reasons. */
void *stn_library_open(const char *path, stn_text *reasons);
/* Fills a table of function pointers, in the order of their names. False: *missing is the first
 * that the library lacks. */
bool stn_library_resolve(void *library, const char *const *names, size_t count, void *table, const char **missing);
/* What a search without success ends with: the reasons, cut short, and how to get the library,
 * which matters more. */
stn_status stn_library_fail(const stn_library_spec *spec, const stn_text *reasons, stn_status status, stn_error *error);

/* The sentence part "looked at ...: get it by ...". */
void stn_library_advice(const stn_library_spec *spec, stn_text *text);

/* Which build of a library a file is: "build 65be0d..." from its ELF build id, else its name and
 * size. False if it is no shared object of this kind of processor. */
bool stn_library_build(const char *path, char *identity, size_t size);
#endif
