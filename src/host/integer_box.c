/* Moving averages of unsigned integers along one axis: sums are exact, so they may be updated from
 * point to point. */
#include "host/integer_box.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "host/stencil_kernels.h"

#define COLUMNS 2048    /* most contiguous columns whose sums are updated together */
#define COLUMN_BYTES 12 /* of a column: its sum, values past both sides, a 0 and its mean */
#define SMALL_BOX 7     /* most points of a box whose points are added one by one */
#define CHUNK_BOXES 8   /* least points of a piece of work along the axis, as a multiple of a box */
#define WORK 65536      /* points below which waking a thread costs more than it saves */

typedef struct integer_run {
    const stn_box_filter *box;
    const stn_kernels *kernels;
    const char *in;
    char *out;
    const int64_t *source_index; /* as in moving_average.c */
    size_t item, wide;           /* bytes of a number and of a sum */
    stn_integers kind;
    /* A filter along the rows of the result, which are strips; NULL: none. */
    const struct integer_run *next;
    int64_t columns;    /* contiguous columns whose sums are updated together */
    int64_t strips;     /* strips of columns for each outer index */
    int64_t rows;       /* points of a piece of work along the axis, where columns are summed */
    int64_t chunks;     /* such pieces of a strip */
    atomic_bool failed; /* out of memory */
} integer_run;

static void fill(const integer_run *run, int side, int64_t count, char *to) {
    const uint16_t value = (uint16_t)run->box->sides[side].value;
    for (int64_t k = 0; k < count; k++)
        if (run->item == 1)
            ((uint8_t *)to)[k] = (uint8_t)value;
        else
            ((uint16_t *)to)[k] = value;
}

/* Points of a line that are averaged at once, so that their sums stay in cache. */
static size_t piece_of(const stn_box_filter *box) {
    const size_t most = box->size < COLUMNS / 4 ? COLUMNS : 4 * box->size;
    return box->points < most ? box->points : most;
}

/* Bytes from one line of sums in memory to the next: half a page past whole pages, since copies
 * between addresses that agree modulo a page are slow. */
static size_t line_bytes(const stn_box_filter *box) {
    return ((piece_of(box) + box->size + 1023) / 1024 * 1024 + 512) * sizeof(uint32_t);
}

/* Averages of a contiguous line, from one to another. The sum over a small box is that of shifted
 * lines; over others it is the difference of two sums from the line's begin, modulo the range of
 * the sums' type. memory: two lines. */
static void run_line(const integer_run *run, const char *from, char *to, char *memory) {
    const stn_kernels *kernels = run->kernels;
    const stn_integers kind = run->kind;
    const int64_t item = (int64_t)run->item, wide = (int64_t)run->wide, size = (int64_t)run->box->size;
    const int64_t points = (int64_t)run->box->points, before = (int64_t)run->box->before;
    char *const other = memory + line_bytes(run->box), past[2][sizeof(uint16_t)];
    const bool is_small = size <= SMALL_BOX;
    void (*const *sum)(void *, const void *, size_t) = is_small ? kernels->widen : kernels->accumulate;
    const void *lines[SMALL_BOX];
    for (int side = 0; side < 2; side++) fill(run, side, 1, past[side]);
    for (int64_t begin = 0, now; begin < points; begin += now) {
        now = stn_min((int64_t)piece_of(run->box), points - begin);
        const int64_t all = now + size - 1;
        /* Those from `low` to `high` of all points are inside the grid; others are copied. */
        const int64_t low = stn_min(stn_max(before - begin, 0), all),
                      high = stn_max(stn_min(before + points - begin, all), low);
        for (int64_t i = low > 0 ? 0 : high; i < all; i = i + 1 == low ? high : i + 1) {
            const int64_t j = run->source_index[begin + i];
            const char *const number = j < 0 ? past[-1 - j] : from + j * item;
            for (int64_t k = 0; k < item; k++) other[i * item + k] = number[k];
        }
        memset(memory, 0, (size_t)wide);
        sum[kind](memory, other, (size_t)low);
        sum[kind](memory + low * wide, from + (begin + low - before) * item, (size_t)(high - low));
        sum[kind](memory + high * wide, other + high * item, (size_t)(all - high));
        for (int64_t k = 0; k < (is_small ? size : 1); k++) lines[k] = memory + (is_small ? k : size) * wide;
        kernels->quotients[kind](to + begin * item, lines, is_small ? (size_t)size : 1, is_small ? NULL : memory,
                                 (size_t)now, run->box->divisor);
    }
}

/* Averages of columns, at points [begin, end): a row enters the sums and another leaves them for
 * each point. memory: columns * COLUMN_BYTES bytes, followed by two lines of the next filter. */
static void run_columns(const integer_run *run, int64_t first, int64_t count, int64_t begin, int64_t end,
                        char *memory) {
    const stn_kernels *kernels = run->kernels;
    const int64_t inner = (int64_t)run->box->inner, size = (int64_t)run->box->size, item = (int64_t)run->item;
    const size_t numbers = (size_t)count;
    const void *const all = memory;
    char *const sums = memory, *const nothing = sums + count * 4,
                *const past[2] = {nothing + count * 2, nothing + count * 4}, *const row = past[1] + count * 2,
                *const lines = memory + run->columns * COLUMN_BYTES;
    memset(memory, 0, numbers * COLUMN_BYTES);
    for (int side = 0; side < 2; side++) fill(run, side, count, past[side]);
    for (int64_t i = begin; i < end + size - 1; i++) {
        const void *rows[2] = {nothing, nothing}; /* the row that enters, and the one that leaves */
        for (int k = 0; k < 2 && i >= begin + k * size; k++) {
            const int64_t j = run->source_index[i - k * size];
            rows[k] = j < 0 ? past[-1 - j] : run->in + (first + j * inner) * item;
        }
        kernels->slide[run->kind](sums, rows[0], rows[1], numbers);
        const int64_t at = i - size + 1;
        char *const to = run->out + (first + at * inner) * item;
        if (at >= begin) kernels->quotients[run->kind](run->next ? row : to, &all, 1, NULL, numbers, run->box->divisor);
        if (at >= begin && run->next) run_line(run->next, row, to, lines);
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
        const int64_t column = strip % run->strips * columns, line = item * points * (int64_t)run->item;
        if (inner == 1)
            run_line(run, run->in + line, run->out + line, memory);
        else
            run_columns(run, strip / run->strips * points * inner + column, stn_min(columns, inner - column), first,
                        stn_min(first + run->rows, points), memory);
    }
    free(memory);
}

static integer_run begin_run(const stn_box_filter *box, const int64_t *source_index) {
    integer_run run = {.box = box, .kernels = stn_kernels_best(), .source_index = source_index};
    run.item = stn_element_size(box->element);
    run.kind = run.item == 2 ? STN_SHORTS : box->size * UINT8_MAX > UINT16_MAX ? STN_BYTES : STN_SMALL_BYTES;
    run.wide = run.kind == STN_SMALL_BYTES ? sizeof(uint16_t) : sizeof(uint32_t);
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
