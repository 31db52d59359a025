/* sparse as chains in f16 on rows that begin at any element, on grids with several chunks of rows
 * in the middle; and between sides that repeat, for any reach. Padding is NaN. Against the host, on
 * any device. Prints TAP. Usage: test_sparse_rows [--full]. */
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

/* Separable weights, symmetric where they must be. They reach `low` and `high` columns to both
 * sides, and one row. */
static stn_stencil *wide_stencil(int low, int high) {
    stn_stencil *stencil = NULL;
    stn_tap taps[3 * (2 * 16 + 1)];
    size_t count = 0;
    for (int y = -1; y <= 1; y++)
        for (int x = -low; x <= high; x++)
            taps[count++] =
                (stn_tap){.offset = {y, x}, .weight = (y ? 0.25 : 0.5) * (1 + x * x % 5) / (3 + low + high)};
    stn_stencil_create(2, count, taps, &stencil, NULL);
    return stencil;
}

/* The columns past a side that repeats lie at the other end of the row, or in the same tile. */
static void ends(suite *s) {
    for (int i = 0; i < (s->full ? 400 : 12); i++) {
        dice d = {(uint64_t)(300 + i)};
        char what[200];
        const bool wraps = dice_int(&d, 0, 3) > 0;
        const int low = dice_int(&d, 0, 16), high = wraps ? dice_int(&d, 0, 16) : low;
        stn_stencil *stencil = wide_stencil(low, high);
        const int rows = dice_int(&d, 8, 150),
                  columns = dice_int(&d, 0, 3) ? dice_int(&d, 140, 420) : dice_int(&d, 40, 140);
        stn_problem p = grid_problem(stencil, (const int[]){rows, columns}, STN_F16, (uint64_t)dice_int(&d, 1, 3));
        random_sides(&d, &p, 2);
        for (int side = 0; side < 2; side++)
            p.boundary[1][side] = (stn_boundary){wraps ? STN_WRAP : (stn_boundary_kind)dice_int(&d, 3, 4), 0};
        p.in_place = dice_int(&d, 0, 3) == 0;
        p.in_stride[1] = p.out_stride[1] = 1;
        p.in_stride[0] = (ptrdiff_t)p.extent[1] + dice_int(&d, 0, 3);
        p.out_stride[0] = p.in_place ? p.in_stride[0] : (ptrdiff_t)p.extent[1] + dice_int(&d, 0, 3);
        p.batch = (size_t)dice_int(&d, 1, 3);
        snprintf(what, sizeof what,
                 "%d grids of %d rows of %d points, %d and %d apart, %s:%s, reach %d and %d, %d steps%s", (int)p.batch,
                 rows, columns, (int)p.in_stride[0], (int)p.out_stride[0], side_names[p.boundary[1][0].kind],
                 side_names[p.boundary[1][1].kind], low, high, (int)p.steps, p.in_place ? ", in place" : "");
        suite_compare_words(s, "sparse", "chain", what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Grids whose columns of tiles at the sides are shared by a further block, if the machine has four
 * multiprocessors. */
static void sides(suite *s) {
    stn_stencil *stencil = NULL;
    stn_stencil_parse("heat-2d", &stencil, NULL);
    for (int i = 0; i < (s->full ? 60 : 4); i++) {
        dice d = {(uint64_t)(1300 + i)};
        char what[120];
        stn_problem p = grid_problem(stencil, (const int[]){dice_int(&d, 65, 200), dice_int(&d, 513, 640) | 1}, STN_F16,
                                     (uint64_t)dice_int(&d, 5, 14));
        random_sides(&d, &p, 2);
        for (int side = 0; side < 2 && i % 2; side++) p.boundary[1][side] = (stn_boundary){STN_WRAP, 0};
        snprintf(what, sizeof what, "%d rows of %d points, sides %s:%s, %d steps", (int)p.extent[0], (int)p.extent[1],
                 side_names[p.boundary[1][0].kind], side_names[p.boundary[1][1].kind], (int)p.steps);
        suite_compare_words(s, "sparse", "chain", what, &p, d.state);
    }
    stn_stencil_destroy(stencil);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"rows", rows}, {"ends", ends}, {"sides", sides}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
