/* Kernels, tables and launches for the terms of fixed and constant sides. */
#include "strategies/segment/segment_boundary_source.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "strategies/segment/segment_tables.h"

enum { THREADS = 128 };

/* Mirrors the structs of segment_source.cu. */
typedef struct source_tap {
    double weight;
    int32_t z, y, x, towards;
} source_tap;
typedef struct source_header {
    const void *in;
    void *out, *source, *kept;
    const void *taps;
    int64_t in_z, in_y, in_batch, out_z, out_y, out_batch, points;
    double constant[3][2];
    int32_t n[3], at[3][2], rows[3], pitch[3], ntaps, tiles;
    uint32_t grids;
} source_header;

/* Mirrors face_arguments of segment_face.cu. */
typedef struct face_header {
    const void *source;
    void *out;
    const void *twiddles, *symbol;
    int64_t n, out_along, out_deep, source_batch, out_batch;
    uint32_t segments, pairs, all;
    int32_t lead, useful, width;
} face_header;

/* ---- boundary planes -------------------------------------------------------------------------
 * segment_source.cu writes them: for each axis and each grid, a plane of the low side and one of
 * the high side, normal to the axis. The rows of a plane are numbered along the slower of the other
 * two axes. */

#define WHOLE_ROWS 4 /* Pitch granularity in elements: 16 bytes of f32. */

typedef struct boundary_planes {
    int64_t rows[3], pitch[3]; /* Of a plane normal to axis 0, 1, 2; 0: there is none. */
    /* Offset of each axis's planes, and total, in elements, for one grid. */
    int64_t first[3], all;
} boundary_planes;

/* axes: the `count` axes along which the taps reach, in any order. */
static boundary_planes planes_of(const stn_task *task, const segment_axis *axes, int count) {
    boundary_planes p = {.all = 0};
    for (int across = 0; across < 3; across++) {
        bool odd = false;
        for (int i = 0; i < count; i++)
            if (axes[i].axis == across) odd = segment_side_is_odd(&axes[i], 0) || segment_side_is_odd(&axes[i], 1);
        p.first[across] = p.all;
        if (!odd) continue;
        p.rows[across] = task->n[across == 0 ? 1 : 0];
        p.pitch[across] = stn_round_up(task->n[across == 2 ? 1 : 2], WHOLE_ROWS);
        p.all += 2 * p.rows[across] * p.pitch[across];
    }
    return p;
}

/* The axis normal to the y sides (which = 0) or x sides (1). The list of axes has x first. */
static const segment_axis *across(const segment_axis *axes, int which) { return &axes[1 - which]; }

/* ---- kernels --------------------------------------------------------------------------------- */

static stn_status make_lines(stn_plan *plan, int back, stn_kernel **kernel, stn_error *error) {
    const stn_task *task = &plan->task;
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, task->dtype);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(source_header));
    stn_params_int(&params, "THREADS_X", THREADS);
    stn_params_int(&params, "SOURCE_BACK", back);
    for (int axis = 0; axis < 3; axis++) stn_params_axis(&params, axis, task->reach[axis], task->boundary[axis]);
    return stn_kernel_make(plan->kernels, "segment_source", &params, 0, kernel, error);
}

/* The kernel along a side: one line at a time, in segments of the pass along it. */
static stn_status make_face(stn_plan *plan, const segment_axis *along, const segment_shape *shape,
                            const segment_pass *pass, segment_kernel *kernel, stn_error *error) {
    const stn_task *task = &plan->task;
    segment_pass line = *pass;
    line.axis = 2;
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, task->dtype);
    stn_params_int(&params, "X_SIDE_LOW", along->side[0]);
    stn_params_int(&params, "X_SIDE_HIGH", along->side[1]);
    stn_params_int(&params, "BLOCKS", segment_blocks(task, shape, &line));
    stn_params_int(&params, "SEGMENT_FIRST", pass->first);
    stn_params_int(&params, "SYMBOL_REAL", 0);
    stn_params_int(&params, "SYMBOL_EVEN", 1);
    stn_params_int(&params, "SEGMENT_SINGLE", 0);
    stn_params_int(&params, "SEGMENT_COSINES", 0);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(face_header));
    kernel->threads = segment_threads(shape, &line);
    kernel->shared = segment_shared(task, shape, &line) - 2 * 256 * (size_t)pass->first * stn_dtype_size(task->dtype);
    STN_TRY(stn_kernel_make(plan->kernels, "segment_face", &params, kernel->shared, &kernel->kernel, error));
    kernel->resident =
        stn_kernel_resident(kernel->kernel, plan->machine.multiprocessors, kernel->threads, kernel->shared);
    return STN_OK;
}

