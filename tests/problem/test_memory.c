/* Every allocation fails once: the call returns a status, its outputs are NULL or empty, and
 * nothing leaks (checked in the sanitizer build). The linker redirects the library's allocations to
 * this file. */
#include <math.h>
#include <stdlib.h>

#include "problem/stencil.h"
#include "problem/task.h"
#include "refusal.h"

static int left = -1; /* allocations until one fails; negative: none fails */

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_malloc(size_t size) { return left >= 0 && left-- == 0 ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) { return left >= 0 && left-- == 0 ? NULL : __real_calloc(count, size); }

static void expect_memory(stn_status status, const stn_error *error) {
    cr_assert_eq(status, STN_ERROR_OUT_OF_MEMORY);
    cr_expect_eq(error->status, status);
    cr_expect(strstr(error->message, "memory") && strstr(error->message, "bytes"), "%s", error->message);
}

Test(memory, stencils) {
    const char *const specs[] = {"heat-3d", "box-2d49p"};
    for (int i = 0; i < 2; i++) {
        int failures = 0;
        for (;; failures++) {
            stn_error error = {STN_OK, ""};
            stn_stencil *stencil = (stn_stencil *)&error;
            left = failures;
            stn_status status = stn_stencil_parse(specs[i], &stencil, &error);
            bool failed = left < 0;
            left = -1;
            if (!failed) {
                cr_expect_eq(status, STN_OK);
                stn_stencil_destroy(stencil);
                break;
            }
            expect_memory(status, &error);
            cr_expect_null(stencil);
        }
        cr_expect_geq(failures, 3);
    }
}

Test(memory, dense_stencils) {
    const double weights[3] = {1, 2, 3};
    int failures = 0;
    for (bool failed = true; failed; failures += failed) {
        stn_error error = {STN_OK, ""};
        stn_stencil *stencil = NULL;
        left = failures;
        stn_status status = stn_stencil_create_dense(1, (size_t[]){3}, weights, &stencil, &error);
        failed = left < 0;
        left = -1;
        if (failed) expect_memory(status, &error);
        cr_expect_eq(stencil == NULL, failed);
        stn_stencil_destroy(stencil);
    }
    cr_expect_eq(failures, 4);
}

Test(memory, tasks) {
    stn_error error = {STN_OK, ""};
    stn_problem problem = {.extent = {5, 5}};
    stn_stencil *stencil = NULL;
    stn_task task;
    cr_assert_eq(stn_stencil_parse("heat-2d", &stencil, NULL), STN_OK);
    problem.stencil = stencil;
    left = 0;
    expect_memory(stn_task_make(&problem, &task, &error), &error);
    cr_expect_null(task.taps);
    stn_stencil_destroy(stencil);
}

/* Without memory for the search the result is the upper bound, the sum of |weights|. */
Test(memory, symbol) {
    const stn_tap taps[] = {{{-1}, 0.4}, {{0}, 1}, {{1}, -0.4}};
    left = 0;
    double bound = stn_taps_max_symbol(3, taps);
    left = -1;
    cr_expect_float_eq(bound, 1.8, 1e-15);
    cr_expect_float_eq(stn_taps_max_symbol(3, taps), sqrt(1.64), 1e-7);
}
