/* Shapes of the multi-step kernels, and their cost model. Tuned on an H200: independent warps, as
 * many stages in flight as registers hold, and few enough registers for eight to twelve warps on a
 * multiprocessor. */
#include "strategies/direct/temporal_blocking.h"

#include <math.h>

#include "base/arith.h"
#include "strategies/direct/tap_order.h"

#define MAX_REACH 4            /* largest reach of direct_time_tile along any axis */
#define LINE_MAX_REACH 8       /* largest reach of direct_time_line */
#define GAP_BYTES 128          /* padding of a row in shared memory: GAP in direct/time_tile.cuh */
#define MAX_RESIDENT_BLOCKS 32 /* resident blocks on a multiprocessor, for any kernel */

/* Value of WORDS in direct/time_tile.cuh: rows of f16 begin at any element. */
static int paired(const stn_task *task, const direct_shape *shape) {
    return shape->kernel == DIRECT_TIME_TILE && shape->vector * (int)stn_dtype_size(task->dtype) < 4;
}

bool direct_time_spans(const stn_task *task, const direct_shape *shape) {
    if (shape->kernel != DIRECT_TIME_TILE || task->rank != 2 || task->boundary[2][0].kind == STN_WRAP) return false;
    int64_t past = stn_round_up(direct_reach(task, shape, 2), shape->vector);
    return task->n[2] + 2 * past + paired(task, shape) <= (int64_t)shape->threads[2] * shape->points;
}

static int margin_x(const stn_task *task, const direct_shape *shape) {
    if (direct_time_spans(task, shape)) return (int)stn_round_up(direct_reach(task, shape, 2), shape->vector);
    return (int)stn_round_up((int64_t)shape->fused * direct_reach(task, shape, 2), shape->vector);
}

/* Points along x that a tile stores. In 1D and 2D a block is one warp along x; in 3D its warps are
 * stacked along y, each threads[2] lanes wide. */
static int own_x(const stn_task *task, const direct_shape *shape) {
    return shape->threads[2] * shape->points - paired(task, shape) - 2 * margin_x(task, shape);
}

static int own_y(const stn_task *task, const direct_shape *shape) {
    if (shape->kernel != DIRECT_TIME_TILE) return 1;
    return shape->threads[1] * shape->rows - 2 * shape->fused * direct_reach(task, shape, 1);
}

void direct_time_tiles(const stn_task *task, const direct_shape *shape, int64_t tiles[3]) {
    tiles[0] = stn_div_up(task->n[direct_axis(task, shape, 0)], shape->chunk);
    tiles[1] = stn_div_up(task->n[direct_axis(task, shape, 1)], own_y(task, shape));
    tiles[2] = stn_div_up(task->n[2], own_x(task, shape));
}

/* Value of ONE_BARRIER in direct/time_tile.cuh: an iteration needs one barrier only. */
static bool one_barrier(const stn_task *task, const direct_shape *shape) {
    if (direct_reach(task, shape, 1) == 0 || (shape->mirror & DIRECT_MIRROR_Z)) return false;
    for (size_t t = 0; t < task->ntaps; t++) {
        const int64_t *o = task->taps[t].offset;
        if (o[direct_axis(task, shape, 0)] && (o[direct_axis(task, shape, 1)] || o[2])) return false;
    }
    return true;
}

/* Value of REFRESH in direct/time_tile.cuh: every stage refreshes points past an edge along y or x
 * from the points of their plane that they fold to. */
static bool refreshes(const stn_task *task, const direct_shape *shape) {
    for (int k = 1; k < 3; k++)
        for (int side = 0; side < 2; side++) {
            const stn_boundary_kind kind = task->boundary[direct_axis(task, shape, k)][side].kind;
            if (kind != STN_WRAP && kind != STN_FIXED) return true;
        }
    return false;
}

/* ---- cost model */

