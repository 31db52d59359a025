/* Seeds: what was measured of classes of problems where the library is made, for machines that have measured nothing yet. Wisdom's text
 * (wisdom.h), whose entries have keys of their own: device, class of problem and version of the library, but not its templates. Seeds
 * measured with other templates than this library's say less, so they decide only among candidates whose estimates are close.
 *
 * The library carries those of cache/tuned; STENTOR_SEEDS names another file, or none. */
#ifndef STN_TUNE_SEEDS_H
#define STN_TUNE_SEEDS_H
#include "plan/plan.h"
#include "tune/record.h"
#include "tune/wisdom.h"

/* Texts, NULL after the last: cache/tuned/embed.py writes it. */
extern const char *const tune_embedded_seeds[];

/* What seeds know of problems like the plan's; false: nothing. *fresh: they are of this library's templates. */
bool tune_seed_recall(const stn_plan *plan, tune_records *records, bool *fresh);
/* The text that STENTOR_SEEDS brings; "" for none, NULL where the library's own are used. */
const char *tune_seeds_given(stn_context *context);
/* Adds the fastest of what was measured in the plan's ranking; nothing where nothing was. wisdom is zeroed or the result of others. */
stn_status tune_seed_add(const stn_plan *plan, tune_wisdom *wisdom, stn_error *error);
#endif
