/* Choosing a plan, without compiling or loading a kernel: in a context of one thread its CPU time
 * is at most 200 ms, the choice does not depend on the number of threads, and little more work is
 * not predicted to take much longer. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "../expect.h"
#include "stentor.h"

#define MAX_SECONDS 200e-3
enum { REPEAT = 9, SIDE = 17 };

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The stencil of a name, or "unstructured" and the number of points along a side. */
static stn_stencil *stencil_by_name(const char *name) {
    stn_stencil *stencil = NULL;
    double weights[SIDE * SIDE];
    int side;
    if (sscanf(name, "unstructured %d", &side) != 1) return stencil_of(name);
    for (int i = 0; i < side * side; i++) weights[i] = sin(1.0 + 0.7 * i * i) / (side * side);
    OK(stn_stencil_create_dense(2, (size_t[]){(size_t)side, (size_t)side}, weights, &stencil, &error));
    return stencil;
}

/* The least of several times, since other processes use this machine too. */
static double seconds_to_choose(stn_context *context, const stn_problem *problem) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.estimate_only = 1;
    double best = INFINITY;
    for (int i = 0; i < REPEAT; i++) {
        stn_plan *plan = NULL;
        double begin = cpu_seconds();
        plan = new_plan(context, problem, &options);
        best = fmin(best, cpu_seconds() - begin);
        stn_plan_destroy(plan);
    }
    return best;
}

static void check(stn_context *context, const char *name, stn_dtype dtype, stn_boundary_kind boundary) {
    stn_stencil *stencil = stencil_by_name(name);
    stn_problem problem = STN_PROBLEM_INIT;
    problem.stencil = stencil;
    problem.dtype = dtype;
    problem.steps = 1000;
    for (int axis = 0; axis < STN_MAX_RANK; axis++) {
        problem.extent[axis] = 512;
        problem.boundary[axis][0].kind = problem.boundary[axis][1].kind = boundary;
    }
    double seconds = seconds_to_choose(context, &problem);
    cr_expect_lt(seconds, MAX_SECONDS, "%s, %s, boundary %d: %.2f ms to choose", name, stn_dtype_name(dtype), boundary,
                 1e3 * seconds);
    stn_stencil_destroy(stencil);
}

Test(choosing, takes_little_time) {
#if defined STN_TEST_SANITIZED || !defined __OPTIMIZE__
    cr_skip_test("times are not checked in debug and sanitized builds");
#endif
    static const char *const names[] = {"heat-1d",
                                        "heat-2d",
                                        "box-2d9p",
                                        "star-2d13p",
                                        "box-2d49p",
                                        "heat-3d",
                                        "box-3d27p",
                                        "gaussian:sigma=1",
                                        "laplace-2d:order=16",
                                        "gaussian-2d:sigma=15,truncate=4",
                                        "unstructured 3",
                                        "unstructured 7",
                                        "unstructured 17"};
    stn_context *context = context_of_h200();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int dtype = STN_F64; dtype <= STN_F16; dtype++) {
            check(context, names[i], (stn_dtype)dtype, STN_FIXED);
            check(context, names[i], (stn_dtype)dtype, STN_WRAP);
        }
    stn_context_destroy(context);
}

static char *description_of(const stn_problem *problem, int threads) {
    const stn_context_options given = {
        .struct_size = sizeof given, .arch = "sm_90", .cache_dir = ":memory:", .threads = threads};
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_context *context;
    char *text;
    options.estimate_only = 1;
    OK(stn_context_create(&given, &context, &error));
    stn_plan *plan = new_plan(context, problem, &options);
    OK(stn_plan_describe(plan, STN_JSON, &text, &error));
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    return text;
}