/* Rates of these kernels on an H200. */
static const struct {
    /* Instructions for each point and step: a * (arithmetic instructions) + fixed + of_launch /
     * (steps of a launch). Rows: 1D; 3D in f64; 3D in the other types. */
    double a, fixed, of_launch;
} spent[] = {{0.95, 0.3, 0}, {0.65, 0, 37}, {0.9, 3, 30}};
enum { SPENT_LINE, SPENT_F64_3D, SPENT_3D };
static const struct {
    /* 3D: extra instructions with a second barrier; extra fraction for reaches beyond 1 */
    double second_barrier_instructions, far_reach_fraction;
    /* Cycles of a stage's dependency chain besides its arithmetic. */
    double stage_cycles, barrier_cycles;
    /* Cycles to refresh points past an edge, in each stage: in 2D and 3D; in 1D if they fold
     * (measured: 1.2 us a step with the rest of the stage, 409083 points in f64 and 1929325 in f16)
     * and if they are constant (0.6 us, 14 x 7424 and 596473 points in f32) or fixed (1 us, 614912
     * in f16, 1577825 in f32). */
    double refresh_cycles, line_fold_cycles, line_constant_cycles, line_fixed_cycles;
    /* Time by which the last tile ends after the others, in times of a tile; factor by which waves
     * are faster than the other rates predict. */
    double late_tiles, wave_factor;
    double copy_fraction; /* fraction of the copy bandwidth */
    /* 1D, where a warp reads, computes and writes in turn: fraction of the copy bandwidth; cycles
     * of a scheduler for each point of a lane if rows of a batch begin at any element: the load and
     * the store of one element by each lane touch 32 sectors each. */
    double line_copy_fraction, line_element_cycles;
    /* Cycles for each point of a lane in tiles at an edge, which are read point by point. */
    double line_edge_cycles;
} rates = {3, 0.6, 40, 20, 150, 1800, 1000, 1450, 0.3, 1.07, 0.88, 0.82, 90, 220};
/* Rates in 2D, fitted to 40 measured candidates. A cycle is one of a warp scheduler; a stage
 * computes one row of a warp's tile. */
static const struct {
    /* Cycles of an arithmetic instruction; further cycles of a stage. */
    double instruction_cycles, stage_issue_cycles;
    /* Cycles of an iteration: load and store of each point of a lane; each spilled word. */
    double point_cycles, spill_cycles;
    /* Latency of a stage, in cycles, if its warp waits for each result: chain_cycles for each
     * arithmetic instruction, and stage_cycles for the rest of the stage. */
    double chain_cycles, stage_cycles;
    /* Time of the last tile, which runs alone and at an edge, in times of a tile. */
    double late_tiles;
    /* Fraction of the edge cost that shows when there are several waves (10240^2, 9 taps, 10
     * steps: nearest 0.56 ms, fixed 0.54 ms). */
    double edge_fraction;
    /* Memory time in copy times; exponent of the norm that combines overlapping times. */
    double memory_factor, overlap_exponent;
} plane = {0.97, 2.5, 8, 12.4, 2.65, 24, 1.3, 0.2, 1.68, 4.5};
/* Seconds of a launch that nothing hides, as for a one-step launch. */
#define LAUNCH_OVERHEAD 1.5e-6
/* Cycles for each point of an iteration of a 3D tile at a side that is not fixed: if accesses have
 * 16 bytes (SIDE_CYCLES), and if they are narrower (SIDE_ELEMENT_CYCLES). */
#define SIDE_CYCLES 0.4
#define SIDE_ELEMENT_CYCLES 0.8
enum { SCHEDULERS = 4 }; /* warp schedulers of a multiprocessor */

typedef struct load {
    /* An iteration moves one row of one tile through all stages. */
    double tiles, iterations, iteration_seconds, latency;
    double edge; /* latency of an iteration at an edge */
} load;

/* Instructions for each point and step. Shuffles, moves and a point's share of the work before and
 * after all steps of a launch count as arithmetic instructions that take the same time. The rates
 * are fitted, and f64 in 3D is bound by memory and latency more than by arithmetic. */
static double instructions_per_point(const stn_task *task, const direct_shape *shape, double count, bool wide) {
    double fused = shape->fused;
    int kind = shape->kernel == DIRECT_TIME_LINE ? SPENT_LINE : wide ? SPENT_F64_3D : SPENT_3D;
    double own = spent[kind].a * count + spent[kind].fixed + spent[kind].of_launch / fused;
    if (kind == SPENT_F64_3D || kind == SPENT_3D) {
        if (!one_barrier(task, shape)) own += rates.second_barrier_instructions;
        if (direct_reach(task, shape, 0) > 1) own += rates.far_reach_fraction * count;
    }
    return own;
}

