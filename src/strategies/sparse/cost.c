/* See cost.h. */
#include "strategies/sparse/cost.h"

#include <math.h>

#include "base/arith.h"
#include "strategies/common/cost.h"
#include "strategies/faces/margins.h"
#include "strategies/sparse/accuracy.h"

#define RUN 8 /* sums of a warp: products of one row of taps */

/* Read off bench/results/2026-11-22-sparse-2.md, 16 rows of whole runs and 18 of one step, most of which are met within 15% (3D in
 * tf32, with a quarter of the warps, takes a third longer): parts of the sparse rate (dense f16 or tf32 times `faster`: of an H200, 950 over 630 and 452 over
 * 313 TFLOPS), of the copy bandwidth and of shared memory's; by how much a launch is slower whose multiprocessors hold fewer warps than
 * FULL, as a power of that. Cycles that a block takes to begin, of a walk that is too short to fill a multiprocessor (`alone`, of the sparse rate), and how much
 * longer launches take that load single elements, as measured when those were still waited for one by one
 * (bench/results/2026-11-22-rates.md). Where whole lines of memory are read (bench/results/2026-11-23-sparse-3.md): parts of the copy
 * bandwidth, of planes beside cycles of a multiprocessor that a point takes, which nothing hides (f32 takes 0.095 ms more than f16
 * for 0.42 GB more, and both 0.03 besides, in one wave of blocks as in seven), and of lines, and such as share their tiles. Straight from
 * memory (bench/results/2026-11-23-sparse-4.md): parts of the copy bandwidth, of what the second level cache answers in its terms, what a
 * launch takes besides, and how much longer it takes in f16 in blocks of more than SMALL warps. Of sparse_walk in small blocks (the same file, and
 * bench/results/2026-11-23-sparse-5.md since its copies are of whole sectors): parts of the copy bandwidth, and of rows that two blocks look at those that memory
 * answers twice; with a tile a block, how many warps of a multiprocessor ask for as much as memory answers. Of lines whose columns lie beside
 * each other by half a line of memory: their part of the copy bandwidth, how much longer whole lines take, and blocks of half the size (15 taps over 10 steps, 129 taps, of
 * bench/results/2026-11-23-regret-3.md). How much longer separable terms take in 3D: 27 taps in f16
 * took 3.48 and 3.69 ms where 2.53 and 2.55 were expected (bench/results/2026-11-23-planning-2.md); and the part of a plane's copy that solids reach, whose
 * boxes of 27 taps took 3.33 to 4.16 where 2.94 to 3.71 were. What a launch over lines takes besides, straight from memory
 * (bench/results/2026-11-23-regret-4.md). */
static const struct {
    double faster, tensor, memory, abreast, whole, aside, line, apart, straight, second, begin, large, small, twice,
        once, half, four, smaller, shared, fewer, alone, start, elements, split, brick, solid, begin_line;
} rates = {.faster = 1.45,
           .tensor = 1,
           .memory = 0.72,
           .abreast = 0.80,
           .whole = 0.99,
           .aside = 0.048,
           .line = 0.84,
           .apart = 0.86,
           .straight = 0.98,
           .second = 1.12,
           .begin = 5e-6,
           .large = 1.1,
           .small = 0.955,
           .twice = 0.27,
           .once = 19.4,
           .half = 0.80,
           .four = 1.07,
           .smaller = 1.03,
           .shared = 0.55,
           .fewer = 0.35,
           .alone = 0.45,
           .start = 6000,
           .elements = 6,
           .split = 1.2,
           .brick = 1.41,
           .solid = 0.72,
           .begin_line = 1.5e-6};
#define FULL 16.0 /* warps */
#define FULL_STRAIGHT 24.0
#define SMALL 4            /* warps of a block */
#define UNTIMED 1.15       /* walks of sparse_straight: for --tune, until a GPU has run them */
#define UNTIMED_SHORT 1.08 /* the same of sparse_walk in small blocks, but in f16 of TIMED_LEAST rows of taps or more */
#define TIMED_LEAST 5
#define TIMED_MOST 9
#define MEMORY_LINE 128 /* bytes */
#define LONG_WINDOW 20  /* halves: 320 points of f16 */

/* Of a warp's tile of 16 x 64 points: products of 16 words, and cycles in which shared memory answers it, 128 bytes each. */
typedef struct warp_work {
    double products, words, cycles;
} warp_work;

/* Of 16 rows, four times: four eights of rows by V, two column blocks by U; and what a walk does before its first block ends. */
static warp_work chain_work(const stn_task *task, const sparse_shape *shape) {
    double eights = 16 + 4.0 * (sparse_waiting_blocks(task, shape) - 1) / shape->walk;
    warp_work work = {.words = eights * 8 * 8 * shape->halves};
    work.products = shape->parts * shape->terms * (eights * shape->halves / 2.0 + eights / 2 * shape->halves_y / 2.0);
    work.cycles = work.words / 32;
    return work;
}

