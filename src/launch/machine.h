/* The device (or the host) for which a plan is made, and its peak rates. It is a value, so plans
 * can be made for absent GPUs too. */
#ifndef STN_LAUNCH_MACHINE_H
#define STN_LAUNCH_MACHINE_H
#include <stdbool.h>
#include <stddef.h>

#include "stentor.h"

/* Units that do arithmetic, each with its own peak rate. */
#define STN_UNIT_LIST(X)                                                                                               \
    X(STN_UNIT_FMA_F64, "f64 fma")                                                                                     \
    X(STN_UNIT_FMA_F32, "f32 fma")                                                                                     \
    X(STN_UNIT_TENSOR_F64, "f64 tensor")                                                                               \
    X(STN_UNIT_TENSOR_TF32, "tf32 tensor")                                                                             \
    X(STN_UNIT_TENSOR_F16, "f16 tensor")

typedef enum stn_unit {
#define STN_UNIT_ENUM(name, text) name,
    STN_UNIT_LIST(STN_UNIT_ENUM)
#undef STN_UNIT_ENUM
        STN_UNIT_COUNT
} stn_unit;

#define STN_OLDEST_SM 75 /* kernels are written for this architecture and newer ones */

typedef struct stn_search_cache stn_search_cache; /* the search cache: context/search_cache.h */

typedef struct stn_machine {
    bool is_device; /* false: the host */
    bool present;   /* false: plans are made for an absent device (--arch) */
    char name[128];
    char arch[16]; /* "sm_90"; "" on the host */
    int sm;        /* 90; 0 on the host */
    int multiprocessors;
    int threads; /* host: worker threads; device: most resident threads a multiprocessor */
    size_t shared_per_block, shared_per_multiprocessor, registers_per_multiprocessor, l2_bytes, memory_bytes;
    /* Device: f32 and f64 FMAs that a multiprocessor begins in a cycle */
    int lanes, wide_lanes;
    /* Device: the clock in Hz that kernels reach, to which flops[STN_UNIT_FMA_F32] belongs */
    double clock;
    /* Bytes/s, read + write, measured once per device (or assumed, see measured) */
    double copy_bandwidth;
    double flops[STN_UNIT_COUNT]; /* operations/s, an FMA counts two */
    double launch_seconds;        /* one dependent launch */
    bool measured;
    stn_search_cache *searches; /* borrowed from the context; NULL: nothing is kept */
    /* While only the cheapest candidate is of interest: searches may leave out all that are
     * predicted to take longer. 0: no limit */
    double time_limit;
    /* The error that candidates may have where none is within the bound; else 0. */
    double allowed_error;
} stn_machine;

/* Whether a search may leave out a candidate that takes at least `seconds`. */
static inline bool stn_exceeds_time_limit(const stn_machine *machine, double seconds) {
    return machine->time_limit > 0 && seconds > machine->time_limit;
}
#endif
