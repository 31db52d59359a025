/* Four-step FFT: the choice of matrix sizes and windows, and their cost; see sheet.h. */
#include "strategies/spectral/sheet.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "strategies/common/found.h"

enum { LINE = 32, LENGTHS = 1024, MOST_SHARES = 8, MOST_IMAGES = 64 };
#define MOST_LENGTH 0x7fffffffLL /* A line's points are counted in int. */

/* ---- rows and columns ------------------------------------------------------------------------ */

/* Cost factors of lengths, relative to the best: columns read in pieces of a half (narrow) and a
 * quarter (thin) of the widest; lines that leave a multiprocessor to one block (half, alone) or
 * need a cluster (shared); short rows (few). Derived from measurements. */
static const struct {
    int widest; /* Pairs of columns. */
    double half, narrow, thin, alone, shared, few;
    /* f64, f32. */
} penalties[2] = {{8, 1.2, 1.3, 2.2, 1.3, 1.8, 1.2}, {8, 1.15, 1.5, 2.2, 1.3, 1.8, 1.2}};

typedef struct limits {
    int64_t most; /* Points that a block holds. */
    int shares;   /* Blocks of a cluster. */
} limits;

static limits limits_of(const stn_task *task, const stn_machine *machine) {
    return (limits){stn_ladder_most_points(spectral_wide(task), machine->shared_per_block),
                    machine->sm >= 90 ? MOST_SHARES : 1};
}

/* Pairs of columns that a block holds. */
static int pairs_of(const limits *l, int64_t rows, bool wide) {
    int pairs = penalties[!wide].widest;
    while (pairs > 1 && rows * pairs > l->most) pairs /= 2;
    return pairs;
}

static double column_penalty(const limits *l, int64_t rows, bool wide, int pairs) {
    const int full = penalties[!wide].widest;
    const double alone = 2 * rows * pairs > l->most ? penalties[!wide].half : 1;
    if (pairs >= full) return alone;
    return 2 * pairs < full ? penalties[!wide].thin : penalties[!wide].narrow * (wide ? alone : 1);
}

static double row_penalty(const limits *l, int64_t width, bool wide) {
    if (width > l->most) return penalties[!wide].shared;
    if (2 * width > l->most) return penalties[!wide].alone;
    const double few = penalties[!wide].few;
    return width < 256 ? few * few : width < 1024 ? few : 1;
}

/* Lists good lengths in ascending order: of columns that a block holds; or of rows, even, longer
 * ones for clusters. */
static int good_lengths(const limits *l, bool rows, int *list) {
    int count = 0;
    for (int64_t n = 2; n <= (rows ? l->most * l->shares : l->most) && count < LENGTHS; n += n <= l->most ? 1 : 64) {
        /* The first stage is distributed over the blocks of a cluster. */
        if (n > l->most && n % 64) n = stn_round_up(n, 64);
        if (stn_ladder_good(n) && !(rows && n % 2)) list[count++] = (int)n;
    }
    return count;
}

/* ---- choosing -------------------------------------------------------------------------------- */

bool spectral_sheet_for(const stn_task *task, const stn_machine *machine) {
    spectral_choice choice;
    char reason[160];
    return task->rank == 1 && !spectral_choose(task, machine, &choice, reason, sizeof reason);
}

typedef struct line {
    int64_t n, period, reach[2]; /* Clamped to INT64_MAX / 4. */
} line;

/* Windows of a line with matrices of this length, and the output points of each; false: too
 * short. */
static bool windows_of(const line *line, int64_t length, spectral_sheet_choice *choice, int64_t *windows) {
    /* Windows begin at whole memory lines, or at least at even points. */
    const int unit = length >= 64 * LINE ? LINE : 2;
    const int64_t before = stn_round_up(line->reach[0], unit);
    int64_t useful = length - before - line->reach[1];
    choice->before = 0;
    *windows = 1;
    if (length == line->period) {
        choice->useful = (int)line->n;
        return true;
    }
    if (useful <= 0) return false;
    choice->before = (int)before;
    if (useful < line->n) {
        useful = useful / unit * unit;
        if (useful == 0) return false;
        *windows = stn_div_up(line->n, useful);
        useful = stn_round_up(stn_div_up(line->n, *windows), unit);
    } else
        useful = line->n;
    choice->useful = (int)useful;
    return useful <= MOST_LENGTH;
}

/* Lower bound of the number of windows, from the points that nothing reaches into; 1 for a whole
 * period. */
static double windows_at_least(const line *line, int64_t length) {
    const int64_t useful = length - line->reach[0] - line->reach[1];
    return length == line->period || useful <= 0 ? 1 : 0.999 * (double)line->n / (double)useful;
}

/* Good lengths of columns or rows, and the cost factor of each. */
typedef struct side {
    int count, points[LENGTHS];
    double penalty[LENGTHS];
} side;

static void find_side(const limits *l, bool wide, bool rows, side *s) {
    s->count = good_lengths(l, rows, s->points);
    for (int i = 0; i < s->count; i++)
        s->penalty[i] = rows ? row_penalty(l, s->points[i], wide)
                             : column_penalty(l, s->points[i], wide, pairs_of(l, s->points[i], wide));
}

