/* The shared main and reports of strategy tests; see suite.h. */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/plan.h"

const char *const side_names[6] = {"wrap", "constant", "nearest", "reflect", "mirror", "fixed"};
const char *const taps_names[3] = {"star", "box", "random"};

/* On a GPU the ranking may end before the candidate that a test names: that subtest is skipped. On
 * the emulator, whose ranking is always the same, it fails. */
void suite_report(suite *s, bool good, const char *what, const char *detail) {
    const bool missing =
        !good && detail && strstr(detail, "there is no candidate") && !getenv("STENTOR_TESTS_MUST_RUN");
    s->run++;
    if (!good && !missing) s->failed++;
    printf("%s %d - %s%s\n", good || missing ? "ok" : "not ok", s->run, what,
           missing ? " # SKIP not in this machine's ranking" : "");
    if (!good && detail) printf("# %s\n", detail);
    fflush(stdout);
}

/* True if `name` contains all of `words`, separated by |. */
static bool has_words(const char *name, const char *words) {
    char word[120];
    while (*words) {
        size_t length = strcspn(words, "|");
        snprintf(word, sizeof word, "%.*s", (int)length, words);
        if (!strstr(name, word)) return false;
        words += length + (words[length] == '|');
    }
    return true;
}

bool suite_place_has_words(const stn_plan *plan, size_t place, const char *words) {
    const stn_ranked *row = &plan->ranking[place];
    stn_text text = STN_TEXT_EMPTY;
    char *name = NULL;
    stn_text_printf(&text, "%dD %s, ", plan->task.rank, stn_dtype_name(plan->task.dtype));
    row->strategy->name_candidate(&plan->task, &row->candidate, &text);
    const bool is = stn_text_take(&text, &name, NULL) == STN_OK && has_words(name, words);
    stn_text_free(name);
    return is;
}

int suite_candidate(const suite *s, const stn_problem *problem, const char *strategy, const char *words) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_plan *plan = NULL;
    size_t found = 0;
    options.strategy = strategy, options.estimate_only = 1;
    if (stn_plan_create(s->context, problem, &options, &plan, NULL) != STN_OK)
        return COMPARE_MEASURED + STN_PLAN_RANKING;
    stn_plan_rank(plan, strategy, STN_PLAN_RANKING);
    while (found < plan->ranked && !suite_place_has_words(plan, found, words)) found++;
    stn_plan_destroy(plan);
    return COMPARE_MEASURED + (int)found;
}

void suite_detail(const comparison *c, char *detail, size_t size) {
    snprintf(detail, size, "relative L2 %.3g, worst point %.3g, bar %.3g, %s; %s", c->relative_l2, c->point, c->bar,
             c->all_written ? "all written" : "a point unwritten or padding touched",
             c->error.status ? c->error.message : "no error");
}

/* The problem with the dtype and tolerance of the command line, if any. */
static stn_problem suite_problem(const suite *s, const stn_problem *problem) {
    stn_problem typed = *problem;
    if (s->dtype_given) typed.dtype = s->dtype, typed.tolerance = s->tolerance;
    return typed;
}

void suite_report_compared(suite *s, bool good, const char *what, const comparison *c) {
    char detail[1200];
    s->worst = fmax(s->worst, good ? c->relative_l2 / c->bar : 0);
    suite_detail(c, detail, sizeof detail);
    suite_report(s, good, what, detail);
}

void suite_compare(suite *s, const char *strategy, bool fused, const char *what, const stn_problem *problem,
                   uint64_t seed) {
    comparison c;
    stn_problem typed = suite_problem(s, problem);
    const bool good = compare_with_host(s->context, s->pool, &typed, strategy, fused, seed, &c);
    suite_report_compared(s, good, what, &c);
}

void suite_compare_words(suite *s, const char *strategy, const char *words, const char *what,
                         const stn_problem *problem, uint64_t seed) {
    comparison c;
    const stn_problem typed = suite_problem(s, problem);
    const int pick = suite_candidate(s, &typed, strategy, words);
    const bool good = compare_candidate_with_host(s->context, s->pool, &typed, strategy, pick, true, seed, &c);
    suite_report_compared(s, good, what, &c);
}

stn_problem grid_problem(const stn_stencil *stencil, const int *extent, stn_dtype dtype, uint64_t steps) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil, p.dtype = dtype, p.steps = steps;
    for (int axis = 0; axis < stn_stencil_rank(stencil); axis++) p.extent[axis] = (size_t)extent[axis];
    return p;
}

