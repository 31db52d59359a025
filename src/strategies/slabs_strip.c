/* See slabs_strip.h. */
#include "strategies/slabs_strip.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "strategies/direct_shape.h"
#include "strategies/slabs.h"

bool strip_has_face(const stn_task *task, int axis, int side) {
    return task->reach[axis][side] > 0 && task->boundary[axis][side].kind != STN_WRAP;
}

bool stn_slabs_interior(const stn_task *task, int fused, int64_t low[3], int64_t high[3]) {
    bool any = true;
    for (int axis = 0; axis < 3; axis++) {
        int64_t n = task->n[axis];
        low[axis] = strip_has_face(task, axis, 0) ? stn_min(n, (int64_t)fused * task->reach[axis][0]) : 0;
        high[axis] = strip_has_face(task, axis, 1) ? stn_max(low[axis], n - (int64_t)fused * task->reach[axis][1]) : n;
        any = any && low[axis] < high[axis];
    }
    return any;
}

bool strip_is_whole(const stn_task *task, const strip *s) { return s->depth[0] + s->depth[1] == task->n[s->axis]; }

static void swap(int64_t *a, int64_t *b) {
    int64_t was = *a;
    *a = *b, *b = was;
}

/* Past two constant sides at a corner the slower axis decides, so the axes cannot change places if that matters. */
static bool may_turn(const stn_task *task) {
    const stn_boundary *known = NULL;
    for (int i = 0; i < 4; i++) {
        const stn_boundary *side = &task->boundary[1 + i / 2][i % 2];
        if (side->kind != STN_CONSTANT) continue;
        if (known && known->value != side->value) return false;
        known = side;
    }
    return task->rank == 2;
}

static stn_grid_layout strip_layout(const stn_task *task, const strip *s) {
    int64_t extent[3] = {task->n[0], task->n[1], task->n[2]};
    extent[s->axis] = s->depth[0] + s->depth[1];
    if (s->turned) swap(&extent[1], &extent[2]);
    stn_grid_layout layout = stn_packed_layout(extent, task->dtype);
    if (s->turned) swap(&layout.stride[1], &layout.stride[2]);
    return layout;
}

size_t strips_find(const stn_task *task, int fused, strip strips[3]) {
    size_t count = 0;
    for (int axis = 0; axis < 3; axis++) {
        bool low = strip_has_face(task, axis, 0), high = strip_has_face(task, axis, 1);
        if (!low && !high) continue;
        int64_t n = task->n[axis], depth = (int64_t)fused * (task->reach[axis][0] + task->reach[axis][1]);
        strip s = {.axis = axis, .depth = {low ? depth : 0, high ? depth : 0}};
        bool whole = s.depth[0] + s.depth[1] >= n;
        if (whole) s.depth[0] = n, s.depth[1] = 0;
        s.turned = !whole && axis == 1 && may_turn(task);
        s.layout = strip_layout(task, &s);
        if (whole) count = 0;
        strips[count++] = s;
        if (whole) break;
    }
    return count;
}

static int by_offset(const void *a, const void *b) {
    const int64_t *x = ((const stn_tap *)a)->offset, *y = ((const stn_tap *)b)->offset;
    for (int k = 0; k < 3; k++)
        if (x[k] != y[k]) return x[k] < y[k] ? -1 : 1;
    return 0;
}

void strip_taps(const stn_task *task, const strip *s, stn_tap *taps) {
    memcpy(taps, task->taps, task->ntaps * sizeof *taps);
    if (!s->turned) return;
    for (size_t k = 0; k < task->ntaps; k++) swap(&taps[k].offset[1], &taps[k].offset[2]);
    qsort(taps, task->ntaps, sizeof *taps, by_offset);
}

static void turn(stn_task *task) {
    swap(&task->n[1], &task->n[2]);
    for (int side = 0; side < 2; side++) {
        stn_boundary boundary = task->boundary[1][side];
        int reach = task->reach[1][side];
        task->boundary[1][side] = task->boundary[2][side], task->boundary[2][side] = boundary;
        task->reach[1][side] = task->reach[2][side], task->reach[2][side] = reach;
    }
}