/* Both; they are the same for all lines on one machine. */
typedef struct sides {
    limits limits;
    bool wide;
    side columns, rows;
} sides;

static bool take_known(stn_found *found, sides *s) {
    if (!found) return false;
    pthread_mutex_lock(&found->lock);
    const sides *known = found->sheets;
    const bool same = known && known->limits.most == s->limits.most && known->limits.shares == s->limits.shares &&
                      known->wide == s->wide;
    if (same) *s = *known;
    pthread_mutex_unlock(&found->lock);
    return same;
}

static void find_sides(stn_found *found, const limits *l, bool wide, sides *s) {
    s->limits = *l, s->wide = wide;
    if (take_known(found, s)) return;
    find_side(l, wide, false, &s->columns);
    find_side(l, wide, true, &s->rows);
    if (!found) return;
    pthread_mutex_lock(&found->lock);
    if (!found->sheets) found->sheets = malloc(sizeof *s);
    if (found->sheets) memcpy(found->sheets, s, sizeof *s);
    pthread_mutex_unlock(&found->lock);
}

/* Finds the cheapest matrix of at most `longest` points. Of a hundred thousand pairs of lengths,
 * most are rejected by a lower bound of the cost. */
static bool search(const stn_task *task, const stn_machine *machine, const line *line, int64_t longest,
                   spectral_sheet_choice *choice) {
    const limits l = limits_of(task, machine);
    const bool wide = spectral_wide(task);
    sides both;
    find_sides(machine->found, &l, wide, &both);
    const side *columns = &both.columns, *rows = &both.rows;
    const double all = 0.999 * (double)line->n;
    double least = INFINITY;
    for (int w = 0; w < rows->count; w++)
        for (int r = 0; r < columns->count; r++) {
            spectral_sheet_choice c = {.mark = SPECTRAL_SHEET, .rows = columns->points[r], .width = rows->points[w]};
            int64_t windows, length = (int64_t)c.rows * c.width;
            if (length > longest) break; /* Columns are in ascending order. */
            const double penalty = 2 * columns->penalty[r] + rows->penalty[w];
            if (((double)length > all ? (double)length : all) * penalty >= least) continue;
            if (windows_at_least(line, length) * (double)length * penalty >= least) continue;
            if (!windows_of(line, length, &c, &windows)) continue;
            const double cost = (double)windows * (double)length * penalty;
            if (cost >= least) continue;
            least = cost, *choice = c;
            choice->pairs = pairs_of(&l, c.rows, wide);
        }
    return least < INFINITY;
}

/* Approximate number of images of the points next to sides: two in each mirror image of the
 * line. */
static int64_t images_in(const line *line, const spectral_sheet_choice *choice) {
    return 2 * ((int64_t)choice->rows * choice->width / line->n + 1);
}

static bool line_of(const stn_task *task, line *line, bool *odd, char *reason, size_t reason_size) {
    stn_extension e;
    const stn_task run = spectral_run(task);
    if (!stn_extension_sides(&run, 2, &e, reason, reason_size)) return false;
    const stn_reach reach = spectral_reach(task, 2);
    line->n = task->n[2], line->period = stn_extension_period(&e);
    for (int side = 0; side < 2; side++) line->reach[side] = stn_min(reach.side[side], INT64_MAX / 4);
    *odd = stn_extension_odd(&e);
    return true;
}

bool spectral_sheet_choose(const stn_task *task, const stn_machine *machine, spectral_sheet_choice *choice,
                           char *reason, size_t reason_size) {
    line line;
    bool odd;
    if (!line_of(task, &line, &odd, reason, reason_size)) return false;
    if (!search(task, machine, &line, MOST_LENGTH, choice)) {
        snprintf(reason, reason_size,
                 "with what its taps reach in all steps, a line of %lld points is longer than what passes over memory "
                 "hold",
                 (long long)line.n);
        return false;
    }
    if (odd && images_in(&line, choice) > MOST_IMAGES) {
        snprintf(reason, reason_size,
                 "the taps of all steps reach over a line with fixed or constant sides many times");
        return false;
    }
    return true;
}

