/* Statuses, error messages and the log callback. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/log.h"

Test(error, every_status_has_its_own_text_and_exit_code) {
    for (int a = STN_OK; a <= STN_ERROR_CANCELLED; a++) {
        cr_expect_str_neq(stn_status_string(a), "unknown status");
        for (int b = STN_OK; b < a; b++) {
            cr_expect_str_neq(stn_status_string(a), stn_status_string(b));
            cr_expect_neq(stn_status_exit_code(a), stn_status_exit_code(b));
        }
    }
    cr_expect_eq(stn_status_exit_code(STN_OK), 0);
    cr_expect_eq(stn_status_exit_code(STN_ERROR_INVALID_ARGUMENT), 2);
    cr_expect_str_eq(stn_status_string((stn_status)99), "unknown status");
    cr_expect_eq(stn_status_exit_code((stn_status)99), 11);
}

Test(error, a_message_is_formatted_and_its_status_returned) {
    stn_error error;
    cr_expect_eq(stn_fail(&error, STN_ERROR_IO, "%s is %d", "x", 7), STN_ERROR_IO);
    cr_expect_eq(error.status, STN_ERROR_IO);
    cr_expect_str_eq(error.message, "x is 7");
    cr_expect_eq(stn_fail(NULL, STN_ERROR_DRIVER, "nobody listens"), STN_ERROR_DRIVER);
}

Test(error, a_long_message_is_truncated_and_terminated) {
    char text[3000];
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    stn_error error;
    stn_fail(&error, STN_ERROR_COMPILE, "%s", text);
    cr_expect_eq(strlen(error.message), sizeof error.message - 1);
}

Test(error, a_message_may_quote_the_previous_one) {
    stn_error error;
    stn_fail(&error, STN_ERROR_IO, "inner");
    stn_fail(&error, STN_ERROR_FORMAT, "outer: %s", error.message);
    cr_expect_str_eq(error.message, "outer: inner");
}

Test(error, memory_names_what_and_how_much) {
    stn_error error;
    cr_expect_eq(stn_fail_memory(&error, "the table", 4096), STN_ERROR_OUT_OF_MEMORY);
    cr_expect(strstr(error.message, "the table") && strstr(error.message, "4096"), "%s", error.message);
}

static stn_status tried(stn_status inner) {
    STN_TRY(inner);
    return STN_ERROR_INTERNAL;
}

static int cleaned;
static stn_status tried_with_clean_up(stn_status inner) {
    stn_status status;
    STN_TRY_GOTO(status, inner, done);
    status = STN_ERROR_INTERNAL;
done:
    cleaned++;
    return status;
}

Test(error, try_passes_failures_on) {
    cr_expect_eq(tried(STN_ERROR_IO), STN_ERROR_IO);
    cr_expect_eq(tried(STN_OK), STN_ERROR_INTERNAL);
    cr_expect_eq(tried_with_clean_up(STN_ERROR_IO), STN_ERROR_IO);
    cr_expect_eq(tried_with_clean_up(STN_OK), STN_ERROR_INTERNAL);
    cr_expect_eq(cleaned, 2);
}

static char logged[8192];
static stn_log_level logged_level;
static void keep(void *user, stn_log_level level, const char *message) {
    ++*(int *)user;
    logged_level = level;
    snprintf(logged, sizeof logged, "%s", message);
}

Test(log, reaches_the_callback_and_only_it) {
    int calls = 0;
    stn_logger logger = {keep, &calls};
    stn_log(&logger, STN_LOG_WARNING, "%d of %s", 3, "them");
    cr_expect_eq(calls, 1);
    cr_expect_eq(logged_level, STN_LOG_WARNING);
    cr_expect_str_eq(logged, "3 of them");
    stn_log(&(stn_logger){NULL, &calls}, STN_LOG_ERROR, "silence");
    stn_log(NULL, STN_LOG_ERROR, "silence");
    cr_expect_eq(calls, 1);
}

Test(arith, overflow_is_noticed) {
    int64_t result = 0;
    cr_expect_not(stn_mul_overflows(INT64_MAX, 1, &result));
    cr_expect_eq(result, INT64_MAX);
    cr_expect(stn_mul_overflows(INT64_MAX / 2 + 1, 2, &result));
    cr_expect(stn_add_overflows(INT64_MAX, 1, &result));
    cr_expect_not(stn_add_overflows(INT64_MAX, -1, &result));
    cr_expect_eq(result, INT64_MAX - 1);
}

Test(arith, rounding_up) {
    cr_expect_eq(stn_div_up(0, 8), 0);
    cr_expect_eq(stn_div_up(8, 8), 1);
    cr_expect_eq(stn_div_up(9, 8), 2);
    cr_expect_eq(stn_round_up(17, 8), 24);
    cr_expect_eq(stn_min(-1, 2), -1);
    cr_expect_eq(stn_max(-1, 2), 2);
}

Test(version, is_the_projects) { cr_expect_str_eq(stn_version(), PROJECT_VERSION); }
