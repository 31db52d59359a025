/* From a template and its parameters to a loaded kernel:
 * render -> key -> memory -> packs -> disk -> NVRTC -> driver. */
#ifndef STN_CONTEXT_KERNEL_H
#define STN_CONTEXT_KERNEL_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/text.h"
#include "cache/cache.h"
#include "context/kernel_memory.h"
#include "launch/driver.h"
#include "stentor.h"

/* Missing kernels that are compiled together: compile_batch.h. */
enum { STN_COMPILE_BATCH_MAX = 64 };
typedef struct stn_compile_batch {
    stn_context *context;
    stn_kernel *missing[STN_COMPILE_BATCH_MAX]; /* placeholders, owned */
    size_t count;
    atomic_bool cancel;     /* a thread has cancelled it, or a kernel has failed */
    atomic_flag has_failed; /* set by the first kernel that fails, before it writes `failure` */
    stn_error failure;
    atomic_bool finished; /* set when the background thread has processed this batch */
} stn_compile_batch;

/* The kernels that a plan, or another user, has asked for. They stay loaded until the set is
 * cleared; other kernels may be unloaded. Initialise it with only `context` set. One thread may use
 * it at a time. */
typedef struct stn_kernel_set {
    stn_context *context;
    stn_kernel **list; /* owned; in the order of the requests, each once */
    size_t count;
    /* Borrowed: a missing kernel is added to it, and a placeholder without a module takes its
     * place. NULL: a missing kernel is compiled when it is asked for. */
    stn_compile_batch *batch;
    /* A strategy sets it if, while kernels are only added to `batch`, it leaves out objects whose
     * workspace it does not know otherwise. */
    bool workspace_unknown;
} stn_kernel_set;
/* Releases the set's kernels. Kernels that no set uses may be unloaded when another kernel is
 * loaded; before that the context waits for the device, whose work may still use them. */
void stn_kernel_set_clear(stn_kernel_set *set);
/* Whether the batch already contains a missing kernel. The plan in preparation will then be
 * prepared again, so its tables need not be computed now. */
static inline bool stn_kernels_miss(const stn_kernel_set *set) { return set->batch && set->batch->count > 0; }

/* `name` is a template's name without ".cu" ("direct_tile"), `params` the text of its params.cuh.
 * The context owns the kernel and shares it between sets. */
stn_status stn_kernel_get(stn_kernel_set *set, const char *name, const char *params, stn_kernel **kernel,
                          stn_error *error);
/* The same for parameters in a stn_text, which is freed. `shared`: bytes of dynamic shared memory
 * of its launches. */
stn_status stn_kernel_make(stn_kernel_set *set, const char *name, stn_text *params, size_t shared, stn_kernel **kernel,
                           stn_error *error);
/* Compiles the kernel that a placeholder stands for, unless it is stored by now. The compiled
 * kernel is not loaded, so a background thread may call this: loading a module would end a stream
 * capture of the caller. stn_kernel_get loads it later. Fails soon after *cancel becomes true. */
stn_status stn_kernel_compile(stn_context *context, const stn_kernel *missing, const atomic_bool *cancel,
                              stn_error *error);
/* The number of blocks of `threads` threads and `shared` bytes of shared memory that are resident
 * at once on `multiprocessors` multiprocessors; 1 where the kernel is not loaded. */
int64_t stn_kernel_resident(const stn_kernel *kernel, int multiprocessors, int threads, size_t shared);
/* Launches a one-dimensional grid of `blocks` blocks of `threads` threads: stn_module_launch. */
static inline stn_status stn_kernel_launch(const stn_kernel *kernel, int64_t blocks, int threads, size_t shared,
                                           void *arguments, void *stream, stn_error *error) {
    const stn_launch how = {
        .grid = {(unsigned)blocks, 1, 1}, .block = {(unsigned)threads, 1, 1}, .shared = shared, .stream = stream};
    return stn_module_launch(kernel->module, &how, arguments, error);
}
/* Checks that a cache entry's metadata and parameters hash to its key. STN_ERROR_FORMAT where its
 * text was changed, or other templates or another version made it. This does not check PTX and
 * cubin, which keys do not cover. */
stn_status stn_kernel_verify(const stn_context *context, const stn_key *key, const stn_entry *entry, stn_error *error);
#endif
