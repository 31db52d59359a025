/* From (template, params) to a kernel that can be launched: render -> key -> memo -> packs -> disk
 * -> NVRTC -> driver.
 */
#ifndef STN_CONTEXT_KERNEL_H
#define STN_CONTEXT_KERNEL_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/text.h"
#include "cache/cache.h"
#include "context/kernel_value.h"
#include "stentor.h"

/* `name` is a template's name without ".cu" ("direct_tile"), `params` the text of its params.cuh.
 * The context owns the kernel and shares it between plans until it is destroyed. */
stn_status stn_kernel_get(stn_context *context, const char *name, const char *params, stn_kernel **kernel,
                          stn_error *error);
/* Compiles it, if it is stored nowhere, and leaves the device alone: stn_kernel_get loads it. So
 * threads may that know nothing of what the caller's streams do; loading a module would end their
 * captures. *cancel may become true meanwhile: then it fails soon. */
stn_status stn_kernel_compile(stn_context *context, const char *name, const char *params, const atomic_bool *cancel,
                              stn_error *error);
/* The same for params that have just been written, which it takes and frees. `shared`: bytes of
 * shared memory that its launches ask for. */
stn_status stn_kernel_make(stn_context *context, const char *name, stn_text *params, size_t shared, stn_kernel **kernel,
                           stn_error *error);
/* Blocks of so many threads and bytes of shared memory that so many multiprocessors run at once; 1
 * where no device has it. */
int64_t stn_kernel_resident(const stn_kernel *kernel, int multiprocessors, int threads, size_t shared);
/* Do an entry's metadata and parameters give the keys that it is under? An entry of a pack whose
 * text was changed, or that other templates or another version made, does not: STN_ERROR_FORMAT. Of
 * the binary itself no key says anything. */
stn_status stn_kernel_verify(const stn_context *context, const stn_key *key, const stn_entry *entry, stn_error *error);
/* For the context alone. */
void stn_kernel_free(stn_kernel *kernel);
#endif
