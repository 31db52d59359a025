/* One filter of arrays whose rows are short. Rows are computed one by one, so that short ones take
 * long. Axes of one point can stand anywhere, and are moved first. If the last axis is still short,
 * the array is copied as doubles, with its longest axis last, and the result is copied back.
 *
 * The terms of a sum keep their order, so that results do not depend on the order of the axes. */
#include "host/short_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "host/stencil_kernels.h"
#include "host/stencil_run.h"
#include "host/stencil_step.h"

/* Points of a row below which it is short: if taps reach along it or numbers are converted, and
 * otherwise. */
#define SHORT_ROW 64
#define SHORT_JOINED_ROW 16   /* several of these rows are computed as one */
#define MOST_POINTS (1 << 20) /* points of an array that is copied */

/* The batch and the axes of a task, in their order in memory. */
typedef struct axis {
    int64_t points;
    int number; /* of the task's axis; -1: the batch */
} axis;

static bool has_reach(const stn_task *task, axis each) {
    return each.number >= 0 && (task->reach[each.number][0] || task->reach[each.number][1]);
}

static bool is_dense(const stn_task *task, const int64_t stride[3], int64_t batch_stride) {
    const int64_t *n = task->n;
    return stride[2] == 1 && stride[1] == n[2] && stride[0] == n[1] * n[2] &&
           (task->batch == 1 || batch_stride == n[0] * n[1] * n[2]);
}

/* Whether axes may be reordered: the constant in a corner does not depend on which axis is
 * slower. */
static bool has_one_constant(const stn_task *task) {
    const double *constant = NULL;
    int axes = 0;
    bool same = true;
    for (int a = 0; a < 3; a++) {
        axes += has_reach(task, (axis){.number = a});
        for (int side = 0; side < 2; side++)
            if (task->reach[a][side] && task->boundary[a][side].kind == STN_CONSTANT) {
                const double *value = &task->boundary[a][side].value;
                if (!constant) constant = value;
                same = same && *constant == *value && !signbit(*constant) == !signbit(*value);
            }
    }
    return axes < 2 || same;
}

/* The batch and the axes in their new order, of which the first is the batch. */
static void find_order(const stn_task *task, axis order[4]) {
    const axis given[4] = {{task->batch, -1}, {task->n[0], 0}, {task->n[1], 1}, {task->n[2], 2}};
    int first = 0, used = 1;
    for (int i = 3; i >= 0; i--)
        if (given[i].points == 1 && !has_reach(task, given[i])) first = i;
    order[0] = given[first];
    for (int is_long = 0; is_long < 2; is_long++)
        for (int i = 0; i < 4; i++)
            if (i != first && (given[i].points > 1) == is_long) order[used++] = given[i];
}

/* Gives the task's axes another order. All arrays are dense in this order. */
static void reorder(stn_task *task, const axis order[4]) {
    const stn_task old = *task;
    int64_t stride = 1;
    for (int a = 2; a >= 0; a--) {
        const axis each = order[a + 1];
        const stn_boundary periodic[2] = {{.kind = STN_WRAP}, {.kind = STN_WRAP}};
        task->n[a] = each.points;
        task->in_stride[a] = task->out_stride[a] = stride;
        stride *= each.points;
        memcpy(task->boundary[a], each.number < 0 ? periodic : old.boundary[each.number], sizeof periodic);
        for (int side = 0; side < 2; side++) task->reach[a][side] = each.number < 0 ? 0 : old.reach[each.number][side];
    }
    task->rank = 3;
    task->batch = order[0].points;
    task->in_batch_stride = task->out_batch_stride = stride;
    for (size_t k = 0; k < task->ntaps; k++) {
        const stn_tap tap = task->taps[k];
        for (int a = 0; a < 3; a++) {
            const int number = order[a + 1].number;
            task->taps[k].offset[a] = number < 0 ? 0 : tap.offset[number];
        }
    }
}

/* Runs the task on a copy with axis order[longest] last. */
static stn_status run_copied(stn_task *task, axis order[4], int longest, stn_pool *pool, const void *in, void *out,
                             stn_error *error) {
    const stn_kernels *kernels = stn_kernels_best();
    const stn_element from = stn_task_element(task, false), to = stn_task_element(task, true);
    const axis last = order[longest];
    int64_t outer = 1, inner = 1;
    for (int a = 0; a < 4; a++) *(a < longest ? &outer : &inner) *= a == longest ? 1 : order[a].points;
    const int64_t block = inner * last.points, count = outer * block;
    double *numbers = malloc(2 * (size_t)count * sizeof *numbers), *copy = numbers + count;
    if (!numbers) return stn_fail_memory(error, "the copy of an array", 2 * (size_t)count * sizeof *numbers);
    for (int a = 0; a < 3; a++)
        for (int side = 0; side < 2; side++) task->boundary[a][side].value = stn_step_constant(task, a, -1 - side);
    for (int a = longest; a < 3; a++) order[a] = order[a + 1];
    order[3] = last;
    reorder(task, order);
    task->dtype = STN_F64;
    task->in_element = task->out_element = STN_ELEMENT_DTYPE;
    kernels->load[from](numbers, in, (size_t)count);
    for (int64_t i = 0; i < count; i += block)
        kernels->transpose[1](numbers + i, inner, last.points, inner, copy + i, last.points);
    stn_host_run(task, pool, copy, numbers, NULL);
    for (int64_t i = 0; i < count; i += block)
        kernels->transpose[1](numbers + i, last.points, inner, last.points, copy + i, inner);
    kernels->store[to](out, copy, (size_t)count);
    free(numbers);
    return STN_OK;
}

stn_status stn_host_filter(stn_task *task, stn_pool *pool, const void *in, void *out, stn_error *error) {
    axis order[4];
    find_order(task, order);
    const bool converts = stn_task_converts(task) && stn_task_element(task, false) != STN_ELEMENT_U8;
    const int64_t least = converts || has_reach(task, order[3]) ? SHORT_ROW : SHORT_JOINED_ROW;
    if (task->n[2] < least && has_one_constant(task) && is_dense(task, task->in_stride, task->in_batch_stride) &&
        is_dense(task, task->out_stride, task->out_batch_stride)) {
        int longest = 3;
        int64_t count = order[0].points;
        bool fixed = false;
        for (int a = 0; a < 3; a++) {
            count *= order[a + 1].points;
            if (order[a + 1].points > order[longest].points) longest = a + 1;
            fixed = fixed || task->boundary[a][0].kind == STN_FIXED || task->boundary[a][1].kind == STN_FIXED;
        }
        if (order[3].points < least && order[longest].points > order[3].points && count <= MOST_POINTS && !fixed)
            return run_copied(task, order, longest, pool, in, out, error);
        reorder(task, order);
    }
    stn_host_run(task, pool, in, out, NULL);
    return STN_OK;
}
