/* Cost model of the multi-step kernels. */
#include <math.h>

#include "base/arith.h"
#include "strategies/direct/temporal_blocking.h"

/* Rates of these kernels on an H200. */
static const struct {
    /* Instructions a point and step: a * (arithmetic instructions) + fixed + of_launch / (steps a
     * launch). */
    double a, fixed, of_launch;
} spent[] = {{0.95, 0.3, 0}, {0.65, 0, 37}, {0.9, 3, 30}};
enum { SPENT_LINE, SPENT_F64_3D, SPENT_3D };
static const struct {
    /* 3D: extra instructions with a second barrier; extra fraction for reaches beyond 1 */
    double second_barrier_instructions, far_reach_fraction;
    /* Cycles of a stage's dependency chain besides its arithmetic. */
    double stage_cycles, barrier_cycles;
    double refresh_cycles; /* cycles to refresh points past an edge, in each stage */
    /* Delay of a wave's last tile, in tiles; factor for whole waves. */
    double late_tiles, wave_factor;
    double copy_fraction; /* fraction of the copy bandwidth */
    /* Fraction of the copy bandwidth for 1D tiles, which are read, stepped and written one
         * after another. */
    double line_copy_fraction;
    /* Cycles a point of a lane, in tiles at an edge, which read point by point. */
    double line_edge_cycles;
} rates = {3, 0.6, 40, 20, 150, 0.3, 1.07, 0.88, 0.5, 220};
/* Rates in 2D, fitted to 40 measured candidates. Cycles are those of a warp scheduler for a warp's
 * row of points. */
static const struct {
    /* Cycles of an arithmetic instruction; further cycles of a stage. */
    double instruction_cycles, stage_issue_cycles;
    /* Cycles of an iteration: load and store of each point of a lane; each spilled word. */
    double point_cycles, spill_cycles;
    /* Cycles of a stage that waits for its own chain: for each instruction, and fixed. */
    double chain_cycles, stage_cycles;
    double late_tiles; /* time of the last tile, alone and at an edge, in tiles */
    /* Fraction of the edge cost that shows when there are several waves (10240^2, 9 taps, 10
         * steps: nearest 0.56 ms, fixed 0.54 ms). */
    double edge_fraction;
    /* Memory time in copy times; exponent of the norm that combines overlapping times. */
    double memory_factor, overlap_exponent;
} plane = {0.97, 2.5, 16, 12.4, 2.65, 32, 1.3, 0.2, 1.68, 4.5};
/* Seconds of a launch that nothing hides, as for a one-step launch. */
#define LAUNCH_OVERHEAD 1.5e-6
enum { SCHEDULERS = 4 }; /* warp schedulers of a multiprocessor */

typedef struct load {
    /* An iteration moves one row of one tile through all stages. */
    double tiles, iterations, iteration_seconds, latency;
    double edge; /* latency of an iteration at an edge */
} load;

/* Instructions a point and step, with shuffles, moves and the launch overhead of a point expressed
 * as arithmetic. Fitted: f64 in 3D is bound by memory and latency more than by arithmetic. */
static double instructions_per_point(const stn_task *task, const direct_shape *shape, double count, bool wide) {
    double fused = shape->fused;
    int kind = shape->kernel == DIRECT_TIME_LINE ? SPENT_LINE : wide ? SPENT_F64_3D : SPENT_3D;
    double own = spent[kind].a * count + spent[kind].fixed + spent[kind].of_launch / fused;
    if (kind == SPENT_F64_3D || kind == SPENT_3D) {
        if (!direct_time_one_barrier(task, shape)) own += rates.second_barrier_instructions;
        if (direct_reach(task, shape, 0) > 1) own += rates.far_reach_fraction * count;
    }
    return own;
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
    /* Four warps issue at once. */
    int warps = shape->threads[1] * shape->threads[2] / DIRECT_TIME_LANES;
    double instructions = count * shape->points * shape->rows * (double)stn_div_up(warps, 4);
    l.latency = shape->fused *
                (rates.stage_cycles + rates.barrier_cycles * (warps > 1) + instructions * (wide ? 2 : 1)) /
                machine->clock;
    l.edge =
        l.latency + (direct_time_refreshes(task, shape) ? shape->fused * rates.refresh_cycles / machine->clock : 0);
    if (line) l.edge += shape->points * rates.line_edge_cycles / machine->clock;
    return l;
}