stn_task strip_task(const stn_task *task, int fused, const strip *s, stn_tap *taps) {
    stn_task own = *task;
    own.taps = taps;
    strip_taps(task, s, taps);
    own.n[s->axis] = s->depth[0] + s->depth[1];
    stn_grid_layout layout = s->layout;
    if (s->turned) {
        turn(&own);
        swap(&layout.stride[1], &layout.stride[2]);
    }
    memcpy(own.in_stride, layout.stride, sizeof own.in_stride);
    memcpy(own.out_stride, layout.stride, sizeof own.out_stride);
    own.in_batch_stride = own.out_batch_stride = layout.batch;
    own.steps = (uint64_t)fused;
    own.in_place = false;
    own.alignment = 16;
    return own;
}

/* ---- cost ------------------------------------------------------------------------------------------------------ */

/* What a strip's launches keep busy, which is the interior's loss: its arithmetic or its traffic, several times over, as rows
 * are short and a strip's blocks take registers from the interior's. As measured on an H200 in 2D and 3D. */
static double busy_seconds(const stn_machine *machine, const stn_estimate *e) {
    return 2.7 * fmax(2 * e->flops / machine->flops[e->unit], e->bytes / machine->copy_bandwidth);
}

/* A walk of few warps goes by what one row takes from memory to memory, not by what a full machine does at a time: on an
 * H200 some 0.1 us a stage, and more with more taps. */
static double strip_seconds(const stn_task *task, const direct_shape *shape, const stn_estimate *e, bool walks) {
    if (!walks) return 3 * e->seconds;
    int axis = direct_axis(task, shape, 0), reach = task->reach[axis][0] + task->reach[axis][1];
    double rows = (double)stn_min(shape->chunk, task->n[axis]) + (double)shape->fused * reach;
    double row = 1e-7 + shape->fused * (1.3e-7 + 6e-9 * (double)task->ntaps);
    return fmax(3 * e->seconds, e->launches * (rows * row * (task->rank == 3 ? 2 : 1) + 4e-6));
}

/* What sticks out of an interior beside which the strip runs half as fast. */
static double seconds_beyond(double seconds, double interior) { return 2 * seconds - interior; }

/* Alone, a walk is best cut into many short ones, that all multiprocessors have work; beside an interior into fewer, that
 * repeat fewer rows, as long as they end before it does. */
bool strip_choose(const stn_task *task, const stn_machine *machine, double interior, stn_candidate *best,
                  stn_estimate *estimate) {
    stn_candidate list[16];
    double least = INFINITY;
    size_t count = stn_strategy_direct.candidates(task, machine, list, 16);
    for (size_t i = 0; i < count; i++) {
        direct_shape shape;
        memcpy(&shape, list[i].values, sizeof shape);
        bool walks = shape.fused > 1 && shape.kernel != DIRECT_TIME_LINE; /* then the chunk is an argument */
        int64_t longest = walks ? task->n[direct_axis(task, &shape, 0)] : 0, chunk = shape.chunk;
        do {
            shape.chunk = (int)chunk;
            memcpy(list[i].values, &shape, sizeof shape);
            stn_estimate e;
            stn_strategy_direct.estimate(task, machine, &list[i], &e);
            e.seconds = strip_seconds(task, &shape, &e, walks);
            double seconds = fmax(busy_seconds(machine, &e), seconds_beyond(e.seconds, interior));
            if (seconds < least) least = seconds, *best = list[i], *estimate = e;
            chunk *= 2;
        } while (walks && chunk <= longest);
    }
    return least < INFINITY;
}

double stn_slabs_seconds(const stn_task *task, const stn_machine *machine, int fused, double interior) {
    strip strips[3];
    size_t count = strips_find(task, fused, strips);
    stn_tap *taps = count ? malloc(task->ntaps * sizeof *taps) : NULL;
    double busy = 0, beyond = 0, points = 0;
    for (size_t i = 0; i < count && taps; i++) {
        stn_task own = strip_task(task, fused, &strips[i], taps);
        stn_candidate best;
        stn_estimate e = {0};
        if (!strip_choose(&own, machine, interior, &best, &e)) {
            busy = INFINITY;
            break;
        }
        busy += busy_seconds(machine, &e);
        beyond = fmax(beyond, seconds_beyond(e.seconds, interior));
        points += (double)stn_task_points(&own);
    }
    free(taps);
    if (!count) return 0;
    double copied = points * (double)stn_dtype_size(task->dtype) / machine->copy_bandwidth; /* half of the points */
    return fmax(busy, beyond) + copied + 2 * machine->launch_seconds;
}
