/* NVRTC, opened at run time: compiles CUDA C++ text to PTX and cubin. */
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
 * folders, the loader's path, $CUDA_HOME and usual toolkit folders; preloads its builtins library
 * from the same folder. STN_ERROR_NO_COMPILER names everything that was tried, and how to install
 * NVRTC. */
stn_status stn_compiler_open(const stn_logger *logger, stn_compiler **compiler, stn_error *error);
void stn_compiler_close(stn_compiler *compiler);

/* Finds the NVRTC that would be opened without opening it (opening takes tens of milliseconds), for
 * a cache key. False if there is none, or only one that the loader alone can find.
 * stn_compiler_open skips a file that turns out to be unusable, so compare identities after
 * opening. */
typedef struct stn_compiler_location {
    char path[4096];
    char identity[160];
} stn_compiler_location;
bool stn_compiler_locate(stn_compiler_location *place);

/* "nvrtc build 0123abcd": the ELF build id, part of every cache key. Owned by the compiler, as are
 * the strings below. */
const char *stn_compiler_identity(const stn_compiler *compiler);
const char *stn_compiler_version(const stn_compiler *compiler); /* "13.0" */
const char *stn_compiler_path(const stn_compiler *compiler);
/* The highest sm number (90 for sm_90) that this NVRTC makes machine code for; and whether it makes
 * machine code for `sm`. */
int stn_compiler_newest_sm(const stn_compiler *compiler);
bool stn_compiler_knows(const stn_compiler *compiler, int sm);

typedef struct stn_compile_request {
    const char *name;            /* the template's file name, used in messages */
    const char *source;          /* text of the template */
    const stn_template *headers; /* Files it may include, with the rendered params.cuh. */
    size_t header_count;
    const char *const *options; /* besides the architecture */
    size_t option_count;
    int sm; /* 90: cubin for sm_90 and PTX for compute_90 */
    /* May be NULL. Once it is true, the compile fails soon (from NVRTC 12.9 on). */
    const atomic_bool *cancel;
} stn_compile_request;

typedef struct stn_compile_output {
    char *ptx;       /* NUL-terminated */
    size_t ptx_size; /* without the NUL */
    void *cubin;     /* NULL if NVRTC does not know the chip: then the driver compiles the PTX. */
    size_t cubin_size;
    double seconds;
} stn_compile_output;

/* STN_ERROR_COMPILE has the first error line as its message; the whole log is logged at
 * STN_LOG_ERROR. STN_ERROR_UNSUPPORTED: the kernel has more shared memory than a block may. */
stn_status stn_compile(stn_compiler *compiler, const stn_compile_request *request, stn_compile_output *output,
                       stn_error *error);
/* Compiles an empty kernel: the first compile of a process initializes state that all later ones
 * use. */
void stn_compiler_warm(stn_compiler *compiler);
void stn_compile_output_free(stn_compile_output *output);

/* The predicted seconds of compiling a kernel on one thread. */
double stn_compile_seconds(const char *template_name, const char *params);

/* Compiler options of every kernel; part of the cache key. */
extern const char *const stn_compile_options[];
extern const size_t stn_compile_option_count;
#endif
