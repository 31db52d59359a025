/* One time step of a stencil: u'(x) = sum over taps of weight * u(x + offset), plus the source if
 * there is one.
 *
 * A box is computed in tiles of a few rows. In a tile, each tap reads a line of doubles: a row of
 * the grid, shifted by the tap's offset. A contiguous row of doubles inside the grid is read in
 * place; any other row (past an edge, strided, or of another type) is first copied into a buffer,
 * which all taps and rows of the tile share. If there are not too many taps, f32 grids are read as
 * lines of floats, which are converted when they are added, and with few taps grids of bytes as
 * lines of bytes.
 *
 * Sums are made in double precision with weights in double precision, and rounded once; those of
 * lines of bytes are made in floats, and again in double where the error might matter. Taps that
 * mirror each other are summed in pairs: the middle one first, then pairs from the outermost on, as
 * SciPy does. Other taps are summed in order. */
#include "host/stencil_step.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"

#define TILE_ROWS 8
#define INSIDE_BYTES (1 << 19) /* of the rows of a tile that is computed without copies */
#define JOINED_BYTES (1 << 16) /* of rows that are computed as one line */
#define MIN_INSIDE 64          /* minimum number of points between edges of rows computed at once */
#define MIN_DENSE 256          /* the same for a full box of taps */
#define MAX_AT_ONCE 256        /* maximum number of lines that are read in place */
#define SHORT_ROW 48           /* maximum number of points of rows that are computed by columns */
#define MAX_BLOCK_POINTS 512   /* of a row, computed at once */
#define MIN_BLOCK_POINTS 64    /* for longer rows */
#define MAX_BLOCK_BYTES 4096   /* MAX_BLOCK_POINTS for lines of bytes */
#define BUFFER_SIZE (1 << 14)  /* doubles in a tile's buffer */
#define CACHED_ROWS 256        /* rows that a tile can remember, in a hash table by their indices */
#define MAX_DENSE_TAPS 2048    /* maximum number of taps of a dense box */
/* Bytes are summed in floats if the error of a sum is at most this: then about one vector in 16
 * must be summed again (stencil_sums.h). */
#define MAX_BYTE_ERROR 2e-3

/* A row that a tile has loaded. */
typedef struct cached_row {
    int64_t at[2];
    const char *line; /* its element k is point x + k of the row */
    uint64_t tile;
} cached_row;

typedef struct stn_tile {
    const stn_step *step;
    /* Points x to x + count - 1 of rows first[1] to first[1] + rows - 1 of plane first[0]. */
    int64_t batch, first[2], rows, x, count;
    bool inside; /* all points that taps read are inside the grid, and rows may be joined to one */
    uint64_t number;
    int64_t distance[STN_MAX_LINES]; /* bytes from a point to the tap of each line */
    size_t buffer_used;              /* doubles of the buffer in use */
    cached_row cache[CACHED_ROWS];
    /* These arrays hold numbers of the lines' type. */
    double sums[STN_KERNEL_ROWS][MAX_BLOCK_POINTS], carried[2][MAX_BLOCK_POINTS], buffer[BUFFER_SIZE];
} stn_tile;

double stn_step_constant(const stn_task *task, int axis, int64_t fold) {
    double value = stn_task_constant_value(task, axis, fold == -1 ? 0 : 1);
    return task->dtype == STN_F32 ? (float)value : value;
}

static char *row_at(const stn_layout *layout, int64_t batch, int64_t i0, int64_t i1) {
    return layout->base +
           (batch * layout->batch_stride + i0 * layout->stride[0] + i1 * layout->stride[1]) * layout->size;
}

/* Whether this grid holds numbers of the same type as the lines. */
static bool is_line(const stn_step *step, const stn_layout *layout) { return layout->element == step->line; }

/* to[k] = point x + k of a row, converted to double. */
static void load(const stn_step *step, const stn_layout *layout, const char *row, int64_t x, int64_t count,
                 double *to) {
    const int64_t stride = layout->stride[2] * layout->size;
    row += x * stride;
    if (stride == layout->size)
        step->kernels->load[layout->element](to, row, (size_t)count);
    else
        for (int64_t k = 0; k < count; k++) step->kernels->load[layout->element](to + k, row + k * stride, 1);
}

/* The same in the type of the lines. */
static void load_line(const stn_step *step, const char *row, int64_t x, int64_t count, char *to) {
    const int64_t size = step->from.size, stride = step->from.stride[2] * size;
    if (step->line == STN_ELEMENT_F64)
        load(step, &step->from, row, x, count, (double *)to);
    else if (stride == size)
        memcpy(to, row + x * stride, (size_t)(count * stride));
    else
        for (int64_t k = 0; k < count; k++) memcpy(to + k * size, row + (x + k) * stride, (size_t)size);
}

/* Copies one number of 1, 2, 4 or 8 bytes in each of `rows` rows; strides are in bytes. */
static void copy_column(int64_t size, const char *from, int64_t from_stride, char *to, int64_t to_stride,
                        int64_t rows) {
    if (size == 4)
        for (int64_t r = 0; r < rows; r++) memcpy(to + r * to_stride, from + r * from_stride, 4);
    else if (size == 8)
        for (int64_t r = 0; r < rows; r++) memcpy(to + r * to_stride, from + r * from_stride, 8);
    else if (size == 2)
        for (int64_t r = 0; r < rows; r++) memcpy(to + r * to_stride, from + r * from_stride, 2);
    else
        for (int64_t r = 0; r < rows; r++) to[r * to_stride] = from[r * from_stride];
}

static void fill_line(const stn_step *step, double value, int64_t count, char *to) {
    if (count < 1) return;
    step->kernels->store[step->line](to, &value, 1);
    copy_column(step->line_size, to, 0, to + step->line_size, step->line_size, count - 1);
}

