/* See time.h. The rules and the rates were read off sweeps on an H200: a warp without neighbours, as many stages in
 * flight as registers hold, and few enough registers that eight to twelve warps fit on a multiprocessor. */
#include "strategies/direct/time.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "strategies/direct/taps.h"

#define MAX_REACH 4      /* of direct_time_tile, along any axis */
#define LINE_MAX_REACH 8 /* of the 1D kernel */
#define LANES 32
/* What these kernels reach on an H200: bench/results/2026-11-21-direct-time.md and
 * bench/results/2026-11-21-direct-time-limits.md. */
static const struct {
    double a, fixed,
        of_launch; /* instructions a point and step: a * (those of its arithmetic) + fixed + of_launch / (steps of a launch) */
} spent[] = {{0.95, 0.3, 0}, {0.65, 0, 37}, {0.9, 3, 30}};
enum { SPENT_LINE, SPENT_WIDE_BRICK, SPENT_BRICK };
static const struct {
    double chained, far; /* bricks: instructions more with a second barrier; part more with a reach past 1 */
    double stage_cycles, barrier_cycles; /* of a stage's chain, beside its arithmetic */
    double settle_cycles; /* of a stage beside an edge: points past it are taken from others of the plane */
    double late, waves;   /* part of a tile by which the last of a wave are late; times the whole waves' time */
    double memory;        /* part of the copy bandwidth */
    double
        line_memory; /* a tile of a line is read, stepped and written in turn: part of the copy bandwidth, however few steps */
    double line_edge; /* cycles a point of a lane: tiles beside an edge read point by point */
} rates = {3, 0.6, 40, 20, 150, 0.3, 1.07, 0.88, 0.5, 220};
/* Planes, fitted to 40 measured candidates: bench/results/2026-11-23-estimates.md. Cycles are of a scheduler, of a warp's row of points. */
static const struct {
    double issue, more;         /* of an arithmetic instruction; of a stage besides */
    double row, spill;          /* of a turn: each point of a lane, to come and go; each word that no register holds */
    double chain, stage_cycles; /* of a stage that waits for itself: each arithmetic instruction, and beside them */
    double late;                /* the last tile of all, at an edge and without others, in tiles */
    double memory, norm;        /* times the copy's time, and the norm of what is beside each other */
} plane = {0.97, 2.5, 16, 12.4, 2.65, 32, 1.3, 1.68, 4.5};
#define LAUNCH_BESIDE 1.5e-6 /* seconds of a launch that nothing hides, as of a step's */
enum { SCHEDULERS = 4 };     /* of a multiprocessor */

#define ADDRESSES 44   /* registers of a lane beside its sums */
#define BLOCKS_MOST 32 /* that a multiprocessor holds, of any kernel */

bool direct_time_spans(const stn_task *task, const direct_shape *shape) {
    if (shape->kernel != DIRECT_TIME_TILE || task->rank != 2 || task->boundary[2][0].kind == STN_WRAP) return false;
    int64_t past = stn_round_up(direct_reach(task, shape, 2), shape->vector);
    return task->n[2] + 2 * past <= (int64_t)shape->threads[2] * shape->points;
}

static int margin_x(const stn_task *task, const direct_shape *shape) {
    if (direct_time_spans(task, shape)) return (int)stn_round_up(direct_reach(task, shape, 2), shape->vector);
    return (int)stn_round_up((int64_t)shape->fused * direct_reach(task, shape, 2), shape->vector);
}

