/* The order of axes; see point_axes.h. Rows are computed one by one, so that an array of 168 x 178
 * x 1 points would take far longer than one of 1 x 168 x 178. The terms of a sum keep their order,
 * so that results do not depend on the order of the axes. */
#include "host/point_axes.h"

#include <stdbool.h>
#include <string.h>

/* The batch or an axis of a task. */
typedef struct axis {
    int64_t points;
    int number; /* of the task's axis; -1: the batch */
} axis;

static bool can_move(const stn_task *task, axis each) {
    return each.points == 1 && (each.number < 0 || (!task->reach[each.number][0] && !task->reach[each.number][1]));
}

static bool is_dense(const stn_task *task, const int64_t stride[3], int64_t batch_stride) {
    const int64_t *n = task->n;
    return stride[2] == 1 && stride[1] == n[2] && stride[0] == n[1] * n[2] &&
           (task->batch == 1 || batch_stride == n[0] * n[1] * n[2]);
}

/* The batch and the axes in their new order. The first, which becomes the batch, is one of one
 * point if there is any. Returns false if the order stays. */
static bool find_order(const stn_task *task, axis order[4]) {
    const axis given[4] = {{task->batch, -1}, {task->n[0], 0}, {task->n[1], 1}, {task->n[2], 2}};
    int first = 0, used = 1;
    bool changes = false;
    for (int i = 3; i >= 0; i--)
        if (can_move(task, given[i])) first = i;
    order[0] = given[first];
    for (int moves = 1; moves >= 0; moves--)
        for (int i = 0; i < 4; i++)
            if (i != first && can_move(task, given[i]) == moves) order[used++] = given[i];
    for (int i = 0; i < 4; i++) changes = changes || order[i].number != given[i].number;
    return changes;
}

/* Gives the task's axes another order. All arrays are dense in this order. */
static void reorder(stn_task *task, const axis order[4]) {
    const stn_task old = *task;
    const stn_boundary periodic[2] = {{.kind = STN_WRAP}, {.kind = STN_WRAP}};
    int64_t stride = 1;
    for (int a = 2; a >= 0; a--) {
        const axis each = order[a + 1];
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

void stn_host_move_point_axes(stn_task *task) {
    axis order[4];
    if (find_order(task, order) && is_dense(task, task->in_stride, task->in_batch_stride) &&
        is_dense(task, task->out_stride, task->out_batch_stride))
        reorder(task, order);
}
