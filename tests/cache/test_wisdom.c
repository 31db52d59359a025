/* A wisdom text is parsed as it was written, or refused; merging keeps the first time of each
 * candidate and drops nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../expect.h"
#include "cache/wisdom.h"
#include "helpers.h"

static stn_wisdom_key key_of(unsigned class, unsigned problem) {
    return (stn_wisdom_key){key_of_number(class), key_of_number(100 + problem)};
}

static void put(stn_text *text, unsigned number) {
    const stn_wisdom_key key = key_of(number, number);
    stn_wisdom_put_key(text, &key);
}

static stn_wisdom parsed(const char *text) {
    stn_wisdom wisdom;
    OK(stn_wisdom_parse(text, strlen(text), &wisdom, &error));
    return wisdom;
}

/* ---- a text ---------------------------------------------------------------------------------- */

static void expect_refused(const char *text, size_t size, const char *why) {
    stn_wisdom wisdom;
    cr_expect_eq(stn_wisdom_parse(text, size, &wisdom, &error), STN_ERROR_FORMAT, "%s", why);
    cr_expect_not_null(strstr(error.message, why), "\"%s\" has no \"%s\"", error.message, why);
    cr_expect(!wisdom.count && !wisdom.text && !wisdom.entry);
}

/* With a right checksum line. */
static void expect_body_refused(const char *body, const char *why) {
    stn_text text = STN_TEXT_EMPTY;
    stn_text_printf(&text, "%s", body);
    stn_wisdom_end(&text);
    expect_refused(text.data, text.size, why);
    stn_text_clear(&text);
}

Test(wisdom, detects_every_changed_byte) {
    stn_wisdom wisdom = wisdom_of_number(1, "candidate: direct 0.5 1 2\n");
    char *text = strdup(wisdom.text);
    const size_t size = strlen(text);
    stn_wisdom_clear(&wisdom);
    for (size_t at = 0; at < size; at++) {
        text[at] ^= 1;
        cr_expect_eq(stn_wisdom_parse(text, size, &wisdom, &error), STN_ERROR_FORMAT, "byte %zu", at);
        text[at] ^= 1;
    }
    for (size_t cut = 0; cut < size; cut++)
        cr_expect_eq(stn_wisdom_parse(text, cut, &wisdom, &error), STN_ERROR_FORMAT, "%zu bytes", cut);
    wisdom = parsed(text);
    cr_expect_eq(wisdom.count, 1u);
    stn_wisdom_clear(&wisdom);
    free(text);
}

Test(wisdom, invalid_texts_are_refused_with_a_reason) {
    char entry[300], body[400], cited[103];
    const stn_wisdom_key key = key_of(1, 1);
    stn_text line = STN_TEXT_EMPTY;
    stn_wisdom_put_key(&line, &key);
    snprintf(entry, sizeof entry, "%.*s", (int)line.size, line.data);
    stn_text_clear(&line);
    expect_refused("", 0, "no wisdom");
    expect_refused("stentor wisdom 1\nlibrary: x\n", 28, "of another format than 3");
    expect_body_refused("stentor wisdom 1\nlibrary: stentor 0.1.0, templates 00\n", "of another format than 3");
    expect_body_refused("stentor wisdom 3\nlibrary: x\n", "line 2 of the wisdom is no line of an entry");
    expect_body_refused("stentor wisdom 3\nentry: 12\n", "line 2 of the wisdom is no line of an entry");
    /* A long line is cited in part. */
    snprintf(body, sizeof body, "stentor wisdom 3\n%0101d\n", 0);
    snprintf(cited, sizeof cited, "\"%0100d\"", 0);
    expect_body_refused(body, cited);
    snprintf(body, sizeof body, "stentor wisdom 3\n%s\n", entry);
    expect_body_refused(body, "line 3 of the wisdom is no line of an entry");
    snprintf(body, sizeof body, "stentor wisdom 3\n%sproblem: \x1b[31m\n", entry);
    expect_body_refused(body, "no text of printable ASCII");
    snprintf(body, sizeof body, "stentor wisdom 3\n%sproblem: \xc2\x9b\n", entry);
    expect_body_refused(body, "no text of printable ASCII");
    entry[10] = 'A'; /* Digits are lower case, so that each key has one text. */
    snprintf(body, sizeof body, "stentor wisdom 3\n%s", entry);
    expect_body_refused(body, "line 2 of the wisdom is no line of an entry");
}