/* As memcpy, but without a call for 1, 4 or 8 bytes, the sizes of single numbers. */
static void copy_bytes(char *to, const char *from, size_t bytes) {
    if (bytes == 4)
        memcpy(to, from, 4);
    else if (bytes == 8)
        memcpy(to, from, 8);
    else if (bytes == 1)
        *to = *from;
    else
        memcpy(to, from, bytes);
}

/* Writes points [begin, end) of a row, all of which are past its sides: constants, or copies of the
 * points that they fold to. `line` already holds points [x, past) of the row, from which most are
 * copied. */
static void copy_ghosts(const stn_step *step, const char *row, int64_t begin, int64_t end, const char *line, int64_t x,
                        int64_t past, char *to) {
    for (int64_t i = begin; i < end; i++, to += step->line_size) {
        const int64_t j = i < 0 ? step->ghost[0][-1 - i] : step->ghost[1][i - step->task->n[2]];
        if (j < 0)
            fill_line(step, stn_step_constant(step->task, 2, j), 1, to);
        else if (j >= x && j < past)
            copy_bytes(to, line + (j - x) * step->line_size, (size_t)step->line_size);
        else
            load_line(step, row, j, 1, to);
    }
}

/* line = points [begin, end) of a row, some of which are inside the grid. */
static void copy_row(const stn_step *step, const char *row, int64_t begin, int64_t end, char *line) {
    const int64_t n = step->task->n[2], inside = stn_min(stn_max(begin, 0), end),
                  past = stn_max(stn_min(end, n), inside), after = stn_max(past, begin);
    char *inner = line + (inside - begin) * step->line_size;
    if (past > inside) load_line(step, row, inside, past - inside, inner);
    copy_ghosts(step, row, begin, inside, inner, inside, past, line);
    copy_ghosts(step, row, after, end, inner, inside, past, line + (after - begin) * step->line_size);
}

/* The part of the buffer that a line takes, in doubles. */
static size_t doubles_of(const stn_step *step, int64_t count) {
    return (size_t)stn_div_up(count * step->line_size, sizeof(double));
}

/* Row (i0, i1) as a line for the tile, or NULL if the buffer is full. Where both indices are past
 * constant sides, the slower axis decides the value. */
static const char *read_row(stn_tile *tile, int64_t i0, int64_t i1) {
    const stn_step *step = tile->step;
    const stn_task *task = step->task;
    const int64_t begin = tile->x - task->reach[2][0], end = tile->x + tile->count + task->reach[2][1];
    const int64_t j0 = stn_task_fold(task, 0, i0), j1 = stn_task_fold(task, 1, i1);
    const char *row = j0 < 0 || j1 < 0 ? NULL : row_at(&step->from, tile->batch, j0, j1);
    if (row && step->from.stride[2] == 1 && is_line(step, &step->from) && begin >= 0 && end <= task->n[2])
        return row + tile->x * step->from.size;
    const size_t size = doubles_of(step, end - begin);
    if (tile->buffer_used + size > BUFFER_SIZE) return NULL;
    char *line = (char *)(tile->buffer + tile->buffer_used);
    tile->buffer_used += size;
    if (row)
        copy_row(step, row, begin, end, line);
    else
        fill_line(step, j0 < 0 ? stn_step_constant(task, 0, j0) : stn_step_constant(task, 1, j1), end - begin, line);
    return line + task->reach[2][0] * step->line_size;
}

static const char *find_row(stn_tile *tile, int64_t i0, int64_t i1) {
    cached_row *entry = &tile->cache[(uint64_t)(i0 * 31 + i1) & (tile->step->cache_rows - 1)];
    if (entry->tile != tile->number || entry->at[0] != i0 || entry->at[1] != i1) {
        const char *line = read_row(tile, i0, i1);
        if (!line) return NULL;
        *entry = (cached_row){{i0, i1}, line, tile->number};
    }
    return entry->line;
}

static void clear_cache(stn_tile *tile) {
    tile->number++;
    tile->buffer_used = 0;
}

/* The lines that one kernel call sums. */
typedef struct line_list {
    const void *lines[STN_MAX_LINES];
    double weights[STN_MAX_LINES];
    stn_terms terms;
    size_t used;        /* number of lines */
    const char *row[2]; /* read for each tap of the previous term */
    int64_t at[2][2];   /* offsets of these rows along axes 0 and 1 */
} line_list;

/* Sums the lines so far, and starts again with that sum as a line of weight 1. */
static void sum_lines(stn_tile *tile, line_list *list, double *sum) {
    tile->step->kernels->sum(sum, &list->terms, (size_t)tile->count);
    list->lines[0] = sum;
    list->weights[0] = 1;
    list->terms.single = list->used = 1;
    list->terms.pairs = 0;
    list->row[0] = list->row[1] = NULL;
    clear_cache(tile);
}

size_t stn_step_tap_of_term(const stn_task *task, int pairing, size_t term) {
    const size_t middle = pairing && task->ntaps % 2;
    return !pairing ? term : term < middle ? task->ntaps / 2 : term - middle;
}

