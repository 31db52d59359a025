/* See slabs.h. */
#include "strategies/slabs.h"

#include <math.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "strategies/slabs_chain.h"
#include "strategies/slabs_strips.h"
#include "strategies/slabs_tile.h"

typedef struct choice {
    stn_slabs_way way;
    slabs_tile tile;
    slabs_chain chain;
    double seconds;
} choice;

struct stn_slabs {
    choice choice;
    slabs_strips *strips;
    stn_kernel *tile, *chain; /* tile: NULL when there are no rims */
    void *tables;             /* of the chains, on the device */
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

static choice choose(const stn_task *task, const stn_machine *machine, int fused, stn_slabs_way way) {
    choice tiles = {.way = STN_SLABS_TILES, .seconds = INFINITY},
           chains = {.way = STN_SLABS_CHAINS, .seconds = INFINITY};
    if (slabs_tile_choose(task, machine, fused, false, &tiles.tile)) tiles.seconds = tiles.tile.seconds;
    if (slabs_chain_choose(task, machine, fused, &chains.chain) &&
        slabs_tile_choose(task, machine, fused, true, &chains.tile))
        chains.seconds = chains.chain.seconds + chains.tile.seconds / 2; /* which run beside each other */
    const bool chained = way == STN_SLABS_CHEAPEST ? chains.seconds < tiles.seconds : way == STN_SLABS_CHAINS;
    if (chained && chains.seconds < INFINITY) return chains;
    if (way != STN_SLABS_STRIPS && tiles.seconds < INFINITY) return tiles;
    return (choice){STN_SLABS_STRIPS, {.fused = fused}, {0}, slabs_strips_seconds(task, machine, fused)};
}

double stn_slabs_seconds(const stn_task *task, const stn_machine *machine, int fused) {
    return any_face(task) ? choose(task, machine, fused, STN_SLABS_CHEAPEST).seconds : 0;
}

static stn_status get_tile(stn_plan *plan, const slabs_tile *tile, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    *kernel = NULL;
    if (!tile->seconds) return STN_OK; /* no rims */
    slabs_tile_params(&plan->task, tile, &params);
    return stn_kernel_make(plan->context, "slabs_tile", &params, tile->shared, kernel, error);
}

static stn_status get_chain(stn_plan *plan, const slabs_chain *chain, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    slabs_chain_params(&plan->task, chain, &params);
    return stn_kernel_make(plan->context, "slabs_chain", &params, chain->shared, kernel, error);
}

/* Executions under way may read what is there, so nothing may be under way when that is replaced. */
static stn_status upload_tables(const stn_plan *plan, stn_slabs *slabs, stn_error *error) {
    double *tables;
    size_t count;
    if (!plan->machine.present) return STN_OK;
    stn_device *device = plan->context->device;
    STN_TRY(slabs_chain_tables(&plan->task, slabs->choice.chain.fused, &tables, &count, error));
    stn_status status = slabs->tables ? stn_device_synchronize_all(device, error)
                                      : stn_device_alloc(device, count * sizeof *tables, &slabs->tables, error);
    if (status == STN_OK) status = stn_device_upload(device, slabs->tables, tables, count * sizeof *tables, error);
    free(tables);
    return status;
}

static stn_status build(stn_plan *plan, stn_slabs *slabs, stn_error *error) {
    const choice *c = &slabs->choice;
    if (c->way == STN_SLABS_STRIPS) return slabs_strips_create(plan, c->tile.fused, &slabs->strips, error);
    STN_TRY(get_tile(plan, &c->tile, &slabs->tile, error));
    if (c->way == STN_SLABS_TILES) return STN_OK;
    STN_TRY(get_chain(plan, &c->chain, &slabs->chain, error));
    return upload_tables(plan, slabs, error);
}

static void list_kernels(stn_plan *plan, const stn_slabs *slabs) {
    if (slabs->strips) slabs_strips_list(plan, slabs->strips);
    if (slabs->tile) stn_plan_list_kernel(plan, slabs->tile);
    if (slabs->chain) stn_plan_list_kernel(plan, slabs->chain);
}

static void clear(const stn_plan *plan, stn_slabs *slabs) {
    slabs_strips_destroy(slabs->strips); /* kernels are the context's */
    if (slabs->tables) stn_device_free(plan->context->device, slabs->tables);
}

stn_status stn_slabs_create(stn_plan *plan, int fused, stn_slabs_way way, stn_slabs **result, stn_error *error) {
    *result = NULL;
    if (!any_face(&plan->task)) return STN_OK;
    stn_slabs *slabs = calloc(1, sizeof *slabs);
    if (!slabs) return stn_fail_memory(error, "the slabs", sizeof *slabs);
    slabs->choice = choose(&plan->task, &plan->machine, fused, way);
    stn_status status = build(plan, slabs, error);
    if (status != STN_OK) {
        stn_slabs_destroy(plan, slabs);
        return status;
    }
    list_kernels(plan, slabs);
    *result = slabs;
    return STN_OK;
}

stn_slabs_way stn_slabs_way_of(const stn_slabs *slabs) { return slabs->choice.way; }

size_t stn_slabs_workspace(const stn_slabs *slabs) {
    return slabs && slabs->strips ? slabs_strips_workspace(slabs->strips) : 0;
}

/* Do the kernels still serve? */
static bool fits(const stn_task *task, const choice *c) {
    double factors[3][STN_TASK_FACTORS];
    if (c->way == STN_SLABS_CHAINS && !stn_task_separable(task, factors)) return false;
    return c->way == STN_SLABS_STRIPS || !c->tile.seconds || slabs_tile_fits(task, &c->tile);
}

stn_status stn_slabs_set_weights(stn_plan *plan, stn_slabs *slabs, stn_error *error) {
    if (!slabs) return STN_OK;
    if (!fits(&plan->task, &slabs->choice)) { /* then all is as it was if this fails */
        stn_slabs next = {.choice = slabs->choice};
        if (next.choice.way == STN_SLABS_CHAINS)
            next.choice = choose(&plan->task, &plan->machine, slabs->choice.tile.fused, STN_SLABS_CHEAPEST);
        else
            slabs_tile_use_weights(&plan->task, &next.choice.tile);
        stn_status status = build(plan, &next, error);
        clear(plan, status == STN_OK ? slabs : &next);
        if (status != STN_OK) return status;
        *slabs = next;
    } else if (slabs->strips)
        STN_TRY(slabs_strips_set_weights(plan, slabs->strips, error));
    else if (slabs->chain)
        STN_TRY(upload_tables(plan, slabs, error));
    list_kernels(plan, slabs);
    return STN_OK;
}

void stn_slabs_destroy(const stn_plan *plan, stn_slabs *slabs) {
    if (!slabs) return;
    clear(plan, slabs);
    free(slabs);
}

/* From sm_90 on; and drivers before CUDA 12.3 cannot capture such a launch in a graph. */
static bool may_come_early(const stn_plan *plan) {
    return plan->machine.sm >= 90 && stn_driver_version(plan->context->driver) >= 12030;
}

static stn_status launch_tiles(const stn_plan *plan, const stn_slabs *slabs, const stn_fused_launch *l,
                               stn_error *error) {
    _Alignas(16) unsigned char arguments[SLABS_TILE_ARGUMENTS];
    const slabs_tile *tile = &slabs->choice.tile;
    int64_t blocks;
    slabs_tile_arguments(&plan->task, tile, l, arguments, &blocks);
    if (!blocks) return STN_OK;
    stn_launch how = {.grid = {(unsigned)blocks, 1, 1},
                      .block = {(unsigned)tile->threads, 1, 1},
                      .shared = tile->shared,
                      .stream = l->stream,
                      .early = may_come_early(plan)};
    return stn_module_launch(slabs->tile->module, &how, arguments, error);
}

static stn_status launch_chains(const stn_plan *plan, const stn_slabs *slabs, const stn_fused_launch *l,
                                stn_error *error) {
    _Alignas(16) unsigned char arguments[SLABS_CHAIN_ARGUMENTS];
    int64_t blocks;
    slabs_chain_arguments(&plan->task, &plan->machine, &slabs->choice.chain, l, slabs->tables, arguments, &blocks);
    stn_launch how = {.grid = {(unsigned)blocks, 1, 1},
                      .block = {32 * SLABS_CHAIN_WARPS, 1, 1},
                      .shared = slabs->choice.chain.shared,
                      .stream = l->stream,
                      .early = may_come_early(plan)};
    return stn_module_launch(slabs->chain->module, &how, arguments, error);
}

stn_status stn_slabs_run(const stn_plan *plan, const stn_slabs *slabs, stn_interior interior, const void *user,
                         const stn_fused_launch *l, void *workspace, stn_error *error) {
    STN_TRY(interior(plan, user, l, error));
    if (!slabs) return STN_OK;
    if (slabs->strips) return slabs_strips_run(plan, slabs->strips, l, workspace, error);
    if (slabs->tile) STN_TRY(launch_tiles(plan, slabs, l, error));
    return slabs->chain ? launch_chains(plan, slabs, l, error) : STN_OK;
}
