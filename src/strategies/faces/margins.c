/* See margins.h. */
#include "strategies/faces/margins.h"

#include <math.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "strategies/faces/chain/chain.h"
#include "strategies/faces/strips.h"
#include "strategies/faces/tile/tile.h"

typedef struct choice {
    stn_faces_way way;
    faces_tile tile;
    faces_chain chain;
    double seconds;
} choice;

struct stn_faces {
    choice choice;
    faces_strips *strips;
    stn_kernel *tile, *chain; /* tile: NULL when there are no rims */
    void *tables;             /* of the chains, on the device */
};

static bool any_face(const stn_task *task) {
    for (int i = 0; i < 6; i++)
        if (stn_faces_has_face(task, i / 2, i % 2)) return true;
    return false;
}

static choice choose(const stn_task *task, const stn_machine *machine, int fused, stn_faces_way way) {
    choice tiles = {.way = STN_FACES_TILES, .seconds = INFINITY},
           chains = {.way = STN_FACES_CHAINS, .seconds = INFINITY};
    if (faces_tile_choose(task, machine, fused, false, &tiles.tile)) tiles.seconds = tiles.tile.seconds;
    if (faces_chain_choose(task, machine, fused, &chains.chain) &&
        faces_tile_choose(task, machine, fused, true, &chains.tile))
        chains.seconds = chains.chain.seconds + chains.tile.seconds / 2; /* which run beside each other */
    const bool chained = way == STN_FACES_CHEAPEST ? chains.seconds < tiles.seconds : way == STN_FACES_CHAINS;
    if (chained && chains.seconds < INFINITY) return chains;
    if (way != STN_FACES_STRIPS && tiles.seconds < INFINITY) return tiles;
    return (choice){STN_FACES_STRIPS, {.fused = fused}, {0}, faces_strips_seconds(task, machine, fused)};
}

double stn_faces_seconds(const stn_task *task, const stn_machine *machine, int fused) {
    return any_face(task) ? choose(task, machine, fused, STN_FACES_CHEAPEST).seconds : 0;
}

static stn_status get_tile(stn_plan *plan, const faces_tile *tile, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    *kernel = NULL;
    if (!tile->seconds) return STN_OK; /* no rims */
    faces_tile_params(&plan->task, tile, &params);
    return stn_kernel_make(plan->context, "faces_tile", &params, tile->shared, kernel, error);
}

static stn_status get_chain(stn_plan *plan, const faces_chain *chain, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    faces_chain_params(&plan->task, chain, &params);
    return stn_kernel_make(plan->context, "faces_chain", &params, chain->shared, kernel, error);
}

/* Executions under way may read what is there, so nothing may be under way when that is replaced. */
static stn_status upload_tables(const stn_plan *plan, stn_faces *faces, stn_error *error) {
    double *tables;
    size_t count;
    if (!plan->machine.present) return STN_OK;
    stn_device *device = plan->context->device;
    STN_TRY(faces_chain_tables(&plan->task, faces->choice.chain.fused, &tables, &count, error));
    stn_status status = faces->tables ? stn_device_synchronize_all(device, error)
                                      : stn_device_alloc(device, count * sizeof *tables, &faces->tables, error);
    if (status == STN_OK) status = stn_device_upload(device, faces->tables, tables, count * sizeof *tables, error);
    free(tables);
    return status;
}

static stn_status build(stn_plan *plan, stn_faces *faces, stn_error *error) {
    const choice *c = &faces->choice;
    if (c->way == STN_FACES_STRIPS) return faces_strips_create(plan, c->tile.fused, &faces->strips, error);
    STN_TRY(get_tile(plan, &c->tile, &faces->tile, error));
    if (c->way == STN_FACES_TILES) return STN_OK;
    STN_TRY(get_chain(plan, &c->chain, &faces->chain, error));
    return upload_tables(plan, faces, error);
}

static void list_kernels(stn_plan *plan, const stn_faces *faces) {
    if (faces->strips) faces_strips_list(plan, faces->strips);
    if (faces->tile) stn_plan_list_kernel(plan, faces->tile);
    if (faces->chain) stn_plan_list_kernel(plan, faces->chain);
}

static void clear(const stn_plan *plan, stn_faces *faces) {
    faces_strips_destroy(faces->strips); /* kernels are the context's */
    if (faces->tables) stn_device_free(plan->context->device, faces->tables);
}

