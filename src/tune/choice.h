/* What plans chose, remembered in the cache folder: ranking all candidates, and looking at what the best would compile, takes a plan tens of
 * milliseconds, the same again in every process. A choice is another process's to take where all that it was made by is the same: the
 * work with its weights, the device and what was measured of it, this very build of the library, the compiler, the plan's options, what is
 * remembered of measured times. Where a kernel was missing then that is stored now, it is looked for again. */
#ifndef STN_TUNE_CHOICE_H
#define STN_TUNE_CHOICE_H
#include "plan/plan.h"

bool tune_choice_recall(const stn_plan *plan, const stn_plan_options *options, stn_choice *choice);
void tune_choice_remember(const stn_plan *plan, const stn_plan_options *options);
#endif
