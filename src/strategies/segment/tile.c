/* Which tiles, and what they take. See tile.h. */
#include "strategies/segment/tile.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/best.h"
#include "plan/accuracy.h"
#include "plan/constraint.h"
#include "problem/stencil.h"
#include "strategies/common/ladder.h"
#include "strategies/faces/margins.h"

#define SECTOR_BYTES 32
#define LEAST_USEFUL 4 /* at least one part in so many of a tile is outputs */
#define MOST_LAUNCHES 8
#define MOST_MARGIN 64 /* steps that margins at faces are stepped in one launch */

/* Of sides in sixteenths: rows are of 8 times as many complex points, columns of two radices. */
static const int sixteenths[] = {2, 3, 4, 5, 6, 7, 8, 10, 12};
enum { SIDES = sizeof sixteenths / sizeof *sixteenths };

/* Of a side, along y (0) or x. */
static int sixteenths_of(const segment_shape *shape, int which) { return (unsigned char)shape->pass[which].first; }

int segment_tile_points(const segment_shape *shape, int which) { return 16 * sixteenths_of(shape, which); }

void segment_tile_radices(const segment_shape *shape, int radices[2]) {
    const int first = sixteenths_of(shape, 0);
    radices[0] = first <= 8 ? 2 * first : 16;
    radices[1] = first <= 8 ? 8 : first;
}

size_t segment_tile_shared(stn_dtype dtype, const segment_shape *shape) {
    return (size_t)segment_tile_points(shape, 0) * (size_t)(segment_tile_points(shape, 1) / 2 + 1) *
           (dtype == STN_F64 ? 16 : 8);
}

/* ---- the axes ------------------------------------------------------------------------------------------------------ */

static bool mirrors(const stn_task *task, int axis, int side) {
    const stn_boundary_kind kind = task->boundary[axis][side].kind;
    if (!stn_task_mirrored(task, axis)) return false;
    return kind == STN_REFLECT || kind == STN_MIRROR || (kind == STN_NEAREST && task->reach[axis][side] <= 1);
}

segment_axis segment_tile_axis(const stn_task *task, int which) {
    segment_axis a = {.axis = 1 + which, .n = task->n[1 + which]};
    a.exact = task->boundary[a.axis][0].kind == STN_WRAP;
    if (!a.exact) a.exact = a.n > 3 && mirrors(task, a.axis, 0) && mirrors(task, a.axis, 1);
    for (int side = 0; side < 2; side++) {
        a.side[side] = a.exact ? task->boundary[a.axis][side].kind : STN_NEAREST;
        if (a.exact && a.side[side] == STN_NEAREST) a.side[side] = STN_REFLECT; /* of one point it is the same */
    }
    return a;
}

static bool place_outputs(const stn_task *task, const segment_axis *a, const stn_reach *reach, int sixteenth,
                          segment_pass *pass) {
    const int64_t length = 16 * (int64_t)sixteenth, period = segment_period(a), all = reach->side[0] + reach->side[1];
    *pass = (segment_pass){.axis = (uint8_t)a->axis,
                           .first = (int8_t)sixteenth,
                           .useful = (int)stn_min(a->n, length),
                           .reach = (int)stn_min(all, INT32_MAX)};
    if (period && length % period == 0) return true; /* its circle is what is asked for */
    if (all >= length) return false;
    const int64_t unit = a->axis == 2 ? SECTOR_BYTES / (int64_t)stn_dtype_size(task->dtype) : 1;
    pass->lead = (int)stn_round_up(reach->side[0], a->axis == 2 ? 2 : 1);
    const int64_t room = length - pass->lead - reach->side[1];
    pass->useful = (int)(a->n <= room ? a->n : room / unit * unit);
    return room > 0 && pass->useful > 0 && pass->useful >= stn_min(a->n, length / LEAST_USEFUL);
}

static stn_reach reach_of(const stn_task *task, int which, uint64_t fused) {
    return stn_reach_find(task, 1 + which, fused, segment_tail(task->dtype));
}

