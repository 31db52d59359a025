/* spectral on what random problems seldom have: long columns, columns in parts, the size of
 * workspaces of large grids. Prints TAP. Usage: test_spectral [--full] [--only PART]. */
#include <stdio.h>

#include "checks.h"

/* Columns shared by clusters of two and four blocks. */
static void long_columns(suite *s) {
    static const int extents[][3] = {{14400, 3, 0}, {27648, 2, 0}, {30720, 4, 0}};
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++) {
        dice d = {e + 321};
        char what[40];
        snprintf(what, sizeof what, "%d x %d points", extents[e][0], extents[e][1]);
        stn_stencil *stencil = random_stencil(&d, 2, TAPS_BOX, 1);
        stn_problem p = grid_problem(stencil, extents[e], e == 2 ? STN_F32 : STN_F64, 5);
        suite_compare(s, "spectral", true, what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"long", long_columns}, {"parts", in_parts}, {"workspace", workspace}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
