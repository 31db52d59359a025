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
    char named[500], detail[1200];
    snprintf(named, sizeof named, "%s: %s", what, place < 0 ? "no such candidate" : c.parameters);
    if (good) s->worst = fmax(s->worst, c.relative_l2 / c.bar);
    suite_detail(&c, detail, sizeof detail);
    suite_report(s, good, named, detail);
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

/* Rows that begin at any element: pitches and batch strides of input and output differ and share no
 * alignment; rows a point shorter or longer than warps cover; every side. */
static void shifted(suite *s) {
    static const int vectors[] = {[STN_F64] = 2, [STN_F32] = 4, [STN_F16] = 8};
    for (int dtype = STN_F64; dtype <= STN_F16; dtype++)
        for (int kind = STN_WRAP; kind <= STN_FIXED; kind++)
            for (int box = 0; box < 2; box++) {
                if (!s->full && (kind + dtype) % 2 != box) continue;
                dice d = {(uint64_t)(500 + dtype * 100 + kind * 5 + box)};
                stn_stencil *stencil = random_stencil(&d, 2, box ? TAPS_BOX : TAPS_STAR, 1);
                const int warp = 32 * vectors[dtype], sizes[] = {8 * warp, 8 * warp + 1, 8 * warp + 2, 9 * warp - 1};
                for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
                    stn_problem p = STN_PROBLEM_INIT;
                    char what[120];
                    p.stencil = stencil, p.dtype = (stn_dtype)dtype, p.batch = 2;
                    p.extent[0] = 35, p.extent[1] = sizes[i];
                    for (int side = 0; side < 4; side++) {
                        p.boundary[side / 2][side % 2].kind = (stn_boundary_kind)kind;
                        p.boundary[side / 2][side % 2].value = 0.5 + side;
                    }
                    p.in_stride[1] = p.out_stride[1] = 1;
                    p.in_stride[0] = sizes[i] + 3 - sizes[i] % 2, p.out_stride[0] = sizes[i] + 1 + sizes[i] % 2;
                    p.in_batch_stride = p.in_stride[0] * 35 + 1, p.out_batch_stride = p.out_stride[0] * 35 + 1;
                    snprintf(what, sizeof what, "rows of %d points, %s, %s, %s", sizes[i], side_names[kind],
                             taps_names[box], stn_dtype_name(p.dtype));
                    check(s, what, &p, DIRECT_TILE, vectors[dtype], d.state + i);
                }
                stn_stencil_destroy(stencil);
            }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {
        {"mirror", mirror}, {"batches", batches}, {"turns", turns}, {"shifted", shifted}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
