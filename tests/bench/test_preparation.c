/* Plans of random problems, drawn as stentor-plans draws them, for GPUs that need not be there:
 * the choice, each strategy by name, and the candidates that MEASURE times are prepared up to their
 * kernels, by an NVRTC that compiles nothing (compile/fake_nvrtc.c). No preparation may fail or end
 * the process; large grids, which tests that compute must avoid, are the most of them. A large
 * workspace must have been predicted, since the choice counts it.
 *
 *     test_preparation [SEED [FIRST [COUNT]]]
 *
 * SEED is STENTOR_TEST_SEED, or else the time. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../bench/drawn_problem.h"
#include "plan/plan.h"
#include "plan/strategy.h"
#include "tune/tuner.h"

enum { MAX_STRATEGIES = 16, PROBLEMS = 120 };
/* A choice's workspace above this size, in bytes, is at most this factor times the predicted one
 * and a grid, which every strategy may need where rows are copied. */
#define LARGE 64e6
#define FACTOR 3

static bool is_predicted(const stn_plan *plan, const drawn_problem *p) {
    const double size = (double)plan->workspace_size;
    return size <= LARGE || size <= FACTOR * (plan->estimate.memory + (double)p->bytes);
}

/* Prepares the plans of a problem; returns how many failed. *refused: GPUs do not take it, since
 * its taps reach beyond a short axis. */
static int prepare_all(stn_context *context, const drawn_problem *p, const char *arch, bool *refused) {
    const stn_strategy *strategy[MAX_STRATEGIES];
    stn_plan *estimated = NULL;
    stn_error error = {0};
    int count = 0, failed = 0;
    const stn_status status = drawn_problem_plan(context, p, NULL, true, &estimated, &error);
    *refused = status == STN_ERROR_UNSUPPORTED;
    if (*refused) return 0;
    if (status != STN_OK) {
        printf("not ok %s on %s: %s\n", p->label, arch, error.message);
        return 1;
    }
    stn_plan_rank(estimated, NULL, STN_CANDIDATES);
    for (size_t i = 0; i < estimated->ranked && estimated->ranking[i].applies; i++) {
        bool has = count == MAX_STRATEGIES;
        for (int k = 0; k < count; k++) has = has || strategy[k] == estimated->ranking[i].strategy;
        if (!has) strategy[count++] = estimated->ranking[i].strategy;
    }
    for (int k = 0; k < count; k++) {
        stn_plan *plan = NULL;
        if (drawn_problem_plan(context, p, k ? strategy[k]->name : NULL, false, &plan, &error) != STN_OK) {
            printf("not ok %s on %s: %s: %s\n", p->label, arch, strategy[k]->name, error.message);
            failed++;
        } else if (k == 0 && !is_predicted(plan, p)) {
            printf("not ok %s on %s: %s: a workspace of %.4g bytes, %.4g predicted\n", p->label, arch,
                   plan->strategy->name, (double)plan->workspace_size, plan->estimate.memory);
            failed++;
        }
        stn_plan_destroy(plan);
    }
    tune_compile(estimated, NULL, &(tune_request){.seconds = 1, .without_wisdom = true});
    stn_plan_destroy(estimated);
    return failed;
}

int main(int count, char **values) {
    static const char *const archs[] = {"sm_80", "sm_90", "sm_120"};
    const char *const given = getenv("STENTOR_TEST_SEED");
    const uint64_t seed = count > 1 ? strtoull(values[1], NULL, 10)
                          : given   ? strtoull(given, NULL, 10)
                                    : (uint64_t)time(NULL);
    const uint64_t first = count > 2 ? strtoull(values[2], NULL, 10) : 0;
    const uint64_t problems = count > 3 ? strtoull(values[3], NULL, 10) : PROBLEMS;
    int failed = 0, drawn = 0, refusals = 0;
    printf("# seed %" PRIu64 "\n", seed);
    for (size_t a = 0; a < sizeof archs / sizeof *archs; a++) {
        const stn_context_options options = {.arch = archs[a], .cache_dir = ":memory:", .threads = 1};
        stn_context *context = NULL;
        stn_error error = {0};
        if (stn_context_create(&options, &context, &error) != STN_OK) {
            printf("not ok a context for %s: %s\n", archs[a], error.message);
            return 1;
        }
        for (uint64_t i = first; i < first + problems; i++) {
            drawn_problem p = {0};
            fflush(stdout); /* A process that ends here leaves the name of the problem before. */
            if (!drawn_problem_make(seed, i, false, &p)) continue;
            bool refused;
            failed += prepare_all(context, &p, archs[a], &refused), drawn++, refusals += refused;
            drawn_problem_clear(&p);
        }
        stn_context_destroy(context);
    }
    printf("# %d problems, %d of them refused, %d plans failed\n", drawn, refusals, failed);
    return failed || 10 * refusals > drawn || !drawn;
}
