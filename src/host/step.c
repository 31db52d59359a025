/* One time step: u'(x) = sum over taps of weight * u(x + offset), plus the source where there is one.
 *
 * A row of points is computed in pieces. For a piece, each tap sees a line: the piece's points shifted by the tap's
 * offset. Where a line lies contiguous inside the grid it is read in place; else (past an edge, strided, or stored as
 * half) it is first gathered into a buffer. Either way the same kernel sums the same numbers in the same order.
 *
 * Sums are made in double precision by weights in double precision, and rounded once. Taps that mirror each other are
 * summed in pairs: the middle first, then pairs from the outermost on, as SciPy sums them. Other taps go in order. */
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

static void put(const stn_step *step, stn_line *line, int64_t i, double value) {
    if (step->widened)
        line->f64[i] = value;
    else
        line->f32[i] = (float)value;
}

/* The value past a side: of the grid's type, as if the grid went on. */
static double constant_past(const stn_task *task, int axis, int64_t fold) {
    double value = stn_task_outside(task, axis, fold == -1 ? 0 : 1);
    return task->dtype == STN_F32 ? (float)value : value;
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

/* line = points [begin, end) of a row of which some are inside. */
static void gather(const stn_step *step, const char *row, int64_t begin, int64_t end, stn_line *line) {
    const stn_dtype dtype = step->task->dtype;
    int64_t inside = stn_max(begin, 0), past = stn_min(end, step->task->n[2]), stride = step->from.stride[2];
    for (int64_t x = begin; x < inside; x++) put(step, line, x - begin, ghost(step, row, x));
    size_t count = (size_t)stn_max(past - inside, 0);
    double *wide = line->f64 + (inside - begin);
    if (stride != 1)
        for (int64_t x = inside; x < past; x++) put(step, line, x - begin, load(dtype, row, x * stride));
    else if (dtype == STN_F64)
        memcpy(wide, (const double *)row + inside, count * sizeof(double));
    else if (dtype == STN_F16)
        step->kernels->from_half(wide, (const uint16_t *)row + inside, count);
    else if (step->widened)
        step->kernels->from_float(wide, (const float *)row + inside, count);
    else
        memcpy(line->f32 + (inside - begin), (const float *)row + inside, count * sizeof(float));
    for (int64_t x = stn_max(past, begin); x < end; x++) put(step, line, x - begin, ghost(step, row, x));
}

/* Where point x of the piece is seen through a row: in place if it can be, else in the buffer. The pointer's element k
 * is point x + k, for k from -reach[0] to count + reach[1]. */
static const void *line_seen(const stn_step *step, stn_row row, int64_t x, int64_t count, const int64_t reach[2],
                             stn_line *buffer) {
    const stn_task *task = step->task;
    const size_t size = step->widened ? sizeof(double) : sizeof(float);
    int64_t begin = x - reach[0], end = x + count + reach[1];
    if (row.points && step->from.stride[2] == 1 && size == stn_dtype_size(task->dtype) && begin >= 0 &&
        end <= task->n[2])
        return row.points + (size_t)x * size;
    if (row.points)
        gather(step, row.points, begin, end, buffer);
    else
        for (int64_t i = 0; i < end - begin; i++) put(step, buffer, i, row.constant);
    return (const char *)buffer + (size_t)(x - begin) * size;
}

static bool same_row(const stn_tap *a, const stn_tap *b) {
    return a->offset[0] == b->offset[0] && a->offset[1] == b->offset[1];
}

/* The line of tap k's row for the piece. Taps are sorted: those that see the same row follow each other, and the row's
 * first and last tap say how far it is read past the piece. */
static const void *line_of_tap(const stn_step *step, int64_t batch, const int64_t at[3], int64_t count, size_t k,
                               stn_line *buffer) {
    const stn_task *task = step->task;
    const stn_tap *taps = task->taps;
    size_t first = k, last = k;
    while (first > 0 && same_row(&taps[first - 1], &taps[k])) first--;
    while (last + 1 < task->ntaps && same_row(&taps[last + 1], &taps[k])) last++;
    const int64_t reach[2] = {stn_max(-taps[first].offset[2], 0), stn_max(taps[last].offset[2], 0)};
    return line_seen(step, row_seen(step, batch, at[0], at[1], taps[k].offset), at[2], count, reach, buffer);
}

/* The lines of a piece that sums read: kept while the taps of a call, or of the next, see the same rows. Taps in order
 * need one kept line, pairs two: the first tap's and the second's. */
typedef struct stn_lines {
    stn_line buffers[STN_KERNEL_TAPS + 2];
    const void *line[2];
    size_t tap[2]; /* whose line it is */
    int used[2];   /* its buffer, or -1 */
    int kept[2];   /* the buffers of the lines that a call began with: it may read them to its end */
} stn_lines;

static const void *find_line(const stn_step *step, int64_t batch, const int64_t at[3], int64_t count, size_t k,
                             int side, stn_lines *lines, int *next) {
    const stn_task *task = step->task;
    if (!lines->line[side] || !same_row(&task->taps[k], &task->taps[lines->tap[side]])) {
        while (*next == lines->kept[0] || *next == lines->kept[1]) ++*next;
        lines->used[side] = *next;
        lines->tap[side] = k;
        lines->line[side] = line_of_tap(step, batch, at, count, k, &lines->buffers[*next]);
        ++*next;
    }
    const size_t size = step->widened ? sizeof(double) : sizeof(float);
    return (const char *)lines->line[side] + task->taps[k].offset[2] * (int64_t)size;
}
/* sum (+)= terms from `first` on: taps one by one, or the middle tap and then pairs. Returns the term after the last.
 * Where they are all terms and `rounded` is not NULL, that gets the sum as floats. */
static size_t add_terms(const stn_step *step, int64_t batch, const int64_t at[3], int64_t count, size_t first,
                        stn_terms terms, stn_lines *lines, double *sum, float *rounded) {
    const stn_task *task = step->task;
    const void *seen[STN_KERNEL_TAPS] = {NULL};
    double weights[STN_KERNEL_TAPS];
    const size_t middle = step->pairing && task->ntaps % 2; /* term 0 is the middle tap, term k + middle pair k */
    int read = 0, next = 0;
    memcpy(lines->kept, lines->used, sizeof lines->kept);
    for (int i = 0; i < terms.single + terms.pairs; i++, first++) {
        const size_t k = !step->pairing ? first : first < middle ? task->ntaps / 2 : first - middle;
        weights[i] = task->taps[k].weight;
        seen[read++] = find_line(step, batch, at, count, k, 0, lines, &next);
        if (i >= terms.single) seen[read++] = find_line(step, batch, at, count, task->ntaps - 1 - k, 1, lines, &next);
    }
    bool add = first > (size_t)(terms.single + terms.pairs);
    if (rounded)
        step->kernels->sum_float(rounded, seen, weights, terms, (size_t)count);
    else
        (step->widened ? step->kernels->sum_f64 : step->kernels->sum_f32)(sum, seen, weights, terms, (size_t)count,
                                                                          add);
    return first;
}

/* All taps of a piece, in calls that are as even as can be: 10 taps are 5 + 5. rounded: NULL, or where one call's sums go
 * instead as floats. */
static void add_taps(const stn_step *step, int64_t batch, const int64_t at[3], int64_t count, double *sum,
                     float *rounded) {
    const size_t ntaps = step->task->ntaps, pairs = step->pairing ? ntaps / 2 : 0;
    const size_t most = pairs ? STN_KERNEL_TAPS / 2 : STN_KERNEL_TAPS, middle = pairs ? ntaps % 2 : 0;
    const size_t items = pairs ? pairs : ntaps, rounds = (items + most - 1) / most;
    stn_lines lines;
    lines.line[0] = lines.line[1] = NULL;
    lines.used[0] = lines.used[1] = -1;
    size_t first = 0, round = 0;
    do { /* every stencil has a tap */
        const int now = (int)(items * (round + 1) / rounds - items * round / rounds);
        stn_terms terms = pairs ? (stn_terms){round ? 0 : (int)middle, now, step->pairing < 0} : (stn_terms){now, 0, 0};
        first = add_terms(step, batch, at, count, first, terms, &lines, sum, rounded);
    } while (++round < rounds);
}

/* The constant source of the piece, added before the sums are rounded. */
static void add_source(const stn_step *step, int64_t batch, const int64_t at[3], int64_t count, double *sum) {
    const stn_dtype dtype = step->task->dtype;
    const char *row = row_at(&step->source, dtype, batch, at[0], at[1]);
    const int64_t stride = step->source.stride[2];
    for (int64_t k = 0; k < count; k++) sum[k] += load(dtype, row, (at[2] + k) * stride);
}

/* The computed piece, into the output's type and stride. */
static void scatter(const stn_step *step, char *row, int64_t x, int64_t count, const double *sum) {
    const stn_dtype dtype = step->task->dtype;
    const int64_t stride = step->to.stride[2];
    if (dtype == STN_F32 && stride == 1)
        step->kernels->to_float((float *)row + x, sum, (size_t)count);
    else if (dtype == STN_F16 && stride == 1)
        step->kernels->to_half((uint16_t *)row + x, sum, (size_t)count);
    else if (dtype == STN_F64)
        for (int64_t k = 0; k < count; k++) ((double *)row)[(x + k) * stride] = sum[k];
    else if (dtype == STN_F32)
        for (int64_t k = 0; k < count; k++) ((float *)row)[(x + k) * stride] = (float)sum[k];
    else
        for (int64_t k = 0; k < count; k++) ((uint16_t *)row)[(x + k) * stride] = stn_float_to_half((float)sum[k]);
}

static void compute_piece(const stn_step *step, int64_t batch, const int64_t at[3], int64_t count) {
    char *row = (char *)row_at(&step->to, step->task->dtype, batch, at[0], at[1]);
    double buffer[PIECE];
    const bool in_place = step->to.stride[2] == 1 && step->task->dtype == STN_F64;
    const bool at_once = step->to.stride[2] == 1 && !step->widened && !step->source.base;
    double *sum = in_place ? (double *)row + at[2] : buffer;
    add_taps(step, batch, at, count, sum, at_once ? (float *)row + at[2] : NULL);
    if (step->source.base) add_source(step, batch, at, count, sum);
    if (!in_place && !at_once) scatter(step, row, at[2], count, buffer);
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

/* One row of a box: frozen ends are copied, the rest is computed in pieces. */
static void compute_row(const stn_step *step, int64_t batch, int64_t i0, int64_t i1, int64_t begin, int64_t end) {
    const int64_t(*live)[2] = step->live;
    bool frozen = i0 < live[0][0] || i0 >= live[0][1] || i1 < live[1][0] || i1 >= live[1][1];
    int64_t first = frozen ? end : stn_min(stn_max(begin, live[2][0]), end);
    int64_t past = stn_max(stn_min(end, live[2][1]), first);
    copy_span(step, batch, i0, i1, begin, first);
    for (int64_t x = first; x < past; x += PIECE)
        compute_piece(step, batch, (const int64_t[3]){i0, i1, x}, stn_min(PIECE, past - x));
    copy_span(step, batch, i0, i1, past, end);
}

/* 1 where taps at opposite offsets have the same weight, -1 where they have opposite weights and none is in the middle,
 * else 0. Sorted taps mirror each other from both ends of their list. */
static int pairing_of(const stn_task *task) {
    bool even = task->ntaps > 1, odd = even && task->ntaps % 2 == 0;
    for (size_t k = 0; k < (task->ntaps + 1) / 2 && (even || odd); k++) {
        const stn_tap *a = &task->taps[k], *b = &task->taps[task->ntaps - 1 - k];
        for (int axis = 0; axis < 3; axis++)
            if (a->offset[axis] != -b->offset[axis]) return 0;
        even = even && a->weight == b->weight;
        odd = odd && a->weight == -b->weight;
    }
    return even ? 1 : odd ? -1 : 0;
}

void stn_step_begin(stn_step *step, const stn_task *task) {
    step->task = task;
    step->kernels = stn_kernels_best();
    step->pairing = pairing_of(task);
    step->widened = task->dtype != STN_F32 || task->ntaps > STN_KERNEL_TAPS;
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
