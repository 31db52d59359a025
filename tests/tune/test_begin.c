/* Plans that begin with what compiles soon and change to the chosen candidate when that is compiled, on the emulator: what they compute is
 * right whatever runs when, they change between executions and between legs of one, a failing compile is told and not lost. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "begin.h"
#include "context/context.h"
#include "tune/online.h"
#include "tune/online_state.h"

static double got[MOST];
TestSuite(begin, .init = start, .fini = end);

static void expect_right(stn_plan *plan) {
    memset(got, 255, sizeof got);
    OK(stn_memory_upload(context, out, got, points() * sizeof *got, &error));
    OK(stn_plan_execute(plan, in, out, NULL, &error));
    OK(stn_memory_download(context, got, out, points() * sizeof *got, &error));
    for (size_t i = 0; i < points(); i++)
        cr_assert(fabs(got[i] - want[i]) <= 1e-11 * (1 + fabs(want[i])), "point %zu: %g and not %g", i, got[i],
                  want[i]);
}

static stn_plan *make_beginning(void) {
    stn_plan *plan = make(NULL);
    cr_assert(plan->begins && plan->online && plan->online->follows);
    cr_assert_eq(plan->chosen, STN_CHOSEN_BY_START);
    return plan;
}

static int state_of(const stn_plan *plan) { return atomic_load(&plan->online->arms[1].built); }

static void wait_until_compiled(const stn_plan *plan) {
    while (state_of(plan) == TUNE_UNBUILT) usleep(1000);
}

static void expect_words(const stn_plan *plan, stn_format format, const char *words) {
    char *text;
    OK(stn_plan_describe(plan, format, &text, &error));
    cr_expect_not_null(strstr(text, words), "%s\n has no %s", text, words);
    stn_text_free(text);
}

/* ---- changing -------------------------------------------------------------------------------------------------- */

Test(begin, changes_between_executions) {
    set_problem("box-2d49p", 2, 1, fixed);
    stn_plan *plan = make_beginning();
    cr_expect_eq(tune_online_legs(plan), 1u);
    stn_kernel_info info;
    OK(stn_plan_kernel(plan, 0, &info, &error));
    cr_expect_str_eq(info.name, "direct_point");
    if (state_of(plan) == TUNE_UNBUILT) expect_words(plan, STN_TEXT, "begins:     with direct, point, ");
    expect_words(plan, STN_JSON, "\"begins\":{\"with\":\"direct, point, ");
    wait_until_compiled(plan);
    cr_expect_null(plan->online->arms[1].plan, "an execution builds it, no thread");
    expect_right(plan);
    cr_expect_eq(plan->online->search.current, 1u);
    OK(stn_plan_kernel(plan, 0, &info, &error));
    cr_expect_str_eq(info.name, "direct_tile");
    cr_expect_eq(stn_plan_predicted_seconds(plan), plan->ranking[0].estimate.seconds);
    expect_words(plan, STN_TEXT, "now:        direct, tile, ");
    expect_words(plan, STN_JSON, "\"state\":\"runs\"");
    expect_right(plan);
    stn_plan *warm = make(NULL);
    cr_expect(!warm->begins, "all is in memory by now");
    cr_expect_eq(warm->chosen, STN_CHOSEN_BY_ESTIMATE);
    expect_right(warm);
    stn_plan_destroy(warm);
    stn_plan_destroy(plan);
    cr_expect_eq(warnings, 0);
}

Test(begin, runs_while_it_compiles) {
    set_problem("box-3d27p", 3, 2, fixed);
    stn_plan *plan = make_beginning();
    for (int i = 0; i < 200 && plan->online->search.current == 0; i++) expect_right(plan);
    wait_until_compiled(plan);
    expect_right(plan);
    cr_expect_eq(plan->online->search.current, 1u);
    stn_plan_destroy(plan);
}

Test(begin, what_searches_begins_so_too) {
    set_problem("heat-2d", 2, 2, fixed);
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ONLINE, options.strategy = "direct";
    stn_plan *plan = make(&options);
    cr_assert(plan->begins && plan->online && !plan->online->follows);
    cr_expect_eq(plan->online->search.estimated, 1u, "losses are counted against what ESTIMATE would run");
    for (int i = 0; i < 40; i++) expect_right(plan);
    while (state_of(plan) == TUNE_UNBUILT || !atomic_load(&plan->online->comparable)) usleep(1000);
    for (int i = 0; i < 40; i++) expect_right(plan);
    cr_expect_gt(plan->online->search.arms[1].known, 0, "it was tried, whatever the time before it was there cost");
    stn_plan_destroy(plan);
    cr_expect_eq(warnings, 0);
}

