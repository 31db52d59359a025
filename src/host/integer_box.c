/* Moving averages of unsigned integers along one axis: sums are exact, so they may be updated from
 * point to point. */
#include "host/integer_box.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "host/stencil_kernels.h"

#define COLUMNS 2048    /* most contiguous columns whose sums are updated together */
#define COLUMN_BYTES 12 /* 4 for a column's sum; 2 each for 0, both values past sides, mean */
#define CHUNK_BOXES 8   /* least points of a chunk along the axis, as a multiple of a box's */
#define WORK 65536      /* points below which waking a thread costs more than it saves */

typedef struct integer_run {
    const stn_box_filter *box;
    const stn_kernels *kernels;
    const char *in;
    char *out;
    const int64_t *source_index; /* as in moving_average.c */
    size_t number_bytes, sum_bytes;
    stn_integers kind;
    /* A second filter, whose lines are the rows of strips of this one's result; NULL: none. */
    const struct integer_run *next;
    int64_t columns;    /* contiguous columns whose sums are updated together */
    int64_t strips;     /* strips of columns for each outer index */
    int64_t rows;       /* points along the axis in a chunk of a strip */
    int64_t chunks;     /* of a strip */
    atomic_bool failed; /* out of memory */
} integer_run;

/* Writes the value past a constant side `count` times. */
static void fill(const integer_run *run, int side, int64_t count, char *to) {
    const uint16_t value = (uint16_t)run->box->sides[side].value;
    for (int64_t k = 0; k < count; k++)
        if (run->number_bytes == 1)
            ((uint8_t *)to)[k] = (uint8_t)value;
        else
            ((uint16_t *)to)[k] = value;
}

/* Points of a line that are averaged at once, so that their sums stay in cache. */
static size_t piece_of(const stn_box_filter *box) {
    const size_t most = box->size < COLUMNS / 4 ? COLUMNS : 4 * box->size;
    return box->points < most ? box->points : most;
}

/* Bytes of a line in the memory of run_line: whole pages and a half, since copies between addresses
 * that agree modulo a page are slow. */
static size_t line_bytes(const stn_box_filter *box) {
    return ((piece_of(box) + box->size + 1023) / 1024 * 1024 + 512) * sizeof(uint32_t);
}

/* Averages a contiguous line, piece by piece. The points of a small box are added one by one; the
 * sum over others is the difference of two prefix sums of the piece, modulo the range of the sums'
 * type. memory: two lines, one of sums and one of points that are copied. */
static void run_line(const integer_run *run, const char *from, char *to, char *memory) {
    const stn_kernels *kernels = run->kernels;
    const stn_integers kind = run->kind;
    const int64_t number_bytes = (int64_t)run->number_bytes, sum_bytes = (int64_t)run->sum_bytes,
                  size = (int64_t)run->box->size;
    const int64_t points = (int64_t)run->box->points, before = (int64_t)run->box->before;
    char *const copied = memory + line_bytes(run->box), past[2][sizeof(uint16_t)];
    const void *lines[STN_KERNEL_MEANS];
    for (int side = 0; side < 2; side++) fill(run, side, 1, past[side]);
    for (int64_t begin = 0, now; begin < points; begin += now) {
        now = stn_min((int64_t)piece_of(run->box), points - begin);
        const int64_t all = now + size - 1;
        /* The boxes read `all` points. Points low to high - 1 of these lie in the line; the others
         * are copied from the points to which they fold. */
        const int64_t low = stn_min(stn_max(before - begin, 0), all),
                      high = stn_max(stn_min(before + points - begin, all), low);
        const char *const inside = from + (begin + low - before) * number_bytes;
        for (int64_t i = low > 0 ? 0 : high; i < all; i = i + 1 == low ? high : i + 1) {
            const int64_t j = run->source_index[begin + i];
            const char *const number = j < 0 ? past[-1 - j] : from + j * number_bytes;
            for (int64_t k = 0; k < number_bytes; k++) copied[i * number_bytes + k] = number[k];
        }
        if (size <= STN_KERNEL_MEANS) {
            memcpy(copied + low * number_bytes, inside, (size_t)((high - low) * number_bytes));
            for (int64_t k = 0; k < size; k++) lines[k] = copied + k * number_bytes;
            kernels->means[kind](to + begin * number_bytes, lines, (size_t)size, (size_t)now);
            continue;
        }
        memset(memory, 0, (size_t)sum_bytes);
        kernels->accumulate[kind](memory, copied, (size_t)low);
        kernels->accumulate[kind](memory + low * sum_bytes, inside, (size_t)(high - low));
        kernels->accumulate[kind](memory + high * sum_bytes, copied + high * number_bytes, (size_t)(all - high));
        kernels->quotients[kind](to + begin * number_bytes, memory + size * sum_bytes, memory, (size_t)now,
                                 run->box->divisor);
    }
}

/* Averages columns at points [begin, end). For each point, all rows of a small box are added; for
 * other boxes, one row is added to the sums, and another is subtracted. memory: columns *
 * COLUMN_BYTES bytes, followed by two lines for run_line of the next filter. */
