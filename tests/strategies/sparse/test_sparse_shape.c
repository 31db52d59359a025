/* Shapes of sparse's kernels: rows of taps, and work counted for a point. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "plan/error_bound.h"
#include "strategies/sparse/sparse_cost_model.h"
#include "strategies/sparse/sparse_search.h"
#include "strategies/sparse/weight_rounding.h"

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

/* tf32 has errors of 5.7e-4 after one step of weights of both signs, and larger ones on few points.
 * Where they exceed the tolerance, elements are split into two parts. */
Test(sparse_shape, elements_are_split_where_tf32_exceeds_the_tolerance) {
    static const struct {
        size_t side;
        double middle, tolerance;
        uint64_t steps;
        bool split;
    } cases[] = {{3, -1, 5e-4, 2, true},  {3, -1, 1e-2, 2, false}, {500, -1, 5e-4, 1, true},  {500, 1, 5e-4, 1, false},
                 {4, 1, 1e-3, 200, true}, {500, 1, 1e-4, 1, true}, {500, 1, 1e-2, 200, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const stn_tap taps[3] = {{{-1, 0}, 1.0 / 3}, {{0, 0}, cases[i].middle / 3}, {{1, 0}, 1.0 / 3}};
        stn_problem p = STN_PROBLEM_INIT;
        stn_stencil *stencil;
        stn_task task;
        sparse_shape best[STN_CANDIDATES];
        cr_assert_eq(stn_stencil_create(2, 3, taps, &stencil, NULL), STN_OK);
        p.stencil = stencil, p.steps = cases[i].steps, p.dtype = STN_F32, p.tolerance = cases[i].tolerance;
        p.extent[0] = p.extent[1] = cases[i].side;
        cr_assert_eq(stn_task_make(&p, &task, NULL), STN_OK);
        const size_t count = sparse_search(&task, &machine, INT32_MAX, best, STN_CANDIDATES);
        size_t within = 0;
        for (size_t k = 0; k < count; k++) {
            stn_estimate e = {0};
            cr_expect_eq(best[k].split, cases[i].split, "case %zu", i);
            sparse_cost(&task, &machine, &best[k], &e);
            within += stn_error_is_within_bound(&task, &e);
            cr_expect_geq(e.seconds, sparse_least_seconds(&task, &machine));
        }
        cr_expect_gt(within, 0, "case %zu: no candidate of %zu is within the bound", i, count);
        stn_task_clear(&task);
        stn_stencil_destroy(stencil);
    }
}

/* Our figures for table 1 of the paper: a box of radius 3, one step. */
Test(sparse_shape, counts_of_a_box) {
    stn_task task;
    sparse_shape shape;
    make_task("box-2d49p", (size_t[3]){4096, 4096, 0}, STN_F16, &task);
    cr_assert(sparse_fit(&task, &machine, 1, 0, 1, false, &shape));
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

/* Shapes of all snapshots are judged by the error bound of the whole run, as the ranking is: the
 * cheapest accurate one is that of a run as long as the distance of snapshots. */
Test(sparse_shape, snapshots_are_judged_by_the_bound_of_the_run) {
    int fused[2], terms[2];
    for (int with = 0; with < 2; with++) {
        stn_problem p = STN_PROBLEM_INIT;
        stn_stencil *stencil;
        stn_task task;
        sparse_shape best[STN_CANDIDATES];
        cr_assert_eq(stn_stencil_parse("heat-2d", &stencil, NULL), STN_OK);
        p.stencil = stencil, p.steps = with ? 32 : 8, p.every = with ? 8 : 0, p.dtype = STN_F16;
        p.extent[0] = p.extent[1] = 5121;
        for (int axis = 0; axis < 2; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_WRAP;
        cr_assert_eq(stn_task_make(&p, &task, NULL), STN_OK);
        cr_assert_gt(sparse_search(&task, &machine, INT32_MAX, best, STN_CANDIDATES), 0);
        fused[with] = 0;
        for (int k = 0; k < STN_CANDIDATES && !fused[with]; k++)
            if (sparse_is_accurate(&task, &best[k], 1)) fused[with] = best[k].fused, terms[with] = best[k].terms;
        stn_task_clear(&task);
        stn_stencil_destroy(stencil);
    }
    cr_expect_eq(fused[1], fused[0]);
    cr_expect_eq(terms[1], terms[0], "%d terms instead of %d", terms[1], terms[0]);
}

/* A chain on unaligned rows has further blocks at the sides if the last wave has room for them:
 * with 65 columns of tiles and 4 blocks for each, but not with 66; and none on aligned rows. */
Test(sparse_shape, blocks_of_columns_at_sides) {
    static const struct {
        size_t columns;
        int64_t blocks;
    } cases[] = {{8191, 259}, {8192, 256}, {8193, 263}, {8194, 263}, {8447, 264}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_task task;
        sparse_shape shape;
        make_task("heat-2d", (size_t[3]){8192, cases[i].columns, 0}, STN_F16, &task);
        cr_assert(sparse_fit(&task, &machine, 10, 2, 1, false, &shape));
        const sparse_tiles tiles = sparse_tiles_of(&task, &shape);
        cr_expect_eq(tiles.march_blocks, 4);
        cr_expect_eq(tiles.blocks, cases[i].blocks, "%zu columns: %d blocks", cases[i].columns, (int)tiles.blocks);
        stn_task_clear(&task);
    }
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
