/* Cost model of the sparse kernels. */
#include "strategies/sparse/sparse_cost_model.h"

#include <math.h>

#include "base/arith.h"
#include "strategies/common/overlap_cost.h"
#include "strategies/sparse/weight_rounding.h"

#define ACCUMULATORS 8 /* accumulators of a warp */

/* Rates fitted to runs on an H200, most of which the model meets within 15%. */
static const struct {
    /* Rate of 2:4 sparse products over that of dense ones of the same type. */
    double sparse_rate_per_dense_rate;
    double shared_memory_fraction; /* fraction of shared memory's bandwidth */
    /* Fraction of the sparse rate that a lone block reaches in its multiprocessor. */
    double lone_block_tensor_fraction;
    /* With fewer than FULL_WARPS warps on a multiprocessor, time grows by (FULL_WARPS / warps) to
     * this power. */
    double few_warps_exponent;
    double block_start_cycles;  /* start of a block, in cycles */
    double ring_launch_seconds; /* start of a launch of small blocks, in seconds */
    /* Fractions of the copy bandwidth of kernels whose products have adjacent columns, of kernels
     * with narrow tiles, and of sparse_chain. */
    double adjacent_copy_fraction, narrow_copy_fraction, chain_copy_fraction;
    /* Fractions of the copy bandwidth in 1D if a warp stores whole lines of 128 bytes, and if it
     * stores half a line (f16). */
    double line_copy_fraction;
    double half_line_copy_fraction;
    /* Fraction of the copy bandwidth of sparse_march in f16 with several tiles a block. */
    double ring_copy_fraction;
    double single_tile_copy_fraction; /* the same with one tile a block */
    /* Warps on a multiprocessor that must have loads in flight to saturate memory. */
    double saturating_warps;
    /* Fraction of the copy bandwidth of sparse_march in f32, to which large_ring_point_cycles are
     * added. */
    double large_ring_copy_fraction;
    double large_ring_point_cycles;
    /* Cost of a row that two blocks read, as a fraction of a row's time. */
    double shared_row_fraction;
    double copy_factor_3d; /* further factor on the copy bandwidth in 3D */
    /* Cycles of a multiprocessor for an element that is loaded alone: where indices fold, and
     * elsewhere. */
    double folded_element_cycles, element_cycles;
    /* Factors for a chain on rows that begin at any element: if they do not fold, if they wrap, if
     * they fold otherwise. heat-2d in f16, ten steps, H200. */
    double unaligned_chain_factor, unaligned_wrapped_chain_factor, unaligned_folded_chain_factor;
    double split_narrow_factor; /* factor for f32 in two parts in narrow tiles */
} rates = {.sparse_rate_per_dense_rate = 1.45,
           .shared_memory_fraction = 0.55,
           .lone_block_tensor_fraction = 0.45,
           .few_warps_exponent = 0.35,
           .block_start_cycles = 6000,
           .ring_launch_seconds = 5e-6,
           .adjacent_copy_fraction = 0.80,
           .narrow_copy_fraction = 0.72,
           .chain_copy_fraction = 0.72,
           .line_copy_fraction = 0.86,
           .half_line_copy_fraction = 0.80,
           .ring_copy_fraction = 0.955,
           .single_tile_copy_fraction = 0.98,
           .saturating_warps = 19.4,
           .large_ring_copy_fraction = 0.99,
           .large_ring_point_cycles = 0.048,
           .shared_row_fraction = 0.135,
           .copy_factor_3d = 0.72,
           .folded_element_cycles = 2.6,
           .element_cycles = 0.6,
           .unaligned_chain_factor = 1.13,
           .unaligned_wrapped_chain_factor = 1.3,
           .unaligned_folded_chain_factor = 2.15,
           .split_narrow_factor = 1.2};
#define FULL_WARPS 16.0 /* warps of a multiprocessor */
#define MEMORY_LINE 128 /* bytes */
#define MIN_WIDTH 128   /* columns of the narrowest tile in 2D and 3D */

/* Work of a warp for a tile of 16 x 64 points: products of 16 words, words read from shared memory,
 * and cycles of shared memory at 128 bytes each. */
