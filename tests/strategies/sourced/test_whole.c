/* A constant source with all steps at once: the state by the cheapest strategy, the source's sum
 * over the steps by spectral's sum of the symbol's powers. Compared with the host at every point:
 * sides that mirror or wrap, odd and prime extents, up to 200 steps, symbols with values 1 and -1,
 * strides, batches, in place, snapshots, new weights. On a GPU or the emulator. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../random/trial.h"
#include "../suite.h"
#include "modes.h"

enum { WIDTH = 5 };

static bool chance(dice *d, int percent) { return dice_int(d, 1, 100) <= percent; }

/* Weights along an axis with reach r, whose magnitudes sum to 1; symmetric or arbitrary. */
static void draw_line(dice *d, int r, bool symmetric, double line[WIDTH]) {
    /* 0, 1: of one sign, 2: of both, 3: no middle tap, so that K reaches -1. */
    const int kind = dice_int(d, 0, 3);
    double sum = 0;
    for (int i = 0; i < WIDTH; i++) {
        const int o = i - WIDTH / 2;
        double weight = 0.1 + fabs(dice_real(d));
        if (kind == 2) weight = dice_real(d);
        if ((kind == 3 && o == 0 && r > 0) || o < -r || o > r) weight = 0;
        line[i] = symmetric && o > 0 ? line[WIDTH - 1 - i] : weight;
    }
    for (int i = 0; i < WIDTH; i++) sum += fabs(line[i]);
    for (int i = 0; i < WIDTH; i++) line[i] /= sum;
}

/* Separable taps, or a star (the mean of the factors); magnitudes sum to 1 or a little less. */
static void draw_taps(dice *d, random_problem *r, const int reach[3], bool symmetric) {
    double line[3][WIDTH];
    const bool star = chance(d, 50);
    const double all = chance(d, 70) ? 1 : 0.97;
    for (int axis = 0; axis < r->rank; axis++) draw_line(d, reach[axis], symmetric, line[axis]);
    int count = 1;
    for (int axis = 0; axis < r->rank; axis++) count *= WIDTH;
    for (int i = 0; i < count; i++) {
        stn_tap tap = {{0}, star ? 0 : all};
        int rest = i, away = 0;
        for (int axis = 0; axis < r->rank; axis++, rest /= WIDTH) tap.offset[axis] = rest % WIDTH - WIDTH / 2;
        for (int axis = 0; axis < r->rank; axis++) away += tap.offset[axis] != 0;
        for (int axis = 0; axis < r->rank; axis++) {
            const double weight = line[axis][tap.offset[axis] + WIDTH / 2];
            if (!star) tap.weight *= weight;
            if (star && (away == 0 || (away == 1 && tap.offset[axis]))) tap.weight += all * weight / r->rank;
        }
        if (tap.weight != 0) r->taps[r->ntaps++] = tap;
    }
}

static void draw_sides(dice *d, random_problem *r, int reach[3], bool wraps) {
    static const stn_boundary_kind kinds[] = {STN_REFLECT, STN_MIRROR, STN_FIXED, STN_CONSTANT, STN_NEAREST};
    for (int axis = 0; axis < r->rank; axis++) {
        const bool wrap = wraps || chance(d, 20);
        reach[axis] = dice_int(d, 1, 2);
        for (int side = 0; side < 2 && !wrap; side++) {
            stn_boundary *b = &r->problem.boundary[axis][side];
            b->kind = kinds[dice_int(d, 0, 4)];
            if (b->kind == STN_CONSTANT) b->value = chance(d, 70) ? -0.7 : 0;
            if (b->kind != STN_REFLECT && b->kind != STN_MIRROR) reach[axis] = 1;
        }
    }
}

/* Draws padding between rows, planes and grids. */
static void draw_layout(dice *d, stn_problem *p, int rank) {
    p->in_place = chance(d, 25);
    ptrdiff_t in = 1, out = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        p->in_stride[axis] = in, p->out_stride[axis] = p->in_place ? in : out;
        in = in * (ptrdiff_t)p->extent[axis] + dice_int(d, 0, 5),
        out = out * (ptrdiff_t)p->extent[axis] + dice_int(d, 0, 5);
    }
    p->in_batch_stride = in, p->out_batch_stride = p->in_place ? in : out;
}