/* Of 16 rows of a plane: all of the window's eights by V, two column blocks by U for each plane that looks at it. */
static warp_work brick_work(const stn_task *task, const sparse_shape *shape) {
    sparse_window y = sparse_window_y_of(task, shape);
    double eights = sparse_columns(&y) / 8.0, products = sparse_planes(task, shape) * shape->halves_y;
    warp_work work = {.words = eights * 8 * 8 * shape->halves, .cycles = eights * 2 * shape->halves};
    work.products = shape->parts * shape->terms * (eights * shape->halves / 2.0 + products);
    return work;
}

/* Of 8 segments of 8 blocks: sets of words for one product, each read once. */
static warp_work line_work(const stn_task *task, const sparse_shape *shape) {
    int beside = shape->abreast ? 8 : shape->beside ? shape->beside : 1;
    double next = beside * (task->dtype == STN_F16 ? 1 : 2), products = shape->halves / 2.0;
    double sets = fmin(next, products) * (RUN - 1) + products;
    warp_work work = {.products = RUN * products * shape->parts, .words = sets * 32 * 4};
    work.cycles = work.words / 32 * (beside > 1 || shape->halves % 4 == 2 ? 1 : 2);
    return work;
}

/* How many words of the 8 lanes that shared memory answers together lie in one bank: of columns g and g + 1 abreast, 16 points apart. Below
 * each other they lie apart but in windows of 3 halves, and those are as fast (the rates' file). */
