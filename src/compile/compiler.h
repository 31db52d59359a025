/* NVRTC, opened at run time: text -> PTX and cubin. */
#ifndef STN_COMPILE_COMPILER_H
#define STN_COMPILE_COMPILER_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/log.h"
#include "render/render.h"
#include "stentor.h"

#define STN_OLDEST_NVRTC 12 /* the major version */

typedef struct stn_compiler stn_compiler; /* thread-safe: NVRTC compiles concurrently */

/* Finds and opens NVRTC: $STENTOR_NVRTC_PATH (file or folder), one already loaded, pip's nvidia
 * folders, the loader's path, $CUDA_HOME and usual toolkit folders; its builtins are preloaded from
 * beside it. STN_ERROR_NO_COMPILER names all that was tried and how to get it. */
stn_status stn_compiler_open(const stn_logger *logger, stn_compiler **compiler, stn_error *error);
void stn_compiler_close(stn_compiler *compiler);

/* Which NVRTC would be opened, found without opening it, which takes tens of milliseconds: enough
 * for a cache key. False if there is none, or only one that the loader alone can find. A file that
 * is found and then turns out to be unusable is passed over by stn_compiler_open, so compare
 * identities after opening. */
typedef struct stn_compiler_place {
    char path[4096];
    char identity[160];
} stn_compiler_place;
bool stn_compiler_locate(stn_compiler_place *place);

/* "nvrtc build 0123abcd": the ELF build id, which tells versions and builds apart; a part of every
 * cache key. Owned by the compiler, as are the others. */
const char *stn_compiler_identity(const stn_compiler *compiler);
const char *stn_compiler_version(const stn_compiler *compiler); /* "13.0" */
const char *stn_compiler_path(const stn_compiler *compiler);
/* Highest sm number (90 for sm_90) that this NVRTC has machine code for, and whether it knows
 * `sm`. */
int stn_compiler_newest_sm(const stn_compiler *compiler);
bool stn_compiler_knows(const stn_compiler *compiler, int sm);

typedef struct stn_compile_request {
    const char *name;            /* the template's file name, used in messages */
    const char *source;          /* its text */
    const stn_template *headers; /* what it may include, params.cuh's rendered text among them */
    size_t header_count;
    const char *const *options; /* besides the arch */
    size_t option_count;
    int sm;                    /* 90: cubin for sm_90 and PTX for compute_90 */
    const atomic_bool *cancel; /* NULL, or: once it is true the compile fails soon, where NVRTC can be stopped (12.9) */
} stn_compile_request;

typedef struct stn_compile_output {
    char *ptx;       /* NUL-terminated */
    size_t ptx_size; /* without the NUL */
    void *cubin;     /* NULL when NVRTC does not know the chip: then the PTX goes to the driver */
    size_t cubin_size;
    double seconds;
} stn_compile_output;

/* STN_ERROR_COMPILE carries the first error line; the whole log goes to the logger at
 * STN_LOG_ERROR. */
stn_status stn_compile(stn_compiler *compiler, const stn_compile_request *request, stn_compile_output *output,
                       stn_error *error);
/* The first compile of a process sets up what all others use; this is one of nothing. */
void stn_compiler_warm(stn_compiler *compiler);
void stn_compile_output_free(stn_compile_output *output);

/* The options that every kernel is compiled with, for the cache key and the compiler alike. */
extern const char *const stn_compile_options[];
extern const size_t stn_compile_option_count;
#endif
