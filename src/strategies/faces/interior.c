/* The interior of a grid: the points that f fused steps compute correctly without values past the
 * sides. */
#include "strategies/faces/interior.h"

#include "base/arith.h"

bool stn_faces_has_face(const stn_task *task, int axis, int side) {
    return task->reach[axis][side] > 0 && task->boundary[axis][side].kind != STN_WRAP;
}

bool stn_faces_interior(const stn_task *task, int fused, int64_t low[3], int64_t high[3]) {
    bool any = true;
    for (int axis = 0; axis < 3; axis++) {
        int64_t n = task->n[axis],
                reach[2] = {(int64_t)fused * task->reach[axis][0], (int64_t)fused * task->reach[axis][1]};
        low[axis] = stn_faces_has_face(task, axis, 0) ? stn_min(n, reach[0]) : 0;
        high[axis] = stn_faces_has_face(task, axis, 1) ? stn_max(low[axis], n - reach[1]) : n;
        any = any && low[axis] < high[axis];
    }
    return any;
}
