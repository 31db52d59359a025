/* Moving averages of unsigned integers along one axis: sums are exact, so they may be updated from
 * point to point. */
#include "host/integer_box.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "host/stencil_kernels.h"

#define COLUMNS 2048  /* contiguous columns whose sums are updated together */
#define CHUNK_BOXES 8 /* least points of a piece of work along the axis, as a multiple of a box */
#define WORK 65536    /* points below which waking a thread costs more than it saves */

typedef struct integer_run {
    const stn_box_filter *box;
    const stn_kernels *kernels;
    const char *in;
    char *out;
    const int64_t *source_index; /* as in moving_average.c */
    size_t item, wide;           /* bytes of a number and of a sum */
    stn_integers kind;
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

/* Averages of columns, at points [begin, end): a row enters the sums and another leaves them for
 * each point. */
static void run_columns(const integer_run *run, int64_t first, int64_t count, int64_t begin, int64_t end) {
    const stn_kernels *kernels = run->kernels;
    const size_t item = run->item;
    const stn_integers kind = run->kind;
    const int64_t inner = (int64_t)run->box->inner, size = (int64_t)run->box->size;
    uint32_t sums[COLUMNS] = {0};
    uint16_t past[2][COLUMNS];
    static const uint16_t nothing[COLUMNS] = {0};
    for (int side = 0; side < 2; side++) fill(run, side, count, (char *)past[side]);
    for (int64_t i = begin; i < end + size - 1; i++) {
        const void *rows[2] = {nothing, nothing}; /* the row that enters, and the one that leaves */
        for (int k = 0; k < 2 && i >= begin + k * size; k++) {
            const int64_t j = run->source_index[i - k * size];
            rows[k] = j < 0 ? (const void *)past[-1 - j] : run->in + (size_t)(first + j * inner) * item;
        }
        kernels->slide[kind](sums, rows[0], rows[1], (size_t)count);
        const int64_t at = i - size + 1;
        if (at >= begin)
            kernels->quotients[kind](run->out + (size_t)(first + at * inner) * item, sums, (size_t)count,
                                     run->box->divisor);
    }
}

/* Bytes from one line in memory to the next: half a page past whole pages, since copies between
 * addresses that agree modulo a page are slow. */
static size_t line_bytes(const stn_box_filter *box) {
    return ((box->points + box->size + 1023) / 1024 * 1024 + 512) * sizeof(uint32_t);
}

/* Averages of a contiguous line. Sums over 1, 2, 4 ... points are computed by doubling. A box is
 * composed of such sums, one for each binary digit 1 of its size. memory: two lines. */
static void run_line(const integer_run *run, int64_t line, char *memory) {
    const stn_kernels *kernels = run->kernels;
    const stn_integers kind = run->kind;
    const size_t item = run->item, wide = run->wide, size = run->box->size, points = run->box->points;
    const size_t all = points + size - 1, inside = run->box->before;
    const char *from = run->in + (size_t)line * points * item;
    char *const other = memory + line_bytes(run->box), *power = memory, *sums = NULL, past[2][sizeof(uint16_t)];
    for (int side = 0; side < 2; side++) fill(run, side, 1, past[side]);
    /* The points past the sides, as numbers in the other line. */
    for (size_t i = 0; i < all; i += i == inside ? points : 1) {
        const int64_t j = run->source_index[i];
        if (i != inside) memcpy(other + i * item, j < 0 ? past[-1 - j] : from + (size_t)j * item, item);
    }
    kernels->widen[kind](power, other, inside);
    kernels->widen[kind](power + inside * wide, from, points);
    kernels->widen[kind](power + (inside + points) * wide, other + (inside + points) * item, size - 1 - inside);
    size_t summed = 0;
    for (size_t width = 1; width <= size; width *= 2) {
        if (size & width) {
            if (sums)
                kernels->add[kind](sums, sums, power + summed * wide, points);
            else
                sums = power;
            summed += width;
        }
        if (2 * width <= size) {
            char *const doubled = sums == power ? other : power;
            kernels->add[kind](doubled, power, power + width * wide, all - 2 * width + 1);
            power = doubled;
        }
    }
    kernels->quotients[kind](run->out + (size_t)line * points * item, sums, points, run->box->divisor);
}

static void run_items(void *user, int64_t begin, int64_t end) {
    integer_run *run = user;
    const stn_box_filter *box = run->box;
    const int64_t inner = (int64_t)box->inner;
    char *memory = inner == 1 ? malloc(2 * line_bytes(box)) : NULL;
    if (inner == 1 && !memory) {
        atomic_store(&run->failed, true);
        return;
    }
    for (int64_t item = begin; item < end; item++) {
        const int64_t begin = item % run->chunks * run->rows, strip = item / run->chunks;
        const int64_t column = strip % run->strips * COLUMNS, points = (int64_t)box->points;
        if (inner == 1)
            run_line(run, item, memory);
        else
            run_columns(run, strip / run->strips * points * inner + column, stn_min(COLUMNS, inner - column), begin,
                        stn_min(begin + run->rows, points));
    }
    free(memory);
}

stn_status stn_host_integer_box(stn_pool *pool, const stn_box_filter *box, const void *in, void *out,
                                const int64_t *source_index, stn_error *error) {
    integer_run run = {.box = box, .kernels = stn_kernels_best(), .in = in, .out = out, .source_index = source_index};
    run.item = stn_element_size(box->element);
    run.kind = run.item == 2 ? STN_SHORTS : box->size * UINT8_MAX > UINT16_MAX ? STN_BYTES : STN_SMALL_BYTES;
    run.wide = run.kind == STN_SMALL_BYTES ? sizeof(uint16_t) : sizeof(uint32_t);
    run.strips = stn_div_up((int64_t)box->inner, COLUMNS);
    const int64_t strips = (int64_t)box->outer * run.strips, points = (int64_t)box->points;
    const int64_t parts = box->inner == 1 ? 1 : stn_div_up(stn_pool_threads(pool), strips);
    run.rows = stn_min(points, stn_max(stn_div_up(points, parts), CHUNK_BOXES * (int64_t)box->size));
    run.chunks = stn_div_up(points, run.rows);
    stn_pool_for(pool, strips * run.chunks, stn_div_up(WORK, run.rows * stn_min((int64_t)box->inner, COLUMNS)),
                 run_items, &run);
    return atomic_load(&run.failed) ? stn_fail_memory(error, "the sums of a box", 2 * line_bytes(box)) : STN_OK;
}
