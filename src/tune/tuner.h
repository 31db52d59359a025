/* Measures a plan's candidates, with more options than a plan has. */
#ifndef STN_TUNE_TUNER_H
#define STN_TUNE_TUNER_H
#include "plan/plan.h"
#include "tune/session.h"

extern const stn_tuner stn_tuner_default;

/* Measures and sorts the plan's ranking; its first row is the best. strategy: NULL or "auto" for
 * all. */
void tune_measure(stn_plan *plan, const char *strategy, const tune_order *order);
/* Only compiles what tune_measure would, with all threads of the plan's context, into the cache
 * folder. Needs no GPU. */
void tune_compile(stn_plan *plan, const char *strategy, const tune_order *order);
#endif
