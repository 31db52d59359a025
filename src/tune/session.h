/* An offline tuning session over a plan's ranking:
 *
 *     candidates, best estimate first -> compiled together -> checked and timed
 *                                     -> slow ones drop out -> finalists timed alternately
 *
 * All candidates are treated alike: the same input, a check before timing, the median of the
 * samples. */
#ifndef STN_TUNE_SESSION_H
#define STN_TUNE_SESSION_H
#include "plan/plan.h"
#include "tune/time_record.h"

typedef struct tune_order {
    double seconds; /* time limit, roughly */
    bool all;       /* true: every candidate; false: the likely ones */
    /* Excludes candidates estimated at more than this many times the best; 0: decided by `all`. */
    double within;
    bool without_wisdom; /* It is neither read nor written. */
} tune_order;

/* Fails only if nothing could be measured. */
stn_status tune_session_run(stn_plan *plan, const tune_order *order, tune_records *records, stn_error *error);
/* Compiles the kernels that the trials need. */
void tune_session_compile(stn_plan *plan, const tune_order *order);
#endif
