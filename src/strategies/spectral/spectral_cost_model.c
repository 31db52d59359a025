/* Cost model and predicted error of a spectral run; see spectral_shape.h. */
#include <math.h>

#include "plan/error_bound.h"
#include "strategies/spectral/spectral_shape.h"

/* ---- cost ------------------------------------------------------------------------------------ */

/* Passes over whole lines, fitted to measurements on an H200. fft: cycles of a multiprocessor for
 * each complex point of a line and each halving of its length; memory: fraction of the copy
 * bandwidth. The longer of arithmetic and memory traffic hides the shorter, except a fraction
 * `exposed` of it. source_3d, source_2d: rate at which a source's frequencies are read, as a
 * multiple of the copy bandwidth, with six values per frequency in 3D and four in 2D. symbol:
 * fraction of the peak rate at which terms and powers are evaluated. */
static const struct {
    double fft, memory, exposed, source_3d, source_2d, symbol;
    /* f64, f32. */
} rates[2] = {{0.16, 0.75, 0.4, 1.27, 2.5, 0.38}, {0.112, 0.8, 0.5, 0.95, 3, 0.38}};
/* Operations per bit of the exponent (the number of steps) when the symbol is raised to a power:
 * for a real symbol and for a complex one. */
#define POWER_REAL 3
#define POWER_COMPLEX 6.4

/* Tiles, fitted to measurements. bytes: multiple of the copy bandwidth. rows, columns: fractions of
 * the instruction issue rate. segment: instructions of a segment of one line besides those of its
 * points. two, alone: factors if two blocks, or one, fit on a multiprocessor. narrow: factor if a
 * block's columns have less than a memory line of 128 bytes. */
static const struct {
    double bytes, rows, columns, segment, two, alone, narrow;
    /* f64, f32. */
} tile_rates[2] = {{1.1, 0.62, 0.56, 550, 1.25, 1.6, 1.2}, {1.1, 0.46, 0.23, 1100, 1.1, 1.5, 1.2}};
/* PASS_START: seconds of each launch besides machine->launch_seconds, fitted as the rates.
 * PASS_LATENCY: seconds of a pass over whole lines in addition to its memory traffic: the latency
 * of the stages of one block. TILE_SYMBOL_FACTOR: factor of the symbol's terms, which columns of
 * tiles evaluate once per chunk, not for each of its segments. */
#define PASS_START 2e-6
#define PASS_LATENCY 3.8e-6
#define TILE_SYMBOL_FACTOR 0.4
/* SIX_BLOCK_ROW_FACTOR: time of the row passes with six blocks per multiprocessor, relative to that
 * with three or four, if a row has several tiles (measured on 10240^2 points in f32). NARROW_F16:
 * cycles of a multiprocessor per point for tiles of f16, which are read and written element by
 * element. */
#define SIX_BLOCK_ROW_FACTOR 0.8
#define NARROW_F16 0.5
/* In f32, columns that are computed in parts have a smaller error than whole columns, whose longest
 * stages compute twiddle factors as powers. The emulator gave 6.1e-7 for wrap and 5.7e-7 for
 * reflect (2304 x 4096 values from 0 to 1, random taps of radius 60), where 1.1e-6 is predicted for
 * whole columns. */
#define SPLIT_COLUMN_ERROR 0.75
/* LONG_ROW: length of rows of tiles from which one or two blocks fit a multiprocessor.
 * PAIR_SPLIT_INSTRUCTIONS: per element, to separate a row's pairs of frequencies. */
enum { LONG_ROW = 8192, PAIR_SPLIT_INSTRUCTIONS = 6 };

/* Rate of reading the source (four values per point) in columns that are solved by recursion, as a
 * multiple of the copy bandwidth. */
enum { RECURSION_READ_RATE = 2 };

/* Seconds to evaluate the symbol and its power, which takes one squaring per bit of the number of
 * steps. 0 if the symbol is a transform of the taps. */
