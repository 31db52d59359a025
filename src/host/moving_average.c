/* Moving averages over a box along one axis, by van Herk's algorithm.
 *
 * The axis is cut into blocks as long as the box. A box that begins in one block ends in the next:
 * its sum is a suffix sum of the first block plus a prefix sum of the next one. A point costs three
 * additions, whatever the size of the box, and no value outside a box ever enters its sum. Several
 * lines, or columns, are summed side by side.
 *
 * The extended axis is the line with `before` points before it and at least a box's points after
 * it, whose values follow from the sides. */
#include "host/moving_average.h"

#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/half.h"
#include "host/integer_box.h"
#include "host/stencil_kernels.h"
#include "problem/task.h"

/* Contiguous columns of a strip: whole rows suit hardware prefetchers, but the suffix sums of a
 * strip, of at most SUFFIX_BYTES with more than MIN_COLUMNS columns, should stay in cache. */
#define MIN_COLUMNS 128
#define MAX_COLUMNS 2048
#define SUFFIX_BYTES (1 << 21)
/* Contiguous lines of a group: one float of each fills a cache line. */
#define LINES STN_AVERAGE_COLUMNS
/* Most points of several lines that are copied together, so that they stay in cache. */
#define STAGED (1 << 18)
#define COPIED 128         /* least points of a contiguous line that are copied at once */
#define ITEMS_PER_THREAD 4 /* chunks of strips for each thread, where two filters run at once */
#define WORK 4096          /* points below which waking a thread costs more than it saves */

typedef struct box_run {
    const stn_kernels *kernels;
    const stn_box_filter *box;
    const char *in;
    char *out;
    /* Index in the line for each position of the extended axis; -1 or -2: past the low or the high
     * side, which is constant. */
    const int64_t *source_index;
    double past_value[2]; /* values past constant sides */
    /* Rows of the value past the low and past the high side, and of zeros, in the type that is
     * summed. */
    const void *past[3];
    bool by_blocks;  /* contiguous lines are copied by blocks (run_line_group), not in whole */
    int64_t columns; /* the most columns that are summed side by side */
    int64_t strips;  /* strips of columns for each outer index */
    int64_t lines;   /* contiguous lines that are copied together */
    /* A second filter, whose lines are the rows of strips of this one's result; NULL: none. */
    const struct box_run *next;
    int64_t rows, chunks;   /* with `next`: points of a chunk along the axis, chunks of a strip */
    atomic_bool failed;     /* out of memory */
    atomic_bool overflowed; /* with `next`: a mean is not finite */
} box_run;

/* Contiguous lines to be averaged, at most LINES. Strides are in bytes. */
typedef struct line_group {
    char *from, *to;
    int64_t from_stride, to_stride, count;
    double *suffix; /* memory for box size * LINES doubles */
    char *staged;   /* memory for staged_rows rows of LINES numbers */
} line_group;

/* Lanes that are summed side by side: element i of a lane is at first + i * step + lane. */
typedef struct box_lanes {
    int64_t first, step;
    int64_t count;
} box_lanes;

static double load(stn_dtype dtype, const char *base, int64_t i) {
    if (dtype == STN_F64) return ((const double *)base)[i];
    if (dtype == STN_F32) return ((const float *)base)[i];
    return stn_half_to_float(((const uint16_t *)base)[i]);
}

static void store(stn_dtype dtype, char *base, int64_t i, double value) {
    if (dtype == STN_F64)
        ((double *)base)[i] = value;
    else if (dtype == STN_F32)
        ((float *)base)[i] = (float)value;
    else
        ((uint16_t *)base)[i] = stn_float_to_half((float)value);
}

/* sum[lane] = before[lane] + scale * the value at position `at` of the extended axis. */
static void add_points(const box_run *run, const box_lanes *lanes, int64_t at, double scale, const double *before,
                       double *sum) {
    const int64_t j = run->source_index[at], first = lanes->first + j * lanes->step;
    const stn_dtype dtype = run->box->dtype;
    const int count = lanes->count;
    if (j < 0)
        for (int k = 0; k < count; k++) sum[k] = before[k] + scale * run->past_value[-1 - j];
    else
        for (int k = 0; k < count; k++) sum[k] = before[k] + scale * load(dtype, run->in, first + k);
}

