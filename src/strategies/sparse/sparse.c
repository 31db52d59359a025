/* Strategy sparse: f steps in one launch, as 2:4 sparse products on the tensor cores, after
 * SPTCStencil. f steps are one correlation with the taps' f-th power (common/stencil_power.h), with
 * any weights: a sum over its rows, each a banded matrix that is encoded on the host (encode.h).
 * Separable 2D taps are a chain of two such products, and sums of few separable terms are as many
 * chains. Kernels in kernel_templates/sparse: sparse_tile.cu; sparse_march.cu for few rows of 2D
 * taps; sparse_line.cu in 1D; sparse_chain.cu for terms. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "render/render.h"
#include "strategies/common/ping_pong.h"
#include "strategies/faces/margins.h"
#include "strategies/sparse/sparse_cost_model.h"
#include "strategies/sparse/sparse_operator.h"
#include "strategies/sparse/sparse_search.h"
#include "strategies/table.h"

/* Arguments as the kernel declares them; the scale follows. */
typedef struct tile_header {
    const void *in;
    void *out;
    const void *table;
    int64_t nz, ny, nx, in_z, in_y, in_batch, out_z, out_y, out_batch;
    int64_t iterations, march_blocks, steps, tiles_y, tiles_x;
} tile_header;
typedef struct chain_header {
    const void *in;
    void *out;
    const void *table;
    int64_t ny, nx, in_y, in_batch, out_y, out_batch;
    int64_t iterations, march_blocks, steps, tiles_x;
} chain_header;

typedef struct sparse_state {
    sparse_shape shape;
    stn_kernel *kernel;
    size_t noperators;
    sparse_operator operators[2]; /* by length of a launch (common/launches.h) */
    uint32_t *tables;             /* device memory, tables of all operators */
    stn_faces *faces;             /* NULL where all axes wrap */
    stn_layouts at;
} sparse_state;

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    const char *why = NULL;
    if (!machine->is_device)
        why = STN_NEEDS_GPU;
    else if (machine->sm < 80)
        why = "it needs sparse tensor cores: sm_80 or newer";
    else if (task->dtype == STN_F64)
        why = "sparse tensor cores have no f64";
    else if (task->rank == 3 && task->dtype == STN_F32)
        /* Only few steps fit into a launch. The rounding errors of many launches of smooth data are
         * correlated and add up: to 0.7% after 150 launches of a grid with mean 1. */
        why = "in 3D f32 would be computed in tf32, whose 11 bits err too much over many launches";
    else if (sparse_must_split(task) && task->rank != 2)
        why = "except in 2D, f32 is computed in tf32, which needs a tolerance of 5e-4 or more";
    else if (task->in_stride[2] != 1 || task->out_stride[2] != 1)
        why = "the fastest axis is strided";
    else if (stn_task_points(task) >> 37 || task->steps >> 31)
        why = "the grid has 2^37 points or more, or there are 2^31 steps or more";
    else if (!sparse_search_any(task, machine))
        why = "its taps reach too far, or their margins cover the grid, or the batch is too large";
    if (why) snprintf(reason, reason_size, "%s", why);
    return !why;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    sparse_shape best[STN_CANDIDATES];
    size_t count = sparse_search(task, machine, INT_MAX, best, most);
    for (size_t i = 0; i < count; i++) list[i] = stn_candidate_of(&best[i], sizeof best[i]);
    return count;
}

STN_CANDIDATE_READER(sparse_shape, shape_of)

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    sparse_shape shape = shape_of(candidate);
    sparse_cost(task, machine, &shape, result);
    stn_ping_pong_add_copy(task, machine, result->launches, result);
}

/* ---- building */

/* Uploads the tables of the task's weights into new device memory; none without a GPU. */
static stn_status make_tables(stn_plan *plan, sparse_state *state, stn_error *error) {
    size_t words = sparse_table_words(&plan->task, &state->shape) * state->noperators;
    uint32_t *host = calloc(words, sizeof *host);
    void *tables = NULL;
    if (!host) return stn_fail_memory(error, "a plan's weights", words * sizeof *host);
    stn_status status =
        sparse_operators_fill(&plan->task, &state->shape, state->operators, state->noperators, host, error);
    stn_device *device = plan->context->device;
    state->tables = NULL;
    if (status == STN_OK && device) status = stn_device_replace(device, &tables, 0, host, words * sizeof *host, error);
    free(host);
    if (status == STN_OK)
        state->tables = tables;
    else
        stn_device_free(device, tables);
    return status;
}

