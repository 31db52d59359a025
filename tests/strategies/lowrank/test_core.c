/* Cores of fused 3D taps: known sizes, residuals, and expansion back into taps. */
#include <math.h>

#include "../common/tasks.h"
#include "strategies/lowrank/lowrank_types.h"
#include "strategies/lowrank/volume/core_search.h"

/* The expanded core equals the cube: every weight, and reaches that hide none. */
static void expect_equal(const stn_power *cube, const lowrank_core *core, const char *what) {
    double largest = 0, error = 0;
    for (int z = 0, i = 0; z < cube->size[0]; z++)
        for (int y = 0; y < cube->size[1]; y++)
            for (int x = 0; x < cube->size[2]; x++, i++) {
                double sum = 0;
                int dy = y - cube->low[1];
                for (int r = 0; r < core->terms; r++)
                    if (dy >= -core->low[r] && dy <= core->high[r])
                        sum += core->c[core->sum[r]][z] * core->v[r][y] * core->u[core->x_factor[r]][x];
                error = fmax(error, fabs(sum - (double)cube->weight[i]));
                largest = fmax(largest, fabs((double)cube->weight[i]));
            }
    cr_expect_leq(error, 4e-15 * largest, "%s: off by %g of %g", what, error, largest);
}

static lowrank_core core_of(const char *name, int fused, lowrank_core_method method) {
    stn_task task = task_of_name(name);
    stn_power cube = fused_power(&task, fused);
    lowrank_core core;
    cr_assert(lowrank_core_make(&task, &cube, method, &core), "%s, %d steps, way %d", name, fused, method);
    cr_expect_leq(core.residual, 1e-15, "%s: residual %g", name, core.residual);
    expect_equal(&cube, &core, name);
    stn_power_clear(&cube);
    stn_task_clear(&task);
    return core;
}

Test(core, separable_taps_are_one_term_however_many_steps) {
    for (int f = 1; f <= 8; f++)
        for (int method = LOWRANK_CORE_OUTER; method <= LOWRANK_CORE_LARGEST; method++) {
            lowrank_core core = core_of("gaussian-3d:sigma=1,truncate=1", f, (lowrank_core_method)method);
            cr_expect(core.x_factors == 1 && core.sums == 1 && core.terms == 1, "%d steps: %d, %d, %d", f,
                      core.x_factors, core.sums, core.terms);
        }
}

Test(core, a_star_keeps_its_single_weights) {
    lowrank_core one = core_of("heat-3d", 1, LOWRANK_CORE_OUTER);
    cr_expect(one.identity == 1 && one.x_factors == 2 && one.sums == 2 && one.terms == 3);
    int banded = 0;
    for (int r = 0; r < one.terms; r++) banded += one.low[r] > 0;
    cr_expect_eq(banded, 1, "only the weights along y are a band");
    lowrank_core two = core_of("heat-3d", 2, LOWRANK_CORE_OUTER);
    cr_expect(two.identity == 1 && two.x_factors == 3 && two.sums == 3 && two.terms == 6);
    lowrank_core far = core_of("laplace-3d:order=16", 1, LOWRANK_CORE_OUTER);
    cr_expect(far.x_factors == 2 && far.sums == 2 && far.terms == 3);
}

Test(core, two_terms_have_f_plus_one_in_f_steps) {
    for (int f = 1; f <= 6; f++) {
        lowrank_core core = core_of("box-3d27p", f, LOWRANK_CORE_PAIR);
        cr_expect_eq(core.terms, f + 1, "%d steps: %d terms", f, core.terms);
    }
}

Test(core, other_taps_are_not_a_pair) {
    stn_task task = task_of_name("gaussian-3d:sigma=1,truncate=1"); /* one term */
    stn_power cube = fused_power(&task, 2);
    lowrank_core core;
    cr_expect_not(lowrank_core_make(&task, &cube, LOWRANK_CORE_PAIR, &core));
    stn_power_clear(&cube);
    stn_task_clear(&task);
}

/* Random dense weights: every way that gives a core reproduces the taps. */
Test(core, random_weights) {
    unsigned long long state = 7;
    for (int trial = 0; trial < 20; trial++) {
        int side = trial % 2 ? 3 : 5, made = 0;
        double w[125];
        size_t extent[3] = {(size_t)side, (size_t)side, (size_t)side};
        for (int i = 0; i < side * side * side; i++) {
            state = state * 6364136223846793005ULL + 1442695040888963407ULL;
            w[i] = (double)(long long)state * 0x1p-63;
        }
        stn_stencil *stencil = NULL;
        cr_assert_eq(stn_stencil_create_dense(3, extent, w, &stencil, NULL), STN_OK);
        stn_task task = task_of(stencil);
        stn_power cube = fused_power(&task, 1);
        for (int method = 0; method < LOWRANK_CORE_METHODS; method++) {
            lowrank_core core;
            if (!lowrank_core_make(&task, &cube, (lowrank_core_method)method, &core)) continue;
            expect_equal(&cube, &core, "random weights");
            made++;
        }
        cr_expect_geq(made, 1, "no core for %d random weights a side", side);
        stn_power_clear(&cube);
        stn_task_clear(&task);
        stn_stencil_destroy(stencil);
    }
}

