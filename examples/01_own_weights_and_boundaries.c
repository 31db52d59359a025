/* Weights of your own, a boundary condition for each side, and new weights for an existing plan.
 *
 * A river carries a dye downstream (along x): one upwind step moves the fraction c of each cell to
 * the next cell. Clean water enters on the left (constant 0), the right end is open (nearest), and
 * the banks let nothing through (reflect). The flow then doubles: stn_plan_set_weights changes the
 * weights without a second plan and without a compile. */
#include <stdio.h>
#include <stdlib.h>

#include "stentor.h"

enum { NY = 16, NX = 200 };

/* The dye's centre of mass along x. */
static double centre(const float *dye) {
    double mass = 0, moment = 0;
    for (int y = 0; y < NY; y++)
        for (int x = 0; x < NX; x++) {
            mass += dye[y * NX + x];
            moment += dye[y * NX + x] * x;
        }
    return moment / mass;
}

int main(void) {
    stn_error err = {0};
    stn_context *ctx = NULL;
    stn_stencil *upwind = NULL;
    stn_plan *plan = NULL;
    double before = 0, slow = 0, fast = 0;
    float *dye = calloc(NY * NX, sizeof *dye), *later = calloc(NY * NX, sizeof *later);
    if (!dye || !later) goto done;
    for (int y = 4; y < 12; y++)
        for (int x = 20; x < 30; x++) dye[y * NX + x] = 1;

    /* u[t+1](y, x) = c u(y, x-1) + (1 - c - 2d) u(y, x) + d u(y-1, x) + d u(y+1, x), with c = 0.25,
     * d = 0.1 */
    const stn_tap taps[] = {
        {{0, -1}, 0.25},
        {{0, 0}, 0.55},
        {{-1, 0}, 0.1},
        {{1, 0}, 0.1},
    };
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    options.device = STN_DEVICE_HOST;
    if (stn_context_create(&options, &ctx, &err) != STN_OK) goto done;
    if (stn_stencil_create(2, sizeof taps / sizeof *taps, taps, &upwind, &err) != STN_OK) goto done;

    stn_problem problem = STN_PROBLEM_INIT;
    problem.stencil = upwind;
    problem.extent[0] = NY;
    problem.extent[1] = NX;
    problem.dtype = STN_F32;
    problem.steps = 100;
    problem.boundary[0][0].kind = problem.boundary[0][1].kind = STN_REFLECT;
    if (stn_boundary_parse("constant=0:nearest", problem.boundary[1], &err) != STN_OK) goto done;
    if (stn_plan_create(ctx, &problem, NULL, &plan, &err) != STN_OK) goto done;

    before = centre(dye);
    if (stn_plan_execute(plan, dye, later, NULL, &err) != STN_OK) goto done;
    slow = centre(later) - before;

    /* New weights come in the order of stn_stencil_taps, which is sorted by offset: (-1,0) (0,-1)
     * (0,0) (1,0). */
    const double doubled[] = {0.1, 0.5, 0.3, 0.1};
    if (stn_plan_set_weights(plan, 4, doubled, &err) != STN_OK) goto done;
    if (stn_plan_execute(plan, dye, later, NULL, &err) != STN_OK) goto done;
    fast = centre(later) - before;
    printf("100 steps carry the dye %.2f cells, with the flow doubled %.2f\n", slow, fast);
done:
    if (err.status != STN_OK) fprintf(stderr, "%s\n", err.message);
    stn_plan_destroy(plan);
    stn_stencil_destroy(upwind);
    stn_context_destroy(ctx);
    free(dye);
    free(later);
    return !(slow > 24.9 && slow < 25.1 && fast > 49.9 && fast < 50.1);
}
