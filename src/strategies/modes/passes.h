/* A run of a linear system, or its chunks between records: transform of the state, product with the
 * power of the step's matrix at each frequency, inverse transform. */
#ifndef STN_STRATEGIES_MODES_PASSES_H
#define STN_STRATEGIES_MODES_PASSES_H
#include "host/fft_by_type.h"
#include "host/pool.h"
#include "strategies/modes/lanes.h"

typedef struct modes_passes {
    modes_linear linear;
    const modes_lanes *lanes;
    modes_roots roots[3];
    /* In place for all arrays; from one array to another. */
    stn_host_fft *forward, *inverse, *inverse_one;
    /* Complex numbers of a row; of a grid's spectrum. */
    int64_t pitch, grid;
    /* Rows of frequencies with different matrices; pieces of a row. */
    int64_t rows[2], chunks;
    /* Tasks that share the pieces of all rows, each with its own scratch memory. */
    int shares;
    size_t constants, spectra, stage, scratch; /* bytes */
    /* Steps between states that are stored or recorded. */
    uint64_t chunk;
    size_t shared; /* bytes used by the transforms, or by all tasks */
} modes_passes;

/* The steps of a chunk. */
uint64_t modes_chunk(const stn_system_task *task);
/* *made is zeroed by the caller, who clears it in any case. */
stn_status modes_passes_make(const stn_system_task *task, int threads, modes_passes *made, stn_error *error);
void modes_passes_clear(modes_passes *passes);
size_t modes_passes_workspace(const modes_passes *passes);
void modes_passes_run(const modes_passes *passes, stn_pool *pool, const stn_system_arrays *arrays, void *workspace);
#endif