static double seconds_of_symbol(const stn_task *task, const stn_machine *machine, const spectral_shape *s) {
    const double points = (double)s->columns * s->strips * s->segments * s->choice.length[s->last] *
                          (double)task->batch * (double)task->snapshots;
    const double terms = s->symbol.plain ? 0 : 8.0 * (s->symbol.high + s->symbol.low);
    /* The rates of tiles include the power. */
    const double bit = spectral_tiled(&s->choice) ? 0 : s->symbol.plain ? POWER_REAL : POWER_COMPLEX;
    const double power = bit * log2((double)task->steps);
    if (s->symbol.taps) return 0;
    return points * (terms + power) / (rates[!spectral_wide(task)].symbol * machine->flops[STN_UNIT_FMA_F64]);
}

/* Seconds of the transforms of `lines` lines of n complex points. */
static double seconds_of_lines(const stn_task *task, const stn_machine *machine, double lines, double n) {
    const bool wide = spectral_wide(task);
    const double halvings = lines * n * log2(n + 1);
    return fmax(rates[!wide].fft * halvings / (machine->clock * machine->multiprocessors),
                5 * halvings / machine->flops[wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32]);
}

/* Number of waves of row blocks, rounded up, relative to the unrounded number; 1 if there is less
 * than one wave. */
static double waves_of_rows(const stn_machine *machine, const spectral_shape *s, double rows, bool wide) {
    const double block = (double)s->choice.row_lines * s->choice.length[2] / 2 * (wide ? 16 : 8);
    const double fit = fmax(1, floor((double)machine->shared_per_multiprocessor / block));
    const double waves = rows / s->choice.row_lines / (machine->multiprocessors * fit);
    return waves < 1 ? 1 : ceil(waves) / waves;
}

/* Seconds of all transforms: one forward and `count` inverse ones. If the symbol is a transform of
 * the taps, each column has one transform more. columns: lines of the last axis that are
 * transformed. */
static double seconds_of_transforms(const stn_task *task, const stn_machine *machine, const spectral_shape *s,
                                    double columns, double count) {
    const spectral_choice *c = &s->choice;
    const double planes = (double)(task->n[0] * task->batch), rows = planes * (double)task->n[1];
    const double usual = 3 * c->length[1] * stn_shared_fft_work(c->length[1]);
    const double waves = waves_of_rows(machine, s, rows, spectral_wide(task));
    double seconds = (1 + count) * waves * seconds_of_lines(task, machine, rows, 0.5 * c->length[2]);
    if (s->last == 0)
        seconds += seconds_of_lines(task, machine, planes * (c->with_points[2] + count * c->kept[2]), c->length[1]);
    return seconds + (1 + count + s->symbol.taps) * (spectral_in_parts(c) ? spectral_parts_work(c) / usual : 1) *
                         seconds_of_lines(task, machine, columns * (double)task->batch, c->length[s->last]);
}

/* Time of tiles. A marching loop goes down the segments of a chunk of columns; each chunk begins
 * with the values that all its segments need. */
static double seconds_of_tiles(const stn_task *task, const stn_machine *machine, const spectral_shape *s,
                               double bytes) {
    const bool wide = spectral_wide(task);
    const spectral_choice *c = &s->choice;
    const double rate = machine->flops[wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32] / 2;
    const double strips = (double)task->batch * s->strips, rows = strips * (double)task->n[1] * c->length[2] / 2;
    const double row_blocks_factor =
        c->row_blocks >= SPECTRAL_MANY && s->strips > 1 && !wide ? SIX_BLOCK_ROW_FACTOR : 1;
    const double issued = 2 * rows * (stn_shared_fft_work(c->length[2] / 2) + PAIR_SPLIT_INSTRUCTIONS) *
                          row_blocks_factor / (rate * tile_rates[!wide].rows);
    const double fft_only_seconds =
        2 * seconds_of_lines(task, machine, strips * (double)task->n[1], 0.5 * c->length[2]);
    const double row = c->length[2] < LONG_ROW ? issued : fmax(issued, fft_only_seconds);
    const double transforms = s->symbol.taps ? 3 : 2;
    const double segment =
        c->length[1] * (transforms * stn_shared_fft_work(c->length[1]) / 2 + tile_rates[!wide].segment / c->length[1]);
    const int blocks = s->line[1].blocks;
    const double occupancy_factor = blocks > 2 ? 1 : blocks == 2 ? tile_rates[!wide].two : tile_rates[!wide].alone;
    const double narrow = s->line[1].lines * (wide ? 16 : 8) < 128 ? tile_rates[!wide].narrow : 1;
    /* If there are fewer blocks than multiprocessors, each block has a whole multiprocessor. */
    const double block_count = ceil((double)s->pitch / s->line[1].lines) * (double)task->batch * s->chunks;
    const bool underfilled = blocks > 1 && block_count < machine->multiprocessors;
    const double single_block_factor = underfilled ? tile_rates[!wide].alone / (occupancy_factor * blocks) : 1;
    const double columns = strips * c->kept[2] * s->segments * segment * occupancy_factor * narrow *
                           single_block_factor * spectral_march_imbalance(task, machine, s);
    const double halves = task->dtype == STN_F16
                              ? NARROW_F16 * (double)stn_task_points(task) / (machine->multiprocessors * machine->clock)
                              : 0;
    return bytes / (machine->copy_bandwidth * tile_rates[!wide].bytes) + row +
           columns / (rate * tile_rates[!wide].columns) + TILE_SYMBOL_FACTOR * seconds_of_symbol(task, machine, s) +
           halves;
}

