/* Chooses the shape of faces_tile.cu (box, patch, threads) by a cost model. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "strategies/faces/tile/faces_tile.h"

#define MAX_THREADS 1024         /* threads of a block */
#define MAX_REACH STN_MAX_RADIUS /* largest reach along any axis */
#define WARP 32

/* Rates of faces_tile on an H200, fitted to 49 launches that were timed alone. */
static const struct {
    double runs; /* factor on the bytes of 64-byte runs */
    double busy; /* cycles an instruction */
    /* Cycles a step for two barriers and addresses, in 1D and else. */
    double line_step, step;
    /* With fewer than full_warps warps on a multiprocessor in 2D and 3D in f32 and f16, work takes
     * (full_warps / warps) to the power few_warps_exponent as long. */
    double full_warps, few_warps_exponent;
    /* Further cycles a step if points past sides fold: for each axis, and for each such point. */
    double fold, fold_point;
    double wave;      /* seconds of each wave after the first, for its loads and stores */
    double last_wave; /* idle part of the last wave, when there are four waves or more */
} rates = {3, 1.1, 190, 240, 24, 0.7, 510, 1.2, 2e-6, 0.3};

/* ---- boxes */

int faces_tile_patch(const faces_tile *tile, int axis) { return axis == 0 ? 1 : axis == 1 ? tile->rows : tile->points; }

/* Depth of the box along the face's axis: the tile's margin, f reaches more, and one reach past the
 * face where boundary values are read. */
static int depth_of(const stn_task *task, int fused, int axis) {
    int most = 0;
    for (int side = 0; side < 2; side++) {
        if (!stn_faces_has_face(task, axis, side)) continue;
        int past = task->boundary[axis][side].kind == STN_FIXED ? 0 : task->reach[axis][side];
        int depth = fused * (task->reach[axis][side] + stn_task_reach(task, axis)) + past;
        if (depth > most) most = depth;
    }
    return most;
}

int faces_tile_points(const stn_task *task, const faces_tile *tile, int normal, int axis) {
    if (axis != normal) return tile->box[normal][axis] - 2 * tile->fused * stn_task_reach(task, axis);
    return tile->fused * stn_task_reach(task, axis);
}

static int lanes_of(const faces_tile *tile, int normal) {
    const int *box = tile->box[normal];
    return box[0] * (box[1] / tile->rows) * (box[2] / tile->points);
}

/* Whether a warp's lanes, in rows of lanes_x that begin `group` elements apart, access different
 * banks. */
static bool is_conflict_free(int lanes_x, int group, int banks) {
    uint32_t taken = 0;
    for (int lane = 0, x = 0, first = 0; lane < banks; lane++, x++) {
        if (x == lanes_x) x = 0, first += group;
        /* `banks` is a power of two. */
        const uint32_t bank = UINT32_C(1) << ((first + x) & (banks - 1));
        if (taken & bank) return false;
        taken |= bank;
    }
    return true;
}

/* Same as find_skew of the kernel. */
static int skew_of(int lanes_x, int rows, int banks) {
    for (int skew = 0; lanes_x > 0 && lanes_x < banks && skew < banks; skew++)
        if (is_conflict_free(lanes_x, rows * lanes_x + skew, banks)) return skew;
    return 0;
}

/* Elements of shared memory, as `box` of the kernel counts them. */
static size_t elements_of(const stn_task *task, const faces_tile *tile, int normal) {
    const int *box = tile->box[normal], banks = task->dtype == STN_F64 ? 16 : 32;
    int lanes_x = box[2] / tile->points, lanes_y = box[1] / tile->rows;
    int group = tile->rows * lanes_x + skew_of(lanes_x, tile->rows, banks);
    int64_t rim =
        stn_div_up(stn_task_reach(task, 1), tile->rows) * group + stn_div_up(stn_task_reach(task, 2), tile->points);
    int elements = box[0] * lanes_y * group; /* of one class, before padding */
    int padding = (banks + banks / tile->points - elements % banks) % banks;
    return (size_t)(tile->points * (elements + padding) + 2 * rim);
}