/* Cycles of a stage in 1D to refresh points past an edge. */
static double line_refresh(const stn_task *task) {
    double cycles = 0;
    for (int side = 0; side < 2; side++) {
        const stn_boundary_kind kind = task->boundary[2][side].kind;
        if (kind == STN_WRAP) continue;
        cycles = fmax(cycles, kind == STN_CONSTANT ? rates.line_constant_cycles
                              : kind == STN_FIXED  ? rates.line_fixed_cycles
                                                   : rates.line_fold_cycles);
    }
    return cycles;
}

static load load_of(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    bool wide = task->dtype == STN_F64, line = shape->kernel == DIRECT_TIME_LINE;
    /* Instructions times lanes a second. */
    double rate = machine->flops[wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32] / 2;
    double count = shape->operations;
    double points = (double)shape->threads[1] * shape->threads[2] * shape->rows * shape->points * shape->fused;
    double spent = instructions_per_point(task, shape, count, wide);
    int64_t tiles[3];
    direct_time_tiles(task, shape, tiles);
    load l;
    l.tiles = (double)(tiles[0] * tiles[1] * tiles[2] * task->batch);
    l.iterations = line ? 1 : shape->chunk + 2.0 * shape->fused * direct_reach(task, shape, 0);
    l.iteration_seconds = points * spent / rate;
    if (line && shape->vector == 1)
        l.iteration_seconds +=
            rates.line_element_cycles * shape->points / (machine->multiprocessors * SCHEDULERS * machine->clock);
    /* A multiprocessor has four warp schedulers. */
    int warps = shape->threads[1] * shape->threads[2] / DIRECT_TIME_LANES;
    double instructions = count * shape->points * shape->rows * (double)stn_div_up(warps, 4);
    l.latency = shape->fused *
                (rates.stage_cycles + rates.barrier_cycles * (warps > 1) + instructions * (wide ? 2 : 1)) /
                machine->clock;
    const double refresh = line ? line_refresh(task) : refreshes(task, shape) ? rates.refresh_cycles : 0;
    l.edge = l.latency + shape->fused * refresh / machine->clock;
    if (line) l.edge += shape->points * rates.line_edge_cycles / machine->clock;
    return l;
}

/* In 2D, the words of a lane's partial sums and addresses that its registers do not hold. */
static double spilled(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    const int words = task->dtype == STN_F64 ? 2 : 1, sums = 2 * direct_reach(task, shape, 0) * shape->points;
    const double room = fmin(255, (double)machine->registers_per_multiprocessor / (DIRECT_TIME_LANES * shape->blocks));
    return fmax(0, words * sums * shape->fused + DIRECT_TIME_ADDRESSES - room);
}

/* Cycles of one iteration of a warp with `warps` warps on a multiprocessor: the larger of its
 * scheduler's instructions and its own dependency chain. */
static double plane_iteration(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                              double warps) {
    const bool wide = task->dtype == STN_F64;
    const double each = (double)DIRECT_TIME_LANES * SCHEDULERS / (wide ? machine->wide_lanes : machine->lanes);
    const double count = (double)shape->operations * shape->points;
    const double stage = plane.instruction_cycles * each * count + plane.stage_issue_cycles;
    const double turn = shape->fused * stage + plane.point_cycles * each * shape->points +
                        plane.spill_cycles * spilled(task, machine, shape);
    const double chain = shape->fused * (plane.chain_cycles * count + plane.stage_cycles);
    return fmax(ceil(warps / SCHEDULERS) * turn, chain);
}

/* Seconds of a 2D launch: whole waves; the remaining tiles, which share the schedulers with fewer
 * warps; and the last tile, at an edge. */