/* Writes sums / divisor. Returns false if a mean of f64 is not finite; sums of f16 do not overflow
 * a double, so for them it returns true. */
static bool write_points(const box_run *run, const box_lanes *lanes, int64_t i, double divisor, const double *suffix,
                         const double *prefix) {
    const int64_t first = lanes->first + i * lanes->step;
    double check = 0;
    for (int k = 0; k < lanes->count; k++) {
        const double mean = (suffix[k] + prefix[k]) / divisor;
        check += mean * 0; /* becomes NaN if any mean is not finite */
        store(run->box->dtype, run->out, first + k, mean);
    }
    return check == 0 || run->box->dtype != STN_F64;
}

/* Averages all boxes of some lanes. Points are multiplied by `scale`, which does not change means
 * but prevents overflow. suffix: memory for size * columns suffix sums, then columns prefix sums.
 * Returns the same as write_points. */
static bool run_lanes(const box_run *run, const box_lanes *lanes, double scale, double *suffix) {
    const int64_t points = (int64_t)run->box->points, size = (int64_t)run->box->size, columns = run->columns;
    double *const prefix = suffix + size * columns;
    const double divisor = run->box->divisor * scale;
    bool finite = true;
    for (int64_t first = 0; first < points; first += size) {
        memset(prefix, 0, (size_t)lanes->count * sizeof *prefix);
        for (int64_t i = size - 1; i >= 0; i--) /* row `size` of `suffix` is `prefix`, zeros now */
            add_points(run, lanes, first + i, scale, suffix + (i + 1) * columns, suffix + i * columns);
        for (int64_t i = 0; i < size && first + i < points; i++) {
            if (i) add_points(run, lanes, first + i + size - 1, scale, prefix, prefix);
            finite = write_points(run, lanes, first + i, divisor, suffix + i * columns, prefix) && finite;
        }
    }
    return finite;
}

/* Row `at` of the extended axis, of floats or doubles. */
static const void *find_row(const box_run *run, const box_lanes *lanes, int64_t at) {
    const int64_t j = run->source_index[at];
    if (j < 0) return run->past[-1 - j];
    return run->in + (lanes->first + j * lanes->step) * (int64_t)stn_dtype_size(run->box->dtype);
}

/* Copies rows `at` to `at` + count - 1 of the extended axis: a row has one number of each line of a
 * group. */
static void gather_rows(const box_run *run, const line_group *group, int64_t at, int64_t count, char *to) {
    const int64_t points = (int64_t)run->box->points, bytes = (int64_t)stn_dtype_size(run->box->dtype);
    const int64_t past_points = (int64_t)run->box->before + points;
    for (int64_t end = at + count, now; at < end; at += now, to += now * LINES * bytes) {
        const int64_t j = run->source_index[at];
        now = at >= (int64_t)run->box->before && at < past_points ? stn_min(end, past_points) - at : 1;
        if (j < 0)
            memcpy(to, run->past[-1 - j], (size_t)(LINES * bytes));
        else
            run->kernels->transpose[bytes == sizeof(double)](group->from + j * bytes, group->from_stride / bytes,
                                                             group->count, now, to, LINES);
    }
}

/* Blocks of a contiguous line that are copied at once. */
static int64_t blocks_at_once(const stn_box_filter *box) { return stn_div_up(COPIED, (int64_t)box->size); }

/* Rows of LINES numbers into which run_line_group copies. */
static int64_t staged_rows(const stn_box_filter *box) { return (2 * blocks_at_once(box) + 1) * (int64_t)box->size; }

/* Averages contiguous lines of floats or doubles: some blocks at once are copied side by side,
 * averaged, and copied back. Returns false if a mean of doubles is not finite. */
