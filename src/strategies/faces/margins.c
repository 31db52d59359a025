/* Runs the margins of a fused launch as tiles, or as strips where tiles cannot serve. */
#include "strategies/faces/margins.h"

#include <math.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "context/search_cache.h"
#include "strategies/faces/strips.h"
#include "strategies/faces/tile/faces_tile.h"

/* The margins of launches of one length. */
typedef struct margins {
    faces_tile tile;
    stn_kernel *kernel;   /* of the tile */
    faces_strips *strips; /* in place of both, where tiles cannot serve; else NULL */
} margins;

struct stn_faces {
    int lengths;
    margins of[2];
};

static bool any_face(const stn_task *task) {
    for (int i = 0; i < 6; i++)
        if (stn_faces_has_face(task, i / 2, i % 2)) return true;
    return false;
}

/* Results are cached, because strategies need them for each candidate and each length of chunks.
 * The key is all that tiles depend on. */
static double tile_seconds(const stn_task *task, const stn_machine *machine, int fused) {
    int64_t numbers[13] = {fused, task->dtype, task->rank, task->n[0], task->n[1], task->n[2], task->batch};
    for (int side = 0; side < 6; side++) numbers[7 + side] = task->boundary[side / 2][side % 2].kind;
    stn_text key = STN_TEXT_EMPTY;
    stn_text_append(&key, (const char *)numbers, sizeof numbers);
    stn_text_append(&key, (const char *)task->taps, task->ntaps * sizeof *task->taps);
    stn_search_cache *searches = key.failed ? NULL : machine->searches;
    double seconds;
    if (!stn_search_cache_lookup(searches, STN_SEARCH_CACHE_FACES, key.data, key.size, &seconds, sizeof seconds)) {
        faces_tile tile;
        seconds = faces_tile_choose(task, machine, fused, &tile) ? tile.seconds : INFINITY;
        stn_search_cache_store(searches, STN_SEARCH_CACHE_FACES, key.data, key.size, &seconds, sizeof seconds);
    }
    stn_text_clear(&key);
    return seconds;
}

stn_faces_cost stn_faces_cost_of(const stn_task *task, const stn_machine *machine, int fused) {
    if (!any_face(task)) return (stn_faces_cost){0, false};
    const double seconds = tile_seconds(task, machine, fused);
    if (seconds < INFINITY) return (stn_faces_cost){seconds, true};
    return (stn_faces_cost){faces_strips_seconds(task, machine, fused), false};
}

double stn_faces_seconds(const stn_task *task, const stn_machine *machine, int fused) {
    return stn_faces_cost_of(task, machine, fused).seconds;
}

/* Early margins are computed before the launch ends and stored after it: the seconds of storing,
 * 0.6 to 1.9 us on an H200. */
#define STORE_SECONDS 1.2e-6

/* The launch of early margins uses the part of the GPU that the strategy's launch leaves free in
 * its last wave. If each of the two could use the whole GPU all the time, the margins would take
 * `own` seconds and the launch `occupied * launch`: together they take at least the sum. */
double stn_faces_after(const stn_faces_cost *faces, const stn_machine *machine, double launch, double waves) {
    if (!(faces->seconds > 0) || !faces->early) return launch + faces->seconds;
    const double own = fmax(0, faces->seconds - machine->launch_seconds), occupied = waves / ceil(waves);
    return fmax(launch, own + occupied * launch) + STORE_SECONDS;
}

static stn_status make_kernel(stn_plan *plan, margins *m, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    faces_tile_params(&plan->task, &m->tile, &params);
    return stn_kernel_make(plan->kernels, "faces_tile", &params, m->tile.shared, &m->kernel, error);
}

stn_status stn_faces_create(stn_plan *plan, int launches, stn_faces **result, stn_error *error) {
    *result = NULL;
    if (!any_face(&plan->task)) return STN_OK;
    stn_faces *faces = calloc(1, sizeof *faces);
    if (!faces) return stn_fail_memory(error, "the faces", sizeof *faces);
    stn_status status = STN_OK;
    faces->lengths = stn_fused_lengths(&plan->task, launches);
    for (int k = 0; k < faces->lengths && status == STN_OK; k++) {
        const int fused = stn_fused_steps(&plan->task, launches, k);
        margins *m = &faces->of[k];
        status = faces_tile_choose(&plan->task, &plan->machine, fused, &m->tile)
                     ? make_kernel(plan, m, error)
                     : faces_strips_create(plan, fused, &m->strips, error);
    }
    if (status == STN_OK)
        *result = faces;
    else
        stn_faces_destroy(faces);
    return status;
}

size_t stn_faces_workspace(const stn_faces *faces) {
    size_t most = 0;
    for (int k = 0; faces && k < faces->lengths; k++) {
        const size_t bytes = faces->of[k].strips ? faces_strips_workspace(faces->of[k].strips) : 0;
        if (bytes > most) most = bytes;
    }
    return most;
}

/* On failure, everything stays unchanged. */
static stn_status renew(stn_plan *plan, margins *m, stn_error *error) {
    if (m->strips) return faces_strips_set_weights(plan, m->strips, error);
    if (faces_tile_weights_match(&plan->task, &m->tile)) return STN_OK;
    margins next = {.tile = m->tile};
    faces_tile_use_weights(&plan->task, &next.tile);
    STN_TRY(make_kernel(plan, &next, error));
    *m = next;
    return STN_OK;
}

stn_status stn_faces_set_weights(stn_plan *plan, stn_faces *faces, stn_error *error) {
    for (int k = 0; faces && k < faces->lengths; k++) STN_TRY(renew(plan, &faces->of[k], error));
    return STN_OK;
}

void stn_faces_destroy(stn_faces *faces) {
    for (int k = 0; faces && k < faces->lengths; k++)
        faces_strips_destroy(faces->of[k].strips); /* the context owns kernels */
    free(faces);
}

static stn_status launch_tiles(const stn_plan *plan, const margins *m, const stn_fused_launch *l, stn_error *error) {
    _Alignas(16) unsigned char arguments[FACES_TILE_ARGUMENTS];
    const faces_tile *tile = &m->tile;
    int64_t blocks;
    faces_tile_arguments(&plan->task, tile, l, arguments, &blocks);
    if (!blocks) return STN_OK;
    stn_launch how = {.grid = {(unsigned)blocks, 1, 1},
                      .block = {(unsigned)tile->threads, 1, 1},
                      .shared = tile->shared,
                      .stream = l->stream,
                      .early = stn_plan_may_start_early(plan)};
    return stn_module_launch(m->kernel->module, &how, arguments, error);
}

stn_status stn_faces_run(const stn_plan *plan, const stn_faces *faces, int length, const stn_fused_launch *l,
                         stn_error *error) {
    if (!faces) return STN_OK;
    const margins *m = &faces->of[length];
    return m->strips ? faces_strips_run(plan, m->strips, l, error) : launch_tiles(plan, m, l, error);
}