/* Long runs, whose chunks are ranked on all threads; rows of odd lengths are padded. */
Test(choosing, is_the_same_on_several_threads) {
    static const char *const names[] = {"heat-1d", "box-2d49p", "star-2d13p", "heat-3d"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int odd = 0; odd < 2; odd++) {
            stn_problem problem = STN_PROBLEM_INIT;
            problem.stencil = stencil_of(names[i]);
            problem.dtype = odd ? STN_F16 : STN_F32;
            problem.steps = 3001;
            for (int axis = 0; axis < STN_MAX_RANK; axis++) {
                problem.extent[axis] = 400 + (size_t)odd;
                problem.boundary[axis][0].kind = problem.boundary[axis][1].kind = STN_NEAREST;
            }
            char *one = description_of(&problem, 1), *several = description_of(&problem, 5);
            cr_expect_str_eq(one, several, "%s", names[i]);
            stn_text_free(one), stn_text_free(several);
            stn_stencil_destroy((stn_stencil *)(uintptr_t)problem.stencil);
        }
}

static double predicted_seconds(stn_context *context, const stn_problem *problem) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.estimate_only = 1;
    stn_plan *plan = new_plan(context, problem, &options);
    const double seconds = stn_plan_predicted_seconds(plan);
    stn_plan_destroy(plan);
    return seconds;
}

/* Up to 256 points, of which a segment holds whole periods, all lines take one segment each. */
Test(choosing, predicts_no_more_for_a_wrapped_line_of_one_point_less) {
    enum { SHORTEST = 5, LONGEST = 254 };
    static const stn_tap taps[] = {{{0, 0, -2}, -0.2}, {{0, 0, -1}, -0.2}, {{0, 0, 0}, 0.6}};
    stn_context *context = context_of_h200();
    stn_problem problem = STN_PROBLEM_INIT;
    stn_stencil *stencil;
    OK(stn_stencil_create(3, sizeof taps / sizeof *taps, taps, &stencil, &error));
    problem.stencil = stencil;
    problem.steps = 3080;
    problem.extent[0] = 84, problem.extent[1] = 83;
    for (int side = 0; side < 4; side++) problem.boundary[side / 2][side % 2].kind = STN_NEAREST;
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++) {
        problem.dtype = (stn_dtype)dtype;
        double shorter = 0;
        for (size_t n = SHORTEST; n <= LONGEST; n++) {
            problem.extent[2] = n;
            const double seconds = predicted_seconds(context, &problem);
            cr_expect_leq(shorter, 1.1 * seconds, "%s: %g s for %zu points, %g s for one more", stn_dtype_name(dtype),
                          shorter, n - 1, seconds);
            shorter = seconds;
        }
    }
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
}

/* Margins at sides without a symmetric extension: each tap more adds little to them. */
Test(choosing, predicts_little_more_for_taps_that_reach_a_point_further) {
    stn_context *context = context_of_h200();
    stn_problem problem = STN_PROBLEM_INIT;
    problem.steps = 10;
    problem.extent[0] = 1000003;
    problem.boundary[0][0].kind = problem.boundary[0][1].kind = STN_FIXED;
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++) {
        problem.dtype = (stn_dtype)dtype;
        double less = INFINITY;
        for (int reach = 28; reach <= STN_MAX_RADIUS; reach++) {
            double weights[2 * STN_MAX_RADIUS + 1];
            const size_t count = 2 * (size_t)reach + 1;
            stn_stencil *stencil;
            for (size_t i = 0; i < count; i++) weights[i] = (1 + 0.3 * sin((double)(i * i))) / (2.0 * (double)count);
            OK(stn_stencil_create_dense(1, &count, weights, &stencil, &error));
            problem.stencil = stencil;
            const double seconds = predicted_seconds(context, &problem);
            cr_expect_leq(seconds, 1.2 * less, "%s: %g s for a reach of %d, %g s for one less", stn_dtype_name(dtype),
                          seconds, reach, less);
            less = seconds;
            stn_stencil_destroy(stencil);
        }
    }
    stn_context_destroy(context);
}
