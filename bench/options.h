/* The command line of stentor-bench. */
#ifndef STN_BENCH_OPTIONS_H
#define STN_BENCH_OPTIONS_H
#include <stdbool.h>

#include "cases.h"

typedef struct bench_options {
    int device; /* as stn_context_options */
    int threads, repeat;
    const char *groups, *cases,
        /* Comma-separated; NULL: all (cases), "step" (groups), f64,f32 of stencils (dtypes) */
        *dtypes;
    const char *strategy; /* NULL: each case's own */
    /* One for all axes, or one an axis, comma-separated; NULL: each case's own */
    const char *boundary;
    size_t extent[STN_MAX_RANK]; /* 0: each case's own */
    int rank;                    /* of extent */
    uint64_t steps;              /* 0: each case's own */
    double tolerance;            /* of stencils: stn_problem's */
    double rates;                /* seconds; 0: cases instead */
    bool quick, tune, json, overhead, forms, fusion, list, envelope, online;
} bench_options;

/* False after printing what is wrong, or the help; *exit_code is then the process's. */
bool bench_options_parse(int argc, char **argv, bench_options *options, int *exit_code);
/* Is `name` in a comma-separated list? A NULL list, or "all", has every name. */
bool bench_listed(const char *list, const char *name);
/* The boundary text for all axes of a problem. */
stn_status bench_boundary(const char *spec, int rank, stn_boundary boundary[STN_MAX_RANK][2], stn_error *error);
#endif
