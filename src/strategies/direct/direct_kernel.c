/* Parameters, arguments and descriptions of the direct kernels. */
#include "strategies/direct/direct_kernel.h"

#include <string.h>

#include "base/arith.h"
#include "render/render.h"
#include "strategies/direct/direct_skew.h"
#include "strategies/direct/one_step.h"
#include "strategies/direct/tap_order.h"
#include "strategies/direct/temporal_blocking.h"

/* ---- arguments */

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
typedef struct skew_header {
    const void *in;
    void *out;
    int64_t in_z, in_y, out_z, out_y, in_batch, out_batch;
    int32_t nz, ny, nx, tiles_x, rest, tiles_z, face_blocks, side_blocks, tile_blocks, word_blocks;
    stn_divisor of_grid, of_tile, of_row, of_rest, of_nx, of_sides;
} skew_header;
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

typedef struct any_header {
    const void *in;
    void *out;
    void *taps;
    int64_t n[3], in_stride[3], out_stride[3], in_batch, out_batch, points;
    int32_t reach[3][2], side[3][2];
    int32_t ntaps, unused;
} any_header;

_Static_assert(sizeof(any_header) <= DIRECT_MAX_HEADER, "the largest of them");

static size_t header_size(const direct_shape *shape) {
    if (shape->fused > 1) return sizeof(time_header);
    if (shape->skewed) return sizeof(skew_header);
    return shape->kernel == DIRECT_LINE   ? sizeof(line_header)
           : shape->kernel == DIRECT_TILE ? sizeof(tile_header)
           : shape->kernel == DIRECT_ANY  ? sizeof(any_header)
                                          : sizeof(gather_header);
}

static size_t line_arguments(const stn_task *task, const direct_shape *shape, const stn_fused_launch *l,
                             void *arguments, int64_t *blocks) {
    int64_t tiles = stn_div_up(task->n[2], (int64_t)shape->vector * shape->rows * shape->threads[2]);
    line_header h = {l->in, l->out, task->n[2], l->from->batch, l->to->batch, tiles};
    *blocks = tiles * task->batch;
    memcpy(arguments, &h, sizeof h);
    return sizeof h;
}

static size_t time_arguments(const stn_task *task, const direct_shape *shape, const stn_fused_launch *l,
                             void *arguments, int64_t *blocks) {
    int z = direct_axis(task, shape, 0), y = direct_axis(task, shape, 1), x = direct_axis(task, shape, 2);
    int64_t tiles[3];
    direct_time_tiles(task, shape, tiles);
    *blocks = tiles[0] * tiles[1] * tiles[2] * task->batch;
    time_header h = {.in = l->in, .out = l->out, .nz = task->n[z], .ny = task->n[y], .nx = task->n[x]};
    h.in_z = l->from->stride[z], h.in_y = l->from->stride[y], h.in_batch = l->from->batch;
    h.out_z = l->to->stride[z], h.out_y = l->to->stride[y], h.out_batch = l->to->batch;
    h.tiles = *blocks, h.chunk = shape->chunk;
    h.tiles_x = (int32_t)tiles[2], h.tiles_y = (int32_t)tiles[1], h.tiles_z = (int32_t)tiles[0];
    memcpy(arguments, &h, sizeof h);
    return sizeof h;
}

static size_t tile_arguments(const stn_task *task, const direct_shape *shape, const stn_fused_launch *l,
                             void *arguments, int64_t *blocks) {
    int z = direct_axis(task, shape, 0), y = direct_axis(task, shape, 1), x = direct_axis(task, shape, 2);
    int64_t tiles[3];
    direct_tiles(task, shape, tiles);
    *blocks = tiles[0] * tiles[1] * tiles[2] * task->batch;
    tile_header h = {.in = l->in, .out = l->out};
    h.in_z = l->from->stride[z], h.in_y = l->from->stride[y], h.in_batch = l->from->batch;
    h.out_z = l->to->stride[z], h.out_y = l->to->stride[y], h.out_batch = l->to->batch;
    h.nz = (int32_t)task->n[z], h.ny = (int32_t)task->n[y], h.nx = (int32_t)task->n[x];
    h.tiles_x = (int32_t)tiles[2], h.tiles_y = (int32_t)tiles[1], h.tiles_z = (int32_t)tiles[0];
    memcpy(arguments, &h, sizeof h);
    return sizeof h;
}

