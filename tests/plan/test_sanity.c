/* Invariants of every choice, on random problems. By its own predictions a plan of more steps or
 * points takes no less time, a run takes no more than the runs it can be divided into, and choosing
 * twice gives the same plan. A strategy's lower bound is at most its estimates, and leaving out
 * strategies by their bounds leaves the choice as it was. Needs no GPU: plans are estimated for an
 * architecture.
 *
 *     test_sanity [--count N] [--seed S] [--arch sm_90]
 *
 * By default the seed is STENTOR_TEST_SEED, else the time; it is printed. Prints TAP. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../strategies/random/problem.h"
#include "base/arith.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "strategies/common/extension.h"
#include "strategies/common/shared_fft.h"

/* Tolerance of the invariants: a factor, because strategies are searched by samples of steps and
 * tiles, and LAUNCHES seconds, the time of a few launches. */
#define LEEWAY 1.10
/* The part of all comparisons that may fail, but none by a factor of FAR. */
#define PART 0.01
#define FAR 3.0
#define LAUNCHES 15e-6
/* One point less along an axis may cost this factor: aligned rows and grids divisible into blocks
 * are faster. */
#define UNEVEN 2.0

typedef struct drawing {
    random_problem r;
    stn_context *context;
    stn_stencil *stencil;
    const char *arch;
    uint64_t seed, index;
} drawing;

typedef struct answer {
    double seconds;
    double error, bar; /* relative L2 error: predicted, and allowed */
    double chunks;     /* runs into which the plan itself divides its run */
    bool no_transform[3];
    char words[400];
} answer;

static int failures, far, number;

/* True for an axis whose period has a prime factor above 7, so that no transform of it exists: if
 * it wraps, only cuFFT has one, and plans for a GPU that is not installed have no cuFFT; if its
 * sides are mirrors, also fixed ones, it is extended by the reach of all steps, which may be many
 * times its length (24 points between fixed sides repeat after 46, 25 after 48). */
static bool has_no_transform(const stn_task *task, int axis) {
    stn_extension e;
    char reason[160];
    return stn_extension_sides(task, axis, &e, reason, sizeof reason) &&
           !stn_shared_fft_is_smooth(stn_extension_period(&e));
}

static bool ask(const drawing *d, const stn_problem *problem, answer *a) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    stn_error error = {0};
    char *text = NULL;
    options.estimate_only = 1;
    *a = (answer){.seconds = NAN};
    if (stn_plan_create(d->context, problem, &options, &plan, &error) != STN_OK) {
        snprintf(a->words, sizeof a->words, "no plan: %.300s", error.message);
        return false;
    }
    a->seconds = stn_plan_predicted_seconds(plan);
    a->error = plan->estimate.error, a->bar = stn_error_bound(&plan->task);
    const int rank = plan->task.rank; /* a task's axes are the last of three */
    for (int axis = 0; axis < rank; axis++) a->no_transform[axis] = has_no_transform(&plan->task, axis + 3 - rank);
    a->chunks = 1;
    if (stn_plan_describe(plan, STN_TEXT, &text, &error) == STN_OK) {
        const char *line = strstr(text, "strategy:");
        if (line) (void)sscanf(line, "strategy: chunked, %lf chunks", &a->chunks);
        snprintf(a->words, sizeof a->words, "%.*s", line ? (int)strcspn(line, "\n") : 0, line ? line : "");
    }
    stn_text_free(text);
    stn_plan_destroy(plan);
    return true;
}

static void report(const drawing *d, bool good, const char *what, const answer *a, const answer *b, double times) {
    failures += !good, far += !good && !(times < FAR);
    number++;
    if (good) return;
    printf("# %s, seed %" PRIu64 " problem %" PRIu64
           ", %s: %.4g s (%s) beside %.4g s (%s), %.3f times what is allowed\n",
           d->arch, d->seed, d->index, what, a->seconds, a->words, b->seconds, b->words, times);
    random_problem_print(&d->r, "auto", 0);
}

/* Checks that a takes at most `allowed` seconds, which follows from b. */
static void at_most(const drawing *d, const answer *a, double allowed, const answer *b, double leeway,
                    const char *what) {
    report(d, a->seconds <= leeway * allowed + LAUNCHES, what, a, b, a->seconds / (leeway * allowed));
}

