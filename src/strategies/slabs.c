/* See slabs.h. */
#include "strategies/slabs.h"

#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "strategies/slabs_strips.h"
#include "strategies/slabs_tile.h"

struct stn_slabs {
    slabs_strips *strips; /* or NULL, and then: */
    slabs_tile tile;
    stn_kernel *kernel;
};

bool stn_slabs_has_face(const stn_task *task, int axis, int side) {
    return task->reach[axis][side] > 0 && task->boundary[axis][side].kind != STN_WRAP;
}

bool stn_slabs_interior(const stn_task *task, int fused, int64_t low[3], int64_t high[3]) {
    bool any = true;
    for (int axis = 0; axis < 3; axis++) {
        int64_t n = task->n[axis],
                reach[2] = {(int64_t)fused * task->reach[axis][0], (int64_t)fused * task->reach[axis][1]};
        low[axis] = stn_slabs_has_face(task, axis, 0) ? stn_min(n, reach[0]) : 0;
        high[axis] = stn_slabs_has_face(task, axis, 1) ? stn_max(low[axis], n - reach[1]) : n;
        any = any && low[axis] < high[axis];
    }
    return any;
}

static bool any_face(const stn_task *task) {
    for (int i = 0; i < 6; i++)
        if (stn_slabs_has_face(task, i / 2, i % 2)) return true;
    return false;
}

double stn_slabs_seconds(const stn_task *task, const stn_machine *machine, int fused) {
    slabs_tile tile;
    if (!any_face(task)) return 0;
    if (slabs_tile_choose(task, machine, fused, &tile)) return tile.seconds;
    return slabs_strips_seconds(task, machine, fused);
}

static stn_status get_kernel(stn_plan *plan, stn_slabs *slabs, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    slabs_tile_params(&plan->task, &slabs->tile, &params);
    return stn_kernel_make(plan->context, "slabs_tile", &params, slabs->tile.shared, &slabs->kernel, error);
}

static void list_kernels(stn_plan *plan, const stn_slabs *slabs) {
    if (slabs->strips)
        slabs_strips_list(plan, slabs->strips);
    else
        stn_plan_list_kernel(plan, slabs->kernel);
}

stn_status stn_slabs_create(stn_plan *plan, int fused, stn_slabs **result, stn_error *error) {
    *result = NULL;
    if (!any_face(&plan->task)) return STN_OK;
    stn_slabs *slabs = calloc(1, sizeof *slabs);
    if (!slabs) return stn_fail_memory(error, "the slabs", sizeof *slabs);
    stn_status status = slabs_tile_choose(&plan->task, &plan->machine, fused, &slabs->tile)
                            ? get_kernel(plan, slabs, error)
                            : slabs_strips_create(plan, fused, &slabs->strips, error);
    if (status != STN_OK) {
        stn_slabs_destroy(slabs);
        return status;
    }
    list_kernels(plan, slabs);
    *result = slabs;
    return STN_OK;
}

size_t stn_slabs_workspace(const stn_slabs *slabs) {
    return slabs && slabs->strips ? slabs_strips_workspace(slabs->strips) : 0;
}

stn_status stn_slabs_set_weights(stn_plan *plan, stn_slabs *slabs, stn_error *error) {
    if (!slabs) return STN_OK;
    if (slabs->strips)
        STN_TRY(slabs_strips_set_weights(plan, slabs->strips, error));
    else if (!slabs_tile_fits(&plan->task, &slabs->tile)) {
        const slabs_tile before = slabs->tile;
        slabs_tile_use_weights(&plan->task, &slabs->tile);
        stn_status status = get_kernel(plan, slabs, error);
        if (status != STN_OK) {
            slabs->tile = before;
            return status;
        }
    }
    list_kernels(plan, slabs);
    return STN_OK;
}

void stn_slabs_destroy(stn_slabs *slabs) {
    if (!slabs) return;
    slabs_strips_destroy(slabs->strips); /* the kernel is the context's */
    free(slabs);
}

/* From sm_90 on; and drivers before CUDA 12.3 cannot capture such a launch in a graph. */
static bool may_come_early(const stn_plan *plan) {
    return plan->machine.sm >= 90 && stn_driver_version(plan->context->driver) >= 12030;
}

static stn_status launch_tiles(const stn_plan *plan, const stn_slabs *slabs, const stn_fused_launch *l,
                               stn_error *error) {
    _Alignas(16) unsigned char arguments[SLABS_TILE_ARGUMENTS];
    int64_t blocks;
    slabs_tile_arguments(&plan->task, &slabs->tile, l, arguments, &blocks);
    if (!blocks) return STN_OK;
    stn_launch how = {.grid = {(unsigned)blocks, 1, 1},
                      .block = {(unsigned)slabs->tile.threads, 1, 1},
                      .shared = slabs->tile.shared,
                      .stream = l->stream,
                      .early = may_come_early(plan)};
    return stn_module_launch(slabs->kernel->module, &how, arguments, error);
}

stn_status stn_slabs_run(const stn_plan *plan, const stn_slabs *slabs, stn_interior interior, const void *user,
                         const stn_fused_launch *l, void *workspace, stn_error *error) {
    STN_TRY(interior(plan, user, l, error));
    if (!slabs) return STN_OK;
    if (slabs->strips) return slabs_strips_run(plan, slabs->strips, l, workspace, error);
    return launch_tiles(plan, slabs, l, error);
}
