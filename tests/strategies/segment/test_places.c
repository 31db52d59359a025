/* Positions of lines in segments and of segments in memory that kernels know at compile time,
 * compared with host. Prints TAP. Usage: test_segment_places [--full] [--only PART] [--dtype T]. */
#include "segment_lines.h"

/* Mirrored lines of a quarter to half of a segment: the positions of the images are compile-time
 * constants. Every pair of sides, along each axis. */
static void middles(suite *s) {
    static const int extents[] = {258, 512, 259, 511, 300, 509, 514, 1024, 1021};
    static const int lows[] = {STN_CONSTANT, STN_REFLECT, STN_MIRROR, STN_FIXED};
    for (int i = 0; i < 16 * 3; i++) {
        const int low = lows[i % 4], high = lows[i / 4 % 4], axis = i / 16, side = extents[(i * 5 + axis) % 9];
        /* Whole periods are served by another form. */
        const int n = side - (low == STN_REFLECT && high == STN_REFLECT);
        if (!s->full && (i % 3 != axis || i / 2 % 2) && low != high) continue;
        dice d = {(uint64_t)i + 900};
        stn_stencil *line = even_line(&d, 1), *stencil = line;
        stn_problem p = line_of(line, n, (uint64_t)dice_int(&d, 1, 500));
        if (axis) { /* 2D grids of separable weights: y equally long, then x. */
            stn_stencil_parse("gaussian-2d:sigma=0.6,truncate=1", &stencil, NULL);
            p.stencil = stencil;
            p.extent[0] = axis == 1 ? (size_t)n : 13, p.extent[1] = axis == 1 ? 9 : (size_t)n;
        }
        set_sides(&p, axis ? axis - 1 : 0, low, high);
        char what[160], words[120];
        snprintf(what, sizeof what, "%d points along axis %d in a segment's middle, %s:%s, %d steps", n, axis,
                 side_names[low], side_names[high], (int)p.steps);
        snprintf(words, sizeof words, "along axis %d, %d of them outputs, with a line in the middle", axis == 2,
                 n > 512 ? 1024 : 512);
        suite_compare_words(s, "segment", words, what, &p, d.state);
        if (stencil != line) stn_stencil_destroy(stencil);
        stn_stencil_destroy(line);
    }
}

/* Segments rotated to whole memory lines, and others: lines that begin anywhere, rows of any
 * pitch. */
static void turns(suite *s) {
    static const char *const words[] = {"segments of 256 points", "segments of 512 points", "segments of 1024 points",
                                        "not rotated"};
    for (int i = 0; i < 24; i++) {
        if (!s->full && i % 5 > 1) continue;
        dice d = {(uint64_t)i + 1300};
        stn_stencil *stencil = i % 3 == 2 ? even_line(&d, 1) : uneven_line(&d, 1);
        stn_problem p = line_of(stencil, dice_int(&d, 1500, 6000), (uint64_t)dice_int(&d, 1, 12));
        const int low = i % 3 == 2 ? STN_CONSTANT : STN_WRAP;
        set_sides(&p, 0, low, i % 3 == 2 ? STN_FIXED : low);
        if (i % 3 == 1) p.batch = 3, p.in_batch_stride = p.out_batch_stride = p.extent[0] + (size_t)dice_int(&d, 0, 9);
        if (i % 5 == 1) p.alignment = s->dtype_given ? 4 : 8;
        char what[160];
        snprintf(what, sizeof what, "%s, %d points, %d steps", words[i % 4], (int)p.extent[0], (int)p.steps);
        suite_compare_words(s, "segment", words[i % 4], what, &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"middles", middles}, {"turns", turns}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
