/* Two filters at once, along a slower axis and then along the last one. The grid is cut into strips
 * of columns. The rows of a strip that the first filter reads are kept as doubles in a ring, which
 * is sized for the L2 cache. If input and output are floats, rows are read in place instead, except
 * in strips that need columns outside of their window because points past the sides fold to them.
 * Each sum over rows becomes a row of the intermediate result, which the second filter reads at
 * once, so that it is never in memory. */
#include "host/separable.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "host/stencil_step.h"

#define RING_BYTES 262144 /* size of a ring, unless its strip would be narrow */
#define NARROW 64         /* points of a strip, minimum */
#define WIDE 8192         /* maximum: whole rows suit hardware prefetchers */
#define CHUNK_ROWS 16     /* least rows of a piece of work, as a multiple of those of a ring */
#define WORK 65536        /* points below which waking a thread costs more than it saves */

/* Rows of memory besides the ring: of the intermediate result, and one of sums. */
#define MORE_ROWS (STN_KERNEL_COLUMN_ROWS + 1)

/* One filter in the order of its sums. */
typedef struct line_filter {
    double weights[STN_SEPARABLE_TAPS];
    int64_t offsets[STN_SEPARABLE_TAPS]; /* offset of each line of stn_terms */
    stn_terms terms;
    int64_t low, high; /* the least and the largest offset */
    bool few;          /* all points from low to high, in at most STN_KERNEL_FEW_PAIRS pairs */
} line_filter;

typedef struct separable_run {
    const stn_task *first, *second;
    const stn_kernels *kernels;
    const char *in;
    char *out;
    int axis;      /* axis of the first filter: 0 or 1 */
    bool in_place; /* the first filter reads rows of the grid, not of a ring */
    line_filter along[2];
    int64_t width, strips, rows, chunks; /* points of a strip, rows of a piece of work */
    int64_t ring;                        /* rows of a ring */
    size_t line;                         /* doubles from one row of a ring to the next */
    stn_element from, to;
    atomic_bool failed; /* out of memory */
} separable_run;

/* A strip: columns x to x + count - 1 of the result. A row of the ring has the columns from
 * window[0] to window[1] - 1, then `extra` columns from which points past the sides take their
 * values. */
typedef struct strip {
    int64_t x, count, window[2], extra;
    int64_t columns[2 * STN_SEPARABLE_TAPS];
    /* The index in a row of the ring of each point before and past the window; -1, -2: the point
     * has the constant of the low, the high side. */
    int64_t ghost[2][STN_SEPARABLE_TAPS];
} strip;

static bool lies_along(const stn_task *task, int axis) {
    for (int other = 0; other < 3; other++)
        if (other != axis && (task->reach[other][0] || task->reach[other][1])) return false;
    return true;
}

static int axis_of(const stn_task *first) { return lies_along(first, 0) ? 0 : 1; }

static bool serves(const stn_task *task) {
    for (int side = 0; side < 6; side++)
        if (task->boundary[side / 2][side % 2].kind == STN_FIXED) return false;
    const int64_t *n = task->n;
    const int64_t dense[3] = {n[1] * n[2], n[2], 1};
    for (int axis = 0; axis < 3; axis++)
        if (n[axis] > 1 && (task->in_stride[axis] != dense[axis] || task->out_stride[axis] != dense[axis]))
            return false;
    const bool batches =
        task->batch == 1 || (task->in_batch_stride == n[0] * dense[0] && task->out_batch_stride == n[0] * dense[0]);
    return batches && task->steps == 1 && task->snapshots == 1 && !task->in_place && !task->source &&
           task->divisor == 1 && task->ntaps <= STN_SEPARABLE_TAPS;
}

bool stn_host_separable_applies(const stn_task *first, const stn_task *second) {
    return serves(first) && serves(second) && lies_along(first, axis_of(first)) && lies_along(second, 2);
}

