/* Strategy lowrank: f steps in one launch, as chains of banded matrix products on the tensor cores,
 * after LoRAStencil. f steps are one correlation with the taps' f-th power, convolved on the host
 * (common/stencil_power.h); its weights are a sum of few separable terms.
 *
 * There are three tables of operations: lowrank_plane (1D and 2D) and lowrank_volume (3D) fuse
 * steps; lowrank_axes makes one step of separable taps of any radius. This file dispatches a task
 * and its candidates to their table. */
#include "strategies/lowrank/lowrank.h"

#include <math.h>
#include <stdio.h>

#include "strategies/common/dispatch.h"
#include "strategies/lowrank/lowrank_types.h"
#include "strategies/table.h"

static const stn_strategy *fused(const stn_task *task) { return task->rank == 3 ? &lowrank_volume : &lowrank_plane; }

static const stn_strategy *of(const stn_task *task, const stn_candidate *candidate) {
    return lowrank_axes_is(candidate) ? &lowrank_axes : fused(task);
}

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    const char *why = NULL;
    if (!machine->is_device)
        why = STN_NEEDS_GPU;
    else if (machine->sm < 80)
        why = "it needs tensor cores for f64 and tf32: sm_80 or newer";
    else if (task->in_stride[2] != 1 || task->out_stride[2] != 1)
        why = "the fastest axis is strided";
    else if (stn_task_points(task) >> 37 || task->steps >> 31)
        why = "the grid has 2^37 points or more, or there are 2^31 steps or more";
    if (!why && !reason_size) return true; /* `candidates` searches again */
    if (!why)
        return lowrank_axes.applies(task, machine, reason, reason_size) ||
               fused(task)->applies(task, machine, reason, reason_size);
    snprintf(reason, reason_size, "%s", why);
    return false;
}

/* A launch makes at most LOWRANK_MAX_FUSED steps, and at least reads and writes the grid. PART is
 * below all factors of the cost models. */
#define PART 0.9
static double least_seconds(const stn_task *task, const stn_machine *machine) {
    const double grid = (double)stn_task_points(task) * (double)stn_dtype_size(task->dtype);
    const double launch = 2 * grid / machine->copy_bandwidth + machine->launch_seconds;
    return PART * ceil((double)task->steps / LOWRANK_MAX_FUSED) * launch;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    size_t count = lowrank_axes.candidates(task, machine, list, most);
    return count + fused(task)->candidates(task, machine, list + count, most - count);
}

STN_DISPATCH(of)

const stn_strategy stn_strategy_lowrank = {
    .name = "lowrank", .applies = applies, .candidates = candidates, .least_seconds = least_seconds, STN_DISPATCHED};
