/* Dense-DFT tiles as a strategy: candidates, tables, kernel, launches, description. See
 * dense_tile.h. The symbol's power is computed in long double. */
#include "strategies/segment/dense_tile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "render/render.h"
#include "strategies/common/ping_pong.h"
#include "strategies/common/stencil_power.h"
#include "strategies/faces/margins.h"
#include "strategies/segment/segment_tables.h"
#include "strategies/segment/taps_dft.h"

/* Mirrors tile_arguments of overlapping_tiles.cuh; two values of the arithmetic type follow. */
typedef struct tile_header {
    const void *in;
    void *out;
    const void *operands, *symbol;
    int64_t n[3], in_far[3], out_far[3];
    uint32_t tiles[3], all;
    int32_t lead[3], useful[3], before[3], padding;
    stn_divisor by_tiles[3];
} tile_header;

/* The tables for launches of `fused` steps: byte offsets in all tables, multiples of 256. */
typedef struct tile_table_layout {
    uint64_t fused;
    size_t operands, symbol;
} tile_table_layout;

typedef struct tile_state {
    segment_dense_tile tile;
    segment_sides sides;
    bool real; /* The symbol is real. */
    stn_kernel *kernel;
    int64_t blocks;
    int lengths;                  /* Of launches (common/launches.h). */
    tile_table_layout layouts[2]; /* By length. */
    stn_faces *faces;
    void *tables; /* On the device. */
    size_t table_bytes;
    stn_layouts at;
} tile_state;

STN_CANDIDATE_READER(segment_dense_tile, tile_of)

