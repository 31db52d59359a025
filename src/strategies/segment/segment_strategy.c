/* The strategy `segment`: overlap-save convolution. It has two kinds of candidates: passes of
 * overlapping segments along each axis (overlap_save.c, which has the FFT tiles of 2D grids too),
 * and dense-DFT tiles of 2D and 3D grids (dense_tile.c). This file dispatches between them. */
#include <stdio.h>

#include "plan/plan.h"
#include "strategies/segment/dense_tile.h"
#include "strategies/table.h"

static const stn_strategy *of(const stn_candidate *candidate) {
    return candidate->values[0] == SEGMENT_DENSE_TILE_MARK ? &segment_dense_tiles : &segment_overlap_save;
}

static const stn_strategy *of_plan(const stn_plan *plan) { return of(&plan->candidate); }

/* 2D and 3D grids that passes do not serve may be served by tiles; if not, the reason reported is
 * that of the tiles. */
static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t size) {
    const char *why = NULL;
    if (!machine->is_device)
        why = "it needs a GPU and this context is for the host";
    else if (task->in_stride[2] != 1 || task->out_stride[2] != 1)
        why = "the fastest axis is strided";
    else if (task->steps >> 31)
        why = "there are 2^31 steps or more";
    if (why) {
        snprintf(reason, size, "%s", why);
        return false;
    }
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

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    of(candidate)->estimate(task, machine, candidate, result);
}

static stn_status prepare(stn_plan *plan, stn_error *error) { return of_plan(plan)->prepare(plan, error); }

static stn_status set_weights(stn_plan *plan, stn_error *error) { return of_plan(plan)->set_weights(plan, error); }

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    of_plan(plan)->describe(plan, format, text);
}

static void release(stn_plan *plan) { of_plan(plan)->release(plan); }

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    of(candidate)->name_candidate(task, candidate, text);
}

static uint64_t shorten(const stn_task *task, const stn_candidate *candidate, uint64_t most, stn_candidate *trial) {
    return of(candidate)->shorten(task, candidate, most, trial);
}

static uint64_t launches(const stn_plan *plan) { return of_plan(plan)->launches(plan); }

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *at, stn_error *error) {
    return of_plan(plan)->execute_part(plan, part, at, error);
}

const stn_strategy stn_strategy_segment = {
    .name = "segment",
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .prepare = prepare,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .shorten = shorten,
    .launches = launches,
    .execute_part = execute_part,
};