/* Adds term `number` of row i1. Returns false if there is no room. */
static bool add_term(stn_tile *tile, int64_t i1, size_t number, line_list *list) {
    const stn_task *task = tile->step->task;
    const bool single = !tile->step->pairing || (number == 0 && task->ntaps % 2);
    const size_t first = stn_step_tap_of_term(task, tile->step->pairing, number);
    const size_t taps[2] = {first, task->ntaps - 1 - first}, count = single ? 1 : 2;
    if (list->used + count > STN_MAX_LINES) return false;
    for (size_t i = 0; i < count; i++) {
        const int64_t *offset = task->taps[taps[i]].offset;
        if (!list->row[i] || list->at[i][0] != offset[0] || list->at[i][1] != offset[1]) {
            list->row[i] = find_row(tile, tile->first[0] + offset[0], i1 + offset[1]);
            list->at[i][0] = offset[0];
            list->at[i][1] = offset[1];
        }
        if (!list->row[i]) return false;
        list->lines[list->used + i] = list->row[i] + offset[2] * tile->step->line_size;
    }
    list->used += count;
    list->weights[list->terms.single + list->terms.pairs] = task->taps[first].weight;
    *(single ? &list->terms.single : &list->terms.pairs) += 1;
    return true;
}

/* All lines of row i1 of the tile, if the input's rows are lines and all points that taps read are
 * inside the grid. */
static bool find_lines(const stn_tile *tile, int64_t i1, const void **lines) {
    const stn_step *step = tile->step;
    const stn_task *task = step->task;
    const int64_t at[3] = {tile->first[0], i1, tile->x}, counts[3] = {1, 1, tile->count};
    if (!step->lines || step->lines > MAX_AT_ONCE || step->from.stride[2] != 1 || !is_line(step, &step->from))
        return false;
    for (int axis = 0; axis < 3 && !tile->inside; axis++)
        if (at[axis] < task->reach[axis][0] || at[axis] + counts[axis] + task->reach[axis][1] > task->n[axis])
            return false;
    const char *point = row_at(&step->from, tile->batch, at[0], at[1]) + at[2] * step->line_size;
    for (size_t k = 0; k < step->lines; k++) lines[k] = point + tile->distance[k];
    return true;
}

/* rounds: sums of lines of doubles are stored as floats. */
static void sum_terms(const stn_tile *tile, const stn_terms *terms, double *sum, bool rounds) {
    const stn_step *step = tile->step;
    if (rounds)
        step->kernels->sum_to_float((float *)sum, terms, (size_t)tile->count);
    else if (step->line == STN_ELEMENT_U8)
        step->kernels->sum_byte((uint8_t *)sum, terms, (size_t)tile->count);
    else if (step->line == STN_ELEMENT_F32)
        step->kernels->sum_float((float *)sum, terms, (size_t)tile->count);
    else
        step->kernels->sum(sum, terms, (size_t)tile->count);
}

/* sum = all taps for row i1 of the tile. */
static void sum_row(stn_tile *tile, int64_t i1, double *sum, bool rounds) {
    const stn_step *step = tile->step;
    const size_t ntaps = step->task->ntaps, terms = step->pairing ? (ntaps + 1) / 2 : ntaps;
    const int64_t longest = tile->count + step->task->reach[2][0] + step->task->reach[2][1];
    line_list list;
    list.terms = step->terms;
    list.terms.lines = list.lines;
    list.terms.weights = step->weights;
    list.terms.constants = step->constants;
    if (find_lines(tile, i1, list.lines)) {
        sum_terms(tile, &list.terms, sum, rounds);
        return;
    }
    /* A rounded sum must be made in one call, so the buffer must have room for all its lines. */
    if (step->line != STN_ELEMENT_F64 && tile->buffer_used + ntaps * doubles_of(step, longest) > BUFFER_SIZE)
        clear_cache(tile);
    list.terms.weights = list.weights;
    list.terms.single = list.terms.pairs = 0;
    list.used = 0;
    list.row[0] = list.row[1] = NULL;
    int round = 0;
    for (size_t number = 0; number < terms;)
        if (add_term(tile, i1, number, &list))
            number++;
        else
            sum_lines(tile, &list, tile->carried[round++ % 2]);
    sum_terms(tile, &list.terms, sum, rounds);
}

/* Adds the constant source, divides, and writes the points in the output's type and stride. */
static void write_row(const stn_tile *tile, int64_t i1, char *row, double *sum) {
    const stn_step *step = tile->step;
    const int64_t stride = step->to.stride[2];
    if (step->source.base) {
        double source[MAX_BLOCK_POINTS];
        load(step, &step->source, row_at(&step->source, tile->batch, tile->first[0], i1), tile->x, tile->count, source);
        for (int64_t k = 0; k < tile->count; k++) sum[k] += source[k];
    }
    if (step->divisor != 1)
        for (int64_t k = 0; k < tile->count; k++) sum[k] /= step->divisor;
    const int64_t size = step->to.size;
    row += tile->x * stride * size;
    if (stride != 1)
        for (int64_t k = 0; k < tile->count; k++, row += stride * size)
            step->kernels->store[step->to.element](row, sum + k, 1);
    else if (row != (char *)sum)
        step->kernels->store[step->to.element](row, sum, (size_t)tile->count);
}

/* Dense unpaired weights: a full box of taps, for which several rows are summed side by side. */
typedef struct stn_dense_box {
    int64_t low[3], size[3];
    bool exact; /* as in stn_dense: grids, constants past sides and weights are floats */
    double weights[MAX_DENSE_TAPS];
} stn_dense_box;

/* Whether a tap's offset comes after another one in the order of the axes. */
static bool follows(const stn_tap *tap, const stn_tap *last) {
    int a = 0;
    while (a < 2 && tap->offset[a] == last->offset[a]) a++;
    return tap->offset[a] > last->offset[a];
}

/* Returns false if the taps do not fill a box in order, or if there are more than
 * MAX_DENSE_TAPS. */
