/* A thousand executions of an ONLINE plan, compared with those of the best plan. */
#ifndef STN_BENCH_ONLINE_H
#define STN_BENCH_ONLINE_H
#include "bench.h"

/* Ten problems; prints one JSON object per line as it is measured, for bench/planner.py. The
 * context must have no cache folder, or the wisdom of one plan decides the next one. seconds: time
 * limit of the search for the best plan of each. */
stn_status bench_online(bench *machine, double seconds, const char *cases, stn_error *error);
#endif