/* The error of so many runs like this one. Errors of chunks that a run is already divided into are
 * the same in each of the runs, and add up over the chunks of all of them. */
static double error_of_runs(const answer *a, double runs) {
    return a->error * stn_error_of_runs(a->chunks * runs) / stn_error_of_runs(a->chunks);
}

/* The largest offset of the taps along an axis of the stencil. */
static size_t reach_along(const stn_problem *p, int axis) {
    const stn_tap *taps = stn_stencil_taps(p->stencil);
    int64_t reach = 0;
    for (size_t i = 0; i < stn_stencil_tap_count(p->stencil); i++)
        reach = stn_max(reach, llabs((long long)taps[i].offset[axis]));
    return (size_t)reach;
}

/* GPUs refuse taps that reach further than an axis is long (stentor.h), and nothing else. */
static bool reaches_too_far(const stn_problem *p) {
    for (int axis = 0; axis < stn_stencil_rank(p->stencil); axis++)
        if (reach_along(p, axis) > p->extent[axis]) return true;
    return false;
}

/* Kernels of several steps fold an index once, so they need 2 R + 2 points along an axis of taps
 * that reach R. A point more may make a thinner grid one that they take. */
static bool too_thin(const stn_problem *p, int axis) {
    return axis < stn_stencil_rank(p->stencil) && p->extent[axis] < 2 * reach_along(p, axis) + 2;
}

/* A limit that the best of all candidates keeps does not change it; one that it breaks leaves none
 * within the error bound and the limit. */
static void check_limits(const drawing *d, stn_plan *plan, const stn_ranked *all) {
    static const double limits[] = {1, 1.1, 2, 0.9};
    const bool within = all->applies && all->estimate.error <= plan->kind->error_bound(plan);
    answer a = {.words = "the best below a limit"}, b = {.words = "the best of all"};
    for (size_t i = 0; i < sizeof limits / sizeof *limits && within; i++) {
        const double cost = limits[i] * stn_estimate_cost(&all->estimate);
        stn_plan_rank_best(plan, NULL, (stn_rank_limit){.cost = cost, .within_bound = true});
        const stn_ranked *best = &plan->ranking[0];
        const bool any = plan->ranked && best->applies && stn_estimate_cost(&best->estimate) <= cost,
                   same = any && best->strategy == all->strategy &&
                          !memcmp(&best->candidate, &all->candidate, sizeof all->candidate);
        a.seconds = any ? best->estimate.seconds : NAN, b.seconds = all->estimate.seconds;
        report(d, limits[i] < 1 ? !any : same, "a limit", &a, &b, INFINITY);
    }
}

/* The plan of a chunk: stn_plan_rank_best is for plans that are not chunked themselves. */
static void check_bounds(const drawing *d, const stn_problem *problem) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    answer a = {.words = "a lower bound, or the best by bounds"}, b = {.words = "an estimate, or the best of all"};
    options.estimate_only = 1;
    if (stn_plan_create(d->context, problem, &options, &plan, NULL) != STN_OK) return;
    plan->may_be_chunked = false;
    stn_plan_rank(plan, NULL, STN_CANDIDATES);
    for (size_t i = 0; i < plan->ranked && plan->ranking[i].applies; i++) {
        const stn_ranked *row = &plan->ranking[i];
        /* Chunks whose errors add up to more than the bound are not estimated (chunked.c). */
        const answer least = {.seconds = stn_error_least((stn_dtype)problem->dtype), .words = "the least error"};
        const answer error = {.seconds = row->estimate.error, .words = "a predicted error"};
        report(d, least.seconds <= error.seconds, row->strategy->name, &least, &error, INFINITY);
        if (!row->strategy->least_seconds) continue;
        a.seconds = plan->kind->least_seconds(plan, row->strategy), b.seconds = row->estimate.seconds;
        report(d, a.seconds <= b.seconds, row->strategy->name, &a, &b, INFINITY);
    }
    const stn_ranked all = plan->ranking[0];
    stn_plan_rank_best(plan, NULL, (stn_rank_limit){0});
    const stn_ranked *best = &plan->ranking[0];
    a.seconds = best->estimate.seconds, b.seconds = all.estimate.seconds;
    const bool same = best->strategy == all.strategy && !memcmp(&best->candidate, &all.candidate, sizeof all.candidate);
    report(d, best->applies == all.applies && (!all.applies || same), "the best", &a, &b, INFINITY);
    check_limits(d, plan, &all);
    stn_plan_destroy(plan);
}