static bool find_dense(const stn_step *step, stn_dense_box *box) {
    const stn_task *task = step->task;
    if (step->pairing || step->line == STN_ELEMENT_U8 || task->ntaps > MAX_DENSE_TAPS) return false;
    for (int a = 0; a < 3; a++) {
        int64_t high = task->taps[0].offset[a];
        box->low[a] = high;
        for (size_t k = 1; k < task->ntaps; k++) {
            box->low[a] = stn_min(box->low[a], task->taps[k].offset[a]);
            high = stn_max(high, task->taps[k].offset[a]);
        }
        box->size[a] = high - box->low[a] + 1;
    }
    const int64_t rows = box->size[0] * (box->size[1] + STN_KERNEL_ROWS - 1);
    if (box->size[0] * box->size[1] * box->size[2] != (int64_t)task->ntaps || box->size[1] < 3 || rows > STN_MAX_LINES)
        return false;
    box->exact = task->dtype == STN_F32 && stn_task_element(task, false) == STN_ELEMENT_F32;
    for (size_t k = 0; k < task->ntaps; k++) {
        if (k && !follows(&task->taps[k], &task->taps[k - 1])) return false;
        box->weights[k] = task->taps[k].weight;
        box->exact = box->exact && box->weights[k] == (float)box->weights[k];
    }
    return true;
}

/* rounds: as in sum_terms. */
static void call_dense(const stn_step *step, const stn_dense_box *box, const void *const *lines, double *const *sums,
                       bool rounds, int64_t count) {
    const stn_kernels *kernels = step->kernels;
    const stn_dense dense = {lines,     box->weights, (size_t)box->size[0], (size_t)box->size[1], (size_t)box->size[2],
                             box->exact};
    float *rounded[STN_KERNEL_ROWS];
    for (int r = 0; r < STN_KERNEL_ROWS; r++) rounded[r] = (float *)sums[r];
    if (rounds)
        kernels->sum_rows_to_float(rounded, &dense, (size_t)count);
    else if (step->line == STN_ELEMENT_F32)
        kernels->sum_rows_float(rounded, &dense, (size_t)count);
    else
        kernels->sum_rows(sums, &dense, (size_t)count);
}

/* Sums STN_KERNEL_ROWS rows from i1 on; rounds: as in sum_terms. Returns false if their lines do
 * not fit into the buffer. */
static bool sum_dense(stn_tile *tile, const stn_dense_box *box, int64_t i1, double *const *sums, bool rounds) {
    const stn_step *step = tile->step;
    const void *lines[STN_MAX_LINES];
    size_t used = 0;
    for (int64_t p = 0; p < box->size[0]; p++)
        for (int64_t q = 0; q < box->size[1] + STN_KERNEL_ROWS - 1; q++) {
            const char *line = find_row(tile, tile->first[0] + box->low[0] + p, i1 + box->low[1] + q);
            if (!line) return false;
            lines[used++] = line + box->low[2] * step->line_size;
        }
    call_dense(step, box, lines, sums, rounds, tile->count);
    return true;
}

static void compute_tile(stn_tile *tile, const stn_dense_box *dense) {
    const stn_step *step = tile->step;
    const bool contiguous = step->to.stride[2] == 1, in_place = contiguous && is_line(step, &step->to);
    /* Sums of doubles are stored as floats at once, unless something is done to them. */
    const bool rounds = step->line == STN_ELEMENT_F64 && step->to.element == STN_ELEMENT_F32 && contiguous &&
                        !step->source.base && step->divisor == 1;
    double *sums[STN_KERNEL_ROWS];
    char *rows[STN_KERNEL_ROWS];
    clear_cache(tile);
    for (int64_t r = 0, now; r < tile->rows; r += now) {
        const int64_t i1 = tile->first[1] + r;
        const bool several = dense && tile->rows - r >= STN_KERNEL_ROWS && tile->count >= STN_KERNEL_MIN;
        now = several ? STN_KERNEL_ROWS : 1;
        for (int64_t k = 0; k < now; k++) {
            rows[k] = row_at(&step->to, tile->batch, tile->first[0], i1 + k);
            sums[k] = in_place || rounds ? (double *)(rows[k] + tile->x * step->to.size) : tile->sums[k];
        }
        if (!several || !sum_dense(tile, dense, i1, sums, rounds)) {
            now = 1;
            sum_row(tile, i1, sums[0], rounds);
        }
        for (int64_t k = 0; k < now; k++) write_row(tile, i1 + k, rows[k], sums[k]);
    }
}

/* Copies points [begin, end) of `rows` rows from i1 on. */
static void copy_rows(const stn_step *step, int64_t batch, int64_t i0, int64_t i1, int64_t rows, int64_t begin,
                      int64_t end) {
    if (begin >= end) return;
    const stn_layout *l = &step->from, *to_layout = &step->to;
    const size_t size = (size_t)l->size;
    const int64_t from_stride = l->stride[2] * l->size, to_stride = to_layout->stride[2] * to_layout->size;
    const bool same = l->element == to_layout->element, contiguous = l->stride[2] == 1 && to_layout->stride[2] == 1;
    const char *from = row_at(l, batch, i0, i1);
    char *to = row_at(to_layout, batch, i0, i1);
    for (; rows > 0; rows--, from += l->stride[1] * l->size, to += to_layout->stride[1] * to_layout->size)
        if (!same)
            for (int64_t x = begin; x < end; x++) {
                double value;
                step->kernels->load[l->element](&value, from + x * from_stride, 1);
                step->kernels->store[to_layout->element](to + x * to_stride, &value, 1);
            }
        else if (contiguous)
            copy_bytes(to + begin * to_stride, from + begin * from_stride, (size_t)(end - begin) * size);
        else
            for (int64_t x = begin; x < end; x++) memcpy(to + x * to_stride, from + x * from_stride, size);
}

