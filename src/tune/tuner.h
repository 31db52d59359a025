/* Measures a plan's candidates, with more options than stn_plan_options has. */
#ifndef STN_TUNE_TUNER_H
#define STN_TUNE_TUNER_H
#include "plan/plan.h"

extern const stn_tuner stn_tuner_default;

typedef struct tune_request {
    double seconds; /* time limit, roughly */
    bool all;       /* true: every candidate; false: the likely ones */
    /* Excludes candidates estimated at more than this many times the best; 0: decided by `all`. */
    double within;
    bool without_wisdom; /* times are not stored */
} tune_request;

/* Measures and sorts the plan's ranking; its first row is the best. strategy: NULL or "auto" for
 * all. */
void tune_measure(stn_plan *plan, const char *strategy, const tune_request *request);
/* Only compiles what tune_measure would, with all threads of the plan's context, into the cache
 * folder. Needs no GPU. */
void tune_compile(stn_plan *plan, const char *strategy, const tune_request *request);
#endif
