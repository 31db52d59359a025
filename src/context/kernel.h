/* From a template and its parameters to a loaded kernel:
 * render -> key -> memory -> packs -> disk -> NVRTC -> driver. */
#ifndef STN_CONTEXT_KERNEL_H
#define STN_CONTEXT_KERNEL_H
#include <pthread.h>
#include <stdbool.h>

#include "base/text.h"
#include "cache/cache.h"
#include "context/kernel_value.h"
#include "stentor.h"

/* `name` is a template's name without ".cu" ("direct_tile"), `params` the text of its params.cuh.
 * The context owns the kernel and shares it between plans. While the calling thread records a
 * compile batch, a missing kernel is added to it, and *kernel is a placeholder without a module. */
stn_status stn_kernel_get(stn_context *context, const char *name, const char *params, stn_kernel **kernel,
                          stn_error *error);
/* The same as stn_kernel_get for parameters in a stn_text, which is freed. `shared`: bytes of
 * dynamic shared memory of its launches. */
stn_status stn_kernel_make(stn_context *context, const char *name, stn_text *params, size_t shared, stn_kernel **kernel,
                           stn_error *error);
/* Kernels that stay loaded for their holder, such as a plan. Others may be unloaded. Starts as
 * zeroes; one thread at a time. */
typedef struct stn_held_kernels {
    stn_kernel **list; /* owned; with repetitions */
    size_t count, capacity;
} stn_held_kernels;
/* Between begin and end, `holder` holds the kernels that the calling thread gets. Scopes nest; the
 * inner one counts. A kernel that is got outside of all scopes stays loaded until the context ends.
 * The caller owns `scope`. */
typedef struct stn_kernel_scope {
    stn_held_kernels *holder;
    pthread_t thread;
    struct stn_kernel_scope *next; /* in the context's list */
} stn_kernel_scope;
void stn_kernel_scope_begin(stn_context *context, stn_kernel_scope *scope, stn_held_kernels *holder);
void stn_kernel_scope_end(stn_context *context, const stn_kernel_scope *scope);
/* Ends the holds. Kernels that nobody holds are unloaded when later ones are loaded, after a wait
 * for the device's work, which may still use them. */
void stn_held_kernels_release(stn_context *context, stn_held_kernels *held);
/* The number of blocks of `threads` threads and `shared` bytes of shared memory that are resident
 * at once on `multiprocessors` multiprocessors; 1 where the kernel is not loaded. */
int64_t stn_kernel_resident(const stn_kernel *kernel, int multiprocessors, int threads, size_t shared);
/* Checks that a cache entry's metadata and parameters hash to its key. STN_ERROR_FORMAT where its
 * text was changed, or other templates or another version made it. The binary itself is in no
 * key. */
stn_status stn_kernel_verify(const stn_context *context, const stn_key *key, const stn_entry *entry, stn_error *error);
/* Called by the context only. */
void stn_kernel_free(stn_kernel *kernel);
#endif
