/* What was measured of one problem's candidates: its key, and its text, which the cache keeps as a note. */
#ifndef STN_TUNE_RECORD_H
#define STN_TUNE_RECORD_H
#include "cache/cache.h"
#include "plan/plan.h"

typedef struct tune_record {
    char strategy[24];
    stn_candidate candidate;
    double seconds; /* of the whole run; 0: its result was wrong */
} tune_record;

enum { TUNE_RECORDS = 128 };
typedef struct tune_records {
    size_t count;
    tune_record list[TUNE_RECORDS];
} tune_records;

/* All that decides how fast a candidate is: problem, GPU, driver, library, templates. */
stn_status tune_key(const stn_plan *plan, stn_key *key, stn_error *error);

/* Replaces the record of the same strategy and candidate, or adds one; beyond TUNE_RECORDS it is dropped. */
void tune_record_set(tune_records *records, const char *strategy, const stn_candidate *candidate, double seconds);
/* NULL when there is none. */
const tune_record *tune_record_find(const tune_records *records, const char *strategy, const stn_candidate *candidate);

void tune_records_print(const stn_plan *plan, const tune_records *records, stn_text *text);
/* False, with nothing to rely on in *records, for any text that tune_records_print would not write. */
bool tune_records_parse(const char *text, tune_records *records);
#endif
