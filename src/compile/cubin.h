/* Resource usage of a kernel; read from its cubin for GPUs that are not installed. */
#ifndef STN_COMPILE_CUBIN_H
#define STN_COMPILE_CUBIN_H
#include <stdbool.h>
#include <stddef.h>

typedef struct stn_cubin_usage {
    int registers;    /* per thread */
    int shared_bytes; /* static, per block; since sm_90 includes the driver's own 1024 */
    int local_bytes;  /* stack per thread: spills and arrays */
    int max_threads;  /* per block, by __launch_bounds__; 0 if not given */
} stn_cubin_usage;

/* False, with *usage zeroed, if the bytes are no cubin with this kernel. Safe for any bytes. */
bool stn_cubin_read(const void *cubin, size_t size, const char *kernel, stn_cubin_usage *usage);
#endif
