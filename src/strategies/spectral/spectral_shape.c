/* Chooses the lengths of the periodic domain, the retained frequencies and the launch dimensions,
 * and lays out the spectrum. */
#include "strategies/spectral/spectral_shape.h"

#include <math.h>
#include <stdio.h>

#include "base/arith.h"

/* The value of 1 - |K| from which a factor counts as 0, given the largest |K|. */
static double decay_bound_of(const stn_task *task, double largest) {
    return stn_symbol_decay_threshold(largest, task->steps, stn_symbol_bits(task->dtype));
}

double spectral_decay_bound_of(const stn_task *task, double largest, bool source) {
    if (!source && !task->sum) return decay_bound_of(task, largest);
    return stn_symbol_decay_threshold_of_sum(largest, task->steps, stn_symbol_bits(task->dtype));
}

static int last_axis(const stn_task *task) { return task->rank == 3 ? 0 : 1; }

/* ---- lengths --------------------------------------------------------------------------------- */

enum { MAY_SHARE = 6000 }; /* Columns of more points may need a cluster of two blocks. */
/* Cost of a line of `length` points, which is an FFT of `points` points. ARITHMETIC is the fraction
 * of the time that arithmetic takes for a power of two, with 8 instructions for each factor 4.
 * (10584 = 2^3 3^3 7^2 points instead of 10240 take 1.2 times as long with 1.07 times as many
 * points.) */
#define ARITHMETIC 0.3
static double cost_of(int64_t length, int64_t points) {
    const double usual = 4 * log2((double)points + 2) - 8;
    return (double)length * (1 - ARITHMETIC + ARITHMETIC * stn_shared_fft_work(points) / fmax(usual, 1));
}
static double column_cost(int64_t length) {
    const bool good = stn_shared_fft_is_smooth(length) && (length <= MAY_SHARE || length % 4 == 0);
    return good ? cost_of(length, length) : INFINITY;
}
/* Cost of a column in a cluster of four blocks: each block has a fourth of the first stage's
 * butterflies and, after it, a fourth of the points. */
static double divided_column_cost(int64_t length) { return length % 16 == 0 ? column_cost(length) : INFINITY; }
static double row_cost(int64_t length) {
    return length % 2 == 0 && stn_shared_fft_is_smooth(length / 2) ? cost_of(length, length / 2) : INFINITY;
}

/* Most blocks of a cluster that share a column. */
static int shares_of(const stn_machine *machine) { return machine->sm >= 90 ? 4 : 1; }

/* The reach of an axis, for reuse by similar axes: the search takes milliseconds. */
typedef struct known_reach {
    stn_reach reach;
    int axis; /* -1: none yet. */
} known_reach;

/* Reach of the taps of all steps, and with snapshots or sums of every shorter run. */
static stn_reach reach_to(const stn_task *task, int axis, double tail) {
    const uint64_t each = task->sum ? 1 : task->steps;
    return stn_reach_of_all(task, axis, each, task->steps * task->snapshots / each, tail);
}
stn_reach spectral_reach(const stn_task *task, int axis) { return reach_to(task, axis, stn_reach_tail(task->dtype)); }

/* In 3D, where workspace and time grow with the third power of the lines' length, the tail is as
 * large as the rounding error of the transforms: 1000 steps of 27 taps on 512^3 then fit in 896^3
 * instead of 960^3 in f64. */
double spectral_tail(const stn_task *task) {
    if (task->rank < 3) return stn_reach_tail(task->dtype);
    return task->dtype == STN_F64 ? 0x1p-51 : 0x1p-24;
}

static stn_reach reach_of(const stn_task *task, int axis, known_reach *known) {
    if (known->axis < 0 || !stn_reach_similar(task, axis, known->axis))
        *known = (known_reach){reach_to(task, axis, spectral_tail(task)), axis};
    return known->reach;
}

