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
/* The least number of columns of floats or doubles that are summed row by row; fewer are read as
 * lines. */
#define MIN_ROW_COLUMNS 16
#define MAX_LINES 64 /* lines or columns that are read as lines at once */
/* Numbers of these lines that are averaged at once, so that they stay in cache. */
#define PIECE (1 << 12)
#define MIN_BLOCKS 4       /* least blocks of a line that are averaged at once */
#define BLOCKS 4           /* blocks of such lines that are summed side by side */
#define ZEROS 512          /* means that are divided at once */
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
    stn_element element; /* the type of the numbers of both arrays */
    /* Contiguous lines of floats or doubles are copied as groups (run_line_group), and columns are
     * summed row by row (run_rows); others are read as lines of doubles (run_lines). */
    bool by_groups, by_rows;
    int64_t columns; /* the most columns that are summed side by side */
    int64_t strips;  /* strips of columns for each outer index */
    int64_t lines;   /* contiguous lines that are averaged together */
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

/* Columns that are summed side by side: number i of a column is at first + i * step + column. */
typedef struct box_lanes {
    int64_t first, step;
    int64_t count;
} box_lanes;

static bool holds_reals(const box_run *run) {
    return run->element == STN_ELEMENT_F32 || run->element == STN_ELEMENT_F64;
}