static size_t skew_arguments(const stn_task *task, const direct_shape *shape, const stn_fused_launch *l,
                             void *arguments, int64_t *blocks) {
    const int z = direct_axis(task, shape, 0), y = direct_axis(task, shape, 1);
    const direct_skew_blocks count = direct_skew_count(task, shape);
    skew_header h = {.in = l->in, .out = l->out};
    h.in_z = l->from->stride[z], h.in_y = l->from->stride[y], h.in_batch = l->from->batch;
    h.out_z = l->to->stride[z], h.out_y = l->to->stride[y], h.out_batch = l->to->batch;
    /* An axis of one point has no skew, whatever its stride. */
    if (task->n[z] == 1) h.in_z = h.out_z = 0;
    if (task->n[y] == 1) h.in_y = h.out_y = 0;
    h.nz = (int32_t)task->n[z], h.ny = (int32_t)task->n[y], h.nx = (int32_t)task->n[2];
    h.tiles_x = (int32_t)count.tiles_x, h.rest = (int32_t)count.rest, h.tiles_z = (int32_t)count.tiles_z;
    h.face_blocks = (int32_t)count.faces, h.side_blocks = (int32_t)count.sides, h.tile_blocks = (int32_t)count.tiles;
    h.word_blocks = (int32_t)count.inner;
    h.of_grid = stn_divisor_of(count.all / task->batch), h.of_tile = stn_divisor_of(count.sides + count.inner);
    h.of_row = stn_divisor_of(stn_max(count.tiles_x, 1)), h.of_rest = stn_divisor_of(stn_max(count.rest, 1));
    h.of_nx = stn_divisor_of(task->n[2]), h.of_sides = stn_divisor_of(stn_max(count.side_points, 1));
    *blocks = count.all;
    memcpy(arguments, &h, sizeof h);
    return sizeof h;
}

static size_t gather_arguments(const stn_task *task, const direct_shape *shape, const stn_fused_launch *l, void *table,
                               void *arguments, int64_t *blocks) {
    const stn_grid_layout *in = l->from, *out = l->to;
    int64_t points = stn_task_points(task);
    gather_header h = {.in = l->in, .out = l->out, .taps = table, .points = points, .ntaps = (int32_t)task->ntaps};
    h.nz = task->n[0], h.ny = task->n[1], h.nx = task->n[2];
    h.in_z = in->stride[0], h.in_y = in->stride[1], h.in_x = in->stride[2], h.in_batch = in->batch;
    h.out_z = out->stride[0], h.out_y = out->stride[1], h.out_x = out->stride[2], h.out_batch = out->batch;
    /* Fewer blocks suffice: each thread continues in a grid-stride loop. */
    *blocks = stn_min(stn_div_up(points, shape->threads[2]), INT64_C(1) << 30);
    memcpy(arguments, &h, sizeof h);
    return sizeof h;
}

static size_t any_arguments(const stn_task *task, const direct_shape *shape, const stn_fused_launch *l, void *table,
                            void *arguments, int64_t *blocks) {
    const stn_grid_layout *in = l->from, *out = l->to;
    any_header h = {.in = l->in, .out = l->out, .taps = table, .ntaps = (int32_t)task->ntaps};
    h.in_batch = in->batch, h.out_batch = out->batch, h.points = stn_task_points(task);
    for (int axis = 0; axis < 3; axis++) {
        h.n[axis] = task->n[axis], h.in_stride[axis] = in->stride[axis], h.out_stride[axis] = out->stride[axis];
        for (int side = 0; side < 2; side++) {
            h.reach[axis][side] = task->reach[axis][side];
            h.side[axis][side] = (int32_t)task->boundary[axis][side].kind;
        }
    }
    *blocks = stn_min(stn_div_up(h.points, shape->threads[2]), INT64_C(1) << 30);
    memcpy(arguments, &h, sizeof h);
    return sizeof h;
}

