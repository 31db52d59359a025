/* Tiles of a 2D grid (overlap-save). Each is transformed as a periodic domain of its own, together
 * with the points around it that its results depend on; see spectral_shape.h.
 *
 *     |<-before->|<------ step ------>|<-after->|   a line of `length` points, `step` are outputs
 *
 * Rows are short, so several blocks fit on a multiprocessor; columns are read in whole memory lines
 * of 128 bytes at any length. */
#include <math.h>

#include "base/arith.h"
#include "strategies/spectral/spectral_shape.h"

enum { MIN_STEP = 16, MAX_TILES = 4096, MAX_POINTS = 1 << 29 };
#define MIN_COST 0.85 /* Cost of a point without the arithmetic of its transform. */
#define PIECE 128     /* Bytes of a row of the spectrum that a block of columns reads together. */

/* Factor (estimated) of a pass's time if few blocks fit on a multiprocessor, so that the loads of
 * one overlap with the arithmetic of few others. */
static double occupancy_factor(size_t total, size_t bytes) {
    const size_t blocks = total / (bytes + 1024);
    return blocks >= 3 ? 1 : blocks == 2 ? 1.1 : blocks == 1 ? 1.5 : INFINITY;
}

static int64_t good_length(int64_t least, bool row) {
    int64_t length = least < 4 ? 4 : least;
    if (row) length += length % 2;
    while (!stn_shared_fft_is_smooth(row ? length / 2 : length)) length += row ? 2 : 1;
    return length;
}

/* Requirements of a task's tiles along an axis. */
typedef struct tile_needs {
    const stn_machine *machine;
    size_t cell;
    int lines, copies; /* Lines of a block, and copies of each in shared memory. */
    size_t factor;     /* Bytes of a frequency's factor, if there is room; 0: none. */
    bool row, wrap;
    int unit; /* `step` and `before` are multiples of this number of points, a sector. */
} tile_needs;

static size_t shared_by(const tile_needs *needs, int64_t length, int64_t step, int64_t before) {
    const size_t line = (size_t)(needs->row ? length / 2 : length) * 17 / 16 * (size_t)needs->copies;
    const int64_t carry = length - step;
    const size_t kept = needs->row ? 0 : (size_t)(2 * carry + (needs->wrap ? carry - before : 0));
    const size_t bytes = (line + kept) * (size_t)needs->lines * needs->cell;
    const size_t factors = (size_t)length * (size_t)needs->lines * needs->factor;
    return bytes + factors <= needs->machine->shared_per_block ? bytes + factors : bytes;
}

/* Chooses the cheapest tiling of n points into at least `tiles`; returns its cost per point,
 * infinite if there is none. */
static double choose_steps(int64_t n, int64_t tiles, const stn_reach *reach, const tile_needs *needs, int *length,
                           int *before, int *step) {
    const size_t total = needs->machine->shared_per_multiprocessor, most = needs->machine->shared_per_block;
    double lowest = INFINITY;
    if (reach->side[0] > (int64_t)most || reach->side[1] > (int64_t)most || n > MAX_POINTS) return INFINITY;
    const int64_t low = stn_round_up(reach->side[0], needs->unit), high = reach->side[1];
    for (; tiles <= MAX_TILES; tiles++) {
        const int64_t own = stn_round_up(stn_div_up(n, tiles), needs->unit);
        if (tiles > 1 && (own < MIN_STEP || own < (low + high) / 2)) break;
        /* A lower bound of the cost, which only grows with the number of tiles; the margin is for
         * rounding errors. */
        if (MIN_COST * (1 - 1e-9) * (double)(low + own + high) / (double)own >= lowest) break;
        if (low + own + high > (int64_t)most / 4) continue; /* A point takes at least 4 bytes. */
        const int64_t points = good_length(low + own + high, needs->row);
        const size_t bytes = shared_by(needs, points, own, low);
        if (bytes > most) continue;
        /* A marching loop takes points past the high side from its first points (wrap), or from the
         * last segment (mirror). */
        const int64_t last = n - stn_div_up(n, own) * own + own, after = points - own - low;
        const bool finds = needs->wrap ? n >= points - own : own >= n || last >= after - low + 2;
        if (!needs->row && !finds) continue;
        const int64_t stored = needs->row ? 2 * stn_round_up(points / 2 + 1, 8) : points;
        const double each = (double)(stn_div_up(n, own) * stored) / (double)n * occupancy_factor(total, bytes);
        if (MIN_COST * each >= lowest) continue;
        const double cost = each * (MIN_COST + 0.005 * stn_shared_fft_work(needs->row ? points / 2 : points));
        if (cost < lowest) lowest = cost, *length = (int)points, *before = (int)low, *step = (int)own;
    }
    return lowest;
}

/* Whether tiles apply: sides that only mirror or wrap, and one output grid. */
static bool for_tiles(const stn_task *task) {
    return task->rank == 2 && task->snapshots == 1 && spectral_sides_are_even(task);
}

