/* cufft-spectral: eigenmodes of many steps, and the reason that is given where there is no cuFFT.
 * Prints TAP. Usage: test_cufft_spectral [--full] [--only PART]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "context/context.h"

#define NAME "cufft-spectral"
static stn_problem periodic_problem(stn_stencil *stencil, const int *extent, stn_dtype dtype, uint64_t steps) {
    stn_problem p = grid_problem(stencil, extent, dtype, steps);
    for (int axis = 0; axis < stn_stencil_rank(stencil); axis++)
        p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_WRAP;
    return p;
}

/* The result is K^T times a cosine: 1 - K = 4 alpha times the sum of sin^2 of half its angles. */
static void modes(suite *s) {
    static const uint64_t steps[] = {1, 1000, 1000000};
    for (int which = 0; which < 9; which++) {
        enum { N = 45, LINES = 14 };
        static double in[LINES * N], out[LINES * N];
        const uint64_t T = steps[which / 3];
        const int m = 1 + which % 3;
        const double alpha = fmin(0.2, 1.0 / (double)T), turn = 2 * M_PI * m;
        stn_tap taps[5] = {
            {{0, 0}, 1 - 4 * alpha}, {{0, 1}, alpha}, {{0, -1}, alpha}, {{1, 0}, alpha}, {{-1, 0}, alpha}};
        stn_stencil *stencil = NULL;
        stn_stencil_create(2, 5, taps, &stencil, NULL);
        const stn_problem p = periodic_problem(stencil, (int[3]){LINES, N, 0}, STN_F64, T);
        for (int i = 0; i < LINES * N; i++) {
            const int line = i / N;
            in[i] = cos(turn * line / LINES) * cos(turn * (i % N) / N), out[i] = NAN;
        }
        const long double y = sinl(turn / LINES / 2), x = sinl(turn / N / 2);
        const long double whole = 1 - 4 * alpha; /* as rounded in the taps */
        const long double factor = expl(
            (long double)T * log1pl((whole + 4 * (long double)alpha - 1) - 4 * (long double)alpha * (y * y + x * x)));
        comparison c = {.bar = 1e-13 * (1 + log2((double)T))};
        const bool good = compare_run(s->context, &p, NAME, -1, in, sizeof in, out, sizeof out, &c) == STN_OK;
        double off = 0, size = 0;
        for (int i = 0; i < LINES * N; i++)
            off += pow(out[i] - (double)factor * in[i], 2), size += pow((double)factor * in[i], 2);
        char what[120], detail[1200];
        snprintf(what, sizeof what, "modes: %d, %llu steps, factor %.3Lg", m, (unsigned long long)T, factor);
        snprintf(detail, sizeof detail, "relative L2 %.3g, bar %.3g; %s", sqrt(off / size), c.bar, c.error.message);
        suite_report(s, good && sqrt(off / size) <= c.bar, what, detail);
        stn_stencil_destroy(stencil);
    }
}

/* Other boundaries are refused. */
static void refusals(suite *s) {
    stn_stencil *stencil = NULL;
    stn_plan *plan = NULL;
    stn_error error = {0};
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    stn_stencil_parse("heat-2d", &stencil, NULL);
    stn_problem p = periodic_problem(stencil, (int[3]){20, 30, 0}, STN_F64, 5);
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
    stn_problem p = periodic_problem(stencil, (int[3]){20, 30, 0}, STN_F64, 5);
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
    static const suite_part parts[] = {{"modes", modes}, {"refusals", refusals}, {"absent", absent}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
