/* options.first_result on the emulator, which simulates the duration of compiles: the generic
 * kernel runs one execution, the chosen kernels all later ones, and every result is right. */
#include <pthread.h>

#include "cli/generic_kernels.h"
#include "emulated.h"

enum { N = 32, POINTS = N * N * N };

static double grid[POINTS], want[POINTS], got[POINTS];

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
    for (int i = 0; i < POINTS; i++) grid[i] = sin(0.37 * i) + 1e-5 * i;
    in = uploaded(context, grid, sizeof grid);
    OK(stn_memory_alloc(context, sizeof grid, &out, &error));
}

/* Plans, which live until the end of the test. */
static stn_plan *plans[16];
static int nplans;

static stn_plan *make(const stn_plan_options *options) {
    return plans[nplans++] = new_plan(context, &problem, options);
}

static void close_plans(void) {
    while (nplans) stn_plan_destroy(plans[--nplans]);
}

static void stop(void) {
    close_plans();
    end();
}
TestSuite(first_result, .init = start, .fini = stop);

static void expect_output(void) {
    OK(stn_memory_download(context, got, out, points() * sizeof *got, &error));
    for (size_t i = 0; i < points(); i++)
        cr_assert(fabs(got[i] - want[i]) <= 1e-11 * (1 + fabs(want[i])), "point %zu: %g and not %g", i, got[i],
                  want[i]);
}

static void poison(void) {
    memset(got, 255, sizeof got);
    OK(stn_memory_upload(context, out, got, points() * sizeof *got, &error));
}

static void expect_right(stn_plan *plan) {
    poison();
    OK(stn_plan_execute(plan, in, out, NULL, &error));
    expect_output();
}

static const char *kernel_of(const stn_plan *plan) {
    stn_kernel_info info;
    OK(stn_plan_kernel(plan, 0, &info, &error));
    return info.name;
}

static stn_plan *make_soon(void) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.first_result = 1;
    return make(&options);
}

/* A plan whose first execution runs the generic kernel. */
static stn_plan *make_generic(void) {
    stn_plan *plan = make_soon();
    cr_assert(stn_first_result_now(plan) != plan);
    cr_expect_str_eq(kernel_of(plan), "direct_any");
    return plan;
}

Test(first_result, the_second_execution_runs_the_chosen_kernels) {
    setenv("STENTOR_EMULATOR_COMPILE_SECONDS", "2", 1);
    set_problem("box-2d49p", 2, 1, fixed);
    stn_plan *plan = make_generic();
    expect_described(plan, STN_TEXT, "the generic kernel runs one execution, then the chosen kernels");
    expect_described(plan, STN_JSON, "\"first_result\":{\"runs\":\"generic\",\"error\":null}");
    expect_right(plan);
    cr_expect(stn_first_result_now(plan) != plan, "nobody waited");
    expect_right(plan);
    cr_expect(stn_first_result_now(plan) == plan);
    cr_expect_str_eq(kernel_of(plan), "direct_tile");
    expect_described(plan, STN_JSON, "\"first_result\":{\"runs\":\"chosen\",\"error\":null}");
    expect_right(plan);
    stn_cache_stats stats;
    stn_context_cache_stats(context, &stats);
    cr_expect_eq(stats.misses, 2u, "each kernel was compiled once, not %zu times", (size_t)stats.misses);
    stn_plan *warm = make_soon();
    cr_expect(stn_first_result_now(warm) == warm, "all kernels are stored");
    expect_right(warm);
    cr_expect_eq(warnings, 0);
}

/* Taps that reach as many points past a mirror as the grid has meet the other side. */
Test(first_result, of_a_batch_of_grids_as_small_as_the_taps) {
    static const char *const mirrors[3] = {"mirror", "constant=2:mirror"};
    set_problem("box-2d49p", 2, 1, mirrors);
    problem.extent[0] = problem.extent[1] = 3;
    problem.batch = 2;
    define(grid, want);
    stn_plan *plan = make_soon(), *generic;
    stn_ranked row;
    cr_assert(stn_plan_generic(plan, &row));
    OK(stn_plan_build(plan, 1, row.strategy, &row.candidate, NULL, &generic, &error));
    expect_right(generic);
    expect_right(plan);
    stn_plan_destroy(generic);
}

