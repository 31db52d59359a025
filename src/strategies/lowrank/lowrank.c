/* Strategy lowrank: f steps in one launch, as chains of banded matrix products on the tensor cores,
 * after LoRAStencil. f steps are one correlation with the taps' f-th power, convolved on the host
 * (common/stencil_power.h); its weights are a sum of few separable terms.
 *
 * There are three tables of operations: lowrank_plane (1D and 2D) and lowrank_volume (3D) fuse
 * steps; lowrank_axes makes one step of separable taps of any radius. This file dispatches a task
 * and its candidates to their table. */
#include <stdio.h>

#include "strategies/lowrank/axes/lowrank_axes.h"
#include "strategies/lowrank/plane/lowrank_plane.h"
#include "strategies/lowrank/volume/lowrank_volume.h"
#include "strategies/table.h"

static const stn_strategy *fused(const stn_task *task) { return task->rank == 3 ? &lowrank_volume : &lowrank_plane; }

static const stn_strategy *of(const stn_task *task, const stn_candidate *candidate) {
    return lowrank_axes_is(candidate) ? &lowrank_axes : fused(task);
}

static const stn_strategy *of_plan(const stn_plan *plan) { return of(&plan->task, &plan->candidate); }

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    const char *why = NULL;
    if (!machine->is_device)
        why = "it needs a GPU and this context is for the host";
    else if (machine->sm < 80)
        why = "it needs tensor cores for f64 and tf32: sm_80 or newer";
    else if (task->in_stride[2] != 1 || task->out_stride[2] != 1)
        why = "the fastest axis is strided";
    else if (stn_task_points(task) >> 37 || task->steps >> 31)
        why = "the grid has 2^37 points or more, or there are 2^31 steps or more";
    if (!why)
        return lowrank_axes.applies(task, machine, reason, reason_size) ||
               fused(task)->applies(task, machine, reason, reason_size);
    snprintf(reason, reason_size, "%s", why);
    return false;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    size_t count = lowrank_axes.candidates(task, machine, list, most);
    return count + fused(task)->candidates(task, machine, list + count, most - count);
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    of(task, candidate)->estimate(task, machine, candidate, result);
}

static stn_status prepare(stn_plan *plan, stn_error *error) { return of_plan(plan)->prepare(plan, error); }

/* Passes along the axes count as one launch. */
static uint64_t launches(const stn_plan *plan) {
    const stn_strategy *own = of_plan(plan);
    return own->launches ? own->launches(plan) : 1;
}

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *at, stn_error *error) {
    const stn_strategy *own = of_plan(plan);
    return own->execute_part ? own->execute_part(plan, part, at, error) : own->execute(plan, at, error);
}

static stn_status set_weights(stn_plan *plan, stn_error *error) { return of_plan(plan)->set_weights(plan, error); }

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    of_plan(plan)->describe(plan, format, text);
}

static void release(stn_plan *plan) {
    if (of_plan(plan)->release) of_plan(plan)->release(plan);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    of(task, candidate)->name_candidate(task, candidate, text);
}

static uint64_t shorten(const stn_task *task, const stn_candidate *candidate, uint64_t most, stn_candidate *trial) {
    return of(task, candidate)->shorten(task, candidate, most, trial);
}

const stn_strategy stn_strategy_lowrank = {
    .name = "lowrank",
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
