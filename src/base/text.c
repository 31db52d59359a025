/* See text.h: the text builder, and JSON output. */
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"

static bool reserve(stn_text *text, size_t more) {
    if (text->failed) return false;
    if (more >= SIZE_MAX - text->size - 1) return !(text->failed = true);
    size_t need = text->size + more + 1;
    if (need <= text->capacity) return true;
    size_t capacity = need < 256 ? 256 : need + need / 2;
    char *resized = capacity > need ? realloc(text->data, capacity) : NULL;
    if (!resized) return !(text->failed = true);
    text->data = resized;
    text->capacity = capacity;
    return true;
}

void stn_text_append(stn_text *text, const char *bytes, size_t size) {
    if (!reserve(text, size)) return;
    if (size) memcpy(text->data + text->size, bytes, size);
    text->size += size;
    text->data[text->size] = '\0';
}

void stn_text_printf(stn_text *text, const char *format, ...) {
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    const size_t room = text->failed ? 0 : text->capacity - text->size;
    int size = vsnprintf(room ? text->data + text->size : NULL, room, format, arguments);
    va_end(arguments);
    if (size < 0)
        text->failed = true;
    else if ((size_t)size < room || (reserve(text, (size_t)size) &&
                                     vsnprintf(text->data + text->size, (size_t)size + 1, format, again) == size))
        text->size += (size_t)size;
    va_end(again);
}

void stn_json_comma(stn_text *text) {
    if (!text->size) return;
    char last = text->data[text->size - 1];
    if (last != '{' && last != '[' && last != ',' && last != ':') stn_text_append(text, ",", 1);
}

/* Bytes of the well-formed UTF-8 character at p. Returns 0 for a misplaced continuation byte, an
 * overlong form, a surrogate, or a code point past U+10FFFF. */
static size_t utf8_size(const unsigned char *p) {
    if (p[0] < 0x80) return 1;
    size_t size = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4) return 0;
    for (size_t i = 1; i < size; i++)
        if ((p[i] & 0xc0) != 0x80) return 0;
    if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f)) return 0;
    if ((p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] > 0x8f)) return 0;
    return size;
}

void stn_json_string(stn_text *text, const char *value) {
    if (!value) {
        stn_text_append(text, "null", 4);
        return;
    }
    stn_text_append(text, "\"", 1);
    for (const char *p = value; *p;) {
        unsigned char c = (unsigned char)*p;
        size_t size = utf8_size((const unsigned char *)p);
        if (c == '"' || c == '\\')
            stn_text_printf(text, "\\%c", c);
        else if (c < 0x20 || c == 0x7f)
            stn_text_printf(text, "\\u%04x", c);
        /* U+0080 to U+009F are control characters */
        else if (c == 0xc2 && size == 2 && (unsigned char)p[1] < 0xa0)
            stn_text_printf(text, "\\u%04x", (unsigned char)p[1]);
        else if (!size) /* file names need not be valid UTF-8, JSON must */
            stn_text_append(text, "\\ufffd", 6);
        else
            stn_text_append(text, p, size);
        p += size ? size : 1;
    }
    stn_text_append(text, "\"", 1);
}

void stn_json_number(stn_text *text, double value) {
    if (!isfinite(value)) {
        stn_text_append(text, "null", 4);
        return;
    }
    char digits[STN_NUMBER_SIZE];
    stn_number_format(value, digits);
    stn_text_append(text, digits, strlen(digits));
}

void stn_json_key(stn_text *text, const char *key) {
    stn_json_comma(text);
    stn_json_string(text, key);
    stn_text_append(text, ":", 1);
}

void stn_json_open(stn_text *text, const char *key, const char *bracket) {
    stn_json_key(text, key);
    stn_text_append(text, bracket, 1);
}

void stn_json_text(stn_text *text, const char *key, const char *value) {
    stn_json_key(text, key);
    stn_json_string(text, value);
}

void stn_json_value(stn_text *text, const char *key, double value) {
    stn_json_key(text, key);
    stn_json_number(text, value);
}

void stn_json_flag(stn_text *text, const char *key, bool value) {
    stn_json_key(text, key);
    stn_text_printf(text, value ? "true" : "false");
}

void stn_json_integer(stn_text *text, const char *key, int64_t value) {
    stn_json_key(text, key);
    stn_text_printf(text, "%" PRId64, value);
}

void stn_json_integers(stn_text *text, const char *key, const int64_t *values, int count) {
    stn_json_key(text, key);
    stn_text_append(text, "[", 1);
    for (int i = 0; i < count; i++) stn_text_printf(text, "%s%" PRId64, i ? "," : "", values[i]);
    stn_text_append(text, "]", 1);
}

stn_status stn_text_take(stn_text *text, char **data, stn_error *error) {
    if (!text->size && !text->failed) stn_text_append(text, "", 0);
    if (text->failed) {
        stn_text_clear(text);
        return stn_fail(error, STN_ERROR_OUT_OF_MEMORY, "there is no memory left for a text");
    }
    *data = text->data;
    *text = (stn_text)STN_TEXT_EMPTY;
    return STN_OK;
}

void stn_text_clear(stn_text *text) {
    free(text->data);
    *text = (stn_text)STN_TEXT_EMPTY;
}

void stn_text_free(char *text) { free(text); }
