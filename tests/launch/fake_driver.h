/* What a test can set in the stand-in driver, and see of it. */
#ifndef FAKE_DRIVER_H
#define FAKE_DRIVER_H
#include "launch/cuda_types.h"

typedef struct fake_state {
    int version, devices;
    int multiprocessors, clock, block_threads; /* of each device, in kHz; of each kernel, at most */
    size_t memory;                             /* bytes of the first device; one GiB more has each further one */
    stn_cu_result init, load, launch, alloc;   /* what these calls give back */
    const char *absent;                        /* a function that this driver does not have */
    const char *jit_log;
    const char *refused;    /* images that start with this are refused */
    const char *translated; /* what PTX becomes; NULL: this driver translates none */
    int translations;
    int depth, deepest; /* of the stack of contexts */
    int outside;        /* calls that need a context and were made without ours */
    int allocations, events, modules, retained;
    int launches, clustered;
    stn_cu_launch_config last;
    int last_argument;
} fake_state;
#endif