bool segment_tile_again(const stn_task *task, segment_shape *shape) {
    bool good = true;
    for (int which = 0; which < 2 && good; which++) {
        const segment_axis a = segment_tile_axis(task, which);
        good = a.exact || shape->margins;
        if (!good) break;
        const stn_reach reach = reach_of(task, which, (uint64_t)shape->fused);
        good = place_outputs(task, &a, &reach, shape->pass[which].first, &shape->pass[which]);
    }
    return good;
}

/* ---- what it takes ------------------------------------------------------------------------------------------------- */

#define REGISTERS_F64 128
#define REGISTERS 96
#define BLOCK_BYTES 1024 /* that the driver takes of shared memory */

int segment_tile_blocks(const stn_task *task, const stn_machine *machine, const segment_shape *shape) {
    const size_t bytes = segment_tile_shared(task->dtype, shape) + BLOCK_BYTES;
    const int64_t threads = 32 * (int64_t)shape->tile, registers = task->dtype == STN_F64 ? REGISTERS_F64 : REGISTERS;
    const int64_t held = (int64_t)(machine->registers_per_multiprocessor / (size_t)(threads * registers)),
                  room = (int64_t)(machine->shared_per_multiprocessor / bytes);
    return (int)stn_max(1, stn_min(stn_min(held, room), 8));
}

/* Cycles, fitted to 614 timed tiles of 44 problems, of 448 x 384 to 19616 x 20880 points: the fast ones of each within 12%
 * (bench/results/2026-11-23-segment-tiles.md). A lone block waits at every barrier, for the instructions of each round of its threads, which
 * depend on each other, and for memory; others on its multiprocessor fill these, as far as its units and memory let them. f16 computes as f32
 * does; two problems only, a quarter slower. */
static const struct {
    double barrier, chain, byte; /* of a lone block: a phase, an instruction of a round, what goes in and out */
    double issue, point; /* of the multiprocessor for a warp: an instruction, a point there and back in shared memory */
    double sides;        /* longer takes a tile that reaches past a side: each input is folded */
    double start;        /* seconds, of a launch */
} rates[] = {[STN_F64] = {321, 3.14, 0.059, 0.589, 3.10, 0.33, 0},
             [STN_F32] = {0, 3.11, 0.056, 0.487, 0, 0.49, 1.5e-6},
             [STN_F16] = {0, 3.90, 0.140, 0.610, 0, 0.49, 1.5e-6}};
#define MOVES 0.5    /* shows of what reading and writing take at the copy rate, in quadrature */
#define LANES_F64 64 /* of the multiprocessors that were measured */
#define LANES 128
#define MIX 14 /* instructions of the symbol, for a complex point */
#define TURN 4
#define WARP 32

/* A phase: so many butterflies, of so many points, with so many instructions for each. */
typedef struct phase {
    int64_t count;
    int points;
    double work;
} phase;
enum { PHASES = 7 };

static void phases_of(const segment_shape *shape, phase list[PHASES]) {
    int radices[2];
    segment_tile_radices(shape, radices);
    const int a = sixteenths_of(shape, 1), stored = shape->pass[0].useful;
    const int64_t rows = segment_tile_points(shape, 0), n = 8 * (int64_t)a, units = 8 * (int64_t)(a / 2 + 1);
    const phase row = {8 * rows, a, stn_ladder_work(a) + TURN}, second = {a * rows, 8, stn_ladder_work(8)},
                column = {n * radices[1], radices[0], stn_ladder_work(radices[0]) + TURN},
                foot = {2 * units * radices[0], radices[1], 2 * stn_ladder_work(radices[1]) + MIX};
    const phase all[PHASES] = {row, second, column, foot, column, second, row};
    memcpy(list, all, sizeof all);
    list[PHASES - 1].count = 8 * stn_min(rows, stored + 8);
}

/* Instructions of arithmetic of a tile. */
static double work_of(const segment_shape *shape) {
    phase list[PHASES];
    double work = 0;
    phases_of(shape, list);
    for (int i = 0; i < PHASES; i++) work += (double)list[i].count * list[i].points * list[i].work;
    return work;
}

