/* From (template, params) to a kernel that can be launched: render -> key -> memo -> packs -> disk -> NVRTC -> driver.
 */
#ifndef STN_CONTEXT_KERNEL_H
#define STN_CONTEXT_KERNEL_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/text.h"
#include "context/kernel_value.h"
#include "stentor.h"

/* `name` is a template's name without ".cu" ("direct_tile"), `params` the text of its params.cuh. The context owns the
 * kernel and shares it between plans until it is destroyed. */
stn_status stn_kernel_get(stn_context *context, const char *name, const char *params, stn_kernel **kernel,
                          stn_error *error);
/* The same; hurried: where it is stored nowhere as it should be, one that is compiled in a hurry serves. stn_kernel_get asks so where
 * the calling thread gathers so. */
stn_status stn_kernel_get_hurried(stn_context *context, const char *name, const char *params, bool hurried,
                                  stn_kernel **kernel, stn_error *error);
/* Compiles it, if it is stored nowhere, and leaves the device alone: stn_kernel_get loads it. So threads may that know nothing of
 * what the caller's streams do; loading a module would end their captures. hurried: as stn_kernel_get_hurried. *cancel may become true
 * meanwhile: then it fails soon. */
stn_status stn_kernel_compile(stn_context *context, const char *name, const char *params, bool hurried,
                              const atomic_bool *cancel, stn_error *error);
/* The same for params that have just been written, which it takes and frees. `shared`: bytes of shared memory that its launches
 * ask for. */
stn_status stn_kernel_make(stn_context *context, const char *name, stn_text *params, size_t shared, stn_kernel **kernel,
                           stn_error *error);
/* Blocks of so many threads and bytes of shared memory that so many multiprocessors run at once; 1 where no device has it. */
int64_t stn_kernel_resident(const stn_kernel *kernel, int multiprocessors, int threads, size_t shared);
/* The keys under which packs and the disk keep it, as it should be; false where they cannot be made. */
bool stn_kernel_keys(stn_context *context, const char *name, const char *params, unsigned char source[32],
                     unsigned char key[32]);
/* For the context alone. */
void stn_kernel_free(stn_kernel *kernel);
#endif
