/* Trials of a plan's ranking:
 *
 *     candidates, best estimate first -> compiled together -> checked, timed -> the slow drop out -> finalists by turns
 *
 * Every candidate is treated alike: the same input, checked before it is timed, the median of its
 * samples. */
#ifndef STN_TUNE_SESSION_H
#define STN_TUNE_SESSION_H
#include "plan/plan.h"
#include "tune/record.h"

typedef struct tune_order {
    double seconds; /* about so long */
    bool all;       /* every candidate; else the likely ones */
    double within;  /* but none that is estimated to take more than so many times the best; 0: as `all` says */
    bool apart;     /* nothing that is remembered counts, and nothing is */
} tune_order;

/* Fails only where nothing could be measured. */
stn_status tune_session_run(stn_plan *plan, const tune_order *order, tune_records *records, stn_error *error);
/* Compiles what the trials need. */
void tune_session_compile(stn_plan *plan, const tune_order *order);
#endif
