/* A text builder with a sticky error: append without checks, then check once at the end. */
#ifndef STN_BASE_TEXT_H
#define STN_BASE_TEXT_H
#include <stdbool.h>

#include "stentor.h"

typedef struct stn_text {
    char *data; /* NULL while empty */
    size_t size, capacity;
    bool failed; /* an allocation failed; later appends do nothing */
} stn_text;
#define STN_TEXT_EMPTY                                                                                                 \
    { NULL, 0, 0, false }

void stn_text_append(stn_text *text, const char *bytes, size_t size);
__attribute__((format(printf, 2, 3))) void stn_text_printf(stn_text *text, const char *format, ...);

/* JSON. Call stn_json_comma before each member of an object or array: it writes a comma unless the
 * last character opens the object or array. */
void stn_json_comma(stn_text *text);
void stn_json_string(stn_text *text,
                     /* Quoted and escaped; bytes that are not UTF-8 become U+FFFD, NULL becomes
                      * null. */
                     const char *value);
/* The shortest form that reads back equal; null if not finite. */
void stn_json_number(stn_text *text, double value);
void stn_json_key(stn_text *text, const char *key); /* Writes a comma if needed, then "key": */
/* The same, and the bracket that opens its object or array. */
void stn_json_open(stn_text *text, const char *key, const char *bracket);
/* A key and its value: a string (NULL: null), a number, a truth value, an integer, or an array of
 * integers. */
void stn_json_text(stn_text *text, const char *key, const char *value);
void stn_json_value(stn_text *text, const char *key, double value);
void stn_json_flag(stn_text *text, const char *key, bool value);
void stn_json_integer(stn_text *text, const char *key, int64_t value);
void stn_json_integers(stn_text *text, const char *key, const int64_t *values, int count);

/* Hands over the text (an empty one gives ""), which the caller frees with stn_text_free. The
 * builder is empty afterwards. */
stn_status stn_text_take(stn_text *text, char **data, stn_error *error);
void stn_text_clear(stn_text *text);
#endif
