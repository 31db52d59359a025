/* Systems in teams of 1 to 8 members: random systems equal one device at every point of every array
 * and in every record, to the bit, with whole grids in host memory and with parts on the devices.
 * Prints TAP.
 *
 *     test_team_system [--gpus N] [--count N] [--seed S] [--only INDEX]
 *
 * By default the seed is the time; it is printed. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../strategies/suite.h"
#include "all_sizes.h"
#include "plan/plan.h"
#include "random_system.h"
#include "team/team.h"

static int divided, refused_count;

/* Runs the parts on the members' devices, in arrays allocated there. */
static stn_status run_parts(stn_team *team, stn_team_plan *plan, const random_system *s, const system_memory *whole,
                            const system_memory *want, bool *same, stn_error *error) {
    system_memory part[MAX_MEMBERS], there[MAX_MEMBERS];
    const stn_system_arrays *arrays[MAX_MEMBERS] = {NULL};
    size_t first[MAX_MEMBERS], rows;
    int placed = 0;
    stn_status status = STN_OK;
    for (int m = 0; m < stn_team_size(team) && status == STN_OK; m++) {
        status = stn_team_plan_local(plan, m, &first[m], &rows, error);
        if (status != STN_OK || !rows) continue;
        placed = m + 1;
        system_memory_make(s, rows, &part[m]);
        system_memory_take(s, whole, first[m], &part[m]);
        status = system_memory_place(s, stn_team_context(team, m), &part[m], &there[m], error);
        there[m].arrays.amplitudes = part[m].amplitudes, there[m].arrays.records = part[m].records;
        arrays[m] = &there[m].arrays;
    }
    if (status == STN_OK) status = stn_team_plan_execute_system(plan, arrays, error);
    *same = status == STN_OK && system_records_same(s, want, &part[0], stn_team_context(team, 0)->device == NULL);
    for (int m = 0; m < placed; m++) {
        stn_memory_free(stn_team_context(team, m), there[m].records), there[m].records = NULL;
        (void)system_memory_fetch(s, stn_team_context(team, m), &there[m], &part[m], status == STN_OK ? error : NULL);
        *same = *same && system_memory_same(s, want, first[m], &part[m]);
        system_memory_clear(s, &part[m]);
    }
    return status;
}

static void compare(rig *r, const random_system *s, int members, uint64_t seed, uint64_t index) {
    system_memory want, got;
    stn_error error = {0};
    stn_team_plan *plan = NULL;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_team *team = r->team[members];
    char what[300], detail[1000], *words = NULL;
    bool parts = false;
    options.strategy = r->gpus ? index % 2 ? "step" : "fused" : "host";
    system_memory_make(s, s->problem.extent[0], &want), system_memory_make(s, s->problem.extent[0], &got);
    system_memory_fill(s, seed + index, &want), system_memory_fill(s, seed + index, &got);
    stn_status status = random_system_run(s, r->alone, options.strategy, &want, &error);
    if (status == STN_ERROR_UNSUPPORTED && r->gpus) {
        options.strategy = "step";
        status = random_system_run(s, r->alone, options.strategy, &want, &error);
    }
    team->steps_per_exchange = index % 3 ? 0 : 1 + index / 3 % 3;
    if (status == STN_OK) status = stn_team_plan_create_system(team, &s->problem, &options, &plan, &error);
    if (status == STN_ERROR_UNSUPPORTED && r->gpus && !plan && !strcmp(options.strategy, "fused")) {
        options.strategy = "step"; /* a part may be too small for it */
        status = stn_team_plan_create_system(team, &s->problem, &options, &plan, &error);
    }
    snprintf(what, sizeof what, "system %" PRIu64 ": %d members, %dD %zu rows, %d steps, every %d, %s %s", index,
             members, s->problem.rank, s->problem.extent[0], (int)s->problem.steps, (int)s->problem.every,
             stn_dtype_name(s->problem.dtype), options.strategy);
    const bool refused = status == STN_ERROR_UNSUPPORTED && strstr(error.message, "a team divides axis 0");
    if (status == STN_OK) status = stn_team_plan_execute_system_host(plan, &got.arrays, &error);
    const bool same = status == STN_OK && system_memory_same(s, &want, 0, &got);
    const bool records = status == STN_OK && system_records_same(s, &want, &got, !r->gpus);
    if (status == STN_OK) status = run_parts(team, plan, s, &got, &want, &parts, &error);
    if (plan) (void)stn_team_plan_describe(plan, &words, NULL);
    snprintf(detail, sizeof detail, "%.300s; arrays %d, records %d, parts %d; %.500s", error.message, same, records,
             parts, words ? words : "");
    for (char *c = detail; *c; c++) *c = *c == '\n' ? ' ' : *c;
    const bool good = refused || (status == STN_OK && same && records && parts);
    report(r, good, what, detail);
    if (!good) printf("# %s\n", s->text);
    refused_count += refused, divided += plan && plan->members > 1;
    stn_text_free(words);
    stn_team_plan_destroy(plan);
    system_memory_clear(s, &want), system_memory_clear(s, &got);
}

/* A wave whose second run continues the first; coefficients stay, too. The source is in two halos,
 * in one of them past the side that wraps. */
