/* Shapes of sparse's kernels: rows of taps, and work counted for a point. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "strategies/sparse/sparse_cost_model.h"
#include "strategies/sparse/sparse_search.h"

static const stn_machine machine = {.is_device = true,
                                    .sm = 90,
                                    .multiprocessors = 132,
                                    .shared_per_block = 232448,
                                    .clock = 1.755e9,
                                    .copy_bandwidth = 4.2e12,
                                    .flops = {28e12, 60e12, 66e12, 313e12, 630e12},
                                    .launch_seconds = 2e-6};

static void make_task(const char *name, const size_t extent[3], stn_dtype dtype, stn_task *task) {
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = NULL;
    cr_assert_eq(stn_stencil_parse(name, &stencil, NULL), STN_OK);
    p.stencil = stencil, p.steps = 10, p.dtype = dtype, p.tolerance = 1e-3;
    for (int axis = 0; axis < 3 && extent[axis]; axis++) p.extent[axis] = extent[axis];
    cr_assert_eq(stn_task_make(&p, task, NULL), STN_OK);
    stn_stencil_destroy(stencil);
}

/* Our figures for table 1 of the paper: a box of radius 3, one step. */
Test(sparse_shape, counts_of_a_box) {
    stn_task task;
    sparse_shape shape;
    make_task("box-2d49p", (size_t[3]){4096, 4096, 0}, STN_F16, &task);
    cr_assert(sparse_fit(&task, &machine, 1, 0, 1, &shape));
    sparse_counts counts = sparse_count(&task, &shape);
    cr_expect_eq(counts.compute, 112); /* 7 rows, 16 nonzeros of 32 */
    /* 14 windows of 8 rows for 7 rows of taps and 8 of outputs. */
    cr_expect_eq(counts.input, 3.5);
    cr_expect_eq(counts.parameters, 1.75);
    stn_task_clear(&task);
}

/* Planes of fused 3D stars are diamonds: rows without taps are not multiplied. */
Test(sparse_shape, rows_of_a_star) {
    stn_task task;
    sparse_rows rows;
    make_task("heat-3d", (size_t[3]){64, 64, 64}, STN_F16, &task);
    cr_assert(sparse_rows_of(&task, 2, &rows));
    const int count[5] = {1, 3, 5, 3, 1};
    cr_assert_eq(rows.planes, 5);
    for (int d = 0; d < 5; d++) {
        cr_expect_eq(rows.count[d], count[d]);
        cr_expect_eq(rows.first[d], 2 - count[d] / 2);
    }
    cr_expect_eq(rows.all, 13);
    stn_task_clear(&task);
}

/* Candidates fit the machine, have a cost and a predicted error; the cheapest comes first. */
Test(sparse_shape, candidates_fit) {
    static const char *const names[] = {"heat-1d", "heat-2d", "gaussian-2d:sigma=1,truncate=3", "box-3d27p"};
    for (int i = 0; i < 4; i++)
        for (int dtype = STN_F32; dtype <= STN_F16; dtype++) {
            stn_task task;
            sparse_shape best[STN_CANDIDATES];
            const size_t extent[3] = {i ? 512 : 100000, i ? 512 : 0, i == 3 ? 512 : 0};
            make_task(names[i], extent, (stn_dtype)dtype, &task);
            size_t count = sparse_search(&task, &machine, INT32_MAX, best, STN_CANDIDATES);
            double last = 0;
            cr_assert_gt(count, 0, "%s has no candidate", names[i]);
            for (size_t k = 0; k < count; k++) {
                stn_estimate e = {0};
                sparse_cost(&task, &machine, &best[k], &e);
                cr_expect_geq(e.seconds, last);
                last = e.seconds;
                cr_expect(e.error > 0 && e.error < 0.01, "%s: error %g", names[i], e.error);
                cr_expect_leq(sparse_shared(&task, &best[k]), machine.shared_per_block);
            }
            stn_task_clear(&task);
        }
}