static bool choose_length(const stn_task *task, const stn_machine *machine, int axis, known_reach *known,
                          spectral_choice *choice, char *reason, size_t size) {
    stn_extension e;
    const stn_task run = stn_task_whole_run(task);
    if (!stn_extension_sides(&run, axis, &e, reason, size)) return false;
    int shown = axis - (3 - task->rank);
    const int64_t block = stn_shared_fft_most_points(spectral_wide(task), machine->shared_per_block);
    const int64_t most = block * (axis == 2 ? 2 : shares_of(machine)), of_two = stn_min(most, 2 * block);
    const bool of_four = task->n[axis] > of_two; /* no cluster of two blocks holds the column */
    double (*cost)(int64_t) = axis == 2 ? row_cost : of_four ? divided_column_cost : column_cost;
    stn_reach reach = {{0, 0}, {0, 0}};
    int64_t period = stn_extension_period(&e);
    if (task->n[axis] <= most && !(period == e.n && cost(period) < INFINITY)) reach = reach_of(task, axis, known);
    bool fits = stn_extension_fit(&e, &reach, cost, of_four ? most : of_two);
    if (!fits && !of_four && of_two < most) fits = stn_extension_fit(&e, &reach, divided_column_cost, most);
    if (task->n[axis] > most || !fits) {
        snprintf(
            reason, size,
            "axis %d plus the reach of its taps over all steps is longer than the %lld points that shared memory holds",
            shown, (long long)most);
        return false;
    }
    choice->length[axis] = (int)e.length;
    choice->before[axis] = (int)e.before;
    for (int unit = 4; unit > 1 && axis == 2 && !e.exact;
         unit /= 2) { /* Pairs of points are one access, and sectors are whole. */
        const int64_t before = stn_round_up(e.before, unit);
        if (e.n + before + reach.side[1] > e.length) continue;
        choice->before[axis] = (int)before;
        break;
    }
    choice->exact = (uint8_t)(choice->exact | e.exact << axis);
    choice->kept[axis] = choice->with_points[axis] = axis == 2 ? (int)e.length / 2 + 1 : (int)e.length;
    return true;
}

bool spectral_sides_are_even(const stn_task *task) {
    const stn_task run = stn_task_whole_run(task);
    char reason[160];
    for (int axis = 0; axis < 3; axis++) {
        stn_extension e;
        if (!stn_extension_sides(&run, axis, &e, reason, sizeof reason) || stn_extension_odd(&e)) return false;
    }
    return true;
}

/* Retained frequencies of the axes that are transformed before the last one. */
void spectral_choose_kept(const stn_task *task, spectral_choice *choice) {
    const stn_task run = stn_task_whole_run(task);
    bool source = false;   /* a source acts at every frequency */
    if (task->sum) return; /* a summed term acts at every frequency */
    for (int axis = 0; axis < 3; axis++) {
        stn_extension e;
        char reason[160];
        if (!stn_extension_sides(&run, axis, &e, reason, sizeof reason)) return;
        source = source || stn_extension_odd(&e);
    }
    int64_t domain[3] = {choice->length[0], choice->length[1], choice->length[2]};
    double decay_bound = decay_bound_of(task, stn_symbol_largest(task, domain));
    for (int axis = 2; axis > last_axis(task); axis--) {
        int64_t kept = stn_symbol_retained(task, axis, domain[axis], decay_bound);
        if (axis == 2 || 2 * kept - 1 < domain[1]) choice->with_points[axis] = (int)kept;
        if (!source) choice->kept[axis] = choice->with_points[axis];
    }
    choice->decayed_solver = source && spectral_has_decayed_modes(task, choice, decay_bound);
}

/* Lines per block: enough that neighbours in memory fill whole sectors of 32 bytes. */
static void choose_lines(const stn_task *task, spectral_choice *choice) {
    int cell = spectral_wide(task) ? 16 : 8, points = choice->length[task->rank == 3 ? 0 : 1];
    if (task->rank == 3) points = (int)stn_max(points, choice->length[1]);
    choice->column_lines = points <= 64 ? 32 : points <= 1024 ? 128 / cell : points <= 2048 ? 64 / cell : 1;
    if (task->rank == 3) choice->column_lines = (int)stn_max(choice->column_lines, 64 / cell);
    choice->group = (uint8_t)(choice->column_lines > 1 || task->n[1] == 1 ? 1 : 32 / cell);
    int row = choice->length[2] / 2;
    choice->row_lines = task->n[1] == 1 ? 1 : row <= 64 ? 16 : row <= 512 ? 8 : row <= 1024 ? 4 : choice->group;
    /* Rows of more than 4096 complex points are faster in pairs than in fours, of which a
     * multiprocessor holds only one block. */
    if (row > 4096) choice->row_lines = (int)stn_min(choice->row_lines, 2);
    /* 64^3 in f32 takes 68 us with eight columns per block, and 83 with sixteen, which leave
     * multiprocessors idle. */
    if (task->rank == 3 && points > 64 && points <= 128) choice->column_lines = (int)stn_min(choice->column_lines, 8);
    if (task->rank < 3 || !spectral_wide(task)) return;
    /* 512^3 takes 3.6 ms with two blocks of columns per multiprocessor and four rows per block, and
     * 4.5 with one and eight. */
    choice->column_blocks = 2;
    /* 1024^3 takes 32.7 ms, and 37.0 with eight columns, of which one block fits. */
    if (points > 800) choice->column_lines = (int)stn_min(choice->column_lines, 4);
    if (row > 128 && row <= 512) choice->row_lines = 4;
}