static void draw(uint64_t seed, int rank, bool large, random_problem *r) {
    static const int primes[] = {5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53, 59, 61, 67, 71, 73, 79, 83, 89};
    dice d = {seed * 7919 + (uint64_t)rank};
    do {
        memset(r, 0, sizeof *r);
        stn_problem *p = &r->problem;
        *p = (stn_problem)STN_PROBLEM_INIT;
        int reach[3];
        const bool wraps = chance(&d, 30);
        r->rank = rank;
        draw_sides(&d, r, reach, wraps);
        draw_taps(&d, r, reach, !wraps || chance(&d, 50));
        const int most = rank == 1 ? 600 : rank == 2 ? (large ? 300 : 60) : large ? 60 : 16;
        for (int axis = 0; axis < rank; axis++) {
            const bool prime = chance(&d, 40);
            p->extent[axis] = (size_t)(prime ? primes[dice_int(&d, 0, rank == 3 ? 5 : 21)] : dice_int(&d, 4, most));
        }
        p->steps = (uint64_t)round(exp(log(2) + fabs(dice_real(&d)) * log(100)));
        p->dtype = (stn_dtype)dice_int(&d, 0, 2);
        p->batch = chance(&d, 70) ? 1 : (size_t)dice_int(&d, 2, 3);
        p->has_source = 1;
        if (chance(&d, 50)) draw_layout(&d, p, rank);
        if (chance(&d, 50)) p->alignment = (int)stn_dtype_size(p->dtype);
        if (chance(&d, 15) && !p->in_place && p->steps % 2 == 0 && p->dtype != STN_F16) p->every = p->steps / 2;
        r->offset = p->alignment ? dice_int(&d, 0, 3) : 0;
        r->new_weights = chance(&d, 15);
        r->positive = chance(&d, 50), r->data = dice_next(&d) % 1000000;
    } while (!random_problem_valid(r));
}

/* A plan may have no such candidate because its predicted error exceeds the bound, for example if
 * the result is small in f16. */
static void cases(suite *s, int rank, int count) {
    static random_problem r;
    const random_bench bench = {s->context, s->pool, s->full};
    int offered = 0;
    for (int i = 0; i < count; i++) {
        random_outcome o;
        char what[200], detail[1200];
        draw((uint64_t)i + 1, rank, s->full, &r);
        stn_problem p = r.problem;
        stn_stencil *stencil = random_problem_stencil(&r);
        p.stencil = stencil;
        const int pick = suite_candidate(s, &p, "sourced", "all steps at once");
        stn_stencil_destroy(stencil);
        random_trial(&bench, &r, "sourced", pick, &o);
        if (o.verdict != RANDOM_RIGHT && strstr(o.c.error.message, "there is no candidate")) continue;
        offered++;
        const bool good =
            /* No plan for the other weights. */
            o.verdict == RANDOM_RIGHT || (o.verdict == RANDOM_REFUSED && r.new_weights);
        snprintf(what, sizeof what, "whole: %dD case %d, %s, %llu steps, %zu taps", rank, i,
                 stn_dtype_name(r.problem.dtype), (unsigned long long)r.problem.steps, r.ntaps);
        suite_detail(&o.c, detail, sizeof detail);
        if (o.verdict == RANDOM_RIGHT) s->worst = fmax(s->worst, o.c.relative_l2 / o.c.bar);
        suite_report(s, good, what, detail);
        if (!good) random_problem_print(&r, "sourced", pick);
    }
    suite_report(s, offered >= count - 1 - count / 20, "whole: hardly any is not offered", NULL);
}

/* Modes that grow by 10^21 and a constant mode, whose 1 - K is the rounding error of the weights'
 * sum. */
static void growing(suite *s) {
    static random_problem r;
    const random_bench bench = {s->context, s->pool, s->full};
    random_outcome o;
    char detail[1200];
    for (int plane = 0; plane < 2; plane++) {
        r = (random_problem){.problem = STN_PROBLEM_INIT, .rank = 1 + plane, .positive = true, .data = 5};
        const double near = 0.0125 / (1 + plane);
        r.taps[r.ntaps++] = (stn_tap){{0}, 1.025 + 2 * 0x1p-52};
        for (int axis = 0; axis <= plane; axis++)
            for (int way = -1; way <= 1; way += 2) {
                r.taps[r.ntaps].offset[axis] = way;
                r.taps[r.ntaps++].weight = -near;
            }
        r.problem.steps = 1000, r.problem.has_source = 1;
        r.problem.extent[0] = plane ? 20 : 64, r.problem.extent[1] = plane ? 24 : 0;
        stn_problem p = r.problem;
        stn_stencil *stencil = random_problem_stencil(&r);
        p.stencil = stencil;
        random_trial(&bench, &r, "sourced", suite_candidate(s, &p, "sourced", "all steps at once"), &o);
        stn_stencil_destroy(stencil);
        suite_detail(&o.c, detail, sizeof detail);
        suite_report(s, o.verdict == RANDOM_RIGHT, plane ? "growing: 2D" : "growing: 1D", detail);
    }
}

static void lines(suite *s) { cases(s, 1, s->full ? 150 : 18); }
static void planes(suite *s) { cases(s, 2, s->full ? 250 : 30); }
static void volumes(suite *s) { cases(s, 3, s->full ? 150 : 18); }

int main(int argc, char **argv) {
    static const suite_part parts[] = {
        {"lines", lines}, {"planes", planes}, {"volumes", volumes}, {"modes", modes}, {"growing", growing}};
    return suite_main(argc, argv, parts, sizeof parts / sizeof *parts);
}
