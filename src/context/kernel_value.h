/* A kernel that is compiled, and loaded or not: kernel.h has who makes it. */
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
    double seconds;             /* that compiling it took; 0: it was stored */
    atomic_bool fresh;          /* compiled for a plan that has not taken it yet */
    struct stn_entry *unloaded; /* owned: what is left to load of a kernel that was only compiled; NULL: it is loaded */
    /* NULL when planned for an absent GPU, of one that is only listed (context/compile_batch.h), or only
     * compiled. */
    stn_module *module;
} stn_kernel;
#endif