/* threads: of a line or in 2D one warp along x; in 3D warps above each other, each threads[2] lanes wide. */
static int own_x(const stn_task *task, const direct_shape *shape) {
    return shape->threads[2] * shape->points - 2 * margin_x(task, shape);
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

/* ONE_BARRIER of device/time_tile.cuh: one barrier a turn. */
static bool has_one_barrier(const stn_task *task, const direct_shape *shape) {
    if (direct_reach(task, shape, 1) == 0 || (shape->mirror & DIRECT_MIRROR_Z)) return false;
    for (size_t t = 0; t < task->ntaps; t++) {
        const int64_t *o = task->taps[t].offset;
        if (o[direct_axis(task, shape, 0)] && (o[direct_axis(task, shape, 1)] || o[2])) return false;
    }
    return true;
}

/* REFRESH of direct/time_tile.cuh: points past an edge along y or x are taken from others of their plane in every stage. */
static bool settles(const stn_task *task, const direct_shape *shape) {
    for (int k = 1; k < 3; k++)
        for (int side = 0; side < 2; side++) {
            const stn_boundary_kind kind = task->boundary[direct_axis(task, shape, k)][side].kind;
            if (kind != STN_WRAP && kind != STN_FIXED) return true;
        }
    return false;
}

/* ---- cost --------------------------------------------------------------------------------------------------------- */

typedef struct load {
    double tiles, turns, turn_seconds, latency; /* a turn: one row of one tile through all stages */
    double edge;                                /* latency of a turn beside an edge */
} load;

/* Instructions a point and step, as if all were arithmetic: shuffles and moves besides, and what a launch costs a point. Read
 * off sweeps: f64 in 3D is held up by memory and latency more than by its arithmetic. */
static double spent_on_point(const stn_task *task, const direct_shape *shape, double count, bool wide) {
    double fused = shape->fused;
    int kind = shape->kernel == DIRECT_TIME_LINE ? SPENT_LINE : wide ? SPENT_WIDE_BRICK : SPENT_BRICK;
    double own = spent[kind].a * count + spent[kind].fixed + spent[kind].of_launch / fused;
    if (kind == SPENT_WIDE_BRICK || kind == SPENT_BRICK) {
        if (!has_one_barrier(task, shape)) own += rates.chained;
        if (direct_reach(task, shape, 0) > 1) own += rates.far * count;
    }
    return own;
}

static load load_of(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    bool wide = task->dtype == STN_F64, line = shape->kernel == DIRECT_TIME_LINE;
    double rate =
        machine->flops[wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32] / 2; /* instructions times lanes a second */
    double count = shape->operations;
    double points = (double)shape->threads[1] * shape->threads[2] * shape->rows * shape->points * shape->fused;
    double spent = spent_on_point(task, shape, count, wide);
    int64_t tiles[3];
    direct_time_tiles(task, shape, tiles);
    load l;
    l.tiles = (double)(tiles[0] * tiles[1] * tiles[2] * task->batch);
    l.turns = line ? 1 : shape->chunk + 2.0 * shape->fused * direct_reach(task, shape, 0);
    l.turn_seconds = points * spent / rate;
    int warps = shape->threads[1] * shape->threads[2] / LANES; /* four of them issue at once */
    double instructions = count * shape->points * shape->rows * (double)stn_div_up(warps, 4);
    l.latency = shape->fused *
                (rates.stage_cycles + rates.barrier_cycles * (warps > 1) + instructions * (wide ? 2 : 1)) /
                machine->clock;
    l.edge = l.latency + (settles(task, shape) ? shape->fused * rates.settle_cycles / machine->clock : 0);
    if (line) l.edge += shape->points * rates.line_edge / machine->clock;
    return l;
}

/* Words of partial sums, and of what finds them, that a lane of a plane has no registers for. */
static double spilled(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    const int words = task->dtype == STN_F64 ? 2 : 1, sums = 2 * direct_reach(task, shape, 0) * shape->points;
    const double room = fmin(255, (double)machine->registers_per_multiprocessor / (LANES * shape->blocks));
    return fmax(0, words * sums * shape->fused + ADDRESSES - room);
}

/* Cycles of a turn of one warp where so many are on a multiprocessor: its scheduler's instructions of all its warps, or its own chain. */
static double plane_turn(const stn_task *task, const stn_machine *machine, const direct_shape *shape, double warps) {
    const bool wide = task->dtype == STN_F64;
    const double each = (double)LANES * SCHEDULERS / (wide ? machine->wide_lanes : machine->lanes);
    const double count = (double)shape->operations * shape->points;
    const double stage = plane.issue * each * count + plane.more;
    const double turn =
        shape->fused * stage + plane.row * each * shape->points + plane.spill * spilled(task, machine, shape);
    const double chain = shape->fused * (plane.chain * count + plane.stage_cycles);
    return fmax(ceil(warps / SCHEDULERS) * turn, chain);
}

/* Whole waves, then those that are left, which have the schedulers to themselves; and the last, at an edge. */
static double plane_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                            const load *l) {
    const double at_once = (double)machine->multiprocessors * shape->blocks, whole = floor(l->tiles / at_once);
    const double left = (l->tiles - whole * at_once) / machine->multiprocessors;
    const double full = plane_turn(task, machine, shape, shape->blocks);
    const double rest = left > 0 ? plane_turn(task, machine, shape, left) : 0;
    const double settling = settles(task, shape) ? shape->fused * rates.settle_cycles : 0;
    const double last = plane.late * ((whole > 0 ? full : rest) + settling);
    return l->turns * (whole * full + rest + last) / machine->clock;
}

