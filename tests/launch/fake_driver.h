/* Settings and counters of the fake driver. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H
#include <stdatomic.h>

#include "launch/cuda_types.h"

typedef struct fake_state {
    int version, devices;
    /* clock of each device, in kHz; most threads in a block of each kernel */
    int multiprocessors, clock, block_threads;
    /* Bytes of the first device; each further one has one GiB more. */
    size_t memory;
    stn_cu_result init, load, launch, alloc; /* results of these calls */
    const char *absent;                      /* a function that this driver lacks */
    const char *jit_log;
    const char *refused; /* images with this prefix are refused */
    atomic_int pushed;   /* contexts that threads have pushed and not popped */
    int outside;         /* calls that need our context, made without it */
    int allocations, events, modules, retained;
    atomic_int waits; /* for all work of a context */
    int launches, clustered;
    stn_cu_launch_config last;
    int last_argument;
} fake_state;
#endif
