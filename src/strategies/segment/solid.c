/* See solid.h. */
#include "strategies/segment/solid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "strategies/segment/tables.h"

enum { ROWS = 4, EACH = 4, TILE_X = 64, DEEP = 3, LARGEST = 4 }; /* of segment_solid.cu */
/* Points along y and z of tiles that come one after the other: 14 terms of their parts of planes are 16 MB of rows of 512 in f64. */
enum { GROUP = 128 };
enum { ALONG_COLUMNS, ALONG_ROWS };
/* So many times what is asked for may sums of terms be off by. */
#define OFF 30

/* As segment_solid.cu declares them. */
typedef struct solid_side {
    const void *depth, *counts;
} solid_side;
typedef struct solid_header {
    void *out;
    int64_t out_z, out_y, out_batch;
    const void *plane[3];
    solid_side side[3][2];
    int32_t rows[3], pitch[3], n[3], width[3], terms[3];
    uint32_t tiles_x, tiles_y, tiles_z, group_y, group_z, unused;
} solid_header;

static size_t real_size(const stn_task *task) { return task->dtype == STN_F64 ? sizeof(double) : sizeof(float); }

bool segment_solid_across(const segment_axis *axes, int across) {
    const segment_axis *a = segment_axis_of(axes, across);
    return segment_side_is_odd(a, 0) || segment_side_is_odd(a, 1);
}

/* ---- axes and tasks of planes -------------------------------------------------------------------------------------- */

static long double sum_of(const segment_axis *a) {
    long double sum = 0;
    for (int i = 0; i < a->count; i++) sum += fabsl(a->weight[i]);
    return sum;
}

static segment_axis scaled(const segment_axis *axis, long double by) {
    segment_axis a = *axis;
    for (int i = 0; i < a.count; i++) a.weight[i] *= by;
    return a;
}

/* The axis across, which has the scale of all weights, where those along have none. */
static segment_axis deep_of(const segment_axis *axes, int across) {
    const long double rows = sum_of(segment_axis_of(axes, segment_rows_of(across))),
                      columns = sum_of(segment_axis_of(axes, segment_columns_of(across)));
    return scaled(segment_axis_of(axes, across), rows * columns);
}

/* An axis along, as the plane has it: columns lie along its x, rows along its y. */
static segment_axis along_of(const segment_axis *axes, int across, int stage) {
    const segment_axis *own =
        segment_axis_of(axes, stage == ALONG_COLUMNS ? segment_columns_of(across) : segment_rows_of(across));
    segment_axis a = scaled(own, 1 / sum_of(own));
    a.axis = stage == ALONG_COLUMNS ? 2 : 1;
    return a;
}

/* Terms whose planes are convolved. */
static int convolved_of(const segment_solid_tables *tables, int across) {
    return tables->terms[across].count - tables->stepped[across];
}

/* The planes of these, of all sides and grids: a term a place along z. */
static stn_task plane_task(const stn_task *task, const segment_axis *axes, const segment_solid_tables *tables,
                           int across, int stage) {
    const segment_planes planes = segment_planes_of(task, axes, 3);
    const int of[3] = {across, segment_rows_of(across), segment_columns_of(across)};
    stn_task t = *task;
    if (t.dtype == STN_F16) t.dtype = STN_F32;
    t.batch = 2 * task->batch, t.in_place = false, t.alignment = 256;
    for (int k = 0; k < 3; k++) {
        t.n[k] = k ? task->n[of[k]] : convolved_of(tables, across);
        for (int side = 0; side < 2; side++) {
            t.reach[k][side] = k ? task->reach[of[k]][side] : 0;
            t.boundary[k][side] = (stn_boundary){k ? task->boundary[of[k]][side].kind : STN_WRAP, 0};
        }
    }
    if (stage == ALONG_COLUMNS) t.n[1] = planes.rows[across];
    t.out_stride[2] = 1, t.out_stride[1] = planes.pitch[across];
    t.out_stride[0] = planes.rows[across] * planes.pitch[across];
    memcpy(t.in_stride, t.out_stride, sizeof t.in_stride);
    t.in_batch_stride = t.out_batch_stride = t.n[0] * t.out_stride[0];
    if (stage == ALONG_COLUMNS) t.in_stride[0] = 0, t.in_batch_stride = t.out_stride[0]; /* all from one */
    if (stage == ALONG_ROWS) t.out_batch_stride = tables->terms[across].count * t.out_stride[0];
    return t;
}

