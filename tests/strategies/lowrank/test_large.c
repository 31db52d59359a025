/* lowrank on numbers that random problems seldom have. In f16 near the largest representable one,
 * 65504: intermediate values between the two products do not exceed the grid's own range; weights
 * that cancel; a NaN. Against the host, on any device. Prints TAP. Usage: test_large [--full]
 * [--only PART]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../suite.h"
#include "plan/strategy.h"
#include "structure.h"

#define LARGE 64000.0 /* rounding keeps intermediate values below 65504 */
#define BAR 2e-3

/* All numbers have one sign, so sums are as large as the weights allow. */
static void check(suite *s, const char *what, const stn_stencil *stencil, const size_t extent[3], uint64_t steps) {
    const int rank = stn_stencil_rank(stencil);
    stn_problem p = STN_PROBLEM_INIT;
    stn_plan *plan = NULL;
    size_t count = 1;
    dice d = {steps};
    p.stencil = stencil, p.dtype = STN_F16, p.steps = steps;
    for (int axis = 0; axis < rank; axis++) count *= p.extent[axis] = extent[axis];
    double *values = malloc(count * sizeof *values), error_size = INFINITY;
    for (size_t i = 0; i < count; i++) values[i] = LARGE * (0.99 + 0.01 * dice_real(&d));
    comparison c = {0};
    /* Excludes passes along the axes, often the cheapest for separable taps. */
    bool fused = false;
    for (int pick = 0; pick < STN_CANDIDATES && !fused; pick++) {
        stn_plan_destroy(plan);
        plan = NULL;
        if (compare_plan(s->context, &p, "lowrank", pick, &plan, &c) != STN_OK) break;
        fused = !strstr(c.parameters, "lowrank_axis");
    }
    if (fused) error_size = compare_plan_with_host(s->context, plan, &p, values, count);
    char detail[sizeof c.parameters + sizeof c.error.message + 80];
    snprintf(detail, sizeof detail, "error %.3g, bar %.3g; %s; %s", error_size, BAR, c.parameters,
             c.error.status ? c.error.message : "no error");
    suite_report(s, error_size <= BAR, what, detail);
    stn_plan_destroy(plan);
    free(values);
}

static void plane(suite *s) {
    static const structure kinds[] = {SEPARABLE, UNIFORM, EVEN_RANK_TWO};
    const size_t extent[3] = {45, 72};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int side = 3; side <= 7; side += 2)
            for (uint64_t steps = 1; steps <= 3; steps += 2) {
                if (!s->full && (k + (size_t)side / 2 + steps) % 2) continue;
                dice d = {(uint64_t)side};
                double w[49];
                size_t size[2] = {(size_t)side, (size_t)side};
                stn_stencil *stencil = NULL;
                char what[120];
                fill_weights(&d, kinds[k], side, w);
                stn_stencil_create_dense(2, size, w, &stencil, NULL);
                snprintf(what, sizeof what, "2D %s, %d x %d, %d steps", structure_names[kinds[k]], side, side,
                         (int)steps);
                check(s, what, stencil, extent, steps);
                stn_stencil_destroy(stencil);
            }
}

/* Constant along one axis and a peak along the other: factors of the same norm whose weights sum to
 * more than 1 on one side and to less on the other. */
static void peaks(suite *s) {
    enum { SIDE = 7 };
    const size_t extent[3] = {45, 72}, size[2] = {SIDE, SIDE};
    for (int axis = 0; axis < 2; axis++) {
        double w[SIDE * SIDE];
        for (int i = 0; i < SIDE * SIDE; i++) {
            int at = (axis ? i % SIDE : i / SIDE) - SIDE / 2;
            w[i] = (at ? 0.1 / (SIDE - 1) : 0.9) / SIDE;
        }
        stn_stencil *stencil = NULL;
        stn_stencil_create_dense(2, size, w, &stencil, NULL);
        check(s, axis ? "2D a peak along x" : "2D a peak along y", stencil, extent, 1);
        stn_stencil_destroy(stencil);
    }
}

static void volume(suite *s) {
    static const char *const names[] = {"gaussian-3d:sigma=0.8,truncate=2", "box-3d27p", "gaussian-3d:sigma=1.3"};
    const size_t extent[3] = {19, 24, 40};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        stn_stencil *stencil = NULL;
        char what[120];
        snprintf(what, sizeof what, "3D %s", names[k]);
        if (stn_stencil_parse(names[k], &stencil, NULL) == STN_OK)
            check(s, what, stencil, extent, 1);
        else
            suite_report(s, false, what, "no such stencil");
        stn_stencil_destroy(stencil);
    }
}

/* Weights along y that cancel except one, with a large mean: the rounding of f16 between the passes
 * is large relative to the result, and the plan predicts it. */
static void cancelled(suite *s) {
    enum { REACH = 16, SIDE = 2 * REACH + 1 };
    stn_tap taps[SIDE * SIDE];
    for (int i = 0; i < SIDE * SIDE; i++) {
        int y = i / SIDE, x = i % SIDE;
        taps[i] = (stn_tap){{y - REACH, x - REACH, 0}, (y % 2 ? -1.0 : 1.0) / SIDE / SIDE};
    }
    stn_stencil *stencil = NULL;
    stn_stencil_create(2, SIDE * SIDE, taps, &stencil, NULL);
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil;
    p.steps = 1;
    p.extent[0] = 20, p.extent[1] = 40;
    for (int i = 0; i < 4; i++) p.boundary[i / 2][i % 2] = (stn_boundary){STN_CONSTANT, 1.3};
    p.dtype = STN_F16;
    comparison c;
    compare_with_host(s->context, s->pool, &p, "lowrank", true, 3, &c);
    const bool told = c.predicted > c.bar;
    char detail[1200];
    snprintf(detail, sizeof detail, "predicted %.3g, bound %.3g, relative L2 %.3g", c.predicted, c.bar, c.relative_l2);
    suite_report(s, told, "the plan says whether it exceeds the bound", detail);
    stn_stencil_destroy(stencil);
}

/* A band's zeros multiply values past a side. */
static void nan_near_a_side(suite *s) {
    dice d = {17};
    for (int rank = 2; rank <= 3; rank++)
        for (int high = 0; high < 2; high++) {
            stn_stencil *stencil = random_stencil(&d, rank, TAPS_BOX, 1);
            stn_problem p = grid_problem(stencil, rank == 2 ? (int[]){30, 160} : (int[]){20, 30, 160}, STN_F64, 4);
            for (int i = 0; i < 2 * rank; i++) p.boundary[i / 2][i % 2].kind = STN_FIXED;
            suite_report(s, nan_reaches(s->context, &p, "lowrank", high ? 157 : 3) < 64, "a NaN stays near its side",
                         NULL);
            stn_stencil_destroy(stencil);
        }
}

int main(int argc, char **argv) {
    static const suite_part parts[] = {
        {"flat", plane}, {"peaks", peaks}, {"solid", volume}, {"cancelled", cancelled}, {"nan", nan_near_a_side}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
