/* Draws random problems; see problem.h. */
#include "problem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "problem/task.h"

#define BATCH 3 /* the batch as an axis, after the grid's own */

static bool chance(dice *d, int percent) { return dice_int(d, 1, 100) <= percent; }

void random_problem_reach(const random_problem *r, int reach[3][2]) {
    memset(reach, 0, 6 * sizeof(int));
    for (size_t i = 0; i < r->ntaps; i++)
        for (int axis = 0; axis < 3; axis++) {
            int o = (int)r->taps[i].offset[axis];
            if (-o > reach[axis][0]) reach[axis][0] = -o;
            if (o > reach[axis][1]) reach[axis][1] = o;
        }
}

stn_stencil *random_problem_stencil(const random_problem *r) {
    stn_stencil *stencil = NULL;
    stn_stencil_create(r->rank, r->ntaps, r->taps, &stencil, NULL);
    return stencil;
}

bool random_problem_valid(const random_problem *r) {
    stn_problem p = r->problem;
    stn_stencil *stencil = random_problem_stencil(r);
    p.stencil = stencil;
    bool valid = stencil && stn_problem_validate(&p, NULL) == STN_OK;
    stn_stencil_destroy(stencil);
    return valid;
}

/* ---- extents and steps ----------------------------------------------------------------------- */

double random_problem_work(const random_problem *r) {
    double points = (double)r->problem.batch;
    for (int axis = 0; axis < r->rank; axis++) points *= (double)r->problem.extent[axis];
    return points * (double)(r->problem.steps * (r->ntaps + 8));
}

/* Extents: mostly larger than the reach of a few steps; some minimal; some very long lines; some of
 * whole blocks. */
static void draw_extents(dice *d, random_problem *r, bool large) {
    static const double side[2][4] = {{0, 900, 44, 18}, {0, 60000, 400, 60}};
    int reach[3][2];
    random_problem_reach(r, reach);
    for (int axis = 0; axis < r->rank; axis++) {
        int most = reach[axis][0] > reach[axis][1] ? reach[axis][0] : reach[axis][1],
            both = reach[axis][0] + reach[axis][1];
        int n = 2 * both + (int)(side[large][r->rank] * (0.3 + 1.4 * fabs(dice_real(d))));
        if (chance(d, 12)) n = dice_int(d, most > 1 ? most : 1, 2 * both + 4);
        /* Longer than a block's shared memory. */
        if (r->rank == 1 && !large && chance(d, 8)) n = dice_int(d, 27000, 60000);
        if (chance(d, 25)) n = (n + 7) / 8 * 8;
        r->problem.extent[axis] = (size_t)n;
    }
}

/* Draws the number of steps, uniform in its logarithm, within the limit on work. */
static void draw_steps(dice *d, random_problem *r, bool large) {
    const double most = large ? 2e8 : 3e6;
    r->problem.steps = chance(d, 15) ? 1 : (uint64_t)(2 * exp(fabs(dice_real(d)) * log(large ? 24 : 10)));
    while (random_problem_work(r) > most) {
        int longest = 0;
        for (int axis = 1; axis < r->rank; axis++)
            if (r->problem.extent[axis] > r->problem.extent[longest]) longest = axis;
        if (r->problem.batch > 1)
            r->problem.batch--;
        else if (r->problem.steps > 3)
            r->problem.steps--;
        else if (r->problem.extent[longest] > 80)
            r->problem.extent[longest] = r->problem.extent[longest] * 3 / 4;
        else
            return;
    }
}

/* ---- boundaries ------------------------------------------------------------------------------ */

static void draw_boundaries(dice *d, random_problem *r) {
    static const double values[] = {0.7, -1.3, 0, 2};
    int kind = dice_int(d, 0, 9), same = dice_int(d, 1, 5);
    for (int axis = 0; axis < r->rank; axis++) {
        bool wraps = kind < 2 || chance(d, 15);
        for (int side = 0; side < 2; side++) {
            stn_boundary *b = &r->problem.boundary[axis][side];
            b->kind = (stn_boundary_kind)(wraps ? 0 : kind < 5 ? same : dice_int(d, 1, 5));
            b->value = b->kind == STN_CONSTANT ? values[dice_int(d, 0, 3)] : 0;
        }
    }
}

/* ---- layouts --------------------------------------------------------------------------------- */

/* Strides of the axes and the batch, from the fastest on, with padding between them. */
static void draw_strides(dice *d, const random_problem *r, ptrdiff_t stride[3], ptrdiff_t *batch) {
    int order[4], axes = r->rank, kind = dice_int(d, 0, 9);
    ptrdiff_t next = kind == 9 ? dice_int(d, 2, 3) : 1;
    for (int i = 0; i < axes; i++) order[i] = axes - 1 - i;
    order[axes] = BATCH;
    for (int i = axes; i > 0 && kind >= 7 && kind < 9; i--) { /* shuffles the axes */
        int j = dice_int(d, 0, i), swapped = order[i];
        order[i] = order[j], order[j] = swapped;
    }
    for (int i = 0; i <= axes; i++) {
        int axis = order[i];
        ptrdiff_t n = (ptrdiff_t)(axis == BATCH ? r->problem.batch : r->problem.extent[axis]);
        *(axis == BATCH ? batch : &stride[axis]) = next;
        next = next * n + (chance(d, 50) ? dice_int(d, 1, 9) : 0);
        if (chance(d, 30)) next = (next + 7) / 8 * 8;
    }
}

