/* CPU time of choosing a plan, without compiling or loading a kernel: at most 200 ms. */
#include <math.h>
#include <stdio.h>
#include <time.h>

#include "../expect.h"
#include "stentor.h"

#define MOST_SECONDS 200e-3
enum { REPEAT = 9, SIDE = 17 };

static double cpu_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* The stencil of a name, or "random" and the number of points along a side: weights without
 * structure. */
static stn_stencil *drawn_stencil(const char *name) {
    stn_stencil *stencil = NULL;
    double weights[SIDE * SIDE];
    int side;
    if (sscanf(name, "random %d", &side) != 1) return stencil_of(name);
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
        OK(stn_plan_create(context, problem, &options, &plan, &error));
        best = fmin(best, cpu_seconds() - begin);
        stn_plan_destroy(plan);
    }
    return best;
}

static void check(stn_context *context, const char *name, stn_dtype dtype, stn_boundary_kind boundary) {
    stn_stencil *stencil = drawn_stencil(name);
    stn_problem problem = STN_PROBLEM_INIT;
    problem.stencil = stencil;
    problem.dtype = dtype;
    problem.steps = 1000;
    for (int axis = 0; axis < STN_MAX_RANK; axis++) {
        problem.extent[axis] = 512;
        problem.boundary[axis][0].kind = problem.boundary[axis][1].kind = boundary;
    }
    double seconds = seconds_to_choose(context, &problem);
    cr_expect_lt(seconds, MOST_SECONDS, "%s, %s, boundary %d: %.2f ms to choose", name, stn_dtype_name(dtype), boundary,
                 1e3 * seconds);
    stn_stencil_destroy(stencil);
}

Test(choosing, takes_little_time) {
#if defined STN_TEST_SANITIZED || !defined __OPTIMIZE__
    cr_skip_test("a build for finding mistakes takes a time of its own");
#endif
    static const char *const names[] = {
        "heat-1d",  "heat-2d",   "box-2d9p",         "star-2d13p",          "box-2d49p",
        "heat-3d",  "box-3d27p", "gaussian:sigma=1", "laplace-2d:order=16", "gaussian-2d:sigma=15,truncate=4",
        "random 3", "random 7",  "random 17"};
    stn_context *context = context_of_h200();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int dtype = STN_F64; dtype <= STN_F16; dtype++) {
            check(context, names[i], (stn_dtype)dtype, STN_FIXED);
            check(context, names[i], (stn_dtype)dtype, STN_WRAP);
        }
    stn_context_destroy(context);
}
