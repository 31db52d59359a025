/* The first stencil: heat diffuses from a hot square. Describe a problem, make a plan, run it. */
#include <stdio.h>
#include <stdlib.h>

#include "stentor.h"

enum { N = 256 };

int main(void) {
    stn_error err = {0};
    stn_context *ctx = NULL;
    stn_stencil *heat = NULL;
    stn_plan *plan = NULL;
    double *in = calloc(N * N, sizeof *in), *out = calloc(N * N, sizeof *out), total = 0;
    if (!in || !out) goto done;
    for (int y = 100; y < 150; y++)
        for (int x = 100; x < 150; x++) in[y * N + x] = 1;

    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_HOST; /* in and out are host pointers; 02 computes on a GPU */
    if (stn_context_create(&options, &ctx, &err) != STN_OK) goto done;
    if (stn_stencil_parse("heat-2d:alpha=0.2", &heat, &err) != STN_OK) goto done;

    stn_problem problem = STN_PROBLEM_INIT;
    problem.stencil = heat;
    problem.extent[0] = problem.extent[1] = N;
    problem.steps = 1000; /* dtype 0 is f64; boundary 0 is wrap, a periodic grid */
    if (stn_plan_create(ctx, &problem, NULL, &plan, &err) != STN_OK) goto done;
    if (stn_plan_execute(plan, in, out, NULL, &err) != STN_OK) goto done;

    for (int i = 0; i < N * N; i++) total += out[i];
    printf("centre %.4f, total heat %.6f of 2500 (none is lost)\n", out[125 * N + 125], total);
done:
    if (err.status != STN_OK) fprintf(stderr, "%s\n", err.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(heat);
    stn_context_destroy(ctx);
    free(in);
    free(out);
    return err.status != STN_OK || total < 2499.999 || total > 2500.001;
}
