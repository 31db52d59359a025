/* Dense-DFT tiles: which ones fit, their cost and predicted error, and the search for the cheapest.
 * See dense_tile.h. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/cheapest.h"
#include "plan/error_bound.h"
#include "strategies/faces/margins.h"
#include "strategies/segment/dense_tile.h"
#include "strategies/segment/segment_shape.h"

#define SECTOR_BYTES 32
/* Outputs along x of longer tiles begin and end at multiples of this many points. */
#define UNIT 4
#define LONG 16       /* Points. */
#define MIN_USEFUL 64 /* At least 1 / MIN_USEFUL of a tile's points are outputs. */
#define MAX_MARGIN 64 /* Most steps by which the margins at faces are stepped in one launch. */
#define MAX_FITS 4    /* How many numbers of launches that fit are tried. */
/* Most steps of a launch. More steps reach past a tile, except for weights with little spread. */
#define MAX_FUSED 64
#define LONGEST 64 /* Most points of a tile along an axis. */
#define MAX_TILES ((int64_t)1 << 30)

/* Measured fractions of the peak rate by tile (segment_dense_tile_factors). In f32 and f16,
 * splitting and packing the operands takes longer than the product, so halves in one part take as
 * long as in two. */
static const double rates[][SEGMENT_DENSE_TILES] = {[STN_F64] = {0.48, 0.72, 0.48, 0.62, 0.64, 0.40, 0.45, 0.71},
                                                    [STN_F32] = {0.335, 0.195, 0.22, 0.18, 0.36, 0.27, 0.28, 0.39},
                                                    [STN_F16] = {0.07, 0.07, 0.085, 0.07, 0.073, 0.052, 0.055, 0.08}};
/* Factor on the rate of complex products in f16, which have more products for each operand. */
#define COMPLEX_HALVES 1.5
#define MEMORY 0.7
/* Seconds per launch: the first tiles' loads and the last ones' stores do not overlap with
 * products. */
#define START 4e-6
#define SHIFTED_SLOWS 1.3 /* Factor of a tile past a side of nonzero value. */
#define NOT_OVERLAPPED 0.02

void segment_dense_tile_points(const segment_dense_tile *tile, int points[3]) {
    const segment_factors *f = segment_dense_tile_factors(tile->number);
    points[0] = f->n[2], points[1] = f->n[0], points[2] = f->n[1];
}

int64_t segment_dense_tile_count(const stn_task *task, const segment_dense_tile *tile, int64_t counts[3]) {
    for (int k = 0; k < 3; k++) counts[k] = stn_div_up(task->n[k] + (k == 2 ? tile->shift : 0), tile->useful[k]);
    return task->batch * counts[0] * counts[1] * counts[2];
}

/* Threads per multiprocessor, from the registers of a thread. 3D tiles have 128, so that one of two
 * blocks loads while the other multiplies. 2D tiles in f64 have 168 if matrices are real and there
 * are at most 32 columns, otherwise 255; in other types 128 and 168. */
static int most_threads(const stn_task *task, const segment_dense_tile *tile) {
    const segment_factors *f = segment_dense_tile_factors(tile->number);
    if (f->n[2] > 1) return 512;
    return task->dtype != STN_F64 ? (f->n[1] <= 32 ? 512 : 384) : f->n[1] <= 32 && tile->even ? 384 : 256;
}

/* A whole tile of 32 x 32 f64 values and the matrix fit a warp's registers. In smaller tiles, loads
 * and stores take longer than the products. */