static void goes_on(rig *r) {
    enum { NY = 40, NX = 12, POINTS = NY * NX, STEPS = 14 };
    static const stn_system_point source = {.index = {0, 3}, .weight = 1};
    static double amplitudes[STEPS], u[POINTS], before[POINTS], c2[POINTS], once[2][POINTS], twice[2][POINTS];
    stn_system *system = NULL;
    stn_system_problem p = STN_SYSTEM_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_system_arrays arrays = STN_SYSTEM_ARRAYS_INIT;
    stn_team_plan *plan = NULL;
    stn_error error = {0};
    const void *in[2] = {u, before}, *coefficients[1] = {c2};
    void *out[2] = {once[0], once[1]}, *kept[2] = {twice[0], twice[1]};
    dice d = {11};
    for (int i = 0; i < POINTS; i++) u[i] = dice_real(&d), before[i] = dice_real(&d), c2[i] = 0.2 * dice_positive(&d);
    for (int i = 0; i < STEPS; i++) amplitudes[i] = dice_real(&d);
    options.strategy = r->gpus ? "step" : "host";
    stn_status status = stn_system_parse(
        "field u(2); coefficient c2; stencil lap = laplace-2d\n"
        "u.next = 2*u - u.prev + c2*lap(u)",
        &system, &error);
    p.system = system, p.extent[0] = NY, p.extent[1] = NX, p.steps = STEPS;
    p.sources = &source, p.source_count = 1;
    arrays.in = in, arrays.out = out, arrays.coefficients = coefficients, arrays.amplitudes = amplitudes;
    if (status == STN_OK) status = stn_team_plan_create_system(r->team[1], &p, &options, &plan, &error);
    if (status == STN_OK) status = stn_team_plan_execute_system_host(plan, &arrays, &error);
    stn_team_plan_destroy(plan), plan = NULL;
    p.steps = STEPS / 2, r->team[3]->steps_per_exchange = 3;
    if (status == STN_OK) status = stn_team_plan_create_system(r->team[3], &p, &options, &plan, &error);
    report(r, plan && plan->part[0].plan[0]->system.local, "transforms would spread the halos' wrong rows", NULL);
    arrays.in = NULL;
    const bool nothing = plan && stn_team_plan_execute_system_host(plan, &arrays, &error) == STN_ERROR_INVALID_ARGUMENT;
    report(r, nothing, "there is nothing to go on from", error.message);
    arrays.in = in, arrays.out = NULL;
    if (status == STN_OK) status = stn_team_plan_execute_system_host(plan, &arrays, &error);
    arrays.in = NULL, arrays.out = kept, arrays.coefficients = NULL, arrays.amplitudes = amplitudes + STEPS / 2;
    if (status == STN_OK) status = stn_team_plan_execute_system_host(plan, &arrays, &error);
    report(r, status == STN_OK && !memcmp(once, twice, sizeof once), "a run goes on from the last one", error.message);
    const bool other = plan && stn_team_plan_execute_host(plan, u, twice, NULL, &error) == STN_ERROR_INVALID_ARGUMENT &&
                       stn_team_plan_set_weights(plan, 1, u, &error) != STN_OK;
    report(r, other, "calls for stencils are refused", error.message);
    arrays.in = in, in[1] = NULL;
    report(r, plan && stn_team_plan_execute_system_host(plan, &arrays, &error) == STN_ERROR_INVALID_ARGUMENT,
           "a level that is missing", error.message);
    stn_team_plan_destroy(plan);
    stn_system_destroy(system);
}

/* Systems that cannot be divided: the sentence names the fields or the coefficient. */
static void refusals(rig *r) {
    static const char *const texts[][2] = {
        {"field u, v; stencil s = laplace-1d; boundary v = reflect; u.next = u + s(v); v.next = v + s(u)", "field u"},
        {"field u; coefficient k; stencil s = laplace-1d; boundary u = reflect; boundary k = wrap; u.next = s(k*u)",
         "coefficient k"},
        {"field u, v; coefficient k; stencil s = laplace-1d; u.next = s(k*v); v.next = v + s(u.next)",
         "boundary k = wrap"},
        {"field u; coefficient k; stencil s = laplace-2d; boundary k = constant=1, odd-mirror; u.next = s(k*u)",
         "boundary k = wrap"}};
    stn_error error = {0};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        stn_system *system = NULL;
        stn_team_plan *plan = NULL;
        stn_system_problem p = STN_SYSTEM_PROBLEM_INIT;
        stn_status status = stn_system_parse(texts[i][0], &system, &error);
        p.system = system, p.rank = i == 3 ? 2 : 1, p.extent[0] = p.extent[1] = 20;
        if (status == STN_OK) status = stn_team_plan_create_system(r->team[2], &p, NULL, &plan, &error);
        report(r, status == STN_ERROR_UNSUPPORTED && !plan && strstr(error.message, texts[i][1]), texts[i][1],
               error.message);
        if (stn_team_plan_create_system(r->team[1], &p, NULL, &plan, &error) != STN_OK)
            report(r, false, "one member serves it", error.message);
        stn_team_plan_destroy(plan);
        stn_system_destroy(system);
    }
}

int main(int argc, char **argv) {
    rig r = {.count = 60};
    stn_error error = {0};
    const bool good = open_rig(&r, argc, argv, &error);
    if (good) refusals(&r), goes_on(&r);
    for (uint64_t i = 0; i < r.count && good; i++) {
        random_system system;
        dice d = {r.seed * 31 + i};
        if (r.only != UINT64_MAX && i != r.only) continue;
        random_system_draw(r.seed, i, &system);
        compare(&r, &system, dice_int(&d, 1, MAX_MEMBERS), r.seed, i);
        random_system_clear(&system);
    }
    printf("# %d systems divided, %d refused\n", divided, refused_count);
    return close_rig(&r, &error);
}