static bool run_line_group(const box_run *run, const line_group *group) {
    const stn_kernels *const kernels = run->kernels;
    const int64_t points = (int64_t)run->box->points, size = (int64_t)run->box->size;
    const int64_t bytes = (int64_t)stn_dtype_size(run->box->dtype), row = LINES * bytes;
    const int64_t most = blocks_at_once(run->box) * size;
    const int wide = run->box->dtype == STN_F64;
    char *const staged = group->staged, *const means = staged + (most + size) * row;
    bool finite = true;
    gather_rows(run, group, 0, size, staged);
    for (int64_t begin = 0, now; begin < points; begin += now) {
        now = stn_min(most, points - begin);
        gather_rows(run, group, begin + size, begin + now < points ? now : now - 1, staged + size * row);
        for (int64_t i = 0; i < now; i += size)
            finite = kernels->average[wide](means + i * row, staged + i * row, staged + (i + size) * row, (size_t)size,
                                            (size_t)stn_min(size, now - i), run->box->divisor, group->suffix) &&
                     finite;
        kernels->transpose[wide](means, LINES, now, group->count, group->to + begin * bytes, group->to_stride / bytes);
        if (begin + now < points) memcpy(staged, staged + most * row, (size_t)(size * row));
    }
    return finite;
}

/* As run_lanes with a scale of 1, for floats or doubles and only for the boxes of points [begin,
 * past). If `group` is not NULL, it collects the rows of the result, which run->next filters. */
static bool run_rows(const box_run *run, const box_lanes *lanes, int64_t begin, int64_t past, double *suffix,
                     line_group *group) {
    const int64_t size = (int64_t)run->box->size, columns = run->columns;
    const int64_t bytes = (int64_t)stn_dtype_size(run->box->dtype);
    const int wide = run->box->dtype == STN_F64;
    const size_t count = (size_t)lanes->count;
    double *const prefix = suffix + size * columns;
    bool finite = true;
    for (int64_t first = begin; first < past; first += size) {
        memset(prefix, 0, count * sizeof *prefix);
        for (int64_t i = size - 1; i >= 0; i--) /* row `size` of `suffix` is `prefix`, zeros now */
            run->kernels->add_row[wide](suffix + i * columns, suffix + (i + 1) * columns,
                                        find_row(run, lanes, first + i), count);
        for (int64_t i = 0; i < size && first + i < past; i++) {
            const void *const row = i ? find_row(run, lanes, first + i + size - 1) : run->past[2];
            char *to = run->out + (lanes->first + (first + i) * lanes->step) * bytes;
            if (group) {
                if (!group->count) group->to = to;
                to = group->from + group->count++ * group->from_stride;
            }
            finite =
                run->kernels->mean_row[wide](to, suffix + i * columns, prefix, row, count, run->box->divisor) && finite;
            if (group && (group->count == LINES || first + i + 1 == past)) {
                finite = run_line_group(run->next, group) && finite;
                group->count = 0;
            }
        }
    }
    return finite;
}

/* Averages boxes; if a sum overflows, repeats this with points scaled down by a power of two. */
static void run_scaled(const box_run *run, const box_lanes *lanes, int exponent, double *suffix) {
    if (!(run->box->dtype == STN_F16 ? run_lanes(run, lanes, 1, suffix)
                                     : run_rows(run, lanes, 0, (int64_t)run->box->points, suffix, NULL)))
        run_lanes(run, lanes, ldexp(1, exponent), suffix);
}