/* A row's kernels are compiled by a thread of their own, as the plan begins with another row. */
static void compile_ahead(stn_plan *plan, const stn_ranked *row) {
    stn_gather *gather = stn_gather_begin(context);
    stn_plan_take(plan, row);
    OK(plan->strategy->prepare(plan, &error));
    cr_assert_gt(stn_gather_end(gather), 0u);
    stn_plan_unprepare(plan);
    plan->ahead = stn_gather_compile_ahead(gather, 0);
    cr_assert_not_null(plan->ahead);
}

/* All by hand, so that it is sure to be legs that change: what runs is another kernel from leg to leg. */
static stn_plan *make_legs(bool ahead) {
    static const tune_play play = {.leg_seconds = 1e-12};
    set_problem("heat-2d", 2, 96, fixed);
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "direct", options.estimate_only = 1;
    stn_plan *plan = make(&options);
    stn_ranked any, own = plan->ranking[0];
    for (size_t i = 0; i < plan->ranked; i++) /* legs of any number of steps are as good to it */
        if (plan->ranking[i].applies && plan->ranking[i].estimate.launches >= 96) own = plan->ranking[i];
    cr_assert(stn_plan_beginner(plan, 0, &any));
    context->play = &play;
    plan->estimate_only = false;
    plan->ranking[0] = own;
    if (ahead) compile_ahead(plan, &own);
    OK(stn_plan_prepare_row(plan, &any, &error));
    plan->begins = true, plan->follower = 0;
    stn_tuner_default.follow(plan);
    cr_assert_not_null(plan->online);
    cr_assert_geq(plan->online->legs, 8u);
    OK(stn_memory_alloc(context, plan->workspace_size, &plan->workspace, &error));
    return plan;
}

static void expect_change_among_legs(stn_plan *plan) {
    const stn_execution run = {.struct_size = sizeof run, .in = in, .out = out, .workspace = plan->workspace};
    const uint64_t legs = stn_plan_launches(plan);
    for (uint64_t leg = 0; leg < legs; leg++) {
        plan->online->over = leg < legs / 2; /* the change waits until half is done */
        OK(stn_plan_execute_part(plan, (stn_part){leg, 1}, &run, &error));
        if (leg + 1 == legs / 2) wait_until_compiled(plan);
        cr_assert_eq(plan->online->search.current, (size_t)(leg >= legs / 2));
    }
    OK(stn_memory_download(context, got, out, points() * sizeof *got, &error));
    for (size_t i = 0; i < points(); i++) cr_assert(fabs(got[i] - want[i]) <= 1e-11 * (1 + fabs(want[i])));
    expect_right(plan);
}

Test(begin, legs_pass_their_state_on) {
    stn_plan *plan = make_legs(false);
    expect_change_among_legs(plan);
    stn_plan_destroy(plan);
}

Test(begin, what_takes_over_among_legs_is_compiled_ahead) {
    stn_cache_stats stats;
    setenv("STENTOR_EMULATOR_COMPILE_SECONDS", "2", 1); /* a tenth of it for what it begins with */
    stn_plan *plan = make_legs(true);
    cr_expect_eq(state_of(plan), TUNE_UNBUILT, "nobody waited for it");
    expect_change_among_legs(plan);
    cr_expect_null(plan->ahead, "it is over");
    stn_context_cache_stats(context, &stats);
    cr_expect_eq(stats.misses, 2u, "each was compiled once, not %zu times", (size_t)stats.misses);
    stn_plan_destroy(plan);
    cr_expect_eq(warnings, 0);
}

Test(begin, ends_while_both_compile) {
    setenv("STENTOR_EMULATOR_COMPILE_SECONDS", "20", 1);
    stn_plan *plan = make_legs(true);
    stn_plan_destroy(plan);
    setenv("STENTOR_EMULATOR_COMPILE_SECONDS", "0", 1);
    plan = make(NULL);
    expect_right(plan);
    stn_plan_destroy(plan);
}

/* ---- what may come between --------------------------------------------------------------------------------------- */

Test(begin, a_compile_that_fails_is_told_and_the_plan_goes_on) {
    setenv("STENTOR_EMULATOR_FAIL", "nvrtcCompileProgram:2", 1);
    set_problem("box-2d49p", 2, 1, fixed);
    stn_plan *plan = make_beginning();
    wait_until_compiled(plan);
    cr_assert_eq(state_of(plan), TUNE_FAILED);
    for (int i = 0; i < 3; i++) expect_right(plan);
    cr_expect_eq(plan->online->search.current, 0u);
    cr_expect_geq(warnings, 1);
    expect_words(plan, STN_TEXT, "and stays with it: direct, tile, ");
    expect_words(plan, STN_TEXT, "did not compile for");
    expect_words(plan, STN_JSON, "\"state\":\"failed\"");
    unsetenv("STENTOR_EMULATOR_FAIL");
    stn_plan_destroy(plan);
}

