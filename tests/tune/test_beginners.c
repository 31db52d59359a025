/* The kernels that runs begin with, each by itself, on the emulator: what they compute is what the host does. */
#include "begin.h"
#include "context/kernel.h"

TestSuite(beginners, .init = start, .fini = end);

/* ---- the kernel ------------------------------------------------------------------------------------------------ */

static void expect_beginner(int number, const char *kernel, double bar) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.estimate_only = 1;
    stn_plan *like = make(&options), *any;
    stn_ranked row;
    void *from, *to, *room = NULL;
    cr_assert(stn_plan_beginner(like, number, &row));
    OK(stn_plan_build(like, problem.steps, row.strategy, &row.candidate, &any, &error));
    cr_expect_str_eq(any->kernels[0]->name, kernel);
    const size_t size = stn_dtype_size(problem.dtype), count = points();
    unsigned char *numbers = malloc(count * size);
    cr_assert_not_null(numbers);
    for (size_t i = 0; i < count; i++)
        problem.dtype == STN_F64 ? memcpy(numbers + 8 * i, &grid[i], 8)
                                 : memcpy(numbers + 4 * i, &(float){(float)grid[i]}, 4);
    OK(stn_memory_alloc(context, count * size, &from, &error));
    OK(stn_memory_alloc(context, count * size, &to, &error));
    if (any->workspace_size) OK(stn_memory_alloc(context, any->workspace_size, &room, &error));
    OK(stn_memory_upload(context, from, numbers, count * size, &error));
    OK(stn_plan_execute_with(any, from, to, room, NULL, &error));
    OK(stn_memory_download(context, numbers, to, count * size, &error));
    for (size_t i = 0; i < count; i++) {
        float narrow;
        double value;
        memcpy(&narrow, numbers + 4 * (problem.dtype == STN_F64 ? 0 : i), 4);
        memcpy(&value, numbers + (problem.dtype == STN_F64 ? 8 * i : 0), problem.dtype == STN_F64 ? 8 : 4);
        const double it = problem.dtype == STN_F64 ? value : narrow;
        cr_assert(fabs(it - want[i]) <= bar * (1 + fabs(want[i])), "point %zu: %g and not %g", i, it, want[i]);
    }
    free(numbers);
    stn_memory_free(context, from), stn_memory_free(context, to), stn_memory_free(context, room);
    stn_plan_destroy(any);
    stn_plan_destroy(like);
}

Test(beginners, one_kernel_makes_steps_of_all_problems) {
    static const char *const sides[][3] = {{"fixed", "wrap", "reflect:mirror"},
                                           {"constant=2:nearest", "mirror", "fixed:constant=-1"},
                                           {"nearest:reflect", "constant=3:fixed", "wrap"}};
    static const char *const stencils[][3] = {{"heat-1d", "heat-2d", "heat-3d"},
                                              {"laplace-1d:order=14", "box-2d49p", "box-3d27p"}};
    stn_cache_stats stats;
    for (int rank = 1; rank <= 3; rank++)
        for (int i = 0; i < 6; i++) {
            set_problem(stencils[i % 2][rank - 1], rank, i < 3 ? 3 : 1, sides[i % 3]);
            expect_beginner(0, "direct_any", 1e-11);
            problem.dtype = STN_F32;
            expect_beginner(0, "direct_any", i % 2 ? 3e-2 : 1e-4);
        }
    stn_context_cache_stats(context, &stats);
    cr_expect_eq(stats.misses, 2u, "one of f64 and one of f32, not %zu", (size_t)stats.misses);
}

Test(beginners, a_lean_kernel_makes_steps) {
    for (int rank = 1; rank <= 3; rank++) {
        set_problem(rank == 1 ? "1d7p" : rank == 2 ? "box-2d9p" : "box-3d27p", rank, 2, fixed);
        expect_beginner(1, rank == 1 ? "direct_line" : "direct_tile", 1e-11);
    }
    set_problem("gaussian-1d:sigma=8,truncate=4", 1, 2, fixed);
    stn_plan *plan = make(NULL);
    stn_ranked row;
    cr_expect(!stn_plan_beginner(plan, 1, &row), "65 taps are too many to unroll");
    stn_plan_destroy(plan);
}

Test(beginners, a_point_a_thread_makes_steps) {
    static const char *const sides[][3] = {{"fixed", "wrap", "reflect:mirror"},
                                           {"constant=2:nearest", "mirror", "fixed:constant=-1"},
                                           {"nearest:reflect", "constant=3:fixed", "wrap"}};
    static const char *const stencils[][2] = {{"star-2d13p", "laplace-3d:order=4"}, {"box-2d49p", "box-3d27p"}};
    for (int rank = 2; rank <= 3; rank++)
        for (int i = 0; i < 6; i++) {
            set_problem(stencils[i % 2][rank - 2], rank, i < 3 ? 2 : 1, sides[i % 3]);
            expect_beginner(2, "direct_point", 1e-11);
            problem.dtype = STN_F32;
            expect_beginner(2, "direct_point", 1e-3);
        }
    set_problem("gaussian-2d:sigma=2,truncate=4", 2, 2, fixed);
    stn_plan *plan = make(NULL);
    stn_ranked row;
    cr_expect(!stn_plan_beginner(plan, 2, &row), "289 taps are too many to write out");
    stn_plan_destroy(plan);
}
