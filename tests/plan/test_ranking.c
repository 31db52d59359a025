/* The ranking of candidates: costs, order, and dropped candidates. The strategy is defined in this
 * file. */
#include <criterion/criterion.h>
#include <stdio.h>

#include "kinds/kinds.h"
#include "plan/plan.h"

enum { MAX_CANDIDATES = 70 };

/* The estimates of the candidates. */
static struct {
    size_t count;
    stn_estimate estimate[MAX_CANDIDATES];
} given;

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t size) {
    (void)task, (void)machine, (void)reason, (void)size;
    return true;
}

static bool never_applies(const stn_task *task, const stn_machine *machine, char *reason, size_t size) {
    (void)task, (void)machine;
    (void)snprintf(reason, size, "it never does");
    return false;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    (void)task, (void)machine;
    const size_t count = given.count < most ? given.count : most;
    for (size_t i = 0; i < count; i++) list[i] = (stn_candidate){{(int)i}};
    return count;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *e) {
    (void)task, (void)machine;
    *e = given.estimate[candidate->values[0]];
}

static const stn_strategy first = {.name = "first", .applies = applies, .candidates = candidates, .estimate = estimate},
                          second = {.name = "second",
                                    .applies = applies,
                                    .candidates = candidates,
                                    .estimate = estimate},
                          last = {.name = "last", .applies = never_applies};
static const stn_strategy *const strategies[] = {&last, &first, &second, NULL};

static stn_plan plan;
static stn_kind kind;
static stn_tap tap = {{0}, 1};

static void rank(const char *name, size_t most) {
    kind = stn_kind_stencil;
    kind.strategies = strategies;
    kind.error_bound = NULL;
    plan = (stn_plan){.kind = &kind};
    plan.task = (stn_task){.rank = 1, .n = {1, 1, 8}, .batch = 1, .steps = 1, .snapshots = 1, .taps = &tap, .ntaps = 1};
    plan.task.dtype = STN_F64, plan.task.divisor = 1;
    stn_plan_rank(&plan, name, most);
}

Test(ranking, is_by_seconds_and_those_that_do_not_apply_are_last) {
    static const double seconds[] = {3, 1, 2, 1};
    given.count = 4;
    for (int i = 0; i < 4; i++) given.estimate[i] = (stn_estimate){.seconds = seconds[i], .launches = 1};
    rank("first", 16);
    cr_assert_eq(plan.ranked, 4u);
    const int order[] = {1, 3, 2, 0}; /* equal ones in the order of the list */
    for (int i = 0; i < 4; i++) cr_expect_eq(plan.ranking[i].candidate.values[0], order[i], "row %d", i);
    rank(NULL, 2);
    cr_assert_eq(plan.ranked, 5u);
    for (int i = 0; i < 4; i++) cr_expect(plan.ranking[i].applies);
    cr_expect(!plan.ranking[4].applies && plan.ranking[4].strategy == &last);
    cr_expect_str_eq(plan.ranking[4].reason, "it never does");
    cr_expect(plan.ranking[0].strategy == &first && plan.ranking[1].strategy == &second, "as in the table");
}

/* A full ranking keeps the cheapest, whatever the order in which they come. */
Test(ranking, drops_the_most_expensive) {
    given.count = 64;
    for (int i = 0; i < 64; i++) given.estimate[i] = (stn_estimate){.seconds = 1 + (i * 37) % 64, .launches = 1};
    rank(NULL, 64);
    cr_assert_eq(plan.ranked, (size_t)STN_PLAN_RANKING);
    for (size_t i = 0; i < plan.ranked; i++)
        cr_expect_float_eq(plan.ranking[i].estimate.seconds, 1 + (double)(i / 2), 1e-12, "row %zu", i);
}

/* A strategy whose lower bound exceeds the best estimate is left out where only the best counts. */
static double bound_of_last;
static double least_seconds(const stn_plan *of, const stn_strategy *row) {
    (void)of, (void)row;
    return bound_of_last;
}
static double no_seconds(const stn_task *task, const stn_machine *machine) {
    (void)task, (void)machine;
    return 0;
}
static void estimate_less(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                          stn_estimate *e) {
    estimate(task, machine, candidate, e);
    e->seconds /= 2;
}

