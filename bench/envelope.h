/* What each strategy takes for any number of steps, and which one a plan takes: what bench/envelope.py draws and checks. */
#ifndef STN_BENCH_ENVELOPE_H
#define STN_BENCH_ENVELOPE_H
#include "bench.h"

/* JSON, one object a line, to stdout as it is measured: first the machine, then each run. */
stn_status bench_envelope(bench *machine, stn_error *error);
#endif
