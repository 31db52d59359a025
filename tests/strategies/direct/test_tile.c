/* Special cases of direct's tile kernels: sides that mirror rows read in wide accesses, batches
 * with different strides in input and output, alternating rows in shared memory. Against the host,
 * on any device. Prints TAP. Usage: test_tile [--full] [--only PART]. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../suite.h"
#include "plan/plan.h"
#include "strategies/direct/direct_shape.h"

/* The rank of the first candidate with this kernel and this access width (0: any); -1 if there is
 * none. */
static int rank_of(suite *s, const stn_problem *problem, direct_kernel kernel, int vector) {
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = "direct";
    options.estimate_only = 1;
    stn_plan *plan = NULL;
    int place = -1;
    if (stn_plan_create(s->context, problem, &options, &plan, NULL) != STN_OK) return -1;
    for (size_t i = 0; i < plan->ranked && place < 0; i++) {
        direct_shape shape;
        memcpy(&shape, plan->ranking[i].candidate.values, sizeof shape);
        if (plan->ranking[i].applies && shape.kernel == (int)kernel && (!vector || shape.vector == vector))
            place = (int)i;
    }
    stn_plan_destroy(plan);
    return place;
}

static void check(suite *s, const char *what, const stn_problem *problem, direct_kernel kernel, int vector,
                  uint64_t seed) {
    const int place = rank_of(s, problem, kernel, vector);
    const bool fused = kernel == DIRECT_TIME_TILE;
    comparison c = {.bar = 0};
    bool good =
        place >= 0 && compare_candidate_with_host(s->context, s->pool, problem, "direct", place, fused, seed, &c);
    char named[500];
    snprintf(named, sizeof named, "%s: %s", what, place < 0 ? "no such candidate" : c.parameters);
    suite_report_compared(s, good, named, &c);
}

/* An element past a mirrored edge comes from two accesses once the reach equals the access width.
 */
static void mirror(suite *s) {
    static const int vectors[] = {[STN_F64] = 2, [STN_F32] = 4, [STN_F16] = 8};
    /* Radius 8 is the largest of the tile kernels. */
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++)
        for (int more = 0; more <= (dtype != STN_F16); more++) {
            const int radius = vectors[dtype] + more;
            dice d = {(uint64_t)(100 + radius)};
            stn_stencil *stencil = random_stencil(&d, 2, TAPS_STAR, radius);
            stn_problem p = STN_PROBLEM_INIT;
            char what[100];
            p.stencil = stencil, p.dtype = (stn_dtype)dtype;
            p.extent[0] = 21, p.extent[1] = 72;
            for (int side = 0; side < 2; side++)
                p.boundary[0][side].kind = STN_NEAREST, p.boundary[1][side].kind = STN_MIRROR;
            snprintf(what, sizeof what, "mirror along x, radius %d, %s", radius, stn_dtype_name(p.dtype));
            check(s, what, &p, DIRECT_TILE, vectors[dtype], d.state);
            stn_stencil_destroy(stencil);
        }
}

/* A tap that reaches as many points past a mirror as the grid has meets the other side. */
static void small(suite *s) {
    for (int high = 0; high < 2; high++) {
        dice d = {77};
        stn_stencil *stencil = random_stencil(&d, 2, TAPS_BOX, 2);
        stn_problem p = grid_problem(stencil, (const int[]){2, 2}, STN_F64, 1);
        p.boundary[0][0].kind = p.boundary[0][1].kind = STN_MIRROR;
        p.boundary[1][!high] = (stn_boundary){STN_CONSTANT, 2};
        p.boundary[1][high].kind = STN_MIRROR;
        suite_compare(s, "direct", false,
                      high ? "2 x 2 points past constant:mirror" : "2 x 2 points past mirror:constant", &p, 78);
        stn_stencil_destroy(stencil);
    }
}

