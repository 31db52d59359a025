/* A constant source with all steps at once: the state by the cheapest strategy, the source's sum
 * over the steps by spectral's sum of the symbol's powers. Modes, also of K = 1, and those that
 * grow. Compared with the host at every point, on a GPU or the emulator. test_random draws
 * others. */
#include <stdio.h>

#include "../random/trial.h"
#include "../suite.h"
#include "modes.h"

/* Modes that grow by 10^21 and a constant mode, whose 1 - K is the rounding error of the weights'
 * sum. */
static void growing(suite *s) {
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
    static const suite_part parts[] = {{"modes", modes}, {"growing", growing}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
