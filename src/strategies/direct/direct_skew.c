/* The skewed grid of direct_skew: its pitches, taps and blocks. */
#include "strategies/direct/direct_skew.h"

#include <stdlib.h>

#include "base/arith.h"

/* The pitches are aligned to sectors wherever they allow it, and to more, up to cache lines, if one
 * unit of the alignment is at most 1 / MIN_PARTS of a row. */
enum { SECTOR_BYTES = 32, LINE_BYTES = 128, MIN_PARTS = 64 };

static int64_t element_bytes(const stn_task *task) { return (int64_t)stn_dtype_size(task->dtype); }

bool direct_skew_shifts(const stn_task *task, int vector) {
    bool alike = true;
    for (int axis = 0; axis < 2; axis++)
        alike = alike && (task->n[axis] == 1 || (task->in_stride[axis] - task->out_stride[axis]) % vector == 0);
    return !alike || (task->batch > 1 && (task->in_batch_stride - task->out_batch_stride) % vector != 0);
}

/* Several launches have the skew of the input. */
bool direct_skew_serves(const stn_task *task, int vector) {
    return task->alignment >= vector * element_bytes(task) && task->in_stride[2] == 1 && task->out_stride[2] == 1 &&
           (task->steps == 1 || !direct_skew_shifts(task, vector));
}

/* The number nearest to 0 by which the stride exceeds a multiple of `of`. */
static int64_t excess(int64_t stride, int64_t of) {
    const int64_t above = stride % of;
    return above > of / 2 ? above - of : above;
}

static int64_t stride_of(const stn_task *task, const direct_shape *shape, int kernel_axis) {
    const int axis = direct_axis(task, shape, kernel_axis);
    return task->n[axis] > 1 ? task->in_stride[axis] : 0;
}

void direct_skew(const stn_task *task, const direct_shape *shape, int skew[2]) {
    for (int k = 0; k < 2; k++) skew[k] = (int)excess(stride_of(task, shape, k), shape->vector);
}

int direct_skew_alignment(const stn_task *task, const direct_shape *shape) {
    int skew[2], aligned = shape->vector;
    direct_skew(task, shape, skew);
    for (;;) {
        const int64_t more = 2 * aligned, bytes = more * element_bytes(task);
        if (bytes > SECTOR_BYTES && (bytes > LINE_BYTES || more * MIN_PARTS > task->n[2])) break;
        if ((stride_of(task, shape, 0) - skew[0]) % more || (stride_of(task, shape, 1) - skew[1]) % more) break;
        aligned *= 2;
    }
    return aligned;
}

void direct_skewed_reach(const stn_task *task, const direct_shape *shape, int64_t reach[2]) {
    const int z = direct_axis(task, shape, 0), y = direct_axis(task, shape, 1);
    int skew[2];
    direct_skew(task, shape, skew);
    reach[0] = reach[1] = 0;
    for (size_t t = 0; t < task->ntaps; t++) {
        const int64_t *o = task->taps[t].offset, x = o[2] + skew[0] * o[z] + skew[1] * o[y];
        reach[0] = stn_min(reach[0], x);
        reach[1] = stn_max(reach[1], x);
    }
}

int64_t direct_skew_row_ends(const stn_task *task, int vector) {
    const int64_t partial = direct_skew_shifts(task, vector) ? 0 : vector - 1;
    return task->reach[2][0] + task->reach[2][1] + 2 * partial;
}

direct_skew_blocks direct_skew_count(const stn_task *task, const direct_shape *shape) {
    const int z = direct_axis(task, shape, 0), y = direct_axis(task, shape, 1);
    const int64_t plane_threads = (int64_t)shape->threads[1] * shape->threads[2],
                  threads = plane_threads * shape->threads[0], tile = (int64_t)shape->chunk * shape->threads[0];
    const int64_t of_z = task->reach[z][0] + task->reach[z][1], of_y = task->reach[y][0] + task->reach[y][1],
                  of_x = direct_skew_row_ends(task, shape->vector);
    int skew[2];
    direct_skew(task, shape, skew);
    const int64_t past = direct_skew_alignment(task, shape) - 1 + (int64_t)abs(skew[0]) * (shape->chunk - 1) +
                         (int64_t)abs(skew[1]) * (shape->rows - 1);
    const int64_t words = stn_div_up(task->n[2] + past, shape->vector), groups = stn_div_up(task->n[y], shape->rows);
    direct_skew_blocks b = {.tiles_x = words / shape->threads[2],
                            .rest = words % shape->threads[2],
                            .tiles_z = stn_div_up(task->n[z], tile)};
    if (2 * b.rest > shape->threads[2]) b.tiles_x++, b.rest = 0;
    b.side_points = of_y * task->n[2] + (task->n[y] - of_y) * of_x;
    b.run = b.side_points < threads ? 1 : tile;
    b.faces = of_z ? stn_div_up(task->n[y] * task->n[2], threads) : 0;
    b.sides = stn_div_up(tile / b.run * b.side_points, threads);
    b.tiles = b.tiles_x * stn_div_up(groups, shape->threads[1]);
    b.inner = b.tiles + stn_div_up(b.rest * groups, plane_threads);
    b.all = (b.faces + b.tiles_z * (b.sides + b.inner)) * task->batch;
    /* The kernel counts runs of points near sides, and words of rests, in 31 bits. */
    if (stn_max(stn_max(b.faces, b.sides), b.inner - b.tiles) * threads > INT32_MAX) b.all = INT64_MAX;
    return b;
}
