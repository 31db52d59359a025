/* The cases of the bench, and the values (bars) that they must reach, as data. */
#ifndef STN_BENCH_CASES_H
#define STN_BENCH_CASES_H
#include <stdint.h>

#include "stentor.h"

typedef enum bar_unit { BAR_PERCENT_OF_COPY, BAR_GSTENCILS, BAR_MS /* at most */ } bar_unit;

typedef struct bench_case {
    /* step: one step per launch, compared with the copy bandwidth; time, lowrank, segment: whole
     * runs, mostly of 1000 steps; spectral: any number of steps; source: whole runs with a constant
     * source, which equals the input; filters: one wide separable step; dense: one step of random
     * taps; sparse: 1 and 1000 steps in f16, and in f32 with a tolerance. */
    const char *group;
    const char *name; /* the usual name of the stencil */
    /* For stn_stencil_parse; or dense-2d:R, random weights of both signs in a box of radius R. */
    const char *stencil;
    const char *strategy; /* NULL: the planner's choice */
    int rank;
    size_t extent[STN_MAX_RANK];
    uint64_t steps;
    bar_unit unit;
    double bar_f64, bar_f32; /* 0: none */
    /* The best time of other software on the same kind of GPU in f64, or NULL. */
    const char *peer;
    double peer_gstencils;
    const char *boundary; /* unless an option sets it; NULL: fixed */
    double bar_f16;       /* 0: none */
} bench_case;

extern const bench_case bench_cases[];
extern const size_t bench_case_count;

/* Extents for the host (larger than its caches) and for a quick run, by rank. */
void bench_extent_host(int rank, size_t extent[STN_MAX_RANK]);
void bench_extent_quick(int rank, size_t extent[STN_MAX_RANK]);
#endif