static void order_terms(const stn_task *task, int axis, line_filter *filter) {
    const int pairing = stn_step_pairing(task);
    const size_t single = pairing ? task->ntaps % 2 : task->ntaps, pairs = (task->ntaps - single) / 2;
    int64_t *offset = filter->offsets;
    filter->terms = (stn_terms){.weights = filter->weights, .single = single, .pairs = pairs, .odd = pairing < 0};
    filter->low = -task->reach[axis][0];
    filter->high = task->reach[axis][1];
    for (size_t k = 0; k < single + pairs; k++) {
        const size_t tap = stn_step_tap_of_term(task, pairing, k);
        filter->weights[k] = task->taps[tap].weight;
        *offset++ = task->taps[tap].offset[axis];
        if (k >= single) *offset++ = task->taps[task->ntaps - 1 - tap].offset[axis];
    }
    filter->few =
        pairing > 0 && single == 1 && pairs <= STN_KERNEL_FEW_PAIRS && filter->high - filter->low == 2 * (int64_t)pairs;
}

/* The index, in a row of the ring, of the point that i, outside of the window, is folded to. Adds
 * this point to the extra columns if it lies outside of the window. */
static int64_t place(const separable_run *run, strip *at, int64_t i) {
    const int64_t j = stn_task_fold(run->second, 2, i), inside = at->window[1] - at->window[0];
    if (j < 0) return j;
    if (j >= at->window[0] && j < at->window[1]) return j - at->window[0];
    at->columns[at->extra] = j;
    return inside + at->extra++;
}

static void find_window(const separable_run *run, int64_t x, strip *at) {
    const int64_t n = run->first->n[2];
    const int64_t begin = x + run->along[1].low;
    at->x = x;
    at->count = stn_min(run->width, n - x);
    const int64_t end = x + at->count + run->along[1].high;
    at->window[0] = stn_max(begin, 0);
    at->window[1] = stn_min(end, n);
    at->extra = 0;
    for (int64_t i = begin; i < at->window[0]; i++) at->ghost[0][i - begin] = place(run, at, i);
    for (int64_t i = at->window[1]; i < end; i++) at->ghost[1][i - at->window[1]] = place(run, at, i);
}

/* Row i along the first filter's axis as doubles. base: row 0 of the strip's grid at its index
 * along the other slow axis. */
static void load_row(const separable_run *run, const strip *at, const char *base, int64_t i, double *to) {
    const stn_task *task = run->first;
    const int64_t inside = at->window[1] - at->window[0], j = stn_task_fold(task, run->axis, i);
    const int64_t size = (int64_t)stn_element_size(run->from);
    if (j < 0) {
        const double value = stn_step_constant(task, run->axis, j);
        for (int64_t k = 0; k < inside + at->extra; k++) to[k] = value;
        return;
    }
    const char *row = base + j * task->in_stride[run->axis] * size;
    run->kernels->load[run->from](to, row + at->window[0] * size, (size_t)inside);
    for (int64_t k = 0; k < at->extra; k++)
        run->kernels->load[run->from](to + inside + k, row + at->columns[k] * size, 1);
}

/* Completes a row of the intermediate result, `middle`, by the points past the window. On entry the
 * row has the points in the window, from `sum` on, followed by the points of at->columns, which are
 * overwritten. */
static void add_ghosts(const separable_run *run, const strip *at, double *sum, double *middle) {
    const int64_t before = at->window[0] - (at->x + run->along[1].low), inside = at->window[1] - at->window[0];
    const int64_t past = at->x + at->count + run->along[1].high - at->window[1];
    const int64_t counts[2] = {before, past};
    double *to[2] = {middle, sum + inside}, late[2 * STN_SEPARABLE_TAPS];
    memcpy(late, sum + inside, (size_t)at->extra * sizeof *late);
    for (int side = 0; side < 2; side++)
        for (int64_t k = 0; k < counts[side]; k++) {
            const int64_t from = at->ghost[side][k];
            to[side][k] = from < 0        ? stn_step_constant(run->second, 2, from)
                          : from < inside ? sum[from]
                                          : late[from - inside];
        }
}

/* Row i along the first filter's axis, of floats in place. past: rows of constants. */
static const void *find_row(const separable_run *run, const strip *at, const char *base, int64_t i,
                            float *const *past) {
    const int64_t j = stn_task_fold(run->first, run->axis, i);
    if (j < 0) return past[-1 - j];
    return (const float *)base + j * run->first->in_stride[run->axis] + at->window[0];
}

