/* Long runs of lowrank in f32: systematic errors of the launches accumulate. The emulator's tensor
 * cores truncate sums like a GPU's. Every pattern of 1D and 2D, one term and several. Prints TAP.
 */
#include <stdio.h>

#include "../suite.h"

enum { SEED = 5 }; /* with which the mean of each grid, to which it decays, is not near 0 */

static void long_runs(suite *s) {
    static const struct {
        const char *stencil;
        size_t extent[2];
        uint64_t steps;
    } cases[] = {{"gaussian-2d:sigma=1,truncate=3", {24, 40}, 1000},
                 {"star-2d13p", {20, 24}, 400},
                 {"box-2d9p", {20, 24}, 400},
                 {"gaussian-2d:sigma=1,truncate=1", {24, 40}, 4000},
                 {"1d5p", {1500, 0}, 10000},
                 {"heat-1d", {1500, 0}, 10000}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_stencil *stencil = NULL;
        stn_problem p = STN_PROBLEM_INIT;
        char what[160];
        stn_stencil_parse(cases[i].stencil, &stencil, NULL);
        p.stencil = stencil;
        p.dtype = STN_F32;
        p.steps = cases[i].steps;
        for (int axis = 0; axis < stn_stencil_rank(stencil); axis++) p.extent[axis] = cases[i].extent[axis];
        snprintf(what, sizeof what, "%s, f32, %llu steps", cases[i].stencil, (unsigned long long)p.steps);
        suite_compare(s, "lowrank", true, what, &p, SEED);
        stn_stencil_destroy(stencil);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"long-runs", long_runs}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