Test(core, nothing_but_zeros) {
    double w[27] = {0};
    size_t extent[3] = {3, 3, 3};
    stn_stencil *stencil = NULL;
    cr_assert_eq(stn_stencil_create_dense(3, extent, w, &stencil, NULL), STN_OK);
    stn_task task = task_of(stencil);
    stn_power cube = fused_power(&task, 2);
    lowrank_core core;
    cr_assert(lowrank_core_make(&task, &cube, LOWRANK_CORE_OUTER, &core));
    cr_expect_geq(core.terms, 1);
    expect_equal(&cube, &core, "zeros");
    stn_power_clear(&cube);
    stn_task_clear(&task);
    stn_stencil_destroy(stencil);
}

/* Rounded numbers have 22 bits, zeros stay zeros, and the sum is preserved. */
Test(core, rounding_keeps_sums) {
    static const double vectors[][5] = {{0.1, 0.2, 0.4, 0.2, 0.1},
                                        {1.0 / 3, 0, -1.0 / 7, 0, 1.0 / 3},
                                        {1e-9, 0.7, 1.0 / 3, 0.7, 1e-9},
                                        {0.3, 0, 0, 0, 0},
                                        {0}};
    for (size_t i = 0; i < sizeof vectors / sizeof *vectors; i++) {
        double rounded[5], largest = 0, smallest = 1, sum = 0, factor = i % 2 ? 1 : 1 + 4.2e-8;
        memcpy(rounded, vectors[i], sizeof rounded);
        lowrank_round(22, factor, rounded, 5, false);
        for (int k = 0; k < 5; k++) {
            double wanted = vectors[i][k] * factor;
            largest = fmax(largest, fabs(wanted));
            if (wanted != 0) smallest = fmin(smallest, fabs(wanted));
            sum += rounded[k] - wanted;
        }
        for (int k = 0; k < 5; k++) {
            int exponent;
            double bits = ldexp(frexp(rounded[k], &exponent), 22);
            cr_expect_eq(bits, rint(bits), "number %d of vector %zu has more than 22 bits", k, i);
            cr_expect_leq(fabs(rounded[k] - vectors[i][k] * factor), largest * 0x1p-21);
            cr_expect(vectors[i][k] != 0 || rounded[k] == 0, "a zero of vector %zu became %g", i, rounded[k]);
        }
        cr_expect_leq(fabs(sum), fmax(smallest, largest * 0x1p-20) * 0x1p-22, "vector %zu sums up to %g more", i, sum);
    }
}

/* Choices for a stencil in a plane, on a 2D grid and on a 3D grid, in one context. */
static char *choice_of(stn_context *context, int rank) {
    static const stn_tap taps[] = {{.offset = {0, -1}, .weight = 0.2},
                                   {.offset = {-1, 0}, .weight = 0.2},
                                   {.offset = {0, 0}, .weight = 0.15},
                                   {.offset = {1, 0}, .weight = 0.2},
                                   {.offset = {0, 1}, .weight = 0.25}};
    stn_tap own[5];
    stn_stencil *stencil;
    stn_plan *plan;
    char *text;
    for (int i = 0; i < 5; i++) {
        own[i] = (stn_tap){.weight = taps[i].weight};
        for (int axis = 0; axis < 2; axis++) own[i].offset[rank - 2 + axis] = taps[i].offset[axis];
    }
    cr_assert_eq(stn_stencil_create(rank, 5, own, &stencil, NULL), STN_OK);
    const stn_problem problem = {.stencil = stencil, .extent = {256, 256, rank == 3 ? 256 : 0}, .steps = 8};
    const stn_plan_options options = {.strategy = "lowrank", .estimate_only = 1};
    cr_assert_eq(stn_plan_create(context, &problem, &options, &plan, NULL), STN_OK);
    cr_assert_eq(stn_plan_describe(plan, STN_TEXT, &text, NULL), STN_OK);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
    return text;
}

Test(core, the_same_taps_in_2d_and_in_3d_are_searched_apart) {
    const stn_context_options options = {.arch = "sm_90", .cache_dir = ":memory:"};
    char *text[2][2]; /* by the place in the order, by rank */
    for (int first = 2; first <= 3; first++) {
        stn_context *context;
        cr_assert_eq(stn_context_create(&options, &context, NULL), STN_OK);
        text[0][first - 2] = choice_of(context, first);
        text[1][3 - first] = choice_of(context, 5 - first);
        stn_context_destroy(context);
    }
    for (int rank = 2; rank <= 3; rank++) {
        cr_expect_str_eq(text[1][rank - 2], text[0][rank - 2]);
        for (int place = 0; place < 2; place++) stn_text_free(text[place][rank - 2]);
    }
}
