/* sparse near the limits of f16: values near 65504, weights that f16 cannot represent, growing
 * runs; chains near the limit of f32; and new weights of every structure without compilation.
 * Against the host, on any device. Prints TAP. Usage: test_sparse_range [--full] [--only PART]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lowrank/structure.h"
#include "../suite.h"

#define LARGE 64000.0 /* rounding keeps intermediate values below 65504 */
#define TOLERANCE 1e-3

static stn_problem sized_problem(const stn_stencil *stencil, uint64_t steps) {
    static const size_t extents[3][3] = {{4099}, {90, 136}, {17, 24, 56}};
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil, p.steps = steps, p.dtype = STN_F16;
    memcpy(p.extent, extents[stn_stencil_rank(stencil) - 1], sizeof p.extent);
    return p;
}

/* All values have one sign, so sums are as large as the weights allow. */
static double draw_large(dice *d) { return LARGE * (0.99 + 0.01 * dice_real(d)); }
static double draw_small(dice *d) { return 1e-4 * (0.5 + 0.25 * dice_real(d)); }

/* Every candidate of a problem, or every third; *tried counts them. */
static void check_all(suite *s, const stn_problem *p, const char *name, double (*draw)(dice *), int *tried) {
    for (int pick = 0; pick < 200; pick++) {
        comparison c;
        char what[400];
        if (!s->full && pick % 3) continue;
        const bool good = compare_drawn_with_host(s->context, s->pool, p, "sparse", COMPARE_MEASURED + pick, true, draw,
                                                  (uint64_t)pick + 5, &c);
        if (c.error.status == STN_ERROR_INVALID_ARGUMENT) break; /* no more candidates */
        ++*tried;
        snprintf(what, sizeof what, "%s, %d steps: %s", name, (int)p->steps, c.parameters);
        suite_report_compared(s, good, what, &c);
    }
}

/* Positive weights that sum to 1, by every kernel: intermediate values do not exceed the grid's
 * range. */
static void large(suite *s) {
    static const char *const names[] = {"heat-1d", "gaussian-2d:sigma=1,truncate=2", "box-2d9p", "box-3d27p",
                                        "gaussian-3d:sigma=1,truncate=1"};
    int tried = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (uint64_t steps = 1; steps <= 4; steps += 3) {
            stn_stencil *stencil = NULL;
            stn_stencil_parse(names[k], &stencil, NULL);
            const stn_problem p = sized_problem(stencil, steps);
            check_all(s, &p, names[k], draw_large, &tried);
            stn_stencil_destroy(stencil);
        }
    suite_report(s, tried > 20, "many candidates", NULL);
}

/* A box of weights with a given sum; uneven: not separable. */
static stn_stencil *box_of(int rank, double sum, bool uneven) {
    stn_tap taps[27];
    int count = 0;
    double all = 0;
    for (int i = 0; i < 27; i++) {
        const int at[3] = {i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1};
        if ((rank < 3 && at[0]) || (rank < 2 && at[1])) continue;
        taps[count] = (stn_tap){.weight = 1};
        for (int axis = 0; axis < rank; axis++) {
            taps[count].offset[axis] = at[3 - rank + axis];
            taps[count].weight *= at[3 - rank + axis] ? 0.25 : 0.5;
        }
        if (uneven) taps[count].weight *= 1 + 0.07 * (i % 5);
        all += taps[count++].weight;
    }
    for (int i = 0; i < count; i++) taps[i].weight *= sum / all;
    stn_stencil *stencil = NULL;
    stn_stencil_create(rank, (size_t)count, taps, &stencil, NULL);
    return stencil;
}