/* Sorted taps mirror each other from both ends of the list. */
int stn_step_pairing(const stn_task *task) {
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

/* Number of rows that the taps of a tile of `tile_rows` rows read. */
static int64_t rows_read(const stn_task *task, int64_t tile_rows) {
    int64_t rows = 0;
    for (size_t k = 1, first = 0; k <= task->ntaps; k++) {
        if (k < task->ntaps && task->taps[k].offset[0] == task->taps[first].offset[0]) continue;
        rows += tile_rows + task->taps[k - 1].offset[1] - task->taps[first].offset[1];
        first = k; /* first tap of the next plane, as taps are sorted */
    }
    return rows;
}

/* Whether one step from bytes to bytes is summed by sum_byte. Fills in the bound of its error and
 * the sums of constant lines. */
static bool sums_bytes(stn_step *step) {
    const stn_task *task = step->task;
    const size_t terms = step->pairing ? (task->ntaps + 1) / 2 : task->ntaps;
    if (stn_task_element(task, false) != STN_ELEMENT_U8 || stn_task_element(task, true) != STN_ELEMENT_U8 ||
        task->steps != 1 || task->in_place || task->divisor != 1 || terms > STN_KERNEL_BYTE_TERMS)
        return false;
    for (int side = 0; side < 6; side++) {
        const stn_boundary *at = &task->boundary[side / 2][side % 2];
        if (at->kind == STN_CONSTANT && !(at->value >= 0 && at->value <= UINT8_MAX && at->value == floor(at->value)))
            return false;
    }
    /* Partial sums are between `least` and `most`; sums of small multiples of 1/256 are exact. */
    double least = 0, most = 0, all = 0, error = 1e-9, bytes[UINT8_MAX + 1], sums[UINT8_MAX + 1];
    bool exact = true;
    for (size_t k = 0; k < terms; k++) {
        const double weight = step->weights[k];
        const double low = step->pairing < 0 ? -UINT8_MAX : 0;
        const double high = k < step->terms.single || low < 0 ? UINT8_MAX : 2 * UINT8_MAX;
        least += fmin(weight * low, weight * high);
        most += fmax(weight * low, weight * high);
        all += fabs(weight) * high;
        error += fmax(most, -least) * 0x1p-24 + fabs(weight) * high * 0x1p-24 + fabs(weight - (float)weight) * high;
        exact = exact && weight * 256 == nearbyint(weight * 256);
    }
    step->terms.error = exact && all < 0x1p16 ? 0 : (float)(1.01 * error);
    if (!(all < 0x1p20) || step->terms.error > MAX_BYTE_ERROR) return false;
    const void *lines[2 * STN_KERNEL_BYTE_TERMS];
    for (int i = 0; i <= UINT8_MAX; i++) bytes[i] = i;
    for (size_t i = 0; i < task->ntaps; i++) lines[i] = bytes;
    stn_terms of_constants = step->terms;
    of_constants.lines = lines;
    of_constants.weights = step->weights;
    step->kernels->sum(sums, &of_constants, UINT8_MAX + 1);
    step->kernels->store[STN_ELEMENT_U8](step->constants, sums, UINT8_MAX + 1);
    return true;
}

/* The order of the lines of one sum. */
static void order_lines(stn_step *step) {
    const stn_task *task = step->task;
    const size_t single = step->pairing ? task->ntaps % 2 : task->ntaps, pairs = (task->ntaps - single) / 2;
    step->terms = (stn_terms){.single = single, .pairs = pairs, .odd = step->pairing < 0};
    step->lines = 0;
    if (task->ntaps > STN_MAX_LINES) return;
    for (size_t k = 0; k < single + pairs; k++) {
        const size_t tap = stn_step_tap_of_term(task, step->pairing, k);
        step->weights[k] = task->taps[tap].weight;
        step->order[step->lines++] = (uint16_t)tap;
        if (k >= single) step->order[step->lines++] = (uint16_t)(task->ntaps - 1 - tap);
    }
}

void stn_step_begin(stn_step *step, const stn_task *task) {
    step->task = task;
    step->kernels = stn_kernels_best();
    step->pairing = stn_step_pairing(task);
    step->divisor = 1;
    order_lines(step);
    const int64_t rows = stn_max(rows_read(task, stn_min(TILE_ROWS, task->n[1])), 1),
                  reach = task->reach[2][0] + task->reach[2][1];
    const bool few = reach <= 2 * STN_MAX_RADIUS && !task->source && task->out_stride[2] == 1;
    step->line = STN_ELEMENT_F64;
    /* The lines of all taps fit into the buffer with rows of MIN_BLOCK_POINTS points. */
    const bool fits = step->lines && step->lines * (size_t)stn_div_up(MIN_BLOCK_POINTS + reach, 2) <= BUFFER_SIZE;
    if (few && fits && task->dtype == STN_F32 && !stn_task_converts(task))
        step->line = STN_ELEMENT_F32;
    else if (few && sums_bytes(step))
        step->line = STN_ELEMENT_U8;
    step->line_size = (int64_t)stn_element_size(step->line);
    const int64_t most = step->line == STN_ELEMENT_U8 ? MAX_BLOCK_BYTES : MAX_BLOCK_POINTS;
    step->block_points = stn_min(
        stn_max(BUFFER_SIZE * (int64_t)sizeof(double) / step->line_size / rows - reach - 8, MIN_BLOCK_POINTS), most);
    step->cache_rows = 1;
    while ((int64_t)step->cache_rows < 2 * rows && step->cache_rows < CACHED_ROWS) step->cache_rows *= 2;
    for (int a = 0; a < 3; a++) stn_task_updated_range(task, a, &step->live[a][0], &step->live[a][1]);
    for (int64_t r = 0; r < task->reach[2][0]; r++) step->ghost[0][r] = stn_task_fold(task, 2, -1 - r);
    for (int64_t r = 0; r < task->reach[2][1]; r++) step->ghost[1][r] = stn_task_fold(task, 2, task->n[2] + r);
}

/* The part of a box along an axis that no fixed side freezes. */
static void free_range(const stn_step *step, const stn_box *box, int axis, int64_t range[2]) {
    range[0] = stn_min(stn_max(box->begin[axis], step->live[axis][0]), box->end[axis]);
    range[1] = stn_max(stn_min(box->end[axis], step->live[axis][1]), range[0]);
}

/* How rows are computed if all rows that their taps read are inside the grid. Lines that need no
 * copies may have any length, and long ones suit hardware prefetchers. So a row is computed at once
 * without its edges, and several short rows are joined to one line. The sums of a joined line at
 * the points between two rows' interiors are overwritten, by edges or by copies of frozen points.
 *
 * Edges are computed along columns: the columns of a tile's rows that taps of both edges read are
 * copied into the buffer, and each column of an edge is summed as one line.
 *
 * Short rows that are not computed at once are computed along columns: the whole row is the low
 * edge. This serves rows of any type, also where taps read past sides. */
typedef struct inside_rows {
    bool at_once, joined, by_columns; /* by_columns excludes the others */
    int64_t edge[2][2];               /* points of a row: the low edge, and the high edge */
    int64_t most;                     /* points that are computed at once */
    int64_t tile_rows;                /* of a tile */
    int64_t pitch;                    /* points of a column's copy */
    /* points from the begin of the buffer to the tap of each line at the first point of an edge */
    int64_t position[2][STN_MAX_LINES];
} inside_rows;

/* Taps of one plane are neighbours in the list. Returns the end of those of tap `first`, and finds
 * the range of their offsets along axis 2. */
static size_t plane_of_taps(const stn_task *task, size_t first, int64_t range[2]) {
    size_t k = first;
    range[0] = range[1] = task->taps[first].offset[2];
    for (; k < task->ntaps && task->taps[k].offset[0] == task->taps[first].offset[0]; k++) {
        range[0] = stn_min(range[0], task->taps[k].offset[2]);
        range[1] = stn_max(range[1], task->taps[k].offset[2]);
    }
    return k;
}

/* The columns of one plane that are copied for an edge; range: of the offsets of the plane's taps.
 * If rows are computed by columns: all columns, and one of the constant past each constant side. */
static void find_columns(const stn_step *step, const inside_rows *rows, int side, const int64_t range[2],
                         int64_t columns[2]) {
    const stn_boundary *sides = step->task->boundary[2];
    const bool all = rows->by_columns && side == 0;
    columns[0] = all ? 0 - (sides[0].kind == STN_CONSTANT) : rows->edge[side][0] + range[0];
    columns[1] = all ? step->task->n[2] + (sides[1].kind == STN_CONSTANT) : rows->edge[side][1] + range[1];
    if (rows->edge[side][0] >= rows->edge[side][1]) columns[1] = columns[0];
}

/* Finds where taps read in the buffer. Returns false if the buffers are too small. */
static bool place_edges(const stn_step *step, inside_rows *rows) {
    const stn_task *task = step->task;
    int64_t position[2][STN_MAX_LINES], columns = 0, range[2], copied[2];
    rows->pitch = rows->tile_rows + task->reach[1][0] + task->reach[1][1];
    for (size_t first = 0, end; first < task->ntaps; first = end) {
        end = plane_of_taps(task, first, range);
        for (int side = 0; side < 2; side++) {
            find_columns(step, rows, side, range, copied);
            for (size_t k = first; k < end; k++) {
                const int64_t *offset = task->taps[k].offset,
                              column = rows->by_columns ? 0 : rows->edge[side][0] + offset[2];
                position[side][k] = (columns + column - copied[0]) * rows->pitch + task->reach[1][0] + offset[1];
            }
            columns += copied[1] - copied[0];
        }
    }
    for (size_t k = 0; k < step->lines; k++)
        for (int side = 0; side < 2; side++) rows->position[side][k] = position[side][step->order[k]];
    return columns == 0 || (columns * rows->pitch * step->line_size <= (int64_t)sizeof((stn_tile *)0)->buffer &&
                            rows->tile_rows <= MAX_BLOCK_POINTS);
}

static void find_inside_rows(const stn_step *step, const stn_box *box, const int64_t live[2], bool is_dense,
                             inside_rows *rows) {
    const int64_t n = step->task->n[2];
    const int64_t low = step->task->reach[2][0] - live[0], high = live[1] + step->task->reach[2][1] - n;
    rows->tile_rows = stn_min(TILE_ROWS, step->task->n[1]);
    rows->most = stn_max(INSIDE_BYTES / step->line_size / stn_max(rows_read(step->task, rows->tile_rows), 1),
                         step->block_points);
    rows->at_once = rows->joined = rows->by_columns = false;
    memset(rows->edge, 0, sizeof rows->edge);
    if (!step->lines || step->lines > MAX_AT_ONCE || step->from.stride[2] != 1 || step->to.stride[2] != 1 ||
        !is_line(step, &step->from) || !is_line(step, &step->to) || step->source.base || step->divisor != 1)
        return;
    rows->joined = !is_dense && box->end[2] - box->begin[2] == n && TILE_ROWS * n <= rows->most &&
                   step->from.stride[1] == n && step->to.stride[1] == n;
    if (rows->joined) {
        rows->most = JOINED_BYTES / step->line_size;
        rows->tile_rows = stn_min(rows->most / n, box->end[1] - box->begin[1]);
    }
    const int64_t least = rows->joined ? 0 : is_dense ? MIN_DENSE : MIN_INSIDE;
    rows->edge[0][0] = live[0];
    rows->edge[0][1] = live[0] + stn_max(low, 0);
    rows->edge[1][0] = live[1] - stn_max(high, 0);
    rows->edge[1][1] = live[1];
    if (rows->edge[1][0] - rows->edge[0][1] < least) return;
    while (!(rows->at_once = place_edges(step, rows)) && rows->tile_rows > TILE_ROWS) rows->tile_rows /= 2;
}

/* Finds how short rows are computed by columns. */
static void find_short_rows(const stn_step *step, const stn_box *box, const int64_t live[2], inside_rows *rows) {
    const int64_t n = step->task->n[2], all = box->end[1] - box->begin[1];
    rows->by_columns = step->lines && !step->source.base && n <= SHORT_ROW && n <= all;
    if (!rows->by_columns) return;
    rows->edge[0][0] = live[0];
    rows->edge[0][1] = rows->edge[1][0] = rows->edge[1][1] = live[1];
    rows->tile_rows = stn_min(MAX_BLOCK_POINTS, all);
    bool fits;
    while (!(fits = place_edges(step, rows)) && rows->tile_rows > TILE_ROWS) rows->tile_rows /= 2;
    rows->by_columns = fits;
}

static bool is_inside(const stn_tile *tile) {
    const stn_task *task = tile->step->task;
    const int64_t rows[2] = {1, tile->rows};
    for (int axis = 0; axis < 2; axis++)
        if (tile->first[axis] < task->reach[axis][0] ||
            tile->first[axis] + rows[axis] + task->reach[axis][1] > task->n[axis])
            return false;
    return true;
}

/* Rows of one plane, of which columns are copied. */
typedef struct rows_of_plane {
    const char *row;      /* point 0 of the first row; NULL: past a side */
    double constant;      /* past a constant side: the value of all points */
    int64_t size, stride; /* bytes from point to point, and from row to row */
    int64_t count;        /* number of rows */
} rows_of_plane;

/* Rows i1 and following, at most `count`. Numbers of another type than the lines' are converted,
 * into memory of the tile. */
static rows_of_plane find_rows(stn_tile *tile, int64_t i0, int64_t i1, int64_t count) {
    const stn_step *step = tile->step;
    const stn_task *task = step->task;
    const stn_layout *from = &step->from;
    const int64_t n = task->n[2], j0 = stn_task_fold(task, 0, i0), j1 = stn_task_fold(task, 1, i1);
    const bool inside = i1 >= 0 && i1 < task->n[1];
    rows_of_plane rows = {.count = inside ? stn_min(count, task->n[1] - i1) : 1};
    if (j0 < 0 || j1 < 0) {
        rows.constant = j0 < 0 ? stn_step_constant(task, 0, j0) : stn_step_constant(task, 1, j1);
        return rows;
    }
    rows.row = row_at(from, tile->batch, j0, j1);
    rows.size = from->stride[2] * from->size;
    rows.stride = from->stride[1] * from->size;
    if (is_line(step, from)) return rows;
    double *const to = tile->carried[0];
    rows.count = stn_min(rows.count, (int64_t)(sizeof tile->carried / sizeof *to) / n);
    if (rows.size == from->size && rows.stride == n * rows.size)
        load(step, from, rows.row, 0, rows.count * n, to);
    else
        for (int64_t r = 0; r < rows.count; r++) load(step, from, rows.row + r * rows.stride, 0, n, to + r * n);
    rows.row = (const char *)to;
    rows.size = sizeof *to;
    rows.stride = n * rows.size;
    return rows;
}

/* Copies into the buffer the columns that taps of both edges read; if rows are computed along
 * columns, all columns. */
static void copy_edges(stn_tile *tile, const inside_rows *inside) {
    const stn_step *step = tile->step;
    const stn_task *task = step->task;
    const int64_t pitch = inside->pitch * step->line_size;
    const int64_t count = tile->rows + task->reach[1][0] + task->reach[1][1];
    char *plane = (char *)tile->buffer, *to = plane;
    int64_t range[2], columns[2];
    for (size_t first = 0, end; first < task->ntaps; first = end, plane = to) {
        end = plane_of_taps(task, first, range);
        const int64_t i0 = tile->first[0] + task->taps[first].offset[0], i1 = tile->first[1] - task->reach[1][0];
        for (int64_t r = 0; r < count;) {
            const rows_of_plane rows = find_rows(tile, i0, i1 + r, count - r);
            to = plane + r * step->line_size;
            for (int side = 0; side < 2; side++) {
                find_columns(step, inside, side, range, columns);
                for (int64_t i = columns[0]; i < columns[1]; i++, to += pitch) {
                    const int64_t j = stn_task_fold(task, 2, i);
                    if (!rows.row || j < 0)
                        fill_line(step, rows.row ? stn_step_constant(task, 2, j) : rows.constant, rows.count, to);
                    else
                        copy_column(step->line_size, rows.row + j * rows.size, rows.stride, to, step->line_size,
                                    rows.count);
                }
            }
            to -= r * step->line_size;
            r += rows.count;
        }
    }
}

/* Writes the sums of point i of each of the tile's rows. */
static void write_column(stn_tile *tile, int64_t i, double *sums) {
    const stn_step *step = tile->step;
    const stn_layout *layout = &step->to;
    const int64_t size = layout->size;
    const char *from = (const char *)sums;
    if (!is_line(step, layout)) {
        if (step->divisor != 1)
            for (int64_t r = 0; r < tile->rows; r++) sums[r] /= step->divisor;
        step->kernels->store[layout->element](tile->carried, sums, (size_t)tile->rows);
        from = (const char *)tile->carried;
    }
    copy_column(size, from, size,
                row_at(layout, tile->batch, tile->first[0], tile->first[1]) + i * layout->stride[2] * size,
                layout->stride[1] * size, tile->rows);
}

/* The column that a tap reads at point i of rows that are computed along columns: 0 .. n - 1, or
 * that of the constant past the low side (-1) or past the high side (n). */
static int64_t column_of(const stn_step *step, int64_t i) {
    const int64_t n = step->task->n[2], j = i < 0 ? step->ghost[0][-1 - i] : i < n ? i : step->ghost[1][i - n];
    return j == -2 ? n : j;
}

/* Computes both edges of a tile's rows; if rows are computed along columns, all their points. */
static void compute_edges(stn_tile *tile, const inside_rows *inside) {
    const stn_step *step = tile->step;
    const stn_task *task = step->task;
    const void *lines[STN_MAX_LINES];
    stn_terms terms = step->terms;
    terms.lines = lines;
    terms.weights = step->weights;
    terms.constants = step->constants;
    tile->count = tile->rows;
    copy_edges(tile, inside);
    for (int side = 0; side < 2; side++)
        for (int64_t i = inside->edge[side][0]; i < inside->edge[side][1]; i++) {
            for (size_t k = 0; k < step->lines; k++) {
                int64_t column = i - inside->edge[side][0];
                if (inside->by_columns) column = column_of(step, i + task->taps[step->order[k]].offset[2]);
                lines[k] =
                    (const char *)tile->buffer + (inside->position[side][k] + column * inside->pitch) * step->line_size;
            }
            sum_terms(tile, &terms, tile->sums[0], false);
            write_column(tile, i, tile->sums[0]);
        }
}

/* The number of rows of the tile that begins at row i1. Rows whose taps reach past a side are in
 * other tiles than those that are computed at once. */
static int64_t rows_of_tile(const stn_step *step, const inside_rows *inside, const inside_rows *columns, int64_t i0,
                            int64_t i1, int64_t end) {
    const int(*reach)[2] = step->task->reach;
    const int64_t low = reach[1][0], high = step->task->n[1] - reach[1][1];
    const bool within = i1 >= low && i1 < high && i0 >= reach[0][0] && i0 < step->task->n[0] - reach[0][1];
    int64_t rows = within ? inside->tile_rows : TILE_ROWS;
    if (inside->at_once) end = stn_min(end, i1 < low ? low : i1 < high ? high : end);
    if (columns->by_columns && !(within && inside->at_once)) rows = columns->tile_rows;
    return stn_min(rows, end - i1);
}

/* Copies frozen points, and computes the others in tiles. */
void stn_step_box(const stn_step *step, int64_t batch, const stn_box *box) {
    int64_t live[3][2];
    stn_dense_box dense;
    stn_tile tile;
    tile.step = step;
    tile.batch = batch;
    tile.number = 0;
    for (uint64_t i = 0; i < step->cache_rows; i++) tile.cache[i].tile = 0;
    for (size_t k = 0; k < step->lines; k++) {
        const int64_t *offset = step->task->taps[step->order[k]].offset, *stride = step->from.stride;
        tile.distance[k] = (offset[0] * stride[0] + offset[1] * stride[1] + offset[2] * stride[2]) * step->line_size;
    }
    const bool is_dense = find_dense(step, &dense);
    for (int a = 0; a < 3; a++) free_range(step, box, a, live[a]);
    inside_rows whole, columns;
    find_inside_rows(step, box, live[2], is_dense, &whole);
    find_short_rows(step, box, live[2], &columns);
    if (columns.by_columns && 2 * (whole.edge[1][0] - whole.edge[0][1]) <= step->task->n[2]) whole.at_once = false;
    for (int64_t i0 = box->begin[0]; i0 < box->end[0]; i0++) {
        const bool frozen = i0 < live[0][0] || i0 >= live[0][1];
        tile.first[0] = i0;
        for (int64_t i1 = box->begin[1]; i1 < box->end[1] && stn_watch_continues(step->watch); i1 += tile.rows) {
            const bool all = frozen || i1 < live[1][0] || i1 >= live[1][1];
            tile.first[1] = i1;
            tile.rows = frozen ? box->end[1] - i1 : all ? 1 : rows_of_tile(step, &whole, &columns, i0, i1, live[1][1]);
            const int64_t rows = tile.rows;
            tile.inside = !all && whole.at_once && is_inside(&tile);
            if (tile.inside && whole.joined) tile.rows = 1;
            const bool by_columns = !all && !tile.inside && columns.by_columns;
            const int64_t end = tile.inside ? whole.edge[1][0] + (rows - tile.rows) * step->task->n[2] : live[2][1];
            for (tile.x = tile.inside ? whole.edge[0][1] : live[2][0]; tile.x < end && !all && !by_columns;
                 tile.x += tile.count) {
                tile.count = stn_min(end - tile.x, tile.inside ? whole.most : step->block_points);
                compute_tile(&tile, is_dense ? &dense : NULL);
            }
            tile.rows = rows;
            /* The rows are now in cache. */
            if (tile.inside || by_columns) compute_edges(&tile, by_columns ? &columns : &whole);
            /* Frozen points, whose rows are now in cache. Those at the end of a joined row and at
             * the begin of the next one are copied together. */
            const int64_t joints = tile.inside && whole.joined ? rows - 1 : 0;
            copy_rows(step, batch, i0, i1, joints, live[2][1], box->end[2] + live[2][0]);
            copy_rows(step, batch, i0, i1, joints ? 1 : rows, box->begin[2], all ? box->end[2] : live[2][0]);
            if (!all) copy_rows(step, batch, i0, i1 + joints, rows - joints, live[2][1], box->end[2]);
        }
    }
}

void stn_step_copy(const stn_step *step, int64_t batch, const stn_box *box) {
    for (int64_t i0 = box->begin[0]; i0 < box->end[0]; i0++)
        copy_rows(step, batch, i0, box->begin[1], box->end[1] - box->begin[1], box->begin[2], box->end[2]);
}
