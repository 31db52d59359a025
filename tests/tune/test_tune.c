/* Tuning from end to end, on the emulator or a GPU: the choice is right, remembered and read back;
 * records that are damaged, wrong or of candidates that no longer exist are not used. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../cache/helpers.h"
#include "../expect.h"
#include "base/error.h"
#include "context/context.h"
#include "plan_checks.h"
#include "strategies/table.h"
#include "tune/plan_wisdom.h"
#include "tune/timing_trial.h"

enum { NY = 20, NX = 24, N = NY * NX, STEPS = 3, NOBODY = 65534 };

typedef struct world {
    char *dir;
    stn_context *context;
    stn_stencil *stencil;
    stn_problem problem;
    const char *strategy; /* NULL: auto */
    warning_count warned;
    stn_plan *plans[8]; /* destroyed with the context */
    int nplans;
} world;
static world w;

static void open_context(world *w, const char *dir) {
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_CUDA(0);
    options.cache_dir = dir;
    options.log = count_warning;
    options.log_user = &w->warned;
    stn_status status = stn_context_create(&options, &w->context, &error);
    cr_assert_eq(status, STN_OK, "%s", error.message);
}

static void start(void) {
    w = (world){.dir = make_temp_folder(), .problem = STN_PROBLEM_INIT};
    open_context(&w, w.dir);
    w.problem.stencil = w.stencil = stencil_of("heat-2d:alpha=0.2");
    w.problem.extent[0] = NY, w.problem.extent[1] = NX;
    w.problem.steps = STEPS;
    for (int i = 0; i < 4; i++) w.problem.boundary[i / 2][i % 2].kind = STN_FIXED;
}

static void close_context(world *w) {
    while (w->nplans) stn_plan_destroy(w->plans[--w->nplans]);
    stn_context_destroy(w->context);
}

static void end(void) {
    close_context(&w);
    stn_stencil_destroy(w.stencil);
    remove_temp_folder(w.dir);
}
TestSuite(tune, .init = start, .fini = end);
TestSuite(trial, .init = start, .fini = end);

/* As a new process does. */
static void reopen(world *w, const char *dir) {
    close_context(w);
    open_context(w, dir);
}

static stn_plan *plan_of(world *w, bool tune, double seconds) {
    const stn_plan_options options = {.strategy = w->strategy, .tune = tune, .tune_seconds = seconds};
    return w->plans[w->nplans++] = new_plan(w->context, &w->problem, &options);
}

/* Compares with the host's result at every point. */
static void expect_right(world *w, stn_plan *plan) {
    double in[N], got[N], want[N];
    void *from, *to;
    stn_context *host = context_on(STN_DEVICE_HOST);
    for (int i = 0; i < N; i++) in[i] = sin(0.37 * i) + 0.01 * i;
    stn_problem problem = w->problem;
    problem.in_place = 0;
    stn_plan *definition = new_plan(host, &problem, NULL);
    OK(stn_plan_execute(definition, in, want, NULL, &error));
    from = uploaded(w->context, in, sizeof in);
    OK(stn_memory_alloc(w->context, sizeof in, &to, &error));
    void *result = w->problem.in_place ? from : to;
    OK(stn_plan_execute(plan, from, result, NULL, &error));
    OK(stn_memory_download(w->context, got, result, sizeof got, &error));
    for (int i = 0; i < N; i++) cr_assert(fabs(got[i] - want[i]) <= 1e-12 * (1 + fabs(want[i])), "point %d", i);
    stn_memory_free(w->context, from);
    stn_memory_free(w->context, to);
    stn_plan_destroy(definition);
    stn_context_destroy(host);
}

static void expect_same_choice(const stn_plan *a, const stn_plan *b) {
    cr_assert_str_eq(a->strategy->name, b->strategy->name);
    cr_assert_eq(memcmp(&a->candidate, &b->candidate, sizeof a->candidate), 0);
}