typedef struct warp_work {
    double products, words, cycles;
} warp_work;

/* A tile of a chain has four blocks of 16 rows. For each block, V multiplies four groups of eight
 * rows, and U two blocks of columns. V also multiplies groups before the first block of the
 * marching loop is complete; the iterations share them. */
static warp_work chain_work(const stn_task *task, const sparse_shape *shape) {
    double eights = 16 + 4.0 * (sparse_accumulating_blocks(task, shape) - 1) / shape->iterations;
    warp_work work = {.words = eights * 8 * 8 * shape->halves};
    work.products = shape->parts * shape->terms * (eights * shape->halves / 2.0 + eights / 2 * shape->halves_y / 2.0);
    work.cycles = work.words / 32;
    return work;
}

/* In 1D a warp has 8 segments, each of 8 blocks of 16 outputs. A set is the words that one product
 * reads; each set is read once. */
static warp_work line_work(const stn_task *task, const sparse_shape *shape) {
    double next = shape->adjacent_columns * (task->dtype == STN_F16 ? 1 : 2), products = shape->halves / 2.0;
    double sets = fmin(next, products) * (ACCUMULATORS - 1) + products;
    warp_work work = {.products = ACCUMULATORS * products * shape->parts, .words = sets * 32 * 4};
    work.cycles = work.words / 32;
    return work;
}

/* Bank conflicts: the largest number of different words in one bank among those that 8 lanes read,
 * if columns g and g + 1 are adjacent, 16 points apart. If columns lie below each other, conflicts
 * occur only in windows of 3 halves; these were measured to be as fast as others, so they are not
 * counted. */
static int lanes_in_bank(const stn_task *task, const sparse_shape *shape) {
    int most = 1, apart = task->dtype == STN_F16 ? 8 : 16, word[8];
    for (int lane = 0; lane < 8; lane++)
        word[lane] = lane / 4 * apart + lane % 4 / 2 * 4 + lane % 2 * 4 * shape->halves;
    for (int a = 0; a < 8 && shape->adjacent_columns == SPARSE_COLUMNS && !shape->adjacent_warps; a++) {
        int meet = 1;
        for (int b = 0; b < a; b++) meet += word[a] != word[b] && word[a] / 4 % 8 == word[b] / 4 % 8;
        most = (int)stn_max(most, meet);
    }
    return most;
}

static warp_work work_of(const stn_task *task, const sparse_shape *shape) {
    warp_work work = {0};
    sparse_window w = sparse_window_of(task, shape);
    sparse_rows rows;
    if (shape->terms) return chain_work(task, shape);
    if (!sparse_rows_of(task, shape->fused, &rows)) return work;
    if (task->rank == 1) return line_work(task, shape);
    work.products = ACCUMULATORS * rows.all * (shape->halves / 2.0) * sparse_products_of_factor(shape);
    for (int d = 0; d < rows.planes; d++)
        for (int at = 0; at < rows.count[d]; at += shape->held) {
            double row_passes = (double)stn_min(shape->held, rows.count[d] - at) + ACCUMULATORS - 1;
            work.words += row_passes * 32 * 2 * shape->halves; /* 8 rows of 8 words for each half */
        }
    work.cycles = work.words / 32 * lanes_in_bank(task, shape) + 4.0 * rows.all * sparse_products(&w) * shape->parts;
    return work;
}

sparse_counts sparse_count(const stn_task *task, const sparse_shape *shape) {
    warp_work work = work_of(task, shape);
    double points = sparse_points(task, shape), each = task->dtype == STN_F16 ? 2 : 1;
    double kept = 8 * each; /* nonzeros in a row of a product of 16 words */
    sparse_rows rows = {0};
    /* Products of 16 words with a left factor. */
    double factors = shape->terms * (shape->halves + shape->halves_y) / 2.0;
    if (!shape->terms) factors = sparse_rows_of(task, shape->fused, &rows) ? rows.all * shape->halves / 2.0 : 0;
    return (sparse_counts){.compute = work.products * 16 * 8 * kept / points,
                           .input = work.words * each / points,
                           .parameters = factors * shape->parts * 16 * kept / points};
}

