/* What a plan does when its strategy refuses: candidates that cannot be prepared, new weights that
 * were taken by half. Plans are made for stencils of a kind that has one strategy, defined here,
 * which refuses what a test tells it to. */
#include <stdlib.h>

#include "../expect.h"
#include "base/error.h"
#include "kinds/kinds.h"
#include "plan/plan.h"

enum { CANDIDATES = 4, TAPS = 3, WORKSPACE = 4096, SLOW = 100 };

/* The behaviour that the test prescribes for the strategy, and counts of the calls. */
static struct {
    stn_status answers[CANDIDATES]; /* of prepare, for each candidate */
    const char *why[CANDIDATES];    /* NULL: it will not do */
    int prepared, released, unclean;
    int last_prepared;
    int weights_refused; /* number of times that an update of weights fails halfway */
    int weights_asked;
    stn_status refusal; /* with this status */
    size_t more;        /* bytes of workspace that prepare requests beyond WORKSPACE */
    /* predicted error of the first candidate with a weight of 2 or more */
    double error;
    int deterministic;
    bool any_strategy; /* there are two, and the plan may have either */
} told;

/* The state that the strategy builds: weights, as in a kernel's table. */
typedef struct built {
    double weights[TAPS];
    int candidate;
} built;

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t size) {
    (void)task, (void)machine, (void)reason, (void)size;
    return true;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    (void)task, (void)machine, (void)most;
    for (int i = 0; i < CANDIDATES; i++) list[i] = (stn_candidate){{i}};
    return CANDIDATES;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *e) {
    (void)machine;
    *e = (stn_estimate){.bytes = 1, .launches = 1, .seconds = 1 + candidate->values[0], .error = 1e-16};
    for (size_t k = 0; k < task->ntaps && !candidate->values[0]; k++)
        if (task->taps[k].weight >= 2) e->error = told.error;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    int candidate = plan->candidate.values[0];
    told.prepared++;
    told.last_prepared = candidate;
    if (plan->state || plan->kernels->count || plan->workspace_size) told.unclean++;
    built *made = calloc(1, sizeof *made);
    if (!made) return stn_fail_memory(error, "a plan's state", sizeof *made);
    made->candidate = candidate;
    for (size_t k = 0; k < plan->task.ntaps; k++) made->weights[k] = plan->task.taps[k].weight;
    plan->state = made;
    plan->kernels->list = calloc(1, sizeof *plan->kernels->list);
    cr_assert_not_null(plan->kernels->list);
    plan->kernels->count = 1; /* half of it is there before it turns out not to do */
    plan->workspace_size = WORKSPACE + told.more + (size_t)candidate;
    if (!told.answers[candidate]) return STN_OK;
    if (told.why[candidate]) return stn_fail(error, told.answers[candidate], "%s", told.why[candidate]);
    return stn_fail(error, told.answers[candidate], "candidate %d will not do", candidate);
}

static void release(stn_plan *plan) {
    if (plan->state) told.released++;
    free(plan->state);
    plan->state = NULL;
}

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    (void)plan, (void)run, (void)error;
    return STN_OK;
}

static stn_status set_weights(stn_plan *plan, stn_error *error) {
    built *made = plan->state;
    bool refuse = told.weights_asked++ < told.weights_refused;
    for (size_t k = 0; k < (refuse ? 1 : plan->task.ntaps); k++) made->weights[k] = plan->task.taps[k].weight;
    return refuse ? stn_fail(error, told.refusal, "the copy of weight 1 failed") : STN_OK;
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) { (void)plan, (void)format, (void)text; }
static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    (void)task;
    stn_text_printf(text, "candidate %d", candidate->values[0]);
}

static const stn_strategy refusing = {.name = "host",
                                      .applies = applies,
                                      .candidates = candidates,
                                      .estimate = estimate,
                                      .prepare = prepare,
                                      .execute = execute,
                                      .set_weights = set_weights,
                                      .describe = describe,
                                      .release = release,
                                      .name_candidate = name_candidate};
