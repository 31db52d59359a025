/* Order, mirror symmetry and cost of a task's taps in the direct kernels. */
#include "strategies/direct/tap_order.h"

/* Sorts by kernel y, then z, then x, so that direct_tile loads each line of its window once. */
void direct_tap_order(const stn_task *task, const direct_shape *shape, uint16_t order[DIRECT_MAX_TAPS]) {
    int key[3] = {direct_axis(task, shape, 1), direct_axis(task, shape, 0), direct_axis(task, shape, 2)};
    for (size_t i = 0; i < task->ntaps; i++) {
        size_t place = i;
        for (; place > 0; place--) {
            const int64_t *a = task->taps[order[place - 1]].offset, *b = task->taps[i].offset;
            int64_t difference = 0;
            for (int k = 0; k < 3 && !difference; k++) difference = a[key[k]] - b[key[k]];
            if (difference <= 0) break;
            order[place] = order[place - 1];
        }
        order[place] = (uint16_t)i;
    }
}

size_t direct_time_weights(const stn_task *task, const direct_shape *shape, const double *given, double *weights) {
    int reach[3], side[3];
    for (int k = 0; k < 3; k++) {
        reach[k] = direct_reach(task, shape, k);
        side[k] = 2 * reach[k] + 1;
    }
    size_t count = (size_t)(side[0] * side[1] * side[2]);
    for (size_t i = 0; i < count; i++) weights[i] = 0;
    for (size_t t = 0; t < task->ntaps; t++) {
        int64_t at = 0;
        for (int k = 0; k < 3; k++) at = at * side[k] + task->taps[t].offset[direct_axis(task, shape, k)] + reach[k];
        weights[at] = given[t];
    }
    return count;
}

static bool mirrored(const stn_task *task, const direct_shape *shape, int bit) {
    return stn_task_is_symmetric(task, direct_axis(task, shape, bit == DIRECT_MIRROR_Z ? 0 : 2));
}

int direct_time_operations(const stn_task *task, const direct_shape *shape, int mirror) {
    const int64_t reach = direct_reach(task, shape, 0);
    const int key[2] = {direct_axis(task, shape, 0), direct_axis(task, shape, 2)};
    bool mx = mirror & DIRECT_MIRROR_X, mz = mirror & DIRECT_MIRROR_Z;
    int count = 0;
    for (int64_t z = -reach; z <= (mz ? 0 : reach); z++) {
        int plane = 0;
        for (size_t t = 0; t < task->ntaps; t++) {
            const int64_t *o = task->taps[t].offset;
            plane += o[key[0]] == z && (!mx || o[key[1]] >= 0);
        }
        count += plane;
        /* The plane's sum is added to two outputs; the newest output begins with it. */
        if (mz && z && plane) count += z == -reach ? 1 : 2;
    }
    for (int64_t x = 1; mx && x <= direct_reach(task, shape, 2);
         x++) { /* one addition for each row of taps at this distance, shared between planes */
        bool pair = false;
        for (size_t t = 0; t < task->ntaps; t++) pair = pair || task->taps[t].offset[2] == x;
        count += pair;
    }
    return count;
}

bool direct_time_mirror_holds(const stn_task *task, const direct_shape *shape) {
    for (int bit = 1; bit <= DIRECT_MIRROR_Z; bit *= 2)
        if ((shape->mirror & bit) && !mirrored(task, shape, bit)) return false;
    return true;
}

int direct_time_mirror(const stn_task *task, const direct_shape *shape) {
    int best = 0, allowed = 0;
    for (int bit = 1; bit <= DIRECT_MIRROR_Z; bit *= 2)
        if (mirrored(task, shape, bit)) allowed |= bit;
    if (shape->kernel == DIRECT_TIME_LINE) allowed &= DIRECT_MIRROR_X;
    for (int mirror = 1; mirror <= 3; mirror++)
        if ((mirror & ~allowed) == 0 &&
            direct_time_operations(task, shape, mirror) < direct_time_operations(task, shape, best))
            best = mirror;
    return best;
}
