/* host-spectral compared with host at every point: ranks, dtypes, good and prime sizes, taps of
 * both signs, all pairs of sides, layouts, sources, growth. Prints TAP. Usage: test_host_spectral
 * [--full] [--only PART]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_analytic.h"
#include "host/stencil_run.h"

static void name_of(const char *part, const stn_problem *p, char *what, size_t size) {
    int rank = stn_stencil_rank(p->stencil);
    size_t used = (size_t)snprintf(what, size, "%s: %dD", part, rank);
    for (int axis = 0; axis < rank; axis++)
        used += (size_t)snprintf(what + used, size - used, " %zu %s:%s", p->extent[axis],
                                 side_names[p->boundary[axis][0].kind], side_names[p->boundary[axis][1].kind]);
    snprintf(what + used, size - used, ", %zu taps, %s, %llu steps%s", stn_stencil_tap_count(p->stencil),
             stn_dtype_name(p->dtype), (unsigned long long)p->steps, p->in_place ? ", in place" : "");
}

static void check(suite *s, const char *part, const stn_problem *p, uint64_t seed) {
    char what[300];
    name_of(part, p, what, sizeof what);
    suite_compare(s, "host-spectral", true, what, p, seed);
}

/* Weights of both signs, symmetric along each axis, with absolute values that sum to 1. reach:
 * along each axis. */
static stn_stencil *mirrored_stencil(dice *d, int rank, const int *reach) {
    stn_tap taps[1000];
    double weight[8][8][8], sum = 0;
    size_t count = 0;
    for (int i = 0; i < 512; i++) {
        weight[i / 64][i / 8 % 8][i % 8] = fabs(dice_real(d)) + 0.05;
        if (dice_int(d, 0, 3) == 0) weight[i / 64][i / 8 % 8][i % 8] *= -1;
    }
    const int r[3] = {reach[0], rank > 1 ? reach[1] : 0, rank > 2 ? reach[2] : 0};
    for (int a = -r[0]; a <= r[0]; a++)
        for (int b = -r[1]; b <= r[1]; b++)
            for (int c = -r[2]; c <= r[2]; c++) {
                taps[count] = (stn_tap){{a, b, c}, weight[abs(a)][abs(b)][abs(c)]};
                sum += fabs(taps[count++].weight);
            }
    for (size_t k = 0; k < count; k++) taps[k].weight /= sum;
    stn_stencil *stencil = NULL;
    stn_stencil_create(rank, count, taps, &stencil, NULL);
    return stencil;
}

static uint64_t random_steps(dice *d, stn_dtype dtype) {
    return (uint64_t)dice_int(d, 1, dtype == STN_F16 ? 4 : dtype == STN_F32 ? 60 : 200);
}

static int rank_of(const int *extent) { return extent[2] ? 3 : extent[1] ? 2 : 1; }

