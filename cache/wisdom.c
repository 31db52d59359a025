/* Wisdom: parsing, searching, merging and writing the text, and the cache folder's file; see
 * wisdom.h. */
#include "cache/wisdom.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium/crypto_hash_sha256.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arith.h"
#include "base/error.h"
#include "cache/atomic_file.h"

#define NAME "wisdom"
static const char head[] = "stentor wisdom ", format_line[] = "stentor wisdom 3\n",
                  entry_label[] = "entry: ", candidate_label[] = "candidate: ", sum_label[] = "sha256 ";
enum {
    HEX = 64,
    SUM_LINE = sizeof sum_label - 1 + HEX + 1,
    KEY_LINE = sizeof entry_label - 1 + 2 * (HEX + 1), /* class and problem */
    LOCK_MS = 30000
};

static bool begins(const char *text, const char *label) { return !strncmp(text, label, strlen(label)); }
static const char *next_line(const char *at) { return strchr(at, '\n') + 1; }

static void checksum(const char *text, size_t size, char hex[HEX + 1]) {
    stn_key sum;
    crypto_hash_sha256(sum.bytes, (const unsigned char *)text, size);
    stn_key_hex(&sum, hex);
}

/* ---- reading a text -------------------------------------------------------------------------- */

/* Checks the first line, the checksum line, and that all bytes are printable ASCII or newlines (no
 * terminal control sequences). */
static stn_status check_frame(const char *text, size_t size, stn_error *error) {
    char hex[HEX + 1];
    const size_t format = sizeof format_line - 1;
    if (size > STN_WISDOM_BYTES)
        return stn_fail(error, STN_ERROR_FORMAT, "wisdom of %zu bytes is refused: at most %zu are read", size,
                        STN_WISDOM_BYTES);
    if (size < sizeof head - 1 || memcmp(text, head, sizeof head - 1))
        return stn_fail(error, STN_ERROR_FORMAT, "this is no wisdom: it does not begin with \"%s3\"", head);
    if (size < format || memcmp(text, format_line, format))
        return stn_fail(error, STN_ERROR_FORMAT,
                        "this wisdom is of another format than 3, the only one that this library (stentor %s) reads: "
                        "measure again, or export it with this version",
                        stn_version());
    if (size < format + SUM_LINE || text[size - SUM_LINE - 1] != '\n' ||
        memcmp(text + size - SUM_LINE, sum_label, sizeof sum_label - 1) || text[size - 1] != '\n')
        return stn_fail(error, STN_ERROR_FORMAT, "the wisdom is cut short: its last line is not its checksum");
    checksum(text, size - SUM_LINE, hex);
    if (memcmp(text + size - 1 - HEX, hex, HEX))
        return stn_fail(error, STN_ERROR_FORMAT, "the wisdom is damaged: its checksum is wrong");
    for (size_t i = 0; i < size; i++)
        if ((text[i] < ' ' && text[i] != '\n') || text[i] > '~')
            return stn_fail(error, STN_ERROR_FORMAT, "the wisdom is no text of printable ASCII: byte %zu", i + 1);
    return STN_OK;
}

/* "entry: CLASS PROBLEM" */
static bool is_key_line(const char *line) {
    const char *at = line + sizeof entry_label - 1;
    if (strcspn(line, "\n") != KEY_LINE - 1) return false;
    for (int i = 0; i < 2; i++, at += HEX + 1)
        if (strspn(at, "0123456789abcdef") != HEX || at[HEX] != (i ? '\n' : ' ')) return false;
    return true;
}

static stn_status find_entries(stn_wisdom *wisdom, const char *end, stn_error *error) {
    size_t number = 2;
    for (const char *at = wisdom->text + sizeof format_line - 1; at < end; at = next_line(at), number++) {
        const bool first = begins(at, entry_label);
        if (first ? !is_key_line(at) : !wisdom->count || *at == '\n')
            return stn_fail(error, STN_ERROR_FORMAT, "line %zu of the wisdom is no line of an entry: \"%.*s\"", number,
                            (int)stn_min((int64_t)strcspn(at, "\n"), 100), at);
        if (first && wisdom->count == STN_WISDOM_ENTRIES)
            return stn_fail(error, STN_ERROR_FORMAT, "there are more than %d entries: split the wisdom",
                            STN_WISDOM_ENTRIES);
        if (first) wisdom->entry[wisdom->count++] = at;
    }
    wisdom->entry[wisdom->count] = end;
    return STN_OK;
}

stn_status stn_wisdom_parse(const char *text, size_t size, stn_wisdom *wisdom, stn_error *error) {
    *wisdom = (stn_wisdom){0};
    STN_TRY(check_frame(text, size, error));
    wisdom->text = strndup(text, size);
    wisdom->entry = malloc((size / KEY_LINE + 2) * sizeof *wisdom->entry);
    const stn_status status = wisdom->text && wisdom->entry /* NOLINT: cleared below */
                                  ? find_entries(wisdom, wisdom->text + size - SUM_LINE, error)
                                  : stn_fail_memory(error, "wisdom", size);
    if (status != STN_OK) stn_wisdom_clear(wisdom);
    return status;
}

