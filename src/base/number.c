/* Parsing and formatting of doubles in the C locale, whatever locale the program has set. */
#include "base/number.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The calling thread uses the C locale until leave_c_locale; other threads are not affected. */
typedef struct c_locale {
    locale_t c, before;
} c_locale;

static c_locale enter_c_locale(void) {
    c_locale locale = {newlocale(LC_ALL_MASK, "C", (locale_t)0), (locale_t)0};
    if (locale.c) locale.before = uselocale(locale.c);
    return locale;
}

static void leave_c_locale(c_locale locale) {
    if (!locale.c) return;
    uselocale(locale.before);
    freelocale(locale.c);
}

bool stn_number_parse(const char *text, size_t size, double *value) {
    char digits[64], *end;
    if (!size || size >= sizeof digits) return false;
    memcpy(digits, text, size);
    digits[size] = '\0';
    if (strspn(digits, "+-.0123456789eE") != size) return false;
    c_locale locale = enter_c_locale();
    double parsed = strtod(digits, &end);
    leave_c_locale(locale);
    if (end != digits + size || !isfinite(parsed)) return false;
    *value = parsed;
    return true;
}

void stn_number_format(double value, char digits[STN_NUMBER_SIZE]) {
    c_locale locale = enter_c_locale();
    for (int precision = 6; precision <= 17; precision++) {
        snprintf(digits, STN_NUMBER_SIZE, "%.*g", precision, value);
        if (strtod(digits, NULL) == value) break;
    }
    leave_c_locale(locale);
}
