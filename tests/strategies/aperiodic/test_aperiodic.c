/* What random problems seldom have for the strategy `aperiodic`: bands of bands of bands, many
 * chunks, streams; and its workspace, choice, refusals. Prints TAP.
 *
 *     test_aperiodic [--host] [--full] [--only PART]    --host: on the host, else on a GPU */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "host/stencil_run.h"
#include "streams.h"

static bool on_host;

static int rank_of(const int *extent) { return extent[2] ? 3 : extent[1] ? 2 : 1; }

/* pick: index among all candidates, some of which divide even very small bands; -1: the cheapest.
 * False: there are fewer. */
static bool check_pick(suite *s, const char *part, const stn_problem *p, int pick, uint64_t seed) {
    char what[300];
    comparison c;
    suite_name(part, p, pick, what, sizeof what);
    const bool good = compare_candidate_with_host(s->context, s->pool, p, "aperiodic",
                                                  pick < 0 ? -1 : COMPARE_MEASURED + pick, false, seed, &c);
    if (pick > 1 && strstr(c.error.message, "there is no candidate")) return false;
    suite_report_compared(s, good && !strcmp(c.strategy, "aperiodic"), what, &c);
    printf("# %s\n", c.parameters);
    return true;
}

/* Bands of bands along both axes, at both sides of each. */
static void crossed(suite *s) {
    stn_stencil *stencil = NULL;
    stn_stencil_parse("star-2d13p", &stencil, NULL);
    stn_problem p = grid_problem(stencil, (const int[3]){290, 300, 0}, STN_F64, 62);
    for (int side = 0; side < 4; side++) p.boundary[side / 2][side % 2].kind = STN_FIXED;
    const int pick = suite_candidate(s, &p, "aperiodic", "31, then 7 steps at once wherever");
    check_pick(s, "crossed", &p, pick - COMPARE_MEASURED, 62);
    stn_stencil_destroy(stencil);
}

/* Bands of bands in three levels, also very small ones, with remaining steps at each level. */
static void deep(suite *s) {
    /* On the emulator only 1D and 2D, with bands of bands. */
    const bool all = s->full || on_host;
    static const int extents[][3] = {{900, 0, 0}, {260, 241, 0}, {100, 96, 90}};
    static const uint64_t steps[] = {64, 45, 10};
    for (size_t e = 0; e < (all ? 3 : 2); e++)
        for (int pick = all ? 0 : 4, more = 1; more && (all || e == 0 || pick < 7); pick++) {
            dice d = {e * 10 + (uint64_t)pick + 60};
            const int rank = rank_of(extents[e]);
            stn_stencil *stencil = random_stencil(&d, rank, e == 2 ? TAPS_STAR : TAPS_BOX, e == 0 ? 2 : 1);
            stn_problem p = grid_problem(stencil, extents[e], STN_F64, steps[e] + (uint64_t)pick % 2);
            for (int axis = 0; axis < rank; axis++)
                p.boundary[axis][0].kind = axis ? STN_FIXED : STN_NEAREST, p.boundary[axis][1].kind = STN_MIRROR;
            more = check_pick(s, "deep", &p, pick, d.state);
            stn_stencil_destroy(stencil);
        }
    crossed(s);
}

/* Many chunks of many steps. */
static void rounds(suite *s) {
    static const int extent[3] = {320, 290, 0};
    static const struct {
        const char *stencil;
        stn_boundary_kind kind;
        stn_dtype dtype;
    } list[] = {
        {"star-2d13p", STN_FIXED, STN_F64}, {"box-2d49p", STN_NEAREST, STN_F64}, {"star-2d13p", STN_CONSTANT, STN_F32}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        stn_stencil *stencil = NULL;
        stn_stencil_parse(list[i].stencil, &stencil, NULL);
        stn_problem p = grid_problem(stencil, extent, list[i].dtype, 601);
        for (int axis = 0; axis < 2; axis++)
            for (int side = 0; side < 2; side++) p.boundary[axis][side] = (stn_boundary){list[i].kind, 0.6};
        check_pick(s, "rounds", &p, -1, i);
        stn_stencil_destroy(stencil);
    }
}

/* Chunks read and write the caller's grids where these are packed. */
static void turns(suite *s) {
    size_t sizes[2] = {0, 0};
    for (int padded = 0; padded < 2; padded++) {
        stn_stencil *stencil = NULL;
        stn_plan *plan = NULL;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        options.strategy = "aperiodic";
        stn_stencil_parse("star-2d13p", &stencil, NULL);
        stn_problem p = grid_problem(stencil, (const int[3]){300, 280, 0}, STN_F64, 600);
        for (int axis = 0; axis < 2; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_FIXED;
        if (padded) p.in_stride[0] = p.out_stride[0] = 281, p.in_stride[1] = p.out_stride[1] = 1;
        if (stn_plan_create(s->context, &p, &options, &plan, NULL) == STN_OK)
            sizes[padded] = stn_plan_workspace_size(plan);
        stn_plan_destroy(plan);
        stn_stencil_destroy(stencil);
    }
    suite_report(s, sizes[0] && sizes[1] >= sizes[0] + (size_t)(300 * 280) * 8,
                 "turns: packed grids take a grid less of workspace", NULL);
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* On the host: the planner's choices, and errors. */
static void choice(suite *s) {
    suite_choice(s, "choice: many steps of a large grid", "star-2d13p", STN_FIXED, 4096, 1000, NULL, "aperiodic");
    suite_choice(s, "choice: not of a small one", "star-2d13p", STN_FIXED, 128, 1000, NULL, "host");
    suite_choice(s, "choice: nor few steps", "star-2d13p", STN_FIXED, 2048, 2, NULL, "host");
    suite_choice(s, "choice: what transforms alone serve", "heat-2d", STN_FIXED, 2048, 1000, NULL, "host-spectral");
    suite_choice(s, "refusals: that", "heat-2d", STN_FIXED, 500, 100, "aperiodic", "transforms alone serve all sides");
    suite_choice(s, "refusals: one step", "star-2d13p", STN_FIXED, 500, 1, "aperiodic", "a single step");
    suite_choice(s, "refusals: no room for bands", "star-2d13p", STN_FIXED, 9, 1000, "aperiodic",
                 "leave nothing between them");
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {
        {"streams", streams}, {"deep", deep}, {"turns", turns}, {"choice", choice}, {"rounds", rounds}};
    on_host = argc > 1 && !strcmp(argv[1], "--host");
    /* All parts except streams. */
    if (on_host) return suite_main_on(STN_DEVICE_HOST, argc - 1, argv + 1, parts + 1, 4);
    /* All parts except the last two. */
    return suite_main(argc, argv, parts, 3);
}
