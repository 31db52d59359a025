/* The source of fixed and constant sides; see spectral_passes.h. Its values are defined next to the
 * faces, two per axis. A kernel computes them at each execution; the kernels of rows and columns
 * transform each face along its two axes.
 *
 *     z faces [2][y][x]: along x, y
 *     y faces [z][2][x]: along x, z
 *     x faces [z][y][2]: along y, z
 *
 * In 2D there is no z. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "strategies/spectral/spectral_arguments.h"
#include "strategies/spectral/spectral_passes.h"

enum { THREADS = 128 };

/* ---- kernels --------------------------------------------------------------------------------- */

/* Forward transform of faces along one axis, of values in the arithmetic type, with groups of one
 * row (SPECTRUM_GROUP). */
static stn_status make_transform(stn_plan *plan, spectral_state *state, int axis, stn_error *error) {
    const spectral_shape *shape = &state->shape;
    bool wide = spectral_wide(&plan->task);
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, wide ? STN_F64 : STN_F32);
    stn_shared_fft_params(&shape->line[axis], &params);
    stn_extension_params(&shape->axis[axis], &params);
    stn_params_int(&params, "SPECTRUM_GROUP", 1);
    stn_params_int(&params, "EXPECTED_HEADER",
                   axis == 2 ? sizeof(spectral_rows_arguments) : sizeof(spectral_columns_arguments));
    if (axis == 2) {
        stn_params_int(&params, "VECTOR", 1);
        stn_params_int(&params, "STRIPS", 0);
        stn_params_int(&params, "SPECTRUM_BACK", 0);
        stn_params_int(&params, "SPECTRUM_ADDS", 0);
        stn_params_int(&params, "SPECTRUM_IN_OUTPUT", 0);
        stn_params_int(&params, "FROZEN_LOW", 0);
        stn_params_int(&params, "FROZEN_HIGH", 0);
    } else {
        stn_params_int(&params, "DIRECTION", SPECTRAL_FORWARD);
        stn_params_int(&params, "SPECTRUM_ELSEWHERE", axis == 0 && shape->choice.decayed_solver);
        stn_params_int(&params, "SOURCES", 0);
        stn_params_int(&params, "SYMBOL", 0);
        stn_params_int(&params, "SYMBOL_ANGLE_SUM", 0);
        stn_params_int(&params, "SYMBOL_SUM", 0);
        stn_params_int(&params, "COLUMNS_DECAYED", 0);
        stn_params_int(&params, "COLUMN_PARTS", 1);
        stn_params_int(&params, "COLUMN_STEP", 0);
        stn_params_int(&params, "COLUMN_SLABS", 0);
        stn_params_int(&params, "COLUMN_ODD_ROWS", 0);
        stn_params_int(&params, "SYMBOL_HIGH", 0);
        stn_params_int(&params, "SYMBOL_LOW", 0);
    }
    return stn_kernel_make(plan->kernels, axis == 2 ? "spectral_rows" : "spectral_columns", &params,
                           stn_shared_fft_bytes(&shape->line[axis], wide), &state->source.transform[axis], error);
}

stn_status spectral_source_kernel(stn_plan *plan, struct stn_kernel **kernel, stn_error *error) {
    const stn_task *task = &plan->task;
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, task->dtype);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(spectral_source_arguments));
    stn_params_int(&params, "THREADS_X", THREADS);
    for (int axis = 0; axis < 3; axis++) stn_params_axis(&params, axis, task->reach[axis], task->boundary[axis]);
    return stn_kernel_make(plan->kernels, "spectral_source", &params, 0, kernel, error);
}

static stn_status make_kernels(stn_plan *plan, spectral_state *state, stn_error *error) {
    STN_TRY(spectral_source_kernel(plan, &state->source.kernel, error));
    for (int axis = state->shape.last; axis < 3; axis++) STN_TRY(make_transform(plan, state, axis, error));
    return STN_OK;
}

/* The number of complex numbers that an axis's two faces take in a grid, transformed or not. */
static int64_t numbers_of(const int64_t extent[2], int64_t pitch, int axis) {
    return 2 * (axis == 0 ? extent[1] * pitch : axis == 1 ? extent[0] * pitch : extent[0] * extent[1]);
}
static int64_t frequencies(const spectral_state *state, int axis) {
    return numbers_of(state->source.extent, state->shape.pitch, axis);
}

