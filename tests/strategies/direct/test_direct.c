/* direct against the host: every boundary pair, rank, dtype, tap pattern, radius and layout, on any
 * device (the emulator in CI, a GPU elsewhere). Prints TAP. Usage: test_direct [--full] [--only
 * PART]. Exit 77: no device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"

static void check(suite *s, const char *what, const stn_problem *problem, uint64_t seed) {
    suite_compare(s, "direct", false, what, problem, seed);
}

/* Extents from the least that the radius allows up to 67 (29 in 3D); half of them multiples of 8.
 */
static void random_extents(dice *d, int rank, int radius, int extent[3]) {
    int most = rank == 3 ? 29 : rank == 2 ? 67 : 67;
    for (int axis = 0; axis < rank; axis++) {
        extent[axis] = dice_int(d, radius, most > radius ? most : radius + 5);
        if (axis == rank - 1 && dice_int(d, 0, 1)) extent[axis] = (extent[axis] + 8) / 8 * 8;
    }
}

static void boundary_pairs(suite *s) {
    for (side_pair at = {.rank = 1}; suite_side_pair(s, 3, 3, 3, &at);) {
        stn_dtype dtype = (stn_dtype)dice_int(&at.d, 0, 2);
        int extent[3], radius = dice_int(&at.d, 1, at.rank == 3 ? 2 : 3);
        taps_kind taps = (taps_kind)dice_int(&at.d, 0, 2);
        stn_stencil *stencil = random_stencil(&at.d, at.rank, taps, radius);
        random_extents(&at.d, at.rank, radius, extent);
        stn_problem p = grid_problem(stencil, extent, dtype, 1);
        suite_set_sides(&at, &p);
        p.steps = 1; /* selects a one-step kernel; test_time covers more */
        char what[160];
        snprintf(what, sizeof what, "%s, %s radius %d, %s, %llu steps", at.what, taps_names[taps], radius,
                 stn_dtype_name(dtype), (unsigned long long)p.steps);
        check(s, what, &p, at.d.state);
        stn_stencil_destroy(stencil);
    }
}

static void radii(suite *s) {
    for (int rank = 1; rank <= 3; rank++)
        for (int radius = 1; radius <= 8; radius++)
            for (int taps = 0; taps < 3; taps++) {
                if (!s->full && (radius + taps + rank) % 3 && !(radius == 8 && taps == 1)) continue;
                for (int dtype = 0; dtype < (s->full ? 3 : 1); dtype++) {
                    dice d = {(uint64_t)(7000 + rank * 1000 + radius * 10 + taps)};
                    int extent[3];
                    stn_stencil *stencil = random_stencil(&d, rank, (taps_kind)taps, radius);
                    random_extents(&d, rank, radius, extent);
                    stn_dtype kind = s->full ? (stn_dtype)dtype : (stn_dtype)((radius + taps) % 3);
                    stn_problem p = grid_problem(stencil, extent, kind, 1);
                    random_sides(&d, &p, rank);
                    char what[160];
                    snprintf(what, sizeof what, "%dD %s radius %d, %s", rank, taps_names[taps], radius,
                             stn_dtype_name(kind));
                    check(s, what, &p, d.state);
                    stn_stencil_destroy(stencil);
                }
            }
}

