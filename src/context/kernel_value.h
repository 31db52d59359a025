/* A compiled kernel, loaded or not. kernel.h makes it. */
#ifndef STN_CONTEXT_KERNEL_VALUE_H
#define STN_CONTEXT_KERNEL_VALUE_H
#include <stdatomic.h>
#include <stdbool.h>

#include "launch/driver.h"

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
#endif