Test(tune, chooses_and_remembers_the_fastest_candidate) {
    stn_plan *tuned = plan_of(&w, true, 300);
    cr_assert_eq(tuned->chosen, STN_CHOSEN_BY_MEASURING);
    cr_assert(measured_rows(tuned) >= 3, "%zu", measured_rows(tuned));
    for (size_t i = 0; i < tuned->ranked; i++)
        if (tuned->ranking[i].measured > 0) cr_assert(tuned->measured <= tuned->ranking[i].measured);
    expect_right(&w, tuned);
    cr_assert_eq(w.warned.warnings, 0u, "%s", w.warned.last);

    world first = w;
    w.nplans = 0;
    open_context(&w, w.dir); /* another process, concurrently */
    stn_plan *recalled = plan_of(&w, false, 0);
    cr_assert_eq(recalled->chosen, STN_CHOSEN_BY_WISDOM);
    cr_assert_eq(recalled->measured, tuned->measured);
    expect_same_choice(recalled, tuned);
    expect_right(&w, recalled);
    expect_described(recalled, STN_TEXT, "measured, remembered");
    expect_described(recalled, STN_JSON, "\"chosen\":\"measured, remembered\"");
    w.problem.steps++; /* another problem */
    stn_plan *other = plan_of(&w, false, 0);
    cr_assert_neq(other->chosen, STN_CHOSEN_BY_WISDOM);
    cr_assert_eq(measured_rows(other), 0u);
    close_context(&first);
}

Test(tune, in_place_and_without_a_folder) {
    reopen(&w, ":memory:");
    w.problem.in_place = 1;
    stn_plan *tuned = plan_of(&w, true, 300);
    cr_assert_eq(tuned->chosen, STN_CHOSEN_BY_MEASURING);
    cr_assert(measured_rows(tuned) >= 3);
    expect_right(&w, tuned);
    stn_plan *later = plan_of(&w, false, 0);
    cr_assert_eq(later->chosen, STN_CHOSEN_BY_ESTIMATE);
    cr_assert_eq(w.warned.warnings, 0u, "%s", w.warned.last);
}

Test(tune, stops_at_the_time_limit) {
    stn_plan *tuned = plan_of(&w, true, 1e-9), *estimated = plan_of(&w, false, 0);
    expect_right(&w, tuned);
    size_t due = 0;
    stn_plan_rank(estimated, NULL, STN_CANDIDATES);
    for (size_t i = 0; i < estimated->ranked; i++) {
        const stn_ranked *row = &estimated->ranking[i];
        bool first = row->applies && row->estimate.seconds <= 3 * estimated->ranking[0].estimate.seconds;
        for (size_t k = 0; k < i; k++) first = first && estimated->ranking[k].strategy != row->strategy;
        due += first;
    }
    cr_expect_gt(due, 1u);
    cr_expect_eq(measured_rows(tuned), due, "the best of each strategy is measured, and nothing else: %zu, not %zu",
                 measured_rows(tuned), due);
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.tune_seconds = -1;
    REFUSED(stn_plan_create(w.context, &w.problem, &options, &tuned, &error), "tune_seconds");
}

/* Replaces all wisdom by this one candidate of the world's problem. */
static void replace_wisdom(world *w, const char *strategy, const stn_candidate *candidate, double seconds) {
    static tune_records records;
    stn_plan *plan = plan_of(w, false, 0);
    records.count = 0;
    tune_record_set(&records, strategy, candidate, seconds);
    OK(stn_wisdom_forget(w->context, NULL, &error));
    tune_remember(plan, &records);
}

Test(tune, skips_malformed_lines) {
    char *text, *line;
    plan_of(&w, true, 1e-9);
    OK(stn_wisdom_export(w.context, &text, &error));
    stn_text changed = STN_TEXT_EMPTY;
    cr_assert_not_null(line = strstr(text, "candidate: "));
    stn_text_append(&changed, text, (size_t)(line - text));
    stn_text_printf(&changed, "candidate: direct soon 1 2 3\n");
    stn_wisdom_end(&changed);
    OK(stn_wisdom_forget(w.context, NULL, &error));
    OK(stn_wisdom_import(w.context, changed.data, changed.size, NULL, &error));
    stn_text_free(text);
    reopen(&w, w.dir);
    stn_plan *plan = plan_of(&w, false, 0);
    cr_assert_eq(plan->chosen, STN_CHOSEN_BY_ESTIMATE);
    expect_right(&w, plan);
    OK(stn_wisdom_export(w.context, &text, &error));
    cr_assert_not_null(strstr(text, "candidate: direct soon 1 2 3\n"), "it is kept");
    stn_text_free(text);
    stn_text_clear(&changed);
}

Test(tune, ignores_unknown_candidates) {
    stn_plan *estimated = plan_of(&w, false, 0);
    stn_candidate other = estimated->candidate;
    other.values[1] += 100;
    replace_wisdom(&w, estimated->strategy->name, &other, 1e-12);
    stn_plan *plan = plan_of(&w, false, 0);
    cr_assert_eq(plan->chosen, STN_CHOSEN_BY_ESTIMATE);
    cr_assert_eq(measured_rows(plan), 0u);
    expect_right(&w, plan);
}