void spectral_choose_decayed_modes(const stn_task *task, const stn_machine *machine, spectral_choice *choice) {
    if (!choice->decayed_solver) return;
    /* 512^3 between fixed sides in f64: 5.8 instead of 6.2 ms, and 0.15 ms less by rows. */
    if (spectral_wide(task)) choice->row_threads = choice->column_threads = 640, choice->row_blocks = 4;
    /* 64^3 takes 75 us by columns, and 102 by rows, which are fewer than multiprocessors; 512^3 in
     * f32 with slabs takes 3.22 and 2.94 ms. */
    choice->decayed_solver = task->n[0] < machine->multiprocessors ? SPECTRAL_DECAYED_BY_16 : SPECTRAL_DECAYED_BY_ROWS;
    if (!spectral_decayed_modes_fit(task, machine, choice)) choice->decayed_solver = SPECTRAL_DECAYED_BY_16;
}

bool spectral_choose(const stn_task *task, const stn_machine *machine, spectral_choice *choice, char *reason,
                     size_t reason_size) {
    known_reach known = {.axis = -1};
    *choice = (spectral_choice){.exact = 0};
    for (int axis = 0; axis < 3; axis++)
        if (!choose_length(task, machine, axis, &known, choice, reason, reason_size)) return false;
    choose_lines(task, choice);
    return true;
}

/* More blocks are faster (measured) for 2D grids whose rows permit only one or two blocks per
 * multiprocessor, for several f32 tiles along a row, and for 3D grids in f32 and f16 if the columns
 * of a block take more than MANY_COLUMNS bytes (5 to 26% on five grids). */
#define MANY_COLUMNS 32768
spectral_choice spectral_more_blocks(const stn_task *task, const stn_machine *machine, const spectral_choice *choice) {
    const int cell = spectral_wide(task) ? 16 : 8;
    spectral_choice c = *choice;
    const int longest = (int)stn_max(c.length[0], c.length[1]);
    if (task->rank == 3 && cell == 8 && !spectral_in_slabs(choice) && c.column_lines >= 8 &&
        c.column_lines * longest * cell > MANY_COLUMNS) {
        c.column_lines /= 2, c.row_blocks = SPECTRAL_MANY, c.column_blocks = 4;
        return c;
    }
    if (task->rank != 2 || choice->parts || task->n[1] == 1) return c;
    if (spectral_tiled(choice)) {
        if (task->dtype != STN_F32 || choice->step[1] >= task->n[2] || c.column_lines == 1) return c;
        c.column_lines /= 2, c.row_blocks = SPECTRAL_MANY, c.column_blocks = 4;
        return c;
    }
    const size_t block = (size_t)(choice->row_lines * (choice->length[2] / 2) * cell);
    if (c.row_lines == 1 || 3 * block <= machine->shared_per_multiprocessor) return c;
    c.row_lines /= 2;
    /* The retained columns fit in L2: more threads instead of more blocks, which is 7 to 12% faster
     * in f64. */
    if (task->n[1] * choice->kept[2] * cell <= (int64_t)machine->l2_bytes)
        c.row_threads = c.column_threads = 384;
    else
        c.row_blocks = 4, c.column_blocks = 2;
    return c;
}

bool spectral_columns_fit(const spectral_shape *s) { return s->line[1].lines > 0 && s->line[1].blocks > 0; }

