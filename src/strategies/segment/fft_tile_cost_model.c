/* Cost model of FFT tiles: time and predicted error. See fft_tile.h. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "plan/error_bound.h"
#include "strategies/common/shared_fft.h"
#include "strategies/faces/margins.h"
#include "strategies/segment/fft_tile.h"

/* Cycles, fitted to 614 timed tiles of 44 problems, of 448 x 384 to 19616 x 20880 points. A lone
 * block stalls at every barrier, on dependent instructions, and on memory; other blocks of its
 * multiprocessor fill these stalls, within the limits of its units and memory. f16 computes in f32;
 * only two problems were measured. */
static const struct {
    /* Latency of a lone block: per phase, per instruction of a round of its threads, and per byte
     * in and out. */
    double barrier, chain, byte;
    /* Throughput of the multiprocessor, per warp: an instruction, and a point to and from shared
     * memory. */
    double issue, point;
    /* Relative slowdown of a tile that reaches past a side, as each input is folded. */
    double sides;
    double start;   /* Seconds per launch. */
    double stepped; /* Factor if margins are stepped too: 247 tiles of 12 problems. */
} rates[] = {[STN_F64] = {321, 3.14, 0.059, 0.589, 3.10, 0.33, 0, 1},
             [STN_F32] = {0, 3.11, 0.056, 0.487, 0, 0.49, 1.5e-6, 1.05},
             [STN_F16] = {0, 3.90, 0.140, 0.610, 0, 0.49, 1.5e-6, 1.05}};
#define MOVES 0.5    /* Weight of reading and writing at the copy bandwidth, added in quadrature. */
#define LANES_F64 64 /* Lanes of the multiprocessors that were measured. */
#define LANES 128
/* Clusters, fitted to 36 timed tiles of f64 in 3 problems. Tiles that hold a whole plane take
 * longer. */
/* Bytes per cycle of a multiprocessor to and from other blocks of the cluster. */
#define EXCHANGE 33
/* Cycles of a cluster barrier and the first remote access, for each other block. */
#define CLUSTER_BARRIER 625
#define HOLDS_PLANE 1.1 /* Factor of tiles that hold a whole plane. */
#define MIX 14          /* Instructions of the symbol for each complex point. */
#define TWIDDLE 4       /* Instructions to multiply each complex point by a twiddle factor. */
#define WARP 32

/* A phase of a tile: `count` butterflies of `points` points, with `work` instructions for each
 * point. */
typedef struct phase {
    int64_t count;
    int points;
    double work;
} phase;
enum { PHASES = 7 };

static void phases_of(const segment_shape *shape, phase list[PHASES]) {
    int radices[2];
    segment_fft_tile_radices(shape, radices);
    const int a = segment_fft_tile_points(shape, 1) / 16, stored = shape->pass[0].useful;
    const int64_t rows = segment_fft_tile_points(shape, 0), n = 8 * (int64_t)a, units = 8 * (int64_t)(a / 2 + 1);
    const phase row = {8 * rows, a, stn_shared_fft_work(a) + TWIDDLE}, second = {a * rows, 8, stn_shared_fft_work(8)},
                column = {n * radices[1], radices[0], stn_shared_fft_work(radices[0]) + TWIDDLE},
                last_stage = {2 * units * radices[0], radices[1], 2 * stn_shared_fft_work(radices[1]) + MIX};
    const phase all[PHASES] = {row, second, column, last_stage, column, second, row};
    memcpy(list, all, sizeof all);
    list[PHASES - 1].count = 8 * stn_min(rows, stored + 8);
}

static double tiles_along(const stn_task *task, const segment_pass *pass) {
    return (double)stn_div_up(task->n[pass->axis], pass->useful);
}

double segment_fft_tile_count(const stn_task *task, const segment_shape *shape) {
    return (double)(task->batch * task->n[0]) * tiles_along(task, &shape->pass[0]) * tiles_along(task, &shape->pass[1]);
}

static double part_at_sides(const stn_task *task, const segment_shape *shape) {
    double inside = 1;
    for (int i = 0; i < 2; i++) {
        const double along = tiles_along(task, &shape->pass[i]);
        const bool whole = !shape->pass[i].lead && task->n[1 + i] == segment_fft_tile_points(shape, i);
        if (!whole) inside *= fmax(0, along - 2) / along;
    }
    return 1 - inside;
}

/* Quantities that determine the time of a tile, apart from the number of threads. */
typedef struct tile_costs {
    int count[PHASES];    /* Butterflies of a block. */
    double chain[PHASES]; /* Cycles of a round of the block's threads. */
    /* Cycles of a lone block, without these rounds; of the multiprocessor's units. */
    double alone, units;
    double clusters, each;  /* Multiprocessors, or groups that share a tile; tiles of each. */
    double at_sides, flops; /* Part of the tiles at sides; operations of a launch. */
    double move;            /* Bytes read and written by a launch. */
} tile_costs;

