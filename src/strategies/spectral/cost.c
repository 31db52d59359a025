/* What a spectral run costs, and how far off it is; see shape.h. */
#include <math.h>

#include "plan/accuracy.h"
#include "strategies/spectral/shape.h"

/* ---- cost
 * ---------------------------------------------------------------------------------------------------------- */

/* What passes reach of the copy bandwidth, by bench/results/2026-11-22-spectral.md, and of solids
 * in f64 2026-11-23-spectral.md; rows also take what no access hides, as if their arithmetic ran at
 * so many times the unit's rate, and more where one row fills a multiprocessor. source: so many
 * times the copy bandwidth is what numbers of a source's frequencies come at, six for each
 * frequency in 3D: of what fixed sides took beside four steps on the same torus, before columns
 * without points had a way of their own. face: of four in 2D, whose 10240^2 take 2.49 and 1.35 ms
 * between fixed sides (2026-11-23-segment-waves.md), on an H100 2.91 and 1.47
 * (2026-11-25-h100.md). */
static const struct {
    double plane, solid, source, face, arithmetic, alone, symbol;
} rates[2] = {{0.505, 0.83, 1.27, 2.5, 1.4, 0.55, 0.38}, {0.505, 0.64, 0.95, 3, 0.9, 0.9, 0.38}}; /* f64, f32 */

/* Tiles, by bench/results/2026-11-23-spectral.md: what bytes come at, and, of all instructions that
 * multiprocessors could begin, those of rows and of columns; what a segment takes beside its
 * points, in instructions of one line; times as much where a block is one of two or alone on a
 * multiprocessor, and where its columns are less than a line of 128 bytes. */
static const struct {
    double bytes, rows, columns, segment, two, alone, narrow;
} tile_rates[2] = {{1.1, 0.62, 0.56, 550, 1.25, 1.6, 1.2}, {1.1, 0.46, 0.23, 1100, 1.1, 1.5, 1.2}}; /* f64, f32 */
/* By bench/results/2026-11-23-estimates.md. A pass over lines as a whole takes, beside its bytes,
 * as long as one block's chain of stages. Of a symbol's terms, tiles' columns ask once for a leg,
 * not for each of its segments. Tiles of f16 go through memory number by number: cycles of a
 * multiprocessor a point. */
#define CHAIN 5.1e-6
#define TERMS_OF_TILES 0.4
/* Rows in six blocks, of tiles that are several along a row, beside those in three or four: 10240^2
 * in f32, by 2026-11-23-regret-4.md. */
#define ROWS_OF_MANY 0.8
#define NARROW_F16 0.5
/* One step of many taps, columns in parts and rows in three rungs: what bytes come at, over other
 * planes' rate. The timed rows of "Dense taps" in bench/results/2026-11-23-spectral-2.md would have
 * 1.5; but tiles were timed at 0.86 of their estimates, too. */
#define IN_PARTS 1.22
/* What they err by in f32, over what whole columns do, whose longest rungs form powers of their
 * roots: found 6.1e-7 and 5.7e-7 by the emulator, of 2304 x 4096 numbers from 0 to 1 and random
 * taps of radius 60, wrap and reflect, where whole ones are predicted at 1.1e-6. */
#define SHORT_LINES 0.75
/* Instructions of each point of a column of 4096, of which three for one step of many taps take
 * twice what the rows there and back do. */
#define WHOLE_COLUMN 41
enum { PAIRS = 6 }; /* instructions of a row's pairs of frequencies, for each number */

/* Numbers of a source that columns without points read, four a point, as a recursion reads them: so
 * many times the copy bandwidth, of what 512^3 between fixed sides takes in all
 * (2026-11-23-spectral.md). */
enum { SETTLED = 2 };

/* Of a symbol that is neither real nor a transform of taps. */
static double terms_of_symbol(const stn_task *task, const stn_machine *machine, const spectral_shape *s) {
    const double points = (double)s->columns * s->strips * s->segments * s->choice.length[s->last] *
                          (double)task->batch * (double)task->snapshots;
    if (s->symbol.plain || s->symbol.taps) return 0;
    return 8 * points * (s->symbol.high + s->symbol.low) /
           (rates[!spectral_wide(task)].symbol * machine->flops[STN_UNIT_FMA_F64]);
}

/* Of the stages of lines, those of rows and of columns that are kept: 10240^2 over 10,000 steps
 * keeps one in twenty (2026-11-23-regret-4.md). Rates of solids were fitted to all of them. */