/* Additional launches of slabs. SLAB_GAP: seconds of each launch besides its bytes, for its start
 * and for its last blocks, while multiprocessors are idle. Measured with 10 slabs of 512^3. */
#define SLAB_GAP 1e-5
static double launches_of_slabs(const stn_task *task, const spectral_shape *s) {
    const spectral_choice *c = &s->choice;
    const double decayed_solver = c->decayed_solver ? 1 : 0;
    double launches = 0;
    if (!spectral_in_slabs(c)) return 0;
    for (spectral_slab slab = {0}; spectral_next_slab(s, c->decayed_solver, &slab);)
        launches += (slab.with_points ? 3 : 1) + decayed_solver;
    return launches * (double)task->batch - 3 - decayed_solver;
}

/* Seconds of each launch that transforms the values past a side, besides its start. Each grid of a
 * batch has its own launches (350 of 35 x 34 x 4 points: 8.6 ms). */
#define SOURCE_LAUNCH_SECONDS 2e-6

static double seconds_of_launches(const stn_machine *machine, double launches, bool tiled) {
    return launches * (machine->launch_seconds + PASS_START + (tiled ? 0 : PASS_LATENCY));
}

/* Whole lines at least read and write the grid and transform its rows, and tiles, which 2D grids
 * may have, at least read and write the grid. */
double spectral_least_seconds(const stn_task *task, const stn_machine *machine) {
    const bool wide = spectral_wide(task), tiles = task->rank == 2;
    const double count = (double)task->snapshots, rows = (double)(task->n[0] * task->n[1] * task->batch);
    const double grids = (1 + count) * rows * (double)task->n[2] * (double)stn_dtype_size(task->dtype);
    const double launches = task->rank == 3 ? 2 + 3 * count : 1 + 2 * count;
    const double move = grids / (machine->copy_bandwidth * rates[!wide].memory);
    const double work = (1 + count) * seconds_of_lines(task, machine, rows, 0.5 * (double)task->n[2]);
    const double whole =
        seconds_of_launches(machine, launches, false) + fmax(move, work) + rates[!wide].exposed * fmin(move, work);
    const double tiled =
        seconds_of_launches(machine, launches, true) + grids / (machine->copy_bandwidth * tile_rates[!wide].bytes);
    return tiles ? fmin(whole, tiled) : whole;
}

/* A line shorter than the period cuts off the farthest weights of all steps together.
 * TRUNCATION_FACTOR is the resulting relative L2 error as a multiple of the sum of these
 * weights. */
#define TRUNCATION_FACTOR 1
static double truncation_error(const stn_task *task, const spectral_choice *c) {
    const double steps = (double)task->steps * (double)task->snapshots;
    double sum = 0;
    for (int axis = 0; axis < 3; axis++) {
        const bool all =
            (double)c->length[axis] >= (double)task->n[axis] + steps * (task->reach[axis][0] + task->reach[axis][1]);
        if (!(c->exact >> axis & 1) && !all) sum += TRUNCATION_FACTOR * spectral_tail(task);
    }
    return sum * stn_error_cancellation(task);
}