static double plane_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                            const load *l) {
    const double at_once = (double)machine->multiprocessors * shape->blocks, whole = floor(l->tiles / at_once);
    const double left = (l->tiles - whole * at_once) / machine->multiprocessors;
    const double full = plane_iteration(task, machine, shape, shape->blocks);
    const double rest = left > 0 ? plane_iteration(task, machine, shape, left) : 0;
    /* Edge tiles occur in all waves, not only in the last. */
    const double spread = whole > 0 ? plane.edge_fraction : 1;
    const double refresh = refreshes(task, shape) ? spread * shape->fused * rates.refresh_cycles : 0;
    const double last = plane.late_tiles * ((whole > 0 ? full : rest) + refresh);
    return l->iterations * (whole * full + rest + last) / machine->clock;
}

/* Seconds by which an iteration of a 3D tile takes longer at a side that folds, because points past
 * the side get the points to which they fold one by one. Measured on grids of 78 x 205 x 378 to 787
 * x 151 x 461 points with 7 to 27 taps. */
static double side_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    const double points = (double)shape->threads[1] * shape->threads[2] * shape->rows * shape->points;
    const int bytes = shape->vector * (int)stn_dtype_size(task->dtype);
    /* Points past sides that wrap are copied as others. */
    return refreshes(task, shape) ? points * (bytes < 16 ? SIDE_ELEMENT_CYCLES : SIDE_CYCLES) / machine->clock : 0;
}

/* The part of a launch's time in which tiles at sides y and x set the pace. With few waves, some
 * multiprocessor has many of them. */
static double part_at_sides(const stn_task *task, const direct_shape *shape, double waves) {
    int64_t tiles[3];
    direct_time_tiles(task, shape, tiles);
    const double inside = fmax(0, 1 - 2 / (double)tiles[1]) * fmax(0, 1 - 2 / (double)tiles[2]);
    return fmin(1, (1 - inside) * (1 + 2 / waves));
}

/* Seconds of one launch's work. Tiles run in waves of resident blocks; the last tile of the launch
 * ends late_tiles of a tile after the others. An iteration takes the larger of a wave's arithmetic
 * and one tile's chain of stages. The launch takes at least as long as a tile at an edge. */
static double work_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape, const load *l) {
    if (shape->kernel == DIRECT_TIME_TILE && task->rank == 2) return plane_seconds(task, machine, shape, l);
    double resident = (double)machine->multiprocessors * shape->blocks;
    double turn = (l->tiles < resident ? l->tiles : resident) * l->iteration_seconds;
    if (turn < l->latency) turn = l->latency;
    if (task->rank == 3)
        turn += side_seconds(task, machine, shape) * part_at_sides(task, shape, ceil(l->tiles / resident));
    return fmax((ceil(l->tiles / resident) + rates.late_tiles) / rates.wave_factor * l->iterations * turn,
                l->iterations * l->edge);
}

/* Sets shape->chunk to the cheapest number of rows of a tile: long tiles recompute fewer rows,
 * short tiles fill the last wave. 2D tiles that recompute more than a fifth of their rows are fast
 * only if the grid has about one wave of tiles (4096^2 in f32, 10 steps: 53 rows 0.115 ms, 106 rows
 * 0.148 ms). With one to two waves the limit is two fifths (MIN_PART_OF_FEW). */
enum { MIN_PART = 10, MIN_PART_OF_FEW = 5, MANY_WAVES = 2 };
static void fit_chunk(const stn_task *task, const stn_machine *machine, direct_shape *shape) {
    const int reach = direct_reach(task, shape, 0);
    int64_t n = task->n[direct_axis(task, shape, 0)], most = n / reach, whole[3];
    int best = (int)stn_min(n, INT32_MAX);
    double least = 0, tiles_before = 0;
    shape->chunk = best;
    load l = load_of(task, machine, shape);
    direct_time_tiles(task, shape, whole);
    for (int64_t tiles = 1; tiles <= most && tiles <= 1024; tiles += 1 + tiles / 64) {
        shape->chunk = (int)stn_min(stn_div_up(n, tiles), INT32_MAX);
        l.tiles = (double)(stn_div_up(n, shape->chunk) * whole[1] * whole[2] * task->batch);
        l.iterations = shape->chunk + 2.0 * shape->fused * reach;
        const double waves = tiles_before / ((double)machine->multiprocessors * shape->blocks);
        const int part = waves < MANY_WAVES ? MIN_PART_OF_FEW : MIN_PART;
        if (task->rank == 2 && waves >= 1 && shape->chunk < part * shape->fused * reach) break;
        double seconds = work_seconds(task, machine, shape, &l);
        if (tiles == 1 || seconds < least) least = seconds, best = shape->chunk;
        tiles_before = l.tiles;
    }
    shape->chunk = best;
}