static stn_status get_kernel(stn_plan *plan, sparse_state *state, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    sparse_params(&plan->task, &state->shape, &params);
    stn_params_int(&params, "EXPECTED_HEADER", state->shape.terms ? sizeof(chain_header) : sizeof(tile_header));
    return stn_kernel_make(plan->kernels, sparse_kernel_name(&plan->task, &state->shape), &params,
                           sparse_shared(&plan->task, &state->shape), &state->kernel, error);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    sparse_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    state->shape = shape_of(&plan->candidate);
    const int launches = state->shape.launches;
    state->at = stn_task_layouts(&plan->task, (uint64_t)launches);
    state->noperators = (size_t)stn_fused_lengths(&plan->task, launches);
    for (int k = 0; k < 2; k++) state->operators[k].fused = stn_fused_steps(&plan->task, launches, k);
    STN_TRY(get_kernel(plan, state, error));
    STN_TRY(make_tables(plan, state, error));
    STN_TRY(stn_faces_create(plan, launches, &state->faces, error));
    plan->workspace_size = stn_grid_bytes(&state->at) + stn_faces_workspace(state->faces);
    return STN_OK;
}

/* The kernel takes any weights, so only tables change. */
static stn_status set_weights(stn_plan *plan, stn_error *error) {
    sparse_state *state = plan->state, next = *state;
    STN_TRY(make_tables(plan, &next, error));
    const stn_status status = stn_faces_set_weights(plan, next.faces, error);
    stn_device_free(plan->context->device, status == STN_OK ? state->tables : next.tables);
    next.shape.extended = stn_task_has_extension(&plan->task); /* the faces exist in any case */
    if (status == STN_OK) *state = next;
    return status;
}

static void release(stn_plan *plan) {
    sparse_state *state = plan->state;
    stn_faces_destroy(state->faces);
    stn_device_free(plan->context->device, state->tables);
}

/* ---- running */

/* Programmatic dependent launch: the kernel loads its left factors while the last blocks of the
 * preceding launch run, and waits for those. With faces, the preceding launch is theirs. */
static bool may_start_early(const stn_plan *plan, const sparse_shape *shape, const stn_fused_launch *l) {
    return l->follows && shape->extended && stn_plan_may_start_early(plan);
}

static stn_status launch_operator(const stn_plan *plan, const sparse_operator *op, const stn_fused_launch *l,
                                  stn_error *error) {
    const sparse_state *state = plan->state;
    const stn_task *task = &plan->task;
    const sparse_shape *shape = &state->shape;
    const stn_grid_layout *from = l->from, *to = l->to;
    sparse_tiles tiles = sparse_tiles_of(task, shape);
    const uint32_t *table = state->tables + (size_t)(op - state->operators) * sparse_table_words(task, shape);
    _Alignas(16) unsigned char arguments[sizeof(tile_header) + 16] = {0};
    size_t header;
    if (shape->terms) {
        chain_header h = {l->in,       l->out,        table,     task->n[1],        task->n[2],         from->stride[1],
                          from->batch, to->stride[1], to->batch, shape->iterations, tiles.march_blocks, tiles.steps,
                          tiles.x};
        memcpy(arguments, &h, header = sizeof h);
    } else {
        tile_header h = {l->in,
                         l->out,
                         table,
                         task->n[0],
                         task->n[1],
                         task->n[2],
                         from->stride[0],
                         from->stride[1],
                         from->batch,
                         to->stride[0],
                         to->stride[1],
                         to->batch,
                         shape->iterations,
                         tiles.march_blocks,
                         tiles.steps,
                         tiles.y,
                         tiles.x};
        memcpy(arguments, &h, header = sizeof h);
    }
    stn_put_real(task->dtype, op->scale, arguments + header);
    stn_launch launch = {.grid = {(unsigned)(task->batch * tiles.blocks), 1, 1},
                         .block = {32 * (unsigned)shape->warps, 1, 1},
                         .shared = sparse_shared(task, shape),
                         .stream = l->stream,
                         .early = may_start_early(plan, shape, l)};
    return stn_module_launch(state->kernel->module, &launch, arguments, error);
}

