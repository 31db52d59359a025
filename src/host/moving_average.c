/* Moving averages over a box along one axis, by van Herk's algorithm.
 *
 * The axis is cut into blocks as long as the box. A box that begins in one block ends in the next:
 * its sum is a suffix sum of the first block plus a prefix sum of the next one. A point costs three
 * additions, whatever the size of the box, and no value outside a box ever enters its sum. Several
 * lines, or columns, are summed side by side. */
#include "host/moving_average.h"

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

/* contiguous columns of a strip: whole rows suit hardware prefetchers, but the sums of a strip
 * should stay in cache */
#define MIN_COLUMNS 128
#define MAX_COLUMNS 2048
#define ENDS_BYTES (1 << 21)
/* contiguous lines of a group: a cache line of floats from each */
#define LINES STN_AVERAGE_COLUMNS
/* points of lines that are copied together, so that they stay in cache */
#define STAGED (1 << 18)
#define COPIED 128 /* least points of a contiguous line that are copied at once */
#define WORK 4096  /* points below which waking a thread costs more than it saves */

typedef struct box_run {
    const stn_kernels *kernels;
    const stn_box_filter *box;
    const char *in;
    char *out;
    /* index in the line for each position of the extended axis; -1 or -2: past a constant side */
    const int64_t *source_index;
    double past_value[2]; /* values past constant sides */
    /* Rows of the values past both sides, and of zeros, in the type that is summed. */
    const void *past[3];
    bool contiguous;    /* lines are contiguous, and copied by blocks */
    int64_t columns;    /* the most columns that are summed side by side */
    int64_t strips;     /* strips of columns for each outer index */
    int64_t lines;      /* lines that are copied together, where lines are contiguous */
    atomic_bool failed; /* out of memory */
} box_run;