static void run_columns(const integer_run *run, int64_t first, int64_t count, int64_t begin, int64_t end,
                        char *memory) {
    const stn_kernels *kernels = run->kernels;
    const int64_t inner = (int64_t)run->box->inner, size = (int64_t)run->box->size,
                  number_bytes = (int64_t)run->number_bytes;
    const size_t numbers = (size_t)count;
    const bool is_small = size <= STN_KERNEL_MEANS;
    const void *rows[STN_KERNEL_MEANS];
    char *const sums = memory, *const zeros = sums + count * 4, *const past[2] = {zeros + count * 2, zeros + count * 4},
                *const row = past[1] + count * 2, *const lines = memory + run->columns * COLUMN_BYTES;
    memset(memory, 0, numbers * COLUMN_BYTES);
    for (int side = 0; side < 2; side++) fill(run, side, count, past[side]);
    for (int64_t i = is_small ? begin + size - 1 : begin; i < end + size - 1; i++) {
        /* All rows of a small box; else the row that enters, and the one that leaves. */
        rows[0] = rows[1] = zeros;
        for (int64_t k = 0; is_small ? k < size : k < 2 && i >= begin + k * size; k++) {
            const int64_t j = run->source_index[is_small ? i - k : i - k * size];
            rows[k] = j < 0 ? past[-1 - j] : run->in + (first + j * inner) * number_bytes;
        }
        if (!is_small) kernels->slide[run->kind](sums, rows[0], rows[1], numbers);
        const int64_t at = i - size + 1;
        if (at < begin) continue;
        char *const to = run->out + (first + at * inner) * number_bytes, *const mean = run->next ? row : to;
        if (is_small)
            kernels->means[run->kind](mean, rows, (size_t)size, numbers);
        else
            kernels->quotients[run->kind](mean, sums, NULL, numbers, run->box->divisor);
        if (run->next) run_line(run->next, row, to, lines);
    }
}

static void run_items(void *user, int64_t begin, int64_t end) {
    integer_run *run = user;
    const stn_box_filter *box = run->box;
    const int64_t inner = (int64_t)box->inner, points = (int64_t)box->points, columns = run->columns;
    const integer_run *lines = inner == 1 ? run : run->next;
    char *memory = malloc((size_t)(columns * COLUMN_BYTES) + (lines ? 2 * line_bytes(lines->box) : 0));
    if (!memory) {
        atomic_store(&run->failed, true);
        return;
    }
    for (int64_t item = begin; item < end; item++) {
        const int64_t first = item % run->chunks * run->rows, strip = item / run->chunks;
        const int64_t column = strip % run->strips * columns, line = item * points * (int64_t)run->number_bytes;
        if (inner == 1)
            run_line(run, run->in + line, run->out + line, memory);
        else
            run_columns(run, strip / run->strips * points * inner + column, stn_min(columns, inner - column), first,
                        stn_min(first + run->rows, points), memory);
    }
    free(memory);
}

bool stn_host_integer_box_applies(const stn_box_filter *box) {
    if (box->element != STN_ELEMENT_U8 && box->element != STN_ELEMENT_U16) return false;
    const double most = box->element == STN_ELEMENT_U8 ? UINT8_MAX : UINT16_MAX;
    if (box->divisor != (double)box->size || most * box->divisor > UINT32_MAX) return false;
    for (int side = 0; side < 2; side++) {
        const double value = box->sides[side].kind == STN_CONSTANT ? box->sides[side].value : 0;
        if (!(value >= 0 && value <= most) || value != floor(value)) return false;
    }
    return !box->next || stn_host_integer_box_applies(box->next);
}

static integer_run begin_run(const stn_box_filter *box, const int64_t *source_index) {
    integer_run run = {.box = box, .kernels = stn_kernels_best(), .source_index = source_index};
    run.number_bytes = stn_element_size(box->element);
    run.kind = run.number_bytes == 2 ? STN_SHORTS : box->size * UINT8_MAX > UINT16_MAX ? STN_BYTES : STN_SMALL_BYTES;
    run.sum_bytes = run.kind == STN_SMALL_BYTES ? sizeof(uint16_t) : sizeof(uint32_t);
    return run;
}

stn_status stn_host_integer_box(stn_pool *pool, const stn_box_filter *box, const void *in, void *out,
                                int64_t *const source_index[2], stn_error *error) {
    integer_run run = begin_run(box, source_index[0]), next;
    run.in = in, run.out = out;
    run.columns = box->inner == 1 ? 0 : COLUMNS;
    if (box->next) {
        next = begin_run(box->next, source_index[1]);
        run.next = &next;
        run.columns = (int64_t)box->next->points;
    }
    run.strips = box->inner == 1 ? 1 : stn_div_up((int64_t)box->inner, run.columns);
    const int64_t strips = (int64_t)box->outer * run.strips, points = (int64_t)box->points;
    const int64_t parts = box->inner == 1 ? 1 : stn_div_up(stn_pool_threads(pool), strips);
    run.rows = stn_min(points, stn_max(stn_div_up(points, parts), CHUNK_BOXES * (int64_t)box->size));
    run.chunks = stn_div_up(points, run.rows);
    stn_pool_for(pool, strips * run.chunks, stn_div_up(WORK, run.rows * stn_min((int64_t)box->inner, COLUMNS)),
                 run_items, &run);
    const stn_box_filter *line = box->next ? box->next : box;
    const size_t bytes = (size_t)(run.columns * COLUMN_BYTES) + 2 * line_bytes(line);
    return atomic_load(&run.failed) ? stn_fail_memory(error, "the sums of a box", bytes) : STN_OK;
}
