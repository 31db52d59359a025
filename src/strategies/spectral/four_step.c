/* Four-step FFT of long lines: the choice of matrix sizes and windows and their cost, the tables
 * that the passes read, kernels and launches; see four_step.h. */
#include "strategies/spectral/four_step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "context/search_cache.h"
#include "strategies/common/grid_layout.h"
#include "strategies/common/twiddles.h"
#include "strategies/spectral/spectral_arguments.h"

enum { LINE = 32, LENGTHS = 1024, MAX_SHARES = 8, MAX_IMAGES = 64 };
#define MAX_LENGTH 0x7fffffffLL /* A line's points are counted in int. */

/* ---- rows and columns ------------------------------------------------------------------------ */

/* Cost factors relative to the best lengths, derived from measurements. narrow, thin: columns are
 * read in pieces of a half, or of a quarter or less, of the widest. half (columns), alone (rows): a
 * multiprocessor holds only one block. shared: rows need a cluster. few: short rows. */
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
    return (limits){stn_shared_fft_most_points(spectral_wide(task), machine->shared_per_block),
                    machine->sm >= 90 ? MAX_SHARES : 1};
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

static int ascending(const void *a, const void *b) {
    const int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

/* Lists good lengths in ascending order: of columns that a block holds; or of rows, even, longer
 * ones for clusters, whose blocks share the first stage. */
static int good_lengths(const limits *l, bool rows, int *list) {
    const int64_t end = rows ? l->most * l->shares : l->most;
    int count = 0;
    for (int64_t sevens = 1; sevens <= end; sevens *= 7)
        for (int64_t fives = sevens; fives <= end; fives *= 5)
            for (int64_t threes = fives; threes <= end; threes *= 3)
                for (int64_t n = threes; n <= end && count < LENGTHS; n *= 2)
                    if (n > 1 && !(rows && n % 2) && (n <= l->most || n % 64 == 0)) list[count++] = (int)n;
    qsort(list, (size_t)count, sizeof *list, ascending);
    return count;
}

/* ---- choosing -------------------------------------------------------------------------------- */

bool spectral_four_step_for(const stn_task *task, const stn_machine *machine) {
    spectral_choice choice;
    char reason[160];
    return task->rank == 1 && !spectral_choose(task, machine, &choice, reason, sizeof reason);
}

typedef struct line {
    int64_t n, period, reach[2]; /* Clamped to INT64_MAX / 4. */
} line;

/* Windows of a line with matrices of this length, and the output points of each; false: too
 * short. */
static bool windows_of(const line *line, int64_t length, spectral_four_step_choice *choice, int64_t *windows) {
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
    return useful <= MAX_LENGTH;
}

/* Lower bound of the number of windows: the points of the line, divided by those points of a window
 * that do not depend on points outside of it. 1 if a window is a whole period; infinite if a window
 * has no such points. */
static double windows_at_least(const line *line, int64_t length) {
    const int64_t useful = length - line->reach[0] - line->reach[1];
    if (length == line->period) return 1;
    return useful > 0 ? ceil((double)line->n / (double)useful) : INFINITY;
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

/* Columns and rows; the same for all lines on one machine. */
typedef struct sides {
    side columns, rows;
} sides;

static void find_sides(stn_search_cache *searches, const limits *l, bool wide, sides *s) {
    const int64_t key[] = {(int64_t)l->most, (int64_t)l->shares, wide};
    if (stn_search_cache_lookup(searches, STN_SEARCH_CACHE_FOUR_STEP, key, sizeof key, s, sizeof *s)) return;
    find_side(l, wide, false, &s->columns);
    find_side(l, wide, true, &s->rows);
    stn_search_cache_store(searches, STN_SEARCH_CACHE_FOUR_STEP, key, sizeof key, s, sizeof *s);
}

/* All values on which the result of search_lengths depends: the key of its cached result. */
typedef struct lengths_key {
    int64_t n, period, reach[2], longest, most, shares, wide;
} lengths_key;

/* The number of windows times the points of each and their penalty. */
static double cost_of(const line *line, const side *columns, int r, const side *rows, int w,
                      spectral_four_step_choice *choice) {
    const int64_t length = (int64_t)columns->points[r] * rows->points[w];
    int64_t windows;
    *choice =
        (spectral_four_step_choice){.mark = SPECTRAL_FOUR_STEP, .rows = columns->points[r], .width = rows->points[w]};
    if (!windows_of(line, length, choice, &windows)) return INFINITY;
    return (double)windows * (double)length * (2 * columns->penalty[r] + rows->penalty[w]);
}

/* An upper bound of the least cost, from the shortest columns that hold the line in one window, and
 * from the fastest columns. */
static double cost_at_most(const line *line, const side *columns, const side *rows, int64_t longest) {
    const double all = (double)line->n + (double)line->reach[0] + (double)line->reach[1];
    double least = INFINITY;
    int fastest = 0;
    spectral_four_step_choice unused;
    for (int r = 1; r < columns->count; r++)
        if (columns->penalty[r] < columns->penalty[fastest]) fastest = r;
    for (int w = 0; w < rows->count; w++) {
        if (columns->count && (int64_t)columns->points[fastest] * rows->points[w] <= longest)
            least = fmin(least, cost_of(line, columns, fastest, rows, w, &unused));
        int r = 0, end = columns->count;
        while (r < end) {
            const int middle = (r + end) / 2;
            if ((double)columns->points[middle] * rows->points[w] < all)
                r = middle + 1;
            else
                end = middle;
        }
        if (r < columns->count && (int64_t)columns->points[r] * rows->points[w] <= longest)
            least = fmin(least, cost_of(line, columns, r, rows, w, &unused));
    }
    return least;
}

/* Finds the cheapest matrix of at most `longest` points. Of a hundred thousand pairs of lengths,
 * most are rejected by a lower bound of the cost. */
static bool search_lengths(const limits *l, bool wide, const stn_machine *machine, const line *line, int64_t longest,
                           spectral_four_step_choice *choice) {
    sides both;
    find_sides(machine->searches, l, wide, &both);
    const side *columns = &both.columns, *rows = &both.rows;
    const double all = (double)line->n;
    /* The factor 1.001 admits a matrix of exactly this cost. Of matrices of equal cost the first is
     * chosen. */
    double least = 1.001 * cost_at_most(line, columns, rows, longest), least_penalty = INFINITY;
    bool any = false;
    for (int r = 0; r < columns->count; r++) least_penalty = fmin(least_penalty, columns->penalty[r]);
    for (int w = 0; w < rows->count; w++) {
        const double at_least = 2 * least_penalty + rows->penalty[w];
        for (int r = 0; r < columns->count && all * at_least < least; r++) {
            const int64_t length = (int64_t)columns->points[r] * rows->points[w];
            /* Columns are in ascending order. */
            if (length > longest || (double)length * at_least >= least) break;
            const double penalty = 2 * columns->penalty[r] + rows->penalty[w];
            if (((double)length > all ? (double)length : all) * penalty >= least) continue;
            if (windows_at_least(line, length) * (double)length * penalty >= least) continue;
            spectral_four_step_choice c;
            const double cost = cost_of(line, columns, r, rows, w, &c);
            if (cost >= least) continue;
            any = true, least = cost, *choice = c;
            choice->pairs = pairs_of(l, c.rows, wide);
        }
    }
    return any;
}

/* The same from the context's cache: `applies` and `candidates` both need it. */
static bool search(const stn_task *task, const stn_machine *machine, const line *line, int64_t longest,
                   spectral_four_step_choice *choice) {
    const limits l = limits_of(task, machine);
    const bool wide = spectral_wide(task);
    const lengths_key key = {
        line->n, line->period, {line->reach[0], line->reach[1]}, longest, (int64_t)l.most, (int64_t)l.shares, wide};
    struct {
        spectral_four_step_choice choice;
        bool any;
    } known;
    if (!stn_search_cache_lookup(machine->searches, STN_SEARCH_CACHE_FOUR_STEP, &key, sizeof key, &known,
                                 sizeof known)) {
        memset(&known, 0, sizeof known);
        known.any = search_lengths(&l, wide, machine, line, longest, &known.choice);
        stn_search_cache_store(machine->searches, STN_SEARCH_CACHE_FOUR_STEP, &key, sizeof key, &known, sizeof known);
    }
    if (known.any) *choice = known.choice;
    return known.any;
}

/* Approximate number of images of the points next to sides: two in each mirror image of the
 * line. */
static int64_t images_in(const line *line, const spectral_four_step_choice *choice) {
    return 2 * ((int64_t)choice->rows * choice->width / line->n + 1);
}

static bool line_of(const stn_task *task, line *line, bool *odd, char *reason, size_t reason_size) {
    stn_extension e;
    const stn_task run = stn_task_whole_run(task);
    if (!stn_extension_sides(&run, 2, &e, reason, reason_size)) return false;
    const stn_reach reach = spectral_reach(task, 2);
    line->n = task->n[2], line->period = stn_extension_period(&e);
    for (int side = 0; side < 2; side++) line->reach[side] = stn_min(reach.side[side], INT64_MAX / 4);
    *odd = stn_extension_odd(&e);
    return true;
}

bool spectral_four_step_choose(const stn_task *task, const stn_machine *machine, spectral_four_step_choice *choice,
                               char *reason, size_t reason_size) {
    line line;
    bool odd;
    if (!line_of(task, &line, &odd, reason, reason_size)) return false;
    if (!search(task, machine, &line, MAX_LENGTH, choice)) {
        snprintf(reason, reason_size,
                 "a line of %lld points plus the reach of its taps over all steps is longer than a four-step FFT can "
                 "hold",
                 (long long)line.n);
        return false;
    }
    if (odd && images_in(&line, choice) > MAX_IMAGES) {
        snprintf(reason, reason_size,
                 "the taps of all steps reach across a line with fixed or constant sides many times");
        return false;
    }
    return true;
}

size_t spectral_four_step_variants(const stn_task *task, const stn_machine *machine,
                                   const spectral_four_step_choice *choice, spectral_four_step_choice *list,
                                   size_t most) {
    /* pairs: log2 of the factor on the pairs of columns. cut: divisor of the windows' length.
     * Shorter windows, of which windows_at_once are processed together, may stay in the cache
     * between passes. */
    static const struct {
        int pairs, cut, windows_at_once, column_threads, row_threads;
    } ways[] = {{1, 2, 0, 0, 0},   {0, 4, 0, 0, 0},   {0, 1, 1, 0, 0},  {0, 1, 2, 0, 0}, {0, 1, 8, 0, 0},
                {0, 4, 1, 0, 0},   {0, 4, 4, 0, 0},   {-1, 1, 0, 0, 0}, {1, 1, 0, 0, 0}, {0, 1, 0, 512, 0},
                {0, 1, 0, 640, 0}, {0, 1, 0, 0, 384}, {0, 1, 0, 0, 640}};
    line line;
    bool odd;
    char reason[160];
    size_t count = 0;
    if (!line_of(task, &line, &odd, reason, sizeof reason)) return 0;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && count < most; i++) {
        spectral_four_step_choice c = *choice;
        const int64_t length = (int64_t)c.rows * c.width;
        if (ways[i].cut > 1 && !search(task, machine, &line, length / ways[i].cut, &c)) continue;
        c.pairs = ways[i].pairs < 0 ? c.pairs / 2 : c.pairs << ways[i].pairs;
        c.windows_at_once = ways[i].windows_at_once, c.column_threads = ways[i].column_threads,
        c.row_threads = ways[i].row_threads;
        const bool many = !task->in_place && stn_div_up(task->n[2], c.useful) * task->batch > 1;
        if (c.pairs < 1 || (c.windows_at_once && !many)) continue;
        list[count++] = c;
    }
    return count;
}

/* ---- the whole layout ------------------------------------------------------------------------ */

static void make_lines(const stn_task *task, const stn_machine *machine, spectral_four_step *s) {
    const bool wide = spectral_wide(task);
    stn_shared_fft_needs needs = {.wide = wide, .last = 8, .shares = 1, .copies = 1, .lines = s->choice.pairs};
    /* Largest numbers without register spills. */
    needs.threads = s->choice.column_threads ? s->choice.column_threads : wide ? 384 : 640;
    needs.shared = machine->shared_per_block;
    needs.total = machine->shared_per_multiprocessor;
    stn_shared_fft_make(machine->searches, s->choice.rows, &needs, &s->down);
    needs.shares = limits_of(task, machine).shares;
    /* A source needs additional registers. */
    needs.lines = 1, needs.last = stn_extension_odd(&s->axis) ? 8 : 16;
    needs.threads = s->choice.row_threads ? s->choice.row_threads : wide ? 512 : 768;
    stn_shared_fft_make(machine->searches, s->choice.width, &needs, &s->along);
}

void spectral_four_step_make(const stn_task *task, const stn_machine *machine, const spectral_four_step_choice *choice,
                             bool lines, spectral_four_step *s) {
    char reason[160];
    const stn_task run = stn_task_whole_run(task);
    *s = (spectral_four_step){.choice = *choice, .length = (int64_t)choice->rows * choice->width};
    stn_extension_sides(&run, 2, &s->axis, reason, sizeof reason);
    s->axis.length = s->length, s->axis.before = choice->before;
    s->windows = stn_div_up(task->n[2], choice->useful);
    s->windows_at_once = s->windows * task->batch;
    /* In place all windows run together, because one window's input is another's output. */
    if (choice->windows_at_once && !task->in_place)
        s->windows_at_once = stn_min(s->windows_at_once, choice->windows_at_once);
    s->spectrum = (int64_t)(choice->rows / 2 + 1) * choice->width;
    const int64_t domain[3] = {1, 1, s->length};
    s->symbol = stn_symbol_form(&run, 2, domain, false);
    while ((int64_t)1 << (2 * s->fine) < s->length) s->fine++;
    if (lines) make_lines(task, machine, s);
}

/* Fractions of the copy bandwidth and of the unit's rate, as for 2D grids in
 * spectral_cost_model.c. */
/* f64, f32. */
static const struct { double part, arithmetic; } rates[2] = {{0.47, 1.4}, {0.5, 0.9}};

/* Factor for f16: 1.46 and 1.6 were measured for lines of 10^8 and 6.6 10^7 points. */
#define HALVES 1.5

void spectral_four_step_estimate(const stn_task *task, const stn_machine *machine, const spectral_four_step *s,
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
    estimate->launches = ceil(windows / (double)s->windows_at_once) * (1 + 2 * count);
    estimate->halo_waste = windows * (double)s->length / ((double)task->n[2] * (double)task->batch) - 1;
    estimate->seconds = (ends + rows) / (machine->copy_bandwidth * rates[!wide].part) +
                        estimate->flops / (machine->flops[estimate->unit] * rates[!wide].arithmetic) +
                        estimate->launches * (machine->launch_seconds + 2e-6);
    if (!s->symbol.plain)
        estimate->seconds += 4 * windows * (double)s->length * (s->symbol.high + s->symbol.low) * count /
                             machine->flops[STN_UNIT_FMA_F64];
    if (task->dtype == STN_F16) estimate->seconds *= HALVES;
    estimate->error = stn_symbol_error(task, (double)s->length, s->symbol.plain);
}

double spectral_four_step_least_seconds(const stn_task *task, const stn_machine *machine) {
    const bool wide = spectral_wide(task);
    const double count = (double)task->snapshots, points = (double)(task->n[2] * task->batch);
    const double grid = points * (double)stn_dtype_size(task->dtype), spectrum = points / 2 * (wide ? 16 : 8);
    const double bytes = (1 + count) * (grid + spectrum) + count * 2 * spectrum;
    return bytes / (machine->copy_bandwidth * rates[!wide].part) * (task->dtype == STN_F16 ? HALVES : 1);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const long double pi = 3.14159265358979323846264338327950288L;

/* cos and sin of pi k / n, where k > n / 2 stands for k - n. */
static void put_half(double *to, int64_t k, int64_t n) {
    const long double angle = pi * (long double)(2 * k > n ? k - n : k) / (long double)n;
    to[0] = (double)cosl(angle), to[1] = (double)sinl(angle);
}

/* ---- images of the points next to sides ------------------------------------------------------ */

typedef struct images {
    int32_t *first; /* The first image of each window, and the total number at the end. */
    spectral_source_image *list;
    double *row; /* A complex number for each image and row. */
} images;

/* The side to which point p of window w belongs as an image, or -1, and its sign. */
static int side_of(const spectral_four_step *s, int64_t window, int64_t p, int *sign) {
    const int64_t at = stn_extension_image(&s->axis, window * s->choice.useful - s->choice.before + p, sign);
    for (int side = 0; side < 2 && *sign; side++)
        if (at == stn_extension_neighbour(&s->axis, side)) return side;
    return -1;
}

/* The first image, at point `from` of the extended axis or later, of a point next to a side. Along
 * the extended axis, a point's images are copies and mirror images alternately. Apart from signs,
 * their pattern repeats from each mirror of the low side to the next. */
static int64_t next_image(const spectral_four_step *s, int64_t from) {
    const stn_extension *e = &s->axis;
    const int64_t spacing = stn_extension_period(e) / (e->sign[0] == e->sign[1] ? 1 : 2);
    int64_t best = INT64_MAX;
    for (int side = 0; side < 2; side++) {
        const int64_t adjacent = stn_extension_neighbour(e, side);
        for (int mirrored = 0; mirrored < 2 && adjacent >= 0; mirrored++) {
            const int64_t rest = ((mirrored ? -e->beyond[0] - adjacent : adjacent) - from) % spacing;
            best = stn_min(best, from + (rest < 0 ? rest + spacing : rest));
        }
    }
    return best;
}

/* Counts the images of all windows; if `to` is not NULL, fills its lists. */
static int64_t find_images(const spectral_four_step *s, images *to) {
    int64_t count = 0;
    for (int64_t w = 0; w < s->windows; w++) {
        const int64_t begin = w * s->choice.useful - s->choice.before;
        if (to) to->first[w] = (int32_t)count;
        for (int64_t i = next_image(s, begin); i < begin + s->length; i = next_image(s, i + 1)) {
            int sign;
            const int side = side_of(s, w, i - begin, &sign);
            if (side < 0) continue;
            if (to) {
                to->list[count] = (spectral_source_image){(int32_t)((i - begin) % s->choice.width), side};
                /* Doubled, as are the results of the first pass. */
                for (int64_t k = 0; k <= s->choice.rows / 2; k++) {
                    const long double revolutions = (long double)(k * (i - begin) % s->length) / (long double)s->length;
                    double *put = to->row + 2 * (count * (s->choice.rows / 2 + 1) + k);
                    put[0] = 2 * sign * (double)cosl(2 * pi * revolutions),
                    put[1] = -2 * sign * (double)sinl(2 * pi * revolutions);
                }
            }
            count++;
        }
    }
    if (to) to->first[s->windows] = (int32_t)count;
    return count;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void place_tables(const stn_task *task, spectral_four_step_state *state) {
    const spectral_four_step *s = &state->shape;
    const bool wide = spectral_wide(task);
    const size_t cell = wide ? 16 : 8, rows = (size_t)s->choice.rows / 2 + 1;
    const size_t images = state->has_source ? (size_t)find_images(s, NULL) : 0;
    state->size = 0;
    state->down = spectral_room(&state->size, stn_shared_fft_twiddles(&s->down, wide, NULL) + 16);
    state->along = spectral_room(&state->size, stn_shared_fft_twiddles(&s->along, wide, NULL) + 16);
    state->fine = spectral_room(&state->size, ((size_t)1 << s->fine) * cell);
    state->coarse = spectral_room(&state->size, (size_t)((s->length >> s->fine) + 1) * cell);
    state->half_angles = spectral_room(&state->size, rows * 16);
    state->angles = spectral_room(&state->size, (size_t)s->choice.width * 16);
    state->parts = spectral_room(&state->size, (size_t)s->symbol.parts * sizeof(double));
    state->image = spectral_room(&state->size, (images + 1) * sizeof(spectral_source_image));
    state->image_row = spectral_room(&state->size, (images + 1) * rows * 16);
    state->images = spectral_room(&state->size, (size_t)(s->windows + 1) * sizeof(int32_t));
    state->taps = spectral_room(&state->size, task->ntaps * sizeof(spectral_source_tap));
}

static bool fill(const stn_task *task, const spectral_four_step_state *state, unsigned char *to) {
    const spectral_four_step *s = &state->shape;
    const bool wide = spectral_wide(task);
    const int64_t zero[1] = {0}, *const place[2] = {zero, zero};
    stn_shared_fft_twiddles(&s->down, wide, to + state->down);
    stn_shared_fft_twiddles(&s->along, wide, to + state->along);
    for (int64_t m = 0; m < (int64_t)1 << s->fine; m++)
        stn_store_twiddle(to + state->fine, (size_t)m, wide, m, s->length);
    for (int64_t m = 0; m <= s->length >> s->fine; m++)
        stn_store_twiddle(to + state->coarse, (size_t)m, wide, m << s->fine, s->length);
    for (int64_t k = 0; k <= s->choice.rows / 2; k++)
        put_half((double *)(void *)(to + state->half_angles) + 2 * k, k, s->length);
    for (int64_t k = 0; k < s->choice.width; k++)
        put_half((double *)(void *)(to + state->angles) + 2 * k, k, s->choice.width);
    if (state->has_source) {
        images into = {(int32_t *)(void *)(to + state->images), (spectral_source_image *)(void *)(to + state->image),
                       (double *)(void *)(to + state->image_row)};
        find_images(s, &into);
    }
    for (size_t i = 0; i < task->ntaps; i++) {
        const int64_t *o = task->taps[i].offset;
        const spectral_source_tap put = {task->taps[i].weight, (int32_t)o[0], (int32_t)o[1], (int32_t)o[2], 0};
        memcpy(to + state->taps + i * sizeof put, &put, sizeof put);
    }
    return stn_symbol_parts(&s->symbol, task, 1, place, (double *)(void *)(to + state->parts));
}

/* Lays out the tables, and writes them if there is a device. */
static stn_status make_tables(stn_plan *plan, spectral_four_step_state *state, stn_error *error) {
    stn_device *device = plan->context->device;
    const size_t before = state->size;
    state->largest = stn_symbol_largest(&plan->task, state->shape.symbol.length);
    state->decay_bound = spectral_decay_bound_of(&plan->task, state->largest, state->has_source);
    place_tables(&plan->task, state);
    const size_t size = state->size;
    state->size = before; /* The size of the tables on the device, until they are replaced. */
    if (!plan->machine.present) return STN_OK;
    unsigned char *tables = calloc(1, size);
    if (!tables) return stn_fail_memory(error, "the tables of a plan", size);
    stn_status status = STN_OK;
    if (!fill(&plan->task, state, tables)) status = stn_fail_memory(error, "the twiddles of a symbol", size);
    if (status == STN_OK) status = stn_device_replace(device, &state->tables, before, tables, size, error);
    if (status == STN_OK) state->size = size;
    free(tables);
    return status;
}

/* ---- kernels --------------------------------------------------------------------------------- */

/* Whether kernels read or write two neighbouring points of the grid in one access. */
static bool in_pairs(const stn_task *task, const spectral_four_step *s, bool back) {
    const bool unaligned =
        back && task->snapshots > 1 && task->snapshot_stride * (int64_t)stn_dtype_size(task->dtype) % 16 != 0;
    return s->choice.before % 2 == 0 && !unaligned && stn_task_vector(task) > 1;
}

static stn_status make_columns(stn_plan *plan, const spectral_four_step_state *state, bool back,
                               struct stn_kernel **kernel, stn_error *error) {
    const spectral_four_step *s = &state->shape;
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, plan->task.dtype);
    stn_shared_fft_params(&s->down, &params);
    stn_extension_params(&s->axis, &params);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(spectral_four_step_arguments));
    stn_params_int(&params, "VECTOR", in_pairs(&plan->task, s, back) ? 2 : 1);
    stn_params_int(&params, "SPECTRUM_ADDS", back && plan->task.sum);
    stn_params_int(&params, "SPECTRUM_BACK", back);
    stn_params_int(&params, "FROZEN_LOW", spectral_frozen(&s->axis, 0));
    stn_params_int(&params, "FROZEN_HIGH", spectral_frozen(&s->axis, 1));
    stn_params_int(&params, "FOUR_STEP_WIDTH", s->choice.width);
    stn_params_int(&params, "FOUR_STEP_FINE", s->fine);
    stn_params_int(&params, "FOUR_STEP_USEFUL", s->choice.useful);
    return stn_kernel_make(plan->kernels, "spectral_four_step", &params,
                           stn_shared_fft_bytes(&s->down, spectral_wide(&plan->task)), kernel, error);
}

static stn_status make_rows(stn_plan *plan, spectral_four_step_state *state, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_four_step *s = &state->shape;
    const stn_extension none = {.repeats = true, .beyond = {1, 1}, .sign = {1, 1}, .whole = true};
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin_for(&params, task->dtype);
    stn_shared_fft_params(&s->along, &params);
    stn_extension_params(&none, &params);
    stn_params_int(&params, "EXPECTED_HEADER", sizeof(spectral_columns_arguments));
    stn_params_int(&params, "SPECTRUM_GROUP", 1);
    stn_params_int(&params, "DIRECTION", SPECTRAL_BOTH);
    stn_params_int(&params, "SPECTRUM_ELSEWHERE", task->snapshots > 1);
    stn_params_int(&params, "SOURCES", state->has_source ? 3 : 0);
    stn_params_int(&params, "SYMBOL", !s->symbol.plain);
    stn_params_int(&params, "SYMBOL_ANGLE_SUM", 1);
    stn_params_int(&params, "SYMBOL_SUM", task->sum);
    stn_params_int(&params, "COLUMNS_DECAYED", 0);
    stn_params_int(&params, "COLUMN_PARTS", 1);
    stn_params_int(&params, "COLUMN_STEP", 0);
    stn_params_int(&params, "COLUMN_SLABS", 0);
    stn_params_int(&params, "COLUMN_ODD_ROWS", 0);
    stn_params_int(&params, "SYMBOL_HIGH", s->symbol.high);
    stn_params_int(&params, "SYMBOL_LOW", s->symbol.low);
    return stn_kernel_make(plan->kernels, "spectral_columns", &params,
                           stn_shared_fft_bytes(&s->along, spectral_wide(task)), &state->rows, error);
}

static stn_status make_source(stn_plan *plan, spectral_four_step_state *state, stn_error *error) {
    const stn_task *task = &plan->task;
    if (!state->has_source) return STN_OK;
    state->values = (size_t)stn_round_up((int64_t)plan->workspace_size, 256);
    plan->workspace_size = state->values + 4 * (size_t)task->batch * sizeof(double);
    return spectral_source_kernel(plan, &state->source, error);
}

/* ---- building -------------------------------------------------------------------------------- */

static size_t spectra(const stn_task *task, const spectral_four_step *s) {
    return (size_t)(s->spectrum * s->windows_at_once) * (spectral_wide(task) ? 16 : 8);
}

size_t spectral_four_step_workspace(const stn_task *task, const spectral_four_step *s) {
    return spectra(task, s) * (task->snapshots > 1 ? 2 : 1);
}

stn_status spectral_four_step_prepare(stn_plan *plan, const spectral_four_step_choice *choice, stn_error *error) {
    spectral_four_step_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    spectral_four_step_make(&plan->task, &plan->machine, choice, true, &state->shape);
    state->has_source = !plan->task.sum && stn_extension_odd(&state->shape.axis);
    plan->workspace_size = spectral_four_step_workspace(&plan->task, &state->shape);
    STN_TRY(make_source(plan, state, error));
    STN_TRY(make_columns(plan, state, false, &state->forward, error));
    STN_TRY(make_rows(plan, state, error));
    STN_TRY(make_columns(plan, state, true, &state->back, error));
    return make_tables(plan, state, error);
}

/* The lengths and windows were chosen for the old weights. */
stn_status spectral_four_step_set_weights(stn_plan *plan, stn_error *error) {
    spectral_four_step_state *state = plan->state;
    spectral_four_step *s = &state->shape;
    stn_extension e;
    char reason[160];
    const stn_task run = stn_task_whole_run(&plan->task);
    if (!stn_extension_sides(&run, 2, &e, reason, sizeof reason))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "spectral cannot take these weights: %s", reason);
    const stn_reach reach = spectral_reach(&plan->task, 2);
    const bool exact = s->length == stn_extension_period(&s->axis);
    if (!exact && (reach.side[0] > s->choice.before || reach.side[1] > s->length - s->choice.before - s->choice.useful))
        return stn_fail(error, STN_ERROR_UNSUPPORTED,
                        "spectral cannot take these weights: after all steps they reach further than those that the "
                        "plan was made for");
    const stn_symbol form = stn_symbol_form(&run, 2, s->symbol.length, false);
    if (form.plain != s->symbol.plain) {
        s->symbol = form;
        STN_TRY(make_rows(plan, state, error));
    }
    return make_tables(plan, state, error);
}

