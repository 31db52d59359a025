/* The command line of stentor-bench. */
#ifndef STN_BENCH_OPTIONS_H
#define STN_BENCH_OPTIONS_H
#include <stdbool.h>

#include "cases.h"

typedef struct bench_options {
    int device; /* as in stn_context_options */
    int threads, repeat;
    const char *groups, *cases,
        /* Comma-separated. NULL: all cases; group "step"; dtypes f64,f32 of stencils. */
        *dtypes;
    const char *strategy; /* NULL: each case's own */
    /* One for all axes, or one per axis, comma-separated; NULL: each case's own. */
    const char *boundary;
    size_t extent[STN_MAX_RANK]; /* 0: each case's own */
    int rank;                    /* of extent */
    uint64_t steps;              /* 0: each case's own */
    double tolerance;            /* stn_problem's, of stencil problems */
    bool quick, tune, json, overhead, list, online, rows;
} bench_options;

/* False after printing an error or the help; *exit_code is then the exit code of the process. */
bool bench_options_parse(int argc, char **argv, bench_options *options, int *exit_code);
/* True if `name` is in a comma-separated list; NULL and "all" have every name. */
bool bench_listed(const char *list, const char *name);
/* Parses the boundary of all axes of a problem. */
stn_status bench_boundary(const char *spec, int rank, stn_boundary boundary[STN_MAX_RANK][2], stn_error *error);
#endif