bool spectral_tiles_serve(const stn_task *task, const spectral_choice *choice) {
    if (!for_tiles(task)) return false;
    for (int axis = 1; axis < 3; axis++) {
        const int step = choice->step[axis - 1], after = choice->length[axis] - choice->before[axis] - step;
        if (step == 0) continue;
        const stn_reach reach = spectral_reach(task, axis);
        if (reach.side[0] > choice->before[axis] || reach.side[1] > after) return false;
    }
    return true;
}

/* Chooses the segments of columns, and the number of columns per block. */
static bool choose_columns(const stn_task *task, const stn_machine *machine, const stn_reach *y, int least,
                           spectral_choice *choice) {
    stn_extension columns;
    char reason[160];
    const stn_task run = stn_task_whole_run(task);
    stn_extension_sides(&run, 1, &columns, reason, sizeof reason);
    tile_needs needs = {
        .machine = machine, .cell = spectral_wide(task) ? 16 : 8, .copies = 1, .unit = 1, .wrap = columns.repeats};
    /* A segment must be longer than the reach to both sides. The line of taps is stored next to a
     * segment if the symbol of the shortest such segment is a transform of the taps. */
    const int64_t domain[3] = {1, stn_min(y->side[0] + y->side[1], 1024) + MIN_STEP, choice->length[2]};
    const stn_symbol form = spectral_symbol_form(task, machine, domain);
    if (form.taps) needs.copies = 2;
    needs.factor = form.taps ? 0 : form.plain ? needs.cell / 2 : needs.cell;
    choice->column_lines = PIECE / (int)needs.cell;
    double best = INFINITY;
    for (int lines = PIECE / (int)needs.cell; 2 * lines * (int)needs.cell >= PIECE; lines /= 2) {
        int length = 0, before = 0, step = 0;
        needs.lines = lines;
        const double narrow = lines * (int)needs.cell < PIECE ? 1.2 : 1;
        const double cost = narrow * choose_steps(task->n[1], least, y, &needs, &length, &before, &step);
        if (!(cost < best)) continue;
        best = cost, choice->column_lines = lines;
        choice->length[1] = length, choice->before[1] = before, choice->step[0] = step;
    }
    return best < INFINITY;
}

/* reach: along axis 1 and 2. */
static bool choose_by(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                      const stn_reach reach[2], const int least[2], spectral_choice *choice) {
    const bool wide = spectral_wide(task);
    tile_needs needs = {
        .machine = machine, .cell = wide ? 16 : 8, .copies = 1, .lines = 1, .row = true, .unit = wide ? 4 : 8};
    *choice = whole ? *whole : (spectral_choice){.length = {1, 0, 0}, .kept = {1, 0, 0}, .with_points = {1, 0, 0}};
    choice->exact = 0, choice->parts = 0, choice->group = 1, choice->waves = 0;
    if (!(choose_steps(task->n[2], least[1], &reach[1], &needs, &choice->length[2], &choice->before[2],
                       &choice->step[1]) < INFINITY))
        return false;
    choice->kept[2] = choice->with_points[2] = choice->length[2] / 2 + 1;
    const bool found = choose_columns(task, machine, &reach[0], least[0], choice);
    /* Rows of 2688 and 2100 points in f32 take 0.73 and 0.235 ms in pairs, and 0.86 and 0.264 ms
     * singly; in f64 single rows are 2 to 4% faster. */
    const int row = choice->length[2] / 2, twos = wide ? 1024 : 2048;
    choice->row_lines = task->n[1] == 1 ? 1 : row <= 128 ? 8 : row <= (wide ? 512 : 1024) ? 4 : row <= twos ? 2 : 1;
    while (choice->row_lines > 2 && task->n[1] * task->batch < (int64_t)choice->row_lines * machine->multiprocessors)
        /* 512 rows in fours leave multiprocessors idle: 10% in f64, 4% in f32. */
        choice->row_lines /= 2;
    return found;
}

static void find_reach(const stn_task *task, stn_reach reach[2]) {
    reach[0] = spectral_reach(task, 1);
    reach[1] = stn_reach_similar(task, 1, 2) ? reach[0] : spectral_reach(task, 2);
}

bool spectral_choose_tiles(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                           const int least[2], spectral_choice *choice) {
    stn_reach reach[2];
    if (!for_tiles(task)) return false;
    find_reach(task, reach);
    return choose_by(task, machine, whole, reach, least, choice);
}

size_t spectral_tile_variants(const stn_task *task, const stn_machine *machine, const spectral_choice *whole,
                              const spectral_choice *tiles, spectral_choice *list, size_t most) {
    /* Factors of the number of tiles along each axis. */
    static const int ways[][2] = {{1, 2}, {2, 1}, {2, 2}, {1, 4}, {4, 4}};
    const int now[2] = {(int)stn_div_up(task->n[1], tiles->step[0]), (int)stn_div_up(task->n[2], tiles->step[1])};
    size_t count = 0;
    stn_reach reach[2];
    find_reach(task, reach);
    /* Chunks for this number of waves. */
    if (most > 0) list[count] = *tiles, list[count++].waves = SPECTRAL_WAVES;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && count < most; i++)
        count +=
            choose_by(task, machine, whole, reach, (int[2]){ways[i][0] * now[0], ways[i][1] * now[1]}, &list[count]);
    return count;
}