/* Passes of planes are in segments as long as the grid's along that axis. */
static int first_of(const segment_shape *shape, int across, int stage) {
    return shape->pass[2 - (stage == ALONG_COLUMNS ? segment_columns_of(across) : segment_rows_of(across))].first;
}

static bool fit(const stn_task *task, const segment_axis *axes, const stn_reach reach[3], const segment_shape *shape,
                int across, int stage, segment_pass *pass) {
    const segment_axis along = along_of(axes, across, stage);
    const int own = stage == ALONG_COLUMNS ? segment_columns_of(across) : segment_rows_of(across);
    return segment_fit(task, &along, &reach[2 - own], first_of(shape, across, stage), true, pass);
}

bool segment_solid_fits(const stn_task *task, const segment_axis *axes, const stn_reach reach[3],
                        const segment_shape *shape) {
    segment_pass pass;
    for (int across = 0; across < 3; across++)
        for (int stage = 0; stage < 2 && segment_solid_across(axes, across); stage++)
            if (!fit(task, axes, reach, shape, across, stage, &pass)) return false;
    return true;
}

bool segment_solid_terms(const stn_task *task, const segment_axis *axes, int across, uint64_t fused,
                         segment_terms *terms) {
    *terms = (segment_terms){0};
    if (!segment_solid_across(axes, across)) return true;
    const segment_axis deep = deep_of(axes, across), rows = along_of(axes, across, ALONG_ROWS),
                       columns = along_of(axes, across, ALONG_COLUMNS), *const along[2] = {&rows, &columns};
    return segment_terms_find(&deep, along, fused, task->dtype, terms);
}

int segment_solid_stepped(const segment_axis *axes, int across, const segment_terms *terms) {
    const segment_axis rows = along_of(axes, across, ALONG_ROWS), columns = along_of(axes, across, ALONG_COLUMNS);
    return segment_steps_count(&rows, &columns, terms);
}

/* ---- tables -------------------------------------------------------------------------------------------------------- */

static size_t placed(size_t *at, size_t bytes) {
    const size_t here = *at;
    *at = (size_t)stn_round_up((int64_t)(here + bytes), 256);
    return here;
}

static bool is_second(const segment_axis *deep, int side) { return side && deep->side[0] == deep->side[1]; }

size_t segment_solid_place(const stn_task *task, const segment_axis *axes, const segment_shape *shape, uint64_t fused,
                           size_t at, segment_solid_tables *tables) {
    const size_t size = real_size(task);
    stn_reach reach[3];
    for (int i = 0; i < 3; i++) reach[i] = segment_axis_reach(&axes[i], task, fused);
    *tables = (segment_solid_tables){0};
    for (int across = 0; across < 3; across++) {
        segment_terms *terms = &tables->terms[across];
        const segment_axis *deep = segment_axis_of(axes, across);
        if (!segment_solid_terms(task, axes, across, fused, terms)) return 0;
        if (!terms->count) continue;
        const stn_reach *own = &reach[2 - across];
        tables->stepped[across] = shape->stepped[across] ? segment_solid_stepped(axes, across, terms) : 0;
        tables->width[across] = (int)stn_min(deep->n, stn_max(own->side[0], own->side[1]) + 2);
        for (int stage = 0; stage < 2; stage++) {
            segment_sweep *sweep = &tables->sweep[across][stage];
            sweep->fused = fused;
            if (!fit(task, axes, reach, shape, across, stage, &sweep->pass)) return 0;
            sweep->roots = placed(&at, segment_roots_size(sweep->pass.first, task->dtype) * size);
            sweep->symbol =
                placed(&at, (size_t)convolved_of(tables, across) * segment_symbol_size(sweep->pass.first, true) * size);
        }
        for (int side = 0; side < 2; side++) {
            if (!segment_side_is_odd(deep, side)) continue;
            const size_t width = (size_t)tables->width[across];
            tables->depth[across][side] =
                is_second(deep, side) ? tables->depth[across][0] : placed(&at, (size_t)terms->count * width * size);
            tables->counts[across][side] =
                is_second(deep, side) ? tables->counts[across][0] : placed(&at, width * sizeof(int32_t));
        }
    }
    return at;
}