/* Tiles at both faces of an axis, in one grid. */
static double tiles_of(const stn_task *task, const faces_tile_pieces *pieces, const faces_tile *tile, int normal) {
    double tiles = 0;
    for (size_t i = 0; i < pieces->count; i++) {
        const faces_tile_piece *piece = &pieces->at[i];
        if (piece->axis != normal) continue;
        double own = 1;
        for (int k = 0; k < 3; k++)
            if (k != normal)
                own *= (double)stn_div_up(piece->end[k] - piece->low[k], faces_tile_points(task, tile, normal, k));
        tiles += own;
    }
    return tiles;
}

/* Active patches, summed over all steps. After each step, the valid region around the block's own
 * points is smaller by one reach, on one side along the face's axis and on both sides along the
 * others. The product of three such lengths is summed by powers of the step number. */
static double active_patches(const stn_task *task, const faces_tile *tile, int normal) {
    double f = tile->fused, sum[4] = {f, f * (f - 1) / 2, f * (f - 1) * (2 * f - 1) / 6, f * f * (f - 1) * (f - 1) / 4};
    double p[4] = {1, 0, 0, 0};
    for (int k = 0; k < 3; k++) {
        double size = faces_tile_patch(tile, k), own = faces_tile_points(task, tile, normal, k),
               reach = stn_task_reach(task, k);
        double at = own / size + (size > 1 && k != normal ? 0.5 : 0), slope = (k == normal ? 1 : 2) * reach / size;
        for (int d = 3; d >= 0; d--) p[d] = p[d] * at + (d ? p[d - 1] * slope : 0);
    }
    return p[0] * sum[0] + p[1] * sum[1] + p[2] * sum[2] + p[3] * sum[3];
}

/* ---- cost */

static bool folds_along(const stn_task *task, int axis) {
    bool folds = false;
    for (int side = 0; side < 2; side++) {
        const stn_boundary_kind kind = task->boundary[axis][side].kind;
        folds = folds || (stn_faces_has_face(task, axis, side) && kind != STN_CONSTANT && kind != STN_FIXED);
    }
    return folds;
}

/* Same as is_seen of the kernel: points of a patch that are written to shared memory in each step.
 */
static int seen_points(const stn_task *task, const faces_tile *tile) {
    int64_t rows = tile->rows - task->reach[1][0] - task->reach[1][1],
            points = tile->points - task->reach[2][0] - task->reach[2][1];
    const bool folds = folds_along(task, 0) || folds_along(task, 1) || folds_along(task, 2);
    if (folds || stn_task_reach(task, 0) > 0 || rows < 0 || points < 0) rows = 0;
    return tile->rows * tile->points - (int)(rows * points);
}

/* Work of one patch in one step, and the pieces that have patches. */
typedef struct patch_work {
    double accesses, operations; /* accesses of shared memory; arithmetic instructions */
    const faces_tile_pieces *pieces;
} patch_work;

static double separable_operations(const stn_task *task, const faces_tile *tile) {
    int span[3];
    for (int k = 0; k < 3; k++) span[k] = task->reach[k][0] + task->reach[k][1];
    double rows = tile->rows + span[1], columns = tile->points + span[2];
    return rows * (columns * span[0] + tile->points * span[2]) + tile->rows * tile->points * (span[1] + 1);
}

