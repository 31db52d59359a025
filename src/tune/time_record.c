/* Lines of measured candidates: strategy, seconds of the whole run (or "wrong"), and all values of
 * the candidate. See time_record.h.
 *
 *     candidate: direct 0.0893 4 2 1 640 1 1 32 8 1 0 0 10 4 3 5 0 0 0 0 0
 *     candidate: lowrank wrong 4 2 1 640 1 1 32 8 1 0 0 10 4 3 5 0 0 0 0 0 */
#include "tune/time_record.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static const char candidate_label[] = "candidate: ", wrong_word[] = "wrong";

const tune_record *tune_record_find(const tune_records *records, const char *strategy, const stn_candidate *candidate) {
    for (size_t i = 0; i < records->count; i++) {
        const tune_record *each = &records->list[i];
        if (!strcmp(each->strategy, strategy) && !memcmp(&each->candidate, candidate, sizeof *candidate)) return each;
    }
    return NULL;
}

void tune_record_set(tune_records *records, const char *strategy, const stn_candidate *candidate, double seconds) {
    const tune_record *found = tune_record_find(records, strategy, candidate);
    size_t index = found ? (size_t)(found - records->list) : records->count;
    if (index == TUNE_RECORDS) return;
    tune_record *to = &records->list[index];
    snprintf(to->strategy, sizeof to->strategy, "%s", strategy);
    to->candidate = *candidate;
    to->seconds = seconds;
    if (!found) records->count++;
}

void tune_records_print(const tune_records *records, stn_text *text) {
    for (size_t i = 0; i < records->count; i++) {
        const tune_record *each = &records->list[i];
        char seconds[STN_NUMBER_SIZE];
        stn_number_format(each->seconds, seconds);
        stn_text_printf(text, "%s%s %s", candidate_label, each->strategy, each->seconds > 0 ? seconds : wrong_word);
        for (int v = 0; v < STN_CANDIDATE_VALUES; v++) stn_text_printf(text, " %d", each->candidate.values[v]);
        stn_text_printf(text, "\n");
    }
}

/* Copies the word at `at`, which ends at a space or at the end of the line. Returns the start of
 * the next word, or NULL if the word is empty or too long. */
static const char *next_word(const char *at, char *word, size_t capacity) {
    const size_t size = strcspn(at, " \n");
    if (!size || size >= capacity) return NULL;
    memcpy(word, at, size);
    word[size] = '\0';
    return at + size + (at[size] == ' ');
}

static bool parse_candidate(const char *at, tune_record *record) {
    char word[STN_NUMBER_SIZE], *last;
    if (!(at = next_word(at, record->strategy, sizeof record->strategy))) return false;
    if (!(at = next_word(at, word, sizeof word))) return false;
    record->seconds = 0;
    if (strcmp(word, wrong_word) != 0 &&
        (!stn_number_parse(word, strlen(word), &record->seconds) || !(record->seconds > 0)))
        return false;
    for (int v = 0; v < STN_CANDIDATE_VALUES; v++) {
        if (!(at = next_word(at, word, sizeof word))) return false;
        const long value = strtol(word, &last, 10);
        if (*last || value < INT_MIN || value > INT_MAX) return false;
        record->candidate.values[v] = (int)value;
    }
    return *at == '\n' && at[-1] != ' ';
}

void tune_records_parse(const char *lines, const char *end, tune_records *records) {
    records->count = 0;
    for (const char *at = lines, *next; at < end && records->count < TUNE_RECORDS; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        if (!next) return;
        tune_record *record = &records->list[records->count];
        records->count += !strncmp(at, candidate_label, sizeof candidate_label - 1) &&
                          parse_candidate(at + sizeof candidate_label - 1, record);
    }
}