#define SQUARE 1
segment_dense_tile_block segment_dense_tile_block_of(const stn_task *task, const segment_dense_tile *tile) {
    const segment_factors *f = segment_dense_tile_factors(tile->number);
    segment_dense_tile_block b = {"segment_dense_tile", segment_dense_tile_shared(f, task->dtype, tile->even), f->warps,
                                  2, 0};
    b.resident = (int)stn_max(1, most_threads(task, tile) / (32 * b.warps));
    if (tile->number == SQUARE && tile->even && task->dtype == STN_F64 && tile->fragment == SEGMENT_WIDE) {
        b.kernel = "segment_dense_plane", b.tiles = b.warps;
        b.shared = (size_t)((b.warps + 1) * f->n[0] * f->n[1]) * sizeof(double);
    }
    return b;
}

/* ---- sides ----------------------------------------------------------------------------------- */

static int64_t taps_along(const stn_task *task, int axis) { return task->reach[axis][0] + task->reach[axis][1]; }

/* Symmetric taps of any reach commute with even reflection, and with odd reflection if only one tap
 * reaches past the side. */
static bool has_extension(const stn_task *task, int axis, bool one_value, stn_boundary_kind kind[2]) {
    const bool one_past = task->reach[axis][0] == 1 && task->reach[axis][1] == 1;
    for (int side = 0; side < 2; side++) kind[side] = task->boundary[axis][side].kind;
    if (kind[0] == STN_WRAP) return true;
    if (!stn_task_is_symmetric(task, axis) || task->n[axis] < 4) return false;
    for (int side = 0; side < 2; side++) {
        if (kind[side] == STN_REFLECT || kind[side] == STN_MIRROR) continue;
        if (!one_past || kind[side] == STN_FIXED || (kind[side] == STN_CONSTANT && !one_value)) return false;
        /* With a reach of one point, `nearest` equals `reflect`. */
        if (kind[side] == STN_NEAREST) kind[side] = STN_REFLECT;
    }
    return true;
}

segment_sides segment_sides_of(const stn_task *task) {
    segment_sides s = {.even = true};
    double drift;
    const bool one_value = segment_one_value(task, &s.past, &drift);
    for (int k = 0; k < 3; k++) {
        s.even = s.even && stn_task_is_symmetric(task, k);
        if (!taps_along(task, k))
            s.kind[k][0] = s.kind[k][1] = STN_NEAREST;
        else
            s.margins = s.margins || !has_extension(task, k, one_value, s.kind[k]);
    }
    for (int k = 0; k < 3 && s.margins; k++)
        if (s.kind[k][0] != STN_WRAP) s.kind[k][0] = s.kind[k][1] = STN_NEAREST;
    if (s.margins || !one_value) s.past = 0;
    return s;
}

/* ---- tiles ----------------------------------------------------------------------------------- */

void segment_dense_tile_reach(const stn_task *task, uint64_t steps, stn_reach reach[3]) {
    for (int k = 0; k < 3; k++) {
        reach[k] = (stn_reach){{0, 0}, {0, 0}};
        if (!taps_along(task, k)) continue;
        const bool again = k > 0 && taps_along(task, k - 1) && stn_reach_similar(task, k - 1, k);
        reach[k] = again ? reach[k - 1] : stn_reach_find(task, k, steps, segment_tail(task->dtype));
    }
}

double segment_dense_tile_spread(const stn_task *task) {
    double most = 0;
    for (int k = 0; k < 3; k++) {
        double sum = 0, mean = 0, square = 0;
        for (size_t t = 0; t < task->ntaps; t++) {
            const double weight = fabs(task->taps[t].weight), offset = task->taps[t].offset[k];
            sum += weight, mean += weight * offset, square += weight * offset * offset;
        }
        if (sum > 0) most = fmax(most, square / sum - mean / sum * (mean / sum));
    }
    return sqrt(most);
}

/* Number of memory sectors that points `from` to `to` - 1 of a row touch, if rows begin at whole
 * sectors. */
static int64_t sectors_of(int64_t from, int64_t to, int64_t unit) {
    /* `from` may lie a little before the row: `far` keeps the operands positive. */
    const int64_t far = 1024 * unit;
    return stn_div_up(to + far, unit) - (from + far) / unit;
}

