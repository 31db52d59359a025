/* What was measured of one problem's candidates, and its text, which the cache keeps as a note. */
#ifndef STN_TUNE_RECORD_H
#define STN_TUNE_RECORD_H
#include "base/text.h"
#include "plan/strategy.h"

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

/* Replaces the record of the same strategy and candidate, or adds one; beyond TUNE_RECORDS it is dropped. */
void tune_record_set(tune_records *records, const char *strategy, const stn_candidate *candidate, double seconds);
/* NULL when there is none. */
const tune_record *tune_record_find(const tune_records *records, const char *strategy, const stn_candidate *candidate);

/* The candidates alone, a line each. */
void tune_records_print_list(const tune_records *records, stn_text *text);
/* False, with nothing to rely on in *records, for any text that is not a line "problem: ...", a line "device: ..." and such lines. */
bool tune_records_parse(const char *text, tune_records *records);
#endif
