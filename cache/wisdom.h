/* Wisdom: what was measured of problems' candidates, as one text. The cache's folder keeps it in
 * one file, `stentor wisdom` carries it between folders, and the library brings some along: all in
 * this format, which FORMAT.md specifies. Here an entry's lines are text that is kept as it is;
 * src/tune/wisdom.h knows what they say. */
#ifndef STN_CACHE_WISDOM_H
#define STN_CACHE_WISDOM_H
#include "base/text.h"
#include "cache/folder.h"
#include "cache/key.h"

#define STN_WISDOM_BYTES ((size_t)1 << 26) /* of a text, at most */
enum { STN_WISDOM_ENTRIES = 4096 };        /* at most */

typedef struct stn_wisdom { /* zero is empty */
    char *text;
    size_t count;
    const char **entry; /* [count + 1]: where each begins, the newest first; the last one: where they end */
} stn_wisdom;

/* What an entry is of. The class of problems, of devices and of this version of the library is what
 * plans look for. */
typedef struct stn_wisdom_key {
    stn_key class, problem, kernels;
} stn_wisdom_key;

/* Copies and checks a text. STN_ERROR_FORMAT: it is no wisdom, of another format, cut short or
 * damaged. On failure *wisdom is empty. */
stn_status stn_wisdom_parse(const char *text, size_t size, stn_wisdom *wisdom, stn_error *error);
void stn_wisdom_clear(stn_wisdom *wisdom);

/* Writing: a beginning, entries, which are lines "label: value" below the line of
 * stn_wisdom_put_key, and an end. */
void stn_wisdom_begin(stn_text *text);
void stn_wisdom_put_key(stn_text *text, const stn_wisdom_key *key);
void stn_wisdom_end(stn_text *text);

/* The next entry of the class in a text that is whole, from `at` on; NULL: there is none. *end:
 * where it ends. */
const char *stn_wisdom_find(const char *at, const stn_key *class, const char **end);
/* Does the entry's own line name this problem, these kernels? */
bool stn_wisdom_is_of(const char *entry, const stn_wisdom_key *key, bool *kernels);
/* The problem's key, in hex. */
const char *stn_wisdom_problem(const char *entry);
/* The value of the entry's first line with this label; its size, 0 where there is none. */
size_t stn_wisdom_line(const char *entry, const char *end, const char *label, const char **value);

/* The one way to merge, *text being empty before: the first one's entries, with the candidates that
 * only the second has of them, then the entries that only the second has. So of a candidate in both
 * the first one's time stays, and nothing is lost. STN_ERROR_FORMAT: there are too many. *known, if
 * not NULL: how many entries are in both. */
stn_status stn_wisdom_join(const stn_wisdom *first, const stn_wisdom *second, stn_text *text, size_t *known,
                           stn_error *error);

/* ---- the folder's file
 * ------------------------------------------------------------------------------------------- */

/* The folder's wisdom; empty where there is none. What cannot be read now is not empty:
 * STN_ERROR_IO, STN_ERROR_OUT_OF_MEMORY; what is damaged, or could be another user's:
 * STN_ERROR_FORMAT. *seen: the file; zeroed: there is none. */
stn_status stn_wisdom_read(stn_folder *folder, stn_wisdom *wisdom, struct stat *seen, stn_error *error);
/* The same where the file is another one than was seen, else *wisdom stays as it is. */
stn_status stn_wisdom_refresh(stn_folder *folder, stn_wisdom *wisdom, struct stat *seen, stn_error *error);

/* Writes into *after, which is empty, what is to be there instead of what was. */
typedef stn_status (*stn_wisdom_change)(void *user, stn_wisdom *before, stn_text *after, stn_error *error);
/* The one way to write: read, changed and replaced under a lock between processes. A damaged file
 * is kept as wisdom.damaged; where it cannot be read, or not be written, nothing changes and this
 * fails. */
stn_status stn_wisdom_update(stn_folder *folder, stn_wisdom_change change, void *user, stn_error *error);
/* Removes the file, whatever it holds. */
stn_status stn_wisdom_remove(stn_folder *folder, stn_error *error);
#endif