/* Grids of the input are 3 rows apart, those of the output 1: the strides must not be confused. */
static void batches(suite *s) {
    static const direct_kernel kernels[] = {DIRECT_TILE, DIRECT_TIME_TILE};
    for (int rank = 2; rank <= 3; rank++)
        for (size_t k = 0; k < sizeof kernels / sizeof *kernels; k++) {
            dice d = {(uint64_t)(200 + rank)};
            stn_stencil *stencil = random_stencil(&d, rank, TAPS_STAR, 1);
            stn_problem p = STN_PROBLEM_INIT;
            char what[100];
            ptrdiff_t points = 1;
            p.stencil = stencil, p.batch = 3;
            p.steps = kernels[k] == DIRECT_TILE ? 1 : 9;
            for (int axis = 0; axis < rank; axis++) {
                p.extent[axis] = axis == rank - 1 ? 40 : 13;
                points *= (ptrdiff_t)p.extent[axis];
                for (int side = 0; side < 2; side++) p.boundary[axis][side].kind = STN_REFLECT;
            }
            p.in_batch_stride = points + 3 * 40, p.out_batch_stride = points + 40;
            snprintf(what, sizeof what, "%dD, grids apart", rank);
            check(s, what, &p, kernels[k], 0, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Several warps with one barrier an iteration: a warp that is one iteration ahead writes the other
 * set of rows. Long marching loops, with all sides and without any. */
static void turns(suite *s) {
    for (int dtype = STN_F64; dtype <= STN_F32; dtype++)
        for (int wraps = 0; wraps < 2; wraps++) {
            dice d = {(uint64_t)(300 + dtype * 2 + wraps)};
            stn_stencil *stencil = random_stencil(&d, 3, TAPS_STAR, 1);
            stn_problem p = STN_PROBLEM_INIT;
            char what[100];
            p.stencil = stencil, p.dtype = (stn_dtype)dtype, p.steps = 8;
            for (int axis = 0; axis < 3; axis++) {
                p.extent[axis] = 40;
                for (int side = 0; side < 2; side++) p.boundary[axis][side].kind = wraps ? STN_WRAP : STN_FIXED;
            }
            snprintf(what, sizeof what, "a cube of 40, %s, %s", side_names[p.boundary[0][0].kind],
                     stn_dtype_name(p.dtype));
            check(s, what, &p, DIRECT_TIME_TILE, 0, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* ALIKE: pitches of `out` differ from those of `in` by whole multiples of 16 bytes, or are the
 * same. ANY: they differ by any number. WHOLE: all pitches are multiples of 16 bytes. */
typedef enum pitches { ALIKE, ANY, WHOLE } pitches;
static void draw_layout(dice *d, stn_problem *p, int rank, pitches kind) {
    ptrdiff_t in = 1, out = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        p->in_stride[axis] = in, p->out_stride[axis] = out;
        in *= (ptrdiff_t)p->extent[axis], out *= (ptrdiff_t)p->extent[axis];
        if (kind == WHOLE) in = (in + 7) / 8 * 8, out = in + 8 * dice_int(d, 0, 1);
        if (kind == WHOLE || dice_int(d, 0, 2)) continue;
        in = (in > out ? in : out) + dice_int(d, 0, 9);
        out = in + (kind == ANY ? dice_int(d, 0, 9) : 8 * dice_int(d, 0, 2));
    }
    if (kind == ALIKE && out % 8 != in % 8) out = in = in > out ? in : out;
    p->in_batch_stride = in, p->out_batch_stride = out;
}

/* Compares the first candidate whose name has these words; false if there is none. */
static bool try_words(suite *s, const stn_problem *p, const char *words, const char *what, bool fused, uint64_t seed) {
    comparison c = {.bar = 0};
    const int place = suite_candidate(s, p, "direct", words);
    const bool good = compare_candidate_with_host(s->context, s->pool, p, "direct", place, fused, seed, &c);
    if (!good && !*c.parameters) return false;
    suite_report_compared(s, good, what, &c);
    return true;
}

/* A random problem with rows of any length (odd 1: of odd length), by the first candidate whose
 * name has these words: taps, sides, extents and pitches, batches of grids that are not aligned, in
 * place too. */
static bool try_uneven(suite *s, dice *d, const char *words, stn_dtype widest, int odd, pitches pitch, int steps_low,
                       int steps_high) {
    const int rank = dice_int(d, 2, 3);
    const taps_kind kind = dice_int(d, 0, 1) ? TAPS_BOX : TAPS_STAR;
    const int radius = dice_int(d, 1, rank == 2 ? 3 : kind == TAPS_BOX ? 1 : 2);
    stn_stencil *stencil = random_stencil(d, rank, kind, radius);
    stn_problem p = STN_PROBLEM_INIT;
    char what[160] = "";
    p.stencil = stencil, p.dtype = (stn_dtype)dice_int(d, (int)widest, STN_F16);
    p.batch = (size_t)dice_int(d, 1, 2), p.steps = (uint64_t)dice_int(d, steps_low, steps_high);
    for (int axis = 0; axis < rank; axis++)
        p.extent[axis] = (size_t)(axis == rank - 1     ? dice_int(d, rank == 2 ? 240 : 64, rank == 2 ? 420 : 300) | odd
                                  : !dice_int(d, 0, 5) ? 1
                                  : rank == 2          ? dice_int(d, 7, 70)
                                                       : dice_int(d, 5, 21));
    draw_layout(d, &p, rank, pitch);
    random_sides(d, &p, rank);
    p.in_place = dice_int(d, 0, 5) == 0;
    if (p.in_place) memcpy(p.out_stride, p.in_stride, sizeof p.in_stride), p.out_batch_stride = p.in_batch_stride;
    snprintf(what, sizeof what, "%dD, %d columns %d apart, %s, radius %d, %s, %d steps", rank, (int)p.extent[rank - 1],
             (int)p.in_stride[rank - 2], taps_names[kind], radius, stn_dtype_name(p.dtype), (int)p.steps);
    const bool found = try_words(s, &p, words, what, steps_high > 3, d->state);
    stn_stencil_destroy(stencil);
    return found;
}

/* At least `count` problems, and more until a sixth of `count` have such a candidate: rows of some
 * are aligned, or their taps do not fit. */
static void try_many(suite *s, const char *words, stn_dtype widest, int count, int odd, pitches pitch, int steps_low,
                     int steps_high) {
    dice d = {dice_seed()};
    int found = 0;
    for (int i = 0; i < count || (6 * found < count && i < 20 * count); i++)
        found += try_uneven(s, &d, words, widest, odd, pitch, steps_low, steps_high);
    suite_report(s, 6 * found >= count, "enough problems have such a candidate", NULL);
}

static void skewed(suite *s) { try_many(s, "skewed tile", STN_F64, s->full ? 200 : 20, 0, ALIKE, 1, 3); }
/* One step to rows that begin at other places in words than those of the input. */
static void shifted(suite *s) { try_many(s, "skewed tile", STN_F64, s->full ? 200 : 20, 0, ANY, 1, 1); }
static void single(suite *s) {
    try_many(s, "steps a launch", STN_F64, s->full ? 200 : 12, 1, ALIKE, 2, s->full ? 12 : 6);
}
/* Rows of f16 that begin at either element of a word. */
static void halves(suite *s) {
    try_many(s, "steps a launch", STN_F16, s->full ? 200 : 8, 1, ANY, 2, s->full ? 12 : 6);
    try_many(s, "4 x 4 points a lane", STN_F16, s->full ? 100 : 8, 1, ANY, 2, 6);
}
/* Aligned rows whose last access is a partial one. */
static void partial(suite *s) {
    try_many(s, "steps a launch", STN_F64, s->full ? 200 : 16, 1, WHOLE, 2, s->full ? 12 : 6);
}

/* Tiles at sides that wrap: rows of every length modulo 16 bytes, and grids that are shorter than
 * the reach of all steps. x, y or both wrap. */
static void wraps(suite *s) {
    dice d = {dice_seed()};
    int found = 0, count = s->full ? 400 : 24;
    for (int i = 0; i < count; i++) {
        const int rank = 2 + i % 2, radius = dice_int(&d, 1, 2);
        stn_stencil *stencil = random_stencil(&d, rank, dice_int(&d, 0, 1) ? TAPS_BOX : TAPS_STAR, radius);
        const int least = 2 * radius + 2;
        stn_problem p = STN_PROBLEM_INIT;
        char what[160] = "";
        p.stencil = stencil, p.dtype = (stn_dtype)(i / 2 % 3);
        p.batch = (size_t)dice_int(&d, 1, 2), p.steps = (uint64_t)dice_int(&d, 2, 12);
        for (int axis = 0; axis < rank; axis++)
            p.extent[axis] = (size_t)(!dice_int(&d, 0, 3) ? dice_int(&d, least, 12)
                                      : axis < rank - 1   ? dice_int(&d, least, rank == 2 ? 70 : 40)
                                                          : dice_int(&d, 20, rank == 2 ? 330 : 140));
        const bool packed = i % 4 < 2; /* rows of odd length, which wrap to other places in words */
        if (packed)
            p.extent[rank - 1] |= 1;
        else
            draw_layout(&d, &p, rank, (pitches)dice_int(&d, ALIKE, WHOLE));
        random_sides(&d, &p, rank);
        const int which = dice_int(&d, 1, 7) | packed; /* bit k: axis rank - 1 - k wraps */
        for (int axis = 0; axis < rank; axis++)
            for (int side = 0; side < 2 && which >> (rank - 1 - axis) & 1; side++)
                p.boundary[axis][side] = (stn_boundary){STN_WRAP, 0};
        snprintf(what, sizeof what, "%dD, %d rows of %d columns, pitch %d, %s:%s, radius %d, %s, %d steps", rank,
                 (int)p.extent[rank - 2], (int)p.extent[rank - 1], (int)p.in_stride[rank - 2],
                 side_names[p.boundary[rank - 2][0].kind], side_names[p.boundary[rank - 1][0].kind], radius,
                 stn_dtype_name(p.dtype), (int)p.steps);
        found += try_words(s, &p, "steps a launch", what, true, d.state);
        stn_stencil_destroy(stencil);
    }
    suite_report(s, 3 * found >= count, "enough problems have such a candidate", NULL);
}

/* Boxes of so many taps that blocks of the interior and blocks at edges run one loop; the grid has
 * both. */
static void one_loop(suite *s) {
    static const stn_boundary_kind sides[][2] = {
        {STN_FIXED, STN_NEAREST}, {STN_REFLECT, STN_CONSTANT}, {STN_MIRROR, STN_FIXED}};
    static const struct {
        stn_dtype dtype;
        int radius, vector;
    } boxes[] = {{STN_F64, 7, 2}, {STN_F32, 7, 4}, {STN_F16, 6, 8}};
    for (int k = 0; k < 3; k++)
        for (int side = 0; side < 3; side++) {
            dice d = {(uint64_t)(400 + 3 * k + side)};
            stn_stencil *stencil = random_stencil(&d, 2, TAPS_BOX, boxes[k].radius);
            stn_problem p = grid_problem(stencil, (const int[]){150, 75 * 8}, boxes[k].dtype, 1);
            char what[100];
            for (int axis = 0; axis < 2; axis++)
                for (int end = 0; end < 2; end++)
                    p.boundary[axis][end] = (stn_boundary){sides[(side + axis) % 3][end], 2};
            snprintf(what, sizeof what, "box of radius %d, %s and %s, %s", boxes[k].radius, side_names[sides[side][0]],
                     side_names[sides[side][1]], stn_dtype_name(p.dtype));
            check(s, what, &p, DIRECT_TILE, boxes[k].vector, d.state);
            stn_stencil_destroy(stencil);
        }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"mirror", mirror},     {"small", small},   {"batches", batches},
                                       {"one loop", one_loop}, {"turns", turns},   {"skewed", skewed},
                                       {"shifted", shifted},   {"single", single}, {"halves", halves},
                                       {"partial", partial},   {"wraps", wraps}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
