/* Problems for the tests of options.first_result, on the emulator. */
#ifndef STENTOR_TESTS_FIRST_RESULT_H
#define STENTOR_TESTS_FIRST_RESULT_H
#include "emulated.h"

enum { N = 32, MOST = N * N * N };

static double grid[MOST], want[MOST];

static size_t points(void) {
    size_t count = problem.batch ? problem.batch : 1;
    for (int axis = 0; axis < 3 && problem.extent[axis]; axis++) count *= problem.extent[axis];
    return count;
}

/* With different boundaries on each axis: fixed, constant and folded ones, low and high. */
static void set_problem(const char *name, int rank, uint64_t steps, const char *const sides[3]) {
    stn_stencil_destroy(stencil);
    OK(stn_stencil_parse(name, &stencil, &error));
    problem = (stn_problem)STN_PROBLEM_INIT;
    problem.stencil = stencil;
    problem.steps = steps;
    for (int axis = 0; axis < rank; axis++) {
        problem.extent[axis] = axis == rank - 1 ? N : N - 3;
        OK(stn_boundary_parse(sides[axis], problem.boundary[axis], &error));
    }
    define(grid, want);
}

static const char *const fixed[] = {"fixed", "fixed", "fixed"};

static void start(void) {
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:", .log = count_warning};
    OK(stn_context_create(&options, &context, &error));
    for (int i = 0; i < MOST; i++) grid[i] = sin(0.37 * i) + 1e-5 * i;
    in = uploaded(context, grid, sizeof grid);
    OK(stn_memory_alloc(context, sizeof grid, &out, &error));
}

static stn_plan *make(const stn_plan_options *options) {
    stn_plan *plan;
    OK(stn_plan_create(context, &problem, options, &plan, &error));
    return plan;
}
#endif