Test(tune, does_not_choose_a_wrong_candidate) {
    stn_plan *estimated = plan_of(&w, false, 0);
    replace_wisdom(&w, estimated->strategy->name, &estimated->candidate, 0);
    stn_plan *plan = plan_of(&w, false, 0);
    cr_assert_neq(memcmp(&plan->candidate, &estimated->candidate, sizeof plan->candidate), 0);
    expect_right(&w, plan);
}

/* A failure to remember times is logged, and the old wisdom stays. */
Test(tune, does_not_overwrite_unreadable_wisdom) {
    static tune_records records;
    const uid_t user = geteuid();
    stn_plan *plan = plan_of(&w, false, 0);
    tune_record_set(&records, plan->strategy->name, &plan->candidate, 1);
    tune_remember(plan, &records);
    if (user == 0) { /* root may read every file: go on as a user who owns the folder */
        give_folder(w.dir, NOBODY);
        cr_assert_eq(seteuid(NOBODY), 0);
    }
    char *before, *after, *path = path_in(w.dir, "wisdom");
    OK(stn_wisdom_export(w.context, &before, &error));
    cr_assert_eq(chmod(path, 0), 0);
    records.list[0].seconds = 2;
    tune_remember(plan, &records);
    cr_assert_gt(w.warned.warnings, 0u);
    cr_assert_not_null(strstr(w.warned.last, "not remembered"), "%s", w.warned.last);
    cr_assert_eq(stn_wisdom_export(w.context, &after, &error), STN_ERROR_IO,
                 "an export fails if the file cannot be read");
    cr_assert_eq(stn_wisdom_import(w.context, before, strlen(before), NULL, &error), STN_ERROR_IO);
    cr_assert_eq(chmod(path, 0600), 0);
    OK(stn_wisdom_export(w.context, &after, &error));
    cr_assert_str_eq(before, after);
    cr_assert_eq(seteuid(user), 0);
    stn_text_free(before), stn_text_free(after), free(path);
}

/* ---- transforms ------------------------------------------------------------------------------ */

static stn_plan *transform_of(world *w, const stn_transform *t, bool tune) {
    const stn_plan_options options = {.strategy = "fft", .tune = tune, .tune_seconds = 300};
    stn_plan **plan = &w->plans[w->nplans++];
    OK(stn_plan_create_fft(w->context, t, &options, plan, &error));
    return *plan;
}

/* A plane wave: its spectrum is a single peak. */
static void expect_one_peak(world *w, stn_plan *plan, int n, int batch, int wave) {
    float *grid = calloc((size_t)(2 * n * batch), sizeof *grid);
    size_t bytes = (size_t)(2 * n * batch) * sizeof *grid;
    void *in, *out;
    cr_assert_not_null(grid);
    for (int i = 0; i < n * batch; i++) {
        double angle = 2 * M_PI * wave * (i % n) / n;
        grid[2 * i] = (float)cos(angle), grid[2 * i + 1] = (float)sin(angle);
    }
    in = uploaded(w->context, grid, bytes);
    OK(stn_memory_alloc(w->context, bytes, &out, &error));
    OK(stn_plan_execute(plan, in, out, NULL, &error));
    OK(stn_memory_download(w->context, grid, out, bytes, &error));
    for (int i = 0; i < n * batch; i++)
        cr_assert(fabs(grid[2 * i] - (i % n == wave ? n : 0)) + fabs(grid[2 * i + 1]) < 2e-6 * n, "point %d: %g%+gi", i,
                  (double)grid[2 * i], (double)grid[2 * i + 1]);
    stn_memory_free(w->context, in);
    stn_memory_free(w->context, out);
    free(grid);
}

