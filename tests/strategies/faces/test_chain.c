/* Margins of separable weights as chains of products (faces_chain.cu) against host: every rank, kind of side, reach and layout
 * that they serve; new weights, separable and not. Prints TAP. Usage: test_faces_chain [--full]. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "launch/driver.h"
#include "rig.h"
#include "strategies/faces/tile/tile.h"

static const char *const side_names[] = {"wrap", "constant", "nearest", "reflect", "mirror", "fixed"};

/* Cases are like each other but for the dice: reaches differ from side to side, margins of many blocks. */
static stn_stencil *random_case(int c, stn_problem *p, dice *d, char *name, size_t size) {
    int rank = 2 + c % 2, radius = rank == 3 ? 1 + c / 2 % 2 : dice_int(d, 1, 4);
    int fused = rank == 3 ? (radius == 1 ? dice_int(d, 2, 4) : 2) : dice_int(d, 2, 32 / radius);
    *p = (stn_problem)STN_PROBLEM_INIT;
    stn_stencil *stencil = product_stencil(d, rank, radius);
    p->stencil = stencil;
    p->steps = (uint64_t)fused;
    p->batch = c % 5 == 1 ? 2 : 1;
    for (int axis = 0; axis < rank; axis++) {
        int low = c % 3 ? 5 : dice_int(d, 0, 5), high = low ? dice_int(d, 1, 5) : 0;
        p->boundary[axis][0] = (stn_boundary){(stn_boundary_kind)low, low == STN_CONSTANT ? 0.7 : 0};
        p->boundary[axis][1] = (stn_boundary){(stn_boundary_kind)high, high == STN_CONSTANT ? -1.3 : 0};
        p->extent[axis] = (size_t)(rank == 3 ? dice_int(d, 50, 75) : 2 * fused * radius + dice_int(d, 40, 120));
    }
    if (c % 4 >= 2) p->extent[rank - 1] = (p->extent[rank - 1] + 1) / 2 * 2; /* aligned rows */
    snprintf(name, size, "%dD radius %d, %d steps, sides %s:%s, %s:%s", rank, radius, fused,
             side_names[p->boundary[0][0].kind], side_names[p->boundary[0][1].kind],
             side_names[p->boundary[rank - 1][0].kind], side_names[p->boundary[rank - 1][1].kind]);
    return stencil;
}

/* Another product with the same taps. */
static stn_stencil *rescaled(const stn_stencil *stencil, dice *d) {
    stn_tap taps[729];
    size_t count = stn_stencil_tap_count(stencil);
    double factor[3][32];
    for (int i = 0; i < 96; i++) factor[i / 32][i % 32] = 0.8 + 0.2 * dice_real(d);
    memcpy(taps, stn_stencil_taps(stencil), count * sizeof *taps);
    for (size_t i = 0; i < count; i++)
        for (int axis = 0; axis < stn_stencil_rank(stencil); axis++)
            taps[i].weight *= factor[axis][taps[i].offset[axis] + 16];
    stn_stencil *other = NULL;
    stn_stencil_create(stn_stencil_rank(stencil), count, taps, &other, NULL);
    return other;
}

static void check_case(rig *r, int c, int *chains) {
    stn_problem p;
    dice d = {(uint64_t)(9000 + c)};
    char name[160];
    stn_error error = {0};
    stn_stencil *stencil = random_case(c, &p, &d, name, sizeof name),
                *other = c % 6 == 5 ? NULL : rescaled(stencil, &d);
    if (rig_make(r, &p, d.state, &error) == STN_OK && r->faces)
        *chains += stn_faces_way_of(r->faces) == STN_FACES_CHAINS;
    rig_clear(r);
    rig_check(r, &p, d.state, other, name);
    stn_stencil_destroy(other);
    stn_stencil_destroy(stencil);
}

/* The largest matrices: 32 steps of a reach of 1, in one and in both axes; 10 of 3. */
static void check_long(rig *r) {
    static const struct {
        const char *stencil;
        int steps, sides;
    } cases[] = {{"gaussian-2d:sigma=0.8,truncate=1", 32, 4}, {"gaussian-2d:sigma=0.9,truncate=3", 10, 2}};
    for (int i = 0; i < 2; i++) {
        stn_problem p = STN_PROBLEM_INIT;
        stn_stencil *stencil = NULL;
        stn_error error = {0};
        stn_stencil_parse(cases[i].stencil, &stencil, &error);
        p.stencil = stencil;
        p.steps = (uint64_t)cases[i].steps;
        p.extent[0] = 141, p.extent[1] = 150;
        for (int k = 0; k < cases[i].sides; k++) p.boundary[k / 2][k % 2].kind = STN_FIXED;
        rig_check(r, &p, 9, stencil, cases[i].stencil);
        stn_stencil_destroy(stencil);
    }
}

