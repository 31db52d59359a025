/* Measuring a plan's candidates, for those who say more than a plan's options do. */
#ifndef STN_TUNE_TUNER_H
#define STN_TUNE_TUNER_H
#include "plan/plan.h"
#include "tune/session.h"

extern const stn_tuner stn_tuner_default;

/* Into the plan's ranking, whose first row is then what the plan should take. strategy: NULL or
 * "auto" for all. */
void tune_measure(stn_plan *plan, const char *strategy, const tune_order *order);
/* Only compiles what tune_measure would, on all threads of the plan's context, whose GPU need not
 * be here: what finds the same cache folder finds the kernels there. */
void tune_compile(stn_plan *plan, const char *strategy, const tune_order *order);
#endif