static void wrap(suite *s) {
    static const int extents[][3] = {{64, 0, 0},   {3, 0, 0},    {1000, 0, 0}, {997, 0, 0}, {48, 40, 0},
                                     {89, 107, 0}, {2, 7, 0},    {16, 2, 0},   {31, 64, 0}, {130, 30, 0},
                                     {10, 12, 16}, {11, 13, 17}, {3, 9, 20},   {23, 5, 29}, {1, 0, 0}};
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int dtype = 0; dtype < 3; dtype++)
            for (int taps = 0; taps < 3; taps++) {
                dice d = {e * 100 + (uint64_t)(dtype * 10 + taps) + 5};
                int rank = rank_of(extents[e]), least = 1000;
                for (int axis = 0; axis < rank; axis++) least = extents[e][axis] < least ? extents[e][axis] : least;
                int radius = least < 4 ? 1 : dice_int(&d, 1, rank == 3 ? 2 : 3);
                stn_stencil *stencil = random_stencil(&d, rank, (taps_kind)taps, radius);
                stn_problem p = grid_problem(stencil, extents[e], (stn_dtype)dtype, random_steps(&d, (stn_dtype)dtype));
                check(s, "wrap", &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* Every pair of sides along every axis, with taps of reach 1. */
static void sides(suite *s) {
    static const int extents[][3] = {{101, 0, 0}, {37, 53, 0}, {7, 11, 13}, {3, 5, 0}, {2, 3, 4}};
    for (int low = 1; low < 6; low++)
        for (int high = 1; high < 6; high++)
            for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
                for (int axis = 0; axis < rank_of(extents[e]); axis++) {
                    dice d = {(uint64_t)(low * 1000 + high * 100 + axis * 10) + e};
                    static const int reach[3] = {1, 1, 1};
                    int rank = rank_of(extents[e]);
                    stn_stencil *stencil = mirrored_stencil(&d, rank, reach);
                    stn_dtype dtype = (stn_dtype)(dice_int(&d, 0, 5) % 4 % 3);
                    stn_problem p = grid_problem(stencil, extents[e], dtype, random_steps(&d, dtype));
                    random_sides(&d, &p, rank);
                    p.boundary[axis][0] = (stn_boundary){(stn_boundary_kind)low, low == STN_CONSTANT ? 0.3 : 0};
                    p.boundary[axis][1] = (stn_boundary){(stn_boundary_kind)high, high == STN_CONSTANT ? -1.1 : 0};
                    p.in_place = dice_int(&d, 0, 3) == 0;
                    p.batch = (size_t)dice_int(&d, 1, 2);
                    check(s, "sides", &p, d.state);
                    stn_stencil_destroy(stencil);
                }
}

/* Even mirrors permit any reach along the axis, wrap any taps; without a reach along the axis the
 * sides do not matter. */
static void radii(suite *s) {
    static const int extents[][3] = {{61, 0, 0}, {29, 40, 0}, {13, 11, 17}};
    static const stn_boundary_kind kinds[] = {STN_REFLECT, STN_MIRROR, STN_WRAP};
    for (size_t e = 0; e < 3; e++)
        for (int i = 0; i < 12; i++) {
            dice d = {e * 1000 + (uint64_t)i};
            int rank = rank_of(extents[e]), most = rank == 1 ? 7 : rank == 2 ? 5 : 3, reach[3];
            for (int axis = 0; axis < 3; axis++) reach[axis] = dice_int(&d, 0, most);
            stn_stencil *stencil = mirrored_stencil(&d, rank, reach);
            stn_problem p = grid_problem(stencil, extents[e], (stn_dtype)(i % 3), random_steps(&d, (stn_dtype)(i % 3)));
            for (int axis = 0; axis < rank; axis++) {
                if (reach[axis] == 0) {
                    p.boundary[axis][0].kind = STN_FIXED, p.boundary[axis][1].kind = STN_CONSTANT;
                    continue;
                }
                for (int side = 0; side < 2; side++) p.boundary[axis][side].kind = kinds[dice_int(&d, 0, 1)];
                if (i % 4 == 0) p.boundary[axis][0].kind = p.boundary[axis][1].kind = kinds[2];
            }
            check(s, "radii", &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Dense taps of long reach and both signs, whose symbols are evaluated by FFT; also in lines no
 * longer than the reach. */
static void wide(suite *s) {
    static const int extents[][3] = {{61, 64, 0}, {18, 97, 0}, {64, 50, 0}, {100, 0, 0}, {15, 8, 9}};
    for (size_t e = 0; e < 5; e++)
        for (int i = 0; i < 4; i++) {
            dice d = {e * 10 + (uint64_t)i + 3000};
            const int rank = rank_of(extents[e]);
            const size_t extent[3] = {rank == 3 ? 27 : 35, rank == 3 ? 3 : 35, 5};
            double *weights = malloc(extent[0] * extent[1] * extent[2] * sizeof *weights), sum = 0;
            size_t count = 1;
            for (int axis = 0; axis < rank; axis++) count *= extent[axis];
            for (size_t k = 0; k < count; k++) sum += fabs(weights[k] = dice_real(&d) + (i % 2 ? 0.7 : 0));
            for (size_t k = 0; k < count; k++) weights[k] /= sum;
            stn_stencil *stencil = NULL;
            stn_stencil_create_dense(rank, extent, weights, &stencil, NULL);
            stn_problem p = grid_problem(stencil, extents[e], i == 3 ? STN_F32 : STN_F64, i == 0 ? 1 : 7);
            check(s, "wide", &p, d.state);
            stn_stencil_destroy(stencil);
            free(weights);
        }
}

/* Grids large enough that decayed frequencies are pruned. */
static void kept(suite *s) {
    static const int extents[][3] = {{331, 401, 0}, {512, 200, 0}, {47, 53, 61}};
    static const char *const named[2][2] = {{"heat-2d:alpha=0.24", "heat-3d:alpha=0.15"}, {"box-2d9p", "box-3d27p"}};
    for (size_t e = 0; e < 3; e++)
        for (int i = 0; i < 4; i++) {
            dice d = {e * 10 + (uint64_t)i + 77};
            int rank = rank_of(extents[e]);
            stn_stencil *stencil = NULL;
            if (i < 2)
                stn_stencil_parse(named[i][rank == 3], &stencil, NULL);
            else
                stencil = random_stencil(&d, rank, i == 2 ? TAPS_BOX : TAPS_STAR, 1);
            stn_problem p =
                grid_problem(stencil, extents[e], i == 1 ? STN_F32 : STN_F64, (uint64_t)dice_int(&d, 30, 90));
            for (int axis = 0; axis < rank && i == 0; axis++)
                p.boundary[axis][0].kind = STN_REFLECT, p.boundary[axis][1].kind = STN_MIRROR;
            check(s, "kept", &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

static void layouts(suite *s) {
    for (int rank = 1; rank <= 3; rank++)
        for (int layout = 0; layout < 5; layout++)
            for (int boundary = 0; boundary < 2; boundary++) {
                static const int extents[3][3] = {{120, 0, 0}, {30, 44, 0}, {12, 10, 18}};
                static const int reach[3] = {1, 1, 1};
                dice d = {(uint64_t)(500 + rank * 100 + layout * 10 + boundary)};
                stn_stencil *stencil = mirrored_stencil(&d, rank, reach);
                stn_problem p = grid_problem(stencil, extents[rank - 1], (stn_dtype)(layout % 2), 9);
                for (int axis = 0; axis < rank && boundary; axis++)
                    p.boundary[axis][0].kind = STN_FIXED, p.boundary[axis][1].kind = STN_REFLECT;
                if (layout == 0) {
                    p.in_stride[rank - 1] = 2, p.out_stride[rank - 1] = 3;
                    if (rank > 1) p.in_stride[rank - 2] = 101, p.out_stride[rank - 2] = 140;
                    if (rank == 3) p.in_stride[0] = 101 * 11, p.out_stride[0] = 140 * 12;
                }
                if (layout == 1) p.batch = 13;
                if (layout == 2) p.in_place = 1, p.batch = 2;
                if (layout == 3) p.alignment = (int)stn_dtype_size(p.dtype);
                if (layout == 4) p.batch = 2, p.in_batch_stride = 5000, p.out_batch_stride = 6001;
                check(s, "layouts", &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* The problem's own source together with that of its sides. */
static void check_source(suite *s, const stn_problem *p, uint64_t seed) {
    char what[300];
    name_of("sources", p, what, sizeof what);
    suite_compare_source(s, "host-spectral", -1, what, p, seed);
}

static void sources(suite *s) {
    static const int extents[][3] = {{101, 0, 0}, {64, 0, 0}, {37, 53, 0}, {32, 24, 0}, {9, 11, 13}};
    for (size_t e = 0; e < 5; e++)
        for (int i = 0; i < 8; i++) {
            static const int reach[3] = {1, 1, 1};
            dice d = {e * 100 + (uint64_t)i + 9};
            int rank = rank_of(extents[e]);
            stn_stencil *stencil =
                i % 4 == 3 ? random_stencil(&d, rank, TAPS_RANDOM, 2) : mirrored_stencil(&d, rank, reach);
            if (i == 2) { /* K is 1 somewhere, so the added terms accumulate. */
                stn_stencil_destroy(stencil);
                stn_stencil_parse(rank == 1 ? "heat-1d" : rank == 2 ? "heat-2d" : "heat-3d", &stencil, NULL);
            }
            stn_problem p = grid_problem(stencil, extents[e], STN_F64, random_steps(&d, STN_F64));
            if (i % 4 != 3 && i != 2) random_sides(&d, &p, rank);
            p.has_source = 1;
            p.in_place = i % 3 == 1;
            p.batch = i % 2 ? 2 : 1;
            check_source(s, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* |K| above 1, and far above it; |K| = 1 with a rotating phase; a line where one frequency hardly
 * decays while others do. */
static void growth(suite *s) {
    static const struct {
        double weights[3];
        uint64_t steps;
    } cases[] = {{{0.3, 0.5, 0.3}, 200}, {{0.5, 1.5, 0.5}, 100},   {{0, 0, 1}, 200},   {{-0.5, 1, 0.5}, 60},
                 {{0.5, 0, 0.5}, 199},   {{0.25, 0.5, 0.25}, 200}, {{-1, 0, -1}, 100}, {{0.49, -0.5, 0.01}, 150}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int n = 90; n < 102; n += 11)
            for (int sided = 0; sided < 2; sided++) {
                const size_t extent = 3;
                stn_stencil *stencil = NULL;
                if (sided && cases[i].weights[0] != cases[i].weights[2]) continue;
                stn_stencil_create_dense(1, &extent, cases[i].weights, &stencil, NULL);
                stn_problem p = grid_problem(stencil, &n, STN_F64, cases[i].steps);
                if (sided) p.boundary[0][0].kind = STN_FIXED, p.boundary[0][1].kind = STN_MIRROR;
                check(s, "growth", &p, i * 1000 + (uint64_t)n);
                stn_stencil_destroy(stencil);
            }
    growth_is_told(s);
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"wrap", wrap},           {"sides", sides},         {"radii", radii},
                                       {"kept", kept},           {"wide", wide},           {"layouts", layouts},
                                       {"sources", sources},     {"growth", growth},       {"modes", eigenmodes},
                                       {"weights", new_weights}, {"snapshots", snapshots}, {"choice", choice}};
    return suite_main_on(STN_DEVICE_HOST, argc, argv, parts, sizeof parts / sizeof *parts);
}