stn_status stn_faces_create(stn_plan *plan, int fused, stn_faces_way way, stn_faces **result, stn_error *error) {
    *result = NULL;
    if (!any_face(&plan->task)) return STN_OK;
    stn_faces *faces = calloc(1, sizeof *faces);
    if (!faces) return stn_fail_memory(error, "the faces", sizeof *faces);
    faces->choice = choose(&plan->task, &plan->machine, fused, way);
    stn_status status = build(plan, faces, error);
    if (status != STN_OK) {
        stn_faces_destroy(plan, faces);
        return status;
    }
    list_kernels(plan, faces);
    *result = faces;
    return STN_OK;
}

stn_faces_way stn_faces_way_of(const stn_faces *faces) { return faces->choice.way; }

size_t stn_faces_workspace(const stn_faces *faces) {
    return faces && faces->strips ? faces_strips_workspace(faces->strips) : 0;
}

/* Do the kernels still serve? */
static bool fits(const stn_task *task, const choice *c) {
    double factors[3][STN_TASK_FACTORS];
    if (c->way == STN_FACES_CHAINS && !stn_task_separable(task, factors)) return false;
    return c->way == STN_FACES_STRIPS || !c->tile.seconds || faces_tile_fits(task, &c->tile);
}

stn_status stn_faces_set_weights(stn_plan *plan, stn_faces *faces, stn_error *error) {
    if (!faces) return STN_OK;
    if (!fits(&plan->task, &faces->choice)) { /* then all is as it was if this fails */
        stn_faces next = {.choice = faces->choice};
        if (next.choice.way == STN_FACES_CHAINS)
            next.choice = choose(&plan->task, &plan->machine, faces->choice.tile.fused, STN_FACES_CHEAPEST);
        else
            faces_tile_use_weights(&plan->task, &next.choice.tile);
        stn_status status = build(plan, &next, error);
        if (status == STN_OK && stn_faces_workspace(&next) > stn_faces_workspace(faces))
            status = stn_fail(error, STN_ERROR_UNSUPPORTED,
                              "the faces take more workspace with these weights than the plan has");
        clear(plan, status == STN_OK ? faces : &next);
        if (status != STN_OK) return status;
        *faces = next;
    } else if (faces->strips)
        STN_TRY(faces_strips_set_weights(plan, faces->strips, error));
    else if (faces->chain)
        STN_TRY(upload_tables(plan, faces, error));
    list_kernels(plan, faces);
    return STN_OK;
}

void stn_faces_destroy(const stn_plan *plan, stn_faces *faces) {
    if (!faces) return;
    clear(plan, faces);
    free(faces);
}

/* From sm_90 on; and drivers before CUDA 12.3 cannot capture such a launch in a graph. */
static bool may_come_early(const stn_plan *plan) {
    return plan->machine.sm >= 90 && stn_driver_version(plan->context->driver) >= 12030;
}

static stn_status launch_tiles(const stn_plan *plan, const stn_faces *faces, const stn_fused_launch *l,
                               stn_error *error) {
    _Alignas(16) unsigned char arguments[FACES_TILE_ARGUMENTS];
    const faces_tile *tile = &faces->choice.tile;
    int64_t blocks;
    faces_tile_arguments(&plan->task, tile, l, arguments, &blocks);
    if (!blocks) return STN_OK;
    stn_launch how = {.grid = {(unsigned)blocks, 1, 1},
                      .block = {(unsigned)tile->threads, 1, 1},
                      .shared = tile->shared,
                      .stream = l->stream,
                      .early = may_come_early(plan)};
    return stn_module_launch(faces->tile->module, &how, arguments, error);
}

static stn_status launch_chains(const stn_plan *plan, const stn_faces *faces, const stn_fused_launch *l,
                                stn_error *error) {
    _Alignas(16) unsigned char arguments[FACES_CHAIN_ARGUMENTS];
    int64_t blocks;
    faces_chain_arguments(&plan->task, &plan->machine, &faces->choice.chain, l, faces->tables, arguments, &blocks);
    stn_launch how = {.grid = {(unsigned)blocks, 1, 1},
                      .block = {32 * FACES_CHAIN_WARPS, 1, 1},
                      .shared = faces->choice.chain.shared,
                      .stream = l->stream,
                      .early = may_come_early(plan)};
    return stn_module_launch(faces->chain->module, &how, arguments, error);
}

stn_status stn_faces_run(const stn_plan *plan, const stn_faces *faces, stn_interior interior, const void *user,
                         const stn_fused_launch *l, void *workspace, stn_error *error) {
    STN_TRY(interior(plan, user, l, error));
    if (!faces) return STN_OK;
    if (faces->strips) return faces_strips_run(plan, faces->strips, l, workspace, error);
    if (faces->tile) STN_TRY(launch_tiles(plan, faces, l, error));
    return faces->chain ? launch_chains(plan, faces, l, error) : STN_OK;
}