/* Bytes of the added terms of all grids; the frozen values take as many. */
static size_t values_of(const stn_task *task, const segment_axis *axes, const segment_shape *shape) {
    const boundary_planes planes = planes_of(task, axes, shape->passes);
    return (size_t)stn_round_up(task->batch * planes.all * (int64_t)segment_real_size(task), 256);
}

stn_status segment_source_get(stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                              segment_source *source, stn_error *error) {
    source->has = shape->sources;
    if (!source->has) return STN_OK;
    source->bytes = 2 * values_of(&plan->task, axes, shape);
    STN_TRY(make_lines(plan, 0, &source->begin, error));
    STN_TRY(make_lines(plan, 1, &source->back, error));
    for (int which = 0; which < 2; which++)
        if (segment_side_is_odd(across(axes, which), 0) || segment_side_is_odd(across(axes, which), 1))
            STN_TRY(make_face(plan, &axes[which], shape, &shape->pass[which], &source->along[which], error));
    return STN_OK;
}

/* ---- tables ---------------------------------------------------------------------------------- */

static size_t side_values(const segment_shape *shape, int which, int width) {
    return (size_t)(width + 1) / 2 * 2 * segment_symbol_size(shape->pass[which].first, true);
}

void segment_source_place(const stn_task *task, const segment_axis *axes, const segment_shape *shape, uint64_t fused,
                          size_t at, segment_source_tables *tables) {
    *tables = (segment_source_tables){.fused = fused, .taps = at};
    at += (size_t)stn_round_up((int64_t)(task->ntaps * sizeof(source_tap)), 256);
    for (int which = 0; which < 2; which++) {
        const segment_axis *deep = across(axes, which);
        if (!segment_side_is_odd(deep, 0) && !segment_side_is_odd(deep, 1)) continue;
        const stn_reach reach = segment_axis_reach(deep, task, fused);
        const int width = (int)stn_min(deep->n, stn_max(reach.side[0], reach.side[1]) + 2);
        const size_t bytes = side_values(shape, which, width) * segment_real_size(task);
        tables->width[which] = width;
        for (int side = 0; side < 2; side++) {
            if (!segment_side_is_odd(deep, side)) continue;
            tables->side[which][side] = at;
            if (side && deep->side[0] == deep->side[1]) /* The mirrored side has the same table. */
                tables->side[which][side] = tables->side[which][0];
            else
                at += (size_t)stn_round_up((int64_t)bytes, 256);
        }
    }
    tables->end = at;
}

static stn_status fill_side(const stn_task *task, const segment_axis *axes, const segment_shape *shape,
                            const segment_source_tables *tables, int which, int side, unsigned char *to,
                            stn_error *error) {
    const int width = tables->width[which];
    const size_t count = side_values(shape, which, width);
    double *values = calloc(count, sizeof *values);
    if (!values) return stn_fail_memory(error, "a side's table", count * sizeof *values);
    stn_status status = segment_face_make(across(axes, which), side, &axes[which], shape->pass[which].first,
                                          tables->fused, width, values, error);
    if (status == STN_OK) segment_put(task, values, count, to + tables->side[which][side]);
    free(values);
    return status;
}

stn_status segment_source_fill(const stn_task *task, const segment_axis *axes, const segment_shape *shape,
                               const segment_source_tables *tables, unsigned char *to, stn_error *error) {
    for (size_t i = 0; i < task->ntaps; i++) {
        const stn_tap *tap = &task->taps[i];
        source_tap own = {tap->weight, (int32_t)tap->offset[0], (int32_t)tap->offset[1], (int32_t)tap->offset[2], 0};
        for (int axis = 0; axis < 3; axis++)
            own.towards |= (tap->offset[axis] < 0) << 2 * axis | (tap->offset[axis] > 0) << (2 * axis + 1);
        memcpy(to + tables->taps + i * sizeof own, &own, sizeof own);
    }
    for (int which = 0; which < 2; which++)
        for (int side = 0; side < 2; side++) {
            const segment_axis *deep = across(axes, which);
            if (!segment_side_is_odd(deep, side) || (side && deep->side[0] == deep->side[1])) continue;
            STN_TRY(fill_side(task, axes, shape, tables, which, side, to, error));
        }
    return STN_OK;
}

/* ---- launches -------------------------------------------------------------------------------- */