static int lanes_in_bank(const stn_task *task, const sparse_shape *shape) {
    int most = 1, apart = task->dtype == STN_F16 ? 8 : 16, word[8];
    for (int lane = 0; lane < 8; lane++)
        word[lane] = lane / 4 * apart + lane % 4 / 2 * 4 + lane % 2 * 4 * shape->halves;
    for (int a = 0; a < 8 && shape->abreast && !shape->whole; a++) {
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
    if (sparse_is_brick(task, shape)) return brick_work(task, shape);
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
    double kept = 8 * each; /* of a row of a product of 16 words */
    sparse_rows rows = {0};
    double factors = shape->terms * (shape->halves + sparse_planes(task, shape) * shape->halves_y) /
                     2.0; /* of words, left, in products of 16 */
    if (!shape->terms) factors = sparse_rows_of(task, shape->fused, &rows) ? rows.all * shape->halves / 2.0 : 0;
    return (sparse_counts){.compute = work.products * 16 * 8 * kept / points,
                           .input = work.words * each / points,
                           .parameters = factors * shape->parts * 16 * kept / points};
}

/* Elements one by one: of rows that are not aligned, and past mirrors. */
static bool slow_loads(const stn_task *task, const sparse_shape *shape) {
    bool mirrors = true;
    for (int side = 0; side < 2; side++) {
        stn_boundary_kind kind = task->boundary[2][side].kind;
        mirrors = mirrors && (kind == STN_REFLECT || kind == STN_MIRROR);
    }
    return task->rank > 1 && (shape->vector == 1 || mirrors);
}

/* Of lines what takes longest hides the rest, and most of it where whole lines of memory are read; else warps wait for one another at each stage, and nothing hides what others take. */
static double beside(const stn_task *task, const sparse_shape *shape, double memory, double tensor, double shared) {
    const double fewer = pow(fmax(1, FULL / (shape->warps * shape->blocks)), rates.fewer);
    if (task->rank == 1) return fewer * stn_cost_beside(memory, fmax(tensor, shared));
    if (shape->whole) return fewer * cbrt(pow(memory, 3) + pow(tensor, 3) + pow(shared, 3));
    return fewer * hypot(hypot(memory, tensor), shared);
}

/* Of lines, and of planes that are not read in whole lines of memory. */
static double part_of_copy(const stn_task *task, const sparse_shape *shape) {
    if (shape->beside * SPARSE_OUTPUTS * (int)stn_dtype_size(task->dtype) % MEMORY_LINE) return rates.half;
    return shape->apart ? rates.apart : shape->whole ? rates.line : shape->abreast ? rates.abreast : rates.memory;
}

/* Columns of lines beside each other in f16: four of them take their words from shared memory more often than two, and blocks of half the
 * size are faster in long windows only. */
static double beside_in_lines(const stn_task *task, const sparse_shape *shape) {
    if (task->rank > 1 || !shape->beside || task->dtype != STN_F16) return 1;
    const double four = shape->beside == 4 ? rates.four : 1;
    if (shape->warps == SPARSE_WARPS) return four;
    return four * (shape->halves >= LONG_WINDOW ? 1 / rates.smaller : rates.smaller);
}

/* A launch of sparse_straight, from memory or from the second level cache, of which it reads the rows that two blocks look at, and
 * columns in whole sectors of 32 bytes. */
static double straight_seconds(const stn_task *task, const stn_machine *machine, const sparse_shape *shape,
                               double tensor) {
    const double bytes = (double)(stn_task_points(task) * (int64_t)stn_dtype_size(task->dtype));
    const double wide = 128.0 * shape->beside * (double)stn_dtype_size(task->dtype);
    const double tall = shape->beside ? 8.0 * shape->warps / shape->beside : 0;
    const double rows = sparse_reach(task, shape, 1, 0) + sparse_reach(task, shape, 1, 1);
    const double again = tall ? (1 + rows / tall) * (1 + 64 / wide) : 1;
    const double fewer = pow(fmax(1, FULL_STRAIGHT / (shape->warps * shape->blocks)), rates.fewer);
    const double large = shape->warps > SMALL && task->dtype == STN_F16 ? rates.large : 1;
    double memory =
        fmax(2 / rates.straight, (1 + again) / rates.second * fewer * large) * bytes / machine->copy_bandwidth;
    const double untimed = shape->walk > 1 ? UNTIMED : 1;
    const bool streams = task->rank == 1 && 2 * bytes > (double)machine->l2_bytes; /* shorter lines were not timed */
    const double begin = streams ? rates.begin_line : rates.begin;
    return untimed * (begin + (sparse_splits(task) ? 0.9 * (memory + tensor) : hypot(memory, tensor)));
}

/* A launch of sparse_walk in small blocks. Those that have several tiles copy the next ones while they compute; those with one wait first
 * and compute then, so the fewer their warps are, the less they ask for. */
static double short_seconds(const stn_task *task, const stn_machine *machine, const sparse_shape *shape,
                            double tensor) {
    const double bytes = 2 * (double)(stn_task_points(task) * (int64_t)stn_dtype_size(task->dtype));
    const double copy = bytes / machine->copy_bandwidth, warps = shape->warps * shape->blocks;
    if (shape->stages == 1) return rates.begin + fmax(copy / rates.straight, copy * rates.once / warps + tensor);
    const int rows = SPARSE_WALK_ROWS * shape->warps / shape->beside * shape->walk;
    const int reach = sparse_reach(task, shape, 1, 0) + sparse_reach(task, shape, 1, 1);
    const double again = (double)reach / rows;
    const double fewer = pow(fmax(1, FULL / warps), rates.fewer);
    const double memory = copy / rates.small * (1 + rates.twice * again / 2);
    return rates.begin + fewer * cbrt(pow(memory, 3) + pow(tensor, 3));
}

/* Grids that multiprocessors take in one wave were not. */
static bool short_is_timed(const stn_task *task, const sparse_shape *shape, double waves) {
    sparse_rows rows;
    if (waves < 2 || task->dtype != STN_F16 || !sparse_rows_of(task, shape->fused, &rows)) return false;
    return rows.all >= TIMED_LEAST && rows.all <= TIMED_MOST;
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
    double again = (double)tiles.walks * sparse_again(task, shape) / (double)tiles.steps; /* read twice */
    e->unit = task->dtype == STN_F16 ? STN_UNIT_TENSOR_F16 : STN_UNIT_TENSOR_TF32;
    e->launches = launches;
    e->bytes = (2 + again) * (double)stn_dtype_size(task->dtype) * points * launches;
    e->flops = work.products * 2 * 16 * 8 * (task->dtype == STN_F16 ? 32 : 16) * units * launches;
    e->halo_waste = units * sparse_points(task, shape) / points - 1;
    double memory = e->bytes / machine->copy_bandwidth;
    if (shape->whole && task->rank == 2)
        memory = memory / rates.whole * waves / (blocks / slots) +
                 launches * points * rates.aside / (machine->multiprocessors * machine->clock);
    else
        memory /= part_of_copy(task, shape) * (task->rank == 3 && !shape->terms ? rates.solid : 1);
    double tensor = e->flops / (rates.tensor * rates.faster * machine->flops[e->unit]);
    double shared = work.cycles * units * launches / (rates.shared * machine->multiprocessors * machine->clock);
    /* A block's walk, whatever runs beside it: one step's products, one after the other in each of a multiprocessor's quarters. */
    double alone = work.products * 2 * 16 * 8 * (task->dtype == STN_F16 ? 32 : 16) * shape->warps *
                   machine->multiprocessors / (rates.alone * rates.faster * machine->flops[e->unit]);
    double least = waves * shape->walk * alone + rates.start / machine->clock;
    double launch = fmax(beside(task, shape, memory, tensor, shared) / launches, least);
    if (sparse_is_short(task, shape))
        launch = short_is_timed(task, shape, waves)
                     ? fmax(short_seconds(task, machine, shape, tensor / launches), least)
                     : launch * UNTIMED_SHORT;
    launch *= beside_in_lines(task, shape);
    if (sparse_is_straight(shape)) launch = straight_seconds(task, machine, shape, tensor / launches);
    if (sparse_splits(task) && !shape->abreast) launch *= rates.split;
    if (task->rank == 3 && shape->terms) launch *= rates.brick;
    if (slow_loads(task, shape)) launch *= rates.elements;
    e->seconds = launches * (machine->launch_seconds + launch + faces);
    e->error = sparse_error(shape);
}