static unsigned char *put(stn_dtype dtype, const double *from, size_t count, unsigned char *to) {
    for (size_t i = 0; i < count; i++) to += stn_put_real(dtype, from[i], to);
    return to;
}

/* The symbol of each power along the rows or the columns of planes. */
static stn_status fill_sweep(const stn_task *task, const segment_axis *axes, const segment_solid_tables *tables,
                             int across, int stage, unsigned char *to, stn_error *error) {
    const segment_sweep *sweep = &tables->sweep[across][stage];
    const segment_axis along = along_of(axes, across, stage);
    const size_t roots = segment_roots_size(sweep->pass.first, task->dtype),
                 symbols = segment_symbol_size(sweep->pass.first, true), all = roots + symbols;
    double *values = malloc(all * sizeof *values);
    stn_status status = values ? STN_OK : stn_fail_memory(error, "a side's symbols", all * sizeof *values);
    if (status == STN_OK) {
        segment_roots_make(sweep->pass.first, task->dtype, values);
        put(task->dtype, values, roots, to + sweep->roots);
    }
    unsigned char *at = to + sweep->symbol;
    for (int j = 0; j < convolved_of(tables, across) && status == STN_OK; j++) {
        status = segment_symbol_make(&along, sweep->pass.first, tables->terms[across].power[j], values, error);
        if (status == STN_OK) at = put(task->dtype, values, symbols, at);
    }
    free(values);
    return status;
}

static stn_status fill_depths(const stn_task *task, const segment_axis *axes, const segment_solid_tables *tables,
                              int across, int side, unsigned char *to, stn_error *error) {
    const segment_axis deep = deep_of(axes, across);
    const segment_terms *terms = &tables->terms[across];
    const int width = tables->width[across];
    const size_t count = (size_t)terms->count * (size_t)width;
    double *depth = malloc(count * sizeof *depth), off;
    if (!depth) return stn_fail_memory(error, "a side's depths", count * sizeof *depth);
    stn_status status = segment_terms_fit(&deep, side, tables->sweep[across][0].fused, task->dtype, terms, width, depth,
                                          (int32_t *)(void *)(to + tables->counts[across][side]), &off, error);
    if (status == STN_OK && off > OFF * segment_terms_tail(task->dtype))
        status =
            stn_fail(error, STN_ERROR_UNSUPPORTED,
                     "what the sides of axis %d add is off by %.2g as a sum of %d terms: make a plan with strategy "
                     "spectral",
                     across, off, terms->count);
    if (status == STN_OK) put(task->dtype, depth, count, to + tables->depth[across][side]);
    free(depth);
    return status;
}

stn_status segment_solid_fill(const stn_task *task, const segment_axis *axes, const segment_solid_tables *tables,
                              unsigned char *to, stn_error *error) {
    for (int across = 0; across < 3; across++) {
        const segment_axis *deep = segment_axis_of(axes, across);
        for (int k = 0; k < 2 && tables->terms[across].count; k++) {
            STN_TRY(fill_sweep(task, axes, tables, across, k, to, error));
            if (segment_side_is_odd(deep, k) && !is_second(deep, k))
                STN_TRY(fill_depths(task, axes, tables, across, k, to, error));
        }
    }
    return STN_OK;
}

/* ---- kernels ------------------------------------------------------------------------------------------------------- */