/* Weights that underflow in f16, partly or entirely, on values whose results are representable. */
static void weights(suite *s) {
    int tried = 0;
    for (int i = 0; i < 12; i++) {
        const int rank = 1 + i % 3, uneven = i / 3 % 2;
        const bool huge = i > 5;
        if (!s->full && rank == 3 && uneven) continue;
        stn_stencil *stencil = box_of(rank, huge ? 3e7 : 2e-7, uneven);
        const stn_problem p = sized_problem(stencil, 1);
        char name[80];
        snprintf(name, sizeof name, "%dD, weights that add up to %g", rank, huge ? 3e7 : 2e-7);
        check_all(s, &p, name, huge ? draw_small : draw_large, &tried);
        stn_stencil_destroy(stencil);
    }
    suite_report(s, tried > 12, "many candidates", NULL);
}

static double draw_largest(dice *d) { return 3.2e38 * (0.99 + 0.01 * dice_real(d)); }

/* Chains in f32 on values near 3.4e38: the sums of the first product do not exceed the values, also
 * if the factor along x has most of the weights' magnitude. */
static void chains(suite *s) {
    static const char *const words[] = {"as a chain|tf32 products", "as a chain|tf32 x 2", "as 2 chains"};
    for (int i = 0; i < 3; i++) {
        stn_stencil *stencil = box_of(2, 1, i == 2);
        stn_problem p = sized_problem(stencil, 3);
        p.dtype = STN_F32, p.tolerance = TOLERANCE;
        const int pick = suite_candidate(s, &p, "sparse", words[i]);
        comparison c;
        char what[400];
        const bool good = compare_drawn_with_host(s->context, s->pool, &p, "sparse", pick, true, draw_largest, 5, &c);
        snprintf(what, sizeof what, "f32, values of 3.2e38, %s: %s", words[i], c.parameters);
        suite_report_compared(s, good, what, &c);
        stn_stencil_destroy(stencil);
    }
}

/* The first step that a plan names after which values of about 1 may overflow; 0: none. */
static uint64_t overflow_step(const stn_plan *plan) {
    char *text = NULL;
    uint64_t step = 0;
    if (stn_plan_describe(plan, STN_JSON, &text, NULL) == STN_OK) {
        const char *at = strstr(text, "\"overflow_step\":");
        if (at) step = strtoull(at + strlen("\"overflow_step\":"), NULL, 10);
    }
    stn_text_free(text);
    return step;
}

static double draw_ones(dice *d) { return 0.9 + 0.05 * dice_real(d); }

/* The step that a plan names is the first after which 1 exceeds f16's range; until then runs are
 * right. */
static void growth(suite *s) {
    static const double sums[] = {1.5, 2.5, 9};
    for (int i = 0; i < 6; i++) {
        const double sum = sums[i / 2];
        const int rank = 1 + i % 2;
        stn_stencil *stencil = box_of(rank, sum, i % 4 > 1);
        const uint64_t expected = (uint64_t)ceil(log(65504) / log(sum));
        stn_problem p = sized_problem(stencil, expected + 5);
        comparison c = {0};
        stn_plan *plan = NULL;
        char what[160], detail[1200];
        const bool made = compare_plan(s->context, &p, "sparse", 0, &plan, &c) == STN_OK;
        const uint64_t said = made ? overflow_step(plan) : 0;
        snprintf(what, sizeof what, "%dD, weights that add up to %g: past f16 after %d steps", rank, sum,
                 (int)expected);
        snprintf(detail, sizeof detail, "said: %d; %s", (int)said, c.error.message);
        suite_report(s, said == expected, what, detail);
        stn_plan_destroy(plan);
        p.steps = expected - 1;
        const bool good = compare_drawn_with_host(s->context, s->pool, &p, "sparse", 0, true, draw_ones, 9, &c);
        snprintf(what, sizeof what, "%dD, weights that add up to %g: right until then", rank, sum);
        suite_report_compared(s, good, what, &c);
        stn_stencil_destroy(stencil);
    }
}

enum { NY = 50, NX = 66 };

/* Sets the plan's weights to those of `kind`: it must agree with the host's result for them,
 * without compilation if all sides wrap (the emulator's compiler is made to fail), or refuse them
 * and keep its own. */
