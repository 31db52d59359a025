/* ONLINE plans from end to end on the emulator, with a simulated clock: results are right whichever
 * candidate runs, trials keep their bound, the fastest candidate is found, a wrong one never runs,
 * and a stream capture freezes the choice. */
#include <unistd.h>

#include "../cache/helpers.h"
#include "emulated.h"
#include "strategies/table.h"
#include "tune/online_tuning.h"
#include "tune/tuner.h"

enum { MAX_POINTS = 24 * 32, EVENTS = 64 };

static double grid[MAX_POINTS], want[MAX_POINTS];
static int points;

/* ---- the simulated clock --------------------------------------------------------------------- */

static struct {
    double now, scale, noise;
    double load; /* The first run of a plan takes so many times as long. */
    const stn_plan *loaded[16];
    uint64_t seed, state;
    const stn_candidate *wrong[1 + TUNE_RIVALS]; /* candidates that give wrong results */
    stn_cu_event event[EVENTS];
    double at[EVENTS];
} sim;

static double random_unit(void) {
    sim.state = sim.state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(sim.state >> 11) * 0x1p-53;
}

/* The true seconds of a unit, which depend on the candidate's values. */
static double truth(const stn_candidate *candidate) {
    uint64_t hash = sim.seed;
    for (int i = 0; i < STN_CANDIDATE_VALUES; i++)
        hash = (hash + (uint64_t)candidate->values[i] + 1) * UINT64_C(0x9E3779B97F4A7C15), hash ^= hash >> 29;
    return sim.scale * (1 + 0.25 * (double)(hash % 8));
}

static int index_of(stn_cu_event event) {
    int i = 0;
    while (i < EVENTS - 1 && sim.event[i] && sim.event[i] != event) i++;
    sim.event[i] = event;
    return i;
}

static stn_cu_result record(stn_cu_event event, stn_cu_stream stream) {
    (void)stream;
    sim.at[index_of(event)] = sim.now;
    return 0;
}
static stn_cu_result elapsed(float *milliseconds, stn_cu_event start, stn_cu_event end) {
    *milliseconds = (float)(1e3 * (sim.at[index_of(end)] - sim.at[index_of(start)]));
    return 0;
}

static bool is_first(const stn_plan *plan) {
    int i = 0;
    while (i < 15 && sim.loaded[i] && sim.loaded[i] != plan) i++;
    const bool first = sim.loaded[i] != plan;
    sim.loaded[i] = plan;
    return first;
}

static stn_status execute(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *why) {
    double got[MAX_POINTS];
    stn_status status = stn_strategy_direct.execute_part(plan, part, run, why);
    sim.now +=
        truth(&plan->candidate) * (1 + sim.noise * (2 * random_unit() - 1)) * (is_first(plan) ? 1 + sim.load : 1);
    for (int i = 0; i <= TUNE_RIVALS && status == STN_OK; i++) {
        if (!sim.wrong[i] || memcmp(sim.wrong[i], &plan->candidate, sizeof plan->candidate) != 0) continue;
        OK(stn_memory_download(plan->context, got, run->out, (size_t)points * sizeof *got, why));
        got[points - 1] += 1e-6;
        status = stn_memory_upload(plan->context, run->out, got, (size_t)points * sizeof *got, why);
    }
    return status;
}

static char *folder; /* of wisdom; NULL: none */
static void start(void) {
    const stn_context_options options = {
        .device = STN_DEVICE_CUDA(0), .cache_dir = folder ? folder : ":memory:", .log = count_warning};
    OK(stn_context_create(&options, &context, &error));
    stn_driver_functions *call = (stn_driver_functions *)(uintptr_t)stn_driver_table(context->driver);
    call->cuEventRecord = record, call->cuEventElapsedTime = elapsed;
    OK(stn_stencil_parse("heat-2d:alpha=0.2", &stencil, &error));
    problem = (stn_problem)STN_PROBLEM_INIT;
    problem.stencil = stencil;
    problem.extent[0] = 8, problem.extent[1] = 24, problem.steps = 6;
    points = 8 * 24;
    for (int side = 0; side < 4; side++) problem.boundary[side / 2][side % 2].kind = STN_FIXED;
    for (int i = 0; i < MAX_POINTS; i++) grid[i] = sin(0.37 * i) + 0.01 * i;
    define(grid, want);
    in = uploaded(context, grid, sizeof grid);
    OK(stn_memory_alloc(context, sizeof grid, &out, &error));
    sim.scale = 1;
}
TestSuite(online, .init = start, .fini = end);

static void start_with_folder(void) {
    folder = make_temp_folder();
    start();
}
static void end_with_folder(void) {
    end();
    remove_temp_folder(folder);
}

static stn_plan *plan_for(uint64_t executions) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ONLINE;
    options.strategy = "direct";
    options.executions = executions;
    stn_plan *plan = new_plan(context, &problem, &options);
    cr_assert_not_null(plan->online, "there is nothing to try");
    return plan;
}

/* Waits until kernels are compiled. From then on the clock is simulated, and estimates are
 * exact. */