/* Predicted to be slower, by a lower bound too, so that a search for the best leaves it out. */
static void estimate_slow(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                          stn_estimate *e) {
    estimate(task, machine, candidate, e);
    e->seconds += SLOW;
}
static double least_seconds(const stn_task *task, const stn_machine *machine) {
    (void)task, (void)machine;
    return SLOW;
}
static stn_status prepare_slow(stn_plan *plan, stn_error *error) {
    (void)error;
    plan->state = calloc(1, sizeof(built));
    return plan->state ? STN_OK : STN_ERROR_OUT_OF_MEMORY;
}
static const stn_strategy slow = {.name = "slow",
                                  .applies = applies,
                                  .candidates = candidates,
                                  .estimate = estimate_slow,
                                  .least_seconds = least_seconds,
                                  .prepare = prepare_slow,
                                  .execute = execute,
                                  .set_weights = set_weights,
                                  .describe = describe,
                                  .name_candidate = name_candidate};
static const stn_strategy *const strategies[] = {&refusing, NULL}, *const both_strategies[] = {&refusing, &slow, NULL};

static stn_kind kind;

static stn_context *context;
static stn_stencil *stencil;
static stn_plan *plan;

static stn_status make_plan(void) {
    stn_plan_options choice = STN_PLAN_OPTIONS_INIT;
    stn_problem p = STN_PROBLEM_INIT;
    choice.strategy = told.any_strategy ? "auto" : "host";
    choice.deterministic = told.deterministic;
    context = context_on(STN_DEVICE_HOST);
    p.stencil = stencil = stencil_of("heat-1d");
    p.extent[0] = 40;
    kind = stn_kind_stencil;
    kind.strategies = told.any_strategy ? both_strategies : strategies;
    return stn_plan_make(context, &kind, &p, &choice, &plan, &error);
}

static void end(void) {
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
    plan = NULL, stencil = NULL, context = NULL;
}
TestSuite(refused, .fini = end);

Test(refused, the_next_candidate_starts_anew) {
    told.answers[0] = STN_ERROR_UNSUPPORTED;
    told.answers[1] = STN_ERROR_NO_COMPILER;
    OK(make_plan());
    cr_expect_eq(told.prepared, 3);
    cr_expect_eq(plan->candidate.values[0], 2, "the cheapest that will do");
    cr_expect_eq(told.released, 2, "what the refused ones had built is freed");
    cr_expect_eq(told.unclean, 0, "a candidate found the state, kernels or workspace of the one before");
    cr_expect_eq(plan->kernels->count, 1u);
    cr_expect_eq(stn_plan_workspace_size(plan), (size_t)WORKSPACE + 2);
    cr_expect_eq(plan->estimate.seconds, 3, "what it predicts is its own");
    cr_expect_eq(((built *)plan->state)->candidate, 2);
    end();
    cr_expect_eq(told.released, 3);
}

Test(refused, all_of_them) {
    for (int i = 0; i < CANDIDATES; i++) told.answers[i] = i ? STN_ERROR_NO_COMPILER : STN_ERROR_UNSUPPORTED;
    cr_expect_eq(make_plan(), STN_ERROR_UNSUPPORTED);
    cr_expect_null(plan);
    cr_expect_str_eq(error.message, "candidate 0 will not do", "the first one's story: %s", error.message);
    cr_expect(told.prepared == CANDIDATES && told.released == CANDIDATES && told.unclean == 0);
}

/* A plan looks for the best candidate alone, and for the others once that is refused. */
Test(refused, strategies_that_cannot_be_the_best_are_tried_last) {
    told.any_strategy = true;
    for (int i = 0; i < CANDIDATES; i++) told.answers[i] = STN_ERROR_UNSUPPORTED;
    OK(make_plan());
    cr_expect(plan->strategy == &slow && !plan->candidate.values[0]);
    cr_expect_eq(told.prepared, CANDIDATES, "each refused candidate is prepared once");
    cr_expect_eq(plan->ranked, 2u * CANDIDATES);
}