static bool check_structure(suite *s, stn_context *context, stn_plan *plan, stn_problem p, structure first,
                            structure kind, double *had) {
    static double in[NY * NX];
    const size_t extent[2] = {5, 5};
    dice d = {99 + (uint64_t)kind};
    double w[25];
    for (int i = 0; i < NY * NX; i++) in[i] = dice_real(&d);
    fill_weights(&d, kind, 5, w);
    for (int i = 0; i < 25; i++)
        if (w[i] == 0) w[i] = 1e-15; /* keeps the tap */
    stn_error error = {0};
    /* Between mirrors, asymmetric weights need margins that symmetric ones do not. */
    if (p.boundary[0][0].kind == STN_WRAP) setenv("STENTOR_EMULATOR_FAIL", "nvrtcCompileProgram:*", 1);
    const stn_status status = stn_plan_set_weights(plan, 25, w, &error);
    unsetenv("STENTOR_EMULATOR_FAIL");
    if (status == STN_OK) memcpy(had, w, sizeof w);
    stn_stencil *fresh = NULL;
    stn_stencil_create_dense(2, extent, had, &fresh, NULL);
    p.stencil = fresh;
    const bool as_said = status == STN_OK || status == STN_ERROR_UNSUPPORTED || status == STN_ERROR_COMPILE;
    const double off = as_said ? compare_plan_with_host(context, plan, &p, in, NY * NX) : INFINITY;
    char what[160], detail[1200];
    snprintf(what, sizeof what, "%s weights %s %s ones, %s", structure_names[kind],
             status == STN_OK ? "for" : "are refused instead of", structure_names[first], stn_dtype_name(p.dtype));
    snprintf(detail, sizeof detail, "error %.3g; %s", off, error.message);
    suite_report(s, off < 1.5 * TOLERANCE, what, detail);
    stn_stencil_destroy(fresh);
    return status == STN_OK;
}

static void structures(suite *s) {
    static const structure kinds[] = {SEPARABLE,        UNIFORM,       SYMMETRIC, ZERO_CORNERS, EVEN_ZERO_CORNERS,
                                      EVEN_ZERO_CENTRE, EVEN_RANK_TWO, ONE_SIDED, EVEN_ROWS,    EVEN_COLUMNS};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    const size_t extent[2] = {5, 5};
    int taken = 0;
    for (int i = 0; i < KINDS; i += s->full ? 1 : 3) {
        dice d = {31};
        double had[25];
        fill_weights(&d, kinds[i], 5, had);
        for (int k = 0; k < 25; k++)
            if (had[k] == 0) had[k] = 1e-15;
        stn_context_options own = STN_CONTEXT_OPTIONS_INIT;
        own.cache_dir = ":memory:";
        stn_context *context = NULL;
        stn_stencil *stencil = NULL;
        stn_plan *plan = NULL;
        comparison c = {0};
        stn_stencil_create_dense(2, extent, had, &stencil, NULL);
        stn_problem p = sized_problem(stencil, 2);
        p.extent[0] = NY, p.extent[1] = NX;
        p.boundary[0][0].kind = p.boundary[0][1].kind = i % 2 ? STN_REFLECT : STN_WRAP;
        p.dtype = i % 4 < 2 ? STN_F16 : STN_F32, p.tolerance = TOLERANCE;
        const bool made = stn_context_create(&own, &context, &c.error) == STN_OK &&
                          compare_plan(context, &p, "sparse", -1, &plan, &c) == STN_OK;
        if (!made) suite_report(s, false, structure_names[kinds[i]], c.error.message);
        for (int k = 0; k < KINDS && made; k++) taken += check_structure(s, context, plan, p, kinds[i], kinds[k], had);
        stn_plan_destroy(plan);
        stn_context_destroy(context);
        stn_stencil_destroy(stencil);
    }
    suite_report(s, taken > 10, "most are taken", NULL);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {
        {"large", large}, {"weights", weights}, {"chains", chains}, {"growth", growth}, {"structures", structures}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