/* Averages whole contiguous lines: copied side by side as doubles, averaged, and copied back. */
static void run_lines(const box_run *run, int64_t first, int count, int exponent, double *suffix, double *staged) {
    const stn_dtype dtype = run->box->dtype;
    const int64_t points = (int64_t)run->box->points;
    double *means = staged + points * count;
    for (int64_t begin = 0; begin < points; begin += LINES)
        for (int k = 0; k < count; k++)
            for (int64_t i = begin; i < stn_min(begin + LINES, points); i++)
                staged[i * count + k] = load(dtype, run->in, (first + k) * points + i);
    stn_box_filter box = *run->box;
    box.dtype = STN_F64;
    box_run inner = {.kernels = run->kernels,
                     .box = &box,
                     .in = (const char *)staged,
                     .out = (char *)means,
                     .columns = run->columns,
                     .source_index = run->source_index};
    memcpy(inner.past_value, run->past_value, sizeof inner.past_value);
    memcpy(inner.past, run->past, sizeof inner.past);
    const box_lanes lanes = {0, count, count};
    run_scaled(&inner, &lanes, exponent, suffix);
    for (int64_t begin = 0; begin < points; begin += LINES)
        for (int k = 0; k < count; k++)
            for (int64_t i = begin; i < stn_min(begin + LINES, points); i++)
                store(dtype, run->out, (first + k) * points + i, means[i * count + k]);
}

static void run_strips(void *user, int64_t begin, int64_t end) {
    box_run *run = user;
    const stn_box_filter *box = run->box;
    const int64_t points = (int64_t)box->points, inner = (int64_t)box->inner;
    const int64_t lines = run->lines, columns = run->columns, stride = points * (int64_t)stn_dtype_size(box->dtype);
    double *suffix = malloc((box->size + 1) * (size_t)columns * sizeof *suffix);
    const size_t copied = (size_t)(stn_max(run->by_blocks ? staged_rows(box) : 0, 2 * points) * lines);
    double *staged = inner == 1 ? calloc(copied + 1, sizeof *staged) : NULL;
    if (!suffix || (inner == 1 && !staged)) {
        free(suffix);
        free(staged);
        atomic_store(&run->failed, true);
        return;
    }
    int exponent;
    frexp((double)box->size, &exponent);
    for (int64_t item = begin; item < end; item++) {
        if (inner == 1) {
            const int64_t first = item * lines, count = stn_min(lines, (int64_t)box->outer - first);
            const line_group group = {(char *)run->in + first * stride,
                                      run->out + first * stride,
                                      stride,
                                      stride,
                                      count,
                                      suffix,
                                      (char *)staged};
            if (!run->by_blocks || !run_line_group(run, &group))
                run_lines(run, first, (int)count, -exponent, suffix, staged);
            continue;
        }
        const int64_t column = item % run->strips * columns;
        const box_lanes lanes = {item / run->strips * points * inner + column, inner, stn_min(columns, inner - column)};
        run_scaled(run, &lanes, -exponent, suffix);
    }
    free(staged);
    free(suffix);
}

/* Chunks of strips by both filters: the rows of the first filter's result stay in cache. */
static void run_two_strips(void *user, int64_t begin, int64_t end) {
    box_run *run = user;
    const stn_box_filter *box = run->box, *next = run->next->box;
    const int64_t points = (int64_t)box->points, inner = (int64_t)box->inner, columns = run->columns;
    const int64_t bytes = (int64_t)stn_dtype_size(box->dtype), row = (columns + LINES) * bytes;
    double *suffix = malloc((box->size + 1) * (size_t)columns * sizeof *suffix);
    double *next_suffix = malloc(next->size * LINES * sizeof *next_suffix);
    char *staged = calloc((size_t)(staged_rows(next) * LINES * bytes + LINES * row), 1);
    line_group group = {.staged = staged, .suffix = next_suffix, .from_stride = row, .to_stride = inner * bytes};
    if (suffix && next_suffix && staged) {
        group.from = staged + staged_rows(next) * LINES * bytes;
        for (int64_t item = begin; item < end; item++) {
            const int64_t first = item % run->chunks * run->rows, strip = item / run->chunks;
            const box_lanes lanes = {strip / run->strips * points * inner + strip % run->strips * columns, inner,
                                     columns};
            if (!run_rows(run, &lanes, first, stn_min(first + run->rows, points), suffix, &group))
                atomic_store(&run->overflowed, true);
        }
    } else
        atomic_store(&run->failed, true);
    free(staged);
    free(next_suffix);
    free(suffix);
}