size_t direct_arguments(const stn_task *task, const direct_shape *shape, const stn_fused_launch *l, void *table,
                        void *arguments, int64_t *blocks) {
    if (shape->fused > 1) return time_arguments(task, shape, l, arguments, blocks);
    if (shape->skewed) return skew_arguments(task, shape, l, arguments, blocks);
    switch (shape->kernel) {
        case DIRECT_LINE:
            return line_arguments(task, shape, l, arguments, blocks);
        case DIRECT_TILE:
            return tile_arguments(task, shape, l, arguments, blocks);
        case DIRECT_ANY:
            return any_arguments(task, shape, l, table, arguments, blocks);
        default:
            return gather_arguments(task, shape, l, table, arguments, blocks);
    }
}

/* ---- params.cuh */

static void tap_params(const stn_task *task, const direct_shape *shape, stn_text *params) {
    uint16_t order[DIRECT_MAX_TAPS];
    int values[DIRECT_MAX_TAPS];
    direct_tap_order(task, shape, order);
    static const char *const names[3] = {"TAP_Z", "TAP_Y", "TAP_X"};
    stn_params_int(params, "NTAPS", (int64_t)task->ntaps);
    for (int k = 0; k < 3; k++) {
        int axis = direct_axis(task, shape, k);
        for (size_t i = 0; i < task->ntaps; i++) values[i] = (int)task->taps[order[i]].offset[axis];
        stn_params_ints(params, names[k], values, task->ntaps);
    }
}

/* Parameters of the multi-step kernels only. */
static void time_params(const stn_task *task, const direct_shape *shape, stn_text *params) {
    static const char *const names[3] = {"Z_REACH", "Y_REACH", "X_REACH"};
    for (int k = 0; k < 3; k++) stn_params_int(params, names[k], direct_reach(task, shape, k));
    stn_params_int(params, "FUSED", shape->fused);
    stn_params_int(params, "POINTS", shape->points);
    stn_params_int(params, "PREFETCH", DIRECT_TIME_PREFETCH);
    stn_params_int(params, "SPANS", direct_time_spans(task, shape));
    stn_params_int(params, "PARTIAL", task->n[2] % shape->vector != 0);
    stn_params_int(params, "MIRROR_X", (shape->mirror & DIRECT_MIRROR_X) != 0);
    stn_params_int(params, "MIRROR_Z", (shape->mirror & DIRECT_MIRROR_Z) != 0);
}

/* Parameters of direct_skew only. */
static void skew_params(const stn_task *task, const direct_shape *shape, stn_text *params) {
    int skew[2];
    direct_skew(task, shape, skew);
    stn_params_int(params, "SKEW_Z", skew[0]);
    stn_params_int(params, "SKEW_Y", skew[1]);
    stn_params_int(params, "SKEW_ALIGN", direct_skew_alignment(task, shape));
    stn_params_int(params, "SIDE_RUN", direct_skew_count(task, shape).run);
    stn_params_int(params, "SHIFTED", direct_skew_shifts(task, shape->vector));
}

/* Whether every block of direct_tile is at an edge along x, for example because a row has two
 * tiles. */
static bool lacks_interior(const stn_task *task, const direct_shape *shape) {
    const int64_t tile = (int64_t)shape->threads[2] * shape->vector;
    const int64_t before = task->reach[2][0] > 0 ? tile : 0;
    return before + tile + stn_round_up(task->reach[2][1], shape->vector) > task->n[2];
}