Test(refused, descriptions_have_strategies_that_cannot_be_the_best) {
    char *text;
    told.any_strategy = true;
    OK(make_plan());
    cr_expect(plan->strategy == &refusing && plan->ranked == CANDIDATES, "the other strategy is not ranked");
    for (int format = STN_TEXT; format <= STN_JSON; format++) {
        OK(stn_plan_describe(plan, (stn_format)format, &text, &error));
        int rows = 0;
        for (const char *at = text; (at = strstr(at, "slow")); at++) rows++;
        cr_expect_eq(rows, CANDIDATES, "%s", text);
        stn_text_free(text);
    }
}

Test(refused, for_want_of_memory_no_other_is_tried) {
    told.answers[0] = STN_ERROR_UNSUPPORTED;
    told.answers[1] = STN_ERROR_OUT_OF_MEMORY;
    cr_expect_eq(make_plan(), STN_ERROR_OUT_OF_MEMORY);
    cr_expect_str_eq(error.message, "candidate 1 will not do");
    cr_expect(told.prepared == 2 && told.released == 2);
}

/* A candidate that needs more resources than a multiprocessor has is dropped, and the next one is
 * tried; any other failure makes the plan fail. */
Test(refused, resources_of_a_multiprocessor_are_told_and_the_next_is_tried) {
    told.answers[0] = STN_ERROR_UNSUPPORTED, told.why[0] = "function 'k' uses too much shared data";
    told.answers[1] = STN_ERROR_UNSUPPORTED, told.why[1] = "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES";
    told.answers[2] = STN_ERROR_UNSUPPORTED,
    told.why[2] = "a kernel needs 9 bytes of shared memory a block and X has 1";
    OK(make_plan());
    cr_expect_eq(plan->candidate.values[0], 3);
    cr_expect_eq(told.unclean, 0);
    cr_expect_eq(plan->ranking[0].candidate.values[0], 3);
    for (size_t i = 0; i < 3; i++) {
        const stn_ranked *last = &plan->ranking[plan->ranked - 3 + i];
        cr_expect(!last->applies && last->candidate.values[0] == (int)i);
        cr_expect_str_eq(last->reason, told.why[i]);
    }
}

Test(refused, what_does_not_compile_is_no_skip) {
    told.answers[0] = STN_ERROR_COMPILE, told.why[0] = "a template says: error: expected a ';'";
    cr_expect_eq(make_plan(), STN_ERROR_COMPILE);
    cr_expect_eq(told.prepared, 1);
}

Test(refused, weights_taken_by_half_are_taken_back) {
    OK(make_plan());
    const built *made = plan->state;
    double before[TAPS], other[TAPS] = {0.5, -2, 0.25};
    memcpy(before, made->weights, sizeof before);
    told.weights_refused = 1, told.refusal = STN_ERROR_DRIVER;
    cr_assert_eq(stn_plan_set_weights(plan, TAPS, other, &error), STN_ERROR_DRIVER);
    cr_expect_str_eq(error.message, "the copy of weight 1 failed");
    for (int k = 0; k < TAPS; k++) {
        cr_expect_eq(made->weights[k], before[k], "weight %d of the tables", k);
        cr_expect_eq(plan->task.taps[k].weight, before[k], "weight %d of the task", k);
    }
    cr_expect_eq(told.weights_asked, 2);
    told.weights_refused = 0;
    OK(stn_plan_set_weights(plan, TAPS, other, &error));
    for (int k = 0; k < TAPS; k++) cr_expect_eq(made->weights[k], other[k]);
}

/* Weights that the strategy does not take: the plan is made anew for them, in one piece or not at
 * all. */
