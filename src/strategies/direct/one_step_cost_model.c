/* Cost model of one step by direct_line, _tile, _skew, _gather and _any. */
#include <math.h>

#include "base/arith.h"
#include "strategies/direct/direct_skew.h"
#include "strategies/direct/one_step.h"

#define SCHEDULERS 4 /* of a multiprocessor */

/* Fitted to some 110 measured candidates of direct_tile and 13 of direct_line on an H200. Memory
 * time and warp time overlap: they are combined by a p-norm. The launch time is added. */
static const struct {
    /* Exponent p of the norm; seconds added to machine->launch_seconds for each launch. */
    double overlap_exponent, launch_seconds;
    /* When input and output together fit this part of L2, they stay there: then the bandwidth is
     * l2_copy_factor times the copy bandwidth. */
    double l2_fraction, l2_copy_factor;
    double reread_copy_factor; /* L2 bandwidth for overlapping windows, in copy bandwidths */
    double fma, convert;       /* time of an FMA and of converting f16, in FMAs at peak */
    /* Cycles of a warp while many warps are resident: load_cycles for each access to one of its own
     * planes, halo_cycles for each halo plane. */
    double load_cycles, halo_cycles;
    /* Factor for accesses of two bytes a lane (14313 x 2325, f16, 29 taps: 0.151 ms). */
    double narrow_factor;
    /* Cycles of a warp that waits for each access: plane_cycles for each plane, access_cycles for
     * each access of 16 bytes by every lane. */
    double plane_cycles, access_cycles;
    /* Further cycles of such a warp for each halo plane after the first two, if points past a side
     * fold back into the grid. */
    double fold_cycles;
    double edge_share; /* blocks at an edge take this much longer, as a fraction */
    /* direct_skew: cycles of a scheduler for a tap of a warp's points near sides, and for each row
     * and plane of which a warp does not store all words. */
    double side_tap_cycles, partial_row_cycles;
    /* Factors for taps off the axes, whose windows have all rows in all planes; and for taps that
     * reach past the words next to a row's own: more than one point in 3D, two in 2D. */
    double skewed_box_factor, skewed_far_factor;
    /* Further factor if the output's rows are skewed unlike the input's: 512 x 512 x 513, f32. */
    double shifted_factor;
    /* Factor for accesses of 8 and 4 bytes in f64 and f32: of all the time in 2D, of the memory
     * time in 3D. Factor for accesses of 1, 2, 4 and 8 points in 3D in f16, where 8 points
     * spill registers (511 to 514 columns, 7 taps: 0.285, 0.208, 0.168 and 0.216 ms). */
    double access_factor[2], volume_f16_factor[4];
    /* If the weights have more words than held_words, a warp reads each of them from shared memory
     * for each plane, in weight_cycles. */
    int held_words;
    double weight_cycles;
    /* Factor for all shapes but the first-ranked one: measured rankings of one problem's shapes are
     * finer than this model, so another shape is chosen only when it is clearly faster. */
    double rank_factor;
} tile_rates = {.overlap_exponent = 2.8,
                .launch_seconds = 1.5e-6,
                .l2_fraction = 0.67,
                .l2_copy_factor = 2.8,
                .reread_copy_factor = 1.5,
                .fma = 1.1,
                .convert = 1.4,
                .load_cycles = 73,
                .halo_cycles = 172,
                .narrow_factor = 0.45,
                .plane_cycles = 257,
                .access_cycles = 16,
                .fold_cycles = 1000,
                .edge_share = 0.077,
                .side_tap_cycles = 25,
                .partial_row_cycles = 20,
                .skewed_box_factor = 1.09,
                .skewed_far_factor = 1.16,
                .shifted_factor = 1.1,
                .access_factor = {1.16, 1.5},
                .volume_f16_factor = {1.24, 0.8, 0.9, 1.25},
                .held_words = 128,
                .weight_cycles = 1,
                .rank_factor = 1.12};
