/* Measured times of one problem's candidates, and the lines of wisdom that hold them. */
#ifndef STN_TUNE_TIME_RECORD_H
#define STN_TUNE_TIME_RECORD_H
#include "base/text.h"
#include "plan/strategy.h"

typedef struct tune_record {
    char strategy[24];
    stn_candidate candidate;
    double seconds; /* time of the whole run; 0: its result was wrong */
} tune_record;

enum { TUNE_RECORDS = 128 };
typedef struct tune_records {
    size_t count;
    tune_record list[TUNE_RECORDS];
} tune_records;

/* Replaces the record of the same strategy and candidate, or adds one; ignored beyond
 * TUNE_RECORDS. */
void tune_record_set(tune_records *records, const char *strategy, const stn_candidate *candidate, double seconds);
/* NULL if there is none. */
const tune_record *tune_record_find(const tune_records *records, const char *strategy, const stn_candidate *candidate);

/* Prints a line for each record. */
void tune_records_print(const tune_records *records, stn_text *text);
/* Replaces the records by those of the lines up to `end`; other lines, and a last one without a
 * newline, are skipped. */
void tune_records_parse(const char *lines, const char *end, tune_records *records);
#endif
