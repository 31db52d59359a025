/* Cost model of the sparse kernels. */
#include "strategies/sparse/sparse_cost_model.h"

#include <math.h>

#include "base/arith.h"
#include "strategies/common/cost.h"
#include "strategies/faces/margins.h"
#include "strategies/sparse/weight_rounding.h"

#define RUN 8 /* accumulators of a warp */

/* Rates fitted to runs on an H200, most of which the model meets within 15%. */
static const struct {
    /* Rate of 2:4 sparse products over that of dense ones of the same type. */
    double sparse_per_dense;
    double shared_rate; /* fraction of shared memory's bandwidth */
    /* Fraction of the sparse rate that a lone block reaches in its multiprocessor. */
    double alone_rate;
    double
        /* exponent: with fewer than FULL warps a multiprocessor, time grows by (FULL / warps)^this.
         */
        few_warps_power;
    double begin_block; /* start of a block, in cycles */
    double begin_ring;  /* start of a launch of small blocks, in seconds */
    /* Fractions of the copy bandwidth: all columns of a product adjacent; narrow tiles; a chain. */
    double copy_abreast, copy_narrow, copy_chain;
    /* Fractions of the copy bandwidth in 1D: whole 128-byte lines; half a line in f16. */
    double copy_line;
    double copy_half_line;
    /* Fraction of the copy bandwidth of sparse_walk in f16 with several tiles a block. */
    double copy_ring;
    double copy_ring_once; /* the same with one tile a block */
    /* Warps on a multiprocessor that must have loads in flight to saturate memory. */
    double warps_of_copy;
    /* Fraction of the copy bandwidth of sparse_walk in f32, to which cycles_of_point are added. */
    double copy_large_ring;
    double cycles_of_point;
    double rows_read_twice; /* fraction of a row's time that a row costs which two blocks read */
    double copy_solid;      /* further factor on the copy bandwidth in 3D */
    double element_loads;   /* factor for loads of single elements instead of 16 bytes */
    double split;           /* factor for f32 in two parts in narrow tiles */
} rates = {.sparse_per_dense = 1.45,
           .shared_rate = 0.55,
           .alone_rate = 0.45,
           .few_warps_power = 0.35,
           .begin_block = 6000,
           .begin_ring = 5e-6,
           .copy_abreast = 0.80,
           .copy_narrow = 0.72,
           .copy_chain = 0.72,
           .copy_line = 0.86,
           .copy_half_line = 0.80,
           .copy_ring = 0.955,
           .copy_ring_once = 0.98,
           .warps_of_copy = 19.4,
           .copy_large_ring = 0.99,
           .cycles_of_point = 0.048,
           .rows_read_twice = 0.135,
           .copy_solid = 0.72,
           .element_loads = 6,
           .split = 1.2};
#define FULL 16.0       /* warps of a multiprocessor */
#define MEMORY_LINE 128 /* bytes */

/* Work of a warp for a tile of 16 x 64 points: products of 16 words, words read from shared memory,
 * and cycles of shared memory at 128 bytes each. */
typedef struct warp_work {
    double products, words, cycles;
} warp_work;

/* A chain makes 16 rows four times: four groups of eight rows by V, two column blocks by U; and the
 * rows before its first block is complete. */
static warp_work chain_work(const stn_task *task, const sparse_shape *shape) {
    double eights = 16 + 4.0 * (sparse_waiting_blocks(task, shape) - 1) / shape->walk;
    warp_work work = {.words = eights * 8 * 8 * shape->halves};
    work.products = shape->parts * shape->terms * (eights * shape->halves / 2.0 + eights / 2 * shape->halves_y / 2.0);
    work.cycles = work.words / 32;
    return work;
}

/* A line has 8 segments of 8 blocks: sets of words for one product, each read once. */
static warp_work line_work(const stn_task *task, const sparse_shape *shape) {
    double next = shape->beside * (task->dtype == STN_F16 ? 1 : 2), products = shape->halves / 2.0;
    double sets = fmin(next, products) * (RUN - 1) + products;
    warp_work work = {.products = RUN * products * shape->parts, .words = sets * 32 * 4};
    work.cycles = work.words / 32;
    return work;
}

/* Bank conflicts: the number of different words of 8 lanes in one bank, for columns g and g + 1
 * that are adjacent, 16 points apart. Columns below each other conflict only in windows of 3
 * halves, which measured as fast. */