Test(wisdom, with_too_many_entries_is_refused) {
    stn_text text = STN_TEXT_EMPTY;
    stn_wisdom wisdom;
    stn_wisdom_begin(&text);
    for (unsigned i = 0; i < STN_WISDOM_ENTRIES; i++) put(&text, i);
    stn_text most = STN_TEXT_EMPTY;
    stn_text_append(&most, text.data, text.size);
    stn_wisdom_end(&most);
    OK(stn_wisdom_parse(most.data, most.size, &wisdom, &error));
    put(&text, STN_WISDOM_ENTRIES);
    stn_wisdom_end(&text);
    expect_refused(text.data, text.size, "more than 4096 entries");
    stn_wisdom other = wisdom_of_number(STN_WISDOM_ENTRIES, "");
    stn_text joined = STN_TEXT_EMPTY;
    cr_expect_eq(stn_wisdom_join(&wisdom, &other, &joined, NULL, &error), STN_ERROR_FORMAT,
                 "none is dropped in silence");
    stn_text_clear(&text), stn_text_clear(&most), stn_text_clear(&joined);
    stn_wisdom_clear(&wisdom), stn_wisdom_clear(&other);
}

Test(wisdom, entries_are_told_by_class_and_problem) {
    stn_text text = STN_TEXT_EMPTY;
    stn_wisdom wisdom;
    stn_wisdom_begin(&text);
    for (unsigned i = 0; i < 4; i++) {
        const stn_wisdom_key key = key_of(i / 2, i);
        stn_wisdom_put_key(&text, &key);
        stn_text_printf(&text, "problem: %u\n", i);
    }
    stn_wisdom_end(&text);
    OK(stn_wisdom_parse(text.data, text.size, &wisdom, &error));
    for (unsigned i = 0; i < 4; i++) {
        const stn_wisdom_key key = key_of(1, 3);
        const char *value;
        bool same_class;
        cr_expect_eq(stn_wisdom_is_of(wisdom.entry[i], &key, &same_class), i == 3);
        cr_expect_eq(same_class, i / 2 == 1);
        cr_expect_eq(stn_wisdom_line(wisdom.entry[i], wisdom.entry[i + 1], "problem: ", &value), 1u);
        cr_expect_eq((unsigned)(*value - '0'), i);
        cr_expect_eq(stn_wisdom_line(wisdom.entry[i], wisdom.entry[i + 1], "device: ", &value), 0u);
    }
    stn_text_clear(&text);
    stn_wisdom_clear(&wisdom);
}

/* ---- merging --------------------------------------------------------------------------------- */

static void expect_joined(const stn_wisdom *one, const stn_wisdom *two, const char *const *lines, size_t count,
                          size_t both) {
    stn_text text = STN_TEXT_EMPTY;
    size_t known;
    OK(stn_wisdom_join(one, two, &text, &known, &error));
    cr_expect_eq(known, both);
    stn_wisdom joined = parsed(text.data);
    size_t at = 0;
    for (const char *line = strchr(joined.text, '\n') + 1; strncmp(line, "sha256 ", 7) != 0;
         line = strchr(line, '\n') + 1) {
        if (!strncmp(line, "entry: ", 7)) continue;
        cr_assert_lt(at, count);
        cr_expect(!strncmp(line, lines[at], strlen(lines[at])) && line[strlen(lines[at])] == '\n', "%.60s is not %s",
                  line, lines[at]);
        at++;
    }
    cr_expect_eq(at, count);
    stn_wisdom_clear(&joined);
    stn_text_clear(&text);
}

Test(wisdom, merging_keeps_the_first_time_and_drops_nothing) {
    stn_wisdom one = wisdom_of_number(1, "candidate: direct 0.5 1 2\ncandidate: fft 1 3 4\n"),
               two = wisdom_of_number(
                   1,
                   "candidate: direct 0.25 1 2\ncandidate: direct 0.75 1 23\ncandidate: direc wrong 1 2\n"
                   "candidate: made later of another library\nmore: of a later version\n"),
               three = wisdom_of_number(3, "nobody: knows this\ncandidate: x\n"), none = {0};
    const char *const lines[] = {"problem: 1",
                                 "device: d",
                                 "candidate: direct 0.5 1 2",
                                 "candidate: fft 1 3 4",
                                 "candidate: direct 0.75 1 23",
                                 "candidate: direc wrong 1 2",
                                 "candidate: made later of another library"};
    expect_joined(&one, &two, lines, 7, 1);
    const char *const apart[] = {"problem: 3", "device: d", "nobody: knows this",        "candidate: x",
                                 "problem: 1", "device: d", "candidate: direct 0.5 1 2", "candidate: fft 1 3 4"};
    expect_joined(&three, &one, apart, 8, 0);
    expect_joined(&three, &none, apart, 4, 0);
    expect_joined(&none, &three, apart, 4, 0);
    expect_joined(&three, &three, apart, 4, 1);
    stn_wisdom_clear(&one), stn_wisdom_clear(&two), stn_wisdom_clear(&three);
}