Test(first_result, is_off_by_default) {
    set_problem("box-2d49p", 2, 1, fixed);
    stn_plan *plan = make(NULL);
    cr_expect(stn_first_result_now(plan) == plan);
    expect_right(plan);
}

/* The generic kernel would be ready only shortly before the chosen one. */
Test(first_result, is_not_used_for_a_short_compile) {
    set_problem("heat-1d", 1, 1, fixed);
    stn_plan *plan = make_soon();
    cr_expect(stn_first_result_now(plan) == plan);
    expect_right(plan);
}

Test(first_result, a_stored_generic_kernel_runs_even_before_a_short_compile) {
    set_problem("box-2d49p", 2, 1, fixed);
    make_generic(), close_plans();
    set_problem("heat-1d", 1, 1, fixed);
    stn_plan *plan = make_generic();
    for (int i = 0; i < 2; i++) expect_right(plan);
    cr_expect(stn_first_result_now(plan) == plan);
}

void set_embedded_pack(const void *pack, size_t size); /* embedded_pack.c */

/* Compiles the generic kernel into a pack, which the library contains from now on. */
static void embed_generic(void) {
    stn_pack_writer *writer;
    void *pack;
    size_t size;
    set_problem("heat-1d", 1, 1, fixed);
    OK(stn_pack_writer_create(&writer, &error));
    stn_pack_writer_keep_ptx(writer, 100);
    stn_cache_record(context->cache, writer);
    stn_plan *plan = make(NULL), *generic;
    stn_ranked row;
    cr_assert(stn_plan_generic(plan, &row));
    OK(stn_plan_build(plan, 1, row.strategy, &row.candidate, NULL, &generic, &error));
    OK(stn_pack_finish(writer, &pack, &size, &error));
    stn_pack_writer_destroy(writer);
    set_embedded_pack(pack, size);
    free(pack);
    stn_plan_destroy(generic);
}

static void open_again(void) {
    stop(), stencil = NULL, start();
    set_problem("box-2d49p", 2, 1, fixed);
}

static void expect_counts(size_t pack_hits, size_t misses) {
    stn_cache_stats stats;
    stn_context_cache_stats(context, &stats);
    cr_expect_eq(stats.pack_hits, pack_hits, "%zu hits", (size_t)stats.pack_hits);
    cr_expect_eq(stats.misses, misses, "%zu misses", (size_t)stats.misses);
    cr_expect_eq(warnings, 0);
}

Test(first_result, a_generic_kernel_in_the_library_is_not_compiled) {
    embed_generic();
    open_again();
    stn_plan *plan = make_generic();
    expect_right(plan);
    expect_right(plan);
    cr_expect(stn_first_result_now(plan) == plan);
    close_plans();
    expect_counts(1, 1);
}

/* As by a driver that is older than the NVRTC of the build. */
Test(first_result, a_kernel_in_the_library_that_the_driver_refuses_is_compiled) {
    embed_generic();
    open_again();
    setenv("STENTOR_EMULATOR_FAIL", "cuModuleLoadDataEx:1", 1);
    stn_plan *plan = make_generic();
    expect_right(plan);
    expect_right(plan);
    close_plans();
    expect_counts(1, 2);
}