size_t spectral_variants(const stn_task *task, const stn_machine *machine, const spectral_choice *choice,
                         spectral_choice *list, size_t most) {
    static const struct {
        int rows, columns, group; /* Factors, as powers of two. */
        int16_t row_threads, column_threads, row_blocks, column_blocks;
    } ways[] = {
        {0, -1, 0, 0, 0, 6, 4},     {1, 0, 0, 0, 0, 0, 1},     {0, 0, 0, 512, 512, 0, 0}, {0, 0, 0, 0, 0, 0, 2},
        {0, 0, 0, 0, 576, 0, 3},    {0, 0, 0, 0, 0, 4, 0},     {-1, 0, 0, 0, 0, 4, 2},    {-1, -1, 0, 0, 0, 6, 4},
        {0, 0, 0, 0, 0, 6, 0},      {0, 0, 0, 0, 384, 0, 0},   {0, 0, 0, 0, 640, 0, 0},   {0, 0, 0, 384, 0, 0, 0},
        {0, 0, 0, 640, 0, 0, 0},    {-1, 0, 0, 0, 0, 0, 0},    {1, 0, 0, 0, 0, 0, 0},     {1, 0, 1, 0, 0, 0, 0},
        {-1, 0, -1, 0, 0, 0, 0},    {0, 1, 0, 0, 0, 0, 0},     {0, -1, 0, 0, 0, 0, 0},    {0, 1, -1, 0, 0, 0, 0},
        {0, 0, 1, 0, 0, 0, 0},      {1, 0, 1, 0, 640, 0, 0},   {0, 0, 0, 256, 256, 0, 0}, {0, 0, 0, 640, 640, 0, 0},
        {-1, 0, 0, 384, 384, 0, 0}, {-1, 0, 0, 640, 640, 4, 4}};
    size_t count = 0;
    spectral_shape now, other; /* Used to skip variants whose number of blocks is reached anyway. */
    spectral_shape_make(task, machine, choice, true, &now);
    for (int16_t way = 0; choice->decayed_solver && way <= SPECTRAL_DECAYED_BY_ROWS && count < most; way++) {
        list[count] = *choice, list[count].decayed_solver = way;
        if (way != choice->decayed_solver && (!way || spectral_decayed_modes_fit(task, machine, &list[count]))) count++;
    }
    /* Slabs have variants of their own. */
    const size_t count_of_ways = spectral_in_slabs(choice) ? 8 : sizeof ways / sizeof *ways;
    for (size_t i = 0; i < count_of_ways && count < most; i++) {
        spectral_choice c = *choice;
        c.row_lines = ways[i].rows < 0 ? c.row_lines / 2 : c.row_lines << ways[i].rows;
        c.column_lines = ways[i].columns < 0 ? c.column_lines / 2 : c.column_lines << ways[i].columns;
        c.group = (uint8_t)(ways[i].group < 0 ? c.group / 2 : c.group << ways[i].group);
        if (ways[i].row_threads) c.row_threads = ways[i].row_threads;
        if (ways[i].column_threads) c.column_threads = ways[i].column_threads;
        if (ways[i].row_blocks) c.row_blocks = ways[i].row_blocks;
        if (ways[i].column_blocks) c.column_blocks = ways[i].column_blocks;
        bool grouped = choice->group > 1, changes = c.group != choice->group;
        const bool lines = ways[i].rows || ways[i].columns || c.row_threads || c.column_threads;
        if (!lines && !changes && c.row_blocks <= now.line[2].blocks && c.column_blocks <= now.line[now.last].blocks)
            continue;
        if (c.row_lines < 1 || c.column_lines < 1 || c.group < 1 || (changes && !grouped)) continue;
        if ((task->n[1] == 1 && c.row_lines > 1) || (c.parts && ways[i].columns)) continue;
        if (spectral_tiled(&c)) spectral_shape_make(task, machine, &c, false, &other);
        if (spectral_tiled(&c) && !spectral_columns_fit(&other)) continue;
        list[count++] = c;
    }
    return count;
}

/* ---- slabs ----------------------------------------------------------------------------------- */

enum { SKIP = 64 }; /* Alignment of the data stored in the output, in bytes. */

static int cell_of(const stn_task *task) { return spectral_wide(task) ? 16 : 8; }
static int64_t across_of(const spectral_choice *c) {
    return 2 * c->kept[1] > c->length[1] ? c->length[1] : 2 * c->kept[1] - 1;
}

/* Whether the output's rows may store complex numbers of the arithmetic type until the results are
 * written. */
