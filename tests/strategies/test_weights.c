/* New weights of a plan, of each form of the strategies that have tables of weights: weights as
 * symmetric as the plan's own need no compilation; those that need a kernel which does not compile
 * are refused, and the plan keeps its own. The emulator's compiler fails on request; on a GPU only
 * results are checked. Prints TAP. test_random sets weights of any kind. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

enum { MAX_POINTS = 30011 };

typedef struct form {
    const char *strategy, *words; /* of the candidate's name, separated by | */
    int rank, n[3];
    bool even; /* weights are symmetric along each axis */
    int sides, steps;
    stn_dtype dtype;
} form;

static const form forms[] = {
    {"segment", "segments of 256 points", 1, {1009}, true, STN_FIXED, 6, STN_F64},
    {"segment", "segments of 1024 points", 1, {3001}, false, STN_WRAP, 6, STN_F64},
    {"segment", "segments of 16384 points", 1, {30011}, false, STN_WRAP, 3000, STN_F64},
    {"segment", "by dense DFTs of 16 x 15 x 1", 1, {1009}, false, STN_WRAP, 6, STN_F64},
    {"segment", "weights folded", 1, {63}, false, STN_WRAP, 300, STN_F64},
    {"segment", "tiled FFTs of|weights folded", 2, {29, 31}, false, STN_WRAP, 300, STN_F64},
    {"segment", "as half a period", 1, {1024}, true, STN_REFLECT, 3000, STN_F64},
    {"segment", "sources of sides convolved", 2, {61, 90}, true, STN_CONSTANT, 20, STN_F64},
    {"segment", "along axis 1|along axis 0", 2, {83, 67}, false, STN_WRAP, 6, STN_F64},
    {"segment", "along axis 2|along axis 1|along axis 0", 3, {20, 31, 42}, true, STN_REFLECT, 6, STN_F64},
    {"segment", "tiled FFTs of", 2, {97, 131}, false, STN_WRAP, 6, STN_F64},
    {"segment", "tiled FFTs of|margins stepped", 2, {97, 131}, true, STN_FIXED, 6, STN_F64},
    {"segment", "in a cluster of", 2, {151, 141}, true, STN_WRAP, 6, STN_F64},
    {"segment", "tiles of 32 x 32 points", 2, {61, 70}, true, STN_REFLECT, 6, STN_F64},
    {"segment", "tiles of 16 x 16 x 16 points", 3, {17, 20, 23}, false, STN_WRAP, 6, STN_F64},
    {"lowrank", "", 2, {50, 66}, true, STN_NEAREST, 6, STN_F64},
    {"lowrank", "one an axis", 2, {50, 66}, false, STN_FIXED, 6, STN_F32},
    {"lowrank", "products a tile", 3, {16, 21, 38}, true, STN_WRAP, 6, STN_F16},
    {"sparse", "as a chain", 2, {50, 66}, false, STN_REFLECT, 6, STN_F16},
    {"sparse", "columns side by side", 2, {50, 66}, false, STN_WRAP, 6, STN_F16},
    {"spectral", "", 2, {48, 60}, false, STN_WRAP, 6, STN_F64},
    {"direct", "steps a launch", 2, {70, 96}, false, STN_MIRROR, 6, STN_F64}};

/* Products of a factor of three weights along each axis. */
static stn_stencil *stencil_of(const form *f, bool fresh) {
    double factor[3][MAX_FACTORS];
    for (int axis = 0; axis < 3; axis++) {
        const double low = fresh ? 0.2 : 0.25, high = f->even ? low : low + (fresh ? 0.125 : 0.0625);
        factor[axis][0] = low, factor[axis][1] = 1 - low - high, factor[axis][2] = high;
    }
    return stencil_of_factors(f->rank, (const int[3]){1, 1, 1}, (const int[3]){3, 3, 3}, factor);
}

