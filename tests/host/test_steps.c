/* Consistency between runs: steps add up, threads and vector units do not change results,
 * workspaces stay small. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "host_grids.h"

static const stn_tap heat[5] = {
    {{-1, 0}, 0.2}, {{0, -1}, 0.15}, {{0, 0}, 0.3}, {{0, 1}, 0.15}, {{1, 0}, 0.2},
};

static stn_task heat_task(size_t n0, size_t n1, uint64_t steps, int in_place, stn_dtype dtype) {
    stn_problem problem = {.extent = {n0, n1}, .steps = steps, .dtype = dtype, .in_place = in_place};
    problem.boundary[0][0].kind = STN_FIXED;
    problem.boundary[0][1].kind = STN_REFLECT;
    problem.boundary[1][0] = (stn_boundary){STN_CONSTANT, 0.25};
    problem.boundary[1][1].kind = STN_NEAREST;
    return make_task(2, 5, heat, problem);
}

static void *random_grid(stn_dtype dtype, int64_t points) {
    uint64_t state = 3;
    void *grid = poisoned(dtype, points);
    for (int64_t i = 0; i < points; i++) set(dtype, grid, i, random_unit(&state));
    return grid;
}

/* The grid after `steps` steps on some threads. */
static void *run_heat(size_t n0, size_t n1, uint64_t steps, stn_dtype dtype, int threads, const void *from) {
    stn_task task = heat_task(n0, n1, steps, 0, dtype);
    void *out = poisoned(dtype, stn_task_points(&task));
    run(&task, threads, from, out);
    stn_task_clear(&task);
    return out;
}

Test(steps, two_runs_equal_one) {
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++) {
        void *start = random_grid(dtype, 37 * 53);
        void *whole = run_heat(37, 53, 9, dtype, 2, start);
        void *first = run_heat(37, 53, 4, dtype, 2, start), *second = run_heat(37, 53, 5, dtype, 2, first);
        cr_assert_arr_eq(whole, second, 37 * 53 * stn_dtype_size(dtype));
        free(start);
        free(whole);
        free(first);
        free(second);
    }
}

Test(steps, results_do_not_depend_on_threads) {
    const size_t n0 = 403, n1 = 517;
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++) {
        void *start = random_grid(dtype, (int64_t)(n0 * n1));
        void *alone = run_heat(n0, n1, 20, dtype, 1, start);
        for (int threads = 2; threads <= 9; threads += 7) {
            void *many = run_heat(n0, n1, 20, dtype, threads, start);
            cr_assert_arr_eq(alone, many, n0 * n1 * stn_dtype_size(dtype));
            free(many);
        }
        free(start);
        free(alone);
    }
}

Test(steps, in_place_equals_out_of_place) {
    for (uint64_t steps = 1; steps <= 4; steps++) {
        double *grid = random_grid(STN_F64, 30 * 41), *separate = run_heat(30, 41, steps, STN_F64, 2, grid);
        stn_task task = heat_task(30, 41, steps, 1, STN_F64);
        run(&task, 2, grid, grid);
        cr_assert_arr_eq(grid, separate, 30 * 41 * sizeof *grid);
        stn_task_clear(&task);
        free(grid);
        free(separate);
    }
}

Test(steps, workspace_is_none_or_one_group_of_grids) {
    stn_task one = heat_task(100, 100, 1, 0, STN_F64), more = heat_task(100, 100, 2, 0, STN_F64);
    stn_task in_place = heat_task(100, 100, 1, 1, STN_F32);
    cr_expect_eq(stn_host_workspace(&one), 0);
    cr_expect_eq(stn_host_workspace(&more), 80000);
    cr_expect_eq(stn_host_workspace(&in_place), 40000);
    more.batch = 1000000; /* the batch is processed in groups of grids */
    cr_expect_leq(stn_host_workspace(&more), 8u << 20);
    stn_task_clear(&one);
    stn_task_clear(&more);
    stn_task_clear(&in_place);
}

/* Frozen points keep their bits, even of NaN; other points read them. */
Test(steps, frozen_points_keep_their_bits) {
    double grid[7] = {1, 2, 3, 4, 5, 6, 7}, out[7];
    uint64_t odd = 0x7ff8000000001234u, bits;
    memcpy(&grid[6], &odd, 8);
    stn_problem problem = {.extent = {7}, .steps = 1};
    problem.boundary[0][0].kind = problem.boundary[0][1].kind = STN_FIXED;
    stn_task task = make_task(1, 2, (stn_tap[]){{{-2}, 1}, {{1}, 1}}, problem);
    run(&task, 1, grid, out);
    memcpy(&bits, &out[6], 8);
    cr_expect_eq(bits, odd);
    cr_expect(out[0] == 1 && out[1] == 2, "the low side's layer is as deep as the taps reach towards it");
    cr_expect(out[2] == 1 + 4 && out[3] == 2 + 5 && out[4] == 3 + 6 && out[5] != out[5]);
    stn_task_clear(&task);
}
