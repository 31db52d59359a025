/* Packs the kernel arguments of the direct kernels. */
#include "strategies/direct/direct_arguments.h"

#include <string.h>

#include "base/arith.h"
#include "strategies/direct/direct_skew.h"
#include "strategies/direct/one_step.h"
#include "strategies/direct/temporal_blocking.h"

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

_Static_assert(sizeof(any_header) <= DIRECT_HEADER_MOST, "the largest of them");

size_t direct_header_size(const direct_shape *shape) {
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
