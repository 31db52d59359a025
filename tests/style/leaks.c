/* Leak test: makes 10,000 plans, valid and refused ones, and compares the allocated bytes at the
 * end with those after the first few hundred.
 *
 * Usage: leaks DEVICE PLANS, DEVICE being host or cuda. ASan and valgrind check for leaks as
 * well. */
#include <malloc.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stentor.h"

enum { KINDS = 16, WARM_UP = 20 * KINDS, SKIPPED = 77, LEAKY = 1, SIDE = 23 };
#define POINTS ((size_t)SIDE * SIDE * SIDE)
#define SLACK 65536.0 /* Bytes: allocators keep a little; a leak of 8 bytes a plan is more. */

/* Makes problem k of KINDS, alternating ranks, dtypes and boundaries; the last ones are refused.
 * With `compiled` all kernels of the context are compiled when the plan is made; otherwise some may
 * still compile when it is destroyed. */
static stn_status attempt(stn_context *context, int k, const void *in, void *out, bool execute, bool compiled,
                          bool *refused) {
    static const char *const names[] = {"heat-1d", "heat-2d", "heat-3d", "box-2d9p", "star-2d13p"};
    static const char *const boundaries[] = {"wrap", "constant=0.5", "nearest", "reflect", "mirror", "fixed"};
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_problem problem = STN_PROBLEM_INIT;
    char *text = NULL;
    stn_error error;
    stn_status status = stn_stencil_parse(names[k % 5], &stencil, &error);
    if (status != STN_OK) return status;
    problem.stencil = stencil;
    problem.dtype = (stn_dtype)(k % 3);
    problem.steps = 1 + (uint64_t)(k % 3);
    for (int axis = 0; axis < stn_stencil_rank(stencil); axis++) {
        problem.extent[axis] = SIDE;
        if (status == STN_OK) status = stn_boundary_parse(boundaries[k % 6], problem.boundary[axis], &error);
    }
    if (k == KINDS - 1) problem.extent[0] = 0;
    if (k == KINDS - 2) problem.boundary[0][0] = (stn_boundary){STN_WRAP, 0}, problem.boundary[0][1].kind = STN_FIXED;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    if (compiled) options.mode = STN_MODE_ESTIMATE;
    if (k == KINDS - 3) options.strategy = "none of that name";
    if (status == STN_OK) status = stn_plan_create(context, &problem, &options, &plan, &error);
    *refused = status != STN_OK && k >= KINDS - 3;
    if (plan) {
        if (status == STN_OK && execute) status = stn_plan_execute(plan, in, out, NULL, &error);
        if (status == STN_OK) status = stn_plan_describe(plan, STN_JSON, &text, &error);
        stn_text_free(text);
    }
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
    if (*refused) return STN_OK;
    if (status == STN_OK && k >= KINDS - 3) {
        printf("problem %d was not refused\n", k);
        return STN_ERROR_INTERNAL;
    }
    if (status != STN_OK) printf("problem %d: %s\n", k, error.message);
    return status;
}

/* Makes transform k of KINDS, of every kind and dtype, alternately valid and refused. */
static stn_status attempt_fft(stn_context *context, int k, const void *in, void *out, bool execute, bool compiled) {
    stn_transform transform = STN_TRANSFORM_INIT;
    stn_plan *plan = NULL;
    stn_error error = {0};
    bool bad = k % 5 == 4;
    transform.rank = 1 + k % 2;
    /* On the host a prime, which needs a convolution. */
    transform.extent[0] = stn_context_is_device(context) ? 16 : 67;
    transform.extent[1] = 8;
    transform.kind = (stn_transform_kind)(k / 2 % 3);
    transform.dtype = (stn_dtype)(k % 3);
    transform.batch = bad ? SIZE_MAX : 3;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    if (compiled) options.mode = STN_MODE_ESTIMATE;
    stn_status status = stn_plan_create_fft(context, &transform, &options, &plan, &error);
    if (status == STN_OK && execute) status = stn_plan_execute(plan, in, out, NULL, &error);
    stn_plan_destroy(plan);
    if (bad && status == STN_ERROR_INVALID_ARGUMENT) return STN_OK;
    if (bad || status != STN_OK) printf("transform %d: %s\n", k, bad ? "was not refused" : error.message);
    return bad ? STN_ERROR_INTERNAL : status;
}

/* Bytes allocated by malloc in this process. */
static double held(void) {
    struct mallinfo2 now = mallinfo2();
    return (double)now.uordblks + (double)now.hblkhd;
}

static int run(stn_context *context, long plans, const void *in, void *out) {
    double first = 0, last;
    long refusals = 0;
    for (long i = 0; i < plans; i++) {
        bool refused = false, execute = i < WARM_UP || i / KINDS % 16 == 0;
        if (i == WARM_UP) first = held();
        if (attempt(context, (int)(i % KINDS), in, out, execute, i < WARM_UP, &refused) != STN_OK) return LEAKY;
        if (i % 16 == 0 && attempt_fft(context, (int)(i / 16 % 15), in, out, execute, i < WARM_UP) != STN_OK)
            return LEAKY;
        refusals += refused;
    }
    last = held();
    printf("%ld plans, %ld of them refused: %.0f bytes held after %d, %.0f at the end\n", plans, refusals, first,
           WARM_UP, last);
    return plans > WARM_UP && last > first + SLACK ? LEAKY : 0;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    bool device = !strcmp(argv[1], "cuda");
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_context *context = NULL;
    stn_error error = {0};
    void *in = NULL, *out = NULL, *zeros = NULL;
    int code = LEAKY;
    options.device = device ? STN_DEVICE_CUDA(0) : STN_DEVICE_HOST;
    options.cache_dir = ":memory:";
    options.threads = 2;
    stn_status status = stn_context_create(&options, &context, &error);
    if (status == STN_ERROR_NO_DEVICE && device) {
        puts(error.message);
        return SKIPPED;
    }
    zeros = calloc(POINTS, sizeof(double));
    if (status == STN_OK) status = stn_memory_alloc(context, POINTS * sizeof(double), &in, &error);
    if (status == STN_OK) status = stn_memory_alloc(context, POINTS * sizeof(double), &out, &error);
    if (status == STN_OK && zeros) status = stn_memory_upload(context, in, zeros, POINTS * sizeof(double), &error);
    if (status == STN_OK && zeros)
        code = run(context, strtol(argv[2], NULL, 10), in, out);
    else
        puts(error.message);
    if (context) {
        stn_synchronize(context, NULL, NULL);
        stn_memory_free(context, in);
        stn_memory_free(context, out);
    }
    stn_context_destroy(context);
    free(zeros);
    return code;
}
