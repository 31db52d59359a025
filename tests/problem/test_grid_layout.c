/* Canonicalisation of strides: defaults, errors, and that no accepted layout has two points at one
 * element. */
#include <stdint.h>
#include <stdlib.h>

#include "problem/task.h"
#include "refusal.h"

static stn_stencil *identity;

static void make_identity(void) { cr_assert_eq(stn_stencil_create(3, 1, &(stn_tap){{0}, 1}, &identity, NULL), STN_OK); }
static void destroy_identity(void) { stn_stencil_destroy(identity); }
TestSuite(layout, .init = make_identity, .fini = destroy_identity);

static stn_problem strided(size_t n0, size_t n1, size_t n2, ptrdiff_t s0, ptrdiff_t s1, ptrdiff_t s2, size_t batch,
                           ptrdiff_t between) {
    stn_problem problem = {.stencil = identity, .extent = {n0, n1, n2}, .in_stride = {s0, s1, s2}};
    problem.batch = batch;
    problem.in_batch_stride = between;
    return problem;
}

static void expect_strides(stn_problem problem, int64_t s0, int64_t s1, int64_t s2, int64_t between, int64_t span) {
    for (int output = 0; output < 2; output++) {
        if (output) { /* the same strides for the output */
            memcpy(problem.out_stride, problem.in_stride, sizeof problem.in_stride);
            memset(problem.in_stride, 0, sizeof problem.in_stride);
            problem.out_batch_stride = problem.in_batch_stride;
            problem.in_batch_stride = 0;
        }
        stn_error error = {STN_OK, ""};
        stn_task task;
        cr_assert_eq(stn_task_make(&problem, &task, &error), STN_OK, "%s", error.message);
        const int64_t *stride = output ? task.out_stride : task.in_stride;
        cr_expect(stride[0] == s0 && stride[1] == s1 && stride[2] == s2, "%d %d %d", (int)stride[0], (int)stride[1],
                  (int)stride[2]);
        cr_expect_eq(output ? task.out_batch_stride : task.in_batch_stride, between);
        cr_expect_eq(stn_task_span(&task, output), span);
        cr_expect_eq(stn_task_span(&task, !output), stn_task_points(&task), "the other side is dense");
        stn_task_clear(&task);
    }
}

Test(layout, canonical_strides) {
    expect_strides(strided(4, 5, 6, 0, 0, 0, 0, 0), 30, 6, 1, 120, 120);
    expect_strides(strided(4, 5, 6, 0, 0, 0, 3, 0), 30, 6, 1, 120, 360);
    expect_strides(strided(4, 5, 6, 0, 0, 0, 3, 128), 30, 6, 1, 128, 376);
    /* padding is kept */
    expect_strides(strided(4, 5, 6, 40, 8, 1, 2, 0), 40, 8, 1, 160, 160 + 3 * 40 + 4 * 8 + 6);
    expect_strides(strided(4, 5, 6, 1, 4, 20, 0, 0), 1, 4, 20, 120, 120); /* Fortran order */
    expect_strides(strided(4, 5, 6, 60, 12, 2, 2, 1), 60, 12, 2, 1, 240); /* batches interleaved */
    /* one point: the stride is ignored */
    expect_strides(strided(1, 5, 6, 77, 6, 1, 1, 5), 30, 6, 1, 30, 30);
    expect_strides(strided(1, 1, 1, 0, 0, 9, 0, 0), 1, 1, 1, 1, 1);
    expect_strides(strided(4, 5, 1, 5, 1, 0, 0, 0), 5, 1, 1, 20, 20);
    expect_strides(strided(1, 1, 3, PTRDIFF_MAX, PTRDIFF_MAX, 1, 0, 0), 3, 3, 1, 3, 3);
}

static void refused(stn_problem problem, const char *first, const char *second) {
    stn_error error;
    stn_task task;
    expect_refusal(stn_task_make(&problem, &task, &error), &error, first, second);
}