static bool output_serves(const stn_task *task) {
    const int cell = cell_of(task);
    return task->alignment >= cell && (int)stn_dtype_size(task->dtype) * 2 == cell && !task->sum;
}
static bool is_uneven(const stn_task *task) {
    return task->out_stride[0] % 2 || task->out_stride[1] % 2 || (task->batch > 1 && task->out_batch_stride % 2);
}

static void make_slabs(const stn_task *task, spectral_shape *s) {
    spectral_slabs *slabs = &s->slabs;
    const int cell = cell_of(task), low = spectral_frozen(&s->axis[2], 0), high = spectral_frozen(&s->axis[2], 1);
    *slabs = (spectral_slabs){.line = SPECTRAL_MEMORY_LINE / cell};
    slabs->skip = low ? SKIP / (cell / 2) : 0;
    const int64_t room = (task->n[2] - slabs->skip - high - is_uneven(task)) / 2;
    if (output_serves(task))
        slabs->held = (int)(stn_max(0, stn_min(room, s->choice.kept[2])) / slabs->line * slabs->line);
    slabs->uneven = slabs->held && is_uneven(task);
    slabs->pitch = stn_round_up(s->choice.kept[2] - slabs->held, slabs->line);
    slabs->plane = slabs->pitch * task->n[1];
    slabs->across = across_of(&s->choice);
    slabs->rest = (size_t)stn_round_up(slabs->plane * task->n[0] * task->batch * cell, 256);
    slabs->bytes = slabs->rest + (size_t)((int64_t)s->choice.slab * slabs->line * slabs->across * task->n[0] * cell);
}

bool spectral_next_slab(const spectral_shape *s, bool decayed_solver, spectral_slab *slab) {
    const spectral_choice *c = &s->choice;
    const int kept = c->kept[2], line = s->slabs.line, first = slab->first + slab->count;
    const int with_points = decayed_solver ? (int)stn_min(kept, stn_round_up(c->with_points[2], line)) : kept;
    const int bounds[] = {s->slabs.held, with_points, kept};
    int begin = 0, end = kept;
    if (first >= kept) return false;
    for (int i = 0; i < 3; i++) {
        if (bounds[i] <= first) begin = (int)stn_max(begin, bounds[i]);
        if (bounds[i] > first) end = (int)stn_min(end, bounds[i]);
    }
    const int64_t tiles = stn_div_up(end - begin, line), parts = stn_div_up(tiles, c->slab);
    /* Part i, counted from 1, ends before tile i * tiles / parts. `part` is the first one that ends
     * behind the frequency `first`. */
    const int64_t part = stn_div_up(((first - begin) / line + 1) * parts, tiles);
    const int64_t cut = begin + part * tiles / parts * line;
    *slab = (spectral_slab){first, (int)stn_min(cut, end) - first, first < s->slabs.held, first < with_points};
    return true;
}

/* ---- the whole shape ------------------------------------------------------------------------- */

/* Bytes of shared memory besides the lines of a marching loop down columns. */
static size_t shared_besides_lines(const stn_task *task, const stn_machine *machine, const spectral_shape *s,
                                   int lines) {
    const size_t carry = spectral_march_carry(task, &s->choice, &s->axis[1], lines);
    const size_t line = (size_t)(s->choice.length[1] * lines) * 17 / 16 * (spectral_wide(task) ? 16 : 8);
    return carry + spectral_march_factors(task, machine, s, lines, carry + line);
}

static stn_shared_fft_needs needs_of(const stn_task *task, const stn_machine *machine) {
    stn_shared_fft_needs needs = {.wide = spectral_wide(task), .last = 8, .shares = 1, .copies = 1};
    needs.threads = needs.wide ? 512 : 768;
    needs.shared = machine->shared_per_block;
    needs.total = machine->shared_per_multiprocessor;
    return needs;
}

/* Makes the lines' FFTs, which takes milliseconds for long rows. */
static void make_rows(const stn_task *task, const stn_machine *machine, spectral_shape *s) {
    stn_shared_fft_needs needs = needs_of(task, machine);
    needs.lines = s->choice.row_lines;
    if (s->choice.row_threads) needs.threads = s->choice.row_threads;
    needs.blocks = s->choice.row_blocks;
    /* 2160 points in three stages instead of four. */
    if (spectral_in_parts(&s->choice) && !needs.wide) needs.last = 16;
    stn_shared_fft_make(machine->searches, s->choice.length[2] / 2, &needs, &s->line[2]);
}

