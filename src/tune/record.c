/* See record.h. The text, line by line:
 *
 *     problem: 2D 4096 x 4096, f64, star of 5 taps, boundary fixed, 1000 steps
 *     device: NVIDIA H200, driver 13000
 *     candidate: direct 0.0893 4 2 1 640 1 1 32 8 1 0 0 10 4 3 5 0
 *     candidate: lowrank wrong 4 2 1 640 1 1 32 8 1 0 0 10 4 3 5 0
 *
 * a candidate's strategy, seconds of the whole run, and all its values. */
#include "tune/record.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static const char candidate_label[] = "candidate: ", wrong_word[] = "wrong";

/* ---- the records ------------------------------------------------------------------------------------------------- */

const tune_record *tune_record_find(const tune_records *records, const char *strategy, const stn_candidate *candidate) {
    for (size_t i = 0; i < records->count; i++) {
        const tune_record *each = &records->list[i];
        if (!strcmp(each->strategy, strategy) && !memcmp(&each->candidate, candidate, sizeof *candidate)) return each;
    }
    return NULL;
}

void tune_record_set(tune_records *records, const char *strategy, const stn_candidate *candidate, double seconds) {
    const tune_record *found = tune_record_find(records, strategy, candidate);
    size_t place = found ? (size_t)(found - records->list) : records->count;
    if (place == TUNE_RECORDS) return;
    tune_record *to = &records->list[place];
    snprintf(to->strategy, sizeof to->strategy, "%s", strategy);
    to->candidate = *candidate;
    to->seconds = seconds;
    if (!found) records->count++;
}

void tune_records_print_list(const tune_records *records, stn_text *text) {
    for (size_t i = 0; i < records->count; i++) {
        const tune_record *each = &records->list[i];
        char seconds[STN_NUMBER_SIZE];
        stn_number_format(each->seconds, seconds);
        stn_text_printf(text, "%s%s %s", candidate_label, each->strategy, each->seconds > 0 ? seconds : wrong_word);
        for (int v = 0; v < STN_CANDIDATE_VALUES; v++) stn_text_printf(text, " %d", each->candidate.values[v]);
        stn_text_printf(text, "\n");
    }
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The next word of a line, which ends at one space or the line's end; NULL when it is empty or longer than 63. */
static const char *next_word(const char *at, char word[64]) {
    size_t size = strcspn(at, " \n");
    if (!size || size > 63) return NULL;
    memcpy(word, at, size);
    word[size] = '\0';
    return at + size + (at[size] == ' ');
}

static bool parse_value(const char *word, int *value) {
    char again[32];
    long number = strtol(word, NULL, 10);
    *value = (int)number;
    snprintf(again, sizeof again, "%ld", number);
    return number >= INT_MIN && number <= INT_MAX && !strcmp(again, word);
}

/* As stn_number_format writes it: one number has one text. */
static bool parse_seconds(const char *word, double *seconds) {
    char again[STN_NUMBER_SIZE];
    if (!stn_number_parse(word, strlen(word), seconds) || !(*seconds > 0)) return false;
    stn_number_format(*seconds, again);
    return !strcmp(again, word);
}

/* One line after its label; where the next one starts, or NULL. */
static const char *parse_candidate(const char *at, tune_record *record) {
    char word[64];
    if (!(at = next_word(at, word)) || strlen(word) >= sizeof record->strategy) return NULL;
    memcpy(record->strategy, word, strlen(word) + 1);
    if (!(at = next_word(at, word))) return NULL;
    bool wrong = !strcmp(word, wrong_word);
    record->seconds = 0;
    if (!wrong && !parse_seconds(word, &record->seconds)) return NULL;
    for (int v = 0; v < STN_CANDIDATE_VALUES; v++)
        if (!(at = next_word(at, word)) || !parse_value(word, &record->candidate.values[v])) return NULL;
    return *at == '\n' && at[-1] != ' ' ? at + 1 : NULL;
}

static const char *skip_line(const char *at, const char *label) {
    const char *end = strchr(at, '\n');
    return !strncmp(at, label, strlen(label)) && end ? end + 1 : NULL;
}

bool tune_records_parse(const char *text, tune_records *records) {
    const char *at = text;
    records->count = 0;
    if (!(at = skip_line(at, "problem: ")) || !(at = skip_line(at, "device: "))) return false;
    while (*at) {
        tune_record *record = &records->list[records->count];
        if (records->count == TUNE_RECORDS || strncmp(at, candidate_label, strlen(candidate_label))) return false;
        if (!(at = parse_candidate(at + strlen(candidate_label), record))) return false;
        if (tune_record_find(records, record->strategy, &record->candidate)) return false;
        records->count++;
    }
    return true;
}