/* Factor of accesses of [8 bytes, 4 bytes, words of 4 bytes that begin at any element]: in 2D, in
 * 3D, and in 3D where y and x wrap. Measured with ten steps of heat on grids of 8190 to 8195
 * columns in 2D and 510 to 515 in 3D. */
enum { PLANE, VOLUME, WRAPPED };
static const double narrow_factor[][3] = {
    [PLANE] = {1, 1.03, 1.2}, [VOLUME] = {1.12, 1.36, 1.6}, [WRAPPED] = {1.12, 1.3, 1.6}};
/* Factor of three steps by 3D tiles in f32 and f16 of which two fit a multiprocessor: one computes
 * while the other one waits. Measured on grids of 511 to 514 columns with fixed sides; two steps do
 * not gain. In words of f16 (513 columns, fixed sides) one tile of three steps gains as much: it
 * waits less. Where y and x wrap, no tile is slower than others, and three steps take
 * wrapped_factor by one or two tiles (512 to 514 columns, 4 x 4 points a lane). */
#define TWO_BLOCKS_FACTOR 0.79
static const double wrapped_factor[] = {[STN_F32] = 0.82, [STN_F16] = 0.7};

static double access_factor(const stn_task *task, const direct_shape *shape) {
    const int bytes = shape->vector * (int)stn_dtype_size(task->dtype);
    if (shape->kernel != DIRECT_TIME_TILE || direct_time_spans(task, shape)) return 1;
    const bool wraps = task->boundary[1][0].kind == STN_WRAP && task->boundary[2][0].kind == STN_WRAP;
    const int row = task->rank < 3 ? PLANE : wraps ? WRAPPED : VOLUME;
    double factor = bytes >= 16 ? 1 : narrow_factor[row][bytes == 8 ? 0 : bytes == 4 ? 1 : 2];
    if (task->rank == 3 && task->dtype != STN_F64 && shape->fused > 2)
        factor *= wraps                                                                   ? wrapped_factor[task->dtype]
                  : shape->blocks > 1 || (paired(task, shape) && !refreshes(task, shape)) ? TWO_BLOCKS_FACTOR
                                                                                          : 1;
    return factor;
}

/* Corrections of the 3D times that follow from the rates: a factor, and seconds of a launch. */
static const struct {
    double factor, start;
} volume[] = {[STN_F64] = {1.22, 2.25e-6}, [STN_F32] = {1.125, 9e-6}, [STN_F16] = {1, 0}};

static double launch_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                             double *computed) {
    load l = load_of(task, machine, shape);
    *computed = l.tiles * l.iterations * shape->threads[1] * shape->threads[2] * shape->rows * shape->points;
    double bytes = 2.0 * (double)stn_dtype_size(task->dtype) * (double)stn_task_points(task);
    const double copy = bytes / machine->copy_bandwidth, memory = copy / rates.copy_fraction;
    double seconds = work_seconds(task, machine, shape, &l);
    if (shape->kernel == DIRECT_TIME_TILE && task->rank == 2) {
        const double both =
            pow(pow(plane.memory_factor * copy, plane.overlap_exponent) + pow(seconds, plane.overlap_exponent),
                1 / plane.overlap_exponent);
        return both + LAUNCH_OVERHEAD + machine->launch_seconds;
    }
    if (shape->kernel == DIRECT_TIME_LINE)
        return copy / rates.line_copy_fraction + seconds + LAUNCH_OVERHEAD + machine->launch_seconds;
    return (memory > seconds ? memory : seconds) * volume[task->dtype].factor + volume[task->dtype].start +
           machine->launch_seconds;
}

double direct_time_launch_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                                  double *computed) {
    return launch_seconds(task, machine, shape, computed) * access_factor(task, shape);
}

/* ---- shapes */