static patch_work work_of(const stn_task *task, const faces_tile_pieces *pieces, const faces_tile *tile) {
    static const int most = 2 * MAX_REACH + 8;
    patch_work w = {seen_points(task, tile), 0, pieces};
    int taps = 0, pairs = 0;
    int64_t plane = INT64_MIN;
    bool distance[MAX_REACH + 1] = {false};
    for (size_t i = 0; i < task->ntaps; i++) {
        const int64_t *o = task->taps[i].offset;
        if (o[0] != plane) memset(distance, 0, sizeof distance), plane = o[0];
        if (tile->mirror && o[2] > 0) {
            pairs += !distance[o[2]];
            distance[o[2]] = true;
            continue;
        }
        taps++;
    }
    int reach_y = stn_task_reach(task, 1);
    w.operations = tile->separable ? separable_operations(task, tile)
                                   : tile->points * (taps * tile->rows + (double)pairs * (tile->rows + 2 * reach_y));
    /* For each plane of taps: the rows and the range along x that they read. */
    for (int z = -task->reach[0][0]; z <= task->reach[0][1]; z++)
        for (int y = -task->reach[1][0]; y < tile->rows + task->reach[1][1]; y++) {
            bool seen[2 * MAX_REACH + 8] = {false};
            for (size_t i = 0; i < task->ntaps; i++) {
                const int64_t *o = task->taps[i].offset;
                if (o[0] != z || y - o[1] < 0 || y - o[1] >= tile->rows) continue;
                for (int v = 0; v < tile->points; v++) seen[o[2] + v + MAX_REACH] = true;
            }
            for (int x = 0; x < most; x++) {
                bool mine = z == 0 && y >= 0 && y < tile->rows && x >= MAX_REACH && x < MAX_REACH + tile->points;
                w.accesses += seen[x] && !mine;
            }
        }
    return w;
}

/* The tiles at faces normal to one axis, in all grids: their number, their cycles of a
 * multiprocessor, and the bytes of the 64-byte runs that they move, times the slowdown of such
 * accesses relative to a copy. */
typedef struct tile_cost {
    double tiles, cycles, bytes;
} tile_cost;

static tile_cost cost_of(const stn_task *task, const stn_machine *machine, const faces_tile *tile, const patch_work *w,
                         int normal) {
    bool wide = task->dtype == STN_F64;
    const int *box = tile->box[normal];
    double step = w->accesses / (wide ? 16 : 32) + w->operations / (wide ? machine->wide_lanes : machine->lanes);
    double size = (double)stn_dtype_size(task->dtype), runs = (double)box[0] * box[1] * ceil(box[2] * size / 64);
    tile_cost c = {.tiles = tiles_of(task, w->pieces, tile, normal) * (double)task->batch};
    c.cycles = c.tiles * active_patches(task, tile, normal) * step;
    c.bytes = c.tiles * runs * 64 * rates.runs;
    return c;
}

/* Cycles of a step in which `blocks` resident blocks refresh the points past sides that fold, in
 * all layers of the box across each axis: of the faces with the most such points. */
static double fold_cycles(const stn_task *task, const faces_tile *tile, const patch_work *w, double blocks) {
    double most = 0;
    for (int normal = 0; normal < 3; normal++) {
        double cycles = 0;
        for (int axis = 0; axis < 3 && w->pieces->tiled[normal]; axis++) {
            const int *box = tile->box[normal];
            const double layers = task->reach[axis][0] + task->reach[axis][1];
            if (folds_along(task, axis))
                cycles += rates.fold + rates.fold_point * blocks * layers * box[0] * box[1] * box[2] / box[axis];
        }
        most = fmax(most, cycles);
    }
    return most;
}

/* Registers hold at most this many points of a window's row besides those of the patch: NVRTC 13
 * needs no more registers for a reach of 64 to either side than for one of 32. */
#define MAX_HELD 64
/* Resident blocks on a multiprocessor, limited by registers (a patch and a row of its window),
 * shared memory and threads. */