Test(begin, new_weights_come_to_what_is_compiled_meanwhile) {
    set_problem("heat-2d:alpha=0.2", 2, 2, fixed);
    for (int built = 0; built < 2; built++) {
        stn_plan *plan = make_beginning();
        if (built) wait_until_compiled(plan), expect_right(plan);
        double weights[5];
        stn_stencil *other = stencil;
        stencil = NULL;
        set_problem(built ? "heat-2d:alpha=0.15" : "heat-2d:alpha=0.1", 2, 2, fixed);
        for (size_t i = 0; i < 5; i++) weights[i] = stn_stencil_taps(stencil)[i].weight;
        OK(stn_plan_set_weights(plan, 5, weights, &error));
        expect_right(plan);
        wait_until_compiled(plan);
        expect_right(plan);
        expect_right(plan);
        cr_expect_eq(plan->online->search.current, 1u);
        stn_plan_destroy(plan);
        stn_stencil_destroy(other);
        end(), stencil = NULL, start();
        set_problem("heat-2d:alpha=0.2", 2, 2, fixed);
    }
}

Test(begin, a_captured_stream_freezes_the_choice) {
    const stn_driver_functions *call = stn_driver_table(context->driver);
    stn_cu_stream stream;
    stn_cu_graph graph;
    set_problem("box-2d49p", 2, 1, fixed);
    stn_plan *plan = make_beginning();
    OK(stn_device_enter(context->device, &error));
    cr_assert_eq(call->cuStreamCreate(&stream, 0), 0u);
    cr_assert_eq(call->cuStreamBeginCapture(stream, 0), 0u);
    OK(stn_plan_execute(plan, in, out, stream, &error)); /* whether it is compiled by now or not */
    tune_online_end(plan->online);
    cr_assert_eq(call->cuStreamEndCapture(stream, &graph), 0u, "nothing was loaded meanwhile");
    call->cuGraphDestroy(graph);
    call->cuStreamDestroy(stream);
    stn_device_leave(context->device);
    for (int i = 0; i < 3; i++) expect_right(plan);
    cr_expect_eq(plan->online->search.current, 0u);
    expect_words(plan, STN_JSON, "\"state\":\"frozen\"");
    stn_plan_destroy(plan);
}

Test(begin, ends_while_it_compiles) {
    set_problem("box-3d27p", 3, 1, fixed);
    stn_plan *plan = make_beginning();
    stn_plan_destroy(plan);
    plan = make(NULL);
    expect_right(plan);
    stn_plan_destroy(plan);
}

Test(begin, is_left_where_one_choice_was_asked_for) {
    set_problem("heat-2d", 2, 1, fixed);
    stn_plan_options several[3] = {STN_PLAN_OPTIONS_INIT, STN_PLAN_OPTIONS_INIT, STN_PLAN_OPTIONS_INIT};
    several[0].deterministic = 1;
    several[1].mode = STN_MODE_ESTIMATE;
    several[2].strategy = "direct";
    for (int i = 0; i < 3; i++) {
        end(), stencil = NULL, start();
        set_problem("heat-2d", 2, 1, fixed);
        stn_plan *plan = make(&several[i]);
        cr_expect(!plan->begins && !plan->online, "%d", i);
        cr_expect_eq(plan->chosen, STN_CHOSEN_BY_ESTIMATE);
        expect_right(plan);
        stn_plan_destroy(plan);
    }
}

Test(begin, a_plan_in_place_begins_too) {
    set_problem("heat-2d", 2, 3, fixed);
    problem.in_place = 1;
    stn_plan *plan = make_beginning();
    for (int i = 0; i < 3; i++) {
        if (i == 1) wait_until_compiled(plan);
        OK(stn_memory_upload(context, out, grid, points() * sizeof *grid, &error));
        OK(stn_plan_execute(plan, out, out, NULL, &error));
        OK(stn_memory_download(context, got, out, points() * sizeof *got, &error));
        for (size_t k = 0; k < points(); k++) cr_assert(fabs(got[k] - want[k]) <= 1e-11 * (1 + fabs(want[k])));
    }
    cr_expect_eq(plan->online->search.current, 1u);
    stn_plan_destroy(plan);
}

Test(begin, a_stack_compiles_first) {
    set_problem("heat-2d", 2, 2, fixed);
    problem.every = 1;
    stn_plan *plan = make(NULL);
    cr_expect(!plan->begins && !plan->online);
    stn_plan_destroy(plan);
}
