/* Computes the layout of the boundary planes. */
#include "strategies/segment/boundary_planes.h"

#include "base/arith.h"

#define WHOLE_ROWS 4 /* Pitch granularity in elements: 16 bytes of f32. */

bool segment_side_is_odd(const segment_axis *a, int side) {
    return a->side[side] == STN_CONSTANT || a->side[side] == STN_FIXED;
}

segment_planes segment_planes_of(const stn_task *task, const segment_axis *axes, int count) {
    segment_planes p = {.all = 0};
    for (int across = 0; across < 3; across++) {
        bool odd = false;
        for (int i = 0; i < count; i++)
            if (axes[i].axis == across) odd = segment_side_is_odd(&axes[i], 0) || segment_side_is_odd(&axes[i], 1);
        p.first[across] = p.all;
        if (!odd) continue;
        const int64_t rows = task->n[segment_rows_of(across)], columns = task->n[segment_columns_of(across)];
        p.rows[across] = rows;
        p.pitch[across] = stn_round_up(columns, WHOLE_ROWS);
        p.all += 2 * p.rows[across] * p.pitch[across];
    }
    return p;
}