/* Filters a row of the intermediate result along the last axis, and stores it. */
static void filter_row(const separable_run *run, const strip *at, double *middle, double *result, char *row) {
    const stn_kernels *kernels = run->kernels;
    const line_filter *across = &run->along[1];
    const bool few = across->few && at->count >= STN_KERNEL_MIN;
    double *const sum = run->to == STN_ELEMENT_F64 ? (double *)row : result;
    const void *shifted[STN_SEPARABLE_TAPS];
    stn_terms terms = across->terms;
    terms.lines = shifted;
    for (size_t k = 0; k < terms.single + 2 * terms.pairs; k++)
        shifted[k] = middle + (across->offsets[k] - across->low);
    add_ghosts(run, at, middle + (at->window[0] - (at->x + across->low)), middle);
    if (run->to == STN_ELEMENT_F32 && few)
        kernels->sum_row_to_float((float *)row, middle, across->weights, terms.pairs, (size_t)at->count);
    else if (run->to == STN_ELEMENT_F32)
        kernels->sum_to_float((float *)row, &terms, (size_t)at->count);
    else if (few)
        kernels->sum_row(sum, middle, across->weights, terms.pairs, (size_t)at->count);
    else
        kernels->sum(sum, &terms, (size_t)at->count);
    if (run->to != STN_ELEMENT_F32 && sum == result) kernels->store[run->to](row, result, (size_t)at->count);
}

static void run_strip(const separable_run *run, const strip *at, const char *in, char *out, int64_t begin, int64_t end,
                      double *memory) {
    const stn_kernels *kernels = run->kernels;
    const line_filter *down = &run->along[0];
    const int64_t all = at->window[1] - at->window[0] + at->extra, size = (int64_t)stn_element_size(run->to);
    const bool in_place = run->in_place && at->extra == 0;
    double *ring = memory, *const middle = ring + (size_t)run->ring * run->line;
    double *const result = middle + STN_KERNEL_COLUMN_ROWS * run->line;
    const int64_t ghosts = at->window[0] - (at->x + run->along[1].low);
    float *const past[2] = {(float *)ring, (float *)ring + run->line};
    const void *lines[STN_SEPARABLE_TAPS + STN_KERNEL_COLUMN_ROWS - 1];
    stn_terms terms = down->terms;
    terms.lines = lines;
    for (int side = 0; in_place && side < 2; side++)
        for (int64_t k = 0; k < all; k++) past[side][k] = (float)stn_step_constant(run->first, run->axis, -1 - side);
    /* The slot of row i + down->low of the ring, whose rows follow in a circle. */
    int64_t slot = 0;
    for (int64_t i = down->low; i < down->high && !in_place; i++)
        load_row(run, at, in, begin + i, ring + (size_t)(i - down->low) * run->line);
    for (int64_t i = begin, now; i < end; i += now, slot = slot + 1 == run->ring ? 0 : slot + 1) {
        double *sums[STN_KERNEL_COLUMN_ROWS];
        for (size_t r = 0; r < STN_KERNEL_COLUMN_ROWS; r++) sums[r] = middle + r * run->line + ghosts;
        now = 1;
        if (in_place && down->few && all >= STN_KERNEL_MIN && i + STN_KERNEL_COLUMN_ROWS <= end)
            now = STN_KERNEL_COLUMN_ROWS;
        if (!in_place)
            load_row(run, at, in, i + down->high, ring + (size_t)(slot ? slot - 1 : run->ring - 1) * run->line);
        if (now > 1) {
            for (int64_t k = 0; k < run->ring + now - 1; k++) lines[k] = find_row(run, at, in, i + down->low + k, past);
            kernels->sum_columns(sums, lines, terms.weights, terms.pairs, (size_t)all);
        } else {
            for (size_t k = 0; k < terms.single + 2 * terms.pairs; k++) {
                const int64_t row = slot + down->offsets[k] - down->low;
                lines[k] = in_place ? find_row(run, at, in, i + down->offsets[k], past)
                                    : ring + (size_t)(row < run->ring ? row : row - run->ring) * run->line;
            }
            (in_place                     ? kernels->sum_float_rounded
             : run->to == STN_ELEMENT_F32 ? kernels->sum_rounded
                                          : kernels->sum)(sums[0], &terms, (size_t)all);
        }
        if (run->to != STN_ELEMENT_F64 && run->to != STN_ELEMENT_F32) {
            kernels->store[run->to](result, sums[0], (size_t)all);
            kernels->load[run->to](sums[0], result, (size_t)all);
        }
        for (int64_t r = 0; r < now; r++)
            filter_row(run, at, middle + (size_t)r * run->line, result,
                       out + ((i + r) * run->first->out_stride[run->axis] + at->x) * size);
    }
}