/* Seconds of one launch's work. Tiles run in waves of as many as are resident; the last of a wave are late by a third of a
 * tile, being at edges. A wave's turn is as long as its arithmetic, or as one tile's chain of stages. */
static double work_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape, const load *l) {
    if (shape->kernel == DIRECT_TIME_TILE && task->rank == 2) return plane_seconds(task, machine, shape, l);
    double resident = (double)machine->multiprocessors * shape->blocks;
    double turn = (l->tiles < resident ? l->tiles : resident) * l->turn_seconds;
    if (turn < l->latency) turn = l->latency;
    return fmax((ceil(l->tiles / resident) + rates.late) / rates.waves * l->turns * turn, l->turns * l->edge);
}

/* The rows of a tile: long ones repeat fewer rows, short ones fill the last wave. None of planes that repeats more than a fifth is measured, so those
 * are only for grids that have too few tiles. */
enum { LEAST_PART = 10 };
static void fit_chunk(const stn_task *task, const stn_machine *machine, direct_shape *shape) {
    const int reach = direct_reach(task, shape, 0);
    int64_t n = task->n[direct_axis(task, shape, 0)], most = n / reach;
    int best = (int)stn_min(n, INT32_MAX);
    double least = 0, tiles_before = 0;
    for (int64_t tiles = 1; tiles <= most && tiles <= 1024; tiles += 1 + tiles / 64) {
        shape->chunk = (int)stn_min(stn_div_up(n, tiles), INT32_MAX);
        load l = load_of(task, machine, shape);
        const bool enough = tiles_before >= (double)machine->multiprocessors * shape->blocks;
        if (task->rank == 2 && enough && shape->chunk < LEAST_PART * shape->fused * reach) break;
        double seconds = work_seconds(task, machine, shape, &l);
        if (tiles == 1 || seconds < least) least = seconds, best = shape->chunk;
        tiles_before = l.tiles;
    }
    shape->chunk = best;
}

double direct_time_launch_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
                                  double *computed) {
    load l = load_of(task, machine, shape);
    *computed = l.tiles * l.turns * shape->threads[1] * shape->threads[2] * shape->rows * shape->points;
    double bytes = 2.0 * (double)stn_dtype_size(task->dtype) * (double)stn_task_points(task);
    const double copy = bytes / machine->copy_bandwidth, memory = copy / rates.memory;
    double seconds = work_seconds(task, machine, shape, &l);
    if (shape->kernel == DIRECT_TIME_TILE && task->rank == 2) {
        const double both = pow(pow(plane.memory * copy, plane.norm) + pow(seconds, plane.norm), 1 / plane.norm);
        return both + LAUNCH_BESIDE + machine->launch_seconds;
    }
    if (shape->kernel == DIRECT_TIME_LINE)
        return fmax(copy / rates.line_memory, seconds) + LAUNCH_BESIDE + machine->launch_seconds;
    return (memory > seconds ? memory : seconds) + machine->launch_seconds;
}

/* ---- shapes ------------------------------------------------------------------------------------------------------- */

static bool takes(const stn_task *task, const direct_shape *shape) {
    int longest = shape->kernel == DIRECT_TIME_LINE ? LINE_MAX_REACH : MAX_REACH;
    for (int k = 0; k < 3; k++) {
        int axis = direct_axis(task, shape, k), reach = direct_reach(task, shape, k);
        bool used = k == 2 || (shape->kernel == DIRECT_TIME_TILE && (k == 0 || task->rank == 3));
        if (used ? reach < 1 || reach > longest : reach > 0) return false;
        if (used && task->n[axis] < 2 * reach + 2) return false;
        if (shape->kernel == DIRECT_TIME_TILE && task->n[axis] > INT32_MAX / 4) return false; /* counted in 32 bits */
    }
    return task->in_stride[2] == 1 && task->out_stride[2] == 1;
}

/* As shared_type of device/time_tile.cuh. */
size_t direct_time_shared(const stn_task *task, const direct_shape *shape) {
    if (shape->kernel != DIRECT_TIME_TILE) return 0;
    size_t size = stn_dtype_size(task->dtype), real = task->dtype == STN_F64 ? 8 : 4;
    size_t width = (size_t)(shape->threads[2] * shape->points), height = (size_t)(shape->threads[1] * shape->rows);
    int reach = direct_reach(task, shape, 1);
    bool turned = shape->points > shape->vector, refresh = settles(task, shape);
    size_t rows = (size_t)shape->threads[1] * width * (reach ? 2 * (size_t)reach * (size_t)shape->fused : 1);
    size_t bytes = (size_t)(DIRECT_TIME_PREFETCH + 1 + turned) * width * height * size;
    bytes = (size_t)stn_round_up((int64_t)bytes, (int64_t)real) + (refresh ? width * height + 4 : 2) * real;
    size_t sources = refresh ? width * height * sizeof(uint16_t) : 0;
    return (size_t)stn_round_up((int64_t)bytes, 16) + (has_one_barrier(task, shape) ? 2 : 1) * rows * real + sources +
           16;
}