/* The driver compiles the PTX of the oldest architecture for GPUs that run none of the cubins. */
Test(first_result, gpus_between_the_architectures_of_the_library_run_its_ptx) {
    static const char *const archs[] = {"sm_80", "sm_100", "sm_120"};
    stn_pack_writer *writer;
    void *pack;
    size_t size;
    stop(), stencil = NULL;
    OK(stn_pack_writer_create(&writer, &error));
    OK(cli_record_embedded_kernels(writer, archs, 3, ":memory:", &error));
    OK(stn_pack_finish(writer, &pack, &size, &error));
    cr_expect_eq(stn_pack_writer_count(writer), 9u);
    stn_pack_writer_destroy(writer);
    set_embedded_pack(pack, size);
    free(pack);
    setenv("STENTOR_EMULATOR_SM", "110", 1);
    setenv("STENTOR_NVRTC_PATH", "none", 1);
    start();
    cr_assert_eq(context->machine.sm, 110);
    set_problem("box-2d49p", 2, 3, fixed);
    stn_plan *plan = make(NULL);
    cr_expect_str_eq(kernel_of(plan), "direct_any");
    expect_right(plan);
    cr_expect_eq(warnings, 1, "the generic kernel runs, which is slower");
}

Test(first_result, packs_do_not_record_kernels_of_the_library) {
    embed_generic();
    open_again();
    stn_pack_writer *writer;
    OK(stn_pack_writer_create(&writer, &error));
    stn_cache_record(context->cache, writer);
    make_generic(), close_plans();
    stn_cache_record(context->cache, NULL);
    stn_pack_writer_destroy(writer);
    stn_cache_stats stats;
    stn_context_cache_stats(context, &stats);
    cr_expect_eq(stats.pack_hits, 0u);
}

/* With a source, the generic plan compiles more than one kernel. */
Test(first_result, is_not_used_if_its_kernels_take_as_long_as_the_chosen_ones) {
    set_problem("heat-2d", 2, 1, fixed);
    problem.has_source = 1;
    stn_plan *plan = make_soon();
    cr_expect(stn_first_result_now(plan) == plan);
}

Test(first_result, works_with_parts) {
    set_problem("heat-2d", 2, 12, fixed);
    stn_plan *plan = make_generic();
    const stn_execution run = {.struct_size = sizeof run, .in = in, .out = out, .workspace = plan->workspace};
    for (int execution = 0; execution < 3; execution++) {
        const uint64_t launches = stn_plan_launches(plan);
        poison();
        for (uint64_t i = 0; i < launches; i++) {
            cr_expect((stn_first_result_now(plan) != plan) == (execution == 0));
            OK(stn_plan_execute_part(plan, (stn_part){i, 1}, &run, &error));
        }
        expect_output();
    }
}

Test(first_result, in_place_and_with_new_weights) {
    set_problem("gaussian-2d:sigma=1", 2, 3, fixed);
    for (int executed = 0; executed < 3; executed++) {
        stn_plan *plan = executed ? make_soon() : make_generic();
        for (int i = 0; i < executed; i++) expect_right(plan);
        double weights[81];
        set_problem(executed % 2 ? "gaussian-2d:sigma=1" : "gaussian-2d:sigma=1.1", 2, 3, fixed);
        cr_assert_eq(stn_stencil_tap_count(stencil), 81u);
        for (size_t i = 0; i < 81; i++) weights[i] = stn_stencil_taps(stencil)[i].weight;
        OK(stn_plan_set_weights(plan, 81, weights, &error));
        for (int i = 0; i < 3; i++) expect_right(plan);
    }
    problem.in_place = 1;
    stn_plan *plan = make_soon();
    for (int i = 0; i < 3; i++) {
        OK(stn_memory_upload(context, out, grid, points() * sizeof *grid, &error));
        OK(stn_plan_execute(plan, out, out, NULL, &error));
        expect_output();
    }
}

