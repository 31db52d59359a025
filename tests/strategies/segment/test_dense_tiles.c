/* segment with dense-DFT tiles of 2D and 3D grids, compared with host: every tile, any weights,
 * sides, steps, layouts, on any device. Prints TAP. Usage: test_segment_dense_tiles [--full]
 * [--only PART] [--dtype T]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"

static const char *const planes[] = {"16 x 16", "32 x 32", "48 x 40", "64 x 48"};
static const char *const volumes[] = {"10 x 8 x 9", "16 x 16 x 8", "8 x 16 x 16", "16 x 16 x 16"};

/* Uses the candidate whose name contains `tile` and `more`, with `fused` steps a launch if that is
 * not 0. */
static void check(suite *s, const char *what, stn_problem p, const char *tile, int fused, const char *more,
                  uint64_t seed) {
    char words[160], name[400];
    comparison c;
    p = suite_problem(s, &p);
    /* Dense DFTs have larger rounding errors in f32 than FFT tiles; with a smaller tolerance only
     * the latter may be offered. */
    if (p.dtype == STN_F32) p.tolerance = fmax(p.tolerance, 2e-5);
    if (fused)
        snprintf(words, sizeof words, "%d steps a launch, tiles of %s points", fused, tile);
    else
        snprintf(words, sizeof words, "tiles of %s points", tile);
    const int pick = suite_candidate(s, &p, "segment", words);
    const bool good = compare_candidate_with_host(s->context, s->pool, &p, "segment", pick, true, seed, &c) &&
                      strstr(c.parameters, more);
    snprintf(name, sizeof name, "%s, %s, %d steps", words, what, (int)p.steps);
    suite_report_compared(s, good, name, &c);
}

static stn_problem grid_of(const stn_stencil *stencil, dice *d, int least, int most, uint64_t steps) {
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    for (int axis = 0; axis < stn_stencil_rank(stencil); axis++) p.extent[axis] = (size_t)dice_int(d, least, most);
    p.steps = steps;
    for (int axis = 0; axis < 3; axis++) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_WRAP;
    return p;
}

/* Weights of the given radius, symmetric along each axis but not separable; their absolute values
 * sum to 1. skewed: symmetric about the centre only. */
static stn_stencil *even_box(dice *d, int rank, int radius, bool positive, bool skewed) {
    stn_tap taps[7 * 7 * 7];
    const int size = 2 * radius + 1, count = rank == 2 ? size * size : size * size * size;
    double own[4][4][4], sum = 0;
    for (int i = 0; i < 64; i++)
        own[i / 16][i / 4 % 4][i % 4] = (0.1 + fabs(dice_real(d))) * (positive || i % 5 ? 1 : -1);
    for (int i = 0; i < count; i++) {
        int at[3] = {i / (size * size) - radius, i / size % size - radius, i % size - radius};
        if (rank == 2) at[0] = at[1], at[1] = at[2], at[2] = 0;
        taps[i] = (stn_tap){{at[0], at[1], at[2]}, own[abs(at[0])][abs(at[1])][abs(at[2])]};
        if (skewed && at[0] * at[1] > 0) taps[i].weight *= 0.25;
        sum += fabs(taps[i].weight);
    }
    for (int i = 0; i < count; i++) taps[i].weight /= sum;
    stn_stencil *stencil = NULL;
    stn_stencil_create(rank, (size_t)count, taps, &stencil, NULL);
    return stencil;
}