static void make_columns(const stn_task *task, const stn_machine *machine, spectral_shape *s) {
    stn_shared_fft_needs needs = needs_of(task, machine);
    needs.shares = shares_of(machine);
    needs.lines = s->choice.column_lines, needs.blocks = s->choice.column_blocks;
    for (int axis = s->last; axis < 2; axis++) {
        needs.copies = axis == s->last && s->symbol.taps && !spectral_in_parts(&s->choice) ? 2 : 1;
        if (spectral_in_parts(&s->choice)) needs.lines = s->choice.parts, needs.common = 1;
        if (spectral_tiled(&s->choice)) needs.other_bytes = shared_besides_lines(task, machine, s, needs.lines);
        bool heavy = s->choice.length[axis] > stn_shared_fft_most_points(needs.wide, needs.shared), source = false;
        for (int k = 0; k < 3; k++) source = source || stn_extension_odd(&s->axis[k]);
        needs.last = needs.copies > 1 || needs.common || source
                         ? 8
                         : 16; /* With a source, the last stage needs more registers. */
        needs.threads = heavy || needs.copies > 1 || needs.common ? (needs.wide ? 448 : 640)
                                                                  /* Largest numbers without
                                                                   * register spills. */
                                                                  : (needs.wide ? 512 : 768);
        if (source && axis == 0) needs.threads = needs.wide ? 384 : 512;
        if (s->choice.column_threads) needs.threads = s->choice.column_threads;
        stn_shared_fft_make(machine->searches, s->choice.length[axis], &needs, &s->line[axis]);
    }
    if (spectral_tiled(&s->choice) && spectral_columns_fit(s)) s->chunks = spectral_march_chunks(task, machine, s);
}

stn_symbol spectral_symbol_form(const stn_task *task, const stn_machine *machine, const int64_t domain[3]) {
    const stn_task run = stn_task_whole_run(task);
    int last = last_axis(task); /* The taps' line lies next to the column in shared memory. */
    bool fits = 2 * domain[last] <= stn_shared_fft_most_points(spectral_wide(task), machine->shared_per_block);
    fits = fits && spectral_sides_are_even(task); /* A source needs K itself. */
    return stn_symbol_form(&run, last, domain, fits);
}

void spectral_shape_make(const stn_task *task, const stn_machine *machine, const spectral_choice *choice, bool lines,
                         spectral_shape *s) {
    char reason[160];
    const stn_task run = stn_task_whole_run(task);
    *s = (spectral_shape){.choice = *choice, .last = last_axis(task)};
    int64_t domain[3];
    for (int axis = 0; axis < 3; axis++) {
        stn_extension *e = &s->axis[axis];
        stn_extension_sides(&run, axis, e, reason, sizeof reason);
        e->length = choice->length[axis];
        e->before = choice->before[axis];
        e->exact = choice->exact >> axis & 1;
        e->whole = e->length == e->n && !(axis > 0 && choice->step[axis - 1]) && !(axis == 1 && choice->parts);
        domain[axis] = e->length;
    }
    s->symbol = spectral_symbol_form(task, machine, domain);
    s->strips = choice->step[1] ? (int)stn_div_up(task->n[2], choice->step[1]) : 1;
    s->segments = choice->step[0] ? (int)stn_div_up(task->n[1], choice->step[0]) : 1;
    s->chunks = 1;
    /* Rows of the spectrum begin at whole memory lines of 128 bytes if blocks far apart in time
     * write neighbouring data. */
    const int line = spectral_wide(task) ? 8 : 16;
    s->width = stn_round_up(choice->kept[2], choice->decayed_solver ? line : spectral_tiled(choice) ? 8 : 4);
    s->pitch = s->width * s->strips;
    s->rows = task->n[1];
    if (s->last == 0) s->rows = stn_max(s->rows, across_of(choice));
    s->plane = stn_div_up(s->rows, choice->group) * choice->group * s->pitch;
    s->grid = s->plane * task->n[0];
    s->columns = s->last == 0 ? s->pitch * across_of(choice) : choice->kept[2];
    if (spectral_in_slabs(choice)) make_slabs(task, s);
    if (lines) make_rows(task, machine, s);
    if (lines || spectral_tiled(choice)) make_columns(task, machine, s);
}