static int resident(const stn_task *task, const stn_machine *machine, const faces_tile *tile) {
    int words = task->dtype == STN_F64 ? 2 : 1, points = tile->rows * tile->points;
    int window = tile->points + (int)stn_min(task->reach[2][0] + task->reach[2][1], MAX_HELD);
    int registers = (int)stn_round_up(words * (points + points / 8 + window) + 28, 8);
    int by_registers =
            (int)machine->registers_per_multiprocessor / (registers * (int)stn_round_up(tile->threads, WARP)),
        by_threads = machine->threads / tile->threads;
    size_t whole = machine->shared_per_multiprocessor ? machine->shared_per_multiprocessor : machine->shared_per_block;
    int by_shared = (int)(whole / (tile->shared + 1024));
    int least = by_registers < by_threads ? by_registers : by_threads;
    return least < by_shared ? least : by_shared;
}

static double few_warps_factor(const stn_task *task, double warps) {
    if (task->rank == 1 || task->dtype == STN_F64) return 1;
    return pow(fmax(1, rates.full_warps / warps), rates.few_warps_exponent);
}

/* Computes shared memory, blocks and seconds of a tile whose boxes are known; false if it does not
 * fit. */
static bool finish(const stn_task *task, const stn_machine *machine, const patch_work *w, faces_tile *tile) {
    size_t elements = 0;
    int lanes = WARP;
    for (int k = 0; k < 3; k++)
        if (w->pieces->tiled[k]) {
            size_t own = elements_of(task, tile, k);
            if (own > elements) elements = own;
            if (lanes_of(tile, k) > lanes) lanes = lanes_of(tile, k);
        }
    tile->threads = (int)stn_round_up(lanes, WARP);
    tile->shared = elements * (task->dtype == STN_F64 ? 8 : 4);
    if (tile->shared > machine->shared_per_block) return false;
    tile->blocks = resident(task, machine, tile);
    if (tile->blocks < 1) return false;
    tile_cost all = {0};
    for (int k = 0; k < 3; k++)
        if (w->pieces->tiled[k]) {
            tile_cost c = cost_of(task, machine, tile, w, k);
            all.tiles += c.tiles, all.cycles += c.cycles, all.bytes += c.bytes;
        }
    if (!(all.tiles < INT32_MAX)) return false;
    /* Resident blocks hide each other's latency; the last wave is partly idle. */
    double blocks_per_sm = fmin(tile->blocks, ceil(all.tiles / machine->multiprocessors));
    double waves = all.tiles / (machine->multiprocessors * blocks_per_sm),
           full = waves < 4 ? ceil(waves) : waves + rates.last_wave;
    const double few = few_warps_factor(task, blocks_per_sm * tile->threads / WARP);
    const double step =
        (task->rank == 1 ? rates.line_step : rates.step) + fold_cycles(task, tile, w, few * blocks_per_sm);
    double cycles = full / waves * rates.busy * few * all.cycles / machine->multiprocessors + full * tile->fused * step;
    tile->seconds = cycles / machine->clock + all.bytes / machine->copy_bandwidth + (full - 1) * rates.wave +
                    machine->launch_seconds;
    return true;
}

/* Sets the extents of the box at faces normal to an axis: along the axis they are given; along the
 * others they are as long as threads and the grid allow, in 3D the shape with the least cost for a
 * point of the face. */