static bool is_supported(const stn_task *task, const direct_shape *shape) {
    int longest = shape->kernel == DIRECT_TIME_LINE ? LINE_MAX_REACH : MAX_REACH;
    for (int k = 0; k < 3; k++) {
        int axis = direct_axis(task, shape, k), reach = direct_reach(task, shape, k);
        bool used = k == 2 || (shape->kernel == DIRECT_TIME_TILE && (k == 0 || task->rank == 3));
        if (used ? reach < 1 || reach > longest : reach > 0) return false;
        if (used && task->n[axis] < 2 * reach + 2) return false;
        /* Indices are 32-bit. */
        if (shape->kernel == DIRECT_TIME_TILE && task->n[axis] > INT32_MAX / 4) return false;
    }
    return task->in_stride[2] == 1 && task->out_stride[2] == 1;
}

/* Mirrors shared_type of direct/time_tile.cuh. */
size_t direct_time_shared(const stn_task *task, const direct_shape *shape) {
    if (shape->kernel != DIRECT_TIME_TILE) return 0;
    size_t size = stn_dtype_size(task->dtype), real = task->dtype == STN_F64 ? 8 : 4;
    size_t width = (size_t)(shape->threads[2] * shape->points), height = (size_t)(shape->threads[1] * shape->rows);
    int reach = direct_reach(task, shape, 1);
    const bool narrow = task->rank == 3 && (size_t)shape->vector * size <= 4;
    bool transposes = shape->points > (narrow ? 2 : 1) * shape->vector && !paired(task, shape);
    const bool refresh = refreshes(task, shape);
    size_t rows = (size_t)shape->threads[1] * width * (reach ? 2 * (size_t)reach * (size_t)shape->fused : 1);
    const size_t gap = (size_t)shape->points * size > 16 ? GAP_BYTES : 0;
    const size_t plane_bytes = width * height * size + gap * (size_t)shape->rows;
    size_t bytes = (size_t)(DIRECT_TIME_PREFETCH + 1 + transposes) * plane_bytes;
    bytes = (size_t)stn_round_up((int64_t)bytes, (int64_t)real) + (refresh ? width * height + 4 : 2) * real;
    size_t sources = refresh ? width * height * sizeof(uint16_t) : 0;
    return (size_t)stn_round_up((int64_t)bytes, 16) + (one_barrier(task, shape) ? 2 : 1) * rows * real + sources + 16;
}

/* In 3D, whether a lane's registers hold the partial sums of all stages and 2 z + 1 further values
 * of each point: at most 255 registers, or the lane's part of the multiprocessor's. */
static bool registers_hold(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    if (task->rank < 3) return true; /* plane_shapes limits the steps to what registers hold */
    int words = task->dtype == STN_F64 ? 2 : 1, points = shape->rows * shape->points, z = direct_reach(task, shape, 0);
    int held = words * (2 * z * shape->fused + 2 * z + 1) * points;
    int lanes = shape->threads[1] * shape->threads[2] * shape->blocks;
    return held + DIRECT_TIME_ADDRESSES <= stn_min(255, (int64_t)machine->registers_per_multiprocessor / lanes);
}

/* Whether taps reach no further than the points and rows of one neighbouring lane, and a tile
 * stores more points than taps reach; in 1D and 2D at least the points of 8 lanes. */
static bool reach_holds(const stn_task *task, const direct_shape *shape) {
    const bool volume = task->rank == 3;
    if (direct_reach(task, shape, 2) > shape->points || (volume && direct_reach(task, shape, 1) > shape->rows))
        return false;
    if (own_x(task, shape) <= direct_reach(task, shape, 2)) return false;
    return volume ? own_y(task, shape) > direct_reach(task, shape, 1) : own_x(task, shape) >= 8 * shape->points;
}