void spectral_four_step_release(stn_plan *plan) {
    spectral_four_step_state *state = plan->state;
    stn_device_free(plan->context->device, state->tables);
}

/* ---- running --------------------------------------------------------------------------------- */

static const void *table(const spectral_four_step_state *state, size_t at) {
    return (const unsigned char *)state->tables + at;
}

typedef struct window_range {
    int64_t first, count;
} window_range;

static stn_status run_columns(const stn_plan *plan, const spectral_four_step_state *state, bool back,
                              window_range windows, const stn_execution *run, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_four_step *s = &state->shape;
    unsigned char *spectrum = run->workspace;
    if (back && task->snapshots > 1) spectrum += spectra(task, s);
    spectral_four_step_arguments a = {.in = run->in, .out = run->out, .spectrum = spectrum};
    a.twiddles = table(state, state->down), a.fine = table(state, state->fine), a.coarse = table(state, state->coarse);
    a.in_batch = task->in_batch_stride, a.out_batch = task->out_batch_stride;
    a.n = task->n[2], a.before = s->choice.before;
    a.first = windows.first, a.windows = s->windows;
    a.tiles = (int32_t)stn_div_up(s->choice.width / 2, s->down.lines);
    return stn_shared_fft_launch(&s->down, spectral_wide(&plan->task), back ? state->back : state->forward,
                                 a.tiles * windows.count, &a, run->stream, error);
}