/* Bytes of all planes across an axis. */
static size_t plane_bytes(const stn_task *task, const segment_axis *axes, int across, int terms) {
    const segment_planes planes = segment_planes_of(task, axes, 3);
    return (size_t)stn_round_up(
        2 * task->batch * terms * planes.rows[across] * planes.pitch[across] * (int64_t)real_size(task), 256);
}

/* Three stages of so many terms: at most the part of a plane across z or y, and a number for each slice or row. */
size_t segment_solid_shared(const stn_task *task, int slices) {
    const size_t rows = EACH * ROWS, deep = EACH * (size_t)slices, most = rows > deep ? rows : deep,
                 least = rows + deep - most;
    return DEEP * LARGEST * (most * TILE_X + least) * real_size(task);
}

static stn_status make_add(stn_plan *plan, const segment_shape *shape, stn_kernel **kernel, stn_error *error) {
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    stn_params_elements(&params, plan->task.dtype);
    stn_params_int(&params, "SOLID_ROWS", ROWS);
    stn_params_int(&params, "SOLID_SLICES", shape->slices);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(solid_header));
    STN_TRY(stn_kernel_make(plan->context, "segment_solid", &params, segment_solid_shared(&plan->task, shape->slices),
                            kernel, error));
    stn_plan_list_kernel(plan, *kernel);
    return STN_OK;
}

stn_status segment_solid_get(stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                             const segment_solid_tables *tables, segment_solid_kernels *kernels, stn_error *error) {
    const stn_task *task = &plan->task;
    segment_shape planes = *shape;
    size_t all = 0, turned = 0;
    planes.passes = 2;
    for (int across = 0; across < 3; across++) {
        const int terms = tables->terms[across].count;
        const segment_axis rows = along_of(axes, across, ALONG_ROWS), columns = along_of(axes, across, ALONG_COLUMNS);
        if (tables->stepped[across]) STN_TRY(segment_steps_get(plan, &rows, &columns, &kernels->steps[across], error));
        for (int stage = 0; stage < 2 && convolved_of(tables, across); stage++) {
            const stn_task own = plane_task(task, axes, tables, across, stage);
            const segment_axis along = along_of(axes, across, stage);
            planes.pass[stage] = tables->sweep[across][stage].pass;
            STN_TRY(segment_kernel_get(plan, &own, &along, &planes, &planes.pass[stage], true,
                                       &kernels->along[across][stage], error));
        }
        const size_t bytes = terms ? plane_bytes(task, axes, across, terms) : 0;
        all += bytes, turned = (size_t)stn_max((int64_t)turned, (int64_t)bytes);
    }
    kernels->planes = (size_t)stn_max((int64_t)kernels->planes, (int64_t)all);
    kernels->turned = (size_t)stn_max((int64_t)kernels->turned, (int64_t)turned);
    return make_add(plan, shape, &kernels->add, error);
}

/* ---- launches ------------------------------------------------------------------------------------------------------ */

static stn_grid_layout layout_of(const int64_t stride[3], int64_t batch) {
    return (stn_grid_layout){{stride[0], stride[1], stride[2]}, batch};
}

/* Where an axis's planes lie: source, those of what its sides add; all, those of its terms. */
typedef struct own_planes {
    const unsigned char *source;
    unsigned char *all;
} own_planes;

static stn_status take_steps(const stn_task *task, const segment_axis *axes, const segment_solid_kernels *kernels,
                             const segment_solid_tables *tables, const own_planes planes[3], void *stream,
                             stn_error *error) {
    const segment_planes lie = segment_planes_of(task, axes, 3);
    segment_axis along[3][2];
    segment_steps_job jobs[3];
    int count = 0;
    for (int across = 0; across < 3; across++) {
        for (int stage = 0; stage < 2; stage++) along[across][stage] = along_of(axes, across, stage);
        if (tables->stepped[across])
            jobs[count++] = (segment_steps_job){kernels->steps[across],
                                                &along[across][ALONG_ROWS],
                                                &along[across][ALONG_COLUMNS],
                                                &tables->terms[across],
                                                across,
                                                tables->stepped[across],
                                                planes[across].source,
                                                planes[across].all};
    }
    return segment_steps_launch(task, &lie, jobs, count, stream, error);
}