/* ---- candidates ------------------------------------------------------------------------------ */

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t size) {
    const char *why = NULL;
    segment_dense_tile tile;
    if (machine->sm < 80)
        why = "tiles need tensor cores for f64 and tf32: sm_80 or newer";
    else if (task->rank < 2)
        why = "tiles are for 2D and 3D grids";
    else if (segment_dense_tile_search(task, machine, &tile, 1, &why))
        why = NULL;
    if (why) snprintf(reason, size, "%s", why);
    return !why;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    segment_dense_tile best[STN_CANDIDATES * 2];
    const char *why;
    const size_t count =
        segment_dense_tile_search(task, machine, best, (size_t)stn_min((int64_t)most, STN_CANDIDATES * 2), &why);
    for (size_t i = 0; i < count; i++) list[i] = stn_candidate_of(&best[i], sizeof best[i]);
    return count;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    const segment_dense_tile tile = tile_of(candidate);
    segment_dense_tile_cost(task, machine, &tile, result);
    stn_ping_pong_add_copy(task, machine, result->launches, result);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The number of values in a launch's table of matrices. */
static size_t matrices_size(const segment_dense_tile *tile) {
    return segment_dense_matrices_size(segment_dense_tile_factors(tile->number), tile->even);
}

/* The number of values in the table of a launch's symbol. */
static size_t symbol_size(const segment_dense_tile *tile, bool real) {
    return segment_dense_symbol_size(segment_dense_tile_factors(tile->number), real);
}

static void fill_powers(const cplx *symbol, const int points[3], bool real, uint64_t steps, double *powers) {
    int k[3];
    for (k[0] = 0; k[0] < points[0]; k[0]++)
        for (k[1] = 0; k[1] < points[1]; k[1]++)
            for (k[2] = 0; k[2] < points[2]; k[2]++) {
                cplx one = segment_taps_dft_at(symbol, points, k);
                if (real) one.im = 0;
                const cplx value = power(one, steps);
                *powers++ = (double)value.re, *powers++ = (double)value.im;
            }
}

/* Writes both tables of a launch. Errors: out of memory. */
static stn_status make_tables_of_launch(const stn_task *task, const segment_dense_tile *tile, bool real, uint64_t steps,
                                        double *operands, double *symbol, stn_error *error) {
    const segment_factors *f = segment_dense_tile_factors(tile->number);
    int points[3];
    segment_dense_tile_points(tile, points);
    const size_t length = (size_t)points[0] * (size_t)points[1] * (size_t)points[2];
    double *powers = calloc(2 * length, sizeof *powers);
    cplx *const taps = segment_taps_dft(task, points);
    stn_status status = powers && taps ? STN_OK : stn_fail_memory(error, "a symbol", 2 * length * sizeof *powers);
    if (status == STN_OK) {
        fill_powers(taps, points, real, steps, powers);
        const double gain = segment_dense_scale_of(powers, length, task->dtype);
        segment_dense_matrices_make(f, tile->even, gain, operands);
        segment_dense_symbol_make(f, powers, real, gain, symbol);
    }
    free(taps), free(powers);
    return status;
}

/* ---- building -------------------------------------------------------------------------------- */

enum { WORK_ITEMS = 12 }; /* Tiles that a block takes in sequence, at most; measured. */
static stn_status get_kernel(stn_plan *plan, tile_state *state, stn_error *error) {
    const stn_task *task = &plan->task;
    const segment_dense_tile *tile = &state->tile;
    const segment_dense_tile_block block = segment_dense_tile_block_of(task, tile);
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, task->dtype);
    segment_dense_params(&params, segment_dense_tile_factors(tile->number), task->dtype, tile->fragment, tile->even);
    for (int side = 0; side < 6; side++) {
        char name[32];
        snprintf(name, sizeof name, "%c_SIDE_%s", "ZYX"[side / 2], side % 2 ? "HIGH" : "LOW");
        stn_params_int(&params, name, state->sides.kind[side / 2][side % 2]);
    }
    stn_params_int(&params, "BLOCKS", block.resident);
    stn_params_int(&params, "SYMBOL_REAL", state->real);
    stn_params_int(&params, "TILE_SHIFTED", state->sides.past != 0);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(tile_header));
    STN_TRY(stn_kernel_make(plan->kernels, block.kernel, &params, block.shared, &state->kernel, error));
    int64_t counts[3];
    const int64_t resident =
        stn_kernel_resident(state->kernel, plan->machine.multiprocessors, 32 * block.warps, block.shared);
    const int64_t work_items = stn_div_up(segment_dense_tile_count(task, tile, counts), block.tiles);
    /* Blocks of 3D tiles take few tiles each, so that the tiles computed at one time are neighbours
     * whose inputs are in L2. */
    const int64_t rounds =
        segment_dense_tile_factors(tile->number)->n[2] > 1 ? stn_div_up(work_items, resident * WORK_ITEMS) : 1;
    state->blocks = stn_min(work_items, resident * rounds);
    return STN_OK;
}

/* Lays out the tables for the task's weights. UNSUPPORTED: the weights reach further than the tiles
 * overlap. made: the kernel exists already, and is kept for symmetric weights even if made for
 * asymmetric ones. */
static stn_status lay_out_tables(const stn_task *task, tile_state *state, bool made, stn_error *error) {
    const size_t size = segment_real_size(task);
    stn_reach reach[3];
    if (!made || state->sides.even) state->sides = segment_sides_of(task);
    segment_dense_tile_reach(task, (uint64_t)state->tile.fused, reach);
    if (state->sides.margins != (bool)state->tile.margins ||
        !segment_dense_tile_fit(task, &state->sides, reach, &state->tile))
        return stn_fail(
            error, STN_ERROR_UNSUPPORTED,
            "%d fused steps of these weights reach too far for these tiles, or do not suit the sides: make a "
            "new plan with strategy auto",
            state->tile.fused);
    state->tile.even = state->sides.even;
    state->real = (!made || state->real) && (state->tile.even || stn_taps_point_symmetric(task));
    state->lengths = stn_fused_lengths(task, state->tile.launches);
    state->table_bytes = 0;
    for (int k = 0; k < state->lengths; k++) {
        tile_table_layout *layout = &state->layouts[k];
        layout->fused = (uint64_t)stn_fused_steps(task, state->tile.launches, k);
        layout->operands = state->table_bytes;
        layout->symbol = layout->operands + (size_t)stn_round_up((int64_t)(matrices_size(&state->tile) * size), 256);
        state->table_bytes =
            layout->symbol + (size_t)stn_round_up((int64_t)(symbol_size(&state->tile, state->real) * size), 256);
    }
    return STN_OK;
}