static stn_status run_rows(const stn_plan *plan, const spectral_four_step_state *state, window_range windows,
                           uint64_t snapshot, const stn_execution *run, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_four_step *s = &state->shape;
    unsigned char *workspace = run->workspace;
    const int64_t rows = s->choice.rows / 2 + 1;
    spectral_columns_arguments a = {.spectrum = workspace, .twiddles = table(state, state->along)};
    a.result = workspace + spectra(task, s);
    a.symbol.parts = table(state, state->parts), a.symbol.angles = table(state, state->angles);
    /* Later snapshots decay at least as far. */
    a.symbol.steps = (snapshot + 1) * task->steps, a.symbol.decay_bound = state->decay_bound;
    a.symbol.scale = 0.5 / (double)s->length;
    a.pitch = 1, a.plane = s->choice.width, a.columns = 1, a.tiles = 1, a.kept = s->choice.width;
    a.along = (spectral_extension_arguments){s->choice.width, 0};
    a.row = workspace + state->values, a.row_grid = 2;
    a.four_step = (spectral_four_step_rows){.half_angles = table(state, state->half_angles),
                                            .image = table(state, state->image),
                                            .row = table(state, state->image_row),
                                            .images = table(state, state->images),
                                            .first = windows.first,
                                            .windows = s->windows,
                                            .rows = (int32_t)rows};
    return stn_shared_fft_launch(&s->along, spectral_wide(&plan->task), state->rows, rows * windows.count, &a,
                                 run->stream, error);
}