/* Lanes that are summed side by side: element i of a lane is at first + i * step + lane. */
typedef struct box_lanes {
    int64_t first, step;
    int count;
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
static bool write_points(const box_run *run, const box_lanes *lanes, int64_t i, double divisor, const double *ends,
                         const double *begins) {
    const int64_t first = lanes->first + i * lanes->step;
    double check = 0;
    for (int k = 0; k < lanes->count; k++) {
        const double mean = (ends[k] + begins[k]) / divisor;
        check += mean * 0; /* becomes NaN if any mean is not finite */
        store(run->box->dtype, run->out, first + k, mean);
    }
    return check == 0 || run->box->dtype != STN_F64;
}

/* Averages all boxes of some lanes, of points times `scale`. ends: memory for size * columns suffix
 * sums, and for prefix sums. */
static bool run_lanes(const box_run *run, const box_lanes *lanes, double scale, double *ends) {
    const int64_t points = (int64_t)run->box->points, size = (int64_t)run->box->size, columns = run->columns;
    double *const begins = ends + size * columns;
    const double divisor = run->box->divisor * scale;
    bool finite = true;
    for (int64_t first = 0; first < points; first += size) {
        memset(begins, 0, (size_t)lanes->count * sizeof *begins);
        for (int64_t i = size - 1; i >= 0; i--) /* row `size` of `ends` is `begins`, zeros now */
            add_points(run, lanes, first + i, scale, ends + (i + 1) * columns, ends + i * columns);
        for (int64_t i = 0; i < size && first + i < points; i++) {
            if (i) add_points(run, lanes, first + i + size - 1, scale, begins, begins);
            finite = write_points(run, lanes, first + i, divisor, ends + i * columns, begins) && finite;
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

/* run_lanes of floats or doubles, of a scale of 1. */
static bool run_rows(const box_run *run, const box_lanes *lanes, double *ends) {
    const int64_t points = (int64_t)run->box->points, size = (int64_t)run->box->size, columns = run->columns;
    const int64_t bytes = (int64_t)stn_dtype_size(run->box->dtype);
    const int wide = run->box->dtype == STN_F64;
    const size_t count = (size_t)lanes->count;
    double *const begins = ends + size * columns;
    bool finite = true;
    for (int64_t first = 0; first < points; first += size) {
        memset(begins, 0, count * sizeof *begins);
        for (int64_t i = size - 1; i >= 0; i--) /* row `size` of `ends` is `begins`, zeros now */
            run->kernels->add_row[wide](ends + i * columns, ends + (i + 1) * columns, find_row(run, lanes, first + i),
                                        count);
        for (int64_t i = 0; i < size && first + i < points; i++) {
            const void *const row = i ? find_row(run, lanes, first + i + size - 1) : run->past[2];
            char *const to = run->out + (lanes->first + (first + i) * lanes->step) * bytes;
            finite =
                run->kernels->mean_row[wide](to, ends + i * columns, begins, row, count, run->box->divisor) && finite;
        }
    }
    return finite;
}

/* Averages boxes; if a sum overflows, repeats this with points scaled down by a power of two. */
static void run_scaled(const box_run *run, const box_lanes *lanes, int exponent, double *ends) {
    if (!(run->box->dtype == STN_F16 ? run_lanes(run, lanes, 1, ends) : run_rows(run, lanes, ends)))
        run_lanes(run, lanes, ldexp(1, exponent), ends);
}

/* Contiguous lines: copied side by side as doubles, averaged, and copied back. */
static void run_lines(const box_run *run, int64_t first, int count, int exponent, double *ends, double *staged) {
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
    run_scaled(&inner, &lanes, exponent, ends);
    for (int64_t begin = 0; begin < points; begin += LINES)
        for (int k = 0; k < count; k++)
            for (int64_t i = begin; i < stn_min(begin + LINES, points); i++)
                store(dtype, run->out, (first + k) * points + i, means[i * count + k]);
}

/* Rows `at` to `at` + count - 1 of the extended axis: `lines` numbers each, of contiguous lines
 * from `first` on. */
static void gather_rows(const box_run *run, int64_t first, int64_t lines, int64_t at, int64_t count, char *to) {
    const int64_t points = (int64_t)run->box->points, bytes = (int64_t)stn_dtype_size(run->box->dtype);
    const int64_t past_points = (int64_t)run->box->before + points;
    for (int64_t end = at + count, now; at < end; at += now, to += now * LINES * bytes) {
        const int64_t j = run->source_index[at];
        now = at >= (int64_t)run->box->before && at < past_points ? stn_min(end, past_points) - at : 1;
        if (j < 0)
            memcpy(to, run->past[-1 - j], (size_t)(LINES * bytes));
        else
            run->kernels->transpose[bytes == sizeof(double)](run->in + (first * points + j) * bytes, points, lines, now,
                                                             to, LINES);
    }
}

/* Blocks of a contiguous line that are copied at once. */
static int64_t blocks_at_once(const stn_box_filter *box) { return stn_div_up(COPIED, (int64_t)box->size); }

/* LINES contiguous lines of floats or doubles, or fewer at the end: some blocks at once are copied
 * side by side, averaged, and copied back. Returns the same as run_rows. staged: memory for
 * (2 * blocks_at_once + 1) * size rows of LINES numbers. */
static bool run_contiguous(const box_run *run, int64_t first, double *ends, char *staged) {
    const stn_kernels *const kernels = run->kernels;
    const int64_t points = (int64_t)run->box->points, size = (int64_t)run->box->size;
    const int64_t lines = stn_min(LINES, (int64_t)run->box->outer - first);
    const int64_t bytes = (int64_t)stn_dtype_size(run->box->dtype), row = LINES * bytes;
    const int64_t most = blocks_at_once(run->box) * size;
    const int wide = run->box->dtype == STN_F64;
    char *const means = staged + (most + size) * row;
    bool finite = true;
    gather_rows(run, first, lines, 0, size, staged);
    for (int64_t begin = 0, now; begin < points; begin += now) {
        now = stn_min(most, points - begin);
        gather_rows(run, first, lines, begin + size, begin + now < points ? now : now - 1, staged + size * row);
        for (int64_t i = 0; i < now; i += size)
            finite = kernels->average[wide](means + i * row, staged + i * row, staged + (i + size) * row, (size_t)size,
                                            (size_t)stn_min(size, now - i), run->box->divisor, ends) &&
                     finite;
        kernels->transpose[wide](means, LINES, now, lines, run->out + (first * points + begin) * bytes, points);
        if (begin + now < points) memcpy(staged, staged + most * row, (size_t)(size * row));
    }
    return finite;
}

static void run_strips(void *user, int64_t begin, int64_t end) {
    box_run *run = user;
    const stn_box_filter *box = run->box;
    const int64_t points = (int64_t)box->points, inner = (int64_t)box->inner;
    const int64_t lines = run->lines, columns = run->columns;
    double *ends = malloc((box->size + 1) * (size_t)columns * sizeof *ends);
    const int64_t staged_rows = run->contiguous ? (2 * blocks_at_once(box) + 1) * (int64_t)box->size : 0;
    const size_t copied = (size_t)(stn_max(staged_rows, 2 * points) * lines);
    double *staged = inner == 1 ? calloc(copied + 1, sizeof *staged) : NULL;
    if (!ends || (inner == 1 && !staged)) {
        free(ends);
        free(staged);
        atomic_store(&run->failed, true);
        return;
    }
    int exponent;
    frexp((double)box->size, &exponent);
    for (int64_t item = begin; item < end; item++) {
        if (inner == 1) {
            const int64_t first = item * lines;
            if (!run->contiguous || !run_contiguous(run, first, ends, (char *)staged))
                run_lines(run, first, (int)stn_min(lines, (int64_t)box->outer - first), -exponent, ends, staged);
            continue;
        }
        const int64_t column = item % run->strips * columns;
        const box_lanes lanes = {item / run->strips * points * inner + column, inner,
                                 (int)stn_min(columns, inner - column)};
        run_scaled(run, &lanes, -exponent, ends);
    }
    free(staged);
    free(ends);
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

stn_status stn_host_box(stn_pool *pool, const stn_box_filter *box, const void *in, void *out, stn_error *error) {
    const double numbers = (double)box->outer * (double)box->points * (double)box->inner,
                 sums = MAX_COLUMNS * ((double)box->points + 2.0 * (double)box->size);
    if (fmax(numbers, sums) * sizeof(double) >= 0x1p63)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT,
                        "a box of %zu points on %zu x %zu x %zu points takes more bytes than 63 bits can count: give "
                        "a smaller one",
                        box->size, box->outer, box->points, box->inner);
    const int64_t points = (int64_t)box->points, all = points + 2 * (int64_t)box->size;
    int64_t *source_index = malloc((size_t)all * sizeof *source_index);
    if (!source_index) return stn_fail_memory(error, "the positions of a box", (size_t)all * sizeof *source_index);
    for (int64_t i = 0; i < all; i++) source_index[i] = source_index_at(i - (int64_t)box->before, points, box->sides);
    if (box->element) {
        const stn_status status = stn_host_integer_box(pool, box, in, out, source_index, error);
        free(source_index);
        return status;
    }
    box_run run = {.kernels = stn_kernels_best(), .box = box, .in = in, .out = out, .source_index = source_index};
    for (int side = 0; side < 2; side++) {
        const double value = box->sides[side].value;
        run.past_value[side] = box->dtype == STN_F64   ? value
                               : box->dtype == STN_F32 ? (float)value
                                                       : stn_half_to_float(stn_float_to_half((float)value));
    }
    const int64_t inner = (int64_t)box->inner, parts = stn_div_up(stn_pool_threads(pool), (int64_t)box->outer);
    const int64_t fitting = ENDS_BYTES / (int64_t)sizeof(double) / (int64_t)box->size;
    const int64_t most = stn_min(stn_min(fitting, stn_div_up(inner, parts)), MAX_COLUMNS);
    run.columns = inner == 1 ? LINES : stn_div_up(stn_max(most, MIN_COLUMNS), 16) * 16;
    run.strips = stn_div_up(inner, run.columns);
    run.lines = stn_min(stn_max(STAGED / points, 1), LINES);
    run.contiguous = box->dtype != STN_F16 && inner == 1 && run.lines == LINES && (int64_t)box->outer >= LINES;
    const stn_dtype summed = inner == 1 && !run.contiguous ? STN_F64 : box->dtype;
    double *past = calloc((size_t)(3 * run.columns), sizeof *past);
    for (int row = 0; row < 3 && past; row++) run.past[row] = past + row * run.columns;
    for (int64_t k = 0; k < 2 * run.columns && past; k++)
        store(summed, (char *)(past + k / run.columns * run.columns), k % run.columns, run.past_value[k / run.columns]);
    const int64_t items = inner == 1 ? stn_div_up((int64_t)box->outer, run.lines) : (int64_t)box->outer * run.strips;
    if (past) stn_pool_for(pool, items, stn_div_up(WORK, points), run_strips, &run);
    free(past);
    free(source_index);
    return !past || atomic_load(&run.failed)
               ? stn_fail_memory(error, "the sums of a box", (box->size + 1) * (size_t)run.columns * sizeof(double))
               : STN_OK;
}
