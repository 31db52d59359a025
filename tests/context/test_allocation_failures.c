/* Each allocation on the way to a kernel, and to a description, fails once: the result is a status
 * and a message, no device or module is left open, and nothing leaks (the sanitizer build checks
 * that). Linked so that the library's allocations go through this file. */
#include <stdlib.h>

#include "../expect.h"
#include "base/error.h"
#include "context/compile_batch.h"
#include "context/context.h"
#include "context/kernel.h"
#include "stand_ins.h"

static int left = -1; /* allocations until one fails; below 0: none fails */
static bool refuse(void) { return left >= 0 && left-- == 0; }

#define WRAP(type, name, arguments, values)                                                                            \
    type __real_##name arguments;                                                                                      \
    type __wrap_##name arguments;                                                                                      \
    type __wrap_##name arguments { return refuse() ? NULL : __real_##name values; }
WRAP(void *, malloc, (size_t size), (size))
WRAP(void *, calloc, (size_t count, size_t size), (count, size))
WRAP(void *, realloc, (void *old, size_t size), (old, size))
WRAP(char *, strdup, (const char *text), (text))

TestSuite(want, .init = stand_ins_start, .fini = stand_ins_end);

static stn_status all_the_way(stn_error *error) {
    stn_context *context;
    stn_kernel_set set = {0};
    stn_kernel *kernel;
    char *text = NULL;
    STN_TRY(stn_context_create(&(stn_context_options){.device = STN_DEVICE_CUDA(0)}, &context, error));
    set.context = context;
    stn_status status = stn_kernel_get(&set, "direct_tile", "#pragma once\nint x;\n", &kernel, error);
    if (status == STN_OK) status = stn_kernel_get(&set, "direct_tile", "#pragma once\nint y;\n", &kernel, error);
    if (status == STN_OK) status = stn_context_describe(context, STN_JSON, &text, error);
    stn_text_free(text);
    stn_kernel_set_clear(&set);
    stn_context_destroy(context);
    return status;
}

/* Returns how many allocations could fail; each failure is either reported or, in the cache, has no
 * effect on the result. */
static int fail_each(void) {
    for (int failures = 0;; failures++) {
        left = failures;
        stn_status status = all_the_way(&error);
        bool failed = left < 0;
        left = -1;
        cr_expect_eq(fake->retained, 0, "allocation %d left the device open", failures);
        cr_expect_eq(fake->modules, 0, "allocation %d left a module loaded", failures);
        if (!failed) {
            cr_expect_eq(status, STN_OK, "%s", error.message);
            return failures;
        }
        cr_expect(status == STN_OK || status == STN_ERROR_OUT_OF_MEMORY, "allocation %d: %s: %s", failures,
                  stn_status_string(status), error.message);
        cr_expect(status == STN_OK || *error.message, "allocation %d: no sentence", failures);
    }
}
Test(want, of_memory_with_a_cold_cache) {
    setenv("STENTOR_CACHE_DIR", ":memory:", 1);
    cr_expect_gt(fail_each(), 30);
}
Test(want, of_memory_with_a_warm_cache) {
    OK(all_the_way(&error));
    cr_expect_gt(fail_each(), 30);
}

Test(want, of_memory_for_the_list_of_a_batch) {
    stn_context *context;
    stn_kernel *kernel;
    OK(stn_context_create(&(stn_context_options){.device = STN_DEVICE_CUDA(0)}, &context, &error));
    stn_compile_batch *batch = stn_compile_batch_create(context);
    stn_kernel_set set = {.context = context, .batch = batch};
    OK(stn_kernel_get(&set, "direct_tile", "#pragma once\nint x;\n", &kernel, &error));
    left = 0;
    cr_expect_eq(stn_compile_batch_try(batch, &error), STN_ERROR_OUT_OF_MEMORY, "%s", error.message);
    cr_expect_eq(stand_ins_compiles(), 0);
    stn_compile_batch_free(batch);
    stn_context_destroy(context);
}