/* Every tile, with weights symmetric along each axis, about the centre only, and not at all. */
static void tiles(suite *s) {
    for (int i = 0; i < 24; i++) {
        const int rank = i % 8 < 4 ? 2 : 3, kind = i / 8, number = i % 4;
        /* These planes are computed by the kernel segment_dense_plane. */
        const bool own = kind == 1 && rank == 2 && number == 1;
        if (!s->full && (kind + number) % 3 == 2 && !own) continue;
        dice d = {(uint64_t)i + 100};
        const int radius = rank == 2 && number > 1 ? 2 : 1, fused = rank == 3 || number == 0 ? 2 : 4;
        stn_stencil *stencil =
            kind ? even_box(&d, rank, radius, i % 2, kind == 2) : random_stencil(&d, rank, TAPS_BOX, radius);
        stn_problem p = grid_of(stencil, &d, 11, rank == 2 ? 130 : 37, (uint64_t)fused);
        p.batch = 1 + (size_t)(i % 3);
        check(s,
              kind == 0   ? "uneven weights"
              : kind == 1 ? "even weights"
                          : "weights even about the centre",
              p, (rank == 2 ? planes : volumes)[number], fused, kind == 1 ? "by real products" : "by complex products",
              d.state);
        stn_stencil_destroy(stencil);
    }
}

/* A 2D stencil along the last two axes of a 3D grid. */
static stn_stencil *slice_stencil(const stn_stencil *flat) {
    stn_tap taps[49];
    stn_stencil *stencil = NULL;
    const size_t count = stn_stencil_tap_count(flat);
    for (size_t i = 0; i < count; i++) {
        const stn_tap *tap = &stn_stencil_taps(flat)[i];
        taps[i] = (stn_tap){{0, tap->offset[0], tap->offset[1]}, tap->weight};
    }
    stn_stencil_create(3, count, taps, &stencil, NULL);
    return stencil;
}

/* 3D grids whose taps reach along y and x only: each plane is independent. */
static void slices(suite *s) {
    for (int i = 0; i < 8; i++) {
        const int number = i % 4, radius = number > 1 ? 2 : 1, even = i / 4;
        if (!s->full && !even && number != 1) continue;
        dice d = {(uint64_t)i + 700};
        stn_stencil *flat = even ? even_box(&d, 2, radius, true, false) : random_stencil(&d, 2, TAPS_BOX, radius),
                    *stencil = slice_stencil(flat);
        stn_problem p = grid_of(stencil, &d, 5, 90, (uint64_t)dice_int(&d, 1, 4));
        p.extent[0] = (size_t)dice_int(&d, 2, 7);
        p.batch = 1 + (size_t)(i % 2);
        check(s, "slices of a solid", p, planes[number], 0, even ? "real products" : "", d.state);
        stn_stencil_destroy(stencil);
        stn_stencil_destroy(flat);
    }
}

