/* Strategy chunked: a run as chunks of steps equals the host's steps, in place and in batches, with
 * and without remaining steps. On the emulator or a GPU. Prints TAP. Usage: test_chunked
 * [--full]. */
#include <stdio.h>

#include "suite.h"

static const char *const stencils[] = {"1d5p", "heat-2d", "box-2d9p", "heat-3d", "laplace-1d:order=4"};
static const stn_boundary_kind kinds[] = {STN_WRAP, STN_CONSTANT, STN_NEAREST, STN_REFLECT, STN_MIRROR, STN_FIXED};

static void runs(suite *s) {
    for (int i = 0; i < (s->full ? 80 : 16); i++) {
        dice d = {(uint64_t)i + 500};
        stn_stencil *stencil = NULL;
        stn_stencil_parse(stencils[i % 5], &stencil, NULL);
        stn_problem p = STN_PROBLEM_INIT;
        const int rank = stn_stencil_rank(stencil);
        p.stencil = stencil;
        p.steps = (uint64_t)dice_int(&d, 4, 120);
        p.dtype = i % 4 == 3 ? STN_F32 : STN_F64;
        p.batch = i % 7 == 2 ? 2 : 1;
        p.in_place = i % 3 == 1;
        for (int axis = 0; axis < rank; axis++) {
            p.extent[axis] = (size_t)dice_int(&d, 9, rank == 1 ? 400 : 30);
            for (int side = 0; side < 2; side++) {
                p.boundary[axis][side].kind = kinds[i % 6 ? dice_int(&d, 1, 5) : 0];
                p.boundary[axis][side].value = p.boundary[axis][side].kind == STN_CONSTANT ? 0.4 : 0;
            }
        }
        char what[160];
        snprintf(what, sizeof what, "%s, %d steps%s", stencils[i % 5], (int)p.steps, p.in_place ? ", in place" : "");
        suite_compare(s, "chunked", true, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"runs", runs}};
    return suite_main(argc, argv, parts, 1);
}