static double tiles_along(const stn_task *task, const segment_pass *pass) {
    return (double)stn_div_up(task->n[pass->axis], pass->useful);
}

static double tiles_of(const stn_task *task, const segment_shape *shape) {
    return (double)(task->batch * task->n[0]) * tiles_along(task, &shape->pass[0]) * tiles_along(task, &shape->pass[1]);
}

static double part_at_sides(const stn_task *task, const segment_shape *shape) {
    double inside = 1;
    for (int i = 0; i < 2; i++) {
        const double along = tiles_along(task, &shape->pass[i]);
        const bool whole = !shape->pass[i].lead && task->n[1 + i] == segment_tile_points(shape, i);
        if (!whole) inside *= fmax(0, along - 2) / along;
    }
    return 1 - inside;
}

/* Of a lone block, and of a multiprocessor's units and memory, for one tile. */
typedef struct tile_cycles {
    double alone, units;
} tile_cycles;

static tile_cycles cycles_of(const stn_task *task, const stn_machine *machine, const segment_shape *shape) {
    const double lanes =
        task->dtype == STN_F64 ? LANES_F64 / (double)machine->wide_lanes : LANES / (double)machine->lanes;
    const double size = (double)stn_dtype_size(task->dtype), cycle = machine->multiprocessors * machine->clock;
    const int64_t threads = WARP * (int64_t)shape->tile,
                  all = (int64_t)segment_tile_points(shape, 0) * segment_tile_points(shape, 1),
                  out = (int64_t)shape->pass[0].useful * shape->pass[1].useful;
    tile_cycles c = {rates[task->dtype].byte * size * (double)(all + out), 0};
    phase list[PHASES];
    phases_of(shape, list);
    for (int i = 0; i < PHASES; i++) {
        const double work = list[i].points * list[i].work;
        c.alone += rates[task->dtype].barrier +
                   (double)stn_div_up(list[i].count, threads) * rates[task->dtype].chain * work * fmax(1, lanes);
        c.units += (double)stn_div_up(list[i].count, WARP) *
                   (rates[task->dtype].issue * work * lanes + rates[task->dtype].point * list[i].points);
    }
    c.units = hypot(c.units, MOVES * 2 * size * (double)out * cycle / machine->copy_bandwidth);
    return c;
}

/* Cycles for each of so many tiles that a multiprocessor has at once. */
static double beside(const tile_cycles *c, double blocks) { return hypot(c->alone / blocks, c->units); }

/* Between what whole waves of tiles take and what tiles do that begin as soon as others end. */
static double launch_seconds(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                             double *flops) {
    const int blocks = segment_tile_blocks(task, machine, shape);
    const double tiles = tiles_of(task, shape), each = tiles / machine->multiprocessors, waves = floor(each / blocks),
                 rest = ceil(each - waves * blocks);
    const tile_cycles c = cycles_of(task, machine, shape);
    const double full = beside(&c, blocks), last = rest > 0 ? rest * beside(&c, rest) : 0;
    const double whole = waves * blocks * full + last, even = waves > 0 ? each * full : whole;
    const double at_sides = part_at_sides(task, shape), slow = at_sides > 0 ? fmin(1, at_sides + blocks / each) : 0;
    const double compute = (whole + even) / 2 * (1 + rates[task->dtype].sides * slow),
                 move = 2 * (double)stn_dtype_size(task->dtype) * (double)stn_task_points(task);
    *flops = 2 * work_of(shape) * tiles;
    return fmax(compute / machine->clock, move / machine->copy_bandwidth) + rates[task->dtype].start +
           machine->launch_seconds;
}

