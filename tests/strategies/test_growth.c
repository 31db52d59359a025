/* Runs whose factors grow and shrink on the way, which random problems seldom have. On any device.
 * Prints TAP. Usage: test_growth [--full] [--only STRATEGY]. */
#include <stdio.h>

#include "random/trial.h"
#include "suite.h"

/* Weights of the product form whose symbols have the largest absolute value 1 where the sums of
 * their absolute values are 1.4 and 1: 1.4^1000 is beyond f32. */
static void segment(suite *s) {
    const double along_y[] = {-0.404, 0.589, 0.404}, along_x[] = {0.101, 0.39, 0.509};
    stn_tap taps[9];
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 3; x++)
            taps[3 * y + x] = (stn_tap){.offset = {y - 1, x - 1}, .weight = along_y[y] * along_x[x]};
    stn_stencil *stencil = NULL;
    stn_stencil_create(2, 9, taps, &stencil, NULL);
    stn_problem p = grid_problem(stencil, (const int[]){24, 40}, STN_F32, 1000);
    suite_compare_words(s, "segment", "along axis 1|along axis 0", "factors of either sign", &p, 1);
    stn_stencil_destroy(stencil);
}

/* Modes that grow by 10^21 and a constant mode, whose 1 - K is the rounding error of the weights'
 * sum. */
static void sourced(suite *s) {
    static random_problem r;
    const random_bench bench = {s->context, s->pool, s->full};
    random_outcome o;
    char detail[1200];
    for (int plane = 0; plane < 2; plane++) {
        r = (random_problem){.problem = STN_PROBLEM_INIT, .rank = 1 + plane, .positive = true, .data = 5};
        const double near = 0.0125 / (1 + plane);
        r.taps[r.ntaps++] = (stn_tap){{0}, 1.025 + 2 * 0x1p-52};
        for (int axis = 0; axis <= plane; axis++)
            for (int way = -1; way <= 1; way += 2) {
                r.taps[r.ntaps].offset[axis] = way;
                r.taps[r.ntaps++].weight = -near;
            }
        r.problem.steps = 1000, r.problem.has_source = 1;
        r.problem.extent[0] = plane ? 20 : 64, r.problem.extent[1] = plane ? 24 : 0;
        stn_problem p = r.problem;
        stn_stencil *stencil = random_problem_stencil(&r);
        p.stencil = stencil;
        random_trial(&bench, &r, "sourced", suite_candidate(s, &p, "sourced", "all steps at once"), &o);
        stn_stencil_destroy(stencil);
        suite_detail(&o.c, detail, sizeof detail);
        suite_report(s, o.verdict == RANDOM_RIGHT, plane ? "growing: 2D" : "growing: 1D", detail);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"segment", segment}, {"sourced", sourced}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