/* Index of the point at position `at` of the unbounded axis; -1 or -2 past a constant side. If both
 * sides wrap, reflect or mirror, the axis is periodic, and `at` is first reduced to one period. */
static int64_t source_index_at(int64_t at, int64_t points, const stn_boundary sides[2]) {
    if (at >= 0 && at < points) return at;
    int64_t period = 0;
    if (sides[0].kind == sides[1].kind) {
        if (sides[0].kind == STN_WRAP) period = points;
        if (sides[0].kind == STN_REFLECT) period = 2 * points;
        if (sides[0].kind == STN_MIRROR) period = stn_max(2 * points - 2, 1);
    }
    if (period) at = (at % period + period) % period;
    return stn_fold(at, points, sides);
}

/* The index in the line for each position of the extended axis; NULL: out of memory. */
static int64_t *source_index_of(const stn_box_filter *box, stn_error *error) {
    const size_t all = box->points + 2 * box->size;
    int64_t *made = malloc(all * sizeof *made);
    for (size_t i = 0; made && i < all; i++)
        made[i] = source_index_at((int64_t)i - (int64_t)box->before, (int64_t)box->points, box->sides);
    if (!made) (void)stn_fail_memory(error, "the positions of a box", all * sizeof *made);
    return made;
}

/* Makes the rows past the sides, which the caller frees. Returns false if memory is out. */
static bool make_past(box_run *run, stn_dtype summed) {
    const stn_box_filter *box = run->box;
    double *past = calloc((size_t)(3 * run->columns), sizeof *past);
    for (int side = 0; side < 2; side++) {
        const double value = box->sides[side].value;
        run->past_value[side] = box->dtype == STN_F64   ? value
                                : box->dtype == STN_F32 ? (float)value
                                                        : stn_half_to_float(stn_float_to_half((float)value));
    }
    for (int row = 0; row < 3; row++) run->past[row] = past ? past + row * run->columns : NULL;
    for (int64_t k = 0; k < 2 * run->columns && past; k++)
        store(summed, (char *)(past + k / run->columns * run->columns), k % run->columns,
              run->past_value[k / run->columns]);
    return past;
}

static stn_status memory_error(const box_run *run, stn_error *error) {
    return stn_fail_memory(error, "the sums of a box", (run->box->size + 1) * (size_t)run->columns * sizeof(double));
}

static stn_status run_one(stn_pool *pool, box_run *run, stn_error *error) {
    const stn_box_filter *box = run->box;
    const int64_t points = (int64_t)box->points, inner = (int64_t)box->inner;
    const int64_t parts = stn_div_up(stn_pool_threads(pool), (int64_t)box->outer);
    const int64_t fitting = SUFFIX_BYTES / (int64_t)sizeof(double) / (int64_t)box->size;
    const int64_t most = stn_min(stn_min(fitting, stn_div_up(inner, parts)), MAX_COLUMNS);
    run->columns = inner == 1 ? LINES : stn_div_up(stn_max(most, MIN_COLUMNS), 16) * 16;
    run->strips = stn_div_up(inner, run->columns);
    run->lines = stn_min(stn_max(STAGED / points, 1), LINES);
    run->by_blocks = box->dtype != STN_F16 && inner == 1 && run->lines == LINES && (int64_t)box->outer >= LINES;
    const int64_t items = inner == 1 ? stn_div_up((int64_t)box->outer, run->lines) : (int64_t)box->outer * run->strips;
    if (!make_past(run, inner == 1 && !run->by_blocks ? STN_F64 : box->dtype)) return memory_error(run, error);
    stn_pool_for(pool, items, stn_div_up(WORK, points), run_strips, run);
    free((void *)run->past[0]);
    return atomic_load(&run->failed) ? memory_error(run, error) : STN_OK;
}

