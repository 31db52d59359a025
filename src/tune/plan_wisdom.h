/* Wisdom of plans (format: cache/wisdom.h): lookup in the cache folder's file first, then in the
 * wisdom shipped with the library (cache/tuned), or in the file that STENTOR_SEEDS names instead.
 * Lines of an entry:
 *
 *     entry: CLASS PROBLEM KERNELS
 *     problem: 2D 4096 x 4096, f64, ...
 *     device: NVIDIA H200, driver 13000
 *     candidate: direct 0.0893 4 2 1 ...       (time_record.h) */
#ifndef STN_TUNE_PLAN_WISDOM_H
#define STN_TUNE_PLAN_WISDOM_H
#include "cache/wisdom.h"
#include "plan/plan.h"
#include "tune/time_record.h"

/* Texts, NULL after the last; cache/tuned/embed_wisdom.py writes the table. */
extern const char *const tune_embedded_wisdom[];

/* How close an entry is to the plan's problem. */
typedef enum tune_nearness {
    TUNE_SAME,          /* the same problem, device, driver and kernels */
    TUNE_SIMILAR,       /* a problem of the same class, with any driver */
    TUNE_OTHER_KERNELS, /* the same class, with other kernels */
    TUNE_NEARNESSES
} tune_nearness;

/* Called with the records of each entry of the plan's class, the nearest first and among those the
 * newest, until it returns true. shipped: the entry came with the library. */
typedef bool (*tune_try)(void *user, const tune_records *records, tune_nearness nearness, bool shipped);
bool tune_recall(const stn_plan *plan, tune_try visit, void *user);

/* Adds an entry with the measured times, joined with the known ones: a new time of a candidate
 * replaces the old one. A failure to read or write the folder's wisdom is logged. */
void tune_remember(const stn_plan *plan, const tune_records *records);

/* Adds an entry with the fastest measured candidates of the plan's ranking, if there are any. */
stn_status tune_wisdom_add_fastest(const stn_plan *plan, stn_text *entries, stn_error *error);

stn_status tune_wisdom_key(const stn_plan *plan, stn_wisdom_key *key, stn_error *error);
#endif
