/* Powers of a stencil. See lowrank_taps.h. */
#include "strategies/lowrank_taps.h"

#include <stdlib.h>
#include <string.h>

static stn_status fail_taps(stn_error *error, size_t bytes) { return stn_fail_memory(error, "fused taps", bytes); }

stn_status lowrank_taps_make(const stn_task *task, lowrank_taps *taps, stn_error *error) {
    *taps = (lowrank_taps){.fused = 1,
                           .rows = task->reach[1][0] + task->reach[1][1] + 1,
                           .columns = task->reach[2][0] + task->reach[2][1] + 1,
                           .low = {task->reach[1][0], task->reach[2][0]}};
    size_t count = (size_t)taps->rows * (size_t)taps->columns;
    taps->weight = calloc(count, sizeof *taps->weight);
    if (!taps->weight) return fail_taps(error, count * sizeof *taps->weight);
    for (size_t k = 0; k < task->ntaps; k++) {
        const stn_tap *tap = &task->taps[k];
        taps->weight[(tap->offset[1] + taps->low[0]) * taps->columns + tap->offset[2] + taps->low[1]] = tap->weight;
    }
    return STN_OK;
}

stn_status lowrank_taps_fuse(const stn_task *task, lowrank_taps *taps, stn_error *error) {
    lowrank_taps next = {.fused = taps->fused + 1,
                         .rows = taps->rows + task->reach[1][0] + task->reach[1][1],
                         .columns = taps->columns + task->reach[2][0] + task->reach[2][1],
                         .low = {taps->low[0] + task->reach[1][0], taps->low[1] + task->reach[2][0]}};
    size_t count = (size_t)next.rows * (size_t)next.columns;
    next.weight = calloc(count, sizeof *next.weight);
    if (!next.weight) return fail_taps(error, count * sizeof *next.weight);
    for (size_t k = 0; k < task->ntaps; k++) {
        const stn_tap *tap = &task->taps[k];
        int64_t dy = tap->offset[1] + task->reach[1][0], dx = tap->offset[2] + task->reach[2][0];
        for (int y = 0; y < taps->rows; y++)
            for (int x = 0; x < taps->columns; x++)
                next.weight[(y + dy) * next.columns + x + dx] += tap->weight * taps->weight[y * taps->columns + x];
    }
    lowrank_taps_clear(taps);
    *taps = next;
    return STN_OK;
}

void lowrank_taps_clear(lowrank_taps *taps) {
    free(taps->weight);
    memset(taps, 0, sizeof *taps);
}