/* Runs both filters at once. */
static stn_status run_two(stn_pool *pool, box_run *run, box_run *next, stn_error *error) {
    const stn_box_filter *box = run->box;
    const int64_t points = (int64_t)box->points, size = (int64_t)box->size;
    run->next = next;
    run->columns = (int64_t)next->box->points;
    run->strips = (int64_t)box->inner / run->columns;
    next->columns = LINES;
    const int64_t strips = (int64_t)box->outer * run->strips,
                  parts = stn_div_up(ITEMS_PER_THREAD * stn_pool_threads(pool), strips);
    run->rows = stn_pool_threads(pool) == 1 ? points : stn_div_up(stn_div_up(points, parts), size) * size;
    run->chunks = stn_div_up(points, run->rows);
    const bool made = make_past(run, box->dtype) && make_past(next, box->dtype);
    if (made) stn_pool_for(pool, strips * run->chunks, stn_div_up(WORK, run->rows * run->columns), run_two_strips, run);
    free((void *)run->past[0]);
    free((void *)next->past[0]);
    return !made || atomic_load(&run->failed) ? memory_error(run, error) : STN_OK;
}

/* Whether a sum of finite numbers may have overflowed. If not, all results are right. */
static bool can_overflow(const stn_box_filter *box, const double *in) {
    const stn_box_filter *next = box->next;
    const double limit = DBL_MAX / 4 / (double)box->size / (double)next->size;
    const size_t count = box->outer * box->points * box->inner;
    int can = !(box->divisor >= 1 && next->divisor >= 1);
    for (int side = 0; side < 2; side++)
        can |= fabs(box->sides[side].value) > limit || fabs(next->sides[side].value) > limit;
    for (size_t i = 0; i < count; i++) can |= (fabs(in[i]) > limit) & (fabs(in[i]) <= DBL_MAX);
    return can;
}

/* One filter after the other, for f64 whose sums overflow. */
static stn_status run_separately(stn_pool *pool, const stn_box_filter *box, const void *in, void *out,
                                 stn_error *error) {
    const size_t bytes = box->outer * box->points * box->inner * stn_dtype_size(box->dtype);
    stn_box_filter first = *box;
    void *middle = malloc(bytes);
    if (!middle) return stn_fail_memory(error, "the result of the first of two boxes", bytes);
    first.next = NULL;
    stn_status status = stn_host_box(pool, &first, in, middle, error);
    if (status == STN_OK) status = stn_host_box(pool, box->next, middle, out, error);
    free(middle);
    return status;
}

stn_status stn_host_box(stn_pool *pool, const stn_box_filter *box, const void *in, void *out, stn_error *error) {
    int64_t *source_index[2] = {NULL, NULL};
    stn_status status = STN_OK;
    for (int i = 0; i < (box->next ? 2 : 1) && status == STN_OK; i++) {
        const stn_box_filter *const each = i ? box->next : box;
        const double numbers = (double)each->outer * (double)each->points * (double)each->inner,
                     sums = MAX_COLUMNS * ((double)each->points + 2.0 * (double)each->size);
        if (fmax(numbers, sums) * sizeof(double) >= 0x1p63)
            status = stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                              "a box of %zu points on %zu x %zu x %zu points takes more bytes than 63 bits can count: "
                              "give a smaller one",
                              each->size, each->outer, each->points, each->inner);
        else if (!(source_index[i] = source_index_of(each, error)))
            status = STN_ERROR_OUT_OF_MEMORY;
    }
    const stn_kernels *kernels = stn_kernels_best();
    box_run run = {.kernels = kernels, .box = box, .in = in, .out = out, .source_index = source_index[0]};
    box_run next = {.kernels = kernels, .box = box->next, .source_index = source_index[1]};
    if (status == STN_OK)
        status = box->element ? stn_host_integer_box(pool, box, in, out, source_index, error)
                 : box->next  ? run_two(pool, &run, &next, error)
                              : run_one(pool, &run, error);
    for (int i = 0; i < 2; i++) free(source_index[i]);
    if (status == STN_OK && box->next && atomic_load(&run.overflowed) && can_overflow(box, in))
        return run_separately(pool, box, in, out, error);
    return status;
}