void suite_name(const char *part, const stn_problem *p, int pick, char *what, size_t size) {
    const int rank = stn_stencil_rank(p->stencil);
    size_t used = (size_t)snprintf(what, size, "%s: %dD", part, rank);
    for (int axis = 0; axis < rank; axis++)
        used += (size_t)snprintf(what + used, size - used, " %zu %s:%s", p->extent[axis],
                                 side_names[p->boundary[axis][0].kind], side_names[p->boundary[axis][1].kind]);
    used +=
        (size_t)snprintf(what + used, size - used, ", %zu taps, %s, %llu steps%s", stn_stencil_tap_count(p->stencil),
                         stn_dtype_name(p->dtype), (unsigned long long)p->steps, p->in_place ? ", in place" : "");
    if (pick >= 0) snprintf(what + used, size - used, ", candidate %d", pick);
}

void suite_choice(suite *s, const char *what, const char *named, stn_boundary_kind sides, int extent, uint64_t steps,
                  const char *strategy, const char *expected) {
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_error error = {.status = STN_OK};
    stn_stencil_parse(named, &stencil, NULL);
    stn_problem p = grid_problem(stencil, (const int[3]){extent, extent, 0}, STN_F64, steps);
    for (int axis = 0; axis < 2; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = sides;
    options.estimate_only = 1, options.strategy = strategy;
    const bool made = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_OK;
    const char *found = made ? stn_plan_strategy(plan) : error.message;
    suite_report(s, made ? !strcmp(found, expected) && plan->estimate.error >= 0 : strstr(found, expected) != NULL,
                 what, found);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
}

void random_sides(dice *d, stn_problem *problem, int rank) {
    for (int axis = 0; axis < rank; axis++) {
        int low = dice_int(d, 0, 5), high = low ? dice_int(d, 1, 5) : 0;
        problem->boundary[axis][0] = (stn_boundary){(stn_boundary_kind)low, low == STN_CONSTANT ? 0.7 : 0};
        problem->boundary[axis][1] = (stn_boundary){(stn_boundary_kind)high, high == STN_CONSTANT ? -1.3 : 0};
    }
}

int suite_without_device(const char *why) {
    const bool must_run = getenv("STENTOR_TESTS_MUST_RUN") != NULL;
    if (must_run)
        printf("1..1\nnot ok 1 - a device, which this test must have\n# %s\n", why);
    else
        printf("1..0 # SKIP %s\n", why);
    return must_run;
}

/* False, after a message on stderr, if an argument is unknown. */
static bool read_arguments(suite *s, const char **only, int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        if (!strcmp(argv[i], "--full")) {
            s->full = true;
            continue;
        }
        bool known = *value != '\0';
        if (!strcmp(argv[i], "--tolerance"))
            s->tolerance = strtod(value, NULL);
        else if (!strcmp(argv[i], "--dtype"))
            s->dtype_given = true, known = stn_dtype_parse(value, &s->dtype, NULL) == STN_OK;
        else if (!strcmp(argv[i], "--only"))
            *only = value;
        else
            known = false;
        if (!known) {
            fprintf(stderr, "%s %s: unknown; give [--full] [--only PART] [--dtype T] [--tolerance X]\n", argv[i],
                    value);
            return false;
        }
        i++;
    }
    return true;
}

int suite_main(int argc, char **argv, const suite_part *parts, size_t count) {
    return suite_main_on(STN_DEVICE_CUDA(0), argc, argv, parts, count);
}

int suite_main_on(int device, int argc, char **argv, const suite_part *parts, size_t count) {
    suite s = {0};
    const char *only = NULL;
    if (!read_arguments(&s, &only, argc, argv)) return 2;
    stn_error error;
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = device;
    options.cache_dir = ":memory:";
    if (stn_context_create(&options, &s.context, &error) != STN_OK) return suite_without_device(error.message);
    if (stn_pool_create(2, &s.pool, &error) != STN_OK) return 1;
    for (size_t i = 0; i < count; i++)
        if (!only || !strcmp(only, parts[i].name)) parts[i].run(&s);
    if (!s.run) suite_report(&s, false, only ? only : "a part", "there is no such part, or it has no case");
    printf("1..%d\n# largest error of those that passed: %.2g of its bar\n", s.run, s.worst);
    stn_pool_destroy(s.pool);
    stn_context_destroy(s.context);
    return s.failed != 0;
}
