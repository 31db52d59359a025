/* Wisdom: measured times of problems' candidates, as one text. The cache folder keeps it in one
 * file, and `stentor wisdom` copies it between folders, in the format that FORMAT.md specifies.
 * Here the lines of an entry are opaque text; src/tune/plan_wisdom.h knows their content. */
#ifndef STN_CACHE_WISDOM_H
#define STN_CACHE_WISDOM_H
#include "base/text.h"
#include "cache/folder.h"
#include "cache/key.h"

#define STN_WISDOM_BYTES ((size_t)1 << 26) /* largest text */
enum { STN_WISDOM_ENTRIES = 4096 };        /* at most */

typedef struct stn_wisdom { /* zero is empty */
    char *text;
    size_t count;
    /* [count + 1]: the start of each entry, the newest first, then the end of the last one */
    const char **entry;
} stn_wisdom;

/* Identifies an entry. `problem` is the key of one problem on one device and driver. `class` is
 * equal for all problems of about the same sizes on the same model of device; plans search by it.
 * Both keys contain the library's version and the key of its kernels. */
typedef struct stn_wisdom_key {
    stn_key class, problem;
} stn_wisdom_key;

/* Copies and checks a text. STN_ERROR_FORMAT: no wisdom, another format, truncated or damaged. On
 * failure *wisdom is empty. */
stn_status stn_wisdom_parse(const char *text, size_t size, stn_wisdom *wisdom, stn_error *error);
void stn_wisdom_clear(stn_wisdom *wisdom);

/* Writing: begin, then for each entry put_key and lines "label: value", then end. */
void stn_wisdom_begin(stn_text *text);
void stn_wisdom_put_key(stn_text *text, const stn_wisdom_key *key);
void stn_wisdom_end(stn_text *text);

/* Returns whether the entry is of the problem `key->problem`; *same_class is set to whether it is
 * of the class `key->class`. */
bool stn_wisdom_is_of(const char *entry, const stn_wisdom_key *key, bool *same_class);
/* The problem's key, in hex digits. */
const char *stn_wisdom_problem(const char *entry);
/* *value: the value of the entry's first line with this label. Returns its size, 0 if there is
 * none. */
size_t stn_wisdom_line(const char *entry, const char *end, const char *label, const char **value);

/* True if the wisdom has an entry with this one's class and problem. */
bool stn_wisdom_has(const stn_wisdom *wisdom, const char *entry);

/* Merges into the empty *text: the first one's entries, each with the candidates that only the
 * second has, then the entries that only the second has. If both have a candidate, the first one's
 * time is kept. STN_ERROR_FORMAT: too many entries. *known, if not NULL: the number of entries in
 * both. */
stn_status stn_wisdom_join(const stn_wisdom *first, const stn_wisdom *second, stn_text *text, size_t *known,
                           stn_error *error);

/* ---- the folder's file ----------------------------------------------------------------------- */

/* Reads the folder's wisdom; empty if there is no file. STN_ERROR_IO, STN_ERROR_OUT_OF_MEMORY: it
 * cannot be read now. STN_ERROR_FORMAT: it is damaged, or another user could have written it.
 * *seen: the status of the file that was read; zero if there is none. */
stn_status stn_wisdom_read(stn_folder *folder, stn_wisdom *wisdom, struct stat *seen, stn_error *error);
/* Reads again if the file differs from the one in *seen. */
stn_status stn_wisdom_refresh(stn_folder *folder, stn_wisdom *wisdom, struct stat *seen, stn_error *error);

/* Writes the new content into *after, which is empty. */
typedef stn_status (*stn_wisdom_change)(void *user, stn_wisdom *before, stn_text *after, stn_error *error);
/* Reads, changes and replaces the file under a lock between processes. A damaged file is kept as
 * wisdom.damaged. If the file cannot be read or written, nothing changes and this fails. `change`
 * may be NULL: nothing else is changed. */
stn_status stn_wisdom_update(stn_folder *folder, stn_wisdom_change change, void *user, stn_error *error);
/* Removes the file, even a damaged one. */
stn_status stn_wisdom_remove(stn_folder *folder, stn_error *error);
#endif