/* The other planes across an axis, by passes along their columns and then along their rows. */
static stn_status convolve(const stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                           const segment_solid_kernels *kernels, const segment_solid_tables *tables, int across,
                           const unsigned char *table, const unsigned char *source, unsigned char *turned,
                           unsigned char *planes, void *stream, stn_error *error) {
    segment_shape own = *shape;
    own.passes = 2;
    for (int stage = 0; stage < 2 && convolved_of(tables, across); stage++) {
        const stn_task task = plane_task(&plan->task, axes, tables, across, stage);
        const stn_grid_layout from = layout_of(task.in_stride, task.in_batch_stride),
                              to = layout_of(task.out_stride, task.out_batch_stride);
        const stn_fused_launch l = {&from, &to, stage ? turned : source, stage ? planes : turned, stream};
        segment_kernel kernel = kernels->along[across][stage]; /* of as many planes as there are now */
        own.pass[stage] = tables->sweep[across][stage].pass;
        kernel.works = segment_works(&task, &own, &own.pass[stage]);
        STN_TRY(segment_launch(&task, &kernel, &tables->sweep[across][stage], 0, table, &l, error));
    }
    return STN_OK;
}

stn_status segment_solid_add(const stn_plan *plan, const segment_axis *axes, const segment_shape *shape,
                             const segment_solid_kernels *kernels, const segment_solid_tables *tables,
                             const unsigned char *table, const unsigned char *source, unsigned char *planes,
                             const stn_fused_launch *l, stn_error *error) {
    const stn_task *task = &plan->task;
    const segment_planes lie = segment_planes_of(task, axes, 3);
    unsigned char *at = planes + kernels->turned;
    solid_header h = {.out = l->out,
                      .out_z = l->to->stride[0],
                      .out_y = l->to->stride[1],
                      .out_batch = l->to->batch,
                      .tiles_x = (uint32_t)stn_div_up(task->n[2], TILE_X),
                      .tiles_y = (uint32_t)stn_div_up(task->n[1], EACH * ROWS),
                      .tiles_z = (uint32_t)stn_div_up(task->n[0], EACH * shape->slices)};
    h.group_y = (uint32_t)stn_min(GROUP / (EACH * ROWS), h.tiles_y);
    h.group_z = (uint32_t)stn_min(GROUP / (EACH * shape->slices), h.tiles_z);
    own_planes own[3] = {{0}};
    for (int across = 0; across < 3; across++) {
        own[across] = (own_planes){source + lie.first[across] * task->batch * (int64_t)real_size(task), at};
        at += tables->terms[across].count ? plane_bytes(task, axes, across, tables->terms[across].count) : 0;
    }
    STN_TRY(take_steps(task, axes, kernels, tables, own, l->stream, error));
    for (int across = 0; across < 3; across++) {
        const int terms = tables->terms[across].count;
        h.n[across] = (int32_t)task->n[across], h.width[across] = tables->width[across], h.terms[across] = terms;
        h.rows[across] = (int32_t)lie.rows[across], h.pitch[across] = (int32_t)lie.pitch[across];
        if (!terms) continue;
        STN_TRY(convolve(plan, axes, shape, kernels, tables, across, table, own[across].source, planes, own[across].all,
                         l->stream, error));
        h.plane[across] = own[across].all;
        for (int side = 0; side < 2; side++)
            if (segment_side_is_odd(segment_axis_of(axes, across), side))
                h.side[across][side] =
                    (solid_side){table + tables->depth[across][side], table + tables->counts[across][side]};
    }
    const stn_launch how = {.grid = {(unsigned)(h.tiles_x * stn_round_up(h.tiles_y, h.group_y) *
                                                stn_round_up(h.tiles_z, h.group_z) * task->batch),
                                     1, 1},
                            .block = {32 * ROWS * shape->slices, 1, 1},
                            .shared = segment_solid_shared(task, shape->slices),
                            .stream = l->stream};
    return stn_module_launch(kernels->add->module, &how, &h, error);
}