static source_header lines_header(const stn_task *task, const segment_axis *axes, const segment_shape *shape,
                                  const segment_source_tables *tables, const void *table, void *values) {
    const boundary_planes planes = planes_of(task, axes, shape->passes);
    source_header h = {.source = values,
                       .kept = (char *)values + values_of(task, axes, shape),
                       .taps = (const char *)table + tables->taps,
                       .points = planes.all,
                       .ntaps = (int32_t)task->ntaps,
                       .tiles = (int32_t)stn_div_up(planes.all, THREADS),
                       .grids = (uint32_t)task->batch};
    for (int axis = 0; axis < 3; axis++) {
        h.n[axis] = (int32_t)task->n[axis];
        h.rows[axis] = (int32_t)planes.rows[axis], h.pitch[axis] = (int32_t)planes.pitch[axis];
        h.at[axis][0] = h.at[axis][1] = -1;
    }
    for (int i = 0; i < shape->passes; i++)
        for (int side = 0; side < 2; side++) {
            const int axis = axes[i].axis, in = axes[i].side[side] == STN_FIXED;
            h.constant[axis][side] = stn_task_constant_value(task, axis, side);
            if (segment_side_is_odd(&axes[i], side)) h.at[axis][side] = (int32_t)(side ? axes[i].n - 1 - in : in);
        }
    return h;
}

static stn_status launch_lines(const stn_task *task, const stn_kernel *kernel, source_header *h, void *stream,
                               stn_error *error) {
    return stn_kernel_launch(kernel, h->tiles * task->batch, THREADS, 0, h, stream, error);
}

stn_status segment_source_begin(const stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                                const segment_source *source, const segment_source_tables *tables, const void *table,
                                void *values, const stn_fused_launch *l, stn_error *error) {
    if (!source->has) return STN_OK;
    source_header h = lines_header(&plan->task, axes, shape, tables, table, values);
    h.in = l->in, h.in_z = l->from->stride[0], h.in_y = l->from->stride[1], h.in_batch = l->from->batch;
    return launch_lines(&plan->task, source->begin, &h, l->stream, error);
}

/* Adds the terms of one side to all points within its reach. */
static stn_status add_side(const stn_task *task, const segment_axis *axes, const segment_kernel *kernel,
                           const segment_source_tables *tables, const segment_table_layout *layout,
                           const unsigned char *table, const unsigned char *values, int which, int side,
                           const stn_fused_launch *l, stn_error *error) {
    const segment_axis *along = &axes[which], *deep = across(axes, which);
    const boundary_planes planes = planes_of(task, axes, 2);
    /* first: the first element of the side's line. */
    const int64_t pitch = planes.pitch[1 + which], first = planes.first[1 + which] * task->batch + side * pitch;
    const int64_t far[2] = {l->to->stride[along->axis], l->to->stride[deep->axis]};
    const int64_t segments = stn_div_up(along->n, layout->pass.useful), pairs = (tables->width[which] + 1) / 2;
    face_header h = {.source = values + first * (int64_t)segment_real_size(task),
                     .out = (char *)l->out + (side ? (deep->n - 1) * far[1] : 0) * (int64_t)stn_dtype_size(task->dtype),
                     .twiddles = table + layout->twiddles,
                     .symbol = table + tables->side[which][side],
                     .n = along->n,
                     .out_along = far[0],
                     .out_deep = side ? -far[1] : far[1],
                     .source_batch = 2 * pitch,
                     .out_batch = l->to->batch,
                     .segments = (uint32_t)segments,
                     .pairs = (uint32_t)pairs,
                     .all = (uint32_t)(segments * pairs * task->batch),
                     .lead = layout->pass.lead,
                     .useful = layout->pass.useful,
                     .width = tables->width[which]};
    return stn_kernel_launch(kernel->kernel, segment_grid(task, layout->pass.first, h.all, kernel->resident),
                             kernel->threads, kernel->shared, &h, l->stream, error);
}

stn_status segment_source_add(const stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                              const segment_source *source, const segment_source_tables *tables,
                              const segment_table_layout *layouts, const void *table, void *values,
                              const stn_fused_launch *l, stn_error *error) {
    if (!source->has) return STN_OK;
    const stn_task *task = &plan->task;
    /* In sequence, because both add to points within reach of two sides. */
    for (int which = 0; which < 2; which++)
        for (int side = 0; side < 2; side++)
            if (segment_side_is_odd(across(axes, which), side))
                STN_TRY(add_side(task, axes, &source->along[which], tables, &layouts[which], table, values, which, side,
                                 l, error));
    source_header h = lines_header(task, axes, shape, tables, table, values);
    h.out = l->out, h.out_z = l->to->stride[0], h.out_y = l->to->stride[1], h.out_batch = l->to->batch;
    return launch_lines(task, source->back, &h, l->stream, error);
}
