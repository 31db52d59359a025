/* The kernels of a context that are in memory, by source key. The first thread that asks for a
 * kernel makes it; other threads can wait for it. */
#ifndef STN_CONTEXT_KERNEL_MEMORY_H
#define STN_CONTEXT_KERNEL_MEMORY_H
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#include "cache/key.h"
#include "launch/driver.h"

/* A compiled kernel, loaded or not. */
typedef struct stn_kernel {
    char *name;   /* template without .cu; also the __global__ function's name */
    char *params; /* rendered params.cuh */
    char *ptx;    /* kept for describe; may be NULL */
    void *cubin;
    size_t cubin_size;
    double seconds;          /* of compiling it; 0: it was stored */
    atomic_bool precompiled; /* compiled ahead of the plan that will ask for it */
    /* NULL: the GPU is not present, the kernel is a placeholder (compile_batch.h), or it is not
     * loaded yet. */
    stn_module *module;
    stn_key key;       /* the source key */
    bool making;       /* by a thread for which others wait */
    size_t holds;      /* number of sets and callers that hold the kernel */
    uint64_t released; /* stn_kernel_memory.releases at its last release */
    struct stn_kernel *next;
} stn_kernel;

typedef struct stn_kernel_memory {
    pthread_mutex_t lock;
    pthread_cond_t made;
    stn_kernel *first;
    atomic_size_t unheld; /* number of kernels that nobody holds; changed with the lock held */
    uint64_t releases;    /* number of releases so far */
    pid_t owner;          /* In its forked children the lock may be held for ever. */
} stn_kernel_memory;
void stn_kernel_free(stn_kernel *kernel); /* for kernels outside of the list; NULL has no effect */
void stn_kernel_memory_open(stn_kernel_memory *memory);
/* Frees all kernels. */
void stn_kernel_memory_close(stn_kernel_memory *memory);

/* Looks for the kernel with the key of `mine`. ABSENT: `mine` is now in the list, and the caller
 * makes it and then calls stn_kernel_memory_end. PENDING: another thread is making it; not returned
 * if `wait` is set. READY: the caller holds *found until stn_kernel_memory_release. Otherwise
 * *found is NULL. */
typedef enum stn_kernel_found { STN_KERNEL_ABSENT, STN_KERNEL_PENDING, STN_KERNEL_READY } stn_kernel_found;
stn_kernel_found stn_kernel_memory_find(stn_kernel_memory *memory, stn_kernel *mine, bool wait, stn_kernel **found);
/* If `made`, the caller now holds the kernel. Otherwise the kernel is removed from the list, the
 * caller frees it, and one of the waiting threads makes it anew. */
void stn_kernel_memory_end(stn_kernel_memory *memory, stn_kernel *mine, bool made);
/* Ends a hold; the kernel is kept at least until the next stn_kernel_memory_trim. Does nothing in a
 * forked child. */
void stn_kernel_memory_release(stn_kernel_memory *memory, stn_kernel *kernel);
/* Frees kernels that nobody holds, the least recently released first, until `most` are left. */
void stn_kernel_memory_trim(stn_kernel_memory *memory, size_t most);
#endif