static stn_status fill_tables(const stn_task *task, const segment_dense_tile *tile, bool real,
                              const tile_table_layout *layout, unsigned char *tables, stn_error *error) {
    const size_t count = matrices_size(tile), symbols = symbol_size(tile, real);
    double *values = malloc((count + symbols) * sizeof *values);
    if (!values) return stn_fail_memory(error, "a symbol", (count + symbols) * sizeof *values);
    stn_status status = make_tables_of_launch(task, tile, real, layout->fused, values, values + count, error);
    if (status == STN_OK) {
        segment_put(task, values, count, tables + layout->operands);
        segment_put(task, values + count, symbols, tables + layout->symbol);
    }
    free(values);
    return status;
}

/* Writes the tables to the device. There are none without a GPU, nor for a plan that is only
 * inspected. */
static stn_status make_tables(const stn_plan *plan, tile_state *state, stn_error *error) {
    struct stn_device *device = plan->context->device;
    void *tables = NULL;
    if (!device || stn_kernels_miss(plan->kernels)) return STN_OK;
    unsigned char *host = calloc(1, state->table_bytes);
    stn_status status = host ? STN_OK : stn_fail_memory(error, "tables of a symbol", state->table_bytes);
    for (int k = 0; k < state->lengths && status == STN_OK; k++)
        status = fill_tables(&plan->task, &state->tile, state->real, &state->layouts[k], host, error);
    if (status == STN_OK) status = stn_device_replace(device, &tables, 0, host, state->table_bytes, error);
    free(host);
    if (status == STN_OK)
        state->tables = tables;
    else
        stn_device_free(device, tables);
    return status;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    tile_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    state->tile = tile_of(&plan->candidate);
    state->at = stn_task_layouts(&plan->task, (uint64_t)state->tile.launches);
    STN_TRY(lay_out_tables(&plan->task, state, false, error));
    STN_TRY(get_kernel(plan, state, error));
    STN_TRY(make_tables(plan, state, error));
    if (state->tile.margins) STN_TRY(stn_faces_create(plan, state->tile.launches, &state->faces, error));
    plan->workspace_size = stn_grid_bytes(&state->at) + stn_faces_workspace(state->faces);
    return STN_OK;
}

/* Weights at least as symmetric as the old ones need no compilation: only tables change. */
static stn_status set_weights(stn_plan *plan, stn_error *error) {
    tile_state *state = plan->state, next = *state;
    next.tables = NULL;
    STN_TRY(lay_out_tables(&plan->task, &next, true, error));
    STN_TRY(get_kernel(plan, &next, error)); /* Reuses the kernel if it does not change. */
    stn_status status = make_tables(plan, &next, error);
    if (status == STN_OK) status = stn_faces_set_weights(plan, next.faces, error);
    stn_device_free(plan->context->device, status == STN_OK ? state->tables : next.tables);
    if (status == STN_OK) *state = next;
    return status;
}