/* Sectors that a row's first tiles read and write, two tiles per access, until the pattern repeats.
 * Outputs begin `shift` points before the row. */
static int64_t sectors_of_tiles(const segment_dense_tile *tile, int64_t n, int length, int64_t unit, int shift) {
    const int64_t useful = tile->useful[2];
    int64_t sum = 0;
    for (int i = 0; i < 2 * unit && i * useful - shift < n; i++) {
        const int64_t at = i * useful - shift, from = at - tile->lead[2];
        sum += sectors_of(from, from + length, unit);
        if (i % 2 == 0) sum += sectors_of(stn_max(at, 0), stn_min(at + 2 * useful, n), unit);
    }
    return sum;
}

static uint8_t best_shift(const stn_task *task, const segment_dense_tile *tile, int length) {
    const int64_t unit = SECTOR_BYTES / (int64_t)stn_dtype_size(task->dtype);
    int best = 0;
    for (int shift = 1; shift < stn_min(unit, tile->useful[2]); shift++)
        if (sectors_of_tiles(tile, task->n[2], length, unit, shift) <
            sectors_of_tiles(tile, task->n[2], length, unit, best))
            best = shift;
    return (uint8_t)best;
}

bool segment_dense_tile_fit(const stn_task *task, const segment_sides *sides, const stn_reach reach[3],
                            segment_dense_tile *tile) {
    int points[3];
    double part = 1;
    segment_dense_tile_points(tile, points);
    if (points[0] > 1 && !taps_along(task, 0)) return false; /* 2D tiles serve such taps. */
    for (int k = 0; k < 3; k++) {
        const int64_t n = task->n[k], unit = k == 2 && points[k] > LONG ? UNIT : 1;
        const int64_t low = reach[k].side[0], high = reach[k].side[1], length = points[k];
        tile->reach[k] = (int)stn_min(low + high, INT32_MAX);
        /* Whole periods: circular convolution is the result. */
        if (sides->kind[k][0] == STN_WRAP && length % n == 0) {
            tile->lead[k] = 0, tile->useful[k] = (int)n;
            continue;
        }
        if (low + high >= length) return false;
        tile->lead[k] = (int)(low ? stn_round_up(low, unit) : 0);
        tile->useful[k] = (int)((length - tile->lead[k] - high) / unit * unit);
        if (tile->useful[k] <= 0) return false;
        part *= (double)tile->useful[k] / (double)length;
    }
    tile->shift = tile->useful[2] == task->n[2] ? 0 : best_shift(task, tile, points[2]);
    return part * MIN_USEFUL >= 1;
}

/* Whether dense DFTs have tensor cores of the tile's type, two tiles (and in 2D two prefetched
 * ones) fit a block's shared memory, and tiles are counted in 31 bits. */
static bool can_run(const stn_task *task, const stn_machine *machine, const segment_dense_tile *tile) {
    int64_t counts[3];
    return machine->flops[segment_dense_unit(task->dtype, tile->fragment)] > 0 &&
           segment_dense_tile_block_of(task, tile).shared <= machine->shared_per_block &&
           segment_dense_tile_count(task, tile, counts) < MAX_TILES;
}

/* ---- cost ------------------------------------------------------------------------------------ */

/* Additional relative rounding error if sides have a nonzero value: tiles at these sides round
 * relative to it. */
#define SHIFTED 9
static double predicted_error(const stn_task *task, const segment_dense_tile *tile) {
    const double stored = task->dtype == STN_F16 ? stn_error_rounding(STN_F16) : 0;
    double systematic = segment_dense_systematic(task->dtype, tile->fragment);
    for (int k = 0; k < 3; k++)
        if (tile->reach[k] < (int64_t)tile->fused * taps_along(task, k))
            systematic += SEGMENT_NEGLECTED_ERROR * segment_tail(task->dtype);
    double at_sides = 0;
    for (int k = 0; k < 3 && tile->shifted; k++)
        at_sides = fmax(at_sides, fmin(1, 2.0 * tile->useful[k] / (double)task->n[k]));
    const double random = segment_dense_rounding(task, tile->fragment) * (1 + SHIFTED * at_sides);
    const double own = stn_error_accumulated(systematic, hypot(random, stored), tile->launches);
    double value, drift = 0;
    if (tile->shifted) (void)segment_one_value(task, &value, &drift);
    return (tile->margins ? hypot(own, stn_error_stepping(task)) : own) + drift;
}

