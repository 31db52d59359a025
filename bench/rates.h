/* Predicted beside measured time over a list of problems of all sizes, ranks, types and lengths:
 * what bench/fit_rates.py fits. */
#ifndef STN_BENCH_RATES_H
#define STN_BENCH_RATES_H
#include "bench.h"

/* JSON, one object a line, to stdout as it is measured: first the machine, then each run. The
 * list's order is such that any beginning of it is a fair sample; it ends with the list, or after
 * so many seconds (0: without an end). */
stn_status bench_rates(bench *machine, double seconds, stn_error *error);
#endif
