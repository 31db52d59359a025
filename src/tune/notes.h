/* What is remembered of one problem's candidates, in the cache folder. */
#ifndef STN_TUNE_NOTES_H
#define STN_TUNE_NOTES_H
#include "cache/cache.h"
#include "plan/plan.h"
#include "tune/record.h"

/* All that decides how fast a candidate is: problem, GPU, driver, library, templates. */
stn_status tune_key(const stn_plan *plan, stn_key *key, stn_error *error);
/* The same of all problems like this one: extents, strides and steps in classes, any driver. */
stn_status tune_class_key(const stn_plan *plan, stn_key *key, stn_error *error);
/* Likewise, for what is kept elsewhere. version: instead of the templates; NULL: those. */
stn_status tune_key_of_class(const stn_plan *plan, const char *what, const char *version, stn_key *key,
                             stn_error *error);

/* A note: the problem, the device, the records. */
void tune_records_print(const stn_plan *plan, const tune_records *records, stn_text *text);

/* False when there is nothing; a note that makes no sense is dropped. */
bool tune_recall(const stn_plan *plan, const stn_key *key, tune_records *records);
/* Adds them to what is there, which others may have written meanwhile: theirs stays where these say nothing of a candidate.
 * Under the key of its class too. */
void tune_remember(const stn_plan *plan, const stn_key *key, const tune_records *records);
#endif