void spectral_estimate(const stn_task *task, const stn_machine *machine, const spectral_shape *s,
                       stn_estimate *estimate) {
    const bool wide = spectral_wide(task), volume = s->last == 0;
    const spectral_choice *c = &s->choice;
    /* half: half the number of transforms, of which one is forward and `count` are inverse. */
    const double count = (double)task->snapshots, half = 0.5 * (1 + count);
    const double complex_bytes = wide ? 16 : 8, rows = (double)(task->n[0] * task->n[1] * task->batch),
                 lines = rows * s->strips;
    const double grid = rows * (double)task->n[2] * (double)stn_dtype_size(task->dtype);
    /* across: number of frequencies along y to which the grid's points contribute, not only a
     * source. */
    const double across = 2 * c->with_points[1] > c->length[1] ? c->length[1] : 2 * c->with_points[1] - 1;
    const double spectrum = lines * c->kept[2] * complex_bytes, with_points = lines * c->with_points[2] * complex_bytes;
    const double transposed = volume ? (double)(s->columns * task->n[0] * task->batch) * complex_bytes : spectrum;
    const double transposed_with_points =
        volume ? across * c->with_points[2] * (double)(task->n[0] * task->batch) * complex_bytes : with_points;
    double forward_bytes = grid + with_points, inverse_bytes = (task->sum ? 2 : 1) * grid + spectrum, source_values = 0;
    if (volume) forward_bytes += with_points + transposed_with_points, inverse_bytes += spectrum + transposed;
    for (int axis = 0; axis < 3; axis++)
        if (!task->sum && stn_extension_odd(&s->axis[axis])) source_values = volume ? 6 : 4;
    /* The number of columns that are transformed: if decayed modes are solved separately, only
     * those to which the grid's points contribute, else all. */
    const double at_points = c->decayed_solver ? across * c->with_points[2] : (double)s->columns;
    const double source = source_values * complex_bytes * at_points * c->length[s->last] * (double)task->batch;
    const double decayed = 4 * complex_bytes * ((double)s->columns - at_points) * (double)(task->n[0] * task->batch);
    *estimate = (stn_estimate){.unit = wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32};
    estimate->launches = (volume ? 2 + 3 * count : 1 + 2 * count) + (c->decayed_solver ? count : 0);
    estimate->bytes = forward_bytes + count * (inverse_bytes + transposed_with_points + transposed);
    double points = lines * (double)s->choice.length[2];
    if (spectral_tiled(c)) points *= 0.5 * (1 + (double)s->segments * c->length[1] / (double)task->n[1]);
    estimate->flops =
        half * 5 * points * log2((double)s->choice.length[0] * s->choice.length[1] * s->choice.length[2] + 1);
    estimate->halo_waste = points / (rows * (double)task->n[2]) - 1;
    const double slabs = launches_of_slabs(task, s);
    const double of_source = source_values > 0 ? 1 + (volume ? 6 : 2) * (double)task->batch : 0;
    const double move = estimate->bytes / (machine->copy_bandwidth * rates[!wide].memory);
    const double work = seconds_of_transforms(task, machine, s, at_points, count) + seconds_of_symbol(task, machine, s);
    estimate->seconds = seconds_of_launches(machine, estimate->launches, spectral_tiled(c));
    if (spectral_tiled(c))
        estimate->seconds += seconds_of_tiles(task, machine, s, estimate->bytes);
    else
        estimate->seconds +=
            fmax(move, work) + rates[!wide].exposed * fmin(move, work) +
            count * source / (machine->copy_bandwidth * (volume ? rates[!wide].source_3d : rates[!wide].source_2d)) +
            (c->decayed_solver ? count * decayed / (machine->copy_bandwidth * RECURSION_READ_RATE) : 0) +
            slabs * (machine->launch_seconds + SLAB_GAP);
    estimate->seconds += of_source * (machine->launch_seconds + SOURCE_LAUNCH_SECONDS);
    estimate->launches += slabs + of_source;
    estimate->error = (spectral_in_parts(c) && !wide ? SPLIT_COLUMN_ERROR : 1) *
                      stn_symbol_error(task, (double)s->choice.length[0] * s->choice.length[1] * s->choice.length[2],
                                       s->symbol.plain);
    if (!spectral_tiled(c)) estimate->error += truncation_error(task, c);
}
