/* direct: steps on the CUDA cores. Any taps, dtype, boundary and stride; the stepping path on the GPU.
 *
 * One step a launch: direct_line (1D), direct_tile (2D and 3D) and direct_gather (stencils too large to unroll, and grids
 * whose fastest axis is strided); how these are shaped is in direct_shape.c. Several steps a launch: direct_time_*, in
 * direct_time.c. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "strategies/direct_shape.h"
#include "strategies/direct_time.h"
#include "strategies/layout.h"

/* Arguments as the kernels declare them; values (constants, then weights) follow in the kernel's arithmetic type. */
typedef struct line_header {
    const void *in;
    void *out;
    int64_t nx, in_batch, out_batch, tiles;
} line_header;
typedef struct tile_header {
    const void *in;
    void *out;
    int64_t in_z, in_y, out_z, out_y, in_batch, out_batch;
    int32_t nz, ny, nx, tiles_x, tiles_y, tiles_z;
} tile_header;
typedef struct time_header {
    const void *in;
    void *out;
    int64_t nz, ny, nx, in_z, in_y, out_z, out_y, in_batch, out_batch, tiles;
    int32_t tiles_x, tiles_y, tiles_z, chunk;
} time_header;
typedef struct gather_header {
    const void *in;
    void *out;
    void *taps;
    int64_t nz, ny, nx, in_z, in_y, in_x, out_z, out_y, out_x, in_batch, out_batch, points;
    int32_t ntaps, unused;
} gather_header;

/* A kernel and what it takes besides the grids. */
typedef struct pass {
    direct_shape shape;
    stn_kernel *kernel;
    size_t slot; /* in plan->kernels */
    size_t values_size;
    unsigned char values[4096]; /* constants and weights, as the kernel takes them */
} pass;

typedef struct direct_state {
    pass most, rest; /* all launches but perhaps one, and that one: the steps that a fused kernel leaves over */
    bool has_rest;
    stn_layouts at;
    void *taps; /* direct_gather: the table, device memory */
} direct_state;

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    if (!machine->is_device) {
        snprintf(reason, reason_size, "it needs a GPU and this context is for the host");
        return false;
    }
    if (stn_task_points(task) / 128 > INT64_C(0x7fffffff)) {
        snprintf(reason, reason_size, "the grid has more than 2^38 points");
        return false;
    }
    return true;
}

/* Blocks of one launch; direct_gather takes what it gets. */
static int64_t block_count(const stn_task *task, const direct_shape *shape) {
    int64_t tiles[3] = {1, 1, 1};
    if (shape->kernel == DIRECT_LINE)
        tiles[2] = stn_div_up(task->n[2], (int64_t)shape->vector * shape->rows * shape->threads[2]);
    else if (shape->fused > 1)
        direct_time_tiles(task, shape, tiles);
    else if (shape->kernel == DIRECT_TILE)
        direct_tiles(task, shape, tiles);
    else
        return 1;
    int64_t blocks = tiles[0] * tiles[1] * tiles[2];
    return stn_mul_overflows(blocks, task->batch, &blocks) ? INT64_MAX : blocks;
}

/* A shape that needs more blocks than a launch can have is left out. */
static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    direct_shape shapes[STN_CANDIDATES + 32];
    size_t least = most < STN_CANDIDATES ? most : STN_CANDIDATES, room = sizeof shapes / sizeof *shapes;
    size_t count = direct_shapes(task, machine, shapes, least < 8 ? least : 8), kept = 0;
    count += direct_time_shapes(task, machine, shapes + count, least - count);
    if (most > STN_CANDIDATES)
        count += direct_variants(task, machine, shapes, count, shapes + count, (most < room ? most : room) - count);
    for (size_t i = 0; i < count; i++)
        if (block_count(task, &shapes[i]) <= INT32_MAX) memcpy(list[kept++].values, &shapes[i], sizeof shapes[i]);
    return kept;
}

static direct_shape shape_of(const stn_candidate *candidate) {
    direct_shape shape;
    memcpy(&shape, candidate->values, sizeof shape);
    return shape;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    direct_shape shape = shape_of(candidate);
    if (shape.fused > 1)
        direct_time_cost(task, machine, &shape, result);
    else
        direct_cost(task, machine, &shape, result);
}

/* ---- building -------------------------------------------------------------------------------------------------- */