static stn_plan *simulated(uint64_t executions) {
    static stn_strategy player;
    player = stn_strategy_direct;
    player.execute_part = execute;
    stn_plan *plan = plan_for(executions);
    stn_online *o = plan->online;
    while (!atomic_load(&o->check_kernels->finished)) usleep(1000);
    cr_assert_geq(o->count, 2u, "%zu candidates", o->count);
    plan->strategy = plan->named_strategy = &player;
    for (size_t i = 0; i < o->count; i++) {
        tune_trial *each = &o->trials[i];
        while (each->missing && !atomic_load(&each->missing->finished)) usleep(1000);
        each->strategy = &player;
        if (each->plan) each->plan->strategy = &player;
        each->predicted = truth(&each->candidate);
    }
    o->seconds = o->trials[0].predicted;
    return plan;
}

static void expect_right(stn_plan *plan, int execution) {
    double got[MAX_POINTS];
    OK(stn_plan_execute(plan, in, out, NULL, &error));
    OK(stn_memory_download(context, got, out, sizeof got, &error));
    for (int i = 0; i < points; i++)
        cr_assert(fabs(got[i] - want[i]) <= 1e-12 * (1 + fabs(want[i])), "execution %d, point %d: %g and not %g",
                  execution, i, got[i], want[i]);
}

