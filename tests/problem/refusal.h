/* Checks an expected error: the status of invalid input, and one sentence that contains the words
 * that name the culprit. */
#ifndef STN_TESTS_PROBLEM_REFUSAL_H
#define STN_TESTS_PROBLEM_REFUSAL_H
#include <criterion/criterion.h>
#include <string.h>

#include "stentor.h"

static inline void expect_refusal(stn_status status, const stn_error *error, const char *first, const char *second) {
    cr_assert_eq(status, STN_ERROR_INVALID_ARGUMENT, "\"%s ... %s\" is accepted", first, second);
    cr_expect_eq(error->status, status);
    cr_expect(strstr(error->message, first), "\"%s\" is not in: %s", first, error->message);
    cr_expect(strstr(error->message, second), "\"%s\" is not in: %s", second, error->message);
    cr_expect_null(strchr(error->message, '\n'));
    cr_expect_gt(strlen(error->message), 25u);
}
#endif