void stn_wisdom_clear(stn_wisdom *wisdom) {
    free(wisdom->text);
    free(wisdom->entry);
    *wisdom = (stn_wisdom){0};
}

/* ---- entries --------------------------------------------------------------------------------- */

const char *stn_wisdom_problem(const char *entry) { return entry + sizeof entry_label + HEX; }

bool stn_wisdom_is_of(const char *entry, const stn_wisdom_key *key, bool *same_class) {
    char hex[HEX + 1];
    stn_key_hex(&key->class, hex);
    *same_class = !memcmp(entry + sizeof entry_label - 1, hex, HEX);
    stn_key_hex(&key->problem, hex);
    return !memcmp(stn_wisdom_problem(entry), hex, HEX);
}

size_t stn_wisdom_line(const char *entry, const char *end, const char *label, const char **value) {
    for (const char *at = entry; at < end; at = next_line(at))
        if (begins(at, label)) {
            *value = at + strlen(label);
            return strcspn(*value, "\n");
        }
    *value = "";
    return 0;
}

/* ---- writing a text -------------------------------------------------------------------------- */

void stn_wisdom_begin(stn_text *text) { stn_text_append(text, format_line, sizeof format_line - 1); }

void stn_wisdom_put_key(stn_text *text, const stn_wisdom_key *key) {
    char class[HEX + 1], problem[HEX + 1];
    stn_key_hex(&key->class, class);
    stn_key_hex(&key->problem, problem);
    stn_text_printf(text, "%s%s %s\n", entry_label, class, problem);
}

void stn_wisdom_end(stn_text *text) {
    char hex[HEX + 1];
    if (text->failed) return;
    checksum(text->data, text->size, hex);
    stn_text_printf(text, "%s%s\n", sum_label, hex);
}

/* Whether two lines are of the same candidate: the same strategy and parameters, whatever the
 * seconds. Lines of any other form are compared as a whole. */
static bool same_candidate(const char *a, const char *b) {
    const size_t whole = strcspn(a, "\n") + 1;
    if (!strncmp(a, b, whole)) return true;
    const size_t name = sizeof candidate_label - 1 + strcspn(a + sizeof candidate_label - 1, " \n");
    if (strncmp(a, b, name) || a[name] != ' ' || b[name] != ' ') return false;
    a += name + 1, b += name + 1;
    a += strcspn(a, " \n"), b += strcspn(b, " \n");
    const size_t values = strcspn(a, "\n");
    return values == strcspn(b, "\n") && !memcmp(a, b, values);
}

/* Adds the candidates that only the second entry has. */
static void add_candidates(const char *first, const char *first_end, const char *second, const char *second_end,
                           stn_text *text) {
    for (const char *at = second; at < second_end; at = next_line(at)) {
        bool there = !begins(at, candidate_label);
        for (const char *own = first; own < first_end && !there; own = next_line(own))
            there = begins(own, candidate_label) && same_candidate(own, at);
        if (!there) stn_text_append(text, at, (size_t)(next_line(at) - at));
    }
}

/* The index of the entry with the same class and problem; `count` if there is none. */
static size_t find_same(const stn_wisdom *wisdom, const char *entry) {
    size_t i = 0;
    while (i < wisdom->count && memcmp(wisdom->entry[i], entry, KEY_LINE)) i++;
    return i;
}

bool stn_wisdom_has(const stn_wisdom *wisdom, const char *entry) { return find_same(wisdom, entry) < wisdom->count; }

stn_status stn_wisdom_join(const stn_wisdom *first, const stn_wisdom *second, stn_text *text, size_t *known,
                           stn_error *error) {
    size_t both = 0;
    stn_wisdom_begin(text);
    for (size_t i = 0; i < first->count; i++) {
        const char *const *own = &first->entry[i];
        const size_t k = find_same(second, own[0]);
        stn_text_append(text, own[0], (size_t)(own[1] - own[0]));
        both += k < second->count;
        if (k < second->count) add_candidates(own[0], own[1], second->entry[k], second->entry[k + 1], text);
    }
    for (size_t i = 0; i < second->count; i++)
        if (find_same(first, second->entry[i]) == first->count)
            stn_text_append(text, second->entry[i], (size_t)(second->entry[i + 1] - second->entry[i]));
    stn_wisdom_end(text);
    if (known) *known = both;
    if (first->count + second->count - both <= STN_WISDOM_ENTRIES && text->size <= STN_WISDOM_BYTES) return STN_OK;
    return stn_fail(error, STN_ERROR_FORMAT, "both together have more than %d entries or %zu bytes: forget some first",
                    STN_WISDOM_ENTRIES, STN_WISDOM_BYTES);
}

