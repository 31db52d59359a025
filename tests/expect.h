/* For tests by Criterion: calls of the library that must succeed or fail, contexts and stencils. */
#ifndef STN_TESTS_EXPECT_H
#define STN_TESTS_EXPECT_H
#include <criterion/criterion.h>
#include <string.h>

#include "stentor.h"

static stn_error error;
#define OK(call) cr_assert_eq((call), STN_OK, "%s", error.message)
#define FAILS(call, status, words)                                                                                     \
    do {                                                                                                               \
        cr_assert_eq((call), (status), "another status: %s", error.message);                                           \
        cr_assert_not_null(strstr(error.message, (words)), "'%s' lacks '%s'", error.message, (words));                 \
    } while (0)
/* The call fails because of an invalid argument. */
#define REFUSED(call, words) FAILS(call, STN_ERROR_INVALID_ARGUMENT, words)

/* A context that stores nothing on disk; the test is skipped if there is no such device. */
static inline stn_context *context_on(int device) {
    const stn_context_options options = {.device = device, .cache_dir = ":memory:"};
    stn_context *context = NULL;
    const stn_status status = stn_context_create(&options, &context, &error);
    if (status == STN_ERROR_NO_DEVICE) cr_skip_test("no GPU: %s", error.message);
    cr_assert_eq(status, STN_OK, "%s", error.message);
    return context;
}

/* A context of an H200 that need not be there, for estimates. */
static inline stn_context *context_of_h200(void) {
    const stn_context_options options = {.arch = "sm_90", .cache_dir = ":memory:", .threads = 1};
    stn_context *context = NULL;
    OK(stn_context_create(&options, &context, &error));
    return context;
}

static inline stn_stencil *stencil_of(const char *spec) {
    stn_stencil *stencil = NULL;
    OK(stn_stencil_parse(spec, &stencil, &error));
    return stencil;
}

static inline stn_plan *new_plan(stn_context *context, const stn_problem *problem, const stn_plan_options *options) {
    stn_plan *plan = NULL;
    OK(stn_plan_create(context, problem, options, &plan, &error));
    return plan;
}

/* The plan's description has these words. */
static inline void expect_described(const stn_plan *plan, stn_format format, const char *words) {
    char *text = NULL;
    OK(stn_plan_describe(plan, format, &text, &error));
    cr_expect_not_null(strstr(text, words), "%s\n has no %s", text, words);
    stn_text_free(text);
}

/* Memory of a context with these bytes. */
static inline void *uploaded(stn_context *context, const void *data, size_t bytes) {
    void *memory = NULL;
    OK(stn_memory_alloc(context, bytes, &memory, &error));
    OK(stn_memory_upload(context, memory, data, bytes, &error));
    return memory;
}
#endif