Test(refused, for_weights_that_are_not_taken_the_plan_chooses_again) {
    double other[TAPS] = {0.5, -2, 0.25};
    OK(make_plan());
    told.weights_refused = 1, told.refusal = STN_ERROR_UNSUPPORTED;
    told.answers[0] = STN_ERROR_UNSUPPORTED; /* another candidate serves them */
    OK(stn_plan_set_weights(plan, TAPS, other, &error));
    cr_expect_eq(plan->candidate.values[0], 1);
    cr_expect_eq(stn_plan_workspace_size(plan), (size_t)WORKSPACE + 1);
    for (int k = 0; k < TAPS; k++) cr_expect_eq(((built *)plan->state)->weights[k], other[k]);
    char *text;
    OK(stn_plan_describe(plan, STN_TEXT, &text, &error));
    cr_expect(strstr(text, "chosen again for new weights, instead of host: the copy of weight 1 failed"), "%s", text);
    stn_text_free(text);
    cr_expect_eq(told.prepared - told.released, 1, "what the old choice had built is freed");
    cr_expect_eq(told.unclean, 0);
    end();
    cr_expect_eq(told.prepared, told.released);
}

Test(refused, where_choosing_again_fails_the_plan_is_as_it_was) {
    double other[TAPS] = {0.5, -2, 0.25}, before[TAPS];
    OK(make_plan());
    built *made = plan->state;
    void *workspace = plan->workspace;
    memcpy(before, made->weights, sizeof before);
    told.weights_refused = 1, told.refusal = STN_ERROR_UNSUPPORTED;
    told.more = SIZE_MAX / 4;
    cr_assert_eq(stn_plan_set_weights(plan, TAPS, other, &error), STN_ERROR_OUT_OF_MEMORY);
    cr_expect(plan->state == made && plan->workspace == workspace && plan->candidate.values[0] == 0);
    cr_expect_eq(plan->choice_before[0], '\0');
    for (int k = 0; k < TAPS; k++)
        cr_expect(made->weights[k] == before[k] && plan->task.taps[k].weight == before[k], "weight %d", k);
    end();
    cr_expect_eq(told.prepared, told.released);
}

/* If the predicted error of new weights is above the bound, a candidate within the bound replaces
 * the current one, and the plan's options still apply. */
Test(refused, by_the_error_with_new_weights_the_plan_chooses_again) {
    double other[TAPS] = {0.5, 2, 0.25}, small[TAPS] = {0.5, 0.25, 0.25};
    told.error = 1e-10; /* the bound of one step in f64 is 1e-13 */
    told.deterministic = 1;
    OK(make_plan());
    OK(stn_plan_set_weights(plan, TAPS, small, &error));
    cr_expect_eq(plan->candidate.values[0], 0, "the error is as before");
    OK(stn_plan_set_weights(plan, TAPS, other, &error));
    cr_expect_eq(plan->candidate.values[0], 1, "its error is within the bound");
    cr_expect_eq(plan->estimate.error, 1e-16);
    cr_expect(plan->deterministic, "the new choice is as deterministic as the old one");
    cr_expect(plan->may_be_chunked, "a long run may still be split");
    for (int k = 0; k < TAPS; k++) cr_expect_eq(((built *)plan->state)->weights[k], other[k]);
    end();
    cr_expect_eq(told.prepared, told.released);
}

/* The strategy took the weights, their error is too large, and no other choice can be prepared: the
 * old weights are back in its tables. */
Test(refused, weights_of_too_large_an_error_are_taken_back) {
    double other[TAPS] = {0.5, 2, 0.25}, before[TAPS];
    told.error = 1e-10;
    OK(make_plan());
    built *made = plan->state;
    memcpy(before, made->weights, sizeof before);
    for (int i = 1; i < CANDIDATES; i++) told.answers[i] = STN_ERROR_DRIVER;
    cr_assert_eq(stn_plan_set_weights(plan, TAPS, other, &error), STN_ERROR_DRIVER, "%s", error.message);
    cr_expect(plan->state == made && plan->candidate.values[0] == 0);
    for (int k = 0; k < TAPS; k++) {
        cr_expect_eq(made->weights[k], before[k], "weight %d of the tables", k);
        cr_expect_eq(plan->task.taps[k].weight, before[k], "weight %d of the task", k);
    }
    end();
    cr_expect_eq(told.prepared, told.released);
}
