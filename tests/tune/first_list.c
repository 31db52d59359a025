/* What first results begin with, without a GPU: for every problem that is named, on a stand-in driver of an H200's size and from an empty
 * cache, what a plan compiles before its first execution, by context/compile_cost.c, and that execution by its estimate. Where a caller
 * says that he runs it once, and where he says nothing.
 *
 *     first_list STENCIL SIZE DTYPE BOUNDARY STEPS ...      five words each
 *
 * FIRST_PACKS: up to four packs, between colons; then nothing may be compiled at all, and the bar is lower. */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../launch/fake_driver.h"
#include "context/compile_cost.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"

#define PACK_BAR 0.15    /* with packs */
#define BAR 0.4          /* seconds until the first result */
#define COMPILE_BAR 0.32 /* of them, of all kernels of a plan: heat-2d on 10240 x 10240 takes 0.30 */
#define SOURCE_BAR                                                                                                     \
    0.8 /* with a source, where a thousand steps one by one, and the source added to each, take as long */
/* Runs that take so long themselves would take many times that by what compiles soon: they may compile a little longer. */
#define LONG 0.05

static stn_error error;
#define OK(call)                                                                                                       \
    do {                                                                                                               \
        if ((call) != STN_OK) {                                                                                        \
            printf("Bail out! %s\n", error.message);                                                                   \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* An H200's numbers, as far as plans look at them. */
static void set_driver(void) {
    void *library = dlopen(FAKE_DRIVER, RTLD_NOW);
    fake_state *(*state)(void);
    void *entry = library ? dlsym(library, "fake_driver_state") : NULL;
    if (!entry) exit(1);
    memcpy(&state, &entry, sizeof entry);
    state()->multiprocessors = 132;
    state()->clock = 1980000;
    state()->block_threads = 1024;
    state()->memory = (size_t)140 << 30;
    setenv("STENTOR_CUDA_PATH", FAKE_DRIVER, 1);
    setenv("STENTOR_NVRTC_PATH", HURRIED_NVRTC, 1);
    setenv("FAKE_NVRTC_LOG", "/dev/null", 1);
    setenv("STENTOR_SEEDS", "none", 1);
}

static const char *packs[5];

static void set_packs(void) {
    static char names[2048];
    snprintf(names, sizeof names, "%s", getenv("FIRST_PACKS") ? getenv("FIRST_PACKS") : "");
    char *at = names;
    for (int i = 0; i < 4 && *at; i++) {
        packs[i] = at;
        at += strcspn(at, ":");
        if (*at) *at++ = '\0';
    }
}

static void make_problem(char *const words[5], stn_problem *problem, stn_stencil **stencil) {
    static const stn_dtype types[] = {STN_F64, STN_F32, STN_F16};
    OK(stn_stencil_parse(words[0], stencil, &error));
    *problem = (stn_problem)STN_PROBLEM_INIT;
    problem->stencil = *stencil;
    problem->steps = strtoull(words[4], NULL, 10);
    for (int i = 0; i < 3; i++)
        if (!strcmp(words[2], stn_dtype_name(types[i]))) problem->dtype = types[i];
    const char *at = words[1];
    for (int axis = 0; axis < 3 && at; axis++, at = strchr(at, 'x') ? strchr(at, 'x') + 1 : NULL) {
        problem->extent[axis] = strtoull(at, NULL, 10);
        OK(stn_boundary_parse(words[3], problem->boundary[axis], &error));
    }
}

typedef struct first {
    double compile, run; /* seconds */
    double first; /* until the first result: less than both where what is compiled with it takes over among legs */
    bool stuck;   /* that cannot take over among legs */
    char begins[64];
} first;

/* As plan/begin.c reckons: the follower comes LATER than its own compile. */
#define LATER 0.05
static double until_first(const stn_problem *problem, const stn_plan *plan, const first *f) {
    stn_context *context;
    stn_plan *like;
    stn_plan_options nothing = STN_PLAN_OPTIONS_INIT;
    const stn_context_options of = {.device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:", .threads = 8};
    const stn_ranked *follower = &plan->ranking[plan->follower];
    nothing.estimate_only = 1;
    OK(stn_context_create(&of, &context, &error));
    OK(stn_plan_create(context, problem, &nothing, &like, &error));
    const double there = LATER + stn_plan_compile_seconds(like, follower, INFINITY), alone = there - f->compile;
    stn_plan_destroy(like);
    stn_context_destroy(context);
    return fmin(f->compile + f->run, there + (1 - alone / f->run) * follower->estimate.seconds);
}

/* executions: as the caller says; 0: nothing. */
static first plan_one(const stn_problem *problem, uint64_t executions) {
    stn_context *context;
    stn_plan *plan;
    first f = {0};
    const stn_context_options of = {
        .device = STN_DEVICE_CUDA(0), .cache_dir = ":memory:", .threads = 8, .packs = packs};
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.no_auto_workspace = 1;
    options.executions = executions;
    OK(stn_context_create(&of, &context, &error));
    OK(stn_plan_create(context, problem, &options, &plan, &error));
    double seconds[64];
    size_t compiled = 0;
    for (size_t i = 0; i < plan->nkernels && compiled < 64; i++)
        if (plan->kernels[i]->seconds > 0)
            seconds[compiled++] = stn_compile_guess(plan->kernels[i]->name, plan->kernels[i]->params, plan->hurried);
    if (compiled) f.compile = stn_compile_together(seconds, compiled, of.threads);
    f.run = plan->estimate.seconds;
    f.first = plan->ahead ? until_first(problem, plan, &f) : f.compile + f.run;
    f.stuck = plan->ahead && (!plan->online || stn_plan_launches(plan) < 8);
    snprintf(f.begins, sizeof f.begins, "%s%s%s", plan->begins ? "begins with " : "",
             plan->ahead ? "some legs by " : "",
             plan->hurried    ? "itself in a hurry"
             : plan->nkernels ? plan->kernels[0]->name
                              : plan->strategy->name);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    return f;
}

/* Once, and unsaid; unsaid in place and with a source, where fewer strategies serve. */
static bool test(int number, char *const words[5], stn_problem *problem) {
    static const char *const labels[] = {"once", "unsaid", "in place", "with a source"};
    first all[4] = {plan_one(problem, 1), plan_one(problem, 0)};
    problem->in_place = 1;
    all[2] = plan_one(problem, 0);
    problem->in_place = 0, problem->has_source = 1;
    all[3] = plan_one(problem, 0);
    bool good = all[0].first <= BAR;
    if (packs[0]) good = all[0].first <= PACK_BAR && all[0].compile <= 0 && all[1].compile <= 0;
    for (int i = 0; i < 4 && !packs[0]; i++)
        good = good && (all[i].compile <= (i == 3 ? SOURCE_BAR : COMPILE_BAR) || all[i].run > LONG);
    for (int i = 0; i < 4; i++) good = good && !all[i].stuck;
    printf("%s %d - %s %s %s %s T=%s", good ? "ok" : "not ok", number, words[0], words[1], words[2], words[3],
           words[4]);
    for (int i = 0; i < 4; i++)
        printf("; %s: %s, compiles %.3f s, runs %.4f s, first %.3f s", labels[i], all[i].begins, all[i].compile,
               all[i].run, all[i].first);
    printf("\n");
    return good;
}

int main(int argc, char **argv) {
    const int count = (argc - 1) / 5;
    int failed = 0;
    set_driver();
    set_packs();
    printf("1..%d\n", count);
    for (int i = 0; i < count; i++) {
        char *const *words = argv + 1 + 5 * i;
        stn_problem problem;
        stn_stencil *stencil;
        make_problem(words, &problem, &stencil);
        failed += !test(i + 1, words, &problem);
        stn_stencil_destroy(stencil);
    }
    return failed != 0;
}
