/* Shapes and costs of the direct kernels, and blocks of direct_skew. */
#include <criterion/criterion.h>
#include <math.h>

#include "strategies/direct/direct_skew.h"
#include "strategies/direct/one_step.h"
#include "strategies/direct/remaining_steps.h"
#include "strategies/direct/temporal_blocking.h"

enum { SHAPES = 32 };

static const stn_machine machine = {.is_device = true,
                                    .sm = 90,
                                    .multiprocessors = 132,
                                    .shared_per_block = 232448,
                                    .registers_per_multiprocessor = 65536,
                                    .threads = 2048,
                                    .l2_bytes = 50000000,
                                    .clock = 1.755e9,
                                    .copy_bandwidth = 4.2e12,
                                    .flops = {28e12, 60e12, 66e12, 313e12, 630e12},
                                    .launch_seconds = 2e-6};

/* The shapes of one step, or of several steps in a launch; returns their number. */
typedef size_t find_shapes(const stn_task *, const stn_machine *, direct_shape *, size_t);

/* Finds the shapes for a grid all sides of which have this kind. The caller clears the task. */
static size_t shapes_of(const char *name, stn_dtype dtype, const size_t *extent, stn_boundary_kind sides,
                        uint64_t steps, find_shapes *find, stn_task *task, direct_shape shapes[SHAPES]) {
    stn_problem p = STN_PROBLEM_INIT;
    stn_stencil *stencil = NULL;
    cr_assert_eq(stn_stencil_parse(name, &stencil, NULL), STN_OK);
    p.stencil = stencil, p.steps = steps, p.dtype = dtype;
    for (int axis = 0; axis < stn_stencil_rank(stencil); axis++) {
        p.extent[axis] = extent[axis];
        p.boundary[axis][0].kind = p.boundary[axis][1].kind = sides;
    }
    cr_assert_eq(stn_task_make(&p, task, NULL), STN_OK);
    stn_stencil_destroy(stencil);
    return find(task, &machine, shapes, SHAPES);
}

static int64_t blocks_of(size_t ny, size_t nx) {
    stn_task task;
    direct_shape shapes[SHAPES];
    int64_t blocks = 0;
    const size_t count =
        shapes_of("heat-3d", STN_F16, (size_t[]){4, ny, nx}, STN_WRAP, 1, direct_shapes, &task, shapes);
    for (size_t i = 0; i < count && !blocks; i++)
        if (shapes[i].skewed) blocks = direct_skew_count(&task, &shapes[i]).all;
    stn_task_clear(&task);
    cr_assert_gt(blocks, 0, "no candidate is direct_skew");
    return blocks;
}

/* With the 40 registers of direct_tile, f16 spills, and half of the loads in f64 wait for others
 * unless all sides are fixed. */
Test(direct_skew, registers_hold_all_loads_of_a_star_in_2d) {
    static const struct {
        stn_dtype dtype;
        stn_boundary_kind sides;
        int blocks;
    } cases[] = {{STN_F64, STN_WRAP, 5}, {STN_F64, STN_FIXED, 6}, {STN_F32, STN_WRAP, 6}, {STN_F16, STN_WRAP, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_task task;
        direct_shape shapes[SHAPES];
        cr_assert_gt(shapes_of("heat-2d", cases[i].dtype, (size_t[]){8192, 8193}, cases[i].sides, 1, direct_shapes,
                               &task, shapes),
                     0);
        cr_expect(shapes[0].skewed);
        cr_expect_eq(shapes[0].blocks, cases[i].blocks, "%s", stn_dtype_name(cases[i].dtype));
        stn_task_clear(&task);
    }
}

/* The predicted seconds of ten steps of heat by tiles of several steps, in 3D, f16, where all sides
 * wrap. */
static double seconds_of_steps(size_t columns) {
    stn_task task;
    direct_shape shapes[SHAPES];
    double least = INFINITY;
    const size_t count =
        shapes_of("heat-3d", STN_F16, (size_t[]){512, 512, columns}, STN_WRAP, 10, direct_time_shapes, &task, shapes);
    for (size_t i = 0; i < count; i++) {
        stn_estimate e = {0};
        direct_time_cost(&task, &machine, &shapes[i], &e);
        least = fmin(least, e.seconds);
    }
    stn_task_clear(&task);
    return least;
}

/* Words of f16 past a side that wraps cost as much as others: rows of odd length take up to 1.3
 * times as long as even ones, and 1.9 times if each such word were copied by halves. */
Test(direct_skew, odd_rows_of_f16_that_wrap_cost_little_more) {
    cr_expect_lt(seconds_of_steps(511), 1.5 * seconds_of_steps(512));
    cr_expect_lt(seconds_of_steps(513), 1.5 * seconds_of_steps(512));
}

/* The kernel divides the numbers of points near sides, which must have 31 bits. */
Test(direct_skew, points_near_sides_have_31_bits) {
    cr_expect_leq(blocks_of(46001, 46001), INT32_MAX);
    cr_expect_gt(blocks_of(47001, 46001), INT32_MAX);
}
