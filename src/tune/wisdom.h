/* Wisdom: all notes of a cache folder in one text that travels.
 *
 *     stentor wisdom 1
 *     library: stentor 0.1.0, templates 0123...          (the kernels that were measured: 64 hex digits)
 *     entry: 89ab...                                     (the note's key: 64 hex digits)
 *     problem: 2D 4096 x 4096, f64, ...
 *     device: NVIDIA H200, driver 13000
 *     candidate: direct 0.0893 4 2 1 ...
 *     entry: ...
 *     sha256 SUM                                         (over all bytes before this line, in hex)
 *
 * Only text: no file, and of the context only what this library is. */
#ifndef STN_TUNE_WISDOM_H
#define STN_TUNE_WISDOM_H
#include "base/text.h"
#include "cache/key.h"
#include "stentor.h"

#define TUNE_WISDOM_MOST ((size_t)1 << 26) /* bytes */
enum { TUNE_WISDOM_ENTRIES = 4096 };

typedef struct tune_wisdom_entry {
    stn_key key;
    char *note; /* owned */
} tune_wisdom_entry;

typedef struct tune_wisdom { /* zero is empty */
    char library[128];       /* "stentor 0.1.0, templates 0123..." */
    size_t count, capacity;
    tune_wisdom_entry *entries; /* in the order of keys */
} tune_wisdom;

/* Refuses (STN_ERROR_FORMAT) what is no wisdom, of a later format or damaged. An entry that makes no sense is passed over: a line about
 * it goes to *skipped. On failure *wisdom is empty. */
stn_status tune_wisdom_parse(const char *text, size_t size, tune_wisdom *wisdom, stn_text *skipped, stn_error *error);
void tune_wisdom_print(const tune_wisdom *wisdom, stn_text *text);
/* Copies a note that tune_records_parse accepts. What is there under its key stays; *known, if not NULL, says whether anything was, and
 * what the note says of other candidates is added. Errors: memory; too many. */
stn_status tune_wisdom_add(tune_wisdom *wisdom, const stn_key *key, const char *note, bool *known, stn_error *error);
void tune_wisdom_clear(tune_wisdom *wisdom);
/* What wisdom that this library measures says it is of. */
void tune_wisdom_library(const stn_context *context, char library[128]);
/* Two notes of one problem in one: the candidates of the first, then those that only the second has. NULL: no memory, or one is no
 * note. Freed with free(). */
char *tune_note_merge(const char *first, const char *second);
#endif
