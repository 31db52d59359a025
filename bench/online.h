/* A thousand executions of an ONLINE plan beside those of the plan that is best from the start. */
#ifndef STN_BENCH_ONLINE_H
#define STN_BENCH_ONLINE_H
#include "bench.h"

/* Ten problems, each a JSON object on a line of its own, printed as it is measured:
 * bench/planner.py reads it. The context shall have no cache folder, or what is remembered of one
 * plan decides for the next. seconds: of searching the best of each. */
stn_status bench_online(bench *machine, double seconds, const char *cases, stn_error *error);
#endif
