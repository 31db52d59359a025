/* The text builder and its JSON output. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static void gives(stn_text *text, const char *expected) {
    char *data = NULL;
    cr_assert_eq(stn_text_take(text, &data, NULL), STN_OK);
    cr_expect_str_eq(data, expected);
    stn_text_free(data);
    cr_expect(!text->data && !text->size && !text->capacity && !text->failed, "the builder is empty afterwards");
}

Test(text, grows_and_stays_terminated) {
    stn_text text = STN_TEXT_EMPTY;
    for (int i = 0; i < 3000; i++) {
        stn_text_printf(&text, "%d,", i % 10);
        cr_assert_eq(text.data[text.size], '\0');
        cr_assert_leq(text.size + 1, text.capacity);
    }
    cr_expect_eq(text.size, 6000u);
    cr_expect_eq(memcmp(text.data + 5990, "5,6,7,8,9,", 10), 0);
    stn_text_clear(&text);
    cr_expect_null(text.data);
}

Test(text, an_empty_text_is_an_empty_string) {
    stn_text text = STN_TEXT_EMPTY;
    gives(&text, "");
    stn_text_append(&text, "abc", 2);
    gives(&text, "ab");
    stn_text_free(NULL);
}

Test(text, a_piece_longer_than_the_first_block) {
    stn_text text = STN_TEXT_EMPTY;
    stn_text_printf(&text, "%500d|", 7);
    cr_expect_eq(text.size, 501u);
    cr_expect_eq(text.data[499], '7');
    stn_text_clear(&text);
}

Test(text, a_failure_sticks_until_taken) {
    stn_text text = STN_TEXT_EMPTY;
    stn_error error = {STN_OK, ""};
    char *data = NULL;
    stn_text_append(&text, "abc", 3);
    stn_text_append(&text, "", SIZE_MAX - 2);
    cr_expect(text.failed);
    stn_text_printf(&text, "more");
    cr_expect_eq(text.size, 3u, "nothing is added after a failure");
    cr_expect_eq(stn_text_take(&text, &data, &error), STN_ERROR_OUT_OF_MEMORY);
    cr_expect_eq(error.status, STN_ERROR_OUT_OF_MEMORY);
    cr_expect_null(data);
    stn_text_append(&text, "ok", 2);
    gives(&text, "ok");
}

static void quotes(const char *value, const char *expected) {
    stn_text text = STN_TEXT_EMPTY;
    stn_json_string(&text, value);
    gives(&text, expected);
}

Test(json, strings_are_quoted_and_escaped) {
    quotes("plain", "\"plain\"");
    quotes("", "\"\"");
    quotes(NULL, "null");
    quotes("a\"b\\c", "\"a\\\"b\\\\c\"");
    quotes("tab\tline\n\x01", "\"tab\\u0009line\\u000a\\u0001\"");
    quotes("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8e\x89", "\"gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x8e\x89\"");
}

Test(json, bytes_that_are_not_utf8_are_replaced) {
    quotes(
        "a\xff"
        "b",
        "\"a\\ufffdb\"");
    quotes("\x80", "\"\\ufffd\"");
    quotes("\xc3", "\"\\ufffd\""); /* truncated at the end */
    quotes("\xe2\x82", "\"\\ufffd\\ufffd\"");
    quotes("\xc0\xaf", "\"\\ufffd\\ufffd\"");                         /* overlong */
    quotes("\xe0\x80\xaf", "\"\\ufffd\\ufffd\\ufffd\"");              /* overlong */
    quotes("\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"");              /* a surrogate */
    quotes("\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");   /* past U+10FFFF */
    quotes("\xf0\x80\x80\x80|", "\"\\ufffd\\ufffd\\ufffd\\ufffd|\""); /* overlong */
}

static void writes(double value, const char *expected) {
    stn_text text = STN_TEXT_EMPTY;
    stn_json_number(&text, value);
    gives(&text, expected);
}

Test(json, numbers_read_back_equal_and_are_short) {
    writes(0.1, "0.1");
    writes(3, "3");
    writes(1e22, "1e+22");
    writes(0.1 + 0.2, "0.30000000000000004");
    writes(NAN, "null");
    writes(-INFINITY, "null");
}

Test(json, commas_go_between_members) {
    stn_text text = STN_TEXT_EMPTY;
    stn_text_append(&text, "{", 1);
    stn_json_key(&text, "a");
    stn_json_number(&text, 1);
    stn_json_key(&text, "b");
    stn_text_append(&text, "[", 1);
    for (int i = 0; i < 3; i++) {
        stn_json_comma(&text);
        stn_json_number(&text, i);
    }
    stn_text_append(&text, "]", 1);
    stn_json_key(&text, "c{");
    stn_json_string(&text, "{");
    stn_json_key(&text, "d");
    stn_text_append(&text, "{}}", 3);
    gives(&text, "{\"a\":1,\"b\":[0,1,2],\"c{\":\"{\",\"d\":{}}");
}
