/* Predicted and measured times over a list of problems of all sizes, ranks, types and numbers of
 * steps: the input of bench/fit_rates.py. */
#ifndef STN_BENCH_RATES_H
#define STN_BENCH_RATES_H
#include "bench.h"

/* Prints JSON, one object per line: first the machine, then each run as it is measured. Any prefix
 * of the list is a fair sample. Ends with the list, or after so many seconds (0: no limit). */
stn_status bench_rates(bench *machine, double seconds, stn_error *error);
#endif