/* Partial sums, and with ONE_BARRIER the planes of a turn, stay in registers, of which a lane has at most 255. */
static bool registers_hold(const stn_task *task, const stn_machine *machine, void *of) {
    const direct_shape *shape = of;
    if (task->rank < 3) return true; /* flat_shapes takes no more steps than they hold */
    int words = task->dtype == STN_F64 ? 2 : 1, points = shape->rows * shape->points, z = direct_reach(task, shape, 0);
    int held = words * (2 * z * shape->fused + 2 * z + 1) * points;
    int lanes = shape->threads[1] * shape->threads[2] * shape->blocks;
    return held + ADDRESSES <= stn_min(255, (int64_t)machine->registers_per_multiprocessor / lanes);
}

static bool steps_hold(const stn_task *task, const stn_machine *machine, void *of) {
    const direct_shape *shape = of;
    (void)machine;
    return shape->fused >= 2 && (uint64_t)shape->fused <= task->steps;
}

static bool reach_holds(const stn_task *task, const stn_machine *machine, void *of) {
    const direct_shape *shape = of;
    (void)machine;
    return direct_reach(task, shape, 2) <= shape->points &&
           (task->rank < 3 || direct_reach(task, shape, 1) <= shape->rows);
}

static bool own_points_hold(const stn_task *task, const stn_machine *machine, void *of) {
    const direct_shape *shape = of;
    (void)machine;
    if (own_x(task, shape) <= direct_reach(task, shape, 2)) return false;
    return task->rank == 3 ? own_y(task, shape) > direct_reach(task, shape, 1)
                           : own_x(task, shape) >= 8 * shape->points;
}

static bool shared_holds(const stn_task *task, const stn_machine *machine, void *of) {
    return direct_time_shared(task, of) <= machine->shared_per_block;
}

static bool threads_hold(const stn_task *task, const stn_machine *machine, void *of) {
    const direct_shape *shape = of;
    (void)task;
    return shape->blocks >= 1 && shape->blocks <= BLOCKS_MOST &&
           shape->blocks * shape->threads[0] * shape->threads[1] * shape->threads[2] <= machine->threads;
}

static bool blocks_hold(const stn_task *task, const stn_machine *machine, void *of) {
    int64_t tiles[3];
    (void)machine;
    direct_time_tiles(task, of, tiles);
    return (double)tiles[0] * (double)tiles[1] * (double)tiles[2] * (double)task->batch < 0x7fffffff;
}

static const stn_constraint constraints[] = {
    {"fused steps", "a launch makes two steps or more, and no more than the run has", steps_hold},
    {"reach", "the points and rows of a lane reach as far as the taps", reach_holds},
    {"own points", "a tile is wider than the margins that its neighbours compute too", own_points_hold},
    {"registers", "the sums of all fused steps stay in a lane's registers", registers_hold},
    {"shared memory", "the planes of a tile fit a block's shared memory", shared_holds},
    {"threads", "a multiprocessor runs as many blocks at once", threads_hold},
    {"blocks", "a launch has fewer than 2^31 blocks", blocks_hold},
};

static bool fits(const stn_task *task, const stn_machine *machine, direct_shape *shape, stn_tally *tally) {
    return STN_CONSTRAINTS_HOLD(constraints, task, machine, shape, tally);
}

bool direct_time_refit(const stn_task *task, const stn_machine *machine, direct_shape *shape, bool chunk,
                       stn_tally *tally) {
    if (shape->blocks < 1 || shape->chunk < 1 || shape->points < shape->vector) return false; /* it is no shape */
    if (!fits(task, machine, shape, tally)) return false;
    if (chunk && shape->kernel != DIRECT_TIME_LINE) fit_chunk(task, machine, shape);
    return true;
}

