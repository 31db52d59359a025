/* Strategy segment: overlap-save convolution. It has two kinds of candidates: passes of
 * overlapping segments along each axis (overlap_save.c, which has the FFT tiles of 2D grids too),
 * and dense-DFT tiles of 2D and 3D grids (dense_tile.c). This file dispatches between them. */
#include <stdio.h>

#include "strategies/common/dispatch.h"
#include "strategies/segment/dense_tile.h"
#include "strategies/table.h"

static const stn_strategy *of(const stn_task *task, const stn_candidate *candidate) {
    (void)task;
    return candidate->values[0] == SEGMENT_DENSE_TILE_MARK ? &segment_dense_tiles : &segment_overlap_save;
}

/* 2D and 3D grids that passes do not serve may be served by tiles; if not, the reason reported is
 * that of the tiles. */
static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t size) {
    const char *why = NULL;
    if (!machine->is_device)
        why = STN_NEEDS_GPU;
    else if (task->in_stride[2] != 1 || task->out_stride[2] != 1)
        why = "the fastest axis is strided";
    else if (task->steps >> 31)
        why = "there are 2^31 steps or more";
    if (why) {
        snprintf(reason, size, "%s", why);
        return false;
    }
    if (!size) return true; /* `candidates` searches again */
    return segment_overlap_save.applies(task, machine, reason, size) ||
           (task->rank > 1 && segment_dense_tiles.applies(task, machine, reason, size));
}

/* For separable weights, tiles are candidates only when they are timed: passes read and write the
 * grid once per axis, but tiles overlap on all sides. */
static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    const size_t count = segment_overlap_save.candidates(task, machine, list, most);
    if (task->rank < 2 || machine->sm < 80 || (count && most <= STN_CANDIDATES)) return count;
    return count + segment_dense_tiles.candidates(task, machine, list + count, most - count);
}

STN_DISPATCH(of)

const stn_strategy stn_strategy_segment = {
    .name = "segment", .applies = applies, .candidates = candidates, STN_DISPATCHED};