/* The two values of each axis, then the weights in the order in which the kernel takes them. */
static void fill_values(const stn_task *task, pass *p) {
    double values[sizeof p->values / 4];
    size_t count = 0;
    int first_axis = p->shape.kernel == DIRECT_LINE ? 2 : 0;
    for (int k = first_axis; k < 3; k++)
        for (int side = 0; side < 2; side++)
            values[count++] = stn_task_outside(task, direct_axis(task, &p->shape, k), side);
    if (p->shape.fused > 1)
        count += direct_time_weights(task, &p->shape, values + count);
    else if (p->shape.kernel != DIRECT_GATHER) {
        uint16_t order[DIRECT_MAX_TAPS];
        direct_tap_order(task, &p->shape, order);
        for (size_t k = 0; k < task->ntaps; k++) values[count++] = task->taps[order[k]].weight;
    }
    p->values_size = 0;
    for (size_t i = 0; i < count; i++)
        p->values_size += stn_put_real(task->dtype, values[i], p->values + p->values_size);
}

typedef struct gather_tap64 {
    int64_t offset;
    double weight;
    int32_t z, y, x, unused;
} gather_tap64;
typedef struct gather_tap32 {
    int64_t offset;
    float weight;
    int32_t z, y, x;
} gather_tap32;

/* The table of direct_gather for one input layout at `to` (32 or 24 bytes a tap). */
static void fill_taps(const stn_task *task, const stn_grid_layout *in, unsigned char *to) {
    for (size_t k = 0; k < task->ntaps; k++) {
        const int64_t *o = task->taps[k].offset;
        int64_t linear = o[0] * in->stride[0] + o[1] * in->stride[1] + o[2] * in->stride[2];
        gather_tap64 wide = {linear, task->taps[k].weight, (int32_t)o[0], (int32_t)o[1], (int32_t)o[2], 0};
        gather_tap32 narrow = {linear, (float)task->taps[k].weight, wide.z, wide.y, wide.x};
        if (task->dtype == STN_F64)
            memcpy(to + k * sizeof wide, &wide, sizeof wide);
        else
            memcpy(to + k * sizeof narrow, &narrow, sizeof narrow);
    }
}

static size_t taps_size(const stn_task *task) {
    return task->ntaps * (task->dtype == STN_F64 ? sizeof(gather_tap64) : sizeof(gather_tap32));
}

/* Two tables, one for steps that read the user's grids, one for those that read the workspace, one after the other; out
 * has a third because its strides may differ from in's. */
static stn_status upload_taps(stn_plan *plan, direct_state *state, stn_error *error) {
    size_t size = taps_size(&plan->task);
    if (!size) return STN_OK; /* every stencil has a tap, but the analyser cannot see it */
    unsigned char *tables = malloc(3 * size);
    if (!tables) return stn_fail_memory(error, "the table of taps", 3 * size);
    fill_taps(&plan->task, &state->at.in, tables);
    fill_taps(&plan->task, &state->at.out, tables + size);
    fill_taps(&plan->task, &state->at.work, tables + 2 * size);
    stn_status status = STN_OK;
    if (!state->taps)
        status = stn_device_alloc(plan->context->device, 3 * size, &state->taps, error);
    else /* executions under way still read the old weights */
        status = stn_device_synchronize_all(plan->context->device, error);
    if (status == STN_OK) status = stn_device_upload(plan->context->device, state->taps, tables, 3 * size, error);
    free(tables);
    return status;
}

static stn_status get_kernel(stn_plan *plan, pass *p, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    direct_params(&plan->task, &p->shape, &params);
    size_t shared = p->shape.fused > 1 ? direct_time_shared(&plan->task, &p->shape) : 0;
    STN_TRY(stn_kernel_make(plan->context, direct_kernel_name(&p->shape), &params, shared, &p->kernel, error));
    plan->kernels[p->slot] = p->kernel;
    return STN_OK;
}

static stn_status prepare_pass(stn_plan *plan, pass *p, stn_error *error) {
    fill_values(&plan->task, p);
    p->slot = plan->nkernels;
    STN_TRY(get_kernel(plan, p, error));
    plan->nkernels++;
    if (p->shape.kernel == DIRECT_GATHER && plan->machine.present) return upload_taps(plan, plan->state, error);
    return STN_OK;
}

