/* One time step: u'(x) = sum over taps of weight * u(x + offset), plus the source where there is one.
 *
 * A row of points is computed in pieces. For a piece, each tap sees a line: the piece's points shifted by the tap's
 * offset. Where a line lies contiguous inside the grid it is read in place; else (past an edge, strided, or stored as
 * half) it is first gathered into a buffer. Either way the same kernel sums the same numbers in the same order, tap by
 * tap. */
#include "host/step.h"

#include <string.h>

#include "base/arith.h"
#include "base/half.h"

#define PIECE 512 /* points: the lines of nine taps stay in a common L1 cache */
#define LINE (PIECE + 2 * STN_MAX_RADIUS)

typedef union stn_line {
    double f64[LINE];
    float f32[LINE];
} stn_line;

/* What is read along axis 2 through one pair of row indices: a row of the grid, or a constant everywhere. */
typedef struct stn_row {
    const char *points; /* NULL: the constant */
    double constant;
} stn_row;

static double load(stn_dtype dtype, const char *row, int64_t i) {
    switch (dtype) {
        case STN_F64:
            return ((const double *)row)[i];
        case STN_F32:
            return ((const float *)row)[i];
        default:
            return stn_half_to_float(((const uint16_t *)row)[i]);
    }
}

/* f16 is computed in float, so only the task's own rows hold halves. */
static void put(stn_dtype dtype, stn_line *line, int64_t i, double value) {
    if (dtype == STN_F64)
        line->f64[i] = value;
    else
        line->f32[i] = (float)value;
}

/* The value past a side: of the grid's type, as if the grid went on. */
static double constant_past(const stn_task *task, int axis, int64_t fold) {
    double value = task->boundary[axis][fold == -1 ? 0 : 1].value;
    if (task->dtype == STN_F16) return stn_half_to_float(stn_float_to_half((float)value));
    return value;
}

static int64_t fold(const stn_task *task, int axis, int64_t i) {
    return i >= 0 && i < task->n[axis] ? i : stn_fold(i, task->n[axis], task->boundary[axis]);
}

static const char *row_at(const stn_layout *layout, stn_dtype dtype, int64_t batch, int64_t i0, int64_t i1) {
    int64_t element = batch * layout->batch_stride + i0 * layout->stride[0] + i1 * layout->stride[1];
    return layout->base + element * (int64_t)stn_dtype_size(dtype);
}

/* The row that row (i0, i1) sees through an offset. Where both indices fold to constants, the slower axis decides. */
static stn_row row_seen(const stn_step *step, int64_t batch, int64_t i0, int64_t i1, const int64_t offset[3]) {
    const stn_task *task = step->task;
    int64_t j0 = fold(task, 0, i0 + offset[0]), j1 = fold(task, 1, i1 + offset[1]);
    if (j0 < 0) return (stn_row){NULL, constant_past(task, 0, j0)};
    if (j1 < 0) return (stn_row){NULL, constant_past(task, 1, j1)};
    return (stn_row){row_at(&step->from, task->dtype, batch, j0, j1), 0};
}

static double ghost(const stn_step *step, const char *row, int64_t x) {
    const stn_task *task = step->task;
    int64_t j = x < 0 ? step->ghost[0][-1 - x] : step->ghost[1][x - task->n[2]];
    return j < 0 ? constant_past(task, 2, j) : load(task->dtype, row, j * step->from.stride[2]);
}

/* line = points [begin, end) of a row of which some are inside, in the type that sums are made in. */
static void gather(const stn_step *step, const char *row, int64_t begin, int64_t end, stn_line *line) {
    stn_dtype dtype = step->task->dtype;
    int64_t inside = stn_max(begin, 0), past = stn_min(end, step->task->n[2]), stride = step->from.stride[2];
    for (int64_t x = begin; x < inside; x++) put(dtype, line, x - begin, ghost(step, row, x));
    size_t count = (size_t)(past - inside);
    if (stride != 1)
        for (int64_t x = inside; x < past; x++) put(dtype, line, x - begin, load(dtype, row, x * stride));
    else if (dtype == STN_F64)
        memcpy(line->f64 + (inside - begin), (const double *)row + inside, count * sizeof(double));
    else if (dtype == STN_F32)
        memcpy(line->f32 + (inside - begin), (const float *)row + inside, count * sizeof(float));
    else
        step->kernels->from_half(line->f32 + (inside - begin), (const uint16_t *)row + inside, count);
    for (int64_t x = past; x < end; x++) put(dtype, line, x - begin, ghost(step, row, x));
}

/* Where point x of the piece is seen through a row: in place if it can be, else in the buffer. The pointer's element k
 * is point x + k, for k from -reach to count + reach. */
