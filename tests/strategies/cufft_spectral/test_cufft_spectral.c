/* cufft-spectral: what it refuses, and the reason that is given where there is no cuFFT.
 * Prints TAP. Usage: test_cufft_spectral [--full] [--only PART]. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "context/context.h"

#define NAME "cufft-spectral"

/* Other boundaries are refused. */
static void refusals(suite *s) {
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_error error = {0};
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_stencil_parse("heat-2d", &stencil, NULL);
    stn_problem p = grid_problem(stencil, (int[3]){20, 30, 0}, STN_F64, 5);
    p.boundary[1][1].kind = p.boundary[1][0].kind = STN_FIXED;
    options.strategy = NAME;
    const stn_status status = stn_plan_create(s->context, &p, &options, &plan, &error);
    suite_report(s, status == STN_ERROR_UNSUPPORTED && strstr(error.message, "wrap"), "refusals: fixed sides",
                 error.message);
    stn_stencil_destroy(stencil);
}

/* Without cuFFT another strategy is chosen; asking for this one by name gives the reason. */
static void absent(suite *s) {
    const char *before = getenv("STENTOR_CUFFT_PATH");
    char saved[4096];
    snprintf(saved, sizeof saved, "%s", before ? before : "");
    setenv("STENTOR_CUFFT_PATH", "/nowhere/libcufft.so", 1);
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_context *context = NULL;
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_error error = {0};
    options.device = STN_DEVICE_CUDA(0), options.cache_dir = ":memory:";
    bool good = stn_context_create(&options, &context, &error) == STN_OK;
    stn_stencil_parse("star-2d13p", &stencil, NULL);
    stn_problem p = grid_problem(stencil, (int[3]){20, 30, 0}, STN_F64, 5);
    /* not for `spectral` */
    p.in_stride[0] = p.out_stride[0] = 1, p.in_stride[1] = p.out_stride[1] = 20;
    stn_plan_options named = STN_PLAN_OPTIONS_INIT;
    named.strategy = NAME;
    stn_status status = good ? stn_plan_create(context, &p, &named, &plan, &error) : STN_ERROR_INTERNAL;
    suite_report(s, status == STN_ERROR_UNSUPPORTED && strstr(error.message, "/nowhere"), "absent: by name",
                 error.message);
    plan = NULL;
    status = good ? stn_plan_create(context, &p, NULL, &plan, &error) : STN_ERROR_INTERNAL;
    suite_report(s, status == STN_OK && strcmp(stn_plan_strategy(plan), NAME) != 0, "absent: any strategy",
                 error.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(stencil);
    stn_context_destroy(context);
    if (before)
        setenv("STENTOR_CUFFT_PATH", saved, 1);
    else
        unsetenv("STENTOR_CUFFT_PATH");
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"refusals", refusals}, {"absent", absent}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
