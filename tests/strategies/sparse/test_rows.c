/* sparse as chains in f16 on rows that begin at any element, on grids with several chunks of rows
 * in the middle. Padding is NaN. Against the host, on any device. Prints TAP. Usage:
 * test_sparse_rows [--full]. */
#include <stdio.h>

#include "../suite.h"

static void rows(suite *s) {
    stn_stencil *stencil = NULL;
    stn_stencil_parse("heat-2d", &stencil, NULL);
    for (int i = 0; i < (s->full ? 80 : 8); i++) {
        dice d = {(uint64_t)(900 + i)};
        char what[120];
        stn_problem p = grid_problem(stencil, (const int[]){170 + i % 7, 281 + i}, STN_F16, 7);
        random_sides(&d, &p, 2);
        p.in_stride[1] = p.out_stride[1] = 1;
        p.in_stride[0] = (ptrdiff_t)p.extent[1] + dice_int(&d, 0, 3);
        p.out_stride[0] = (ptrdiff_t)p.extent[1] + dice_int(&d, 0, 3);
        snprintf(what, sizeof what, "rows of %d points, %d and %d apart", (int)p.extent[1], (int)p.in_stride[0],
                 (int)p.out_stride[0]);
        suite_compare_words(s, "sparse", "chain", what, &p, d.state);
    }
    stn_stencil_destroy(stencil);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"rows", rows}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