static double part_at_sides(const int64_t counts[3]) {
    double inside = 1;
    for (int k = 0; k < 3; k++)
        if (counts[k] > 1) inside *= (double)(counts[k] - 2) / (double)counts[k];
    return 1 - inside;
}

/* faces: seconds of a launch that the margins take. */
static void cost_with_faces(const stn_task *task, const stn_machine *machine, const segment_dense_tile *tile,
                            double faces, stn_estimate *e) {
    const segment_factors *f = segment_dense_tile_factors(tile->number);
    int64_t counts[3];
    const double tiles = (double)segment_dense_tile_count(task, tile, counts), points = (double)stn_task_points(task);
    const double size = (double)stn_dtype_size(task->dtype), length = f->n[0] * f->n[1] * f->n[2];
    const segment_dense_tile_block block = segment_dense_tile_block_of(task, tile);
    const double resident =
        (double)machine->multiprocessors *
        fmin(block.resident, fmax(1, floor((double)machine->shared_per_multiprocessor / (double)block.shared)));
    const double waves = ceil(tiles / block.tiles) / resident;
    memset(e, 0, sizeof *e);
    e->unit = segment_dense_unit(task->dtype, tile->fragment);
    const double parts = segment_dense_parts(task->dtype, tile->fragment);
    const double flops = segment_dense_flops(f, tile->even) * parts * ceil(tiles / 2);
    const double rate = rates[task->dtype][tile->number] * machine->flops[e->unit] *
                        (task->dtype != STN_F16 ? 1
                         : tile->even           ? parts
                                                : COMPLEX_HALVES * parts);
    const double compute =
        flops / rate * ceil(waves) / waves * (1 + (tile->shifted ? SHIFTED_SLOWS : 0) * part_at_sides(counts));
    const double move = size * (tiles * length + points) / (MEMORY * machine->copy_bandwidth);
    e->launches = tile->launches;
    e->bytes = e->launches * 2 * size * points, e->flops = e->launches * flops;
    e->seconds =
        e->launches * (fmax(compute, move) + NOT_OVERLAPPED * fmin(compute, move) + START + machine->launch_seconds);
    e->seconds += e->launches * faces;
    e->halo_waste = tiles * length / points - 1;
    e->error = predicted_error(task, tile), e->stepping = tile->margins;
}

static double faces_seconds(const stn_task *task, const stn_machine *machine, const segment_dense_tile *tile) {
    return tile->margins ? stn_faces_seconds(task, machine, tile->fused) : 0;
}

void segment_dense_tile_cost(const stn_task *task, const stn_machine *machine, const segment_dense_tile *tile,
                             stn_estimate *e) {
    cost_with_faces(task, machine, tile, faces_seconds(task, machine, tile), e);
}

/* ---- search ---------------------------------------------------------------------------------- */

typedef struct search {
    const stn_task *task;
    const stn_machine *machine;
    segment_sides sides;
    segment_dense_tile *best;
    double costs[STN_CANDIDATES];
    size_t found, most;
} search;

/* For f16: f16 products of operands in one part if they are accurate enough, else in two parts. */
static uint8_t fragment_of(const search *s, segment_dense_tile tile) {
    if (s->task->dtype != STN_F16) return SEGMENT_WIDE;
    tile.fragment = SEGMENT_HALVES;
    const stn_estimate e = {.error = predicted_error(s->task, &tile), .stepping = tile.margins};
    return stn_error_is_within_bound(s->task, &e) ? SEGMENT_HALVES : SEGMENT_TWO_HALVES;
}

