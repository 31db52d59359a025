/* direct on grids whose indices exceed 32 bits, on a GPU. Prints TAP. test_random compares its
 * candidates with the host. */
#include "../suite.h"

/* More than 2^31 points: indices that exceed 32 bits. Takes a minute, 9 GB on the device and 20 GB
 * on the host. */
static void huge(suite *s) {
    static const struct { int rank, extent[3]; } grids[] = {{1, {2147483000, 0, 0}}, {2, {46349, 46352, 0}}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        dice d = {700 + g};
        stn_stencil *stencil = random_stencil(&d, grids[g].rank, TAPS_BOX, 1);
        stn_problem p = grid_problem(stencil, grids[g].extent, STN_F16, 1);
        if (g == 0) p.extent[0] += 1000; /* past INT32_MAX */
        random_sides(&d, &p, grids[g].rank);
        suite_compare(s, "direct", false, g ? "2D, more than 2^31 points" : "1D, more than 2^31 points", &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"huge", huge}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