stn_status spectral_four_step_execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const stn_task *task = &plan->task;
    const spectral_four_step_state *state = plan->state;
    const int64_t all = state->shape.windows * task->batch, windows_at_once = state->shape.windows_at_once;
    const size_t bytes = (size_t)task->snapshot_stride * stn_dtype_size(task->dtype);
    if (state->has_source) {
        const spectral_line_source at = {state->source, table(state, state->taps),
                                         (unsigned char *)run->workspace + state->values, &state->shape.axis};
        STN_TRY(spectral_source_of_lines(plan, &at, run, error));
    }
    for (window_range now = {0, 0}; now.first < all; now.first += windows_at_once) {
        now.count = stn_min(windows_at_once, all - now.first);
        STN_TRY(run_columns(plan, state, false, now, run, error));
        for (uint64_t i = 0; i < task->snapshots; i++) {
            stn_execution each = *run;
            each.out = (unsigned char *)run->out + i * bytes;
            STN_TRY(run_rows(plan, state, now, i, &each, error));
            STN_TRY(run_columns(plan, state, true, now, &each, error));
        }
    }
    return STN_OK;
}

/* ---- description ----------------------------------------------------------------------------- */

static void describe_line(const stn_shared_fft *line, const char *name, stn_text *text) {
    stn_text_printf(text, "; %s: %d x %d threads, ", name, line->lines, line->threads);
    for (int s = 0; s < line->stages; s++) stn_text_printf(text, s ? ".%d" : "%d", line->radix[s]);
    if (line->shares > 1) stn_text_printf(text, ", clusters of %d", line->shares);
}