static bool add_tiles(search *s, const segment_dense_tile *like, const stn_reach reach[3]) {
    bool any = false;
    /* Seconds of the faces, the same for all tiles; estimated once, which takes milliseconds. */
    double faces = -1;
    for (uint8_t number = 0; number < SEGMENT_DENSE_TILES; number++) {
        segment_dense_tile tile = *like;
        tile.number = number;
        if (!segment_dense_tile_fit(s->task, &s->sides, reach, &tile)) continue;
        tile.fragment = fragment_of(s, tile);
        if (!can_run(s->task, s->machine, &tile)) continue;
        any = true;
        if (faces < 0) faces = faces_seconds(s->task, s->machine, &tile);
        stn_estimate e;
        cost_with_faces(s->task, s->machine, &tile, faces, &e);
        segment_dense_tile *to = stn_cheapest_insert(s->best, s->costs, sizeof tile, &s->found, s->most, e.seconds);
        if (to) *to = tile;
    }
    return any;
}

/* Variants to be timed: other fragments of the cheapest tiles. */
#define VARIED 4
static size_t add_variants(const search *s, size_t most) {
    size_t found = s->found;
    for (size_t i = 0; i < s->found && i < VARIED; i++)
        for (uint8_t fragment = 0; fragment < 3 && found < most && s->task->dtype != STN_F32; fragment++) {
            segment_dense_tile varied = s->best[i];
            varied.fragment = fragment;
            if (fragment != s->best[i].fragment && can_run(s->task, s->machine, &varied)) s->best[found++] = varied;
        }
    return found;
}

size_t segment_dense_tile_search(const stn_task *task, const stn_machine *machine, segment_dense_tile *best,
                                 size_t most, const char **why) {
    const double spread = segment_dense_tile_spread(task);
    const int64_t least = stn_div_up((int64_t)task->steps, MAX_FUSED);
    *why = "its taps reach too far, or its symbol grows past the data's range";
    if (SEGMENT_MIN_REACH * spread > LONGEST) return 0; /* Returns before the slower tests. */
    search s = {.task = task, .machine = machine, .sides = segment_sides_of(task)};
    s.best = best, s.most = (size_t)stn_min((int64_t)most, STN_CANDIDATES);
    const double largest = stn_reach_max_symbol(task->searches, task->ntaps, task->taps);
    int last = 0;
    for (int64_t launches = least, fits = 0; launches <= (int64_t)task->steps && fits < (most == 1 ? 1 : MAX_FITS);
         launches += launches / 3 + 1) {
        segment_dense_tile tile = {.mark = SEGMENT_DENSE_TILE_MARK,
                                   .fused = (int)stn_div_up((int64_t)task->steps, launches),
                                   .margins = s.sides.margins,
                                   .even = s.sides.even,
                                   .shifted = s.sides.past != 0};
        int64_t low[3], high[3];
        stn_reach reach[3];
        if (tile.fused == last) continue;
        /* The fewest launches of this number of steps. */
        last = tile.fused, tile.launches = (int)stn_div_up((int64_t)task->steps, last);
        if (segment_exceeds_time_limit(task, machine, tile.launches)) break;
        if (segment_overflows(task, largest, (uint64_t)tile.fused)) continue;
        if (tile.margins && (tile.fused > MAX_MARGIN || !stn_faces_interior(task, tile.fused, low, high))) continue;
        if (SEGMENT_MIN_REACH * spread * sqrt(tile.fused) > LONGEST) continue;
        segment_dense_tile_reach(task, (uint64_t)tile.fused, reach);
        fits += add_tiles(&s, &tile, reach);
    }
    return most > STN_CANDIDATES ? add_variants(&s, most) : s.found;
}