/* As those of lines (cost.c), of two short passes; no less than what tests/strategies/test_errors finds. */
#define ROUNDINGS_F64 6
#define ROUNDINGS_F32 5
#define BEYOND 3.1
/* Few steps reach all that they can, and whole periods are exact. */
static bool leaves_away(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    const int64_t all = (int64_t)shape->fused * (task->reach[pass->axis][0] + task->reach[pass->axis][1]);
    return pass->reach < all && (pass->lead > 0 || pass->useful < task->n[pass->axis]);
}
static double predicted_error(const stn_task *task, const segment_shape *shape) {
    const stn_dtype arithmetic = task->dtype == STN_F64 ? STN_F64 : STN_F32;
    const double rounding = stn_error_rounding(arithmetic);
    const double times = (arithmetic == STN_F64 ? ROUNDINGS_F64 : ROUNDINGS_F32) * stn_error_cancelling(task);
    const double stored = task->dtype == STN_F16 ? stn_error_rounding(STN_F16) : 0;
    double alike = rounding;
    for (int i = 0; i < 2; i++)
        if (leaves_away(task, shape, &shape->pass[i])) alike += BEYOND * segment_tail(arithmetic);
    const double own = stn_error_of(alike, hypot(times * rounding * sqrt(2), stored), shape->launches);
    return shape->margins ? hypot(own, stn_error_stepping(task)) : own;
}

/* Of a launch, that the margins take. Looking takes milliseconds. */
static double faces_seconds(const stn_task *task, const stn_machine *machine, const segment_shape *shape) {
    return shape->margins ? stn_faces_seconds(task, machine, shape->fused) : 0;
}

static void cost_beside(const stn_task *task, const stn_machine *machine, const segment_shape *shape, double faces,
                        stn_estimate *e) {
    const double launches = shape->launches;
    double flops;
    memset(e, 0, sizeof *e);
    e->unit = task->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32;
    e->error = predicted_error(task, shape);
    e->launches = launches;
    e->bytes = 2 * (double)stn_dtype_size(task->dtype) * (double)stn_task_points(task) * launches;
    e->seconds = launches * (launch_seconds(task, machine, shape, &flops) + faces);
    e->flops = launches * flops;
    e->halo_waste = tiles_of(task, shape) * segment_tile_points(shape, 0) * segment_tile_points(shape, 1) /
                        (double)stn_task_points(task) -
                    1;
    e->stepping = shape->margins;
}

void segment_tile_cost(const stn_task *task, const stn_machine *machine, const segment_shape *shape, stn_estimate *e) {
    cost_beside(task, machine, shape, faces_seconds(task, machine, shape), e);
}

/* ---- search -------------------------------------------------------------------------------------------------------- */

static bool shared_holds(const stn_task *task, const stn_machine *machine, void *of) {
    return segment_tile_shared(task->dtype, of) <= machine->shared_per_block;
}
static bool tiles_count(const stn_task *task, const stn_machine *machine, void *of) {
    (void)machine;
    return tiles_of(task, of) < 0x1p31;
}
static const stn_constraint constraints[] = {
    {"shared memory of tiles", "a tile fits a block's shared memory", shared_holds},
    {"tiles", "tiles are counted in 31 bits", tiles_count},
};

/* Warps of a block: those that take least. */
static void choose_threads(const stn_task *task, const stn_machine *machine, segment_shape *shape) {
    static const uint8_t warps[] = {4, 6, 8, 10, 12, 14, 16};
    const int64_t registers = task->dtype == STN_F64 ? REGISTERS_F64 : REGISTERS;
    double least = INFINITY, flops;
    uint8_t best = warps[0];
    for (size_t i = 0; i < sizeof warps; i++) {
        shape->tile = warps[i];
        if ((size_t)(32 * warps[i] * registers) > machine->registers_per_multiprocessor) continue;
        const double seconds = launch_seconds(task, machine, shape, &flops);
        if (seconds < least) least = seconds, best = warps[i];
    }
    shape->tile = best;
}

static bool is_served(const stn_task *task, const char **why) {
    bool reaches = task->reach[0][0] + task->reach[0][1] == 0;
    for (int axis = 1; axis < 3; axis++) reaches = reaches && task->reach[axis][0] + task->reach[axis][1] > 0;
    if (!reaches) {
        *why = "its weights are neither products of one factor an axis nor those of planes";
        return false;
    }
    return true;
}

typedef struct search {
    const stn_task *task;
    const stn_machine *machine;
    segment_axis axes[2];
    bool alike; /* taps reach as far along both axes */
    segment_shape *best;
    double *costs;
    size_t *found, most;
    stn_tally *tally;
    double largest; /* of the symbol; 0: not known yet */
} search;

