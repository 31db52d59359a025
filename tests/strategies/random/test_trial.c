/* Trials of random problems accept results that differ from the host's steps by more than the error
 * bound for a known reason. Prints TAP. Usage: test_random_trial [--only PART]. */
#include <string.h>

#include "../suite.h"
#include "trial.h"

/* A problem in 2D that wraps, without taps. */
static void begin(random_problem *r, stn_dtype dtype, size_t ny, size_t nx, uint64_t steps) {
    memset(r, 0, sizeof *r);
    r->problem = (stn_problem)STN_PROBLEM_INIT;
    r->rank = 2, r->positive = true, r->data = 5;
    r->problem.extent[0] = ny, r->problem.extent[1] = nx;
    r->problem.dtype = dtype, r->problem.steps = steps, r->problem.batch = 1;
}

static void add_tap(random_problem *r, int y, int x, double weight) {
    r->taps[r->ntaps++] = (stn_tap){{y, x, 0}, weight};
}

/* A candidate whose name contains these words must be found right. */
static void check(suite *s, const random_problem *r, const char *strategy, const char *words, const char *what) {
    const random_bench bench = {.context = s->context, .pool = s->pool};
    random_outcome o = {0};
    dice d = {1};
    char detail[1400];
    const int pick = random_pick_words(&bench, r, strategy, words, &d);
    if (pick >= 0) random_trial(&bench, r, strategy, pick, &o);
    suite_detail(&o.c, detail, sizeof detail);
    suite_report(s, pick >= 0 && o.verdict == RANDOM_RIGHT, what, pick >= 0 ? detail : "there is no candidate");
}

/* A step changes values by about a unit of f16, so that rounding removes part of the change: after
 * 3320 steps the error of the host's f16 steps is 0.28. */
static void launches(suite *s) {
    static random_problem r;
    begin(&r, STN_F16, 20, 64, 3320);
    add_tap(&r, 0, -1, -0.9985439077253845);
    add_tap(&r, -3, 0, -0.0014550061497383329);
    check(s, &r, "direct", "plane, 4 steps a launch", "f16, steps that hardly change values, 4 a launch");
    r.problem.steps = 3318, r.problem.every = 1659; /* 414 launches of 4 steps, then one of 3 */
    check(s, &r, "direct", "plane, 4 steps a launch", "the same with a shorter launch before each snapshot");
}

/* The values decay to less than the least number of any type. */
static void decay(suite *s) {
    static random_problem r;
    begin(&r, STN_F32, 93, 7, 1746);
    for (int x = 0; x < 3; x++) add_tap(&r, 0, x, 0.1923);
    check(s, &r, "sparse", "", "f32, values that decay to nothing");
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"launches", launches}, {"decay", decay}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
