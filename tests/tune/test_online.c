/* ONLINE plans from end to end on the emulator, with simulated speed: results are right whichever
 * candidate runs, the fastest candidate is found, a wrong one never wins, and a stream capture
 * freezes the choice. */
#include <unistd.h>

#include "emulated.h"
#include "strategies/table.h"
#include "tune/online_tuning.h"
#include "tune/tuner.h"

enum { N = 768, STEPS = 16 };

static double grid[N], want[N];

static void start(void) {
    const stn_context_options options = {.device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:", .log = count_warning};
    OK(stn_context_create(&options, &context, &error));
    OK(stn_stencil_parse("heat-1d:alpha=0.2", &stencil, &error));
    problem = (stn_problem)STN_PROBLEM_INIT;
    problem.stencil = stencil;
    problem.extent[0] = N, problem.steps = STEPS;
    for (int side = 0; side < 2; side++) problem.boundary[0][side].kind = STN_FIXED;
    for (int i = 0; i < N; i++) grid[i] = sin(0.37 * i) + 0.01 * i;
    define(grid, want);
    in = uploaded(context, grid, sizeof grid);
    OK(stn_memory_alloc(context, sizeof grid, &out, &error));
}
TestSuite(online, .init = start, .fini = end);

/* A simulated time that the estimate does not know: it depends on the candidate's values. */
static double play(void *user, const stn_strategy *strategy, const stn_candidate *candidate) {
    double seconds = 1;
    (void)user, (void)strategy;
    for (int i = 0; i < STN_CANDIDATE_VALUES; i++) seconds += 0.3 * ((candidate->values[i] * 7 + i) % 5);
    return seconds;
}

static stn_plan *plan_with(const tune_simulation *player) {
    stn_plan *plan;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ONLINE;
    options.strategy = "direct";
    options.executions = 1000;
    context->play = player;
    OK(stn_plan_create(context, &problem, &options, &plan, &error));
    cr_assert_not_null(plan->online, "there is nothing to try");
    tune_search *search = &plan->online->search;
    cr_assert_geq(search->count, 3u, "%zu arms", search->count);
    /* About as long as simulated; the others are faster, so worth a trial. */
    for (size_t i = 0; i < search->count; i++) search->candidates[i].predicted = i ? 5 : 10;
    return plan;
}

static void expect_right(stn_plan *plan, int execution) {
    double got[N];
    OK(stn_plan_execute(plan, in, out, NULL, &error));
    OK(stn_memory_download(context, got, out, sizeof got, &error));
    for (int i = 0; i < N; i++)
        cr_assert(fabs(got[i] - want[i]) <= 1e-12 * (1 + fabs(want[i])), "execution %d, point %d: %g and not %g",
                  execution, i, got[i], want[i]);
}

static bool is_finished(const stn_compile_batch *batch) { return !batch || atomic_load(&batch->finished); }

static void wait_until_built(const stn_plan *plan) {
    for (size_t i = 1; i < plan->online->search.count; i++)
        while (tune_online_is_unbuilt(&plan->online->candidates[i]) && !is_finished(plan->online->candidates[i].batch))
            usleep(1000);
    while (!is_finished(plan->online->compare_batch)) usleep(1000);
}

static double best_played(const stn_plan *plan) {
    double best = INFINITY;
    for (size_t i = 0; i < plan->online->search.count; i++)
        best = fmin(best, play(NULL, NULL, &plan->online->candidates[i].config));
    return best;
}

static void expect_best(stn_plan *plan) {
    cr_expect_leq(play(NULL, NULL, &stn_tuner_default.now(plan)->candidate), best_played(plan) / TUNE_FASTER_RATIO);
    cr_expect(tune_search_over(&plan->online->search));
    expect_described(plan, STN_TEXT, "and no more");
    expect_described(plan, STN_JSON, "\"over\":true");
}

Test(online, executions_try_candidates_and_stay_with_the_fastest) {
    const tune_simulation player = {play, NULL, INFINITY};
    stn_plan *plan = plan_with(&player);
    cr_assert_eq(tune_online_chunks(plan), 1u);
    expect_right(plan, 0); /* while others compile */
    wait_until_built(plan);
    for (int i = 1; i < 60; i++) expect_right(plan, i);
    expect_best(plan);
    cr_expect_eq(warnings, 0u);
    stn_plan_destroy(plan);
}

/* Units of a few microseconds: several are timed together, and the bound on losses hardly allows
 * one challenger. */
static double play_short(void *user, const stn_strategy *strategy, const stn_candidate *candidate) {
    return 2e-6 * play(user, strategy, candidate);
}

Test(online, short_executions_are_timed_together_and_hardly_tried) {
    const tune_simulation player = {play_short, NULL, INFINITY};
    stn_plan *plan = plan_with(&player);
    stn_online *o = plan->online;
    unsigned most = 0;
    wait_until_built(plan);
    /* unlike times on the emulator */
    for (size_t i = 0; i < o->search.count; i++) o->search.candidates[i].predicted *= 1e-3;
    for (int i = 0; i < 60; i++) expect_right(plan, i);
    for (size_t i = 1; i < o->search.count; i++)
        cr_expect(!(o->search.candidates[i].known > 0), "a check takes more than a thousand of them could win");
    o->search.known = 1e6, o->over = false; /* more executions than announced */
    for (int i = 0; i < 120; i++) {
        expect_right(plan, i);
        if (o->left + 1 > most) most = o->left + 1;
    }
    const double one = tune_search_expects(&o->search, 0);
    cr_expect_geq(most, 3u, "%u", most);
    cr_expect_lt(o->search.lost, TUNE_REGRET_SHORT * 1e6 * one, "%g of %g", o->search.lost, one);
    cr_expect_lt(one, TUNE_SHORT);
    stn_plan_destroy(plan);
}

/* Pending work runs only when something waits for it, so the plan itself has to wait now and
 * then. */
Test(online, works_if_nothing_waits_for_executions) {
    const tune_simulation player = {play, NULL, INFINITY};
    end();
    setenv("STENTOR_EMULATOR_BUSY", "1", 1);
    start();
    unsetenv("STENTOR_EMULATOR_BUSY");
    const stn_driver_functions *call = stn_driver_table(context->driver);
    stn_plan *plan = plan_with(&player);
    stn_cu_stream stream;
    wait_until_built(plan);
    OK(stn_device_enter(context->device, &error));
    cr_assert_eq(call->cuStreamCreate(&stream, 0), 0u);
    stn_device_leave(context->device);
    for (int i = 0; i < 150; i++) OK(stn_plan_execute(plan, in, out, stream, &error));
    expect_best(plan);
    OK(stn_synchronize(context, stream, &error));
    expect_right(plan, 150);
    OK(stn_device_enter(context->device, &error));
    call->cuStreamDestroy(stream);
    stn_device_leave(context->device);
    stn_plan_destroy(plan);
}

Test(online, works_with_chunks_of_one_execution) {
    const tune_simulation player = {play, NULL, 1e-12};
    stn_stencil_destroy(stencil);
    OK(stn_stencil_parse("box-2d49p", &stencil, &error));
    problem.stencil = stencil, problem.steps = 32;
    problem.extent[0] = 24, problem.extent[1] = 32;
    for (int side = 0; side < 2; side++) problem.boundary[1][side].kind = STN_FIXED;
    define(grid, want);
    stn_plan *plan = plan_with(&player);
    cr_assert_geq(tune_online_chunks(plan), 8u);
    wait_until_built(plan);
    /* The current candidate changes between the chunks of one execution. */
    for (int i = 0; i < 3; i++) expect_right(plan, i);
    expect_best(plan);
    cr_expect_eq(warnings, 0u);
    stn_plan_destroy(plan);
}

static stn_status execute_wrongly(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *why) {
    double got[N];
    stn_status status = stn_strategy_direct.execute_part(plan, part, run, why);
    if (status == STN_OK) status = stn_memory_download(plan->context, got, run->out, sizeof got, why);
    got[0] += 1e-6; /* All samples contain the first element. */
    return status == STN_OK ? stn_memory_upload(plan->context, run->out, got, sizeof got, why) : status;
}

/* A plan whose first `liars` other candidates are wrong. */
static stn_plan *plan_with_liars(const tune_simulation *player, size_t liars) {
    static stn_strategy liar;
    liar = stn_strategy_direct;
    liar.execute_part = execute_wrongly;
    stn_plan *plan = plan_with(player);
    wait_until_built(plan);
    for (size_t i = 1; i < plan->online->search.count && i <= liars; i++) {
        online_candidate *candidate = &plan->online->candidates[i];
        /* Executions build it, or it was built from the plan's own kernels. */
        candidate->strategy = &liar;
        if (candidate->plan) candidate->plan->strategy = &liar;
    }
    return plan;
}

Test(online, a_wrong_candidate_never_wins_and_is_reported) {
    const tune_simulation player = {play, NULL, INFINITY};
    stn_plan *plan = plan_with_liars(&player, TUNE_CANDIDATES);
    stn_online *o = plan->online;
    for (int i = 0; i < 40; i++) expect_right(plan, i);
    cr_expect_eq(o->search.current, 0u);
    cr_expect_geq(warnings, 2u, "each is told");
    cr_expect(tune_search_over(&o->search));
    stn_plan_destroy(plan);
}

/* A difference in a sample is verified on the whole result before it is reported. */
Test(online, verifies_a_wrong_sample_on_the_whole_result) {
    const tune_simulation player = {play, NULL, INFINITY};
    stn_plan *plan = plan_with_liars(&player, 1);
    stn_online *o = plan->online;
    cr_assert_eq(o->compared.every, 1, "so small a grid is compared whole");
    o->compared.every = 2;
    for (int i = 0; i < 60; i++) expect_right(plan, i);
    cr_expect_eq(o->compared.every, 1);
    cr_expect_eq(warnings, 1u, "%u", warnings);
    cr_expect_eq(o->search.candidates[1].state, TUNE_CANDIDATE_OUT);
    expect_best(plan);
    stn_plan_destroy(plan);
}

Test(online, sets_new_weights_of_all_candidates) {
    const tune_simulation player = {play, NULL, INFINITY};
    stn_plan *plan = plan_with(&player);
    wait_until_built(plan);
    expect_right(plan, 0);
    const double weights[] = {0.1, 0.8, 0.1};
    OK(stn_plan_set_weights(plan, 3, weights, &error));
    stn_stencil_destroy(stencil);
    OK(stn_stencil_parse("heat-1d:alpha=0.1", &stencil, &error));
    problem.stencil = stencil;
    define(grid, want);
    for (int i = 1; i < 60; i++) expect_right(plan, i);
    expect_best(plan);
    stn_plan_destroy(plan);
}

Test(online, a_captured_stream_freezes_the_choice) {
    const tune_simulation player = {play, NULL, INFINITY};
    const stn_driver_functions *call = stn_driver_table(context->driver);
    stn_plan *plan = plan_with(&player);
    wait_until_built(plan); /* Loading modules would end the capture. */
    expect_right(plan, 0);
    stn_cu_stream stream;
    stn_cu_graph graph;
    OK(stn_device_enter(context->device, &error));
    cr_assert_eq(call->cuStreamCreate(&stream, 0), 0u);
    cr_assert_eq(call->cuStreamBeginCapture(stream, 0), 0u);
    OK(stn_plan_execute(plan, in, out, stream, &error));
    cr_assert_eq(call->cuStreamEndCapture(stream, &graph), 0u, "nothing was measured or waited for");
    call->cuGraphDestroy(graph);
    call->cuStreamDestroy(stream);
    stn_device_leave(context->device);
    const size_t current = plan->online->search.current;
    for (int i = 1; i < 20; i++) expect_right(plan, i);
    cr_expect_eq(plan->online->search.current, current);
    stn_plan_destroy(plan);
}

Test(online, can_be_closed_while_candidates_compile) {
    const tune_simulation player = {play, NULL, INFINITY};
    stn_plan *plan = plan_with(&player);
    expect_right(plan, 0);
    stn_plan_destroy(plan);
}

Test(online, is_off_by_default) {
    stn_plan *plan;
    problem.steps = 100 * 1000 * 1000;
    OK(stn_plan_create(context, &problem, NULL, &plan, &error));
    cr_expect_null(plan->online, "a long run keeps its choice too");
    stn_plan_destroy(plan);
}

Test(online, is_off_if_a_run_cannot_be_repeated) {
    stn_plan *plan;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ONLINE;
    problem.in_place = 1;
    OK(stn_plan_create(context, &problem, &options, &plan, &error));
    cr_expect(!plan->online);
    stn_plan_destroy(plan);
}