static void draw_layout(dice *d, random_problem *r) {
    stn_problem *p = &r->problem;
    p->in_place = chance(d, 20);
    if (chance(d, 40)) draw_strides(d, r, p->in_stride, &p->in_batch_stride);
    if (chance(d, 40)) draw_strides(d, r, p->out_stride, &p->out_batch_stride);
    if (p->in_place) {
        memcpy(p->out_stride, p->in_stride, sizeof p->in_stride);
        p->out_batch_stride = p->in_batch_stride;
    }
    int size = (int)stn_dtype_size(p->dtype);
    p->alignment = chance(d, 60) ? 0 : size << dice_int(d, 0, 4);
    r->offset = (p->alignment ? p->alignment : 16) / size * dice_int(d, 0, 3);
}

/* Draws a stack of snapshots, a constant source. */
static void draw_more(dice *d, random_problem *r, bool large) {
    stn_problem *p = &r->problem;
    const uint64_t parts = (uint64_t)dice_int(d, 2, 4);
    const bool stack = chance(d, 20) && !p->in_place && p->steps >= parts, apart = chance(d, 50);
    const int gap = dice_int(d, 1, 40);
    p->has_source = chance(d, 20);
    if (p->has_source && chance(d, 50)) { /* computing all steps at once pays for many steps */
        const double left = (large ? 1e9 : 6e6) / random_problem_work(r);
        if (left > 1) p->steps = (uint64_t)fmin(200, (double)p->steps * (1 + (left - 1) * fabs(dice_real(d))));
    }
    if (!stack) return;
    p->steps -= p->steps % parts;
    p->every = p->steps / parts;
    stn_task task;
    stn_stencil *stencil = random_problem_stencil(r);
    p->stencil = stencil;
    if (apart && stn_task_make(p, &task, NULL) == STN_OK) {
        p->snapshot_stride = (ptrdiff_t)task.snapshot_stride + gap;
        stn_task_clear(&task);
    }
    p->stencil = NULL;
    stn_stencil_destroy(stencil);
}

static void draw_type(dice *d, stn_problem *p) {
    static const double allowed[3][2] = {{1e-9, 1e-6}, {5e-4, 1e-3}, {1e-3, 1e-2}};
    p->dtype = (stn_dtype)(chance(d, 50) ? STN_F64 : dice_int(d, STN_F32, STN_F16));
    p->tolerance = chance(d, 65) ? 0 : allowed[p->dtype][dice_int(d, 0, 1)];
}

void random_problem_lengthen(dice *d, random_problem *r, bool large) {
    const double left = (large ? 1e9 : 3e6) / random_problem_work(r);
    const uint64_t parts = r->problem.every ? r->problem.steps / r->problem.every : 1;
    if (left < 1 || !chance(d, 40)) return;
    r->problem.steps = (uint64_t)fmin(4096, (double)r->problem.steps * exp(dice_positive(d) * log(left)));
    r->problem.steps -= r->problem.steps % parts;
    if (r->problem.every) r->problem.every = r->problem.steps / parts;
}

void random_problem_tighten(dice *d, random_problem *r) {
    random_problem tight = *r;
    int reach[3][2];
    random_problem_reach(r, reach);
    for (int axis = 0; axis < r->rank; axis++) {
        const int most = reach[axis][0] > reach[axis][1] ? reach[axis][0] : reach[axis][1];
        const size_t n = (size_t)(most + dice_int(d, most == 0, 2));
        if (n < r->problem.extent[axis]) tight.problem.extent[axis] = n;
    }
    if (chance(d, 15) && random_problem_valid(&tight)) *r = tight;
}

void random_problem_draw(uint64_t seed, uint64_t index, bool large, bool wild, random_problem *r) {
    dice first = {seed}, d = {dice_next(&first) + index};
    d.state = dice_next(&d);
    do {
        memset(r, 0, sizeof *r);
        r->problem = (stn_problem)STN_PROBLEM_INIT;
        int rank = dice_int(&d, 0, 9);
        r->rank = rank < 2 ? 1 : rank < 5 ? 2 : 3;
        random_taps_draw(&d, r, large);
        if (wild) random_wild_taps(&d, r);
        r->problem.batch = chance(&d, 70) ? 1 : (size_t)dice_int(&d, 2, 4);
        draw_extents(&d, r, large);
        if (wild) random_wild_extents(&d, r);
        draw_steps(&d, r, large);
        if (wild) random_wild_steps(&d, r, large);
        draw_boundaries(&d, r);
        draw_type(&d, &r->problem);
        if (wild) random_wild_type(&d, &r->problem);
        draw_layout(&d, r);
        r->new_weights = chance(&d, 25);
        r->positive = chance(&d, 50);
        r->data = dice_next(&d) % 1000000;
        draw_more(&d, r, large);
        if (wild) random_wild_numbers(&d, r);
    } while (!random_problem_valid(r));
}
