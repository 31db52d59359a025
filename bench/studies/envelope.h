/* What each strategy takes for any number of steps, and which one a plan takes: what
 * bench/studies/envelope.py draws and checks. */
#ifndef STN_BENCH_ENVELOPE_H
#define STN_BENCH_ENVELOPE_H
#include "../bench.h"

/* JSON, one object a line, to stdout as it is measured: first the machine, then each run. names: of
 * the cases, such as "heat-2d,heat-3d-fixed"; NULL: all. */
stn_status bench_envelope(bench *machine, const char *names, stn_error *error);
#endif