static const char *number_at(const box_run *run, int64_t index) {
    return run->in + index * (int64_t)stn_element_size(run->element);
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

/* Averages columns of floats or doubles at points [begin, past). If `group` is not NULL, it
 * collects the rows of the result, which run->next filters. Returns false if a mean of doubles is
 * not finite. */
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

/* Suffix and prefix sums of lines of `blocks` + 1 blocks of `size` numbers: suffix[i] is the sum of
 * from[i] and the later numbers of its block, for all blocks except a line's last; prefix[i] is the
 * sum of the earlier numbers of its block, for the first `needed` numbers of all blocks except a
 * line's first. Several blocks are summed side by side, because each addition waits for the
 * previous one in its block. */
static void sum_blocks(const double *from, int64_t count, int64_t blocks, int64_t size, int64_t needed, double *suffix,
                       double *prefix) {
    for (int64_t block = 0; block < count * blocks; block += BLOCKS) {
        double after[BLOCKS] = {0}, before[BLOCKS] = {0};
        int64_t at[BLOCKS]; /* the last block may be summed several times */
        for (int k = 0; k < BLOCKS; k++) {
            const int64_t each = stn_min(block + k, count * blocks - 1);
            at[k] = (each + each / blocks) * size;
        }
        for (int64_t i = size - 1; i >= 0; i--)
            for (int k = 0; k < BLOCKS; k++) suffix[at[k] + i] = after[k] += from[at[k] + i];
        for (int64_t i = size; i < size + needed; i++)
            for (int k = 0; k < BLOCKS; k++) {
                prefix[at[k] + i] = before[k];
                before[k] += from[at[k] + i];
            }
    }
}

/* Reads the part of lines from position `begin` of the extended axis on: `all` numbers of each as
 * doubles, multiplied by `scale`, at to + line * length, followed by zeros. rows: memory for
 * columns. */
static void load_lines(const box_run *run, int64_t first, int64_t count, int64_t begin, int64_t all, double scale,
                       double *rows, double *to, int64_t length) {
    const stn_kernels *const kernels = run->kernels;
    const int64_t points = (int64_t)run->box->points, inner = (int64_t)run->box->inner;
    const int64_t from = (int64_t)run->box->before - begin, low = stn_min(stn_max(from, 0), all),
                  high = stn_max(stn_min(from + points, all), low), start = low - from;
    if (inner == 1)
        for (int64_t k = 0; k < count; k++)
            kernels->load[run->element](to + k * length + low, number_at(run, first + k * points + start),
                                        (size_t)(high - low));
    else {
        for (int64_t i = 0, now = count == inner ? high - low : 1; i < high - low; i += now)
            kernels->load[run->element](rows + i * count, number_at(run, first + (start + i) * inner),
                                        (size_t)(now * count));
        kernels->transpose[1](rows, count, high - low, count, to + low, length);
    }
    for (int64_t k = 0; k < count; k++) {
        double *const line = to + k * length, *const inside = line + low - start;
        for (int64_t i = low > 0 ? 0 : high; i < all; i = i + 1 == low ? high : i + 1) {
            const int64_t j = run->source_index[begin + i];
            if (j < 0)
                line[i] = run->past_value[-1 - j];
            else if (j >= start && j < start + high - low)
                line[i] = inside[j];
            else
                kernels->load[run->element](line + i,
                                            number_at(run, first + (inner == 1 ? k * points + j : j * inner + k)), 1);
        }
        for (int64_t i = 0; i < all && scale != 1; i++) line[i] *= scale;
        memset(line + all, 0, (size_t)(length - all) * sizeof *line);
    }
}

/* Stores `now` doubles of each line as points begin .. begin + now - 1 of the result. rows: memory
 * for columns. */
static void store_lines(const box_run *run, int64_t first, int64_t count, int64_t begin, int64_t now, double *rows,
                        const double *from, int64_t length) {
    const int64_t points = (int64_t)run->box->points, inner = (int64_t)run->box->inner,
                  bytes = (int64_t)stn_element_size(run->element);
    if (inner == 1) {
        for (int64_t k = 0; k < count; k++)
            run->kernels->store[run->element](run->out + (first + k * points + begin) * bytes, from + k * length,
                                              (size_t)now);
        return;
    }
    run->kernels->transpose[1](from, length, count, now, rows, count);
    for (int64_t i = 0, some = count == inner ? now : 1; i < now; i += some)
        run->kernels->store[run->element](run->out + (first + (begin + i) * inner) * bytes, rows + i * count,
                                          (size_t)(some * count));
}

/* Points of `count` lines that are averaged at once: whole blocks. */
static int64_t piece_of(const stn_box_filter *box, int64_t count) {
    const int64_t size = (int64_t)box->size, blocks = stn_max(PIECE / count / size, MIN_BLOCKS);
    return stn_min(blocks, stn_div_up((int64_t)box->points, size)) * size;
}

/* Averages `count` lines or columns of any type, `piece` points at a time, in doubles. Points and
 * divisor are multiplied by `scale`, which leaves the means unchanged and prevents overflow of the
 * sums. Returns false if a mean is not finite. */
static bool run_lines(const box_run *run, int64_t first, int64_t count, int64_t piece, double scale, double *memory) {
    static const double zeros[ZEROS];
    const int64_t points = (int64_t)run->box->points, size = (int64_t)run->box->size;
    const double divisor = run->box->divisor * scale;
    bool finite = true;
    for (int64_t begin = 0, now; begin < points; begin += now) {
        now = stn_min(piece, points - begin);
        const int64_t blocks = stn_div_up(now, size), length = (blocks + 1) * size;
        double *const lines = memory, *const suffix = lines + count * length, *const prefix = suffix + count * length;
        load_lines(run, first, count, begin, now + size - 1, scale, suffix, lines, length);
        sum_blocks(lines, count, blocks, size, stn_min(now, size), suffix, prefix);
        for (int64_t k = 0; k < count; k++)
            for (int64_t i = k * length, end = i + now, some; i < end; i += some) {
                some = stn_min(end - i, ZEROS);
                finite =
                    run->kernels->mean_row[1](lines + i, suffix + i, prefix + i + size, zeros, (size_t)some, divisor) &&
                    finite;
            }
        store_lines(run, first, count, begin, now, suffix, lines, length);
    }
    return finite;
}

/* Reads lines or columns as lines. If a sum of doubles overflows, this is repeated with points
 * scaled down by a power of two. Returns false if memory is out. */
static bool run_as_lines(const box_run *run, int64_t first, int64_t count, bool may_overflow) {
    const int64_t size = (int64_t)run->box->size, most = stn_min(count, MAX_LINES);
    const int64_t step = run->box->inner == 1 ? (int64_t)run->box->points : 1;
    const int64_t piece = piece_of(run->box, most);
    double *memory = malloc((size_t)(3 * most * (piece + size)) * sizeof *memory);
    int exponent;
    frexp((double)size, &exponent);
    for (int64_t k = 0, now; memory && k < count; k += now) {
        now = stn_min(most, count - k);
        if ((may_overflow || !run_lines(run, first + k * step, now, piece, 1, memory)) &&
            run->element == STN_ELEMENT_F64)
            run_lines(run, first + k * step, now, piece, ldexp(1, -exponent), memory);
    }
    free(memory);
    return memory;
}

/* Copies `count` lines or columns from number `first` on as doubles: columns as rows of `count`. */
static void load_doubles(const box_run *run, int64_t first, int64_t count, double *to) {
    const int64_t inner = (int64_t)run->box->inner, points = (int64_t)run->box->points;
    for (int64_t i = 0, rows = inner == count || inner == 1 ? points : 1; i < points; i += rows)
        run->kernels->load[run->element](to + i * count, number_at(run, first + i * inner), (size_t)(rows * count));
}

/* Stores `count` lines or columns of doubles, columns as rows of `count`, as the result's from
 * `first` on. */
static void store_doubles(const box_run *run, int64_t first, int64_t count, const double *from) {
    const int64_t inner = (int64_t)run->box->inner, points = (int64_t)run->box->points;
    for (int64_t i = 0, rows = inner == count || inner == 1 ? points : 1; i < points; i += rows)
        run->kernels->store[run->element](run->out + (first + i * inner) * (int64_t)stn_element_size(run->element),
                                          from + i * count, (size_t)(rows * count));
}

/* Averages lines as groups, or columns row by row. Numbers other than floats and doubles are
 * converted to doubles and back. suffix, staged: memory for sums and for run_line_group;
 * converted: for all numbers and results as doubles. Returns false if a mean is not finite. */
static bool run_reals(const box_run *run, int64_t first, int64_t count, double *suffix, char *staged,
                      double *converted) {
    const int64_t points = (int64_t)run->box->points;
    box_run real = *run;
    stn_box_filter box = *run->box;
    if (converted) {
        load_doubles(run, first, count, converted);
        real.in = (const char *)converted;
        real.out = (char *)(converted + points * count);
        real.box = &box;
        box.dtype = STN_F64;
        if (box.inner > 1) box.inner = (size_t)count;
    }
    const int64_t bytes = (int64_t)stn_dtype_size(box.dtype), start = converted ? 0 : first;
    bool finite;
    if (run->by_groups) {
        char *const from = (char *)real.in + start * bytes, *const to = real.out + start * bytes;
        const line_group group = {from, to, points * bytes, points * bytes, count, suffix, staged};
        finite = run_line_group(&real, &group);
    } else {
        const box_lanes lanes = {start, (int64_t)box.inner, count};
        finite = run_rows(&real, &lanes, 0, points, suffix, NULL);
    }
    if (converted) store_doubles(run, first, count, (const double *)real.out);
    return finite;
}

static void run_strips(void *user, int64_t begin, int64_t end) {
    box_run *run = user;
    const stn_box_filter *box = run->box;
    const int64_t points = (int64_t)box->points, inner = (int64_t)box->inner, lines = run->lines,
                  columns = run->columns;
    const bool as_reals = run->by_groups || run->by_rows, converts = as_reals && !holds_reals(run);
    double *suffix = as_reals ? malloc((box->size + 1) * (size_t)columns * sizeof *suffix) : NULL;
    char *staged = run->by_groups ? calloc((size_t)(staged_rows(box) * lines), sizeof(double)) : NULL;
    double *converted = converts ? malloc((size_t)(2 * points * columns) * sizeof *converted) : NULL;
    if ((as_reals && !suffix) || (run->by_groups && !staged) || (converts && !converted)) {
        atomic_store(&run->failed, true);
        end = begin;
    }
    for (int64_t item = begin; item < end; item++) {
        int64_t first = item * lines * points, count = stn_min(lines, (int64_t)box->outer - item * lines);
        if (inner > 1) {
            const int64_t column = item % run->strips * columns;
            first = item / run->strips * points * inner + column;
            count = stn_min(columns, inner - column);
        }
        const bool done = as_reals && run_reals(run, first, count, suffix, staged, converted);
        if (!done && !converts && !run_as_lines(run, first, count, as_reals)) atomic_store(&run->failed, true);
    }
    free(converted);
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
    int64_t period = 0;
    if (sides[0].kind == sides[1].kind && (at < -points || at >= 2 * points)) {
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
    const int64_t points = (int64_t)box->points, before = (int64_t)box->before;
    int64_t *made = malloc(all * sizeof *made);
    if (!made) {
        (void)stn_fail_memory(error, "the positions of a box", all * sizeof *made);
        return NULL;
    }
    for (int64_t i = 0; i < before; i++) made[i] = source_index_at(i - before, points, box->sides);
    for (int64_t i = 0; i < points; i++) made[before + i] = i;
    for (int64_t i = before + points; i < (int64_t)all; i++) made[i] = source_index_at(i - before, points, box->sides);
    return made;
}

/* Makes the values past the sides, and rows of them, which the caller frees. Returns false if
 * memory is out. */
static bool make_past(box_run *run) {
    const stn_box_filter *box = run->box;
    double *past = calloc((size_t)(3 * run->columns), sizeof *past);
    for (int row = 0; row < 3; row++) run->past[row] = past ? past + row * run->columns : NULL;
    for (int side = 0; side < 2; side++) {
        const double value = box->sides[side].value;
        const bool single = box->dtype == STN_F32 && !box->element;
        run->past_value[side] = single ? (float)value
                                : box->dtype == STN_F16 && !box->element
                                    ? stn_half_to_float(stn_float_to_half((float)value))
                                    : value;
        double *const row = past ? past + side * run->columns : NULL;
        for (int64_t k = 0; k < run->columns && past; k++)
            if (single)
                ((float *)row)[k] = (float)value;
            else
                row[k] = value;
    }
    return past;
}

static stn_status memory_error(const box_run *run, stn_error *error) {
    return stn_fail_memory(error, "the sums of a box", (run->box->size + 1) * (size_t)run->columns * sizeof(double));
}

static stn_status run_one(stn_pool *pool, box_run *run, stn_error *error) {
    const stn_box_filter *box = run->box;
    const int64_t points = (int64_t)box->points, inner = (int64_t)box->inner, outer = (int64_t)box->outer;
    const int64_t parts = stn_div_up(stn_pool_threads(pool), outer);
    /* Numbers that are converted should stay in cache. */
    const int64_t fitting =
        holds_reals(run) ? SUFFIX_BYTES / (int64_t)sizeof(double) / (int64_t)box->size : STAGED / points;
    const int64_t most = stn_min(stn_min(fitting, stn_div_up(inner, parts)), MAX_COLUMNS);
    const int64_t least = holds_reals(run) ? MIN_COLUMNS : MIN_ROW_COLUMNS;
    run->by_groups = inner == 1 && STAGED / points >= LINES && outer >= LINES;
    run->by_rows = inner >= MIN_ROW_COLUMNS && (holds_reals(run) || fitting >= MIN_ROW_COLUMNS);
    run->columns = inner == 1     ? LINES
                   : run->by_rows ? stn_div_up(stn_max(most, least), 16) * 16
                                  : stn_min(inner, MAX_LINES);
    run->strips = stn_div_up(inner, run->columns);
    run->lines = run->by_groups ? LINES : stn_min(stn_max(PIECE / (points + (int64_t)box->size), 1), LINES);
    const int64_t items = inner == 1 ? stn_div_up(outer, run->lines) : outer * run->strips;
    if (!make_past(run)) return memory_error(run, error);
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
    const bool made = make_past(run) && make_past(next);
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
    const stn_box_filter *const second = box->next;
    int64_t *source_index[2] = {NULL, NULL};
    stn_status status = STN_OK;
    for (int i = 0; i < (second ? 2 : 1) && status == STN_OK; i++) {
        const stn_box_filter *const each = i ? second : box;
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
    const bool is_short = (box->inner > 1 ? box->inner : box->points) < MIN_ROW_COLUMNS;
    const stn_kernels *kernels = stn_kernels_best();
    box_run run = {.kernels = kernels, .box = box, .in = in, .out = out, .source_index = source_index[0]};
    run.element = box->element ? box->element : stn_element_of(box->dtype);
    box_run next = {.kernels = kernels, .box = second, .source_index = source_index[1]};
    if (status == STN_OK)
        status = stn_host_integer_box_applies(box) && (second || !is_short)
                     ? stn_host_integer_box(pool, box, in, out, source_index, error)
                 : second ? run_two(pool, &run, &next, error)
                          : run_one(pool, &run, error);
    for (int i = 0; i < 2; i++) free(source_index[i]);
    if (status == STN_OK && second && atomic_load(&run.overflowed) && can_overflow(box, in))
        return run_separately(pool, box, in, out, error);
    return status;
}