/* Lays out the source's data from *bytes on, and advances *bytes to its end. */
static void place_source(const stn_task *task, const spectral_shape *shape, spectral_source *source, size_t *bytes) {
    const size_t batch = (size_t)task->batch, real = spectral_wide(task) ? 8 : 4;
    source->cell = 2 * real;
    for (int axis = 0; axis < 2; axis++) source->extent[axis] = stn_max(task->n[axis], shape->axis[axis].length);
    *bytes = (size_t)stn_round_up((int64_t)*bytes, 256);
    if (shape->last == 0)
        source->values[0] = spectral_room(bytes, 2 * (size_t)(task->n[1] * task->n[2]) * batch * real);
    source->values[1] = spectral_room(bytes, 2 * (size_t)(task->n[0] * task->n[2]) * batch * real);
    for (int axis = shape->last; axis < 3; axis++) { /* In 2D there are no z faces. */
        const size_t size = (size_t)numbers_of(source->extent, shape->pitch, axis) * batch * source->cell;
        source->faces[axis] = source->transposed[axis] = spectral_room(bytes, size);
        if (shape->choice.decayed_solver && axis > 0) source->transposed[axis] = spectral_room(bytes, size);
    }
}

size_t spectral_source_bytes(const stn_task *task, const spectral_shape *shape) {
    spectral_source source = {.has = false};
    size_t bytes = 0;
    for (int axis = 0; axis < 3; axis++) source.has |= !task->sum && stn_extension_odd(&shape->axis[axis]);
    if (source.has) place_source(task, shape, &source, &bytes);
    return bytes;
}

stn_status spectral_make_source(stn_plan *plan, spectral_state *state, size_t *bytes, stn_error *error) {
    if (!state->source.has) return STN_OK;
    place_source(&plan->task, &state->shape, &state->source, bytes);
    return make_kernels(plan, state, error);
}

/* ---- tables ---------------------------------------------------------------------------------- */

/* The transform along an axis of a unit value next to each side, with all its images, times
 * `factor`, at k < count: [k][side]. */
static void fill_unit_responses(const stn_extension *e, int64_t count, double factor, bool wide, void *to) {
    for (int side = 0; side < 2; side++) {
        int64_t adjacent = stn_extension_neighbour(e, side);
        for (int64_t p = 0; p < e->length && adjacent >= 0; p++) {
            int sign;
            if (stn_extension_image(e, p - e->before, &sign) != adjacent || sign == 0) continue;
            for (int64_t k = 0; k < count; k++) {
                long double revolutions = (long double)(k * p % e->length) / (long double)e->length;
                long double angle = 6.28318530717958647692528676655900577L * revolutions;
                double re = factor * sign * (double)cosl(angle), im = -factor * sign * (double)sinl(angle);
                size_t at = 2 * (2 * (size_t)k + (size_t)side);
                if (wide)
                    ((double *)to)[at] += re, ((double *)to)[at + 1] += im;
                else
                    ((float *)to)[at] += (float)re, ((float *)to)[at + 1] += (float)im;
            }
        }
    }
}

/* Frequencies of an axis in the spectrum, with padding. */
static int64_t frequencies_of_axis(const spectral_shape *shape, int axis) {
    return axis == 2 ? shape->pitch : shape->axis[axis].length;
}

stn_status spectral_make_source_tables(stn_plan *plan, spectral_state *state, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_shape *shape = &state->shape;
    spectral_source *source = &state->source;
    if (!source->has || !plan->machine.present || stn_kernels_miss(plan->kernels)) return STN_OK;
    bool wide = spectral_wide(task);
    size_t size = 0, cell = wide ? 16 : 8;
    for (int axis = 0; axis < 3; axis++)
        source->unit_response[axis] = spectral_room(&size, 2 * cell * (size_t)frequencies_of_axis(shape, axis));
    source->taps = spectral_room(&size, task->ntaps * sizeof(spectral_source_tap));
    unsigned char *tables = calloc(1, size);
    if (!tables) return stn_fail_memory(error, "the tables of a plan's sides", size);
    for (int axis = 0; axis < 3; axis++) /* The pass of rows doubles its results. */
        fill_unit_responses(&shape->axis[axis], frequencies_of_axis(shape, axis), axis == 2 ? 2 : 1, wide,
                            tables + source->unit_response[axis]);
    for (size_t i = 0; i < task->ntaps; i++) {
        const int64_t *o = task->taps[i].offset;
        spectral_source_tap put = {task->taps[i].weight, (int32_t)o[0], (int32_t)o[1], (int32_t)o[2], 0};
        memcpy(tables + source->taps + i * sizeof put, &put, sizeof put);
    }
    stn_status status = STN_OK;
    if (!source->tables) status = stn_device_alloc(plan->context->device, size, &source->tables, error);
    if (status == STN_OK) status = stn_device_upload(plan->context->device, source->tables, tables, size, error);
    free(tables);
    return status;
}