static stn_status run_launch(const stn_plan *plan, uint64_t i, const stn_fused_launch *l, stn_error *error) {
    const sparse_state *state = plan->state;
    const int length = stn_fused_length(&plan->task, state->shape.launches, i);
    STN_TRY(launch_operator(plan, &state->operators[length], l, error));
    return stn_faces_run(plan, state->shape.extended ? NULL : state->faces, length, l, error);
}

static uint64_t launches(const stn_plan *plan) { return (uint64_t)((const sparse_state *)plan->state)->shape.launches; }

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *at, stn_error *error) {
    const sparse_state *state = plan->state;
    return stn_ping_pong_run(plan, &state->at, launches(plan), part, at, run_launch, error);
}

/* ---- descriptions */

static const char *arithmetic(const stn_task *task, const sparse_shape *shape) {
    if (task->dtype == STN_F16) return shape->parts == 1 ? "sparse f16" : "sparse f16 x 2";
    static const char *const tf32[] = {"sparse tf32", "sparse tf32 x 2", "sparse tf32 x 3"};
    return tf32[sparse_products_of_factor(shape) - 1];
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const sparse_state *state = plan->state;
    const sparse_shape *shape = &state->shape;
    const stn_task *task = &plan->task;
    sparse_window w = sparse_window_of(task, shape);
    sparse_rows rows = {.all = 1};
    if (!shape->terms) sparse_rows_of(task, shape->fused, &rows);
    sparse_counts counts = sparse_count(task, shape);
    if (format == STN_TEXT) {
        stn_text_printf(text, "kernel %s, %d launches of %d fused steps", sparse_kernel_name(task, shape),
                        shape->launches, state->operators[0].fused);
        if (state->noperators == 2) stn_text_printf(text, " or %d", state->operators[1].fused);
        if (shape->terms > 1) stn_text_printf(text, ", %d separable terms", shape->terms);
        stn_text_printf(text,
                        ", %d row%s of %d taps in windows of %d points, %s products, %d warps a block; for each point "
                        "%.4g multiplications, %.4g elements and %.4g weights read by products",
                        rows.all, rows.all == 1 ? "" : "s", w.span + 1, sparse_columns(&w), arithmetic(task, shape),
                        shape->warps, counts.compute, counts.input, counts.parameters);
        return;
    }
    stn_json_text(text, "kernel", sparse_kernel_name(task, shape));
    stn_json_text(text, "arithmetic", arithmetic(task, shape));
    stn_json_value(text, "fused_steps", state->operators[0].fused);
    stn_json_value(text, "launches", shape->launches);
    stn_json_value(text, "rows", rows.all);
    stn_json_value(text, "terms", shape->terms);
    stn_json_value(text, "taps_of_row", w.span + 1);
    stn_json_value(text, "window", sparse_columns(&w));
    stn_json_value(text, "warps", shape->warps);
    stn_json_value(text, "stages", shape->stages);
    stn_json_value(text, "columns_beside", shape->adjacent_columns);
    stn_json_value(text, "walk", shape->iterations);
    stn_json_value(text, "multiplications_of_point", counts.compute);
    stn_json_value(text, "elements_of_point", counts.input);
    stn_json_value(text, "weights_of_point", counts.parameters);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    sparse_shape shape = shape_of(candidate);
    sparse_window w = sparse_window_of(task, &shape);
    sparse_counts counts = sparse_count(task, &shape);
    stn_text_printf(text, "%d steps a launch", shape.fused);
    if (shape.terms == 1) stn_text_printf(text, " as a chain");
    if (shape.terms > 1) stn_text_printf(text, " as %d chains", shape.terms);
    if (!shape.terms) stn_text_printf(text, ", %d columns side by side", shape.adjacent_columns);
    if (shape.adjacent_warps)
        stn_text_printf(text, ", in a ring of %d stages, %d tiles a block", shape.stages, shape.iterations);
    stn_text_printf(text,
                    ", windows of %d points, %s products, %d warps, %d block%s, a point takes %.4g multiplications, "
                    "%.4g elements, %.4g weights",
                    sparse_columns(&w), arithmetic(task, &shape), shape.warps, shape.blocks,
                    shape.blocks == 1 ? "" : "s", counts.compute, counts.input, counts.parameters);
}

STN_FUSED_SHORTEN(sparse_shape, shape_of)

const stn_strategy stn_strategy_sparse = {
    .name = "sparse",
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .least_seconds = sparse_least_seconds,
    .prepare = prepare,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .shorten = shorten,
    .launches = launches,
    .execute_part = execute_part,
};