/* Grids hardly deeper than what a margin depends on, and less deep than its blocks of 8 rows: nothing past them is read. */
static void check_thin(rig *r) {
    static const size_t extents[][3] = {{11, 75},    {75, 11},    {75, 12},   {7, 40, 40},
                                        {40, 7, 40}, {40, 40, 7}, {40, 40, 8}};
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        stn_problem p = STN_PROBLEM_INIT;
        stn_stencil *stencil = NULL;
        stn_error error = {0};
        const int rank = extents[i][2] ? 3 : 2;
        stn_stencil_parse(rank == 3 ? "gaussian-3d:truncate=1" : "gaussian-2d:truncate=1", &stencil, &error);
        p.stencil = stencil;
        p.steps = rank == 3 ? 3 : 5;
        memcpy(p.extent, extents[i], sizeof extents[i]);
        for (int k = 0; k < 2 * rank; k++) p.boundary[k / 2][k % 2].kind = k % 2 ? STN_FIXED : STN_REFLECT;
        rig_check(r, &p, 9, stencil, rank == 3 ? "3D, thin" : "2D, thin");
        stn_stencil_destroy(stencil);
    }
}

/* Taps that reach along some axes only, all negative: the sign must not get lost with an axis that is not multiplied along. */
static void check_flat(rig *r) {
    for (int along = 1; along < 8; along++) {
        stn_problem p = STN_PROBLEM_INIT;
        stn_stencil *stencil = NULL;
        stn_tap taps[27];
        size_t count = 0;
        char name[80];
        for (int i = 0; i < 27; i++) {
            const stn_tap tap = {{i / 9 - 1, i / 3 % 3 - 1, i % 3 - 1}, 0};
            bool kept = true;
            for (int axis = 0; axis < 3; axis++) kept = kept && (along >> axis & 1 || !tap.offset[axis]);
            if (kept) taps[count++] = tap;
        }
        for (size_t i = 0; i < count; i++) taps[i].weight = -0.9 / (double)count;
        stn_stencil_create(3, count, taps, &stencil, NULL);
        p.stencil = stencil;
        p.steps = 3;
        for (int axis = 0; axis < 3; axis++) {
            p.extent[axis] = 22 + (size_t)axis;
            p.boundary[axis][0] = (stn_boundary){STN_CONSTANT, 0.7};
            p.boundary[axis][1].kind = STN_FIXED;
        }
        snprintf(name, sizeof name, "3D, negative taps along axes%s%s%s", along & 1 ? " 0" : "", along & 2 ? " 1" : "",
                 along & 4 ? " 2" : "");
        rig_check(r, &p, 9, stencil, name);
        stn_stencil_destroy(stencil);
    }
}

/* Chains are chosen where they take less, by estimate for an H200: on large grids, not where one wave of tiles does all. */
static void check_choice(void) {
    static const struct {
        const char *stencil;
        int fused;
        size_t extent[3];
        bool chains;
    } cases[] = {{"gaussian-2d:sigma=0.8,truncate=1", 32, {10240, 10240}, true},
                 {"gaussian-3d:sigma=0.8,truncate=1", 4, {512, 512, 512}, true},
                 {"gaussian-3d:sigma=0.8,truncate=1", 4, {96, 96, 96}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        stn_problem p = STN_PROBLEM_INIT;
        stn_stencil *stencil = NULL;
        stn_error error = {0};
        stn_machine machine;
        stn_task task;
        faces_tile tiles;
        stn_stencil_parse(cases[i].stencil, &stencil, &error);
        p.stencil = stencil;
        p.steps = (uint64_t)cases[i].fused;
        memcpy(p.extent, cases[i].extent, sizeof cases[i].extent);
        for (int k = 0; k < 2 * stn_stencil_rank(stencil); k++) p.boundary[k / 2][k % 2].kind = STN_FIXED;
        bool good = stn_machine_for_arch("sm_90", &machine) && stn_task_make(&p, &task, &error) == STN_OK;
        if (good) {
            good = faces_tile_choose(&task, &machine, cases[i].fused, false, &tiles) &&
                   (stn_faces_seconds(&task, &machine, cases[i].fused) < tiles.seconds) == cases[i].chains;
            stn_task_clear(&task);
        }
        rig_report(good, &(tally){0}, &error, cases[i].chains ? "chains on a large grid" : "tiles on a small one");
        stn_stencil_destroy(stencil);
    }
}

int main(int argc, char **argv) {
    bool full = argc > 1 && !strcmp(argv[1], "--full");
    rig r = {.way = STN_FACES_CHAINS};
    if (!rig_open(&r)) return rig_failed;
    int chains = 0, cases = full ? 60 : 18;
    check_choice();
    check_long(&r);
    check_thin(&r);
    check_flat(&r);
    for (int c = 0; c < cases; c++) check_case(&r, c, &chains);
    printf("# %d of %d were chains\n", chains, cases);
    rig_report(chains == cases, &(tally){0}, &(stn_error){0}, "chains serve all of these");
    return rig_close(&r);
}
