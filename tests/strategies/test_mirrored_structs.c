/* A kernel does not compile if the launcher assumes another size of its shared memory or of its
 * argument struct. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../expect.h"
#include "context/kernel.h"
#include "stentor.h"

static stn_context *context;

static void setup(void) { context = context_on(STN_DEVICE_CUDA(0)); }
static void teardown(void) { stn_context_destroy(context); }
TestSuite(mirrored_structs, .init = setup, .fini = teardown);

/* Returns the parameters with 64 added to one of them, freed with free(); NULL if it is unknown (0)
 * or absent. */
static char *with_more(const char *params, const char *name) {
    char line[64];
    snprintf(line, sizeof line, "constexpr int %s = ", name);
    const char *at = strstr(params, line);
    if (!at) return NULL;
    at += strlen(line);
    long value = strtol(at, NULL, 10);
    size_t size = strlen(params) + 16;
    char *changed = malloc(size);
    cr_assert_not_null(changed);
    snprintf(changed, size, "%.*s%ld%s", (int)(at - params), params, value + 64, strchr(at, ';'));
    if (value) return changed;
    free(changed);
    return NULL;
}

/* Compiles each kernel of the plan with each expected size changed; returns the number of
 * refusals. */
static int refused(const stn_plan *plan) {
    static const char *const names[] = {"EXPECTED_SHARED", "EXPECTED_HEADER"};
    int count = 0;
    for (size_t k = 0; k < stn_plan_kernel_count(plan); k++) {
        stn_kernel_info info = {0};
        OK(stn_plan_kernel(plan, k, &info, &error));
        for (int n = 0; n < 2; n++) {
            char *params = with_more(info.params, names[n]);
            stn_kernel_set set = {.context = context};
            stn_kernel *kernel;
            if (!params) continue;
            cr_expect_eq(stn_kernel_get(&set, info.name, params, &kernel, &error), STN_ERROR_COMPILE, "%s, %s",
                         info.name, names[n]);
            cr_expect(strstr(error.message, "the launcher"), "%s: %s", info.name, error.message);
            count++;
            free(params);
        }
    }
    return count;
}

static int refused_of(const char *stencil, const char *strategy, int rank, stn_boundary_kind kind, uint64_t steps) {
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_stencil *s = stencil_of(stencil);
    p.stencil = s;
    p.steps = steps;
    for (int axis = 0; axis < rank; axis++) {
        p.extent[axis] = rank == 3 ? 96 : 512;
        p.boundary[axis][0].kind = p.boundary[axis][1].kind = kind;
    }
    options.strategy = strategy;
    stn_plan *plan = new_plan(context, &p, &options);
    int count = refused(plan);
    stn_plan_destroy(plan);
    stn_stencil_destroy(s);
    return count;
}

Test(mirrored_structs, of_steps) {
    cr_expect_geq(refused_of("heat-1d", "direct", 1, STN_FIXED, 1), 1);
    cr_expect_geq(refused_of("heat-2d", "direct", 2, STN_FIXED, 1), 1);
    cr_expect_geq(refused_of("heat-2d", "direct", 2, STN_FIXED, 16), 2);
}

Test(mirrored_structs, of_fused_steps_and_their_margins) {
    cr_expect_geq(refused_of("heat-1d", "lowrank", 1, STN_WRAP, 8), 2);
    cr_expect_geq(refused_of("box-2d9p", "lowrank", 2, STN_FIXED, 4), 4);
    cr_expect_geq(refused_of("heat-3d", "lowrank", 3, STN_FIXED, 2), 4);
}

Test(mirrored_structs, of_transforms) {
    const size_t lengths[] = {256, 240, 65536};
    for (size_t i = 0; i < 3; i++) {
        stn_transform t = STN_TRANSFORM_INIT;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        stn_plan *plan;
        t.rank = 1;
        t.extent[0] = lengths[i];
        t.batch = 64;
        t.dtype = i ? STN_F32 : STN_F16;
        options.strategy = "fft";
        OK(stn_plan_create_fft(context, &t, &options, &plan, &error));
        cr_expect_geq(refused(plan), 1, "%zu points", lengths[i]);
        stn_plan_destroy(plan);
    }
}
