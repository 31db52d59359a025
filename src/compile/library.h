/* Finds CUDA's libraries: by an environment variable, already loaded, in pip's wheels, on the
 * loader's path, in a toolkit. Only tests files and opens none, so that a search takes well under a
 * millisecond. */
#ifndef STN_COMPILE_LIBRARY_H
#define STN_COMPILE_LIBRARY_H
#include <stdbool.h>

#include "base/text.h"
#include "stentor.h"

typedef struct stn_library_spec {
    const char *name; /* "NVRTC" */
    /* Environment variable with a file or a folder; if set, nothing else is tried. */
    const char *variable;
    const char *stem;       /* "libnvrtc.so": files are STEM.VERSION */
    const char *wheels[4];  /* folders below site-packages/nvidia that hold lib/; ends with NULL */
    const char *sonames[4]; /* Newest first, with the next future one; ends with NULL. */
} stn_library_spec;

extern const stn_library_spec stn_library_nvrtc, stn_library_cufft, stn_library_cublas, stn_library_nccl;

/* Calls visit with the path of each candidate file, best first, until visit returns true; returns
 * true then. visit must open and check the file. The last paths are bare sonames, for the loader to
 * find. */
typedef bool (*stn_library_visit)(void *user, const char *path);
bool stn_library_search(const stn_library_spec *spec, stn_library_visit visit, void *user);

/* False if the path names something other than a regular file: opening a FIFO could wait for ever.
 * True for a path that does not exist and for a bare soname, which dlopen decides on. */
bool stn_library_may_open(const char *path);

/* Opens a library that is never unloaded; dlclose the handle after use. NULL: the reason is
 * appended to `reasons`. */
void *stn_library_open(const char *path, stn_text *reasons);
/* Fills a table of function pointers in the order of their names. False: *missing is the first
 * missing name. */
bool stn_library_resolve(void *library, const char *const *names, size_t count, void *table, const char **missing);
/* Fails after a search: the reasons, cut short, and how to install the library. */
stn_status stn_library_fail(const stn_library_spec *spec, const stn_text *reasons, stn_status status, stn_error *error);

/* Appends "looked at ...: get it by ...". */
void stn_library_advice(const stn_library_spec *spec, stn_text *text);

/* Identifies the build of a library: "build 65be0d..." from its ELF build id, else its name and
 * size. False if it is no shared object for this processor. */
bool stn_library_build(const char *path, char *identity, size_t size);
#endif
