/* See wisdom.h. */
#include "tune/wisdom.h"

#include <sodium/crypto_hash_sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "tune/record.h"

static const char head[] = "stentor wisdom ", format_line[] = "stentor wisdom 1\n",
                  library_label[] = "library: ", entry_label[] = "entry: ", sum_label[] = "sha256 ";
enum {
    SUM_LINE = sizeof sum_label - 1 + 64 + 1,
    ENTRY_LINE = sizeof entry_label - 1 + 64 + 1,
    HEX = 64,
    NOTE_MOST = 60000
}; /* a note's file has 64 KiB */

static bool begins(const char *text, const char *label) { return !strncmp(text, label, strlen(label)); }

static void checksum(const char *text, size_t size, char hex[HEX + 1]) {
    stn_key sum;
    crypto_hash_sha256(sum.bytes, (const unsigned char *)text, size);
    stn_key_hex(&sum, hex);
}

/* ---- notes ------------------------------------------------------------------------------------------------------- */

/* The bytes of a note's first two lines: problem and device. */
static int head_size(const char *note) {
    const char *second = strchr(note, '\n') + 1;
    return (int)(strchr(second, '\n') + 1 - note);
}

char *tune_note_merge(const char *first, const char *second) {
    tune_records *records = malloc(2 * sizeof *records);
    stn_text text = STN_TEXT_EMPTY;
    char *merged = NULL;
    if (records && tune_records_parse(first, &records[0]) && tune_records_parse(second, &records[1])) {
        for (size_t i = 0; i < records[1].count; i++) {
            const tune_record *each = &records[1].list[i];
            if (!tune_record_find(&records[0], each->strategy, &each->candidate))
                tune_record_set(&records[0], each->strategy, &each->candidate, each->seconds);
        }
        stn_text_append(&text, first, (size_t)head_size(first));
        tune_records_print_list(&records[0], &text);
        if (stn_text_take(&text, &merged, NULL) != STN_OK) merged = NULL;
    }
    free(records);
    return merged;
}

/* ---- entries ----------------------------------------------------------------------------------------------------- */

void tune_wisdom_clear(tune_wisdom *wisdom) {
    for (size_t i = 0; i < wisdom->count; i++) free(wisdom->entries[i].note);
    free(wisdom->entries);
    *wisdom = (tune_wisdom){0};
}

