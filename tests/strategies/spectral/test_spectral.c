/* spectral compared with host: ranks, dtypes, good and prime sizes, taps of both signs, sides,
 * layouts. Prints TAP. Usage: test_spectral [--full] [--only PART]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../suite.h"
#include "check_column_parts.h"
#include "check_decayed_modes.h"
#include "check_eigenmodes.h"
#include "check_four_step.h"
#include "check_slabs.h"
#include "check_snapshots.h"
#include "check_tiles.h"
#include "check_workspace.h"

static void check(suite *s, const char *part, const stn_problem *p, uint64_t seed) {
    char what[200];
    int rank = stn_stencil_rank(p->stencil);
    snprintf(what, sizeof what, "%s: %dD %zu x %zu x %zu, %zu taps, %s:%s %s:%s, %s, %llu steps%s", part, rank,
             p->extent[0], p->extent[1], p->extent[2], stn_stencil_tap_count(p->stencil),
             side_names[p->boundary[0][0].kind], side_names[p->boundary[0][1].kind],
             side_names[p->boundary[rank - 1][0].kind], side_names[p->boundary[rank - 1][1].kind],
             stn_dtype_name(p->dtype), (unsigned long long)p->steps, p->in_place ? ", in place" : "");
    suite_compare(s, "spectral", true, what, p, seed);
}

/* Wrap with any taps, and good sizes, where lines are the axes themselves. */
static void wrap(suite *s) {
    static const int extents[][3] = {{64, 0, 0},  {2, 0, 0},    {1000, 0, 0}, {48, 40, 0},  {16, 2, 0},
                                     {35, 64, 0}, {7, 1200, 0}, {840, 24, 0}, {10, 12, 16}, {32, 9, 20}};
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int dtype = 0; dtype < 3; dtype++)
            for (int taps = 0; taps < 3; taps++) {
                int rank = extents[e][2] ? 3 : extents[e][1] ? 2 : 1;
                if (!s->full && ((int)e + dtype + taps) % 3) continue;
                dice d = {e * 100 + (uint64_t)(dtype * 10 + taps) + 5};
                stn_stencil *stencil =
                    random_stencil(&d, rank, (taps_kind)taps, rank == 3 || e == 1 ? 1 : dice_int(&d, 1, 2));
                stn_problem p = grid_problem(stencil, extents[e], (stn_dtype)dtype,
                                             (uint64_t)(dtype == STN_F16 ? dice_int(&d, 1, 4) : dice_int(&d, 1, 30)));
                check(s, "wrap", &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* Columns shared by clusters of two and four blocks. */
static void long_columns(suite *s) {
    static const int extents[][3] = {{14400, 3, 0}, {27648, 2, 0}, {30720, 4, 0}};
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++) {
        dice d = {e + 321};
        stn_stencil *stencil = random_stencil(&d, 2, TAPS_BOX, 1);
        stn_problem p = grid_problem(stencil, extents[e], e == 2 ? STN_F32 : STN_F64, 5);
        check(s, "long", &p, d.state);
        stn_stencil_destroy(stencil);
    }
}

/* One step of wide dense taps: the symbol is a transform of the taps. Mirrors are exact for one
 * step of any taps. */
static void dense(suite *s) {
    static const int extents[][3] = {{48, 60, 0}, {61, 67, 0}, {120, 0, 0}, {10, 12, 16}, {20, 4, 16}};
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int dtype = 0; dtype < 2; dtype++)
            for (int sides = 0; sides < 2; sides++) {
                dice d = {e * 10 + (uint64_t)(dtype * 2 + sides) + 4000};
                int rank = extents[e][2] ? 3 : extents[e][1] ? 2 : 1;
                stn_stencil *stencil = random_stencil(&d, rank, TAPS_RANDOM, rank == 3 ? 4 : 9);
                stn_problem p = grid_problem(stencil, extents[e], (stn_dtype)dtype, 1);
                for (int axis = 0; axis < rank && sides; axis++)
                    p.boundary[axis][0].kind = STN_REFLECT, p.boundary[axis][1].kind = STN_MIRROR;
                check(s, "dense", &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* Even mirrors on any pair of sides, with taps symmetric along the axis, and sizes without a fast
 * transform. */
static stn_stencil *symmetric_stencil(dice *d, int rank, int radius) {
    stn_tap taps[343];
    double sum = 0;
    size_t count = 0;
    int side = 2 * radius + 1, most = rank == 1 ? side : rank == 2 ? side * side : side * side * side;
    double weight[4][4][4];
    for (int i = 0; i < 64; i++) weight[i / 16][i / 4 % 4][i % 4] = dice_real(d) + 0.5;
    for (int i = 0; i < most; i++) {
        stn_tap tap = {{0, 0, 0}, 0};
        int at[3] = {0, 0, 0}, rest = i;
        for (int axis = rank - 1; axis >= 0; axis--) {
            at[axis] = rest % side - radius, rest /= side;
            tap.offset[axis] = at[axis];
        }
        tap.weight = weight[abs(at[0])][abs(at[1])][abs(at[2])];
        sum += fabs(tap.weight);
        taps[count++] = tap;
    }
    for (size_t k = 0; k < count; k++) taps[k].weight /= sum;
    stn_stencil *stencil = NULL;
    stn_stencil_create(rank, count, taps, &stencil, NULL);
    return stencil;
}

static void even_sides(suite *s) {
    static const stn_boundary_kind kinds[] = {STN_REFLECT, STN_MIRROR, STN_NEAREST, STN_WRAP};
    static const int extents[][3] = {{101, 0, 0}, {37, 53, 0}, {64, 31, 0}, {11, 13, 17}};
    for (int pair = 0; pair < 10; pair++)
        for (size_t e = 0; e < sizeof extents / sizeof *extents; e++) {
            int rank = extents[e][2] ? 3 : extents[e][1] ? 2 : 1;
            if (!s->full && (pair + (int)e) % 2) continue;
            dice d = {(uint64_t)pair * 100 + e + 1};
            int radius = pair % 3 == 2 || rank == 3 ? 1 : 2;
            stn_stencil *stencil = symmetric_stencil(&d, rank, radius);
            stn_problem p = grid_problem(stencil, extents[e], (stn_dtype)(pair % 2),
                                         (uint64_t)dice_int(&d, 1, pair % 2 ? 40 : 200));
            for (int axis = 0; axis < rank; axis++) {
                stn_boundary_kind low = kinds[dice_int(&d, 0, radius > 1 ? 1 : 2)],
                                  high = kinds[dice_int(&d, 0, radius > 1 ? 1 : 2)];
                if (pair == 9 && axis == 0) low = high = STN_WRAP;
                p.boundary[axis][0].kind = low, p.boundary[axis][1].kind = high;
            }
            check(s, "even", &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Wrap on prime sizes, or odd ones along x: lines hold the grid and the reach of the taps; also
 * with twice the reach longer than the grid. */
static void sizes(suite *s) {
    static const int extents[][3] = {{997, 0, 0}, {1, 0, 0}, {89, 107, 0}, {64, 121, 0}, {211, 30, 0}, {23, 19, 29}};
    for (size_t e = 0; e < sizeof extents / sizeof *extents; e++)
        for (int dtype = 0; dtype < 3; dtype++)
            for (int taps = 0; taps < 3; taps++) {
                int rank = extents[e][2] ? 3 : extents[e][1] ? 2 : 1;
                if (!s->full && ((int)e + dtype + taps) % 3) continue;
                dice d = {e * 100 + (uint64_t)(dtype * 10 + taps) + 9000};
                stn_stencil *stencil = random_stencil(&d, rank, (taps_kind)taps, 1);
                stn_problem p = grid_problem(stencil, extents[e], (stn_dtype)dtype,
                                             (uint64_t)dice_int(&d, 1,
                                                                dtype == STN_F16   ? 4
                                                                : dtype == STN_F32 ? 40
                                                                                   : 200));
                check(s, "sizes", &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* Fixed and constant sides combined with even ones: every pair on every axis, with taps of reach
 * 1. */
static void odd_sides(suite *s) {
    static const int extents[][3] = {{101, 0, 0}, {37, 53, 0}, {64, 31, 0}, {9, 11, 14}};
    for (int low = 1; low < 6; low++)
        for (int high = 1; high < 6; high++)
            for (size_t e = 0; e < 4; e++) {
                int rank = extents[e][2] ? 3 : extents[e][1] ? 2 : 1;
                bool odd = low == STN_CONSTANT || low == STN_FIXED || high == STN_CONSTANT || high == STN_FIXED;
                if (!odd || (!s->full && (low + 2 * high + (int)e) % 4)) continue;
                dice d = {(uint64_t)(low * 100 + high * 10) + e + 70000};
                stn_stencil *stencil = symmetric_stencil(&d, rank, 1);
                stn_dtype dtype = (stn_dtype)((low + high) % 2);
                stn_problem p = grid_problem(stencil, extents[e], dtype, (uint64_t)dice_int(&d, 1, 200));
                random_sides(&d, &p, rank);
                int axis = dice_int(&d, 0, rank - 1);
                p.boundary[axis][0] = (stn_boundary){(stn_boundary_kind)low, low == STN_CONSTANT ? 0.3 : 0};
                p.boundary[axis][1] = (stn_boundary){(stn_boundary_kind)high, high == STN_CONSTANT ? -1.1 : 0};
                if (dice_int(&d, 0, 3) == 0) p.in_place = 1;
                if (dice_int(&d, 0, 3) == 0) p.batch = 2;
                check(s, "odd", &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* New weights for a plan, compared with the host: the same form of symbol, and a complex instead of
 * a real one; wider weights are rejected. */
static void new_weights(suite *s) {
    enum { NY = 24, NX = 40 };
    dice d = {4711};
    double grid[NY * NX], weights[9], sum = 0;
    for (int i = 0; i < NY * NX; i++) grid[i] = dice_real(&d);
    for (int symmetric = 1; symmetric >= 0; symmetric--) {
        stn_stencil *old = NULL, *fresh = NULL;
        stn_plan *plan = NULL;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        stn_error error = {0};
        options.strategy = "spectral";
        stn_stencil_parse("box-2d9p", &old, NULL);
        stn_tap taps[9];
        sum = 0;
        for (int i = 0; i < 9; i++) {
            taps[i] = stn_stencil_taps(old)[i];
            bool corner = taps[i].offset[0] && taps[i].offset[1], centre = i == 4;
            weights[i] = symmetric ? (centre ? 0.5 : corner ? 0.1 : -0.2) : dice_real(&d);
            sum += fabs(weights[i]);
        }
        for (int i = 0; i < 9; i++) taps[i].weight = weights[i] /= sum;
        stn_stencil_create(2, 9, taps, &fresh, NULL);
        stn_problem p = grid_problem(old, (int[3]){NY, NX, 0}, STN_F64, 12), q = p;
        q.stencil = fresh;
        for (int axis = 0; axis < 2; axis++)
            for (int side = 0; side < 2; side++) p.boundary[axis][side].kind = q.boundary[axis][side].kind = STN_WRAP;
        bool good = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_OK &&
                    stn_plan_set_weights(plan, 9, weights, &error) == STN_OK;
        double off = good ? compare_plan_with_host(s->context, plan, &q, grid, NY * NX) : INFINITY;
        char detail[1200];
        snprintf(detail, sizeof detail, "relative L2 %.3g, %s", off, error.message);
        suite_report(s, off < 4e-13, symmetric ? "new symmetric weights" : "new weights of any kind", detail);
        stn_plan_destroy(plan);
        stn_stencil_destroy(old);
        stn_stencil_destroy(fresh);
    }
}

/* Padded rows, batches, in place, alignment of one element. */
static void layouts(suite *s) {
    for (int rank = 1; rank <= 3; rank++)
        for (int layout = 0; layout < 4; layout++) {
            dice d = {(uint64_t)(500 + rank * 10 + layout)};
            static const int extents[3][3] = {{120, 0, 0}, {30, 44, 0}, {12, 10, 18}};
            stn_stencil *stencil = random_stencil(&d, rank, TAPS_BOX, 1);
            stn_problem p = grid_problem(stencil, extents[rank - 1], (stn_dtype)(layout % 2), 9);
            if (layout == 0 && rank > 1) {
                p.in_stride[rank - 1] = p.out_stride[rank - 1] = 1;
                p.in_stride[rank - 2] = 51, p.out_stride[rank - 2] = 64;
                if (rank == 3) p.in_stride[0] = 51 * 11, p.out_stride[0] = 64 * 12;
            }
            if (layout == 1) p.batch = 3;
            if (layout == 2) p.in_place = 1;
            if (layout == 3) p.alignment = (int)stn_dtype_size(p.dtype);
            check(s, "layouts", &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"wrap", wrap},
                                       {"long", long_columns},
                                       {"dense", dense},
                                       {"even", even_sides},
                                       {"odd", odd_sides},
                                       {"sizes", sizes},
                                       {"modes", modes},
                                       {"layouts", layouts},
                                       {"new-weights", new_weights},
                                       {"snapshots", snapshots},
                                       {"four-step", four_step},
                                       {"tiles", tiles},
                                       {"parts", in_parts},
                                       {"decayed-modes", decayed_modes},
                                       {"slabs", slabs},
                                       {"workspace", workspace}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
