/* Times of each strategy against the number of steps, and the planner's choice: the input of
 * bench/studies/envelope.py. */
#ifndef STN_BENCH_ENVELOPE_H
#define STN_BENCH_ENVELOPE_H
#include "../bench.h"

/* Prints JSON, one object per line: first the machine, then each run as it is measured. names: of
 * the cases, such as "heat-2d,heat-3d-fixed"; NULL: all. */
stn_status bench_envelope(bench *machine, const char *names, stn_error *error);
#endif