size_t spectral_sheet_variants(const stn_task *task, const stn_machine *machine, const spectral_sheet_choice *choice,
                               spectral_sheet_choice *list, size_t most) {
    /* pairs: change of the exponent. cut: divisor of the windows' length; `turn` of these may stay
     * in the cache between passes. */
    static const struct {
        int pairs, cut, turn, column_threads, row_threads;
    } ways[] = {{1, 2, 0, 0, 0},   {0, 4, 0, 0, 0},   {0, 1, 1, 0, 0},  {0, 1, 2, 0, 0}, {0, 1, 8, 0, 0},
                {0, 4, 1, 0, 0},   {0, 4, 4, 0, 0},   {-1, 1, 0, 0, 0}, {1, 1, 0, 0, 0}, {0, 1, 0, 512, 0},
                {0, 1, 0, 640, 0}, {0, 1, 0, 0, 384}, {0, 1, 0, 0, 640}};
    line line;
    bool odd;
    char reason[160];
    size_t count = 0;
    if (!line_of(task, &line, &odd, reason, sizeof reason)) return 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && count < most; i++) {
        spectral_sheet_choice c = *choice;
        const int64_t length = (int64_t)c.rows * c.width;
        if (ways[i].cut > 1 && !search(task, machine, &line, length / ways[i].cut, &c)) continue;
        c.pairs = ways[i].pairs < 0 ? c.pairs / 2 : c.pairs << ways[i].pairs;
        c.turn = ways[i].turn, c.column_threads = ways[i].column_threads, c.row_threads = ways[i].row_threads;
        const bool many = !task->in_place && stn_div_up(task->n[2], c.useful) * task->batch > 1;
        if (c.pairs < 1 || (c.turn && !many)) continue;
        list[count++] = c;
    }
    return count;
}

/* ---- the whole layout ------------------------------------------------------------------------ */

static void make_lines(const stn_task *task, const stn_machine *machine, spectral_sheet *s) {
    const bool wide = spectral_wide(task);
    stn_ladder_needs needs = {.wide = wide, .last = 8, .shares = 1, .copies = 1, .lines = s->choice.pairs};
    /* No register spills. */
    needs.threads = s->choice.column_threads ? s->choice.column_threads : wide ? 384 : 640;
    needs.shared = machine->shared_per_block;
    needs.total = machine->shared_per_multiprocessor;
    stn_ladder_make(machine->found, s->choice.rows, &needs, &s->down);
    needs.shares = limits_of(task, machine).shares;
    /* A source needs registers. */
    needs.lines = 1, needs.last = stn_extension_odd(&s->axis) ? 8 : 16;
    needs.threads = s->choice.row_threads ? s->choice.row_threads : wide ? 512 : 768;
    stn_ladder_make(machine->found, s->choice.width, &needs, &s->along);
}

void spectral_sheet_make(const stn_task *task, const stn_machine *machine, const spectral_sheet_choice *choice,
                         bool lines, spectral_sheet *s) {
    char reason[160];
    const stn_task run = spectral_run(task);
    *s = (spectral_sheet){.choice = *choice, .length = (int64_t)choice->rows * choice->width};
    stn_extension_sides(&run, 2, &s->axis, reason, sizeof reason);
    s->axis.length = s->length, s->axis.before = choice->before;
    s->windows = stn_div_up(task->n[2], choice->useful);
    s->turn = s->windows * task->batch;
    if (choice->turn && !task->in_place) /* In place, one window's input is another's output. */
        s->turn = stn_min(s->turn, choice->turn);
    s->spectrum = (int64_t)(choice->rows / 2 + 1) * choice->width;
    const int64_t torus[3] = {1, 1, s->length};
    s->symbol = stn_symbol_form(&run, 2, torus, false);
    while ((int64_t)1 << (2 * s->fine) < s->length) s->fine++;
    if (lines) make_lines(task, machine, s);
}

/* Fractions of the copy bandwidth and of the unit's rate, as for 2D grids in cost.c. */
/* f64, f32. */
static const struct { double part, arithmetic; } rates[2] = {{0.47, 1.4}, {0.5, 0.9}};

void spectral_sheet_estimate(const stn_task *task, const stn_machine *machine, const spectral_sheet *s,
                             stn_estimate *estimate) {
    const bool wide = spectral_wide(task);
    const limits l = limits_of(task, machine);
    const double count = (double)task->snapshots, windows = (double)(s->windows * task->batch);
    const double grid = windows * (double)s->length * (double)stn_dtype_size(task->dtype),
                 spectrum = windows * (double)s->spectrum * (wide ? 16 : 8);
    const double ends = ((1 + count) * (grid + spectrum) + (task->sum ? grid : 0)) *
                        column_penalty(&l, s->choice.rows, wide, s->choice.pairs),
                 rows = count * 2 * spectrum * row_penalty(&l, s->choice.width, wide);
    *estimate = (stn_estimate){.unit = wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32};
    estimate->bytes = (1 + count) * (grid + spectrum) + count * 2 * spectrum;
    estimate->flops = 0.5 * (1 + count) * 5 * windows * (double)s->length * log2((double)s->length);
    estimate->launches = ceil(windows / (double)s->turn) * (1 + 2 * count);
    estimate->halo_waste = windows * (double)s->length / ((double)task->n[2] * (double)task->batch) - 1;
    estimate->seconds = (ends + rows) / (machine->copy_bandwidth * rates[!wide].part) +
                        estimate->flops / (machine->flops[estimate->unit] * rates[!wide].arithmetic) +
                        estimate->launches * (machine->launch_seconds + 2e-6);
    if (!s->symbol.plain)
        estimate->seconds += 4 * windows * (double)s->length * (s->symbol.high + s->symbol.low) * count /
                             machine->flops[STN_UNIT_FMA_F64];
    estimate->error = stn_symbol_error(task, (double)s->length, s->symbol.plain);
}