/* Words of partial sums and addresses of a lane that exceed its registers, in 2D. */
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
    /* Edge tiles are in all waves, not only in the last. */
    const double spread = whole > 0 ? plane.edge_fraction : 1;
    const double settling = direct_time_refreshes(task, shape) ? spread * shape->fused * rates.refresh_cycles : 0;
    const double last = plane.late_tiles * ((whole > 0 ? full : rest) + settling);
    return l->iterations * (whole * full + rest + last) / machine->clock;
}

/* Seconds of one launch's work. Tiles run in waves of resident blocks; the last of a wave, at
 * edges, finish a third of a tile late. An iteration takes the larger of a wave's arithmetic and
 * one tile's chain of stages. */
static double work_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape, const load *l) {
    if (shape->kernel == DIRECT_TIME_TILE && task->rank == 2) return plane_seconds(task, machine, shape, l);
    double resident = (double)machine->multiprocessors * shape->blocks;
    double turn = (l->tiles < resident ? l->tiles : resident) * l->iteration_seconds;
    if (turn < l->latency) turn = l->latency;
    return fmax((ceil(l->tiles / resident) + rates.late_tiles) / rates.wave_factor * l->iterations * turn,
                l->iterations * l->edge);
}

/* Rows of a tile: long tiles recompute fewer rows, short tiles fill the last wave. 2D tiles that
 * recompute more than a fifth pay only where the grid has hardly a wave of tiles (4096^2 in f32, 10
 * steps: 53 rows 0.115 ms, 106 rows 0.148 ms). */
enum { LEAST_PART = 10, LEAST_PART_OF_FEW = 5, MANY_WAVES = 2 };
void direct_time_fit_chunk(const stn_task *task, const stn_machine *machine, direct_shape *shape) {
    const int reach = direct_reach(task, shape, 0);
    int64_t n = task->n[direct_axis(task, shape, 0)], most = n / reach;
    int best = (int)stn_min(n, INT32_MAX);
    double least = 0, tiles_before = 0;
    for (int64_t tiles = 1; tiles <= most && tiles <= 1024; tiles += 1 + tiles / 64) {
        shape->chunk = (int)stn_min(stn_div_up(n, tiles), INT32_MAX);
        load l = load_of(task, machine, shape);
        const double waves = tiles_before / ((double)machine->multiprocessors * shape->blocks);
        const int part = waves < MANY_WAVES ? LEAST_PART_OF_FEW : LEAST_PART;
        if (task->rank == 2 && waves >= 1 && shape->chunk < part * shape->fused * reach) break;
        double seconds = work_seconds(task, machine, shape, &l);
        if (tiles == 1 || seconds < least) least = seconds, best = shape->chunk;
        tiles_before = l.tiles;
    }
    shape->chunk = best;
}

/* Factor for 3D tiles in f64 where points past a side are other points of the grid, relative to
 * fixed sides: heat-3d 512^3, two steps 0.91 and 0.73 ms, three 1.27 and 1.02 ms, where the rates
 * predict 0.87 and 1.11 ms for both. */
static double open_sides_factor(const stn_task *task, const direct_shape *shape) {
    bool fixed = task->dtype != STN_F64 || shape->fused < 2;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) fixed = fixed || task->boundary[axis][side].kind == STN_FIXED;
    return fixed ? 1 : shape->fused == 2 ? 1.05 : 1.14;
}

double direct_time_launch_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape,
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
        return fmax(copy / rates.line_copy_fraction, seconds) + LAUNCH_OVERHEAD + machine->launch_seconds;
    return (memory > seconds ? memory : seconds) * open_sides_factor(task, shape) + machine->launch_seconds;
}