Test(ranking, leaves_out_what_a_lower_bound_excludes) {
    static const stn_strategy bounded = {.name = "bounded",
                                         .applies = applies,
                                         .candidates = candidates,
                                         .estimate = estimate_less,
                                         .least_seconds = no_seconds};
    static const stn_strategy *const both[] = {&first, &bounded, NULL};
    given.count = 1, given.estimate[0] = (stn_estimate){.seconds = 4};
    rank("first", 16);
    kind.strategies = both, kind.least_seconds = least_seconds;
    bound_of_last = 3;
    stn_plan_rank_best(&plan, NULL, (stn_rank_limit){0});
    cr_expect(plan.ranked == 2 && plan.ranking[0].strategy == &bounded);
    bound_of_last = 5;
    stn_plan_rank_best(&plan, NULL, (stn_rank_limit){0});
    cr_expect(plan.ranked == 1 && plan.ranking[0].strategy == &first);
    stn_plan_rank_best(&plan, "bounded", (stn_rank_limit){0});
    cr_expect(plan.ranked == 1 && plan.ranking[0].strategy == &bounded);
    stn_plan_rank(&plan, NULL, 16);
    cr_expect_eq(plan.ranked, 2u, "a full ranking has all");
    stn_plan_rank_best(&plan, "bounded", (stn_rank_limit){.cost = 4, .within_bound = true});
    cr_expect_eq(plan.ranked, 0u, "its bound of 5 exceeds the limit");
    stn_plan_rank_best(&plan, "bounded", (stn_rank_limit){.cost = 6, .within_bound = true});
    cr_expect_eq(plan.ranked, 1u);
    stn_plan_rank_best(&plan, "bounded", (stn_rank_limit){.cost = 4});
    cr_expect_eq(plan.ranked, 1u, "without a candidate within the error bound, all errors are needed");
    cr_expect(!(plan.machine.time_limit > 0), "the limit holds only while candidates are ranked");
}

/* A workspace of many grids costs more than it takes in time. */
Test(ranking, counts_a_large_workspace) {
    stn_estimate e = {.seconds = 1, .memory = 1e9, .grids = 2};
    cr_expect_float_eq(stn_estimate_cost(&e), 1, 1e-12, "two grids are free");
    e.grids = 3;
    cr_expect_float_eq(stn_estimate_cost(&e), 1.03, 1e-12);
    e.grids = 4;
    cr_expect_float_eq(stn_estimate_cost(&e), 1.06, 1e-12);
    e.grids = 5;
    cr_expect_float_eq(stn_estimate_cost(&e), 1.25, 1e-12);
    e.memory = 1e6;
    cr_expect_float_eq(stn_estimate_cost(&e), 1, 1e-12, "a small workspace is free, however many grids it is");
    given.count = 2;
    given.estimate[0] = (stn_estimate){.seconds = 1, .memory = 1e9, .grids = 6};
    given.estimate[1] = (stn_estimate){.seconds = 1.2, .memory = 1e9, .grids = 2};
    rank("first", 16);
    cr_expect_eq(plan.ranking[0].candidate.values[0], 1, "the cheaper, not the faster");
    stn_task task = {.n = {2, 3, 4}, .batch = 5, .dtype = STN_F32};
    stn_estimate_memory(&task, 960, &e);
    cr_expect_float_eq(e.memory, 960, 1e-12);
    cr_expect_float_eq(e.grids, 2, 1e-12);
}

Test(ranking, predicts_the_slower_of_memory_and_arithmetic_and_each_launch) {
    const stn_machine machine = {.copy_bandwidth = 1e12, .flops = {[STN_UNIT_FMA_F32] = 4e12}, .launch_seconds = 1e-6};
    stn_estimate e = {.bytes = 1e12, .flops = 2e12, .unit = STN_UNIT_FMA_F32, .launches = 1000};
    cr_expect_float_eq(stn_estimate_seconds(&e, &machine), 1.001, 1e-9);
    e.flops = 8e12;
    cr_expect_float_eq(stn_estimate_seconds(&e, &machine), 2.001, 1e-9);
}

/* If no candidate is within the bound, those of about the least error are admitted. */
static double bound(const stn_plan *of) {
    (void)of;
    return 1e-9;
}

Test(ranking, admits_the_least_errors_where_no_candidate_is_within_the_bound) {
    given.count = 3;
    given.estimate[0] = (stn_estimate){.seconds = 1, .error = 4e-6};
    given.estimate[1] = (stn_estimate){.seconds = 2, .error = 1.4e-6};
    given.estimate[2] = (stn_estimate){.seconds = 3, .error = 1e-6};
    rank("first", 16);
    kind.error_bound = bound;
    stn_plan_rank(&plan, "first", 16);
    cr_assert_eq(plan.ranked, 2u);
    cr_expect_eq(plan.ranking[0].candidate.values[0], 1);
    cr_expect_eq(plan.ranking[1].candidate.values[0], 2);
    given.estimate[2].error = 1e-10;
    stn_plan_rank(&plan, "first", 16);
    cr_assert_eq(plan.ranked, 1u);
    cr_expect_eq(plan.ranking[0].candidate.values[0], 2);
}