static const struct {
    double fma, convert, load_cycles; /* load_cycles: cycles of a 16-byte access of each lane */
    double runs_factor;               /* factor for several runs a thread */
    /* Cycles of a warp's tap in f64, f32, f16; and in 3D, where planes are far apart. */
    double gather_cycles[3], gather_3d_cycles;
    /* Overhead of a point, as the number of taps that take as long; latency of a tap in cycles, if
     * few other warps hide it, in warps at sides, which fold indices (640 x 256, f32, 81 taps: 24
     * us; strips of 225 to 289 taps). */
    double gather_overhead_taps, gather_chain_cycles;
    /* Further cycles of a warp's tap for points at sides in 2D (139 x 159, f32, 51 x 51 taps). */
    double gather_side_cycles;
    double gather_many_taps_factor; /* for more than 100 taps in 2D and 3D in f64 */
    /* direct_any: cycles of a warp for a point, for each axis after the first, for a tap in f32 and
     * f16, and for a tap in f64. Fitted to 1D runs of 7 and 15 taps and 2D runs of 5 taps. A tap
     * takes three L1 accesses, four in f64. */
    double any_point_cycles, any_axis_cycles, any_tap_cycles, any_f64_tap_cycles;
    /* direct_any in 3D, where planes are far apart: cycles of a warp for a tap if all sides that
     * taps reach past are fixed, and if some are not, so that indices are folded. The factor
     * multiplies them, and any_f64_tap_cycles in 2D, if there are more than 100 taps. Fitted to
     * runs of 7 to 729 taps. */
    double any_3d_fixed_cycles, any_3d_cycles, any_many_taps_factor;
} other_rates = {.fma = 1,
                 .convert = 4.2,
                 .load_cycles = 8,
                 .runs_factor = 1.06,
                 .gather_cycles = {[STN_F64] = 6.5, [STN_F32] = 4.2, [STN_F16] = 4},
                 .gather_3d_cycles = 9,
                 .gather_overhead_taps = 8,
                 .gather_chain_cycles = 475,
                 .gather_side_cycles = 30,
                 .gather_many_taps_factor = 2,
                 .any_point_cycles = 75,
                 .any_axis_cycles = 12,
                 .any_tap_cycles = 4,
                 .any_f64_tap_cycles = 5,
                 .any_3d_fixed_cycles = 3.2,
                 .any_3d_cycles = 9.3,
                 .any_many_taps_factor = 1.5};

static double copy_seconds(const stn_task *task, const stn_machine *machine) {
    const double bytes = 2 * (double)stn_dtype_size(task->dtype) * (double)stn_task_points(task);
    return bytes / (machine->copy_bandwidth *
                    (bytes < tile_rates.l2_fraction * (double)machine->l2_bytes ? tile_rates.l2_copy_factor : 1));
}

/* Cycles of a multiprocessor for this many FMAs of a warp. */
static double fma_cycles(const stn_task *task, const stn_machine *machine, double fmas) {
    return fmas * 32 / (task->dtype == STN_F64 ? machine->wide_lanes : machine->lanes);
}

static int slots_of(const stn_task *task, const direct_shape *shape) {
    return (int)(stn_div_up(task->reach[2][0], shape->vector) + 1 + stn_div_up(task->reach[2][1], shape->vector));
}

/* ---- direct_tile */

typedef struct tile_load {
    double warps, waves, inner; /* inner: fraction of blocks that touch no edge */
    double uneven;              /* blocks of the busiest multiprocessor, over their mean number */
    /* Accesses of a warp to one of its own planes, and to a halo plane. */
    double own, halo_accesses;
    double planes, halo;    /* planes that a warp reads, and the halo planes among them */
    double reread_elements; /* elements that overlapping windows read more than once */
} tile_load;

