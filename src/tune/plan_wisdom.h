/* Wisdom of plans, in the cache folder's file (format: cache/wisdom.h). Lines of an entry:
 *
 *     entry: CLASS PROBLEM
 *     problem: 2D 4096 x 4096, f64, ...
 *     device: NVIDIA H200, driver 13000
 *     candidate: direct 0.0893 4 2 1 ...       (time_record.h) */
#ifndef STN_TUNE_PLAN_WISDOM_H
#define STN_TUNE_PLAN_WISDOM_H
#include "cache/wisdom.h"
#include "plan/plan.h"
#include "tune/time_record.h"

/* Called with the records of each entry of the plan's class, until it returns true: first those of
 * this very problem, device and driver (`same` is true), then the others, newest first. */
typedef bool (*tune_try)(stn_plan *plan, const char *strategy, const tune_records *records, bool same);
bool tune_recall(stn_plan *plan, const char *strategy, tune_try visit);

/* Adds an entry with the measured times, joined with the known ones: a new time of a candidate
 * replaces the old one. A failure to read or write the folder's wisdom is logged. */
void tune_remember(const stn_plan *plan, const tune_records *records);

void tune_wisdom_key(const stn_plan *plan, stn_wisdom_key *key);
#endif