Test(tune, a_transform_is_measured_and_remembered) {
    stn_transform t = STN_TRANSFORM_INIT;
    t.rank = 1, t.extent[0] = 1024, t.batch = 6, t.dtype = STN_F32;
    stn_plan *tuned = transform_of(&w, &t, true);
    cr_assert_eq(tuned->chosen, STN_CHOSEN_BY_MEASURING);
    cr_assert(measured_rows(tuned) >= 2, "%zu", measured_rows(tuned));
    for (size_t i = 0; i < tuned->ranked; i++)
        if (tuned->ranking[i].measured > 0) cr_assert(tuned->measured <= tuned->ranking[i].measured);
    expect_one_peak(&w, tuned, 1024, 6, 37);
    cr_assert_eq(w.warned.warnings, 0u, "%s", w.warned.last);
    const stn_candidate fastest = tuned->candidate;
    reopen(&w, w.dir);
    stn_plan *recalled = transform_of(&w, &t, false);
    cr_assert_eq(recalled->chosen, STN_CHOSEN_BY_WISDOM);
    cr_assert_eq(memcmp(&recalled->candidate, &fastest, sizeof fastest), 0);
    expect_one_peak(&w, recalled, 1024, 6, 1000);
    t.direction = STN_INVERSE; /* another transform */
    stn_plan *other = transform_of(&w, &t, false);
    cr_assert_eq(other->chosen, STN_CHOSEN_BY_ESTIMATE);
}

/* ---- one trial ------------------------------------------------------------------------------- */

/* 0: the last row is wrong; 1: the last point is NaN; 2: all points are off by one part in 1e9 */
static int fault;

static stn_status execute_wrongly(stn_plan *plan, const stn_execution *run, stn_error *why) {
    static double grid[N];
    STN_TRY(stn_strategy_direct.execute_part(plan, (stn_part){0, stn_strategy_direct.launches(plan)}, run, why));
    STN_TRY(stn_device_download(plan->context->device, grid, run->out, sizeof grid, why));
    if (fault == 0) memcpy(grid + N - NX, grid, NX * sizeof *grid);
    if (fault == 1) grid[N - 1] = NAN;
    for (size_t i = 0; fault == 2 && i < N; i++) grid[i] *= 1 + 1e-9;
    return stn_device_upload(plan->context->device, run->out, grid, sizeof grid, why);
}

static stn_status fail_to_prepare(stn_plan *plan, stn_error *why) {
    (void)plan;
    return stn_fail_memory(why, "a test", 1);
}

static void build(const stn_plan *plan, tune_trial *trial) {
    tune_trial_build(plan, trial);
    if (trial->missing) OK(stn_compile_batch_try(trial->missing, &error));
    tune_trial_build(plan, trial);
}

static tune_state try_strategy(const stn_strategy *strategy) {
    w.strategy = "direct";
    stn_plan *plan = plan_of(&w, false, 0);
    tune_stage stage;
    tune_trial trial = {.strategy = strategy, .candidate = plan->candidate};
    double difference;
    OK(tune_stage_open(plan, &stage, &error));
    build(plan, &trial);
    tune_trial_check(&stage, &trial, &difference);
    tune_trial_lengthen(&trial, 0);
    tune_time_alternately(&stage, &(tune_trial *){&trial}, 1, 1, INFINITY);
    cr_assert_eq(trial.count, trial.state == TUNE_GOOD, "only what is right is timed");
    tune_trial_clear(&trial);
    tune_stage_close(&stage);
    return trial.state;
}

Test(trial, accepts_a_right_result) { cr_assert_eq(try_strategy(&stn_strategy_direct), TUNE_GOOD); }

Test(trial, rejects_a_wrong_result) {
    stn_strategy liar = stn_strategy_direct;
    liar.execute = execute_wrongly;
    for (fault = 0; fault < 3; fault++) cr_assert_eq(try_strategy(&liar), TUNE_WRONG, "fault %d", fault);
}

Test(trial, skips_a_candidate_that_cannot_be_built) {
    stn_strategy poor = stn_strategy_direct;
    poor.prepare = fail_to_prepare;
    cr_assert_eq(try_strategy(&poor), TUNE_SKIPPED);
}

Test(trial, scales_fewer_launches_to_the_whole_run) {
    w.problem.steps = 300;
    w.strategy = "direct";
    stn_plan *plan = plan_of(&w, false, 0);
    tune_trial trial = {.strategy = &stn_strategy_direct, .candidate = plan->candidate};
    build(plan, &trial);
    cr_assert_eq(trial.state, TUNE_NEW, "%s", trial.why.message);
    uint64_t steps = trial.plan->task.steps;
    cr_assert(steps < 300, "%llu steps", (unsigned long long)steps);
    cr_assert(fabs(trial.scale * (double)steps / 300 - 1) < 0.25, "scale %g of %llu steps", trial.scale,
              (unsigned long long)steps);
    tune_trial_clear(&trial);
}