/* Elements that all blocks read. A star reads its halo planes only at its own points. */
static double elements_read(const stn_task *task, const direct_shape *shape, int64_t blocks) {
    const int y = direct_axis(task, shape, 1);
    const double reach_y = task->reach[y][0] + task->reach[y][1],
                 halo = (double)shape->vector * (slots_of(task, shape) - 1);
    const double z = (double)shape->chunk * shape->threads[0], rows = (double)shape->rows * shape->threads[1];
    const double x = (double)shape->vector * shape->threads[2];
    const int depth = task->reach[direct_axis(task, shape, 0)][0] + task->reach[direct_axis(task, shape, 0)][1];
    const bool star = task->pattern == STN_PATTERN_STAR;
    const double own = star ? rows * (x + halo) + reach_y * x : (rows + reach_y) * (x + halo);
    return (double)blocks * (own * z + depth * (star ? rows * x : own));
}

static tile_load load_of(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    const int z = direct_axis(task, shape, 0), y = direct_axis(task, shape, 1);
    const int reach_y = task->reach[y][0] + task->reach[y][1], slots = slots_of(task, shape);
    const bool star = task->pattern == STN_PATTERN_STAR;
    int64_t tiles[3];
    direct_tiles(task, shape, tiles);
    const direct_skew_blocks skewed = direct_skew_count(task, shape);
    const int64_t blocks =
        (shape->skewed ? skewed.inner * skewed.tiles_z : tiles[0] * tiles[1] * tiles[2]) * task->batch;
    tile_load l = {.halo = task->reach[z][0] + task->reach[z][1], .inner = 1};
    l.planes = shape->chunk + l.halo;
    /* A march that is unrolled as a whole reads of a star's halo planes only its own points. */
    const bool lean = star && shape->unroll >= l.planes;
    l.own = star ? shape->rows * slots + reach_y : (shape->rows + reach_y) * slots;
    l.halo_accesses = lean ? shape->rows : l.own;
    l.warps = (double)blocks * shape->threads[0] * shape->threads[1] * shape->threads[2] / 32;
    const double mean = (double)blocks / machine->multiprocessors;
    l.uneven = ceil(mean) / mean;
    l.waves = mean / shape->blocks;
    l.reread_elements = fmax(0, elements_read(task, shape, blocks) - (double)stn_task_points(task));
    for (int k = 0; k < 3; k++) {
        const int axis = direct_axis(task, shape, k);
        if (!shape->skewed && task->reach[axis][0] + task->reach[axis][1])
            l.inner *= (double)stn_max(tiles[k] - 2, 0) / (double)tiles[k];
    }
    return l;
}

/* Whether taps reach past a side that folds by nearest, reflect or mirror. */
static bool folds(const stn_task *task) {
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            const stn_boundary_kind kind = task->boundary[axis][side].kind;
            const bool near = kind == STN_NEAREST || kind == STN_REFLECT || kind == STN_MIRROR;
            if (near && task->reach[axis][side]) return true;
        }
    return false;
}

/* Cycles of the dependent accesses of warps. Many warps hide each other's latency, so the number of
 * accesses counts; few warps wait for every plane, longest at sides that fold. */
static double chain_cycles(const stn_task *task, const tile_load *l, const direct_shape *shape) {
    const double wide = shape->vector * (double)stn_dtype_size(task->dtype) / 16;
    const double accesses = shape->chunk * l->own + l->halo * l->halo_accesses;
    const double narrow = shape->vector * stn_dtype_size(task->dtype) < 4 ? tile_rates.narrow_factor : 1;
    const double each = shape->chunk * l->own * tile_rates.load_cycles * narrow + l->halo * tile_rates.halo_cycles;
    const double many = l->uneven * l->waves * each;
    const double fold = folds(task) ? fmax(0, l->halo - 2) * tile_rates.fold_cycles : 0;
    const double few = l->planes * tile_rates.plane_cycles + accesses * wide * tile_rates.access_cycles + fold;
    return fmax(many, few);
}

/* Cycles of a multiprocessor for what only direct_skew does: points near sides, and words that are
 * not stored whole, the first and the last ones of a row. */