static int lanes_in_bank(const stn_task *task, const sparse_shape *shape) {
    int most = 1, apart = task->dtype == STN_F16 ? 8 : 16, word[8];
    for (int lane = 0; lane < 8; lane++)
        word[lane] = lane / 4 * apart + lane % 4 / 2 * 4 + lane % 2 * 4 * shape->halves;
    for (int a = 0; a < 8 && shape->beside == SPARSE_COLUMNS && !shape->across; a++) {
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
    work.products = RUN * rows.all * (shape->halves / 2.0) * sparse_products_of_part(task, shape);
    for (int d = 0; d < rows.planes; d++)
        for (int at = 0; at < rows.count[d]; at += shape->held) {
            double turns = (double)stn_min(shape->held, rows.count[d] - at) + RUN - 1;
            work.words += turns * 32 * 2 * shape->halves; /* 8 rows of 8 words for each half */
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

/* Whether elements are loaded one by one: unaligned rows, and rows continued by mirrors. */
static bool slow_loads(const stn_task *task, const sparse_shape *shape) {
    bool mirrors = true;
    for (int side = 0; side < 2; side++) {
        stn_boundary_kind kind = task->boundary[2][side].kind;
        mirrors = mirrors && (kind == STN_REFLECT || kind == STN_MIRROR);
    }
    return task->rank > 1 && (shape->vector == 1 || mirrors);
}

static double few_warps(const sparse_shape *shape) {
    return pow(fmax(1, FULL / (shape->warps * shape->blocks)), rates.few_warps_power);
}

/* In 1D the slowest resource hides the others, and nearly so where whole memory lines are read;
 * otherwise warps wait for each other at each stage and times add up more. */
static double combine(const stn_task *task, const sparse_shape *shape, double memory, double tensor, double shared) {
    if (task->rank == 1) return few_warps(shape) * stn_cost_beside(memory, fmax(tensor, shared));
    if (shape->across) return few_warps(shape) * cbrt(pow(memory, 3) + pow(tensor, 3) + pow(shared, 3));
    return few_warps(shape) * hypot(hypot(memory, tensor), shared);
}

static double part_of_copy(const stn_task *task, const sparse_shape *shape) {
    const bool line = shape->beside * SPARSE_OUTPUTS * (int)stn_dtype_size(task->dtype) % MEMORY_LINE == 0;
    if (task->rank == 1) return line ? rates.copy_line : rates.copy_half_line;
    if (shape->terms) return rates.copy_chain;
    const double solid = task->rank == 3 ? rates.copy_solid : 1;
    return solid * (shape->beside == SPARSE_COLUMNS ? rates.copy_abreast : rates.copy_narrow);
}

/* Seconds of a launch of sparse_walk in small blocks. Blocks with several tiles prefetch the next
 * ones while they compute; those with one tile load first and compute then, so with fewer warps
 * less memory traffic is in flight. */
static double ring_seconds(const stn_task *task, const stn_machine *machine, const sparse_shape *shape, double tensor,
                           double idle) {
    const double bytes = 2 * (double)(stn_task_points(task) * (int64_t)stn_dtype_size(task->dtype));
    const double copy = idle * bytes / machine->copy_bandwidth, warps = shape->warps * shape->blocks;
    if (shape->stages == 1)
        return rates.begin_ring + fmax(copy / rates.copy_ring_once, copy * rates.warps_of_copy / warps + tensor);
    const int rows = 8 * shape->warps / shape->across * shape->walk;
    const int reach = sparse_reach(task, shape, 1, 0) + sparse_reach(task, shape, 1, 1);
    const double memory = copy / rates.copy_ring * (1 + rates.rows_read_twice * reach / rows);
    return rates.begin_ring + few_warps(shape) * cbrt(pow(memory, 3) + pow(tensor, 3));
}

double sparse_faces(const stn_task *task, const stn_machine *machine, const sparse_shape *shape) {
    return shape->extended ? 0 : stn_faces_seconds(task, machine, shape->fused);
}

void sparse_cost(const stn_task *task, const stn_machine *machine, const sparse_shape *shape, stn_estimate *e) {
    sparse_cost_beside(task, machine, shape, sparse_faces(task, machine, shape), e);
}

void sparse_cost_beside(const stn_task *task, const stn_machine *machine, const sparse_shape *shape, double faces,
                        stn_estimate *e) {
    sparse_tiles tiles = sparse_tiles_of(task, shape);
    warp_work work = work_of(task, shape);
    double points = (double)stn_task_points(task), launches = ceil((double)task->steps / shape->fused);
    double units = (double)(task->batch * tiles.y * tiles.x) * (double)tiles.steps * shape->warps;
    double blocks = (double)(task->batch * tiles.y * tiles.x * tiles.walks);
    double slots = (double)machine->multiprocessors * shape->blocks, waves = ceil(blocks / slots);
    /* Fraction of elements read twice. */
    double again = (double)tiles.walks * sparse_again(task, shape) / (double)tiles.steps;
    e->unit = task->dtype == STN_F16 ? STN_UNIT_TENSOR_F16 : STN_UNIT_TENSOR_TF32;
    e->launches = launches;
    e->bytes = (2 + again) * (double)stn_dtype_size(task->dtype) * points * launches;
    e->flops = work.products * 2 * 16 * 8 * (task->dtype == STN_F16 ? 32 : 16) * units * launches;
    e->halo_waste = units * sparse_points(task, shape) / points - 1;
    double memory = e->bytes / machine->copy_bandwidth;
    const double idle = waves / (blocks / slots); /* idle factor of the last wave */
    if (shape->across)
        memory = memory / rates.copy_large_ring * idle +
                 launches * points * rates.cycles_of_point / (machine->multiprocessors * machine->clock);
    else
        memory /= part_of_copy(task, shape);
    double rate = rates.sparse_per_dense * machine->flops[e->unit], tensor = e->flops / rate;
    double shared = work.cycles * units * launches / (rates.shared_rate * machine->multiprocessors * machine->clock);
    /* The serial time of one block: the products of each step one after another in each quarter of
     * a multiprocessor. */
    double alone = work.products * 2 * 16 * 8 * (task->dtype == STN_F16 ? 32 : 16) * shape->warps *
                   machine->multiprocessors / (rates.alone_rate * rate);
    double least = waves * shape->walk * alone + rates.begin_block / machine->clock;
    double launch = combine(task, shape, memory, tensor, shared) / launches;
    if (shape->across > 1) launch = ring_seconds(task, machine, shape, tensor / launches, idle);
    launch = fmax(launch, least);
    if (sparse_splits(task) && shape->beside == 1) launch *= rates.split;
    if (slow_loads(task, shape)) launch *= rates.element_loads;
    e->seconds = launches * (machine->launch_seconds + launch + faces);
    e->error = sparse_error(shape);
}
