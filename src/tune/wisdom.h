/* What plans look up in wisdom (cache/wisdom.h) and add to it: the cache folder's first, then what
 * the library carries of cache/tuned, or the file that STENTOR_SEEDS names instead. An entry's
 * lines:
 *
 *     entry: CLASS PROBLEM KERNELS
 *     problem: 2D 4096 x 4096, f64, ...
 *     device: NVIDIA H200, driver 13000
 *     candidate: direct 0.0893 4 2 1 ...       (record.h) */
#ifndef STN_TUNE_WISDOM_H
#define STN_TUNE_WISDOM_H
#include "cache/wisdom.h"
#include "plan/plan.h"
#include "tune/record.h"

/* Texts, NULL after the last: cache/tuned/embed.py writes it. */
extern const char *const tune_embedded_wisdom[];

/* Whose times an entry has. */
typedef enum tune_nearness {
    TUNE_OWN,  /* this problem's, on this device, with this driver and these kernels */
    TUNE_LIKE, /* of a problem of the same class, with any driver */
    TUNE_OLD,  /* likewise, with other kernels */
    TUNE_NEARNESSES
} tune_nearness;

/* Asked of the records of each entry of the plan's class, the nearest first and the newest of
 * those; true ends it. shipped: they came with the library. */
typedef bool (*tune_try)(void *user, const tune_records *records, tune_nearness nearness, bool shipped);
bool tune_recall(const stn_plan *plan, tune_try try, void *user);

/* What was measured of the plan's problem becomes the newest entry, joined with what is known of
 * it: a candidate's new time replaces the old one. Where that cannot be done, as the folder's
 * wisdom cannot be read or written, the logger is told. */
void tune_remember(const stn_plan *plan, const tune_records *records);

/* Adds an entry with the fastest of what was measured in the plan's ranking; nothing where nothing
 * was. */
stn_status tune_wisdom_add_fastest(const stn_plan *plan, stn_text *entries, stn_error *error);

stn_status tune_wisdom_key(const stn_plan *plan, stn_wisdom_key *key, stn_error *error);
#endif