void spectral_free_source(stn_plan *plan, spectral_state *state) {
    stn_device_free(plan->context->device, state->source.tables);
    state->source.tables = NULL;
}

/* ---- launches -------------------------------------------------------------------------------- */

/* Launches the kernel that computes the values next to faces, with one thread for each of a->points
 * of each grid. */
static stn_status launch_values(const stn_plan *plan, const stn_extension *const axes[3], const stn_kernel *kernel,
                                spectral_source_arguments *a, const stn_execution *run, stn_error *error) {
    const stn_task *task = &plan->task;
    const int64_t *n = task->n;
    a->in = run->in;
    a->in_z = task->in_stride[0], a->in_y = task->in_stride[1], a->in_x = task->in_stride[2];
    a->in_batch = task->in_batch_stride;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            a->constant[axis][side] = stn_task_constant_value(task, axis, side);
            a->at[axis][side] = axes[axis] ? (int32_t)stn_extension_neighbour(axes[axis], side) : -1;
        }
    a->nz = (int32_t)n[0], a->ny = (int32_t)n[1], a->nx = (int32_t)n[2];
    a->ntaps = (int32_t)task->ntaps;
    a->tiles = (int32_t)stn_div_up(a->points[0] + a->points[1] + a->points[2], THREADS);
    return stn_kernel_launch(kernel, a->tiles * task->batch, THREADS, 0, a, run->stream, error);
}

static stn_status run_values(const stn_plan *plan, const spectral_state *state, const stn_execution *run,
                             stn_error *error) {
    const spectral_source *source = &state->source;
    const stn_extension *axes[3] = {&state->shape.axis[0], &state->shape.axis[1], &state->shape.axis[2]};
    char *workspace = run->workspace;
    const int64_t *n = plan->task.n;
    spectral_source_arguments a = {.taps = (const char *)source->tables + source->taps};
    a.faces[0] = workspace + source->values[0], a.faces[1] = workspace + source->values[1];
    a.faces[2] = workspace + source->faces[2];
    a.faces_batch[0] = 2 * n[1] * n[2], a.faces_batch[1] = 2 * n[0] * n[2], a.faces_batch[2] = frequencies(state, 2);
    a.points[0] = state->shape.last == 0 ? a.faces_batch[0] : 0;
    a.points[1] = a.faces_batch[1], a.points[2] = 2 * n[0] * n[1];
    a.rows = (int32_t)source->extent[1];
    return launch_values(plan, axes, source->kernel, &a, run, error);
}

stn_status spectral_source_of_lines(const stn_plan *plan, const spectral_line_source *source, const stn_execution *run,
                                    stn_error *error) {
    const stn_extension *axes[3] = {NULL, NULL, source->axis};
    spectral_source_arguments a = {.taps = source->taps, .faces = {NULL, NULL, source->values}};
    a.faces_batch[2] = a.points[2] = 2, a.rows = 1;
    return launch_values(plan, axes, source->kernel, &a, run, error);
}

/* Transforms along x: z faces (axis 0) as planes of ny rows, y faces (axis 1) as planes of two
 * rows. One launch per grid, because the frequencies may take more planes than the values. */
