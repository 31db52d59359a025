/* Kernels, tables and launches of the passes over rows and columns. */
#include "strategies/spectral/spectral_passes.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/compile_batch.h"
#include "context/context.h"
#include "context/kernel.h"
#include "host/pool.h"
#include "render/render.h"
#include "strategies/common/grid_layout.h"
#include "strategies/spectral/spectral_arguments.h"

/* ---- kernels --------------------------------------------------------------------------------- */

/* Whether some columns of the pass that applies the symbol have no points, only a source. */
static bool has_columns_without_points(const spectral_shape *shape) {
    const spectral_choice *c = &shape->choice;
    return c->with_points[2] < c->kept[2] || (shape->last == 0 && c->with_points[1] < c->kept[1]);
}

bool spectral_solves_decayed_modes(const spectral_state *state) {
    return state->source.decayed_modes && state->shape.symbol.plain && has_columns_without_points(&state->shape);
}

static stn_status make_pass(stn_plan *plan, const spectral_state *state, spectral_pass *pass, stn_error *error) {
    const spectral_shape *shape = &state->shape;
    const bool sources = state->source.has;
    const stn_task *task = &plan->task;
    const stn_shared_fft *line = &shape->line[pass->axis];
    if (pass->axis == 1 && spectral_tiled(&shape->choice))
        return spectral_make_march(plan, shape, &pass->kernel, error);
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, task->dtype);
    stn_shared_fft_params(line, &params);
    stn_extension_params(&shape->axis[pass->axis], &params);
    stn_params_int(&params, "SPECTRUM_GROUP", shape->choice.group);
    const char *name = "spectral_rows";
    bool rows = pass->axis == 2;
    stn_params_int(&params, "EXPECTED_HEADER",
                   rows ? sizeof(spectral_rows_arguments) : sizeof(spectral_columns_arguments));
    if (rows) {
        const bool even = shape->axis[2].before % 2 == 0; /* A pair of points is one access. */
        const bool unaligned = pass->direction == SPECTRAL_BACK && task->snapshots > 1 &&
                               task->snapshot_stride * (int64_t)stn_dtype_size(task->dtype) % 16 != 0;
        stn_params_int(&params, "VECTOR", even && !unaligned && stn_task_vector(task) > 1 ? 2 : 1);
        stn_params_int(&params, "STRIPS", shape->choice.step[1] > 0);
        stn_params_int(&params, "SPECTRUM_ADDS", task->sum && pass->direction == SPECTRAL_BACK);
        stn_params_int(&params, "SPECTRUM_IN_OUTPUT", shape->slabs.held > 0);
        stn_params_int(&params, "SPECTRUM_BACK", pass->direction == SPECTRAL_BACK);
        stn_params_int(&params, "FROZEN_LOW", spectral_frozen(&shape->axis[2], 0));
        stn_params_int(&params, "FROZEN_HIGH", spectral_frozen(&shape->axis[2], 1));
    } else {
        name = "spectral_columns";
        stn_params_int(&params, "DIRECTION", pass->direction);
        const bool slabs = spectral_in_slabs(&shape->choice), stack = task->snapshots > 1;
        stn_params_int(&params, "SPECTRUM_ELSEWHERE", pass->direction == SPECTRAL_BOTH ? stack : 2 * slabs);
        stn_params_int(&params, "COLUMN_ODD_ROWS", pass->direction != SPECTRAL_BOTH && shape->slabs.uneven);
        stn_params_int(&params, "COLUMN_SLABS", slabs);
        stn_params_int(&params, "SOURCES",
                       sources && pass->direction == SPECTRAL_BOTH ? (shape->last == 0 ? 2 : 1) : 0);
        const bool meets_symbol = pass->direction == SPECTRAL_BOTH;
        stn_params_int(&params, "SYMBOL", !meets_symbol ? 0 : shape->symbol.taps ? 2 : !shape->symbol.plain);
        stn_params_int(&params, "SYMBOL_ANGLE_SUM", 0);
        stn_params_int(&params, "SYMBOL_SUM", meets_symbol && task->sum);
        stn_params_int(&params, "COLUMN_PARTS", stn_max(1, shape->choice.parts));
        stn_params_int(&params, "COLUMN_STEP", shape->choice.parts ? spectral_parts_step(task, &shape->choice) : 0);
        stn_params_int(&params, "COLUMNS_DECAYED",
                       !meets_symbol                          ? 0
                       : spectral_solves_decayed_modes(state) ? 2
                                                              : has_columns_without_points(shape));
        stn_params_int(&params, "SYMBOL_HIGH", shape->symbol.high);
        stn_params_int(&params, "SYMBOL_LOW", shape->symbol.low);
    }
    size_t shared = stn_shared_fft_bytes(line, spectral_wide(task));
    return stn_kernel_make(plan->kernels, name, &params, shared, &pass->kernel, error);
}