static void release(stn_plan *plan) {
    tile_state *state = plan->state;
    stn_faces_destroy(state->faces);
    stn_device_free(plan->context->device, state->tables);
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_status launch_tiles(const stn_plan *plan, const tile_table_layout *layout, const stn_fused_launch *l,
                               stn_error *error) {
    const tile_state *state = plan->state;
    const segment_dense_tile *tile = &state->tile;
    const stn_task *task = &plan->task;
    const segment_dense_tile_block block = segment_dense_tile_block_of(task, tile);
    const unsigned char *tables = state->tables;
    _Alignas(16) unsigned char arguments[sizeof(tile_header) + 16];
    int64_t counts[3];
    tile_header h = {.in = l->in,
                     .out = l->out,
                     .operands = tables + layout->operands,
                     .symbol = tables + layout->symbol,
                     .in_far = {l->from->stride[0], l->from->stride[1], l->from->batch},
                     .out_far = {l->to->stride[0], l->to->stride[1], l->to->batch}};
    h.all = (uint32_t)segment_dense_tile_count(task, tile, counts);
    for (int k = 0; k < 3; k++) {
        h.n[k] = task->n[k], h.tiles[k] = (uint32_t)counts[k], h.by_tiles[k] = stn_divisor_of(counts[k]);
        h.lead[k] = tile->lead[k], h.useful[k] = tile->useful[k];
        h.before[k] = tile->lead[k] + (k == 2 ? tile->shift : 0);
    }
    memcpy(arguments, &h, sizeof h);
    size_t at = sizeof h;
    for (int i = 0; i < 2; i++) at += stn_put_real(task->dtype, state->sides.past, arguments + at);
    return stn_kernel_launch(state->kernel, state->blocks, 32 * block.warps, block.shared, arguments, l->stream, error);
}

static stn_status run_launch(const stn_plan *plan, uint64_t i, const stn_fused_launch *l, stn_error *error) {
    const tile_state *state = plan->state;
    const int length = stn_fused_length(&plan->task, state->tile.launches, i);
    STN_TRY(launch_tiles(plan, &state->layouts[length], l, error));
    return stn_faces_run(plan, state->faces, length, l, error);
}

static uint64_t launches(const stn_plan *plan) {
    const tile_state *state = plan->state;
    return (uint64_t)state->tile.launches;
}

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *at, stn_error *error) {
    const tile_state *state = plan->state;
    return stn_ping_pong_run(plan, &state->at, launches(plan), part, at, run_launch, error);
}

/* ---- description ----------------------------------------------------------------------------- */

static void print_tile(const stn_task *task, const segment_dense_tile *tile, stn_text *text) {
    int points[3];
    segment_dense_tile_points(tile, points);
    stn_text_printf(text, ", tiles of ");
    for (int k = points[0] > 1 ? 0 : 1; k < 3; k++) stn_text_printf(text, k < 2 ? "%d x " : "%d points, ", points[k]);
    for (int k = points[0] > 1 ? 0 : 1; k < 3; k++)
        stn_text_printf(text, k < 2 ? "%d x " : "%d of them outputs, ", tile->useful[k]);
    stn_text_printf(text, "by %s products", tile->even ? "real" : "complex");
    segment_dense_describe(task->dtype, tile->fragment, text);
    if (tile->margins) stn_text_printf(text, ", margins stepped");
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const tile_state *state = plan->state;
    const segment_dense_tile *tile = &state->tile;
    if (format == STN_TEXT) {
        stn_text_printf(text, "%d launch%s of %d fused steps", tile->launches, tile->launches == 1 ? "" : "es",
                        tile->fused);
        if (state->lengths == 2) stn_text_printf(text, " or %d", tile->fused - 1);
        print_tile(&plan->task, tile, text);
        stn_text_printf(text, ", they reach %d, %d and %d points along z, y and x", tile->reach[0], tile->reach[1],
                        tile->reach[2]);
        return;
    }
    int points[3];
    segment_dense_tile_points(tile, points);
    stn_json_value(text, "fused_steps", tile->fused);
    stn_json_value(text, "launches", tile->launches);
    stn_json_value(text, "tile_z", points[0]);
    stn_json_value(text, "tile_y", points[1]);
    stn_json_value(text, "tile_x", points[2]);
    stn_json_value(text, "useful_z", tile->useful[0]);
    stn_json_value(text, "useful_y", tile->useful[1]);
    stn_json_value(text, "useful_x", tile->useful[2]);
    stn_json_value(text, "margins", tile->margins);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    const segment_dense_tile tile = tile_of(candidate);
    stn_text_printf(text, "%d steps a launch", tile.fused);
    print_tile(task, &tile, text);
}

STN_FUSED_SHORTEN(segment_dense_tile, tile_of)

const stn_strategy segment_dense_tiles = {
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
