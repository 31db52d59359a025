/* host-spectral compared with host on what random problems seldom have: wide taps, decayed
 * frequencies, growth, snapshots, choices. Prints TAP. Usage:
 * test_host_spectral [--full] [--only PART]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check_analytic.h"
#include "host/stencil_run.h"

static void check(suite *s, const char *part, const stn_problem *p, uint64_t seed) {
    char what[300];
    suite_name(part, p, -1, what, sizeof what);
    suite_compare(s, "host-spectral", true, what, p, seed);
}

static int rank_of(const int *extent) { return extent[2] ? 3 : extent[1] ? 2 : 1; }

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
    static const suite_part parts[] = {{"kept", kept},           {"wide", wide},           {"growth", growth},
                                       {"snapshots", snapshots}, {"weights", new_weights}, {"choice", choice}};
    return suite_main_on(STN_DEVICE_HOST, argc, argv, parts, sizeof parts / sizeof *parts);
}