static void check(drawing *d) {
    stn_problem p = d->r.problem, other;
    answer a, b, rest;
    char what[120];
    p.stencil = d->stencil;
    const bool planned = ask(d, &p, &a);
    report(d, planned != reaches_too_far(&p), "a plan", &a, &a, NAN);
    if (!planned) return;
    check_bounds(d, &p);
    ask(d, &p, &b);
    report(d, a.seconds == b.seconds && !strcmp(a.words, b.words), "chosen twice", &a, &b, NAN);
    static const uint64_t parts[] = {2, 3, 10, 100};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const uint64_t steps = p.steps / parts[i];
        if (!steps || p.every) break;
        other = p;
        other.steps = steps;
        if (!ask(d, &other, &b)) continue;
        snprintf(what, sizeof what, "%" PRIu64 " of %" PRIu64 " steps", steps, p.steps);
        /* Else they may be fast, but less accurate. If neither meets its bound, the most exact are
         * chosen. */
        if (a.error <= fmax(a.bar, b.error)) at_most(d, &b, a.seconds, &a, LEEWAY, what);
        other.steps = p.steps % steps;
        rest = (answer){0};
        if (other.steps && !ask(d, &other, &rest)) continue;
        const uint64_t whole = p.steps / steps;
        snprintf(what, sizeof what, "%" PRIu64 " steps as %" PRIu64 " runs of %" PRIu64, p.steps, whole, steps);
        const double runs = (double)whole + (other.steps > 0);
        rest.chunks = fmax(rest.chunks, 1);
        /* Else the runs are less accurate than the plan. */
        if (fmax(error_of_runs(&b, runs), error_of_runs(&rest, runs)) <= a.bar)
            at_most(d, &a, (double)whole * b.seconds + rest.seconds, &b, LEEWAY, what);
    }
    for (int axis = 0; axis < d->r.rank; axis++) { /* one point more */
        other = p;
        other.extent[axis]++;
        memset(other.in_stride, 0, sizeof other.in_stride), memset(other.out_stride, 0, sizeof other.out_stride);
        stn_problem plain = p;
        memset(plain.in_stride, 0, sizeof p.in_stride), memset(plain.out_stride, 0, sizeof p.out_stride);
        other.in_batch_stride = other.out_batch_stride = plain.in_batch_stride = plain.out_batch_stride = 0;
        if (!ask(d, &plain, &a) || !ask(d, &other, &b)) continue;
        snprintf(what, sizeof what, "one point more along axis %d", axis);
        if ((!a.no_transform[axis] || b.no_transform[axis]) && !too_thin(&p, axis))
            at_most(d, &a, b.seconds, &b, UNEVEN, what);
    }
}

int main(int argc, char **argv) {
    const char *given = getenv("STENTOR_TEST_SEED");
    uint64_t seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL), count = 40;
    const char *arch = "sm_90";
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--count")) count = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--seed")) seed = strtoull(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--arch")) arch = argv[i + 1];
    }
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_error error = {0};
    drawing d = {.arch = arch, .seed = seed};
    options.arch = arch;
    options.cache_dir = ":memory:";
    if (stn_context_create(&options, &d.context, &error) != STN_OK) {
        printf("Bail out! %s\n", error.message);
        return 1;
    }
    printf("# seed %" PRIu64 "\n", seed);
    for (uint64_t i = 0; i < count; i++) {
        d.index = i;
        random_problem_draw(seed, i, true, i % 4 == 3, &d.r);
        dice own = {seed ^ i << 20};
        if (!d.r.problem.every && dice_int(&own, 0, 1))
            d.r.problem.steps = (uint64_t)exp(log(1e5) * dice_positive(&own));
        d.stencil = random_problem_stencil(&d.r);
        const int before = failures;
        check(&d);
        stn_stencil_destroy(d.stencil);
        printf("ok %" PRIu64 " - problem %" PRIu64 "%s\n", i + 1, i, failures > before ? ": see above" : "");
    }
    const bool good = !far && failures <= PART * number;
    printf("%s %" PRIu64 " - %d of %d comparisons fail, %d by far\n1..%" PRIu64 "\n", good ? "ok" : "not ok", count + 1,
           failures, number, far, count + 1);
    stn_context_destroy(d.context);
    return !good;
}