static void run_items(void *user, int64_t begin, int64_t end) {
    separable_run *run = user;
    const stn_task *task = run->first;
    const int other = 1 - run->axis;
    double *memory = aligned_alloc(64, ((size_t)run->ring + MORE_ROWS) * run->line * sizeof *memory);
    if (!memory) {
        atomic_store(&run->failed, true);
        return;
    }
    for (int64_t item = begin; item < end; item++) {
        int64_t rest = item;
        const int64_t chunk = rest % run->chunks * run->rows, column = (rest /= run->chunks) % run->strips * run->width;
        rest /= run->strips;
        const int64_t index = rest % task->n[other], batch = rest / task->n[other];
        strip at;
        find_window(run, column, &at);
        const int64_t from = batch * task->in_batch_stride + index * task->in_stride[other];
        const int64_t to = batch * task->out_batch_stride + index * task->out_stride[other];
        run_strip(run, &at, run->in + from * (int64_t)stn_element_size(run->from),
                  run->out + to * (int64_t)stn_element_size(run->to), chunk,
                  stn_min(chunk + run->rows, task->n[run->axis]), memory);
    }
    free(memory);
}

stn_status stn_host_separable(const stn_task *first, const stn_task *second, stn_pool *pool, const void *in, void *out,
                              stn_error *error) {
    separable_run run = {.first = first, .second = second, .kernels = stn_kernels_best(), .in = in, .out = out};
    run.axis = axis_of(first);
    order_terms(first, run.axis, &run.along[0]);
    order_terms(second, 2, &run.along[1]);
    run.from = stn_task_element(first, false);
    run.to = stn_task_element(second, true);
    run.in_place = first->dtype == STN_F32 && run.from == STN_ELEMENT_F32 && run.to == STN_ELEMENT_F32;
    run.ring = run.along[0].high - run.along[0].low + 1;
    const int64_t n = first->n[run.axis], reach = run.along[1].high - run.along[1].low;
    const int64_t fitting = run.in_place ? WIDE : RING_BYTES / (int64_t)sizeof(double) / run.ring - reach;
    const int64_t outer = first->batch * first->n[1 - run.axis], threads = stn_pool_threads(pool);
    run.rows = threads == 1 ? n : stn_min(n, CHUNK_ROWS * run.ring);
    run.chunks = stn_div_up(n, run.rows);
    run.strips = stn_max(stn_div_up(first->n[2], stn_min(stn_max(fitting, NARROW), WIDE)),
                         stn_min(stn_div_up(threads, outer * run.chunks), first->n[2] / NARROW));
    run.width = stn_div_up(stn_div_up(first->n[2], run.strips), 16) * 16;
    run.strips = stn_div_up(first->n[2], run.width);
    /* A row of the intermediate result has `reach` points more than the width, and the points of up
     * to `reach` columns behind them. */
    run.line = (size_t)stn_div_up(run.width + 2 * reach, 8) * 8 + 8;
    stn_pool_for(pool, outer * run.strips * run.chunks, stn_div_up(WORK, run.rows * run.width), run_items, &run);
    return atomic_load(&run.failed) ? stn_fail_memory(error, "the rows of two filters",
                                                      ((size_t)run.ring + MORE_ROWS) * run.line * sizeof(double))
                                    : STN_OK;
}