static stn_status run_rows(const stn_plan *plan, const spectral_state *state, int axis, const stn_execution *run,
                           stn_error *error) {
    const spectral_shape *shape = &state->shape;
    const spectral_source *source = &state->source;
    const int64_t *n = plan->task.n;
    size_t real = spectral_wide(&plan->task) ? 8 : 4;
    int64_t planes = axis == 0 ? 2 : n[0], rows = axis == 0 ? n[1] : 2;
    spectral_rows_arguments a = {.planes = (int32_t)planes, .ny = (int32_t)rows, .kept = shape->choice.kept[2]};
    a.twiddles = (const char *)state->tables + state->twiddles[2], a.half = (const char *)state->tables + state->half;
    a.in_z = rows * n[2], a.in_y = n[2];
    a.pitch = shape->pitch, a.plane = (axis == 0 ? source->extent[1] : 2) * shape->pitch;
    a.tiles = (int32_t)stn_div_up(rows, shape->line[2].lines);
    a.x = (spectral_extension_arguments){(int32_t)n[2], (int32_t)shape->axis[2].before};
    for (int64_t grid = 0; grid < plan->task.batch; grid++) {
        a.in = (char *)run->workspace + source->values[axis] + (size_t)(grid * planes * rows * n[2]) * real;
        a.spectrum =
            (char *)run->workspace + source->faces[axis] + 2 * (size_t)(grid * frequencies(state, axis)) * real;
        STN_TRY(spectral_launch(plan, state, 2, source->transform[2], a.tiles * planes, &a, run->stream, error));
    }
    return STN_OK;
}

/* Transforms along y or z, in place, or y and x faces along z to `transposed`. Each plane has
 * `pitch` columns side by side. */
static stn_status run_columns(const stn_plan *plan, const spectral_state *state, int faces, int along, int64_t planes,
                              int64_t plane, int64_t pitch, const stn_execution *run, stn_error *error) {
    const spectral_shape *shape = &state->shape;
    const spectral_source *source = &state->source;
    size_t real = spectral_wide(&plan->task) ? 8 : 4;
    spectral_columns_arguments a = {.twiddles = (const char *)state->tables + state->twiddles[along]};
    a.pitch = pitch, a.plane = plane;
    a.columns = (int32_t)pitch, a.kept = a.with_points = (int32_t)shape->axis[along].length;
    a.tiles = (int32_t)stn_div_up(a.columns, shape->line[along].lines);
    a.along = (spectral_extension_arguments){(int32_t)plan->task.n[along], (int32_t)shape->axis[along].before};
    for (int64_t grid = 0; grid < plan->task.batch; grid++) {
        size_t before = 2 * (size_t)(grid * frequencies(state, faces)) * real;
        a.spectrum = (char *)run->workspace + source->faces[faces] + before;
        a.result = (char *)run->workspace + source->transposed[faces] + before;
        STN_TRY(
            spectral_launch(plan, state, along, source->transform[along], a.tiles * planes, &a, run->stream, error));
    }
    return STN_OK;
}

stn_status spectral_run_source(const stn_plan *plan, const spectral_state *state, const stn_execution *run,
                               stn_error *error) {
    const spectral_source *source = &state->source;
    int64_t pitch = state->shape.pitch, rows = source->extent[1], nz = plan->task.n[0];
    if (!source->has) return STN_OK;
    STN_TRY(run_values(plan, state, run, error));
    STN_TRY(run_rows(plan, state, 1, run, error));
    STN_TRY(run_columns(plan, state, 2, 1, nz, 2 * rows, 2, run, error));
    if (state->shape.last != 0) return STN_OK;
    STN_TRY(run_rows(plan, state, 0, run, error));
    STN_TRY(run_columns(plan, state, 0, 1, 2, rows * pitch, pitch, run, error));
    STN_TRY(run_columns(plan, state, 1, 0, 1, 0, 2 * pitch, run, error));
    return run_columns(plan, state, 2, 0, 1, 0, 2 * rows, run, error);
}

void spectral_source_arguments_of(const spectral_state *state, const stn_execution *run, int64_t grid,
                                  spectral_columns_arguments *a) {
    const spectral_source *source = &state->source;
    const char *tables = source->tables;
    const int last = state->shape.last, x = 1 - last;
    const int64_t pitch = state->shape.pitch;
    const char *of[3]; /* Each axis's faces of this grid. */
    for (int axis = 0; axis < 3; axis++)
        of[axis] = (const char *)run->workspace + (axis == last ? source->faces : source->transposed)[axis] +
                   grid * frequencies(state, axis) * (int64_t)source->cell;
    a->row = of[last], a->row_response = tables + source->unit_response[last];
    a->row_grid = frequencies(state, last), a->row_next = last == 0 ? source->extent[1] * pitch : pitch;
    if (last == 0)
        a->faces[0] = (spectral_faces_arguments){of[1], tables + source->unit_response[1], frequencies(state, 1),
                                                 2 * pitch, pitch};
    a->faces[x] = (spectral_faces_arguments){of[2], tables + source->unit_response[2], frequencies(state, 2),
                                             last == 0 ? 2 * source->extent[1] : 2, 1};
}
