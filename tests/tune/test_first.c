/* Whatever the kind of work: a plan whose kernels take long to compile has its first result before they are, the same as later, and
 * changes to them when they are. On the emulator, which plays how long compiles last. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "context/context.h"
#include "context/kernel.h"
#include "tune/online_state.h"

#define COMPILE_SECONDS 2.0 /* of one kernel; a tenth in a hurry */
enum { N = 32, NUMBERS = 2 * N * N, BUFFERS = 5 };

static stn_error error;
#define OK(call) cr_assert_eq((call), STN_OK, "%s", error.message)

typedef enum kind { STENCIL, LONG, IN_PLACE, SOURCE, TRANSFORM, LAYER, KINDS } kind;
static const char *const kinds[] = {"a stencil", "a long run",  "a stencil in place",
                                    "a source",  "a transform", "a layer"};

static double grid[BUFFERS][NUMBERS], want[NUMBERS], got[NUMBERS];
static void *memory[BUFFERS]; /* in, out, and what layers and sources bring */

static stn_context *open_context(void) {
    stn_context *context;
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:", .threads = 4};
    OK(stn_context_create(&options, &context, &error));
    for (int b = 0; b < BUFFERS; b++) {
        for (int i = 0; i < NUMBERS; i++) grid[b][i] = sin(0.37 * i + b) + 1e-5 * i;
        OK(stn_memory_alloc(context, sizeof *grid, &memory[b], &error));
    }
    return context;
}

static void close_context(stn_context *context) {
    for (int b = 0; b < BUFFERS; b++) stn_memory_free(context, memory[b]);
    stn_context_destroy(context);
}

static stn_plan *make_stencil(stn_context *context, kind of, const stn_plan_options *options) {
    stn_problem problem = STN_PROBLEM_INIT;
    stn_stencil *stencil;
    stn_plan *plan;
    OK(stn_stencil_parse(of == LONG ? "gaussian-1d:sigma=16,truncate=4" : "heat-2d", &stencil, &error));
    problem.stencil = stencil;
    problem.steps = of == LONG ? 100 : 3;
    for (int axis = 0; axis < 2; axis++) {
        problem.extent[axis] = of != LONG ? N : axis ? 0 : NUMBERS;
        OK(stn_boundary_parse("wrap", problem.boundary[axis], &error));
    }
    problem.in_place = of == IN_PLACE, problem.has_source = of == SOURCE;
    OK(stn_plan_create(context, &problem, options, &plan, &error));
    stn_stencil_destroy(stencil);
    return plan;
}

static stn_plan *make(stn_context *context, kind of, const stn_plan_options *options) {
    stn_plan *plan;
    if (of == TRANSFORM) {
        stn_transform t = STN_TRANSFORM_INIT;
        t.rank = 2, t.extent[0] = t.extent[1] = N, t.kind = STN_C2C;
        OK(stn_plan_create_fft(context, &t, options, &plan, &error));
    } else if (of == LAYER) {
        stn_spectral_conv c = STN_SPECTRAL_CONV_INIT;
        c.rank = 1, c.extent[0] = N, c.modes[0] = 5, c.batch = 2, c.in_channels = 3, c.out_channels = 2;
        c.has_bias = c.has_skip = 1;
        OK(stn_plan_create_spectral_conv(context, &c, options, &plan, &error));
    } else
        plan = make_stencil(context, of, options);
    return plan;
}

static void execute(stn_context *context, kind of, stn_plan *plan, double result[NUMBERS]) {
    for (int b = 0; b < BUFFERS; b++)
        OK(stn_memory_upload(context, memory[b], grid[of == IN_PLACE ? 0 : b], sizeof *grid, &error));
    stn_execution run = STN_EXECUTION_INIT;
    run.in = memory[of == IN_PLACE], run.out = memory[1];
    if (of == SOURCE) run.source = memory[2];
    if (of == LAYER) run.weights = memory[2], run.bias = memory[3], run.skip = memory[4];
    OK(stn_plan_run(plan, &run, &error));
    OK(stn_synchronize(context, NULL, &error));
    OK(stn_memory_download(context, result, memory[1], sizeof *grid, &error));
}

static void expect_like_before(kind of) {
    double apart = 0, all = 0;
    for (int i = 0; i < NUMBERS; i++) apart += pow(got[i] - want[i], 2), all += pow(want[i], 2);
    cr_expect(apart <= 1e-24 * all, "%s: %g apart", kinds[of], sqrt(apart / all));
}

/* By a plan that compiles first, which also leaves the compiler's work behind. */
static void define(kind of) {
    stn_context *context = open_context();
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ESTIMATE;
    stn_plan *plan = make(context, of, &options);
    cr_expect(!plan->begins && !plan->online, "%s", kinds[of]);
    execute(context, of, plan, want);
    stn_plan_destroy(plan);
    close_context(context);
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Once more with what is compiled, so that only the played times are left. */
static double first_result(stn_context *context, kind of, stn_plan **plan) {
    const double begin = now();
    *plan = make(context, of, NULL);
    execute(context, of, *plan, got);
    return now() - begin;
}

static void try_kind(kind of) {
    stn_plan *plan;
    define(of);
    stn_context *context = open_context();
    (void)first_result(context, of, &plan);
    stn_plan_destroy(plan);
    close_context(context);
    setenv("STENTOR_EMULATOR_COMPILE_SECONDS", "2", 1);
    context = open_context();
    const double seconds = first_result(context, of, &plan);
    cr_expect(plan->begins && plan->online, "%s begins", kinds[of]);
    cr_expect_lt(seconds, COMPILE_SECONDS, "%s: %g s", kinds[of], seconds);
    expect_like_before(of);
    if (plan->online) {
        const online_arm *follower = &plan->online->arms[1];
        while (atomic_load(&follower->built) == TUNE_UNBUILT) usleep(1000);
        execute(context, of, plan, got);
        expect_like_before(of);
        cr_expect_eq(plan->online->search.current, 1u, "%s: %s", kinds[of], follower->why.message);
        for (size_t i = 0; follower->plan && i < follower->plan->nkernels; i++)
            cr_expect(!follower->plan->kernels[i]->hurried, "%s", kinds[of]);
    }
    stn_plan_destroy(plan);
    close_context(context);
    unsetenv("STENTOR_EMULATOR_COMPILE_SECONDS");
}

Test(first, result_of_a_stencil) { try_kind(STENCIL); }
Test(first, result_of_a_long_run) { try_kind(LONG); }
Test(first, result_in_place) { try_kind(IN_PLACE); }
Test(first, result_with_a_source) { try_kind(SOURCE); }
Test(first, result_of_a_transform) { try_kind(TRANSFORM); }
Test(first, result_of_a_layer) { try_kind(LAYER); }

/* Which kernels were compiled in a hurry is known, and one that is stored as it should be serves instead. */
Test(first, a_stored_kernel_serves_in_a_hurry) {
    stn_context *context = open_context();
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = make(context, TRANSFORM, NULL);
    cr_assert(plan->begins && plan->hurried);
    for (size_t i = 0; i < plan->nkernels; i++) cr_expect(plan->kernels[i]->hurried);
    stn_plan_destroy(plan);
    options.mode = STN_MODE_ESTIMATE;
    stn_plan_destroy(make(context, TRANSFORM, &options));
    plan = make(context, TRANSFORM, NULL);
    cr_expect(!plan->begins);
    for (size_t i = 0; i < plan->nkernels; i++) cr_expect(!plan->kernels[i]->hurried);
    stn_plan_destroy(plan);
    close_context(context);
}
