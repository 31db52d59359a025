/* From a template and its parameters to a loaded kernel:
 * render -> key -> memory -> packs -> disk -> NVRTC -> driver. */
#ifndef STN_CONTEXT_KERNEL_H
#define STN_CONTEXT_KERNEL_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/text.h"
#include "cache/cache.h"
#include "launch/driver.h"
#include "stentor.h"

/* A compiled kernel, loaded or not. */
typedef struct stn_kernel {
    char *name;   /* template without .cu; also the __global__ function's name */
    char *params; /* rendered params.cuh */
    char *ptx;    /* kept for describe; may be NULL */
    void *cubin;
    size_t cubin_size;
    double seconds;    /* of compiling it; 0: it was stored */
    atomic_bool fresh; /* compiled ahead of the plan that will ask for it */
    bool unloaded;     /* it was only compiled; guarded by the context's lock */
    /* NULL: the GPU is not present, the kernel is a placeholder (compile_batch.h), or it is not
     * loaded yet. */
    stn_module *module;
} stn_kernel;

/* Missing kernels that are compiled together: compile_batch.h. */
enum { STN_COMPILE_BATCH_MAX = 64 };
typedef struct stn_compile_batch {
    stn_context *context;
    stn_kernel *missing[STN_COMPILE_BATCH_MAX]; /* placeholders, owned */
    size_t count;
    atomic_bool cancel;        /* a thread has cancelled it, or a kernel has failed */
    atomic_flag failure_taken; /* by the first kernel that failed */
    stn_error failure;
    atomic_bool finished; /* by a background compile */
} stn_compile_batch;

/* The kernels that a plan, or another user, has asked for. They stay loaded until the set is
 * cleared; other kernels may be unloaded. Starts with the context alone; one thread at a time. */
typedef struct stn_kernel_set {
    stn_context *context;
    stn_kernel **list; /* owned; in the order of the requests, each once */
    size_t count, capacity;
    /* Borrowed: a missing kernel is added to it, and a placeholder without a module takes its
     * place. NULL: a missing kernel is compiled when it is asked for. */
    stn_compile_batch *batch;
} stn_kernel_set;
/* Ends the holds. Kernels that nobody holds are unloaded when later ones are loaded, after a wait
 * for the device's work, which may still use them. */
void stn_kernel_set_clear(stn_kernel_set *set);
/* Does the set's batch lack a kernel already? Then the plan that is prepared is discarded, and
 * tables need not be computed for it. */
static inline bool stn_kernels_miss(const stn_kernel_set *set) { return set->batch && set->batch->count > 0; }

/* `name` is a template's name without ".cu" ("direct_tile"), `params` the text of its params.cuh.
 * The context owns the kernel and shares it between sets. */
stn_status stn_kernel_get(stn_kernel_set *set, const char *name, const char *params, stn_kernel **kernel,
                          stn_error *error);
/* The same for parameters in a stn_text, which is freed. `shared`: bytes of dynamic shared memory
 * of its launches. */
stn_status stn_kernel_make(stn_kernel_set *set, const char *name, stn_text *params, size_t shared, stn_kernel **kernel,
                           stn_error *error);
/* Compiles the kernel that a placeholder stands for, if it is stored nowhere, without loading it:
 * stn_kernel_get does that. So a background thread may call it, where loading a module would end a
 * stream capture of the caller. It fails soon after *cancel becomes true. */
stn_status stn_kernel_compile(stn_context *context, const stn_kernel *missing, const atomic_bool *cancel,
                              stn_error *error);
/* The number of blocks of `threads` threads and `shared` bytes of shared memory that are resident
 * at once on `multiprocessors` multiprocessors; 1 where the kernel is not loaded. */
int64_t stn_kernel_resident(const stn_kernel *kernel, int multiprocessors, int threads, size_t shared);
/* Checks that a cache entry's metadata and parameters hash to its key. STN_ERROR_FORMAT where its
 * text was changed, or other templates or another version made it. The binary itself is in no
 * key. */
stn_status stn_kernel_verify(const stn_context *context, const stn_key *key, const stn_entry *entry, stn_error *error);
/* NULL is fine. For the context, and for placeholders. */
void stn_kernel_free(stn_kernel *kernel);
#endif