/* A plan by the form in a context of its own, which has compiled nothing else. */
static stn_plan *plan_of(const form *f, const stn_stencil *stencil, stn_context **context, stn_problem *p,
                         stn_error *error) {
    stn_context_options own = STN_CONTEXT_OPTIONS_INIT;
    comparison c = {0};
    stn_plan *plan = NULL;
    own.cache_dir = ":memory:";
    *p = grid_problem(stencil, f->n, f->dtype, (uint64_t)f->steps);
    for (int axis = 0; axis < f->rank; axis++)
        for (int side = 0; side < 2; side++) {
            const int kind = f->sides == STN_CONSTANT && !side ? STN_FIXED : f->sides;
            p->boundary[axis][side] = (stn_boundary){(stn_boundary_kind)kind, kind == STN_CONSTANT ? 0.7 : 0};
        }
    if (stn_context_create(&own, context, error) != STN_OK) return NULL;
    const suite s = {.context = *context};
    const int pick = *f->words ? suite_candidate(&s, p, f->strategy, f->words) : -1;
    if (compare_plan(*context, p, f->strategy, pick, &plan, &c) == STN_OK) return plan;
    *error = c.error;
    stn_plan_destroy(plan);
    return NULL;
}

static bool set_without_compiler(stn_plan *plan, const stn_stencil *fresh, stn_error *error) {
    const size_t count = stn_stencil_tap_count(fresh);
    double weights[27];
    for (size_t i = 0; i < count; i++) weights[i] = stn_stencil_taps(fresh)[i].weight;
    setenv("STENTOR_EMULATOR_FAIL", "nvrtcCompileProgram:*", 1);
    const bool set = stn_plan_set_weights(plan, count, weights, error) == STN_OK;
    unsetenv("STENTOR_EMULATOR_FAIL");
    return set;
}

static const double *data(void) {
    static double in[MAX_POINTS];
    dice d = {99};
    for (size_t i = 0; i < MAX_POINTS && !in[MAX_POINTS - 1]; i++) in[i] = dice_real(&d);
    return in;
}

static size_t points_of(const form *f) {
    size_t count = 1;
    for (int axis = 0; axis < f->rank; axis++) count *= (size_t)f->n[axis];
    return count;
}

static void taken(suite *s) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const form *f = &forms[i];
        const double bar = f->dtype == STN_F64 ? 1e-12 : f->dtype == STN_F32 ? 4e-6 : 2e-3;
        stn_stencil *stencil = stencil_of(f, false), *fresh = stencil_of(f, true);
        stn_context *context = NULL;
        stn_error error = {0};
        stn_problem p;
        double off = INFINITY;
        char what[160], detail[1200];
        stn_plan *plan = plan_of(f, stencil, &context, &p, &error);
        p.stencil = fresh;
        if (plan && set_without_compiler(plan, fresh, &error))
            off = compare_plan_with_host(context, plan, &p, data(), points_of(f));
        snprintf(what, sizeof what, "%s, %s, %dD: new weights", f->strategy, f->words, f->rank);
        snprintf(detail, sizeof detail, "error %.3g, bar %.3g; %s", off, bar, error.message);
        suite_report(s, off <= bar, what, detail);
        stn_plan_destroy(plan);
        stn_context_destroy(context);
        stn_stencil_destroy(stencil), stn_stencil_destroy(fresh);
    }
}

static void refused(suite *s) {
    const char *driver = getenv("STENTOR_CUDA_PATH");
    static const form product = {"lowrank", "", 2, {50, 66}, true, STN_WRAP, 6, STN_F64};
    static const double mixed[9] = {0.3, -0.1, 0.2, 0.05, 0.1, -0.15, 0.02, 0.2, 0.1};
    if (!driver || !strstr(driver, "emulated")) return;
    stn_stencil *stencil = stencil_of(&product, false), *fresh = NULL;
    stn_context *context = NULL;
    stn_error error = {0};
    stn_problem p;
    char *before = NULL, *after = NULL;
    stn_stencil_create_dense(2, (const size_t[2]){3, 3}, mixed, &fresh, NULL);
    stn_plan *plan = plan_of(&product, stencil, &context, &p, &error);
    if (plan) stn_plan_describe(plan, STN_JSON, &before, NULL);
    const bool set = plan && set_without_compiler(plan, fresh, &error);
    suite_report(s, plan && !set, "weights that need a kernel which does not compile are refused", error.message);
    if (plan) stn_plan_describe(plan, STN_JSON, &after, NULL);
    const bool same = before && after && !strcmp(before, after);
    const double off = plan ? compare_plan_with_host(context, plan, &p, data(), points_of(&product)) : INFINITY;
    suite_report(s, same && off < 5e-13, "a plan that refused new weights has its old ones",
                 same ? "it gives another result" : "it describes itself otherwise");
    stn_text_free(before), stn_text_free(after);
    stn_plan_destroy(plan);
    stn_context_destroy(context);
    stn_stencil_destroy(stencil), stn_stencil_destroy(fresh);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"taken", taken}, {"refused", refused}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