static bool fit_box(const stn_task *task, const stn_machine *machine, const patch_work *w, faces_tile *tile, int normal,
                    int threads) {
    int *box = tile->box[normal], others[2], count = 0;
    for (int k = 0; k < 3; k++) {
        box[k] = faces_tile_patch(tile, k);
        if (k == normal)
            box[k] = (int)stn_round_up(depth_of(task, tile->fused, k), faces_tile_patch(tile, k));
        else if (task->n[k] > 1 || stn_task_reach(task, k) > 0)
            others[count++] = k;
    }
    int lanes = lanes_of(tile, normal);
    if (lanes < 1 || lanes > threads) return false;
    int groups = threads / lanes; /* patches left for the other axes */
    if (count == 0) return true;
    int best[2] = {0, 0};
    double least = INFINITY;
    static const int tried[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 28, 32, 40, 48, 64};
    for (size_t i = 0; i < (count == 2 ? sizeof tried / sizeof *tried : 1); i++) {
        int first = count == 2 ? tried[i] : groups, second = count == 2 ? groups / first : 1;
        for (int c = 0; c < count; c++) {
            int k = others[c], size = faces_tile_patch(tile, k);
            int64_t longest = stn_round_up(task->n[k] + 2 * tile->fused * stn_task_reach(task, k), size);
            box[k] = (int)stn_min((int64_t)(c ? second : first) * size, longest);
        }
        bool holds = second >= 1;
        for (int c = 0; c < count; c++) holds = holds && faces_tile_points(task, tile, normal, others[c]) > 0;
        if (!holds) continue;
        tile_cost c = cost_of(task, machine, tile, w, normal);
        double cost =
            rates.busy * c.cycles / machine->multiprocessors / machine->clock + c.bytes / machine->copy_bandwidth;
        if (cost < least) least = cost, best[0] = box[others[0]], best[1] = count == 2 ? box[others[1]] : 0;
    }
    for (int c = 0; c < count; c++) box[others[c]] = best[c];
    return least < INFINITY;
}

bool faces_tile_weights_match(const stn_task *task, const faces_tile *tile) {
    double factors[3][STN_TASK_FACTORS];
    return (!tile->separable || stn_task_is_separable(task, factors)) &&
           (!tile->mirror || stn_task_is_symmetric(task, 2));
}

void faces_tile_use_weights(const stn_task *task, faces_tile *tile) {
    double factors[3][STN_TASK_FACTORS];
    tile->separable = task->rank > 1 && stn_task_is_separable(task, factors);
    tile->mirror = !tile->separable && stn_task_reach(task, 2) > 0 && stn_task_is_symmetric(task, 2);
}

/* The kernel has code of its own for the faces of each axis, which unrolls a step of a patch. More
 * instructions than this take over a second to compile. Patches of fewer points are hardly slower
 * then, because arithmetic dominates. */
#define MAX_UNROLLED 2600
static double unrolled(const patch_work *w) {
    const int *tiled = w->pieces->tiled;
    return w->operations * (tiled[0] + tiled[1] + tiled[2]);
}

/* Patches of few points come first. */
bool faces_tile_choose(const stn_task *task, const stn_machine *machine, int fused, faces_tile *best) {
    static const struct {
        int rank, rows, points;
    } patches[] = {{1, 1, 2}, {1, 1, 4}, {2, 2, 2}, {2, 4, 2}, {2, 8, 2}, {2, 4, 4}, {2, 8, 4}, {3, 2, 4}, {3, 4, 4}};
    static const int threads[] = {128, 256, 384, 448, 512, 768, 896, MAX_THREADS};
    if (task->ntaps > FACES_TILE_TAPS) return false;
    for (int k = 0; k < 3; k++)
        if (stn_task_reach(task, k) > MAX_REACH) return false;
    const faces_tile_pieces pieces = faces_tile_cut(task, fused);
    *best = (faces_tile){.fused = fused, .seconds = INFINITY};
    faces_tile like = {.fused = fused};
    faces_tile_use_weights(task, &like);
    for (size_t i = 0; pieces.count && i < sizeof patches / sizeof *patches; i++) {
        faces_tile tile = like;
        tile.rows = patches[i].rows, tile.points = patches[i].points;
        if (task->rank != patches[i].rank) continue;
        const patch_work w = work_of(task, &pieces, &tile);
        if (unrolled(&w) > MAX_UNROLLED && best->seconds < INFINITY) continue;
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            bool fits = true;
            for (int k = 0; k < 3 && fits; k++)
                fits = !pieces.tiled[k] || fit_box(task, machine, &w, &tile, k, threads[t]);
            if (fits && finish(task, machine, &w, &tile) && tile.seconds < best->seconds) *best = tile;
        }
    }
    return best->seconds < INFINITY;
}