static double skewed_cycles(const stn_task *task, const direct_shape *shape) {
    if (!shape->skewed) return 0;
    const direct_skew_blocks b = direct_skew_count(task, shape);
    const double warps = (double)(task->batch * shape->threads[0] * shape->threads[1] * shape->threads[2]) / 32;
    const double whole = (double)stn_max(0, b.tiles_x - (b.rest ? 1 : 2)) / (double)stn_max(1, b.tiles_x);
    const double partial = (double)b.tiles_z * ((double)b.inner - whole * (double)b.tiles);
    const int *of_z = task->reach[direct_axis(task, shape, 0)];
    const double near_sides = (double)b.faces * (of_z[0] + of_z[1]) + (double)(b.tiles_z * b.sides * b.run);
    return warps / SCHEDULERS *
           (near_sides * (double)task->ntaps * tile_rates.side_tap_cycles +
            partial * shape->chunk * shape->rows * tile_rates.partial_row_cycles);
}

/* Factor for direct_skew. */
static double skewed_factor(const stn_task *task, const direct_shape *shape) {
    const bool volume = task->rank == 3;
    const int64_t reach = stn_task_reach(task, 2);
    if (!shape->skewed) return 1;
    double factor = 1;
    if (volume ? reach > 1 && stn_task_reach(task, 0) : reach > 2) factor *= tile_rates.skewed_far_factor;
    if (task->pattern != STN_PATTERN_STAR) factor *= tile_rates.skewed_box_factor;
    return direct_skew_shifts(task, shape->vector) ? factor * tile_rates.shifted_factor : factor;
}

/* Factor for the points of an access, and for direct_skew. */
static double access_factor(const stn_task *task, const direct_shape *shape) {
    const int bytes = shape->vector * (int)stn_dtype_size(task->dtype);
    const double skewed = skewed_factor(task, shape);
    if (task->rank == 3 && task->dtype == STN_F16)
        return skewed * tile_rates.volume_f16_factor[(shape->vector > 1) + (shape->vector > 2) + (shape->vector > 4)];
    return task->rank != 2 || task->dtype == STN_F16 || bytes >= 16 ? skewed
                                                                    : skewed * tile_rates.access_factor[bytes < 8];
}

static double tile_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    const tile_load l = load_of(task, machine, shape);
    const size_t size = stn_dtype_size(task->dtype);
    const double warps = l.uneven * l.warps / machine->multiprocessors, points = (double)shape->rows * shape->vector;
    /* Loops that are not unrolled as a whole also compute sums that are not used. Those of
     * direct_skew do so too, but are as fast as if they did not. */
    const bool only_used = shape->skewed || shape->unroll >= l.planes;
    const double fmas = (double)task->ntaps * points * (only_used ? shape->chunk : l.planes);
    const double numbers = shape->vector * (shape->chunk * (l.own + shape->rows) + l.halo * l.halo_accesses);
    double cycles = tile_rates.fma * fma_cycles(task, machine, warps * fmas) + chain_cycles(task, &l, shape);
    if (task->dtype == STN_F16) cycles += tile_rates.convert * fma_cycles(task, machine, warps * numbers);
    if ((int)task->ntaps * (task->dtype == STN_F64 ? 2 : 1) > tile_rates.held_words)
        cycles += tile_rates.weight_cycles * warps * l.planes * (double)task->ntaps;
    cycles += skewed_cycles(task, shape) / machine->multiprocessors;
    const int bytes = shape->vector * (int)size;
    const bool narrow = task->rank == 3 && task->dtype != STN_F16 && bytes < 16;
    const double memory = copy_seconds(task, machine) * (narrow ? tile_rates.access_factor[bytes < 8] : 1);
    const double work = cycles / machine->clock +
                        l.reread_elements * (double)size / (tile_rates.reread_copy_factor * machine->copy_bandwidth);
    const double both = pow(pow(memory, tile_rates.overlap_exponent) + pow(work, tile_rates.overlap_exponent),
                            1 / tile_rates.overlap_exponent);
    return both * (1 + tile_rates.edge_share * (1 - l.inner)) * (shape->rank ? tile_rates.rank_factor : 1) *
           access_factor(task, shape);
}

