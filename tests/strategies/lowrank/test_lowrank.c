/* lowrank against the host: ranks, radii, steps, sizes, layouts, weights of every structure, on any
 * device (the emulator in CI, a GPU elsewhere). Prints TAP. Usage: test_lowrank [--full] [--only
 * PART] [--strategy sparse --dtype T --tolerance X]: the same cases, except splits, by another
 * strategy. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "context/context.h"
#include "launch/machine.h"
#include "structure.h"

static void check(suite *s, const char *what, const stn_problem *problem, uint64_t seed) {
    suite_compare(s, s->strategy ? s->strategy : "lowrank", true, what, problem, seed);
}

/* Every pair of sides on every axis, the other axis random: fused launches and faces. */
static void boundaries(suite *s) {
    for (side_pair at = {.rank = 1}; suite_side_pair(s, 2, 3, 3, &at);) {
        int radius = dice_int(&at.d, 1, 2);
        stn_stencil *stencil = random_stencil(&at.d, at.rank, (taps_kind)dice_int(&at.d, 0, 2), radius);
        stn_problem p = grid_problem(
            stencil,
            (int[]){at.rank == 1 ? dice_int(&at.d, 600, 9000) : dice_int(&at.d, 65, 130), dice_int(&at.d, 65, 150)},
            STN_F64, (uint64_t)dice_int(&at.d, 1, 20));
        suite_set_sides(&at, &p);
        char what[160];
        snprintf(what, sizeof what, "%s, radius %d, %llu steps", at.what, radius, (unsigned long long)p.steps);
        check(s, what, &p, at.d.state);
        stn_stencil_destroy(stencil);
    }
}

/* Symmetric taps between mirrors: no faces, folds far past the faces. */
static void mirrors(suite *s) {
    static const stn_boundary_kind kinds[] = {STN_REFLECT, STN_MIRROR};
    for (int rank = 1; rank <= 2; rank++)
        for (int pair = 0; pair < 4; pair++)
            for (int n = 33; n <= 330; n *= 10) {
                stn_stencil *stencil = NULL;
                stn_stencil_parse(rank == 1  ? "1d5p"
                                  : pair % 2 ? "gaussian-2d:sigma=0.6,truncate=3"
                                             : "box-2d9p",
                                  &stencil, NULL);
                stn_problem p = grid_problem(stencil, (int[]){n, 65 + pair}, STN_F64, n == 33 ? 7 : 20);
                for (int axis = 0; axis < rank; axis++) {
                    p.boundary[axis][0].kind = kinds[(pair + axis) / 2 % 2];
                    p.boundary[axis][1].kind = kinds[(pair + axis) % 2];
                }
                char what[160];
                snprintf(what, sizeof what, "%dD %s:%s, %d points, %llu steps", rank, side_names[p.boundary[0][0].kind],
                         side_names[p.boundary[0][1].kind], n, (unsigned long long)p.steps);
                check(s, what, &p, (uint64_t)(n + pair));
                stn_stencil_destroy(stencil);
            }
}

