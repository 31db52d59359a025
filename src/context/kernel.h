/* From (template, params) to a kernel that can be launched: render -> key -> memo -> packs -> disk -> NVRTC -> driver.
 */
#ifndef STN_CONTEXT_KERNEL_H
#define STN_CONTEXT_KERNEL_H
#include <stdatomic.h>
#include <stdbool.h>

#include "base/text.h"
#include "launch/driver.h"
#include "stentor.h"

typedef struct stn_kernel {
    char *name;   /* template without .cu; also the __global__ function's name */
    char *params; /* rendered params.cuh */
    char *ptx;    /* kept for describe; may be NULL */
    void *cubin;
    size_t cubin_size;
    double seconds;             /* that compiling it took; 0: it was stored */
    atomic_bool fresh;          /* compiled for a plan that has not taken it yet */
    struct stn_entry *unloaded; /* owned: what is left to load of a kernel that was only compiled; NULL: it is loaded */
    /* NULL when planned for an absent GPU, of one that is only listed (plan/gather.h), or only compiled. */
    stn_module *module;
} stn_kernel;

/* `name` is a template's name without ".cu" ("direct_tile"), `params` the text of its params.cuh. The context owns the
 * kernel and shares it between plans until it is destroyed. */
stn_status stn_kernel_get(stn_context *context, const char *name, const char *params, stn_kernel **kernel,
                          stn_error *error);
/* Compiles it, if it is stored nowhere, and leaves the device alone: stn_kernel_get loads it. So threads may that know nothing of
 * what the caller's streams do; loading a module would end their captures. *cancel may become true meanwhile: then it fails soon. */
stn_status stn_kernel_compile(stn_context *context, const char *name, const char *params, const atomic_bool *cancel,
                              stn_error *error);
/* The same for params that have just been written, which it takes and frees. `shared`: bytes of shared memory that its launches
 * ask for. */
stn_status stn_kernel_make(stn_context *context, const char *name, stn_text *params, size_t shared, stn_kernel **kernel,
                           stn_error *error);
/* For the context alone. */
void stn_kernel_free(stn_kernel *kernel);
#endif