static double moved_bytes(const stn_task *task) {
    return 2 * (double)stn_dtype_size(task->dtype) * (double)stn_task_points(task);
}

static void costs_of(const stn_task *task, const stn_machine *machine, const segment_shape *shape, tile_costs *c) {
    const double lanes =
        task->dtype == STN_F64 ? LANES_F64 / (double)machine->wide_lanes : LANES / (double)machine->lanes;
    const double size = (double)stn_dtype_size(task->dtype), cycle = machine->multiprocessors * machine->clock;
    const double tiles = segment_fft_tile_count(task, shape);
    const int64_t shares = segment_fft_tile_shares(shape),
                  all = (int64_t)segment_fft_tile_points(shape, 0) * segment_fft_tile_points(shape, 1) / shares,
                  out = (int64_t)shape->pass[0].useful * shape->pass[1].useful / shares;
    phase list[PHASES];
    phases_of(shape, list);
    *c = (tile_costs){.alone = rates[task->dtype].byte * size * (double)(all + out)};
    double operations = 0;
    for (int i = 0; i < PHASES; i++) {
        const double work = list[i].points * list[i].work;
        c->count[i] = (int)stn_div_up(list[i].count, shares);
        c->chain[i] = rates[task->dtype].chain * work * fmax(1, lanes);
        c->alone += rates[task->dtype].barrier;
        c->units += (double)stn_div_up(c->count[i], WARP) *
                    (rates[task->dtype].issue * work * lanes + rates[task->dtype].point * list[i].points);
        operations += (double)list[i].count * work;
    }
    if (shares > 1) {
        const double away = (double)(shares - 1) / (double)shares * (double)segment_fft_tile_shared(task->dtype, shape);
        c->alone += 2 * (CLUSTER_BARRIER * (double)(shares - 1) + away / EXCHANGE), c->units += 2 * away / EXCHANGE;
    }
    const double moves = MOVES * 2 * size * (double)out * cycle / machine->copy_bandwidth;
    /* Here and below: hypot would take much of the time of a search. */
    c->units = sqrt(c->units * c->units + moves * moves);
    c->clusters = fmax(1, floor((double)machine->multiprocessors / (double)shares)), c->each = tiles / c->clusters;
    c->at_sides = part_at_sides(task, shape);
    c->flops = 2 * operations * tiles;
    c->move = moved_bytes(task);
}

/* Seconds with the threads of `shape`: the mean of two bounds, tiles in whole waves, and tiles that
 * start as soon as others end. */
static double seconds_with(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                           const tile_costs *c) {
    const int blocks = segment_fft_tile_blocks(task, machine, shape), threads = WARP * shape->tile;
    const double waves = floor(c->each / blocks), rest = ceil(c->each - waves * blocks);
    double alone = c->alone;
    for (int i = 0; i < PHASES; i++) {
        const int rounds = (c->count[i] + threads - 1) / threads;
        alone += rounds * c->chain[i];
    }
    const double units2 = c->units * c->units, each = alone / blocks;
    const double full = sqrt(each * each + units2), last = rest > 0 ? sqrt(alone * alone + rest * rest * units2) : 0;
    const double whole = waves * blocks * full + last, even = waves > 0 ? c->each * full : whole;
    const double slow = c->at_sides > 0 ? fmin(1, c->at_sides + blocks / c->each) : 0;
    const double compute = (whole + even) / 2 * (1 + rates[task->dtype].sides * slow);
    return fmax(compute / machine->clock, c->move / machine->copy_bandwidth) + rates[task->dtype].start +
           machine->launch_seconds;
}

/* Seconds of a launch without the margins, and its operations. */
static double seconds_of(const stn_task *task, const stn_machine *machine, const segment_shape *shape, double *flops) {
    tile_costs c;
    costs_of(task, machine, shape, &c);
    *flops = c.flops;
    return seconds_with(task, machine, shape, &c);
}

#define MAX_WARPS 16 /* of a block */

/* A lower bound of seconds_with for any number of threads: the units and memory are never idle, and
 * a block with the most threads is never interrupted by others. */
static double least_seconds(const stn_task *task, const stn_machine *machine, const tile_costs *c) {
    double alone = c->alone;
    for (int i = 0; i < PHASES; i++) alone += fmax(1, (double)c->count[i] / (WARP * MAX_WARPS)) * c->chain[i];
    return 0.999 * fmax(fmax(c->each * c->units, alone) / machine->clock, c->move / machine->copy_bandwidth) +
           rates[task->dtype].start + machine->launch_seconds;
}

/* Factor of clusters where none were timed: for f16, and for too few tiles to occupy all
 * multiprocessors. */