void direct_params(const stn_task *task, const direct_shape *shape, stn_text *params) {
    stn_params_begin_for(params, task->dtype);
    stn_params_int(params, "THREADS_X", shape->threads[2]);
    stn_params_int(params, "EXPECTED_HEADER", (int64_t)header_size(shape));
    if (shape->kernel == DIRECT_ANY) return; /* one kernel for all problems */
    if (shape->kernel != DIRECT_GATHER) tap_params(task, shape, params);
    for (int k = 0; k < 3; k++) {
        int axis = direct_axis(task, shape, k);
        stn_params_axis(params, k, task->reach[axis], task->boundary[axis]);
    }
    stn_params_int(params, "VECTOR", shape->vector);
    if (shape->skewed) skew_params(task, shape, params);
    stn_params_int(params, "ROWS", shape->rows);
    /* Multi-step kernels take the chunk as an argument. */
    stn_params_int(params, "CHUNK", shape->fused > 1 ? 1 : shape->chunk);
    stn_params_int(params, "THREADS_Y", shape->threads[1]);
    stn_params_int(params, "THREADS_Z", shape->threads[0]);
    stn_params_int(params, "BLOCKS", shape->blocks);
    stn_params_int(params, "UNROLL", shape->unroll);
    stn_params_int(params, "COLUMN_LOOP", shape->column_loop ? 1 + lacks_interior(task, shape) : 0);
    if (shape->fused > 1) time_params(task, shape, params);
}

void direct_name(const direct_shape *shape, stn_text *text) {
    static const char *const names[] = {"line", "tile", "gather", "line", "plane", "any"};
    bool is_block = shape->kernel == DIRECT_TIME_TILE && shape->threads[1] > 1;
    stn_text_printf(text, "%s, ", is_block ? "brick" : shape->skewed ? "skewed tile" : names[shape->kernel]);
    if (direct_has_table(shape))
        stn_text_printf(text, "a point a thread");
    else if (shape->fused == 1)
        stn_text_printf(text, "%d x %d x %d points a thread, %d x %d x %d threads a block", shape->chunk, shape->rows,
                        shape->vector, shape->threads[0], shape->threads[1], shape->threads[2]);
    else {
        stn_text_printf(text, "%d steps a launch, ", shape->fused);
        if (is_block)
            stn_text_printf(text, "%d x %d points a lane, %d x %d lanes", shape->rows, shape->points, shape->threads[1],
                            shape->threads[2]);
        else
            stn_text_printf(text, "%d points a lane", shape->points);
        if (shape->kernel != DIRECT_TIME_LINE) stn_text_printf(text, ", tiles of %d rows", shape->chunk);
    }
    stn_text_printf(text, ", %d block%s", shape->blocks, shape->blocks == 1 ? "" : "s");
}

void direct_describe(const direct_shape *shape, stn_format format, stn_text *text) {
    if (format == STN_TEXT) {
        stn_text_printf(text, "kernel %s: ", direct_kernel_name(shape));
        direct_name(shape, text);
        return;
    }
    stn_json_text(text, "kernel", direct_kernel_name(shape));
    stn_json_value(text, "vector", shape->vector);
    stn_json_value(text, "skewed", shape->skewed);
    stn_json_value(text, "rows", shape->rows);
    stn_json_value(text, "chunk", shape->chunk);
    stn_json_value(text, "threads_z", shape->threads[0]);
    stn_json_value(text, "threads_y", shape->threads[1]);
    stn_json_value(text, "threads_x", shape->threads[2]);
    stn_json_value(text, "blocks", shape->blocks);
    stn_json_value(text, "unroll", shape->unroll);
    stn_json_value(text, "column_walk", shape->column_loop);
    stn_json_value(text, "fused", shape->fused);
    stn_json_value(text, "points", shape->points);
}