void spectral_four_step_describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const spectral_four_step_state *state = plan->state;
    const spectral_four_step *s = &state->shape;
    const double growth = log10(state->largest) * (double)plan->task.steps * (double)plan->task.snapshots;
    if (format == STN_JSON) {
        stn_json_integer(text, "sheet_rows", s->choice.rows);
        stn_json_integer(text, "sheet_width", s->choice.width);
        stn_json_integer(text, "windows", s->windows);
        stn_json_integer(text, "windows_a_turn", s->windows_at_once);
        stn_json_integer(text, "passes", 3);
        stn_json_value(text, "log10_growth", growth);
        return;
    }
    stn_text_printf(text, "3 passes, a four-step FFT of a line in %lld window%s of %d x %d points",
                    (long long)s->windows, s->windows > 1 ? "s" : "", s->choice.rows, s->choice.width);
    if (s->windows_at_once < s->windows * plan->task.batch)
        stn_text_printf(text, ", %lld at a time", (long long)s->windows_at_once);
    stn_text_printf(text, ", %s symbol%s", s->symbol.plain ? "real" : "complex",
                    state->has_source ? ", a source next to fixed and constant sides" : "");
    describe_line(&s->down, "columns", text);
    describe_line(&s->along, "rows", text);
    if (growth > 0.01) stn_text_printf(text, "; grows by up to 10^%.2g", growth);
}