/* Whether elements past both sides along x fold, which takes a division of their index.
 * mirrors_only: whether they fold at mirrors. */
static bool folds_along_x(const stn_task *task, bool mirrors_only) {
    bool mirrors = true;
    for (int side = 0; side < 2; side++) {
        const stn_boundary_kind kind = task->boundary[2][side].kind;
        mirrors = mirrors && (kind == STN_REFLECT || kind == STN_MIRROR);
    }
    return mirrors || (!mirrors_only && task->boundary[2][0].kind == STN_WRAP);
}

/* Seconds of a launch to load elements one by one instead of in 16 bytes: all elements of unaligned
 * rows, and those of the tiles at both sides if both sides mirror. */
static double element_seconds(const stn_task *task, const stn_machine *machine, const sparse_shape *shape,
                              const sparse_tiles *tiles) {
    const double rows = (double)task->n[1] * (double)task->n[0] * (double)task->batch;
    const double row = (double)tiles->x * (sparse_reach(task, shape, 2, 0) + sparse_reach(task, shape, 2, 1)) +
                       (double)stn_round_up(task->n[2], MIN_WIDTH);
    const double elements = rows * row / (machine->multiprocessors * machine->clock);
    if (task->rank == 1) return shape->vector == 1 ? rates.element_cycles * elements : 0;
    if (shape->vector == 1 && shape->terms) return 0;
    if (shape->vector == 1)
        return elements * (folds_along_x(task, false) ? rates.folded_element_cycles : rates.element_cycles);
    return folds_along_x(task, true) ? elements * rates.folded_element_cycles * fmin(1, 2 / (double)tiles->x) : 0;
}

static double few_warps_factor(const sparse_shape *shape) {
    return pow(fmax(1, FULL_WARPS / (shape->warps * shape->blocks)), rates.few_warps_exponent);
}

/* In 1D the time of the slowest resource hides that of the others. It nearly does in sparse_march,
 * which reads whole memory lines. In other kernels warps wait for each other at each stage, so that
 * times add up more. */
static double overlap_seconds(const stn_task *task, const sparse_shape *shape, double memory, double tensor,
                              double shared) {
    if (task->rank == 1) return few_warps_factor(shape) * stn_cost_overlapped(memory, fmax(tensor, shared));
    if (shape->adjacent_warps) return few_warps_factor(shape) * cbrt(pow(memory, 3) + pow(tensor, 3) + pow(shared, 3));
    return few_warps_factor(shape) * hypot(hypot(memory, tensor), shared);
}

static double copy_fraction(const stn_task *task, const sparse_shape *shape) {
    const bool line = shape->adjacent_columns * SPARSE_OUTPUTS * (int)stn_dtype_size(task->dtype) % MEMORY_LINE == 0;
    if (task->rank == 1) return line ? rates.line_copy_fraction : rates.half_line_copy_fraction;
    if (shape->terms) return rates.chain_copy_fraction;
    const double factor_3d = task->rank == 3 ? rates.copy_factor_3d : 1;
    return factor_3d *
           (shape->adjacent_columns == SPARSE_COLUMNS ? rates.adjacent_copy_fraction : rates.narrow_copy_fraction);
}

/* Seconds of a launch of sparse_march in small blocks. Blocks with several tiles prefetch the next
 * tiles while they compute. Blocks with one tile load first and compute afterwards, so that with
 * few warps too few loads are in flight. */
static double ring_seconds(const stn_task *task, const stn_machine *machine, const sparse_shape *shape, double tensor,
                           double idle) {
    const double bytes = 2 * (double)(stn_task_points(task) * (int64_t)stn_dtype_size(task->dtype));
    const double copy = idle * bytes / machine->copy_bandwidth, warps = shape->warps * shape->blocks;
    if (shape->stages == 1)
        return rates.ring_launch_seconds +
               fmax(copy / rates.single_tile_copy_fraction, copy * rates.saturating_warps / warps + tensor);
    const int rows = 8 * shape->warps / shape->adjacent_warps * shape->iterations;
    const int reach = sparse_reach(task, shape, 1, 0) + sparse_reach(task, shape, 1, 1);
    const double memory = copy / rates.ring_copy_fraction * (1 + rates.shared_row_fraction * reach / rows);
    return rates.ring_launch_seconds + few_warps_factor(shape) * cbrt(pow(memory, 3) + pow(tensor, 3));
}

