/* See shape.h: other ways to run a kernel whose columns lie abreast. */
#include "base/arith.h"
#include "strategies/sparse/shape.h"

#define MEMORY_LINE 128      /* bytes */
#define MOST_REGISTERS 65536 /* of a multiprocessor */
#define MOST_OF_THREAD 255   /* the same of a thread, given in units of 8 */
#define REGISTERS_AT_ONCE 8
#define MOST_WARPS 32  /* on a multiprocessor: more are not waited for */
#define ONCE_BESIDE 18 /* registers of sparse_walk with one tile a block, and with several, beside factors and sums */
#define WALK_BESIDE 36
#define WIDE_BESIDE 4 /* warps of sparse_fit_wider */
#define SHORT_WARPS 4 /* of a block of sparse_fit_short, and of those side by side */
#define SHORT_BESIDE 2

/* A line abreast needs less than 80 registers, so there may be three blocks of it; other kernels need 100 and more. */
bool sparse_fit_more(const stn_task *task, const stn_machine *machine, sparse_shape *shape) {
    size_t each = sparse_shared(task, shape) + 1024, blocks = (size_t)shape->blocks + 1;
    if (task->rank != 1 || !shape->abreast || shape->warps != SPARSE_WARPS || shape->blocks != 2) return false;
    if (each * blocks > machine->shared_per_block) return false;
    shape->blocks++;
    sparse_fit_walk(task, machine, shape);
    return true;
}

/* Windows of planes that sparse_walk and sparse_straight have words for: they look past their outputs. */
static bool short_window(const stn_task *task, const sparse_shape *shape) {
    return shape->halves >= (task->dtype == STN_F16 ? 2 : 3) && shape->halves <= 4;
}

bool sparse_fit_smaller(const stn_task *task, const stn_machine *machine, sparse_shape *shape) {
    if (task->rank != 1 || !shape->beside || shape->warps != SPARSE_WARPS) return false;
    shape->warps /= 2, shape->blocks *= 2;
    if ((sparse_shared(task, shape) + 1024) * (size_t)shape->blocks > machine->shared_per_block) return false;
    sparse_fit_walk(task, machine, shape);
    return true;
}

bool sparse_fit_whole(const stn_task *task, const stn_machine *machine, sparse_shape *shape) {
    sparse_rows rows;
    if (!shape->abreast || task->rank == 3 || shape->lead * (int)stn_dtype_size(task->dtype) > MEMORY_LINE)
        return false;
    if (task->rank == 2 &&
        (!short_window(task, shape) || !sparse_rows_of(task, shape->fused, &rows) || rows.all > shape->held))
        return false;
    shape->whole = 1;
    for (shape->blocks = sparse_most_blocks(task, shape); shape->blocks; shape->blocks--)
        for (shape->stages = 3; shape->stages > 1; shape->stages--)
            if ((sparse_shared(task, shape) + 1024) * (size_t)shape->blocks <= machine->shared_per_block) {
                sparse_fit_walk(task, machine, shape);
                return true;
            }
    return false;
}

/* Of a block of sparse_fit_short: how many hardly matters (bench/results/2026-11-23-sparse-5.md). */
static int tiles_of_short(int stages) { return stages == 1 ? 1 : 2 * stages; }

/* Blocks of so many warps that a multiprocessor's registers hold; each of its quarters has registers of its own. */
static int blocks_of_registers(int warps, int registers) {
    const int each = 32 * (int)stn_round_up(registers, REGISTERS_AT_ONCE);
    if (registers > MOST_OF_THREAD) return 0;
    return (int)stn_min(4 * (MOST_REGISTERS / 4 / each), MOST_WARPS) / warps;
}

static bool few_blocks(const stn_task *task, const sparse_shape *shape) {
    const sparse_tiles tiles = sparse_tiles_of(task, shape);
    return task->batch <= INT32_MAX / tiles.walks / tiles.x;
}

bool sparse_fit_wider(const stn_task *task, const stn_machine *machine, int blocks, int stages, sparse_shape *shape) {
    if (task->rank != 2 || !shape->whole || shape->warps != SPARSE_WARPS) return false;
    shape->beside = WIDE_BESIDE, shape->blocks = blocks, shape->stages = stages;
    if ((sparse_shared(task, shape) + 1024) * (size_t)blocks > machine->shared_per_block) return false;
    sparse_fit_walk(task, machine, shape);
    return few_blocks(task, shape);
}

/* Registers of sparse_straight: left factors, all words that a warp reads, and some 30 beside; sums take the place of words. */
static int straight_registers(const stn_task *task, const sparse_shape *shape, int rows) {
    sparse_window w = sparse_window_of(task, shape);
    return 4 * rows * sparse_products(&w) * shape->parts + (rows + SPARSE_WALK_ROWS - 1) * 2 * shape->halves + 30;
}

/* Past sides that mirror, 16 bytes do not lie side by side. */
bool sparse_fit_straight(const stn_task *task, int warps, int beside, int blocks, int walk, sparse_shape *shape) {
    sparse_rows rows;
    for (int side = 0; side < 2; side++) {
        stn_boundary_kind kind = task->boundary[2][side].kind;
        if (kind == STN_REFLECT || kind == STN_MIRROR) return false;
    }
    if (!shape->abreast || task->rank == 3 || shape->vector == 1 ||
        task->n[2] % (16 / (int64_t)stn_dtype_size(task->dtype)))
        return false;
    if (task->rank == 2 && !short_window(task, shape)) return false;
    if (!sparse_rows_of(task, shape->fused, &rows)) return false;
    shape->warps = warps, shape->beside = task->rank == 2 ? beside : 0, shape->blocks = blocks;
    shape->stages = 0, shape->walk = walk, shape->apart = 0, shape->whole = 1;
    if (straight_registers(task, shape, rows.all) > MOST_REGISTERS / (32 * warps * blocks)) return false;
    return few_blocks(task, shape);
}

bool sparse_is_short(const stn_task *task, const sparse_shape *shape) {
    return task->rank == 2 && shape->whole && shape->beside && shape->warps == SHORT_WARPS &&
           shape->walk == tiles_of_short(shape->stages);
}

bool sparse_fit_short(const stn_task *task, const stn_machine *machine, int stages, sparse_shape *shape) {
    sparse_window w = sparse_window_of(task, shape);
    sparse_rows taps;
    if (task->rank != 2 || !shape->whole || sparse_splits(task) || !sparse_rows_of(task, shape->fused, &taps))
        return false;
    shape->warps = SHORT_WARPS, shape->beside = SHORT_BESIDE;
    shape->stages = stages, shape->walk = tiles_of_short(stages);
    const int factors = 4 * taps.all * sparse_products(&w) * shape->parts, sums = 4 * SPARSE_WALK_ROWS;
    shape->blocks = blocks_of_registers(SHORT_WARPS, factors + sums + (stages == 1 ? ONCE_BESIDE : WALK_BESIDE));
    const size_t each = sparse_shared(task, shape) + 1024;
    shape->blocks = (int)stn_min(shape->blocks, (int64_t)(machine->shared_per_block / each));
    return shape->blocks > 0 && few_blocks(task, shape);
}

bool sparse_fit_apart(const stn_task *task, sparse_shape *shape) {
    if (task->rank != 1) return false;
    shape->apart = 1;
    return sparse_tiles_of(task, shape).walks > 1;
}