stn_status spectral_make_passes(stn_plan *plan, spectral_state *state, stn_error *error) {
    int count = 0;
    state->pass[count++] = (spectral_pass){2, SPECTRAL_FORWARD, NULL};
    if (state->shape.last == 0) state->pass[count++] = (spectral_pass){1, SPECTRAL_FORWARD, NULL};
    state->shared_passes = count;
    state->pass[count++] = (spectral_pass){state->shape.last, SPECTRAL_BOTH, NULL};
    if (state->shape.last == 0) state->pass[count++] = (spectral_pass){1, SPECTRAL_BACK, NULL};
    state->pass[count++] = (spectral_pass){2, SPECTRAL_BACK, NULL};
    for (int p = 0; p < count; p++) STN_TRY(make_pass(plan, state, &state->pass[p], error));
    state->count = count;
    return STN_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The frequency at index `place` along y of a spectrum that keeps |k| < kept. */
static int64_t frequency_at(int64_t place, int64_t kept, int64_t length) {
    if (2 * kept > length || place < kept) return place;
    return place - (2 * kept - 1) + length;
}

typedef struct parts_job {
    const spectral_shape *shape;
    const stn_task *task;
    const stn_symbol_tables *roots;
    double *parts;
    /* row: number of lines computed together, as a group. rows: number of groups, if group k equals
     * group rows - k; otherwise both are 1. */
    int64_t row, rows;
    atomic_bool failed;
} parts_job;

/* Frequencies of `count` lines along the first of the other axes, then along the second. Padding
 * between rows gets frequency 0. */
static void place_lines(const spectral_shape *shape, int64_t first, int64_t count, int64_t *at) {
    const spectral_choice *c = &shape->choice;
    const int64_t width = shape->last == 0 ? shape->pitch : shape->columns;
    int64_t x = first % width, y = first / width;
    for (int64_t i = 0; i < count; i++) {
        at[i] = shape->last == 0 ? frequency_at(y, c->kept[1], c->length[1]) : 0;
        at[count + i] = x < c->kept[2] ? x : 0;
        if (++x == width) x = 0, y++;
    }
}

static void make_parts(void *user, int64_t begin, int64_t end) {
    parts_job *j = user;
    const int64_t first = begin * j->row, count = (end - begin) * j->row, doubles = j->row * j->shape->symbol.parts;
    int64_t *const at = malloc(2 * (size_t)count * sizeof *at);
    if (at) place_lines(j->shape, first, count, at);
    const int64_t *const place[2] = {at, at + (at ? count : 0)};
    if (!at || !stn_symbol_parts_by(&j->shape->symbol, j->task, j->roots, count, place, j->parts + begin * doubles))
        atomic_store(&j->failed, true);
    free(at);
    for (int64_t k = begin > 1 ? begin : 1; k < end && 2 * k < j->rows; k++)
        memcpy(j->parts + (j->rows - k) * doubles, j->parts + k * doubles, (size_t)doubles * sizeof *j->parts);
}

/* 3D: rows of lines at opposite frequencies along y may be equal. */
static void find_mirrored(parts_job *j) {
    const spectral_shape *shape = j->shape;
    const spectral_choice *c = &shape->choice;
    const int64_t rows = shape->last == 0 ? shape->columns / shape->pitch : 0;
    j->row = j->rows = 1;
    if (rows < 3 || rows * shape->pitch != shape->columns || !stn_symbol_mirrored(&shape->symbol, j->task)) return;
    for (int64_t k = 1; k < rows; k++)
        if (frequency_at(k, c->kept[1], c->length[1]) + frequency_at(rows - k, c->kept[1], c->length[1]) !=
            c->length[1])
            return;
    j->row = shape->pitch, j->rows = rows;
}

/* One thread takes 0.1 s for half a million lines of a large grid, or for ten thousand of a stencil
 * with many taps, so several threads share them. They are a separate pool, as for compiling,
 * because this may run in the context's pool. */
static bool make_all_parts(const stn_context *context, parts_job *job) {
    enum { TERMS = 65536, LINES = 512, THREADS = 16 };
    find_mirrored(job);
    const int64_t count = job->rows > 1 ? job->rows / 2 + 1 : job->shape->columns;
    const int64_t per_task = stn_max(1, stn_max(LINES, TERMS / (int64_t)job->task->ntaps) / job->row);
    const int64_t threads = stn_min(stn_min(stn_compile_threads(context), THREADS), count / per_task);
    stn_symbol_tables *const roots = stn_symbol_tables_make(&job->shape->symbol);
    stn_pool *pool = NULL;
    if (!roots) return false;
    job->roots = roots;
    if (threads > 1) (void)stn_pool_create((int)threads, &pool, NULL);
    stn_pool_for(pool, count, per_task, make_parts, job);
    stn_pool_destroy(pool);
    stn_symbol_tables_free(roots);
    return !atomic_load(&job->failed);
}

/* Computes the coefficients of every line of the last axis; those of padding are unused. */
static stn_status fill_parts(const stn_plan *plan, const spectral_shape *shape, double *parts, stn_error *error) {
    const int64_t count = shape->columns;
    parts_job job = {.shape = shape, .task = &plan->task, .parts = parts};
    const bool good = make_all_parts(plan->context, &job);
    /* Lines of taps have the data's own type. */
    if (good && shape->symbol.taps && !spectral_wide(&plan->task))
        for (int64_t i = 0; i < count * shape->symbol.parts; i++) {
            float narrow = (float)parts[i];
            memcpy((float *)(void *)parts + i, &narrow, sizeof narrow);
        }
    return good ? STN_OK : stn_fail_memory(error, "the roots of a symbol", (size_t)count * 32);
}

/* Sets the offset of each table. */
static void place_tables(const stn_task *task, spectral_state *state) {
    const spectral_shape *shape = &state->shape;
    bool wide = spectral_wide(task);
    state->size = 0;
    for (int axis = shape->last; axis < 3; axis++)
        state->twiddles[axis] =
            spectral_room(&state->size, stn_shared_fft_twiddles(&shape->line[axis], wide, NULL) + 16);
    state->half = spectral_room(&state->size, stn_shared_fft_half_twiddles(&shape->line[2], wide, NULL));
    state->angles = spectral_room(&state->size, stn_symbol_angles(&shape->symbol, NULL) * sizeof(double));
    state->parts = spectral_room(&state->size, (size_t)(shape->columns * shape->symbol.parts) * sizeof(double));
}

stn_status spectral_make_tables(stn_plan *plan, spectral_state *state, stn_error *error) {
    const spectral_shape *shape = &state->shape;
    bool wide = spectral_wide(&plan->task);
    size_t before = state->size;
    state->largest = stn_symbol_largest(&plan->task, shape->symbol.length);
    state->decay_bound = spectral_decay_bound_of(&plan->task, state->largest, state->source.has);
    place_tables(&plan->task, state);
    if (!plan->machine.present || stn_kernels_miss(plan->kernels)) return STN_OK;
    unsigned char *tables = calloc(1, state->size);
    if (!tables) return stn_fail_memory(error, "the tables of a plan", state->size);
    for (int axis = shape->last; axis < 3; axis++)
        stn_shared_fft_twiddles(&shape->line[axis], wide, tables + state->twiddles[axis]);
    stn_shared_fft_half_twiddles(&shape->line[2], wide, tables + state->half);
    stn_symbol_angles(&shape->symbol, (double *)(void *)(tables + state->angles));
    stn_status status = fill_parts(plan, shape, (double *)(void *)(tables + state->parts), error);
    const size_t size = state->size;
    if (status == STN_OK)
        status = stn_device_replace(plan->context->device, &state->tables, before, tables, size, error);
    free(tables);
    return status;
}

/* ---- launches -------------------------------------------------------------------------------- */

static const void *table(const spectral_state *state, size_t at) { return (const unsigned char *)state->tables + at; }

/* The data of each snapshot of a stack follows the spectrum that all snapshots share. */
static void *spectrum_of(const stn_task *task, const spectral_shape *shape, const spectral_pass *pass,
                         const stn_execution *run) {
    const bool second = pass->direction == SPECTRAL_BACK && task->snapshots > 1;
    return (unsigned char *)run->workspace + (second ? spectral_workspace(task, shape) / 2 : 0);
}

static stn_status run_rows(const stn_plan *plan, const spectral_state *state, const spectral_pass *pass,
                           const stn_execution *run, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_shape *shape = &state->shape;
    spectral_rows_arguments a = {.in = run->in, .out = run->out, .spectrum = spectrum_of(task, shape, pass, run)};
    a.twiddles = table(state, state->twiddles[2]), a.half = table(state, state->half);
    a.in_z = task->in_stride[0], a.in_y = task->in_stride[1], a.in_batch = task->in_batch_stride;
    a.out_z = task->out_stride[0], a.out_y = task->out_stride[1], a.out_batch = task->out_batch_stride;
    a.pitch = shape->pitch, a.plane = shape->plane;
    if (spectral_in_slabs(&shape->choice)) a.pitch = shape->slabs.pitch, a.plane = shape->slabs.plane;
    a.held = shape->slabs.held, a.skip = shape->slabs.skip;
    a.planes = (int32_t)task->n[0], a.ny = (int32_t)task->n[1];
    a.kept = pass->direction == SPECTRAL_FORWARD ? shape->choice.with_points[2] : shape->choice.kept[2];
    a.tiles = (int32_t)stn_div_up(task->n[1], shape->line[2].lines);
    a.x = (spectral_extension_arguments){(int32_t)shape->axis[2].n, (int32_t)shape->axis[2].before};
    a.strips = shape->strips, a.step = shape->choice.step[1], a.width = (int32_t)shape->width;
    a.frozen_z_low = spectral_frozen(&shape->axis[0], 0), a.frozen_z_high = spectral_frozen(&shape->axis[0], 1);
    a.frozen_low = spectral_frozen(&shape->axis[1], 0), a.frozen_high = spectral_frozen(&shape->axis[1], 1);
    return spectral_launch(plan, state, 2, pass->kernel, a.strips * a.tiles * task->n[0] * task->batch, &a, run->stream,
                           error);
}

void spectral_columns_of(const stn_plan *plan, const spectral_state *state, const spectral_pass *pass,
                         uint64_t snapshot, spectral_columns_arguments *a) {
    const stn_task *task = &plan->task;
    const spectral_shape *shape = &state->shape;
    const spectral_choice *choice = &shape->choice;
    const int *length = choice->length;
    const bool slowest = pass->axis == 0, applies_symbol = pass->direction == SPECTRAL_BOTH;
    *a = (spectral_columns_arguments){.twiddles = table(state, state->twiddles[pass->axis])};
    a->symbol.parts = table(state, state->parts), a->symbol.angles = table(state, state->angles);
    /* Later snapshots decay at least as far. */
    a->symbol.steps = (snapshot + 1) * task->steps, a->symbol.decay_bound = state->decay_bound;
    a->symbol.scale = 0.5 / ((double)length[0] * length[1] * length[2]);
    a->kept = choice->kept[pass->axis];
    a->with_points = choice->with_points[applies_symbol ? 2 : pass->axis];
    a->width = (int32_t)shape->pitch;
    a->across = slowest ? length[1] : 1;
    a->with_points_across = slowest ? choice->with_points[1] : 1;
    a->along =
        (spectral_extension_arguments){(int32_t)shape->axis[pass->axis].n, (int32_t)shape->axis[pass->axis].before};
}

static stn_status run_columns(const stn_plan *plan, const spectral_state *state, const spectral_pass *pass,
                              uint64_t snapshot, const stn_execution *run, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_shape *shape = &state->shape;
    const spectral_choice *choice = &shape->choice;
    bool slowest = pass->axis == 0, applies_symbol = pass->direction == SPECTRAL_BOTH;
    spectral_columns_arguments a;
    spectral_columns_of(plan, state, pass, snapshot, &a);
    a.spectrum = spectrum_of(task, shape, pass, run);
    a.result = (unsigned char *)run->workspace + spectral_workspace(task, shape) / 2;
    a.pitch = slowest ? shape->plane : shape->pitch;
    a.plane = slowest ? shape->grid : shape->plane;
    a.columns = (int32_t)(applies_symbol                        ? shape->columns
                          : pass->direction == SPECTRAL_FORWARD ? choice->with_points[2]
                                                                : choice->kept[2]);
    a.tiles = spectral_in_parts(choice) ? a.columns : (int32_t)stn_div_up(a.columns, shape->line[pass->axis].lines);
    if (applies_symbol && state->source.has) spectral_source_arguments_of(state, run, 0, &a);
    if (applies_symbol && spectral_solves_decayed_modes(state)) {
        void *const to = task->snapshots > 1 ? a.result : a.spectrum;
        STN_TRY(spectral_run_decayed_modes(plan, state, to, 0, NULL, run, error));
        a.tiles = (int32_t)(stn_div_up(a.with_points, shape->line[0].lines) * spectral_rows_with_points(shape));
    }
    int64_t planes = (slowest ? 1 : task->n[0]) * task->batch;
    return spectral_launch(plan, state, pass->axis, pass->kernel, a.tiles * planes, &a, run->stream, error);
}

stn_status spectral_run_pass(const stn_plan *plan, const spectral_state *state, const spectral_pass *pass,
                             uint64_t snapshot, const stn_execution *run, stn_error *error) {
    if (pass->axis == 2) return run_rows(plan, state, pass, run, error);
    if (spectral_tiled(&state->shape.choice)) return spectral_run_march(plan, state, pass->kernel, run, error);
    return run_columns(plan, state, pass, snapshot, run, error);
}