/* How far so many steps reach; false: too far for any tile. Looking takes long. */
static bool find_reaches(const search *s, uint64_t fused, stn_reach reach[2]) {
    for (int i = 0; i < 2; i++) {
        reach[i] = i && s->alike ? reach[0] : reach_of(s->task, i, fused);
        bool fits = false;
        for (int k = SIDES - 1; k >= 0 && !fits; k--) {
            segment_pass pass;
            fits = place_outputs(s->task, &s->axes[i], &reach[i], sixteenths[k], &pass);
        }
        if (!fits) return false;
    }
    return true;
}

/* Does a tile hold all of a plane, and nothing else? */
static bool is_whole(const stn_task *task, const segment_shape *shape) {
    for (int i = 0; i < 2; i++)
        if (shape->pass[i].lead || shape->pass[i].useful < task->n[1 + i]) return false;
    return true;
}

/* All tiles for launches of one length. */
static bool add_tiles(const search *s, segment_shape shape, const stn_reach reach[2]) {
    const double faces = faces_seconds(s->task, s->machine, &shape);
    bool any = false;
    for (int y = 0; y < SIDES; y++)
        for (int x = 0; x < SIDES; x++) {
            const int first[2] = {sixteenths[y], sixteenths[x]};
            bool good = true;
            for (int i = 0; i < 2; i++)
                good = good && place_outputs(s->task, &s->axes[i], &reach[i], first[i], &shape.pass[i]);
            if (good && shape.launches > 1 && is_whole(s->task, &shape)) { /* one is enough then */
                any = true;
                continue;
            }
            if (!good || !STN_CONSTRAINTS_HOLD(constraints, s->task, s->machine, &shape, s->tally)) continue;
            choose_threads(s->task, s->machine, &shape);
            any = true;
            stn_estimate e;
            cost_beside(s->task, s->machine, &shape, faces, &e);
            segment_shape *to = stn_best_insert(s->best, s->costs, sizeof *s->best, s->found, s->most, e.seconds);
            if (to) *to = shape;
        }
    return any;
}

/* Powers of the symbol that the data's type cannot hold. */
static bool grows_too_far(search *s, int64_t fused) {
    if (!(s->largest > 0)) s->largest = stn_taps_max_symbol(s->task->ntaps, s->task->taps);
    return (double)fused * log10(s->largest) > (s->task->dtype == STN_F64 ? 290 : 36);
}

static bool add_launches(search *s, int64_t launches) {
    const stn_task *task = s->task;
    const int64_t fused = stn_div_up((int64_t)task->steps, launches);
    const bool margins = !s->axes[0].exact || !s->axes[1].exact;
    stn_reach reach[2];
    int64_t low[3], high[3];
    if (!find_reaches(s, (uint64_t)fused, reach) || grows_too_far(s, fused)) return false;
    if (margins && (fused > MOST_MARGIN || !stn_faces_interior(task, (int)fused, low, high))) return false;
    const segment_shape shape = {.launches = (int)launches, .fused = (int)fused, .margins = margins, .passes = 1};
    return add_tiles(s, shape, reach);
}

bool segment_tile_search(const stn_task *task, const stn_machine *machine, segment_shape *best, double *costs,
                         size_t *found, size_t most, const char **why, stn_tally *tally) {
    if (!is_served(task, why)) return false;
    *why = "its taps reach too far, or its symbol grows past the data's range";
    search s = {task,         machine,        {segment_tile_axis(task, 0), segment_tile_axis(task, 1)},
                .best = best, .costs = costs, .found = found,
                .most = most, .tally = tally};
    s.alike = stn_reach_alike(task, 1, 2);
    bool any = false; /* shorter launches reach less far and grow less: where those do not fit, none does */
    for (int64_t launches = stn_min((int64_t)task->steps, MOST_LAUNCHES); launches > 0; launches--) {
        if (!add_launches(&s, launches)) break;
        any = true;
    }
    return any;
}