/* Every radius and tap pattern. */
static void radii(suite *s) {
    for (int rank = 1; rank <= 2; rank++)
        for (int radius = 1; radius <= 8; radius++)
            for (int taps = 0; taps < 3; taps++) {
                if (!s->full && (radius + taps + rank) % 3) continue;
                dice d = {(uint64_t)(rank * 1000 + radius * 10 + taps)};
                stn_stencil *stencil = random_stencil(&d, rank, (taps_kind)taps, radius);
                stn_problem p = grid_problem(
                    stencil, (int[]){dice_int(&d, radius, rank == 1 ? 5000 : 90), dice_int(&d, radius, 90)}, STN_F64,
                    (uint64_t)dice_int(&d, 1, 3));
                char what[160];
                snprintf(what, sizeof what, "%dD %s radius %d, %llu steps", rank, taps_names[taps], radius,
                         (unsigned long long)p.steps);
                check(s, what, &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* T = 1 to 20, on odd sizes. */
static void steps(suite *s) {
    for (int rank = 1; rank <= 2; rank++)
        for (int t = 1; t <= 20; t++) {
            if (!s->full && (t + rank) % 5 && t != 20) continue;
            dice d = {(uint64_t)(rank * 100 + t)};
            stn_stencil *stencil = random_stencil(&d, rank, rank == 1 ? TAPS_RANDOM : TAPS_STAR, 1 + t % 2);
            stn_problem p = grid_problem(stencil, (int[]){rank == 1 ? 4999 : 67, 131}, STN_F64, (uint64_t)t);
            char what[160];
            snprintf(what, sizeof what, "%dD radius %d, %d steps", rank, 1 + t % 2, t);
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
    stn_tap still = {{0, 0, 0}, 1};
    stn_stencil *heat = NULL, *identity = NULL;
    stn_stencil_create(1, 1, &still, &identity, NULL);
    stn_problem q = grid_problem(identity, (int[]){1000, 0}, STN_F64, 500);
    check(s, "one tap that stays, 500 steps", &q, 6);
    stn_stencil_destroy(identity);
    stn_stencil_parse("heat-1d", &heat, NULL);
    stn_problem p = grid_problem(heat, (int[]){12345, 0}, STN_F64, 200);
    check(s, "heat-1d, 200 steps: two lengths of launches", &p, 5);
    p.steps = 2000; /* systematic errors of launches would add up */
    check(s, "heat-1d, 2000 steps", &p, 5);
    stn_stencil_destroy(heat);
}

/* Lines so long that every block takes several chunks, on any number of multiprocessors; the
 * emulator has few. */
static void chunks(suite *s) {
    const stn_machine *machine = &s->context->machine;
    /* At most. */
    const int resident = machine->multiprocessors * (machine->threads / 128), chunk = 4 * 16 * 128;
    const bool large = machine->multiprocessors > 8 && !s->full;
    if (large && !s->dtype_given)
        suite_report(s, false, "several chunks a block",
                     "so many multiprocessors take minutes: run it with "
                     "STENTOR_EMULATOR_MULTIPROCESSORS=1, or on a GPU with --full");
    for (int batch = 1; batch <= 3 && !large; batch += 2)
        for (int dtype = STN_F64; dtype <= STN_F16 && !s->dtype_given; dtype++) {
            dice d = {(uint64_t)(40 + batch + dtype)};
            stn_stencil *stencil = random_stencil(&d, 1, TAPS_BOX, 1 + dtype);
            stn_problem p = grid_problem(stencil, (int[]){(5 * resident * chunk / 2 + 77) / batch, 0}, STN_F64, 2);
            p.dtype = (stn_dtype)dtype;
            p.batch = (size_t)batch;
            random_sides(&d, &p, 1);
            char what[160];
            snprintf(what, sizeof what, "1D, %s, %d x %zu points", stn_dtype_name(p.dtype), batch, p.extent[0]);
            check(s, what, &p, d.state);
            stn_stencil_destroy(stencil);
        }
}

/* Sizes around those of tiles and segments; far smaller than the reach of the fused taps. */
static void sizes(suite *s) {
    static const int lines[] = {1, 2, 3, 7, 16, 63, 64, 127, 128, 129, 511, 1024, 4095, 4096, 4097, 8191};
    static const int planes[][2] = {{1, 1},   {1, 40},  {40, 1},  {2, 3},   {15, 17},  {16, 16},  {17, 15}, {63, 64},
                                    {64, 63}, {65, 66}, {128, 9}, {9, 128}, {130, 33}, {33, 200}, {3, 500}};
    dice d = {17};
    stn_stencil *line = random_stencil(&d, 1, TAPS_BOX, 1), *plane = random_stencil(&d, 2, TAPS_BOX, 1);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (!s->full && i % 3) continue;
        stn_problem p = grid_problem(line, (int[]){lines[i], 0}, STN_F64, 12);
        char what[80];
        snprintf(what, sizeof what, "1D, %d points, 12 steps", lines[i]);
        check(s, what, &p, i);
    }
    for (size_t i = 0; i < sizeof planes / sizeof *planes; i++) {
        if (!s->full && i % 3) continue;
        stn_problem p = grid_problem(plane, (int[]){planes[i][0], planes[i][1]}, STN_F64, 4);
        char what[80];
        snprintf(what, sizeof what, "2D, %d x %d points, 4 steps", planes[i][0], planes[i][1]);
        check(s, what, &p, i);
    }
    /* A band's zeros multiply values past a side. */
    for (int high = 0; high < 2 && !s->dtype_given; high++) {
        stn_problem p = grid_problem(plane, (int[]){50, 240}, STN_F64, 6);
        for (int i = 0; i < 4; i++) p.boundary[i / 2][i % 2].kind = i / 2 ? STN_FIXED : STN_NEAREST;
        suite_report(s, nan_reaches(s->context, &p, "lowrank", high ? 237 : 3) < 64, "2D, a NaN stays near its side",
                     NULL);
    }
    stn_stencil_destroy(line);
    stn_stencil_destroy(plane);
}

static void weights(suite *s) {
    for (int kind = 0; kind < STRUCTURES; kind++)
        for (int side = 3; side <= 7; side += 2)
            for (int t = 1; t <= 8; t += 7) {
                if (!s->full && (kind + side / 2 + t / 2) % 3) continue;
                dice d = {(uint64_t)(kind * 100 + side * 10 + t)};
                double w[49];
                size_t extent[2] = {(size_t)side, (size_t)side};
                fill_weights(&d, (structure)kind, side, w);
                stn_stencil *stencil = NULL;
                stn_stencil_create_dense(2, extent, w, &stencil, NULL);
                stn_problem p = grid_problem(stencil, (int[]){53, 70}, STN_F64, (uint64_t)t);
                char what[160];
                snprintf(what, sizeof what, "%d x %d %s, %d steps", side, side, structure_names[kind], t);
                check(s, what, &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

/* Every candidate of problems whose taps split in several ways: by SVD, as a star. */
static void splits(suite *s) {
    static const char *const names[] = {"heat-2d", "star-2d13p", "box-2d9p", "box-2d49p", "laplace-2d:order=4"};
    static const char *const needed[] = {"lowrank_mixed", "lowrank_plane", "(svd", "(star"};
    bool seen[sizeof needed / sizeof *needed] = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (uint64_t t = 1; t <= 5; t++)
            for (int pick = 0; pick < 3; pick++) {
                if (!s->full && (i + t + (uint64_t)pick) % 3) continue;
                dice d = {i * 100 + t * 10 + (uint64_t)pick};
                stn_stencil *stencil = NULL;
                stn_stencil_parse(names[i], &stencil, NULL);
                stn_problem p = grid_problem(stencil, (int[]){dice_int(&d, 60, 99), dice_int(&d, 60, 150)}, STN_F64, t);
                random_sides(&d, &p, 2);
                comparison c;
                bool good = compare_candidate_with_host(s->context, s->pool, &p, "lowrank", pick, true, d.state, &c);
                if (!good && strstr(c.error.message, "there is no candidate")) {
                    stn_stencil_destroy(stencil);
                    continue;
                }
                for (size_t k = 0; k < sizeof needed / sizeof *needed; k++)
                    seen[k] = seen[k] || strstr(c.parameters, needed[k]);
                char what[400];
                snprintf(what, sizeof what, "%s, %llu steps, candidate %d: %s", names[i], (unsigned long long)t, pick,
                         c.parameters);
                suite_report_compared(s, good, what, &c);
                stn_stencil_destroy(stencil);
            }
    for (size_t k = 0; k < sizeof needed / sizeof *needed; k++) {
        char what[80];
        snprintf(what, sizeof what, "among them is %s", needed[k] + (*needed[k] == '('));
        suite_report(s, seen[k], what, "no candidate says so in its description");
    }
}

typedef enum layout_kind { PADDED, ODD_ROWS, BATCHED, ODD_GRIDS, IN_PLACE, UNALIGNED, LAYOUTS } layout_kind;
static const char *const layout_names[] = {
    "padded rows", "rows of an odd pitch", "a batch", "grids an odd way apart", "in place", "alignment of one element"};

static void layouts(suite *s) {
    for (int rank = 1; rank <= 2; rank++)
        for (int layout = 0; layout < LAYOUTS; layout++)
            for (uint64_t t = 1; t <= 40; t += 39) {
                if (rank == 1 && layout <= ODD_ROWS) continue;
                dice d = {(uint64_t)(rank * 100 + layout)};
                stn_stencil *stencil = random_stencil(&d, rank, TAPS_STAR, 1);
                stn_problem p = grid_problem(stencil, (int[]){rank == 1 ? 777 : 41, 54}, STN_F64, t);
                if (layout == PADDED || layout == ODD_ROWS || (layout == ODD_GRIDS && rank == 2)) {
                    p.in_stride[1] = p.out_stride[1] = 1;
                    p.in_stride[0] = layout == ODD_ROWS ? 57 : 64;
                    p.out_stride[0] = layout == ODD_ROWS ? 61 : 96;
                }
                if (layout == BATCHED || layout == ODD_GRIDS) p.batch = 3;
                if (layout == ODD_GRIDS) p.in_batch_stride = 64 * 41 + 777, p.out_batch_stride = 96 * 41 + 777;
                p.boundary[rank - 1][0].kind = p.boundary[rank - 1][1].kind = layout % 2 ? STN_REFLECT : STN_WRAP;
                if (layout == IN_PLACE) p.in_place = 1;
                if (layout == UNALIGNED) p.alignment = 8;
                char what[160];
                snprintf(what, sizeof what, "%dD %s, %llu steps", rank, layout_names[layout], (unsigned long long)t);
                check(s, what, &p, d.state);
                stn_stencil_destroy(stencil);
            }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {{"boundaries", boundaries}, {"mirrors", mirrors}, {"radii", radii},
                                       {"steps", steps},           {"sizes", sizes},     {"weights", weights},
                                       {"chunks", chunks},         {"splits", splits},   {"layouts", layouts}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