/* More weights than 128, which direct_tile reads from shared memory. */
static void many_weights(suite *s) {
    static const int radius[] = {0, 0, 6, 3};
    for (int rank = 2; rank <= 3; rank++)
        for (int dtype = 0; dtype < 3; dtype++) {
            dice d = {(uint64_t)(17000 + rank * 10 + dtype)};
            stn_stencil *stencil = random_stencil(&d, rank, TAPS_BOX, radius[rank]);
            const int extent[3] = {rank == 3 ? 19 : 33, rank == 3 ? 21 : 75, 37};
            stn_problem p = grid_problem(stencil, extent, (stn_dtype)dtype, 1);
            random_sides(&d, &p, rank);
            char what[160];
            snprintf(what, sizeof what, "%dD box radius %d, %s", rank, radius[rank], stn_dtype_name((stn_dtype)dtype));
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

typedef enum layout_kind {
    PADDED,
    STRIDED,
    BATCHED,
    IN_PLACE_ODD,
    IN_PLACE_EVEN,
    UNALIGNED,
    SPREAD,
    LAYOUTS
} layout_kind;
static const char *const layout_names[] = {"padded rows",
                                           "strided fastest axis",
                                           "a batch",
                                           "in place, odd",
                                           "in place, even",
                                           "alignment of one element",
                                           "a batch whose grids lie apart"};

static void set_layout(stn_problem *p, int rank, layout_kind layout) {
    ptrdiff_t stride = layout == STRIDED ? 3 : 1;
    if (layout == PADDED || layout == STRIDED)
        for (int axis = rank - 1; axis >= 0; axis--) {
            p->in_stride[axis] = stride;
            p->out_stride[axis] = axis == rank - 1 ? stride : stride + 16;
            stride *= (ptrdiff_t)p->extent[axis];
            if (axis == rank - 1) stride = (stride + 31) / 16 * 16;
            if (axis == 1) stride += 64 * 16;
        }
    if (layout == BATCHED || layout == SPREAD) p->batch = 3;
    /* Different strides of input and output, wide accesses on one of them. */
    if (layout == SPREAD) {
        ptrdiff_t points = 1;
        for (int axis = 0; axis < rank; axis++) points *= (ptrdiff_t)p->extent[axis];
        p->in_batch_stride = points + 32;
        p->out_batch_stride = points + (rank == 2 ? 64 : 13);
    }
    if (layout == IN_PLACE_ODD || layout == IN_PLACE_EVEN) p->in_place = 1;
    if (layout == UNALIGNED) p->alignment = (int)stn_dtype_size(p->dtype);
    p->steps = layout == IN_PLACE_EVEN ? 2 : layout == IN_PLACE_ODD ? 3 : layout == STRIDED || layout == SPREAD ? 1 : 2;
}

static void layouts(suite *s) {
    for (int rank = 1; rank <= 3; rank++)
        for (int layout = 0; layout < LAYOUTS; layout++)
            for (int dtype = 0; dtype < 3; dtype++) {
                if (!s->full && (rank + layout + dtype) % 3) continue;
                dice d = {(uint64_t)(90000 + rank * 100 + layout * 10 + dtype)};
                int extent[3];
                stn_stencil *stencil = random_stencil(&d, rank, TAPS_STAR, 1);
                random_extents(&d, rank, 1, extent);
                extent[rank - 1] = (extent[rank - 1] + 7) / 8 * 8;
                stn_problem p = grid_problem(stencil, extent, (stn_dtype)dtype, 1);
                random_sides(&d, &p, rank);
                set_layout(&p, rank, (layout_kind)layout);
                char what[160];
                snprintf(what, sizeof what, "%dD %s, %s", rank, layout_names[layout], stn_dtype_name(p.dtype));
                check(s, what, &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* Every size from 1 to 67 along each axis, the others small: tiles that are empty, partial, full,
 * and several. */
static void sizes(suite *s) {
    for (int rank = 1; rank <= 3; rank++)
        for (int axis = 0; axis < rank; axis++)
            for (int n = 1; n <= 67; n += s->full || n < 4 ? 1 : 9) {
                /* One stencil and boundary for all sizes, so few kernels are compiled. */
                dice d = {(uint64_t)(rank * 10 + axis)};
                stn_stencil *stencil = random_stencil(&d, rank, TAPS_BOX, 1);
                int extent[3] = {8, 8, 8};
                extent[axis] = n;
                stn_problem p = grid_problem(stencil, extent, STN_F64, 1);
                random_sides(&d, &p, rank);
                char what[160];
                snprintf(what, sizeof what, "%dD, %d points along axis %d", rank, n, axis);
                check(s, what, &p, (uint64_t)n);
                stn_stencil_destroy(stencil);
            }
    /* A tap that reaches as many points past a mirror as the grid has meets the other side. */
    for (int high = 0; high < 2; high++) {
        dice d = {77};
        stn_stencil *stencil = random_stencil(&d, 2, TAPS_BOX, 2);
        stn_problem p = grid_problem(stencil, (const int[]){2, 2}, STN_F64, 1);
        p.boundary[0][0].kind = p.boundary[0][1].kind = STN_MIRROR;
        p.boundary[1][!high] = (stn_boundary){STN_CONSTANT, 2};
        p.boundary[1][high].kind = STN_MIRROR;
        check(s, high ? "2 x 2 points past constant:mirror" : "2 x 2 points past mirror:constant", &p, 78);
        stn_stencil_destroy(stencil);
    }
}

/* Many blocks that meet no edge. */
static void large(suite *s) {
    static const struct {
        int rank, extent[3];
    } grids[] = {{1, {100003, 0, 0}}, {2, {300, 520, 0}}, {2, {257, 333, 0}}, {3, {70, 70, 264}}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++)
        for (int dtype = 0; dtype < 3; dtype++) {
            if (!s->full && (int)g % 3 != dtype) continue;
            dice d = {500 + g * 10 + (uint64_t)dtype};
            stn_stencil *stencil = random_stencil(&d, grids[g].rank, TAPS_RANDOM, 1);
            stn_problem p = grid_problem(stencil, grids[g].extent, (stn_dtype)dtype, 1);
            random_sides(&d, &p, grids[g].rank);
            p.steps = 2;
            char what[160];
            snprintf(what, sizeof what, "%dD large, %s", grids[g].rank, stn_dtype_name(p.dtype));
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* More than 2^31 points: indices that exceed 32 bits. Takes a minute, 9 GB on the device and 20 GB
 * on the host. */
static void huge(suite *s) {
    if (!s->full) return;
    static const struct { int rank, extent[3]; } grids[] = {{1, {2147483000, 0, 0}}, {2, {46349, 46352, 0}}};
    for (size_t g = 0; g < sizeof grids / sizeof *grids; g++) {
        dice d = {700 + g};
        stn_stencil *stencil = random_stencil(&d, grids[g].rank, TAPS_BOX, 1);
        stn_problem p = grid_problem(stencil, grids[g].extent, STN_F16, 1);
        if (g == 0) p.extent[0] += 1000; /* past INT32_MAX */
        random_sides(&d, &p, grids[g].rank);
        check(s, g ? "2D, more than 2^31 points" : "1D, more than 2^31 points", &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"boundaries", boundary_pairs},
                                       {"radii", radii},
                                       {"weights", many_weights},
                                       {"layouts", layouts},
                                       {"sizes", sizes},
                                       {"large", large},
                                       {"huge", huge}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