/* ---- other kernels */

static double line_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    const double warps = (double)stn_task_points(task) / (32.0 * shape->vector * machine->multiprocessors);
    const double accesses = slots_of(task, shape) + 1, wide = shape->vector * (double)stn_dtype_size(task->dtype) / 16;
    double cycles = other_rates.fma * fma_cycles(task, machine, warps * (double)task->ntaps * shape->vector) +
                    other_rates.load_cycles * warps * accesses * fmax(wide, 0.25);
    if (task->dtype == STN_F16)
        cycles += other_rates.convert * fma_cycles(task, machine, warps * accesses * shape->vector);
    return fmax(copy_seconds(task, machine), cycles / machine->clock) * (shape->rows > 1 ? other_rates.runs_factor : 1);
}

/* Cycles of a warp's tap in direct_any. */
static double any_tap(const stn_task *task) {
    const bool fixed = direct_all_sides_fixed(task);
    const double many = task->ntaps > 100 && task->rank > 1 ? other_rates.any_many_taps_factor : 1;
    if (task->rank == 3) return (fixed ? other_rates.any_3d_fixed_cycles : other_rates.any_3d_cycles) * many;
    return (task->dtype == STN_F64 ? other_rates.any_f64_tap_cycles * many : other_rates.any_tap_cycles);
}

/* The part of a 2D grid's points whose taps reach past a side. */
static double part_at_sides(const stn_task *task) {
    double inside = 1;
    for (int axis = 1; axis < 3; axis++)
        inside *= fmax(0, 1 - (double)(task->reach[axis][0] + task->reach[axis][1]) / (double)task->n[axis]);
    return task->rank == 2 ? 1 - inside : 0;
}

/* Seconds of a kernel that loads one table entry and one point for each tap. direct_any also takes
 * some cycles for each point. */
static double table_seconds(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    const bool any = shape->kernel == DIRECT_ANY;
    const double taps = (double)task->ntaps + other_rates.gather_overhead_taps;
    const double slow =
        task->ntaps > 100 && task->rank > 1 && task->dtype == STN_F64 ? other_rates.gather_many_taps_factor : 1;
    const double tap = task->rank == 3 ? other_rates.gather_3d_cycles : other_rates.gather_cycles[task->dtype];
    const double gather = taps * (slow * tap + other_rates.gather_side_cycles * part_at_sides(task));
    const double point = any ? other_rates.any_point_cycles + other_rates.any_axis_cycles * (task->rank - 1) +
                                   (double)task->ntaps * any_tap(task)
                             : gather;
    const double all = point * (double)stn_task_points(task) / 32 / machine->multiprocessors;
    return fmax(copy_seconds(task, machine), fmax(all, taps * other_rates.gather_chain_cycles) / machine->clock);
}

void direct_cost(const stn_task *task, const stn_machine *machine, const direct_shape *shape, stn_estimate *e) {
    const double points = (double)stn_task_points(task), steps = (double)task->steps;
    const int z = direct_axis(task, shape, 0);
    e->unit = task->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32;
    e->launches = steps;
    e->bytes = 2 * (double)stn_dtype_size(task->dtype) * points * steps;
    e->flops = 2 * (double)task->ntaps * points * steps;
    const bool marches = shape->kernel == DIRECT_TILE;
    e->halo_waste = marches ? (double)(task->reach[z][0] + task->reach[z][1]) / shape->chunk : 0;
    const double one = marches                        ? tile_seconds(task, machine, shape)
                       : shape->kernel == DIRECT_LINE ? line_seconds(task, machine, shape)
                                                      : table_seconds(task, machine, shape);
    e->seconds = steps * (one + tile_rates.launch_seconds + machine->launch_seconds);
}