/* ---- the folder's file ----------------------------------------------------------------------- */

static stn_status fail_folder(const stn_folder *folder, stn_error *error) {
    return stn_fail(error, STN_ERROR_IO, "the cache folder cannot be used: %s",
                    *folder->problem ? folder->problem : strerror(errno));
}

stn_status stn_wisdom_read(stn_folder *folder, stn_wisdom *wisdom, struct stat *seen, stn_error *error) {
    char *text = NULL;
    stn_error why = {0};
    *wisdom = (stn_wisdom){0};
    *seen = (struct stat){0};
    const int root = stn_folder_open(folder, false);
    if (root < 0) return errno == ENOENT ? STN_OK : fail_folder(folder, error);
    stn_status status = stn_file_read(folder, root, NAME, 0, STN_WISDOM_BYTES, false, &text, seen, &why);
    stn_folder_close(root);
    if (status == STN_ERROR_IO && errno == ENOENT) return STN_OK;
    if (status == STN_OK) status = stn_wisdom_parse(text, (size_t)seen->st_size, wisdom, &why);
    free(text);
    return status == STN_OK ? STN_OK
                            : stn_fail(error, status, "%s/" NAME " is not used: %s", folder->path, why.message);
}

stn_status stn_wisdom_refresh(stn_folder *folder, stn_wisdom *wisdom, struct stat *seen, stn_error *error) {
    struct stat now = {0};
    const int root = stn_folder_open(folder, false);
    if (root >= 0) {
        if (fstatat(root, NAME, &now, AT_SYMLINK_NOFOLLOW)) now = (struct stat){0};
        close(root);
    }
    if (now.st_ino == seen->st_ino && now.st_dev == seen->st_dev && now.st_size == seen->st_size &&
        now.st_ctim.tv_sec == seen->st_ctim.tv_sec && now.st_ctim.tv_nsec == seen->st_ctim.tv_nsec)
        return STN_OK;
    stn_wisdom_clear(wisdom);
    return stn_wisdom_read(folder, wisdom, seen, error);
}

/* Keeps a damaged file for inspection. */
static stn_status set_aside(stn_folder *folder, const char *why, stn_error *error) {
    const int root = stn_folder_open(folder, false);
    const bool done = root >= 0 && !renameat(root, NAME, root, NAME ".damaged");
    stn_folder_close(root);
    if (!done) return stn_fail(error, STN_ERROR_IO, "%s; it cannot be set aside: %s", why, strerror(errno));
    stn_log(folder->logger, STN_LOG_WARNING, "%s; it is kept as %s/" NAME ".damaged, and new wisdom begins", why,
            folder->path);
    return STN_OK;
}

static stn_status replace(stn_folder *folder, stn_text *after, stn_error *error) {
    char *text;
    STN_TRY(stn_text_take(after, &text, error));
    const bool written = stn_file_store(folder, NULL, NAME, text, strlen(text), true);
    const int why = errno;
    stn_text_free(text);
    return written ? STN_OK
                   : stn_fail(error, STN_ERROR_IO, "%s/" NAME " cannot be written: %s", folder->path, strerror(why));
}

stn_status stn_wisdom_update(stn_folder *folder, stn_wisdom_change change, void *user, stn_error *error) {
    static const stn_key wisdom_key = {{0}}; /* no kernel has this key */
    stn_wisdom before;
    stn_text after = STN_TEXT_EMPTY;
    struct stat seen;
    stn_error why = {0};
    const int lock = stn_folder_lock(folder, LOCK_MS, &wisdom_key);
    if (lock < 0)
        return stn_fail(error, STN_ERROR_IO, "%s/" NAME " cannot be locked to write it: %s", folder->path,
                        strerror(errno));
    stn_status status = stn_wisdom_read(folder, &before, &seen, &why);
    if (status == STN_ERROR_FORMAT)
        status = set_aside(folder, why.message, error);
    else if (status != STN_OK)
        (void)stn_fail(error, status, "%s", why.message);
    if (status == STN_OK)
        status = change ? change(user, &before, &after, error)
                        : stn_wisdom_join(&before, &(stn_wisdom){0}, &after, NULL, error);
    if (status == STN_OK) status = replace(folder, &after, error);
    stn_folder_close(lock);
    stn_text_clear(&after);
    stn_wisdom_clear(&before);
    return status;
}

stn_status stn_wisdom_remove(stn_folder *folder, stn_error *error) {
    const int root = stn_folder_open(folder, false);
    if (root < 0) return errno == ENOENT ? STN_OK : fail_folder(folder, error);
    (void)stn_file_remove(root, NAME ".damaged");
    const bool gone = stn_file_remove(root, NAME) || errno == ENOENT;
    stn_folder_close(root);
    return gone ? STN_OK
                : stn_fail(error, STN_ERROR_IO, "%s/" NAME " cannot be removed: %s", folder->path, strerror(errno));
}