static double part_of_stages(const spectral_shape *s) {
    const spectral_choice *c = &s->choice;
    const double rows = log2(c->length[2]), columns = log2(c->length[1]), kept = c->kept[2] / (0.5 * c->length[2] + 1);
    return s->last == 0 ? 1 : (rows + kept * columns) / (rows + columns);
}

/* Seconds of arithmetic beside all accesses: the stages of lines, the terms of a symbol whose taps
 * are no transform, in f64, or one more transform of each column. */
static double hidden_by_nothing(const stn_task *task, const stn_machine *machine, const spectral_shape *s,
                                const stn_estimate *e) {
    const bool wide = spectral_wide(task),
               alone = (size_t)s->choice.length[2] * (wide ? 8 : 4) * 2 > machine->shared_per_multiprocessor;
    const double stages = e->flops / (machine->flops[e->unit] * (alone ? rates[!wide].alone : rates[!wide].arithmetic));
    const double usual = 3.0 * (double)task->n[1] * WHOLE_COLUMN;
    if (spectral_in_parts(&s->choice)) return stages * (0.5 + spectral_parts_work(&s->choice) / usual);
    return s->symbol.taps ? 1.5 * stages : stages * part_of_stages(s) + terms_of_symbol(task, machine, s);
}

/* Columns are walked in segments, down a leg; each leg begins with what all its segments need. */
static double seconds_of_tiles(const stn_task *task, const stn_machine *machine, const spectral_shape *s,
                               double bytes) {
    const bool wide = spectral_wide(task);
    const spectral_choice *c = &s->choice;
    const double rate = machine->flops[wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32] / 2;
    const double strips = (double)task->batch * s->strips, rows = strips * (double)task->n[1] * c->length[2] / 2;
    const double many = c->row_blocks >= SPECTRAL_MANY && s->strips > 1 && !wide ? ROWS_OF_MANY : 1;
    const double row = 2 * rows * (stn_ladder_work(c->length[2] / 2) + PAIRS) * many;
    const double transforms = s->symbol.taps ? 3 : 2;
    const double segment =
        c->length[1] * (transforms * stn_ladder_work(c->length[1]) / 2 + tile_rates[!wide].segment / c->length[1]);
    const int blocks = s->line[1].blocks;
    const double waits = blocks > 2 ? 1 : blocks == 2 ? tile_rates[!wide].two : tile_rates[!wide].alone;
    const double narrow = s->line[1].lines * (wide ? 16 : 8) < 128 ? tile_rates[!wide].narrow : 1;
    /* fewer blocks than multiprocessors: each is alone on its own, and has more of it than its
     * share */
    const double each = ceil((double)s->pitch / s->line[1].lines) * (double)task->batch * s->legs;
    const bool few = blocks > 1 && each < machine->multiprocessors;
    const double own = few ? tile_rates[!wide].alone / (waits * blocks) : 1;
    const double columns =
        strips * c->kept[2] * s->segments * segment * waits * narrow * own * spectral_walk_crowd(task, machine, s);
    const double halves = task->dtype == STN_F16
                              ? NARROW_F16 * (double)stn_task_points(task) / (machine->multiprocessors * machine->clock)
                              : 0;
    return bytes / (machine->copy_bandwidth * tile_rates[!wide].bytes) + row / (rate * tile_rates[!wide].rows) +
           columns / (rate * tile_rates[!wide].columns) + TERMS_OF_TILES * terms_of_symbol(task, machine, s) + halves;
}

/* Whole waves of blocks of rows, over the part of them that is filled; 1 where they are not one. */
static double waves_of_rows(const stn_machine *machine, const spectral_shape *s, double rows, bool wide) {
    const double block = (double)s->choice.row_lines * s->choice.length[2] / 2 * (wide ? 16 : 8);
    const double fit = fmax(1, floor((double)machine->shared_per_multiprocessor / block));
    const double waves = rows / s->choice.row_lines / (machine->multiprocessors * fit);
    return waves < 1 ? 1 : ceil(waves) / waves;
}

/* Launches of slabs in place of one a pass, and what each of them takes besides: that it begins,
 * and that its last blocks leave multiprocessors without work. By
 * bench/results/2026-11-23-slabs.md, of 10 slabs of 512^3. */
#define SLAB_GAP 1e-5
static double launches_of_slabs(const stn_task *task, const spectral_shape *s) {
    const spectral_choice *c = &s->choice;
    const double settles = c->settles ? 1 : 0;
    double launches = 0;
    if (!spectral_in_slabs(c)) return 0;
    for (spectral_slab slab = {0}; spectral_next_slab(s, c->settles, &slab);) launches += (slab.live ? 3 : 1) + settles;
    return launches * (double)task->batch - 3 - settles;
}

