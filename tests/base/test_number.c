/* Formatting and parsing of doubles in any locale. */
#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

static bool parses(const char *text, double expected) {
    double value = -77;
    return stn_number_parse(text, strlen(text), &value) && value == expected;
}

static bool refuses(const char *text) {
    double value = -77;
    return !stn_number_parse(text, strlen(text), &value) && value == -77;
}

Test(number, parses_decimals) {
    cr_expect(parses("0", 0));
    cr_expect(parses("-0.5", -0.5));
    cr_expect(parses("+2.5e-3", 2.5e-3));
    cr_expect(parses(".25", 0.25));
    cr_expect(parses("1e308", 1e308));
    cr_expect(parses("1e-400", 0));
}

Test(number, refuses_everything_else) {
    const char *const bad[] = {"",   " 1",    "1 ",  "1x",       "0x10", "inf", "nan", "-inf", "NAN",  "1,5",
                               "1e", "1e999", "--1", "infinity", ".",    "e5",  "\n1", "1 2",  "1.2.3"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) cr_expect(refuses(bad[i]), "\"%s\"", bad[i]);
    char longest[65];
    memset(longest, '1', sizeof longest);
    longest[64] = '\0';
    cr_expect(refuses(longest));
    longest[63] = '\0';
    cr_expect_not(refuses(longest));
}

Test(number, reads_only_the_given_size) {
    double value = 0;
    cr_expect(stn_number_parse("1234", 2, &value));
    cr_expect_eq(value, 12);
}

static void formats(double value, const char *expected) {
    char digits[STN_NUMBER_SIZE];
    stn_number_format(value, digits);
    cr_expect_str_eq(digits, expected);
}

Test(number, formats_the_shortest_that_reads_back) {
    formats(0.1, "0.1");
    formats(1, "1");
    formats(-2.5, "-2.5");
    formats(1e300, "1e+300");
    formats(0.1 + 0.2, "0.30000000000000004");
    formats(1.0 / 3, "0.3333333333333333");
    formats(123456789, "123456789");
}

Test(number, formatted_doubles_come_back) {
    unsigned seed = 1;
    for (int i = 0; i < 20000; i++) {
        double value = ldexp((double)rand_r(&seed) * rand_r(&seed) + 1, rand_r(&seed) % 1900 - 950), back = 0;
        char digits[STN_NUMBER_SIZE];
        stn_number_format(-value, digits);
        cr_assert_lt(strlen(digits), sizeof digits);
        cr_assert(stn_number_parse(digits, strlen(digits), &back) && back == -value, "%s", digits);
    }
}

/* Skipped on machines without a locale that has a decimal comma. */
Test(number, the_locale_does_not_matter) {
    const char *const commas[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
    size_t i = 0;
    while (i < 4 && !setlocale(LC_ALL, commas[i])) i++;
    if (i == 4 || strcmp(localeconv()->decimal_point, ",") != 0) cr_skip("no locale with a decimal comma here");
    cr_expect(parses("0.5", 0.5));
    cr_expect(refuses("0,5"));
    formats(0.5, "0.5");
    cr_expect_str_eq(localeconv()->decimal_point, ",", "the caller's locale is back");
}