Test(first_result, a_kernel_that_does_not_compile_leaves_the_generic_one) {
    setenv("STENTOR_EMULATOR_COMPILE_SECONDS", "10", 1);
    set_problem("box-2d49p", 2, 1, fixed);
    /* Its kernel is stored; the compile of the others is cancelled. */
    make_generic(), close_plans();
    setenv("STENTOR_EMULATOR_FAIL", "nvrtcCompileProgram:*", 1);
    stn_plan *plan = make_generic();
    for (int i = 0; i < 3; i++) expect_right(plan);
    cr_expect(stn_first_result_now(plan) != plan);
    cr_expect_geq(warnings, 1);
    expect_described(plan, STN_TEXT, "the generic kernel runs, as the chosen one cannot: ");
    double weights[49];
    for (size_t i = 0; i < 49; i++) weights[i] = 0.02 * (double)(i % 5) / 2;
    OK(stn_plan_set_weights(plan, 49, weights, &error));
    unsetenv("STENTOR_EMULATOR_FAIL");
}

Test(first_result, can_be_closed_while_compiling) {
    setenv("STENTOR_EMULATOR_COMPILE_SECONDS", "20", 1);
    set_problem("box-3d27p", 3, 1, fixed);
    make_generic(), close_plans(); /* The compile is cancelled. */
    setenv("STENTOR_EMULATOR_COMPILE_SECONDS", "0", 1);
    stn_plan *plan = make(NULL);
    expect_right(plan);
}

Test(first_result, a_captured_stream_keeps_the_generic_kernel) {
    set_problem("box-2d49p", 2, 1, fixed);
    stn_plan *plan = make_generic();
    expect_right(plan);
    capture(plan);
    cr_expect(stn_first_result_now(plan) != plan);
    for (int i = 0; i < 3; i++) expect_right(plan);
    cr_expect(stn_first_result_now(plan) == plan);
}

static void *execute_often(void *plan) {
    stn_error why = {0};
    void *workspace = NULL, *mine = NULL;
    bool right = stn_memory_alloc(context, sizeof grid, &mine, &why) == STN_OK;
    const size_t bytes = stn_plan_workspace_size(plan);
    if (bytes) right = right && stn_memory_alloc(context, bytes, &workspace, &why) == STN_OK;
    double *result = calloc(POINTS, sizeof *result);
    for (int i = 0; right && i < 4; i++) {
        right = stn_plan_execute_with(plan, in, mine, workspace, NULL, &why) == STN_OK &&
                stn_memory_download(context, result, mine, points() * sizeof *result, &why) == STN_OK;
        for (size_t k = 0; right && k < points(); k++) right = fabs(result[k] - want[k]) <= 1e-11 * (1 + fabs(want[k]));
    }
    free(result);
    stn_memory_free(context, workspace);
    stn_memory_free(context, mine);
    return right ? plan : NULL;
}

Test(first_result, is_thread_safe) {
    pthread_t threads[4];
    set_problem("box-2d49p", 2, 2, fixed);
    stn_plan *plan = make_generic();
    for (int i = 0; i < 4; i++) cr_assert_eq(pthread_create(&threads[i], NULL, execute_often, plan), 0);
    for (int i = 0; i < 4; i++) {
        void *right;
        pthread_join(threads[i], &right);
        cr_expect_not_null(right);
    }
    cr_expect(stn_first_result_now(plan) == plan);
}

Test(first_result, is_off_for_a_fixed_choice) {
    set_problem("heat-2d", 2, 2, fixed);
    stn_plan_options several[3] = {STN_PLAN_OPTIONS_INIT, STN_PLAN_OPTIONS_INIT, STN_PLAN_OPTIONS_INIT};
    several[0].deterministic = 1;
    several[1].mode = STN_MODE_ONLINE;
    several[2].strategy = "direct";
    for (int i = 0; i < 4; i++) {
        stop(), stencil = NULL, start();
        set_problem("heat-2d", 2, 2, fixed);
        if (i == 3) problem.every = 1;
        stn_plan_options options = several[i % 3];
        if (i == 3) options = (stn_plan_options)STN_PLAN_OPTIONS_INIT;
        options.first_result = 1;
        stn_plan *plan = make(&options);
        cr_expect(stn_first_result_now(plan) == plan, "%d", i);
        if (i < 3) expect_right(plan);
    }
}