static uint64_t launches(const stn_plan *plan) {
    const direct_state *state = plan->state;
    return plan->task.steps / (uint64_t)state->most.shape.fused + state->has_rest;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    direct_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    state->most.shape = shape_of(&plan->candidate);
    if (state->most.shape.fused > 1)
        state->has_rest = direct_time_rest(&plan->task, &plan->machine, &state->most.shape, &state->rest.shape);
    state->at = stn_task_layouts(&plan->task, launches(plan));
    plan->workspace_size = state->at.work_bytes;
    STN_TRY(prepare_pass(plan, &state->most, error));
    return state->has_rest ? prepare_pass(plan, &state->rest, error) : STN_OK;
}

/* A kernel that adds opposite points first is no longer right when their weights differ: then another takes its place.
 * When that fails, kernel and values stay those of the old weights. */
static stn_status renew_pass(stn_plan *plan, pass *p, stn_error *error) {
    if (p->shape.fused > 1 && !direct_time_mirror_holds(&plan->task, &p->shape)) {
        pass renewed = *p;
        renewed.shape.mirror = direct_time_mirror(&plan->task, &p->shape);
        STN_TRY(get_kernel(plan, &renewed, error));
        *p = renewed;
    }
    fill_values(&plan->task, p);
    if (p->shape.kernel == DIRECT_GATHER && plan->machine.present) return upload_taps(plan, plan->state, error);
    return STN_OK;
}

static stn_status set_weights(stn_plan *plan, stn_error *error) {
    direct_state *state = plan->state;
    STN_TRY(renew_pass(plan, &state->most, error));
    return state->has_rest ? renew_pass(plan, &state->rest, error) : STN_OK;
}

static void release(stn_plan *plan) {
    direct_state *state = plan->state;
    if (!state) return;
    if (state->taps) stn_device_free(plan->context->device, state->taps);
    free(state);
    plan->state = NULL;
}

/* ---- running --------------------------------------------------------------------------------------------------- */

/* A grid and where it lies, as a launch reads or writes it. */
typedef struct side {
    const stn_grid_layout *at;
    void *data;
} side;

/* The kernel's arguments before the values; returns their size and how many blocks there are. */
static size_t line_arguments(const stn_task *task, const direct_shape *shape, side from, side to, void *arguments,
                             int64_t *blocks) {
    int64_t tiles = stn_div_up(task->n[2], (int64_t)shape->vector * shape->rows * shape->threads[2]);
    line_header h = {from.data, to.data, task->n[2], from.at->batch, to.at->batch, tiles};
    *blocks = tiles * task->batch;
    memcpy(arguments, &h, sizeof h);
    return sizeof h;
}

static size_t time_arguments(const stn_task *task, const direct_shape *shape, side from, side to, void *arguments,
                             int64_t *blocks) {
    int z = direct_axis(task, shape, 0), y = direct_axis(task, shape, 1), x = direct_axis(task, shape, 2);
    int64_t tiles[3];
    direct_time_tiles(task, shape, tiles);
    *blocks = tiles[0] * tiles[1] * tiles[2] * task->batch;
    time_header h = {.in = from.data, .out = to.data, .nz = task->n[z], .ny = task->n[y], .nx = task->n[x]};
    h.in_z = from.at->stride[z], h.in_y = from.at->stride[y], h.in_batch = from.at->batch;
    h.out_z = to.at->stride[z], h.out_y = to.at->stride[y], h.out_batch = to.at->batch;
    h.tiles = *blocks, h.chunk = shape->chunk;
    h.tiles_x = (int32_t)tiles[2], h.tiles_y = (int32_t)tiles[1], h.tiles_z = (int32_t)tiles[0];
    memcpy(arguments, &h, sizeof h);
    return sizeof h;
}

static size_t tile_arguments(const stn_task *task, const direct_shape *shape, side from, side to, void *arguments,
                             int64_t *blocks) {
    int z = direct_axis(task, shape, 0), y = direct_axis(task, shape, 1), x = direct_axis(task, shape, 2);
    int64_t tiles[3];
    direct_tiles(task, shape, tiles);
    *blocks = tiles[0] * tiles[1] * tiles[2] * task->batch;
    tile_header h = {.in = from.data, .out = to.data};
    h.in_z = from.at->stride[z], h.in_y = from.at->stride[y], h.in_batch = from.at->batch;
    h.out_z = to.at->stride[z], h.out_y = to.at->stride[y], h.out_batch = to.at->batch;
    h.nz = (int32_t)task->n[z], h.ny = (int32_t)task->n[y], h.nx = (int32_t)task->n[x];
    h.tiles_x = (int32_t)tiles[2], h.tiles_y = (int32_t)tiles[1], h.tiles_z = (int32_t)tiles[0];
    memcpy(arguments, &h, sizeof h);
    return sizeof h;
}

