/* Overlap check of two strided sets of points in memory, by recursive bisection: the set that spans
 * more bytes is cut into slices along its axis of largest stride, and only the slices that reach
 * into the span of the other set are checked further:
 *
 *     a  [==== ====|==== ====|==== ====]          three rows of two points
 *     b                [----  ----]               one row: only the second row of a reaches it
 *
 * The recursion ends where the spans are disjoint or two single points share a byte. */
#include "problem/overlap.h"

#include "base/arith.h"

/* The stride in bytes; 0 along an axis of one point, whose stride is arbitrary. */
static int64_t byte_stride(int64_t n, int64_t stride, size_t size) { return n > 1 ? stride * (int64_t)size : 0; }

static stn_points points_of(const int64_t n[3], const int64_t stride[3], int64_t batch, int64_t batch_stride,
                            size_t size, const void *first) {
    stn_points points = {.first = (uintptr_t)first, .size = (int64_t)size};
    for (int axis = 0; axis < 3; axis++) {
        points.n[axis] = n[axis];
        points.stride[axis] = byte_stride(n[axis], stride[axis], size);
    }
    points.n[3] = batch;
    points.stride[3] = byte_stride(batch, batch_stride, size);
    points.n[4] = 1;
    return points;
}

stn_points stn_points_of_task(const stn_task *task, bool of_output, const void *first) {
    const size_t size = stn_element_size(stn_task_element(task, of_output));
    if (!of_output) return points_of(task->n, task->in_stride, task->batch, task->in_batch_stride, size, first);
    stn_points points = points_of(task->n, task->out_stride, task->batch, task->out_batch_stride, size, first);
    points.n[4] = (int64_t)task->snapshots;
    points.stride[4] = byte_stride(points.n[4], task->snapshot_stride, size);
    return points;
}

stn_points stn_points_of_source(const stn_task *task, const void *first) {
    return points_of(task->n, task->source_stride, task->batch, task->source_batch_stride, stn_dtype_size(task->dtype),
                     first);
}

stn_points stn_points_of_side(const stn_fft *fft, const stn_fft_side *side, const void *first) {
    return points_of(side->n, side->stride, fft->batch, side->batch_stride, stn_fft_element(fft, side), first);
}

stn_points stn_points_contiguous(const void *first, int64_t numbers, stn_dtype dtype) {
    const int64_t n[3] = {1, 1, numbers}, stride[3] = {numbers, numbers, 1};
    return points_of(n, stride, 1, numbers, stn_dtype_size(dtype), first);
}

/* Bytes from the first byte of the first point to one past the last point. */
static int64_t span(const stn_points *points) {
    int64_t bytes = points->size;
    for (int axis = 0; axis < STN_POINTS_AXES; axis++) bytes += (points->n[axis] - 1) * points->stride[axis];
    return bytes;
}

/* The axis of largest stride among those of more than one point; -1: the set is a single point. */
static int widest_axis(const stn_points *points) {
    int found = -1;
    for (int axis = 0; axis < STN_POINTS_AXES; axis++)
        if (points->n[axis] > 1 && (found < 0 || points->stride[axis] > points->stride[found])) found = axis;
    return found;
}

static int64_t common_divisor(int64_t a, int64_t b) { return b ? common_divisor(b, a % b) : a; }

/* Are the sets interleaved, as the even and the odd elements of an array are? All strides are
 * multiples of their greatest common divisor; each set lies at one offset modulo that divisor, and
 * no two points overlap if these offsets differ by at least a point's size. `ahead`: bytes from a
 * to b. */
static bool interleaved(const stn_points *a, const stn_points *b, int64_t ahead) {
    int64_t step = 0;
    for (int axis = 0; axis < STN_POINTS_AXES; axis++) {
        if (a->n[axis] > 1) step = common_divisor(step, a->stride[axis]);
        if (b->n[axis] > 1) step = common_divisor(step, b->stride[axis]);
    }
    if (!step) return false;
    int64_t offset = (ahead % step + step) % step;
    return offset >= a->size && step - offset >= b->size;
}

/* The range [*begin, *end) of the slices of `cut` along `axis` that reach into the span of `other`.
 * `ahead`: bytes from cut to other. */
static void slices_reaching(const stn_points *cut, int axis, const stn_points *other, int64_t ahead, int64_t *begin,
                            int64_t *end) {
    int64_t stride = cut->stride[axis], slice = span(cut) - (cut->n[axis] - 1) * stride, gap = ahead - slice;
    *begin = gap < 0 ? 0 : gap / stride + 1;
    *end = stn_min(cut->n[axis], stn_div_up(ahead + span(other), stride));
}

/* Each call decrements *budget; at 0 the search gives up and returns false. */
static bool overlap(const stn_points *a, const stn_points *b, int64_t *budget) {
    bool b_is_wider = span(b) > span(a);
    const stn_points *cut = b_is_wider ? b : a, *other = b_is_wider ? a : b;
    int64_t ahead = (int64_t)(other->first - cut->first), begin, end;
    if ((*budget)-- <= 0 || ahead >= span(cut) || -ahead >= span(other) || interleaved(cut, other, ahead)) return false;
    int axis = widest_axis(cut);
    /* cut is one point, and the span of other, which is no longer, reaches into it */
    if (axis < 0) return true;
    slices_reaching(cut, axis, other, ahead, &begin, &end);
    stn_points slice = *cut;
    slice.n[axis] = 1;
    for (int64_t i = begin; i<end && * budget> 0; i++) {
        slice.first = cut->first + (uintptr_t)(i * cut->stride[axis]);
        if (overlap(&slice, other, budget)) return true;
    }
    return false;
}

bool stn_points_overlap(const stn_points *a, const stn_points *b, int64_t budget) { return overlap(a, b, &budget); }
