/* What a kernel uses, read from its cubin: for GPUs that are not here, so that no driver can be
 * asked. */
#ifndef STN_COMPILE_CUBIN_H
#define STN_COMPILE_CUBIN_H
#include <stdbool.h>
#include <stddef.h>

typedef struct stn_cubin_usage {
    int registers;    /* a thread */
    int shared_bytes; /* static, a block; since sm_90 with the driver's own 1024 */
    int local_bytes;  /* a thread's stack: spills and arrays */
    int max_threads;  /* a block, as __launch_bounds__ says; 0 if it does not */
} stn_cubin_usage;

/* false, with *usage all 0, if the bytes are no cubin that holds this kernel. Any bytes are
 * safe. */
bool stn_cubin_read(const void *cubin, size_t size, const char *kernel, stn_cubin_usage *usage);
#endif