static direct_shape time_shape(const stn_task *task, const stn_machine *machine, direct_kernel kernel, int fused,
                               int points, int blocks) {
    direct_shape shape = {.kernel = kernel, .rows = 1, .chunk = 1, .threads = {1, 1, LANES}, .unroll = 1};
    shape.vector = (int)stn_min(direct_widest_vector(task), points);
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

static size_t line_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most,
                          stn_tally *tally) {
    int reach = task->reach[2][0] > task->reach[2][1] ? task->reach[2][0] : task->reach[2][1];
    bool wide = task->dtype == STN_F64;
    static const int spread[] = {64, 48, 32, 16, 8, 4}; /* points of a margin */
    size_t count = 0;
    for (size_t i = 0; i < sizeof spread / sizeof *spread && count < most; i++) {
        int points = wide && spread[i] <= 32 ? 16 : 32, blocks = points == 16 ? 24 : wide ? 12 : 20;
        int fused = (int)stn_min((uint64_t)(spread[i] / reach), task->steps);
        if (fused < 2) break;
        direct_shape shape = time_shape(task, machine, DIRECT_TIME_LINE, fused, points, blocks);
        if (fits(task, machine, &shape, tally)) shapes[count++] = shape;
        if ((uint64_t)fused == task->steps) break;
    }
    if (wide && count && count < most && (uint64_t)shapes[0].fused == task->steps && shapes[0].fused * reach <= 16) {
        direct_shape shape =
            time_shape(task, machine, DIRECT_TIME_LINE, shapes[0].fused, 16, 16); /* more, shorter tiles */
        if (fits(task, machine, &shape, tally)) shapes[count++] = shape;
    }
    return count;
}

/* Points a lane: four, but where one tile can hold whole rows, what these need, if registers hold the sums of two steps. */
static int flat_points(const stn_task *task, int sums_most) {
    for (int points = 2; points <= 8; points *= 2) {
        direct_shape shape = {.kernel = DIRECT_TIME_TILE, .threads = {1, 1, LANES}, .points = points};
        shape.vector = (int)stn_min(direct_widest_vector(task), points);
        int sums = 2 * direct_reach(task, &shape, 0) * points;
        if (direct_reach(task, &shape, 2) <= points && 2 * sums <= sums_most && direct_time_spans(task, &shape))
            return points;
    }
    return 4;
}

/* The partial sums of all stages stay in registers: 72 doubles or 96 floats a lane are what fits. A spill costs more than a
 * step gains: what local memory there is beside so much shared memory does not stay near. */
static size_t flat_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most,
                          stn_tally *tally) {
    bool wide = task->dtype == STN_F64;
    direct_shape probe = {.kernel = DIRECT_TIME_TILE};
    int sums_most = wide ? 72 : 96, points = flat_points(task, sums_most);
    int sums = 2 * direct_reach(task, &probe, 0) * points, deepest = sums_most / sums;
    size_t count = 0;
    for (int fused = (int)stn_min((uint64_t)deepest, task->steps); fused >= 2 && count < most; fused--) {
        int held = fused * sums;
        direct_shape shape = time_shape(task, machine, DIRECT_TIME_TILE, fused, points,
                                        wide                                 ? 8
                                        : held > (task->ntaps > 5 ? 80 : 64) ? 12
                                                                             : 16);
        if (fits(task, machine, &shape, tally)) shapes[count++] = shape;
    }
    for (int fused = (int)stn_min(6, task->steps); wide && points == 4 && fused >= 4 && count < most; fused--) {
        direct_shape shape = time_shape(task, machine, DIRECT_TIME_TILE, fused, 2, 8); /* more tiles: for few waves */
        if (fits(task, machine, &shape, tally)) shapes[count++] = shape;
    }
    return count;
}

/* Tiles of a plane of a 3D grid; what a lane holds of all stages must stay in registers. */
static size_t solid_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most,
                           stn_tally *tally) {
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
        shape.vector = (int)stn_min(direct_widest_vector(task), points);
        shape.fused = sweeps[i].fused;
        shape.points = points;
        shape.threads[0] = 1, shape.threads[1] = LANES / lanes_x * sweeps[i].warps, shape.threads[2] = lanes_x;
        shape.blocks = sweeps[i].blocks;
        shape.mirror = direct_time_mirror(task, &shape);
        shape.operations = direct_time_operations(task, &shape, shape.mirror);
        if (!fits(task, machine, &shape, tally)) continue;
        fit_chunk(task, machine, &shape);
        shapes[count++] = shape;
    }
    return count;
}

size_t direct_time_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most,
                          stn_tally *tally) {
    direct_shape probe = {.kernel = task->rank == 1 ? DIRECT_TIME_LINE : DIRECT_TIME_TILE};
    if (task->steps < 2 || !takes(task, &probe)) return 0;
    return task->rank == 1   ? line_shapes(task, machine, shapes, most, tally)
           : task->rank == 2 ? flat_shapes(task, machine, shapes, most, tally)
                             : solid_shapes(task, machine, shapes, most, tally);
}