Test(layout, bad_strides_are_refused_by_name) {
    refused(strided(4, 5, 6, -30, 6, 1, 0, 0), "in_stride[0] is -30", "positive");
    refused(strided(4, 5, 6, PTRDIFF_MIN, 6, 1, 0, 0), "in_stride[0]", "positive");
    refused(strided(4, 5, 6, 30, 0, 1, 0, 0), "in_stride[1] is 0", "all strides");
    refused(strided(4, 5, 6, 30, 5, 1, 0, 0), "in_stride[1] is 5", "cover 6 elements");
    refused(strided(4, 5, 6, 29, 6, 1, 0, 0), "in_stride[0] is 29", "overlap");
    refused(strided(4, 5, 6, 1, 1, 1, 0, 0), "in_stride[1] is 1", "overlap");
    refused(strided(4, 5, 6, 0, 0, 0, 2, 119), "in_batch_stride is 119", "covers 120 elements");
    refused(strided(4, 5, 6, 0, 0, 0, 2, -120), "in_batch_stride is -120", "positive");
    refused(strided(2, 5, 6, PTRDIFF_MAX, 6, 1, 0, 0), "63 bits", "strides");
    refused(strided(2, 5, 6, PTRDIFF_MAX / 8, 6, 1, 0, 0), "63 bits", "strides");
    refused(strided(1, 1, 2, 0, 0, PTRDIFF_MAX, 0, 0), "63 bits", "strides");
    refused(strided(4, 5, 6, 0, 0, 0, 3, PTRDIFF_MAX / 2), "63 bits", "batch");
    stn_problem problem = strided(4, 5, 6, 0, 0, 0, 0, 0);
    problem.out_stride[0] = 2;
    refused(problem, "out_stride[1] is 0", "all strides");
    problem = strided(4, 5, 6, 0, 0, 0, 2, 0);
    problem.out_batch_stride = 7;
    refused(problem, "out_batch_stride is 7", "overlap");
}

Test(layout, axes_are_named_as_the_caller_counts_them) {
    stn_stencil *line = NULL;
    cr_assert_eq(stn_stencil_create(1, 1, &(stn_tap){{0}, 1}, &line, NULL), STN_OK);
    stn_problem problem = {.stencil = line, .extent = {5}, .in_stride = {-2}};
    refused(problem, "in_stride[0] is -2", "positive");
    problem = (stn_problem){.stencil = line, .extent = {5}, .in_stride = {2}, .batch = 2, .in_batch_stride = 8};
    refused(problem, "in_batch_stride is 8", "covers 9");
    problem.in_batch_stride = 1;
    stn_task task;
    cr_expect_eq(stn_task_make(&problem, &task, NULL), STN_OK);
    stn_task_clear(&task);
    stn_stencil_destroy(line);
}

Test(layout, in_place_needs_one_layout) {
    stn_problem problem = strided(4, 5, 6, 40, 8, 1, 2, 0);
    problem.in_place = 1;
    refused(problem, "in place", "strides differ");
    memcpy(problem.out_stride, problem.in_stride, sizeof problem.in_stride);
    stn_task task;
    cr_expect_eq(stn_task_make(&problem, &task, NULL), STN_OK);
    stn_task_clear(&task);
    problem.out_batch_stride = 200;
    refused(problem, "in place", "strides differ");
    /* dense, given explicitly for one side and by default for the other */
    problem = strided(4, 5, 6, 30, 6, 1, 0, 0);
    problem.in_place = 1;
    cr_expect_eq(stn_task_make(&problem, &task, NULL), STN_OK);
    stn_task_clear(&task);
}

/* Marks every element of a small layout; false if one is marked twice. */
static bool distinct(const stn_problem *p) {
    char seen[4096] = {0};
    size_t batch = p->batch;
    for (size_t b = 0; b < batch; b++)
        for (size_t i = 0; i < p->extent[0]; i++)
            for (size_t j = 0; j < p->extent[1]; j++)
                for (size_t k = 0; k < p->extent[2]; k++) {
                    size_t at = b * (size_t)p->in_batch_stride + i * (size_t)p->in_stride[0] +
                                j * (size_t)p->in_stride[1] + k * (size_t)p->in_stride[2];
                    if (seen[at]++) return false;
                }
    return true;
}

Test(layout, random_layouts_that_overlap_are_refused) {
    unsigned seed = 11, accepted = 0, overlapping = 0;
    for (int round = 0; round < 30000; round++) {
        stn_problem problem = strided(1 + (size_t)rand_r(&seed) % 4, 1 + (size_t)rand_r(&seed) % 4,
                                      1 + (size_t)rand_r(&seed) % 4, 1 + rand_r(&seed) % 40, 1 + rand_r(&seed) % 20,
                                      1 + rand_r(&seed) % 10, 1 + (size_t)rand_r(&seed) % 3, 1 + rand_r(&seed) % 90);
        stn_task task;
        bool fine = distinct(&problem), taken = stn_task_make(&problem, &task, NULL) == STN_OK;
        cr_assert(fine || !taken, "round %d overlaps and is accepted", round);
        accepted += taken;
        overlapping += !fine;
        if (taken) stn_task_clear(&task);
    }
    cr_expect_gt(accepted, 1000u);
    cr_expect_gt(overlapping, 1000u);
}
