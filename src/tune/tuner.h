/* Measuring a plan's candidates, for those who say more than a plan's options do. */
#ifndef STN_TUNE_TUNER_H
#define STN_TUNE_TUNER_H
#include "plan/plan.h"

typedef struct tune_order {
    double seconds; /* about so long */
    bool all;       /* every candidate; else the likely ones */
    double within;  /* but none that is estimated to take more than so many times the best; 0: as `all` says */
    bool apart;     /* nothing that is remembered counts, and nothing is */
} tune_order;

/* Into the plan's ranking, whose first row is then what the plan should take. strategy: NULL or "auto" for all. */
void tune_measure(stn_plan *plan, const char *strategy, const tune_order *order);
/* Only compiles what tune_measure would, on all threads of the plan's context, whose GPU need not be here: what finds the same cache
 * folder finds the kernels there. */
void tune_compile(stn_plan *plan, const char *strategy, const tune_order *order);
#endif