static size_t gather_arguments(const stn_task *task, const direct_shape *shape, side from, side to, void *table,
                               void *arguments, int64_t *blocks) {
    const stn_grid_layout *in = from.at, *out = to.at;
    int64_t points = stn_task_points(task);
    gather_header h = {.in = from.data, .out = to.data, .taps = table, .points = points, .ntaps = (int32_t)task->ntaps};
    h.nz = task->n[0], h.ny = task->n[1], h.nx = task->n[2];
    h.in_z = in->stride[0], h.in_y = in->stride[1], h.in_x = in->stride[2], h.in_batch = in->batch;
    h.out_z = out->stride[0], h.out_y = out->stride[1], h.out_x = out->stride[2], h.out_batch = out->batch;
    *blocks = stn_min(stn_div_up(points, shape->threads[2]), INT64_C(1) << 30); /* each walks on by the whole grid */
    memcpy(arguments, &h, sizeof h);
    return sizeof h;
}

/* One launch: the kernel's arguments on the stack. */
static stn_status launch(const stn_plan *plan, const pass *p, side from, side to, void *stream, stn_error *error) {
    const direct_state *state = plan->state;
    const direct_shape *shape = &p->shape;
    const stn_task *task = &plan->task;
    _Alignas(16) unsigned char arguments[sizeof(gather_header) + sizeof p->values];
    size_t header, table = from.at == &state->at.in ? 0 : from.at == &state->at.out ? 1 : 2;
    int64_t blocks;
    if (shape->kernel == DIRECT_LINE)
        header = line_arguments(task, shape, from, to, arguments, &blocks);
    else if (shape->fused > 1)
        header = time_arguments(task, shape, from, to, arguments, &blocks);
    else if (shape->kernel == DIRECT_TILE)
        header = tile_arguments(task, shape, from, to, arguments, &blocks);
    else
        header = gather_arguments(task, shape, from, to, (unsigned char *)state->taps + table * taps_size(task),
                                  arguments, &blocks);
    memcpy(arguments + header, p->values, p->values_size);
    stn_launch how = {.grid = {(unsigned)blocks, 1, 1}, .stream = stream};
    how.block[0] = (unsigned)(shape->threads[0] * shape->threads[1] * shape->threads[2]);
    how.block[1] = how.block[2] = 1;
    if (shape->fused > 1) how.shared = direct_time_shared(task, shape);
    return stn_module_launch(p->kernel->module, &how, arguments, error);
}

/* Launches by turns between workspace and out, so that the last one lands in out. In place and odd, the first would
 * read what it writes: it starts from a copy. */
static stn_status execute(stn_plan *plan, const void *in, void *out, void *workspace, void *stream, stn_error *error) {
    direct_state *state = plan->state;
    uint64_t count = launches(plan);
    side from = {&state->at.in, (void *)in};
    if (plan->task.in_place && count % 2) {
        STN_TRY(stn_device_copy(plan->context->device, workspace, in, plan->workspace_size, stream, error));
        from = (side){&state->at.work, workspace};
    }
    for (uint64_t i = 1; i <= count; i++) {
        const pass *p = state->has_rest && i == count ? &state->rest : &state->most;
        side to = (count - i) % 2 == 0 ? (side){&state->at.out, out} : (side){&state->at.work, workspace};
        STN_TRY(launch(plan, p, from, to, stream, error));
        from = to;
    }
    return STN_OK;
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const direct_state *state = plan->state;
    direct_describe(&state->most.shape, format, text);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    direct_shape shape = shape_of(candidate);
    (void)task;
    direct_name(&shape, text);
}

/* A shape serves any number of whole launches. */
static uint64_t shorten(const stn_task *task, const stn_candidate *candidate, uint64_t most, stn_candidate *trial) {
    uint64_t fused = (uint64_t)shape_of(candidate).fused;
    *trial = *candidate;
    return most < task->steps / fused ? most * fused : task->steps;
}

const stn_strategy stn_strategy_direct = {"direct",    applies,  candidates, estimate,       prepare, execute,
                                          set_weights, describe, release,    name_candidate, shorten};