static bool fits(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    if (shape->fused < 2 || (uint64_t)shape->fused > task->steps) return false;
    if (!reach_holds(task, shape) || !registers_hold(task, machine, shape)) return false;
    if (direct_time_shared(task, shape) > machine->shared_per_block) return false;
    /* The threads of shape->blocks blocks fit a multiprocessor. */
    if (shape->blocks < 1 || shape->blocks > MAX_RESIDENT_BLOCKS ||
        shape->blocks * shape->threads[0] * shape->threads[1] * shape->threads[2] > machine->threads)
        return false;
    /* In rows of f16 that begin at any element a lane has one to four words. */
    if (paired(task, shape) && (shape->points < 2 || shape->points > 8)) return false;
    /* The words of such rows wrap once. */
    const int y = direct_axis(task, shape, 1);
    if (paired(task, shape) && task->boundary[2][0].kind == STN_WRAP && task->n[2] < margin_x(task, shape) + 2)
        return false;
    if (paired(task, shape) && task->boundary[y][0].kind == STN_WRAP &&
        task->n[y] < (int64_t)shape->fused * direct_reach(task, shape, 1))
        return false;
    int64_t tiles[3];
    direct_time_tiles(task, shape, tiles);
    return (double)tiles[0] * (double)tiles[1] * (double)tiles[2] * (double)task->batch < 0x7fffffff;
}

bool direct_time_refit(const stn_task *task, const stn_machine *machine, direct_shape *shape, bool chunk) {
    /* A change may have made the shape invalid. */
    if (shape->blocks < 1 || shape->chunk < 1 || shape->points < shape->vector) return false;
    if (!fits(task, machine, shape)) return false;
    if (chunk && shape->kernel != DIRECT_TIME_LINE) fit_chunk(task, machine, shape);
    return true;
}

static direct_shape time_shape(const stn_task *task, const stn_machine *machine, direct_kernel kernel, int fused,
                               int points, int blocks) {
    direct_shape shape = {.kernel = kernel, .rows = 1, .chunk = 1, .threads = {1, 1, DIRECT_TIME_LANES}, .unroll = 1};
    shape.vector = (int)stn_min(direct_widest_vector(task, true), points);
    shape.fused = fused;
    shape.points = points;
    shape.blocks = blocks;
    shape.mirror = direct_time_mirror(task, &shape);
    shape.operations = direct_time_operations(task, &shape, shape.mirror);
    if (kernel == DIRECT_TIME_LINE)
        shape.unroll = 4;
    else
        fit_chunk(task, machine, &shape);
    return shape;
}

static double waves_of(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    int64_t tiles[3];
    if (own_x(task, shape) < 1) return INFINITY;
    direct_time_tiles(task, shape, tiles);
    return (double)(tiles[2] * task->batch) / ((double)machine->multiprocessors * shape->blocks);
}

static size_t line_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most) {
    int reach = task->reach[2][0] > task->reach[2][1] ? task->reach[2][0] : task->reach[2][1];
    bool wide = task->dtype == STN_F64;
    static const int spread[] = {64, 48, 32, 16, 8, 4}; /* margin sizes in points */
    size_t count = 0;
    for (size_t i = 0; i < sizeof spread / sizeof *spread && count < most; i++) {
        int points = wide && spread[i] <= 32 ? 16 : 32, blocks = points == 16 ? 24 : wide ? 12 : 20;
        int fused = (int)stn_min((uint64_t)(spread[i] / reach), task->steps);
        if (fused < 2) break;
        direct_shape shape = time_shape(task, machine, DIRECT_TIME_LINE, fused, points, blocks);
        if (fits(task, machine, &shape)) shapes[count++] = shape;
        if ((uint64_t)fused == task->steps) break;
    }
    if (wide && count && count < most && (uint64_t)shapes[0].fused == task->steps && shapes[0].fused * reach <= 16) {
        /* More, shorter tiles. */
        direct_shape shape = time_shape(task, machine, DIRECT_TIME_LINE, shapes[0].fused, 16, 16);
        if (fits(task, machine, &shape)) shapes[count++] = shape;
        shape = time_shape(task, machine, DIRECT_TIME_LINE, shape.fused, 8, 16);
        /* 131072 points: 4.4 us, against 6.2 us with 16 points a lane */
        const bool few = waves_of(task, machine, &shape) < 1;
        if (few && count < most && fits(task, machine, &shape)) shapes[count++] = shape;
    }
    return count;
}

/* Points of a lane: the fewest of 2, 4 and 8 with which a tile spans the rows of the grid and the
 * registers hold the partial sums of two steps; 4 if there is no such number. */