/* Sides served exactly for symmetric weights, at every pair. */
static void sides(suite *s) {
    static const stn_boundary_kind kinds[] = {STN_REFLECT, STN_MIRROR, STN_NEAREST, STN_CONSTANT};
    for (int i = 0; i < 48; i++) {
        const int axis = i / 16, low = i % 4, high = i / 4 % 4, rank = axis == 2 || i % 3 == 2 ? 3 : 2;
        if (!s->full && i % 5 != axis) continue;
        dice d = {(uint64_t)i + 300};
        stn_stencil *stencil = even_box(&d, rank, low < 2 && high < 2 && rank == 2 ? 2 : 1, true, false);
        stn_problem p = grid_of(stencil, &d, 5, rank == 2 ? 90 : 30, (uint64_t)dice_int(&d, 1, rank == 2 ? 7 : 3));
        /* One value at both sides: otherwise it would be stepped. A smaller one in f32, which
         * rounds relative to it while little is left of so small a grid. */
        const double value = low == 3 && high == 3 && i % 2 ? (s->dtype_given && s->dtype == STN_F32 ? -0.1 : -0.7) : 0;
        p.boundary[axis % rank][0] = (stn_boundary){kinds[low], low == 3 ? value : 0};
        p.boundary[axis % rank][1] = (stn_boundary){kinds[high], high == 3 ? value : 0};
        if (i % 2) p.boundary[(axis + 1) % rank][0].kind = p.boundary[(axis + 1) % rank][1].kind = STN_MIRROR;
        char what[120];
        snprintf(what, sizeof what, "%s:%s on axis %d", side_names[kinds[low]], side_names[kinds[high]], axis % rank);
        check(s, what, p, rank == 2 ? planes[1 + i % 2] : volumes[3], 0, value != 0 ? "" : "real products", d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Any sides and weights: sides without an extension are stepped. */
static void margins(suite *s) {
    for (int i = 0; i < 24; i++) {
        if (!s->full && i % 3) continue;
        dice d = {(uint64_t)i + 500};
        const int rank = 2 + i % 2;
        stn_stencil *stencil = random_stencil(&d, rank, i % 4 ? TAPS_STAR : TAPS_RANDOM, 1);
        stn_problem p = grid_of(stencil, &d, rank == 2 ? 20 : 12, rank == 2 ? 110 : 30,
                                (uint64_t)dice_int(&d, 1, rank == 2 ? 16 : 5));
        random_sides(&d, &p, rank);
        p.boundary[0][0].kind = STN_FIXED, p.boundary[0][1].kind = i % 2 ? STN_FIXED : STN_REFLECT;
        p.in_place = i % 5 == 0;
        check(s, "any sides", p, rank == 2 ? planes[1] : volumes[3], 0, "margins stepped", d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Launches of two lengths, whole periods, grids smaller than a tile, layouts. */
static void steps(suite *s) {
    static const int counts[] = {1, 2, 3, 7, 13, 29, 37, 64};
    for (int i = 0; i < 16; i++) {
        if (!s->full && i % 3 == 1) continue;
        dice d = {(uint64_t)i + 700};
        const int rank = i % 4 == 3 ? 3 : 2;
        stn_stencil *stencil = i % 2 ? even_box(&d, rank, 1, true, false) : random_stencil(&d, rank, TAPS_BOX, 1);
        stn_problem p = grid_of(stencil, &d, 3, rank == 2 ? 70 : 24, (uint64_t)counts[rank == 3 ? i / 4 : i % 8]);
        if (i % 5 == 0) p.extent[0] = p.extent[1] = 16;
        if (i % 5 == 1 && rank == 2) {
            p.in_stride[1] = p.out_stride[1] = 1;
            p.in_stride[0] = p.extent[1] + 3, p.out_stride[0] = p.extent[1] + 8;
        }
        p.in_place = i % 6 == 2, p.batch = 1 + i % 2 * 2;
        if (i % 6 == 3) p.alignment = s->dtype_given ? 4 : 8;
        check(s, "any size", p, rank == 2 ? planes[1] : volumes[3], 0, "", d.state);
        stn_stencil_destroy(stencil);
    }
}

/* 2D and 3D grids whose taps do not reach along an axis. */
static void fewer(suite *s) {
    for (int which = 1; which < 7; which++) {
        stn_tap taps[5] = {{{0}, 0.5}, {{0}, 0.1}, {{0}, 0.2}, {{0}, 0.15}, {{0}, 0.05}};
        for (int t = 1; t < 5; t++)
            for (int axis = 0; axis < 3; axis++)
                if (which >> axis & 1) taps[t].offset[axis] = ((t - 1) >> (axis == 2 ? 0 : axis) & 1) ? 1 : -1;
        if (which == 1 || which == 2 || which == 4) continue; /* Lines: segments serve them. */
        stn_stencil *stencil = NULL;
        if (stn_stencil_create(3, 5, taps, &stencil, NULL) != STN_OK) continue;
        dice d = {(uint64_t)which};
        stn_problem p = grid_of(stencil, &d, 9, 30, 3);
        for (int axis = 0; axis < 3; axis++)
            if (!(which >> axis & 1)) p.boundary[axis][0].kind = p.boundary[axis][1].kind = STN_FIXED;
        check(s, "taps that leave an axis out", p, which == 6 ? planes[1] : volumes[3], 0, "", d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Asymmetric weights of one sign. */
static stn_stencil *slanted(dice *d) {
    static const stn_tap like[4] = {{{0, 0, 0}, 0.4}, {{-1, 0, 0}, 0.3}, {{0, 1, 0}, 0.2}, {{1, -1, 0}, 0}};
    stn_tap taps[4];
    memcpy(taps, like, sizeof taps);
    taps[3].weight = 0.1 + 0.05 * dice_real(d);
    stn_stencil *stencil = NULL;
    stn_stencil_create(2, 4, taps, &stencil, NULL);
    return stencil;
}

static double draw_large(dice *d) { return 900 + 100 * dice_real(d); }

/* f16 values in one half and in two, some of which need scaling: the predicted error is an upper
 * bound of the measured one. */
static void halves(suite *s) {
    for (int i = 0; i < 16; i++) {
        if (!s->full && i % 4 > 1) continue;
        dice d = {(uint64_t)i + 900};
        /* Asymmetric weights of both signs need two parts. */
        const bool even = i % 3 > 0, two = i % 4 % 3;
        stn_stencil *stencil = even  ? even_box(&d, 2 + i % 2, 1, true, false)
                               : two ? random_stencil(&d, 2, TAPS_BOX, 1)
                                     : slanted(&d);
        /* One launch or several. */
        const int rank = stn_stencil_rank(stencil), most = i % 4 < 2 ? 3 : 11;
        stn_problem p = grid_of(stencil, &d, 20, rank == 2 ? 100 : 30, (uint64_t)dice_int(&d, 1, most));
        p.dtype = STN_F16;
        char words[80], what[120];
        snprintf(words, sizeof words, "%s products of halves in %s", even ? "real" : "complex",
                 two ? "two parts" : "one part");
        const int pick = suite_candidate(s, &p, "segment", words);
        comparison c;
        const bool good =
            even && i % 2
                ? compare_drawn_with_host(s->context, s->pool, &p, "segment", pick, true, draw_large, d.state, &c)
                : compare_candidate_with_host(s->context, s->pool, &p, "segment", pick, true, d.state, &c);
        snprintf(what, sizeof what, "%s, %dD, %d steps", words, rank, (int)p.steps);
        suite_report_compared(s, good && (!even || c.predicted >= 0.9 * c.relative_l2), what, &c);
        stn_stencil_destroy(stencil);
    }
}

/* Runs of one plan equal one plan of all steps; and a plan takes new weights, symmetric and
 * asymmetric ones. */
static void plans(suite *s) {
    enum { N = 61, POINTS = N * N };
    static double in[POINTS];
    if (s->dtype_given) return;
    dice d = {3};
    for (int i = 0; i < POINTS; i++) in[i] = dice_real(&d);
    for (int mirrored = 0; mirrored < 2; mirrored++) {
        stn_stencil *stencil = even_box(&d, 2, 1, true, false);
        stn_problem p = grid_of(stencil, &d, N, N, 9);
        if (mirrored) p.boundary[1][0].kind = p.boundary[1][1].kind = STN_REFLECT;
        stn_plan_options options = STN_PLAN_OPTIONS_INIT;
        options.strategy = "segment";
        stn_plan *plan = NULL;
        stn_error error = {0};
        bool good = stn_plan_create(s->context, &p, &options, &plan, &error) == STN_OK;
        for (int kind = 0; kind < 3 && good; kind++) {
            stn_stencil *fresh = kind == 1 ? random_stencil(&d, 2, TAPS_BOX, 1) : even_box(&d, 2, 1, true, kind == 2);
            stn_problem q = p;
            double weights[9];
            q.stencil = fresh;
            for (int i = 0; i < 9; i++) weights[i] = stn_stencil_taps(fresh)[i].weight;
            const stn_status status = stn_plan_set_weights(plan, 9, weights, &error);
            good = status == STN_OK && compare_plan_with_host(s->context, plan, &q, in, POINTS) < 1e-13;
            suite_report(s, good, mirrored && kind ? "uneven weights at mirrors" : "new weights", error.message);
            stn_stencil_destroy(fresh);
        }
        if (!plan) suite_report(s, false, "a plan", error.message);
        stn_plan_destroy(plan);
        stn_stencil_destroy(stencil);
    }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"tiles", tiles}, {"slices", slices}, {"sides", sides},   {"margins", margins},
                                       {"steps", steps}, {"fewer", fewer},   {"halves", halves}, {"plans", plans}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