stn_faces_cost sparse_faces(const stn_task *task, const stn_machine *machine, const sparse_shape *shape) {
    return shape->extended ? (stn_faces_cost){0, false} : stn_faces_cost_of(task, machine, shape->fused);
}

void sparse_cost(const stn_task *task, const stn_machine *machine, const sparse_shape *shape, stn_estimate *e) {
    const stn_faces_cost faces = sparse_faces(task, machine, shape);
    sparse_cost_with_faces(task, machine, shape, &faces, e);
}

void sparse_cost_with_faces(const stn_task *task, const stn_machine *machine, const sparse_shape *shape,
                            const stn_faces_cost *faces, stn_estimate *e) {
    sparse_tiles tiles = sparse_tiles_of(task, shape);
    warp_work work = work_of(task, shape);
    double points = (double)stn_task_points(task), launches = ceil((double)task->steps / shape->fused);
    double units = (double)(task->batch * tiles.y * tiles.x) * (double)tiles.steps * shape->warps;
    double blocks = (double)(task->batch * tiles.blocks);
    double slots = (double)machine->multiprocessors * shape->blocks, waves = ceil(blocks / slots);
    /* Fraction of elements read twice. */
    double again = (double)tiles.march_blocks * sparse_halo_tiles(task, shape) / (double)tiles.steps;
    e->unit = task->dtype == STN_F16 ? STN_UNIT_TENSOR_F16 : STN_UNIT_TENSOR_TF32;
    e->launches = launches;
    e->bytes = (2 + again) * (double)stn_dtype_size(task->dtype) * points * launches;
    e->flops = work.products * 2 * 16 * 8 * (task->dtype == STN_F16 ? 32 : 16) * units * launches;
    e->halo_waste = units * sparse_points(task, shape) / points - 1;
    double memory = e->bytes / machine->copy_bandwidth;
    const double idle = waves / (blocks / slots); /* idle factor of the last wave */
    if (shape->adjacent_warps)
        memory = memory / rates.large_ring_copy_fraction * idle +
                 launches * points * rates.large_ring_point_cycles / (machine->multiprocessors * machine->clock);
    else
        memory /= copy_fraction(task, shape);
    double rate = rates.sparse_rate_per_dense_rate * machine->flops[e->unit], tensor = e->flops / rate;
    double shared =
        work.cycles * units * launches / (rates.shared_memory_fraction * machine->multiprocessors * machine->clock);
    /* The serial time of one block: the products of each step one after another in each quarter of
     * a multiprocessor. */
    double alone = work.products * 2 * 16 * 8 * (task->dtype == STN_F16 ? 32 : 16) * shape->warps *
                   machine->multiprocessors / (rates.lone_block_tensor_fraction * rate);
    double least = waves * shape->iterations * alone + rates.block_start_cycles / machine->clock;
    double launch = overlap_seconds(task, shape, memory, tensor, shared) / launches;
    if (shape->adjacent_warps > 1) launch = ring_seconds(task, machine, shape, tensor / launches, idle);
    launch = fmax(launch, least);
    if (shape->split && shape->adjacent_columns == 1) launch *= rates.split_narrow_factor;
    launch += element_seconds(task, machine, shape, &tiles);
    if (shape->terms && shape->vector == 1)
        launch *= !folds_along_x(task, false)             ? rates.unaligned_chain_factor
                  : task->boundary[2][0].kind == STN_WRAP ? rates.unaligned_wrapped_chain_factor
                                                          : rates.unaligned_folded_chain_factor;
    e->seconds = launches * (machine->launch_seconds + stn_faces_after(faces, machine, launch, blocks / slots));
    e->error = sparse_error(shape);
}