/* All rivals were tried, and the fastest of those that are right runs. */
static void expect_best(stn_plan *plan) {
    const stn_online *o = plan->online;
    double best = INFINITY;
    for (size_t i = 1; i < o->count; i++) cr_expect_gt(o->trials[i].run_seconds, 0.0, "candidate %zu was not tried", i);
    for (size_t i = 0; i < o->count; i++)
        if (o->trials[i].state == TUNE_GOOD) best = fmin(best, truth(&o->trials[i].candidate));
    cr_expect_leq(truth(&stn_tuner_default.online_current(plan)->candidate), 1.001 * best);
    expect_described(plan, STN_TEXT, " others tried, and no more");
    expect_described(plan, STN_JSON, "\"over\":true");
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* The invariant: estimates that are off by up to TUNE_WORST, noise, wrong candidates, executions of
 * microseconds or seconds, whose number is known or not. */
Test(online, trials_keep_their_bound_and_results_are_right) {
    static const int numbers[] = {0, 20, 400, 1000, 3000};
    for (uint64_t seed = 1; seed <= 25; seed++) {
        sim.seed = sim.state = seed;
        sim.scale = random_unit() < 0.3 ? 2e-5 * random_unit() : random_unit();
        sim.noise = 0.004 * random_unit();
        memset(sim.wrong, 0, sizeof sim.wrong);
        const int known = numbers[(int)(5 * random_unit())], run = known == 20 ? 20 : 30;
        stn_plan *plan = simulated((uint64_t)known);
        stn_online *o = plan->online;
        const double first = truth(&o->trials[0].candidate) * (1 + sim.noise), begun = sim.now;
        const double before = random_unit() < 0.5 ? floor(3000 * random_unit()) : 0;
        o->parts_done = before; /* without trials until now */
        o->seconds *= 0.5 + random_unit();
        unsigned wrong = 0;
        for (size_t i = 1; i < o->count; i++) {
            tune_trial *each = &o->trials[i];
            each->predicted *= (1 + 2 * pow(random_unit(), 3)) / TUNE_WORST;
            sim.wrong[i] = random_unit() < 0.2 ? &each->candidate : NULL;
        }
        for (int i = 0; i < run; i++) expect_right(plan, i);
        for (size_t i = 1; i < o->count; i++) {
            wrong += o->trials[i].state == TUNE_WRONG;
            cr_expect(!sim.wrong[i] || o->trials[i].state != TUNE_GOOD, "seed %d", (int)seed);
        }
        cr_expect_eq(warnings, wrong, "seed %d: each is told once", (int)seed);
        warnings = 0;
        const double units = fmax(before + run, known);
        cr_expect_leq(o->trial_seconds, TUNE_SHARE * units * first, "seed %d: %g of %g", (int)seed, o->trial_seconds,
                      units * first);
        cr_expect_leq(sim.now - begun, (run + TUNE_SHARE * units) * first, "seed %d", (int)seed);
        cr_expect_leq(truth(&stn_tuner_default.online_current(plan)->candidate), truth(&plan->candidate), "seed %d",
                      (int)seed);
        if (known == 3000 && sim.scale > 1e-3) expect_best(plan);
        stn_plan_destroy(plan);
    }
}

/* Rivals that take as long as the bound allows, and a number of executions for a trial or two. */
Test(online, the_sum_of_all_trials_keeps_the_bound) {
    for (sim.seed = 1; sim.seed < 10; sim.seed++) {
        stn_plan *plan = simulated(400);
        stn_online *o = plan->online;
        for (size_t i = 1; i < o->count; i++) o->trials[i].predicted /= TUNE_WORST;
        for (int i = 0; i < 10; i++) expect_right(plan, i);
        cr_expect_leq(o->trial_seconds, 400 * TUNE_SHARE * truth(&plan->candidate), "seed %d", (int)sim.seed);
        stn_plan_destroy(plan);
    }
}

/* Its code is loaded then. */
Test(online, finds_a_rival_whose_first_run_is_slow) {
    sim.load = 2;
    for (sim.seed = 1; sim.seed < 6; sim.seed++) {
        memset(sim.loaded, 0, sizeof sim.loaded);
        stn_plan *plan = simulated(2000);
        for (int i = 0; i < 10; i++) expect_right(plan, i);
        expect_best(plan);
        stn_plan_destroy(plan);
    }
}

/* A result may be wrong for these data alone, such as NaN, which transforms spread. */
Test(online_kept, remembers_no_wrong_result, .init = start_with_folder, .fini = end_with_folder) {
    sim.seed = 3;
    stn_plan *plan = simulated(2000);
    const stn_candidate candidate = plan->online->trials[1].candidate;
    sim.wrong[1] = &candidate;
    for (int i = 0; i < 10; i++) expect_right(plan, i);
    cr_expect_eq(plan->online->trials[1].state, TUNE_WRONG);
    stn_plan_destroy(plan);
    sim.wrong[1] = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "direct";
    plan = new_plan(context, &problem, &options);
    cr_expect_gt(plan->ranking[0].measured, 0.0);
    for (size_t i = 0; i < plan->ranked; i++)
        if (!memcmp(&plan->ranking[i].candidate, &candidate, sizeof candidate)) cr_expect(plan->ranking[i].applies);
    stn_plan_destroy(plan);
}

Test(online, tries_nothing_if_few_executions_are_known_to_come) {
    stn_plan *plan = simulated(10);
    for (int i = 0; i < 20; i++) expect_right(plan, i);
    cr_expect_eq(plan->online->trial_seconds, 0.0);
    expect_described(plan, STN_TEXT, "0 of 3 others tried, and no more");
    stn_plan_destroy(plan);
}

/* An execution is long by estimate, so that it is run in chunks. */
Test(online, works_with_chunks_of_one_execution) {
    stn_stencil_destroy(stencil);
    OK(stn_stencil_parse("box-2d49p", &stencil, &error));
    problem.stencil = stencil, problem.steps = 32;
    problem.extent[0] = 24, problem.extent[1] = 32;
    points = MAX_POINTS;
    define(grid, want);
    stn_machine *slow = &context->machine;
    slow->copy_bandwidth *= 1e-5, slow->clock *= 1e-5, slow->launch_seconds *= 1e5;
    for (int unit = 0; unit < STN_UNIT_COUNT; unit++) slow->flops[unit] *= 1e-5;
    stn_plan *plan = simulated(100);
    cr_assert_geq(tune_online_chunks(plan), 8u);
    /* The current candidate changes between the chunks of one execution. */
    for (int i = 0; i < 3; i++) expect_right(plan, i);
    expect_best(plan);
    cr_expect_eq(warnings, 0u);
    stn_plan_destroy(plan);
}

Test(online, sets_new_weights_of_all_candidates) {
    for (int before = 0; before < 7; before += 6) {
        stn_plan *plan = simulated(2000);
        for (int i = 0; i < before; i++) expect_right(plan, i);
        stn_stencil_destroy(stencil);
        OK(stn_stencil_parse(before ? "heat-2d:alpha=0.1" : "heat-2d:alpha=0.15", &stencil, &error));
        double weights[5];
        for (int i = 0; i < 5; i++) weights[i] = stn_stencil_taps(stencil)[i].weight;
        OK(stn_plan_set_weights(plan, 5, weights, &error));
        cr_assert_not_null(plan->online);
        problem.stencil = stencil;
        define(grid, want);
        for (int i = 0; i < 10; i++) expect_right(plan, i);
        expect_best(plan);
        stn_plan_destroy(plan);
    }
}

Test(online, a_captured_stream_freezes_the_choice) {
    stn_plan *plan = simulated(2000);
    expect_right(plan, 0);
    capture(plan);
    const size_t current = plan->online->current;
    const double spent = plan->online->trial_seconds;
    for (int i = 1; i < 20; i++) expect_right(plan, i);
    cr_expect_eq(plan->online->current, current);
    cr_expect_eq(plan->online->trial_seconds, spent);
    stn_plan_destroy(plan);
}

Test(online, can_be_closed_while_candidates_compile) {
    stn_plan *plan = plan_for(1000);
    expect_right(plan, 0);
    stn_plan_destroy(plan);
}

Test(online, is_off_by_default) {
    problem.steps = 10 * 1000;
    stn_plan *plan = new_plan(context, &problem, NULL);
    cr_expect_null(plan->online, "a long run keeps its choice too");
    stn_plan_destroy(plan);
}

Test(online, is_off_if_a_run_cannot_be_repeated) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.mode = STN_MODE_ONLINE;
    problem.in_place = 1;
    stn_plan *plan = new_plan(context, &problem, &options);
    cr_expect(!plan->online);
    stn_plan_destroy(plan);
}