/* What lines leave away that hold no period, relative L2, in parts of the weights: of good lengths,
 * most of which are longer than what is reached. */
#define BEYOND 1
static double left_away(const stn_task *task, const spectral_choice *c) {
    const double steps = (double)task->steps * (double)task->snapshots;
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        const bool all =
            (double)c->length[axis] >= (double)task->n[axis] + steps * (task->reach[axis][0] + task->reach[axis][1]);
        if (!(c->exact >> axis & 1) && !all) sum += BEYOND * spectral_tail(task);
    }
    return sum * stn_error_cancelling(task);
}

void spectral_estimate(const stn_task *task, const stn_machine *machine, const spectral_shape *s,
                       stn_estimate *estimate) {
    const bool wide = spectral_wide(task), solid = s->last == 0;
    const spectral_choice *c = &s->choice;
    const double count = (double)task->snapshots, half = 0.5 * (1 + count); /* of a way there, and the ways back */
    const double cell = wide ? 16 : 8, rows = (double)(task->n[0] * task->n[1] * task->batch), lines = rows * s->strips;
    const double grid = rows * (double)task->n[2] * (double)stn_dtype_size(task->dtype);
    const double across =
        2 * c->live[1] > c->length[1] ? c->length[1] : 2 * c->live[1] - 1; /* frequencies along y with points */
    const double spectrum = lines * c->kept[2] * cell, live = lines * c->live[2] * cell;
    const double turned = solid ? (double)(s->columns * task->n[0] * task->batch) * cell : spectrum;
    const double turned_live = solid ? across * c->live[2] * (double)(task->n[0] * task->batch) * cell : live;
    double ahead = grid + live, back = (task->sum ? 2 : 1) * grid + spectrum, numbers = 0;
    if (solid) ahead += live + turned_live, back += spectrum + turned;
    for (int axis = 0; axis < 3; axis++)
        if (!task->sum && stn_extension_odd(&s->axis[axis])) numbers = solid ? 6 : 4;
    const double at_points = c->settles ? across * c->live[2] : (double)s->columns; /* columns with points, or all */
    const double source = numbers * cell * at_points * c->length[s->last] * (double)task->batch;
    const double settled = 4 * cell * ((double)s->columns - at_points) * (double)(task->n[0] * task->batch);
    *estimate = (stn_estimate){.unit = wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32};
    estimate->launches = (solid ? 2 + 3 * count : 1 + 2 * count) + (c->settles ? count : 0);
    estimate->bytes = ahead + count * (back + turned_live + turned);
    double points = lines * (double)s->choice.length[2];
    if (spectral_tiled(c)) points *= 0.5 * (1 + (double)s->segments * c->length[1] / (double)task->n[1]);
    estimate->flops =
        half * 5 * points * log2((double)s->choice.length[0] * s->choice.length[1] * s->choice.length[2] + 1);
    estimate->halo_waste = points / (rows * (double)task->n[2]) - 1;
    const double slabs = launches_of_slabs(task, s);
    const double plane = rates[!wide].plane * (spectral_in_parts(c) ? IN_PARTS : 1);
    const double rate = solid ? rates[!wide].solid : plane / waves_of_rows(machine, s, rows, wide);
    estimate->seconds = estimate->launches * (machine->launch_seconds + 2e-6 + (spectral_tiled(c) ? 0 : CHAIN));
    if (spectral_tiled(c))
        estimate->seconds += seconds_of_tiles(task, machine, s, estimate->bytes);
    else
        estimate->seconds +=
            estimate->bytes / (machine->copy_bandwidth * rate) +
            count * source / (machine->copy_bandwidth * (solid ? rates[!wide].source : rates[!wide].face)) +
            (c->settles ? count * settled / (machine->copy_bandwidth * SETTLED) : 0) +
            hidden_by_nothing(task, machine, s, estimate) + slabs * (machine->launch_seconds + SLAB_GAP);
    estimate->launches += slabs;
    estimate->error = (spectral_in_parts(c) && !wide ? SHORT_LINES : 1) *
                      stn_symbol_error(task, (double)s->choice.length[0] * s->choice.length[1] * s->choice.length[2],
                                       s->symbol.plain);
    if (!spectral_tiled(c)) estimate->error += left_away(task, c);
}