static const void *line_seen(const stn_step *step, stn_row row, int64_t x, int64_t count, stn_line *buffer) {
    const stn_task *task = step->task;
    size_t size = task->dtype == STN_F64 ? sizeof(double) : sizeof(float);
    int64_t begin = x - task->reach[2][0], end = x + count + task->reach[2][1];
    if (row.points && step->from.stride[2] == 1 && task->dtype != STN_F16 && begin >= 0 && end <= task->n[2])
        return row.points + (size_t)x * size;
    if (row.points)
        gather(step, row.points, begin, end, buffer);
    else
        for (int64_t i = 0; i < end - begin; i++) put(task->dtype, buffer, i, row.constant);
    return (const char *)buffer + (size_t)(x - begin) * size;
}

/* sum (+)= the terms of taps [first, first + ntaps) for points x .. x + count of row (i0, i1). */
static void add_taps(const stn_step *step, int64_t batch, const int64_t at[3], int64_t count, size_t first, int ntaps,
                     void *sum) {
    const stn_tap *taps = step->task->taps + first;
    bool wide = step->task->dtype == STN_F64;
    stn_line buffers[STN_KERNEL_TAPS];
    const void *lines[STN_KERNEL_TAPS], *line = NULL;
    stn_line *buffer = buffers;
    for (int k = 0; k < ntaps; k++) {
        /* taps are sorted: those that see the same row follow each other */
        if (!k || taps[k].offset[0] != taps[k - 1].offset[0] || taps[k].offset[1] != taps[k - 1].offset[1])
            line = line_seen(step, row_seen(step, batch, at[0], at[1], taps[k].offset), at[2], count, buffer++);
        lines[k] = (const char *)line + taps[k].offset[2] * (int64_t)(wide ? sizeof(double) : sizeof(float));
    }
    if (wide) {
        double weights[STN_KERNEL_TAPS];
        for (int k = 0; k < ntaps; k++) weights[k] = taps[k].weight;
        step->kernels->sum_f64(sum, lines, weights, ntaps, (size_t)count, first > 0);
    } else {
        float weights[STN_KERNEL_TAPS];
        for (int k = 0; k < ntaps; k++) weights[k] = (float)taps[k].weight;
        step->kernels->sum_f32(sum, lines, weights, ntaps, (size_t)count, first > 0);
    }
}

/* The constant source of the piece, added in the arithmetic of the sums. */
static void add_source(const stn_step *step, int64_t batch, const int64_t at[3], int64_t count, void *sum) {
    const stn_dtype dtype = step->task->dtype;
    const char *row = row_at(&step->source, dtype, batch, at[0], at[1]);
    const int64_t stride = step->source.stride[2];
    if (dtype == STN_F64)
        for (int64_t k = 0; k < count; k++) ((double *)sum)[k] += load(dtype, row, (at[2] + k) * stride);
    else
        for (int64_t k = 0; k < count; k++) ((float *)sum)[k] += (float)load(dtype, row, (at[2] + k) * stride);
}

/* The computed piece, into the output's type and stride. */
static void scatter(const stn_step *step, char *row, int64_t x, int64_t count, const stn_line *sum) {
    int64_t stride = step->to.stride[2];
    if (step->task->dtype == STN_F64)
        for (int64_t k = 0; k < count; k++) ((double *)row)[(x + k) * stride] = sum->f64[k];
    else if (step->task->dtype == STN_F32)
        for (int64_t k = 0; k < count; k++) ((float *)row)[(x + k) * stride] = sum->f32[k];
    else if (stride == 1)
        step->kernels->to_half((uint16_t *)row + x, sum->f32, (size_t)count);
    else
        for (int64_t k = 0; k < count; k++) ((uint16_t *)row)[(x + k) * stride] = stn_float_to_half(sum->f32[k]);
}

static void compute_piece(const stn_step *step, int64_t batch, const int64_t at[3], int64_t count) {
    const stn_task *task = step->task;
    char *row = (char *)row_at(&step->to, task->dtype, batch, at[0], at[1]);
    stn_line buffer;
    bool in_place = step->to.stride[2] == 1 && task->dtype != STN_F16;
    void *sum = in_place ? (void *)(row + at[2] * (int64_t)stn_dtype_size(task->dtype)) : &buffer;
    size_t rounds = (task->ntaps + STN_KERNEL_TAPS - 1) / STN_KERNEL_TAPS;
    size_t round = 0;
    do { /* at least one tap; as even as can be: 10 taps are 5 + 5 */
        size_t first = task->ntaps * round / rounds, past = task->ntaps * (round + 1) / rounds;
        add_taps(step, batch, at, count, first, (int)(past - first), sum);
    } while (++round < rounds);
    if (step->source.base) add_source(step, batch, at, count, sum);
    if (!in_place) scatter(step, row, at[2], count, &buffer);
}