#define UNTIMED_CLUSTERS 1.25
/* The same for tiles whose margins are computed by steps, if all tiles run at once. */
#define UNTIMED_FEW 1.1

static double margins_factor(const stn_task *task, const stn_machine *machine, const segment_shape *shape) {
    const double at_once = (double)segment_fft_tile_blocks(task, machine, shape) * machine->multiprocessors;
    return rates[task->dtype].stepped *
           (segment_fft_tile_count(task, shape) * segment_fft_tile_shares(shape) > at_once ? 1 : UNTIMED_FEW);
}

static double clusters_factor(const stn_task *task, const stn_machine *machine, const segment_shape *shape) {
    const bool fill = segment_fft_tile_count(task, shape) * segment_fft_tile_shares(shape) >= machine->multiprocessors;
    return (segment_fft_tile_holds_plane(task, shape) ? HOLDS_PLANE : 1) *
           (task->dtype != STN_F16 && fill ? 1 : UNTIMED_CLUSTERS);
}

/* launch: seconds of a launch without the margins. */
static double seconds_of_run(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                             double launch, double faces) {
    double seconds = shape->launches * (launch + faces) * (shape->margins ? margins_factor(task, machine, shape) : 1);
    if (shape->shares) seconds *= clusters_factor(task, machine, shape);
    return seconds;
}

double segment_fft_tile_choose_threads(const stn_task *task, const stn_machine *machine, double faces, double most,
                                       segment_shape *shape) {
    static const uint8_t warps[] = {4, 6, 8, 10, 12, 14, MAX_WARPS};
    const int64_t registers = segment_fft_tile_registers(task->dtype, shape);
    const double least_factor = shape->margins ? fmin(1, rates[task->dtype].stepped) : 1;
    double least = INFINITY;
    uint8_t best = warps[0];
    /* At first the bound takes only these bytes into account. */
    tile_costs c = {.move = moved_bytes(task)};
    for (int all = 0; all < 2; all++) {
        if (all) costs_of(task, machine, shape, &c);
        if (shape->launches * (least_seconds(task, machine, &c) + faces) * least_factor >= most) return INFINITY;
    }
    for (size_t i = 0; i < sizeof warps; i++) {
        shape->tile = warps[i];
        if ((size_t)(32 * warps[i] * registers) > machine->registers_per_multiprocessor) continue;
        const double seconds = seconds_with(task, machine, shape, &c);
        if (seconds < least) least = seconds, best = warps[i];
    }
    shape->tile = best;
    return seconds_of_run(task, machine, shape, least, faces);
}

/* Roundings as in segment_cost_model.c, here of two short passes. They give an upper bound of the
 * errors measured by tests/strategies/test_errors. */
#define ROUNDINGS_F64 6
#define ROUNDINGS_F32 5
double segment_fft_tile_error(const stn_task *task, const segment_shape *shape) {
    const stn_dtype arithmetic = task->dtype == STN_F64 ? STN_F64 : STN_F32;
    const double rounding = stn_error_rounding(arithmetic);
    const double times = (arithmetic == STN_F64 ? ROUNDINGS_F64 : ROUNDINGS_F32) * stn_error_cancellation(task);
    const double stored = task->dtype == STN_F16 ? stn_error_rounding(STN_F16) : 0;
    double systematic = rounding;
    for (int i = 0; i < 2; i++)
        if (segment_neglects_weights(task, shape, &shape->pass[i]))
            systematic += SEGMENT_NEGLECTED_ERROR * segment_tail(arithmetic);
    const double own = stn_error_accumulated(systematic, hypot(times * rounding * sqrt(2), stored), shape->launches);
    return shape->margins ? hypot(own, stn_error_stepping(task)) : own;
}

double segment_fft_tile_faces(const stn_task *task, const stn_machine *machine, const segment_shape *shape) {
    return shape->margins ? stn_faces_seconds(task, machine, shape->fused) : 0;
}

void segment_fft_tile_cost(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                           stn_estimate *e) {
    const double launches = shape->launches;
    double flops;
    memset(e, 0, sizeof *e);
    e->unit = task->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32;
    e->error = segment_fft_tile_error(task, shape);
    e->launches = launches;
    e->bytes = 2 * (double)stn_dtype_size(task->dtype) * (double)stn_task_points(task) * launches;
    const double launch = seconds_of(task, machine, shape, &flops);
    e->seconds = seconds_of_run(task, machine, shape, launch, segment_fft_tile_faces(task, machine, shape));
    e->flops = launches * flops;
    e->halo_waste = segment_fft_tile_count(task, shape) * segment_fft_tile_points(shape, 0) *
                        segment_fft_tile_points(shape, 1) / (double)stn_task_points(task) -
                    1;
    e->stepping = shape->margins;
}
