/* Keys: different lists of fields have different keys, the same list always the same. */
#include <criterion/criterion.h>
#include <string.h>

#include "helpers.h"

typedef struct field {
    const char *label, *text;
} field;

static stn_key key_of(const field *fields, size_t count) {
    stn_key_builder builder;
    stn_key key;
    stn_key_begin(&builder);
    for (size_t i = 0; i < count; i++) stn_key_add_text(&builder, fields[i].label, fields[i].text);
    stn_key_finish(&builder, &key);
    return key;
}
#define KEY(...) key_of((const field[]){__VA_ARGS__}, sizeof((const field[]){__VA_ARGS__}) / sizeof(field))

Test(key, fields_with_equal_concatenation_differ) {
    const stn_key keys[] = {
        KEY({"ab", "cd"}),   KEY({"a", "bcd"}),           KEY({"abc", "d"}),           KEY({"abcd", ""}),
        KEY({"", "abcd"}),   KEY({"ab", ""}, {"cd", ""}), KEY({"ab", "c"}, {"d", ""}), KEY({"ab", "c"}, {"", "d"}),
        KEY({"cd", "ab"}),   KEY({"ab", "cd"}, {"", ""}), KEY({"", ""}, {"ab", "cd"}), KEY({"", ""}),
        KEY({"ab", "cd\n"}),
    };
    const size_t count = sizeof keys / sizeof *keys;
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++) cr_expect(memcmp(&keys[i], &keys[j], sizeof *keys), "%zu and %zu", i, j);
}

Test(key, a_length_inside_a_field_does_not_collide) {
    /* The encoding of a second field, as part of the first field's value. */
    const unsigned char framed[] = {1, 0, 0, 0, 0, 0, 0, 0, 'b', 1, 0, 0, 0, 0, 0, 0, 0, 'y'};
    stn_key_builder builder;
    stn_key inside, two = KEY({"a", "x"}, {"b", "y"});
    unsigned char value[1 + sizeof framed] = "x";
    memcpy(value + 1, framed, sizeof framed);
    stn_key_begin(&builder);
    stn_key_add(&builder, "a", value, sizeof value);
    stn_key_finish(&builder, &inside);
    cr_assert(memcmp(&inside, &two, sizeof two));
}

Test(key, order_matters_and_repetition_gives_the_same) {
    stn_key one = KEY({"option", "-a"}, {"option", "-b"}), other = KEY({"option", "-b"}, {"option", "-a"});
    stn_key again = KEY({"option", "-a"}, {"option", "-b"});
    cr_assert(memcmp(&one, &other, sizeof one));
    cr_assert(!memcmp(&one, &again, sizeof one));
}

Test(key, is_the_documented_sha256) {
    /* SHA-256 of the encoding in FORMAT.md for this version, from another implementation:
     * tests/cache/key_vector.py. */
    char hex[65];
    stn_key key = KEY({"name", "value"});
    stn_key_hex(&key, hex);
    cr_assert_str_eq(hex, STN_TEST_KEY_VECTOR);
}

Test(key, hex_round_trips) {
    stn_key key = key_of_number(7), back;
    char hex[66];
    stn_key_hex(&key, hex);
    cr_assert_eq(strlen(hex), 64);
    cr_assert(stn_key_parse(hex, &back));
    cr_assert(!memcmp(&key, &back, sizeof key));
    hex[63] = 'g';
    cr_assert_not(stn_key_parse(hex, &back));
    hex[63] = '\0';
    cr_assert_not(stn_key_parse(hex, &back));
    strcpy(hex + 60, "00000");
    cr_assert_not(stn_key_parse(hex, &back));
    cr_assert_not(stn_key_parse("", &back));
}