static void compute_span(const stn_step *step, int64_t batch, int64_t i0, int64_t i1, int64_t begin, int64_t end,
                         int64_t longest) {
    for (int64_t x = begin; x < end; x += longest)
        compute_piece(step, batch, (const int64_t[3]){i0, i1, x}, stn_min(longest, end - x));
}

/* Pieces are short where lines need buffers or sums take several rounds; else a row is one piece: long streams suit the
 * memory best. */
static int64_t longest_piece(const stn_step *step, int64_t i0, int64_t i1) {
    const stn_task *task = step->task;
    bool in_place = step->from.stride[2] == 1 && step->to.stride[2] == 1 && task->dtype != STN_F16;
    bool inside = i0 >= task->reach[0][0] && i0 < task->n[0] - task->reach[0][1] && i1 >= task->reach[1][0] &&
                  i1 < task->n[1] - task->reach[1][1];
    return in_place && inside && task->ntaps <= STN_KERNEL_TAPS ? task->n[2] : PIECE;
}

static void copy_span(const stn_step *step, int64_t batch, int64_t i0, int64_t i1, int64_t begin, int64_t end) {
    stn_dtype dtype = step->task->dtype;
    size_t size = stn_dtype_size(dtype);
    int64_t from_stride = step->from.stride[2] * (int64_t)size, to_stride = step->to.stride[2] * (int64_t)size;
    const char *from = row_at(&step->from, dtype, batch, i0, i1);
    char *to = (char *)row_at(&step->to, dtype, batch, i0, i1);
    if (begin >= end) return;
    if (step->from.stride[2] == 1 && step->to.stride[2] == 1)
        memcpy(to + begin * to_stride, from + begin * from_stride, (size_t)(end - begin) * size);
    else
        for (int64_t x = begin; x < end; x++) memcpy(to + x * to_stride, from + x * from_stride, size);
}

/* One row of a box: frozen ends are copied; the rest is cut where taps begin to reach past the row's ends, so that all
 * between the cuts is read in place. */
static void compute_row(const stn_step *step, int64_t batch, int64_t i0, int64_t i1, int64_t begin, int64_t end) {
    const stn_task *task = step->task;
    const int64_t(*live)[2] = step->live;
    bool frozen = i0 < live[0][0] || i0 >= live[0][1] || i1 < live[1][0] || i1 >= live[1][1];
    int64_t first = frozen ? end : stn_min(stn_max(begin, live[2][0]), end);
    int64_t past = stn_max(stn_min(end, live[2][1]), first);
    int64_t low = stn_min(stn_max(first, task->reach[2][0]), past);
    int64_t high = stn_max(stn_min(past, task->n[2] - task->reach[2][1]), low);
    if (past - first <= STN_STEP_SHORT) low = high = past; /* cutting costs more than gathering all of it */
    copy_span(step, batch, i0, i1, begin, first);
    compute_span(step, batch, i0, i1, first, low, PIECE);
    compute_span(step, batch, i0, i1, low, high, longest_piece(step, i0, i1));
    compute_span(step, batch, i0, i1, high, past, PIECE);
    copy_span(step, batch, i0, i1, past, end);
}

void stn_step_begin(stn_step *step, const stn_task *task) {
    step->task = task;
    step->kernels = stn_kernels_best();
    for (int a = 0; a < 3; a++) {
        const stn_boundary *sides = task->boundary[a];
        step->live[a][0] = sides[0].kind == STN_FIXED ? task->reach[a][0] : 0;
        step->live[a][1] = task->n[a] - (sides[1].kind == STN_FIXED ? task->reach[a][1] : 0);
    }
    for (int64_t r = 0; r < task->reach[2][0]; r++) step->ghost[0][r] = fold(task, 2, -1 - r);
    for (int64_t r = 0; r < task->reach[2][1]; r++) step->ghost[1][r] = fold(task, 2, task->n[2] + r);
}

void stn_step_box(const stn_step *step, int64_t batch, const stn_box *box) {
    for (int64_t i0 = box->begin[0]; i0 < box->end[0]; i0++)
        for (int64_t i1 = box->begin[1]; i1 < box->end[1] && stn_watch_goes_on(step->watch); i1++)
            compute_row(step, batch, i0, i1, box->begin[2], box->end[2]);
}

void stn_step_copy(const stn_step *step, int64_t batch, const stn_box *box) {
    for (int64_t i0 = box->begin[0]; i0 < box->end[0]; i0++)
        for (int64_t i1 = box->begin[1]; i1 < box->end[1]; i1++)
            copy_span(step, batch, i0, i1, box->begin[2], box->end[2]);
}