/* Where the key is, or would be. */
static size_t place_of(const tune_wisdom *wisdom, const stn_key *key) {
    size_t low = 0, high = wisdom->count;
    while (low < high) {
        const size_t middle = (low + high) / 2;
        if (memcmp(wisdom->entries[middle].key.bytes, key->bytes, sizeof key->bytes) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(tune_wisdom *wisdom) {
    if (wisdom->count < wisdom->capacity) return true;
    const size_t capacity = wisdom->capacity ? 2 * wisdom->capacity : 64;
    tune_wisdom_entry *grown = realloc(wisdom->entries, capacity * sizeof *grown);
    if (!grown) return false;
    wisdom->entries = grown;
    wisdom->capacity = capacity;
    return true;
}

static stn_status add_to(tune_wisdom_entry *entry, const char *note, stn_error *error) {
    char *merged = tune_note_merge(entry->note, note);
    if (!merged) return stn_fail_memory(error, "two notes in one", strlen(note));
    free(entry->note);
    entry->note = merged;
    return STN_OK;
}

stn_status tune_wisdom_add(tune_wisdom *wisdom, const stn_key *key, const char *note, bool *known, stn_error *error) {
    const size_t place = place_of(wisdom, key);
    const bool there =
        place < wisdom->count && !memcmp(wisdom->entries[place].key.bytes, key->bytes, sizeof key->bytes);
    if (known) *known = there;
    if (there) return add_to(&wisdom->entries[place], note, error);
    if (wisdom->count == TUNE_WISDOM_ENTRIES)
        return stn_fail(error, STN_ERROR_FORMAT, "there are more than %d entries: split the wisdom",
                        TUNE_WISDOM_ENTRIES);
    char *copy = strdup(note);
    if (!copy || !make_room(wisdom)) {
        free(copy);
        return stn_fail_memory(error, "wisdom", strlen(note));
    }
    memmove(wisdom->entries + place + 1, wisdom->entries + place, (wisdom->count - place) * sizeof *wisdom->entries);
    wisdom->entries[place] = (tune_wisdom_entry){*key, copy};
    wisdom->count++;
    return STN_OK;
}

void tune_wisdom_print(const tune_wisdom *wisdom, stn_text *text) {
    char hex[HEX + 1];
    const size_t begin = text->size;
    stn_text_printf(text, "%s%s%s\n", format_line, library_label, wisdom->library);
    for (size_t i = 0; i < wisdom->count; i++) {
        stn_key_hex(&wisdom->entries[i].key, hex);
        stn_text_printf(text, "%s%s\n%s", entry_label, hex, wisdom->entries[i].note);
    }
    if (text->failed) return;
    checksum(text->data + begin, text->size - begin, hex);
    stn_text_printf(text, "%s%s\n", sum_label, hex);
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

/* The frame: first line, last line, and nothing but text. */
static stn_status check_frame(const char *text, size_t size, stn_error *error) {
    char hex[HEX + 1];
    if (size > TUNE_WISDOM_MOST)
        return stn_fail(error, STN_ERROR_FORMAT, "wisdom of %zu bytes is refused: at most %zu are read", size,
                        TUNE_WISDOM_MOST);
    if (size < sizeof head - 1 || memcmp(text, head, sizeof head - 1))
        return stn_fail(error, STN_ERROR_FORMAT, "this is no wisdom: it does not begin with \"%s1\"", head);
    if (size < sizeof format_line - 1 || memcmp(text, format_line, sizeof format_line - 1))
        return stn_fail(error, STN_ERROR_FORMAT,
                        "this wisdom is of another format than 1, the only one that this library (stentor %s) reads: "
                        "export it again with this version",
                        stn_version());
    if (memchr(text, '\0', size)) return stn_fail(error, STN_ERROR_FORMAT, "the wisdom is damaged: it is not a text");
    if (size < sizeof format_line - 1 + SUM_LINE || text[size - SUM_LINE - 1] != '\n' ||
        memcmp(text + size - SUM_LINE, sum_label, sizeof sum_label - 1) || text[size - 1] != '\n')
        return stn_fail(error, STN_ERROR_FORMAT, "the wisdom is cut short: its last line is not its checksum");
    checksum(text, size - SUM_LINE, hex);
    if (memcmp(text + size - 1 - HEX, hex, HEX))
        return stn_fail(error, STN_ERROR_FORMAT, "the wisdom is damaged: its checksum is another one");
    return STN_OK;
}

/* One entry at `at`, until the next one or the end; where it ends. */
static const char *read_entry(const char *at, size_t number, tune_wisdom *wisdom, tune_records *room, stn_text *skipped,
                              stn_status *status, stn_error *error) {
    char hex[HEX + 1];
    stn_key key;
    const char *line = strchr(at, '\n'), *end = line ? line + 1 : at + strlen(at);
    while (*end && !begins(end, entry_label)) {
        const char *next = strchr(end, '\n');
        end = next ? next + 1 : end + strlen(end);
    }
    snprintf(hex, sizeof hex, "%.64s", at + sizeof entry_label - 1);
    char *note = line && line + 1 - at == ENTRY_LINE && stn_key_parse(hex, &key)
                     ? strndup(line + 1, (size_t)(end - line - 1))
                     : NULL;
    if (!note)
        stn_text_printf(skipped, "entry %zu is passed over: its key is none\n", number);
    else if (strlen(note) > NOTE_MOST || !tune_records_parse(note, room) || !room->count)
        stn_text_printf(skipped, "entry %zu (%.16s) is passed over: it is not what was measured of a problem\n", number,
                        hex);
    else
        *status = tune_wisdom_add(wisdom, &key, note, NULL, error);
    free(note);
    return end;
}

static stn_status read_entries(char *body, tune_wisdom *wisdom, stn_text *skipped, stn_error *error) {
    const char *at = body + sizeof format_line - 1, *end = strchr(at, '\n');
    const size_t label = sizeof library_label - 1;
    if (!begins(at, library_label) || !end || (size_t)(end - at) - label >= sizeof wisdom->library)
        return stn_fail(error, STN_ERROR_FORMAT, "the wisdom does not say which library it is of");
    snprintf(wisdom->library, sizeof wisdom->library, "%.*s", (int)((size_t)(end - at) - label), at + label);
    at = end + 1;
    if (*at && !begins(at, entry_label))
        return stn_fail(error, STN_ERROR_FORMAT, "the wisdom's third line is no entry");
    tune_records *room = malloc(sizeof *room);
    stn_status status = room ? STN_OK : stn_fail_memory(error, "wisdom", sizeof *room);
    for (size_t number = 1; status == STN_OK && *at; number++)
        at = read_entry(at, number, wisdom, room, skipped, &status, error);
    free(room);
    return status;
}

stn_status tune_wisdom_parse(const char *text, size_t size, tune_wisdom *wisdom, stn_text *skipped, stn_error *error) {
    *wisdom = (tune_wisdom){0};
    STN_TRY(check_frame(text, size, error));
    char *body = strndup(text, size - SUM_LINE);
    if (!body) return stn_fail_memory(error, "wisdom", size);
    stn_status status = read_entries(body, wisdom, skipped, error);
    free(body);
    if (status != STN_OK) tune_wisdom_clear(wisdom);
    return status;
}