static int plane_points(const stn_task *task, int sums_most) {
    for (int points = 2; points <= 8; points *= 2) {
        direct_shape shape = {.kernel = DIRECT_TIME_TILE, .threads = {1, 1, DIRECT_TIME_LANES}, .points = points};
        shape.vector = (int)stn_min(direct_widest_vector(task, true), points);
        int sums = 2 * direct_reach(task, &shape, 0) * points;
        if (direct_reach(task, &shape, 2) <= points && 2 * sums <= sums_most && direct_time_spans(task, &shape))
            return points;
    }
    return 4;
}

/* The partial sums of all stages stay in registers: 72 doubles or 96 floats a lane fit. A spill
 * costs more than a step gains, because so much shared memory leaves little L1 for local memory. */
static size_t plane_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most) {
    bool wide = task->dtype == STN_F64;
    direct_shape probe = {.kernel = DIRECT_TIME_TILE};
    int sums_most = wide ? 72 : 96, points = plane_points(task, sums_most);
    int sums = 2 * direct_reach(task, &probe, 0) * points, deepest = sums_most / sums;
    size_t count = 0;
    for (int fused = (int)stn_min((uint64_t)deepest, task->steps); fused >= 2 && count < most; fused--) {
        int held = fused * sums;
        direct_shape shape = time_shape(task, machine, DIRECT_TIME_TILE, fused, points,
                                        wide                                 ? 8
                                        : held > (task->ntaps > 5 ? 72 : 64) ? 12
                                                                             : 16);
        if (fits(task, machine, &shape)) shapes[count++] = shape;
    }
    for (int fused = (int)stn_min(6, task->steps); wide && points == 4 && fused >= 4 && count < most; fused--) {
        /* More tiles, for grids of few waves. */
        direct_shape shape = time_shape(task, machine, DIRECT_TIME_TILE, fused, 2, 8);
        if (fits(task, machine, &shape)) shapes[count++] = shape;
    }
    return count;
}

/* Shapes for 3D grids, by tiles of an x-y plane; a lane's sums of all stages must stay in
 * registers. */
static size_t volume_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most) {
    static const struct {
        bool wide;
        int fused, points, rows, lanes_x, warps, blocks;
    } sweeps[] = {{true, 3, 2, 4, 32, 8, 1},   {true, 2, 2, 4, 32, 12, 1}, {true, 2, 2, 4, 32, 8, 1},
                  {true, 2, 2, 2, 16, 8, 2},   {false, 3, 4, 4, 16, 8, 1}, {false, 3, 2, 4, 32, 8, 2},
                  {false, 2, 2, 4, 32, 16, 1}, {false, 2, 4, 4, 16, 8, 1}, {false, 2, 2, 4, 16, 8, 2}};
    bool wide = task->dtype == STN_F64;
    size_t count = 0;
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps && count < most; i++) {
        int points = sweeps[i].points, lanes_x = sweeps[i].lanes_x;
        if (sweeps[i].wide != wide || (uint64_t)sweeps[i].fused > task->steps) continue;
        direct_shape shape = {.kernel = DIRECT_TIME_TILE, .rows = sweeps[i].rows, .chunk = 1, .unroll = 1};
        shape.vector = (int)stn_min(direct_widest_vector(task, true), points);
        shape.fused = sweeps[i].fused;
        shape.points = points;
        shape.threads[0] = 1, shape.threads[1] = DIRECT_TIME_LANES / lanes_x * sweeps[i].warps,
        shape.threads[2] = lanes_x;
        shape.blocks = sweeps[i].blocks;
        shape.mirror = direct_time_mirror(task, &shape);
        shape.operations = direct_time_operations(task, &shape, shape.mirror);
        if (!fits(task, machine, &shape)) continue;
        fit_chunk(task, machine, &shape);
        shapes[count++] = shape;
    }
    return count;
}

size_t direct_time_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most) {
    direct_shape probe = {.kernel = task->rank == 1 ? DIRECT_TIME_LINE : DIRECT_TIME_TILE};
    if (task->steps < 2 || !is_supported(task, &probe)) return 0;
    return task->rank == 1   ? line_shapes(task, machine, shapes, most)
           : task->rank == 2 ? plane_shapes(task, machine, shapes, most)
                             : volume_shapes(task, machine, shapes, most);
}
