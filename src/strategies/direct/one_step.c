/* Shapes of the one-step kernels. The rules were tuned on an H200: in 2D short marching loops of
 * many small blocks reach 93-99% of the copy bandwidth; too few resident threads cost most, so a
 * multiprocessor gets as many blocks as registers allow. */
#include "strategies/direct/one_step.h"

#include "base/arith.h"
#include "strategies/direct/direct_skew.h"
#include "strategies/direct/tap_order.h"

#define ARGUMENT_BYTES 3900 /* bytes of the 4 KiB of kernel arguments that follow the header */
/* The most unrolled instructions of the loops over planes of direct_tile and of direct_skew: each
 * then compiles in a second. */
#define UNROLLED_TILE 4000
#define UNROLLED_SKEWED 900
#define FMAS_OF_A_PLANE 3000 /* the most of one plane, whose taps are always unrolled */
#define LINE_REACH 32
#define SAME_RANK (-1) /* rank of a shape that shares the rank of its predecessor */
/* Most registers of a thread in 3D in f16: 25 taps take 4.4 ms with 128 (two blocks), 5.6 ms with
 * more (one block). */
#define MAX_REGISTERS_F16_3D 128
/* Least registers of a thread that reads points one by one: many taps in 2D take 10.7 us with 56,
 * 9.0 us with 80; 3D in f64 27 us with 48, 23 us with 80. */
#define MIN_REGISTERS_SCALAR 80
/* Registers of direct_skew for a 2D star of reach 1, except in f32. With 40, as direct_tile has, it
 * spills some to memory in f16, and in f64 half of its loads wait for the others (8192 x 8193: 0.30
 * ms, with 48 registers 0.27 ms), unless all sides are fixed (0.26 ms). */
#define SKEWED_REGISTERS_2D 48
#define MIN_SKEWED_WORDS 8 /* words of the shortest row of direct_skew */
/* Longest axis z or y of direct_skew: its skewed column X = x + SKEW_Z z + SKEW_Y y has 32 bits. */
#define MAX_SKEWED_ROWS (1 << 27)
#define MAX_SKEWED_TAPS 128 /* direct_tile reads more weights from shared memory */
#define FEW_WAVES 3         /* with fewer waves of blocks, multiprocessors idle at the end */

static int real_words(const stn_task *task) { return task->dtype == STN_F64 ? 2 : 1; }

static int span(const stn_task *task, const direct_shape *shape) {
    int64_t reach[2] = {-task->reach[2][0], task->reach[2][1]};
    const int vector = shape->vector;
    if (shape->skewed) direct_skewed_reach(task, shape, reach);
    return (int)(stn_round_up(-reach[0], vector) + vector + stn_round_up(reach[1], vector));
}

/* Registers of a thread: partial sums, one line of the window and the next one in flight, and
 * addresses. `rest` is tuned: with more registers, too few threads are resident; with fewer, values
 * spill to memory. */
static int tile_registers(const stn_task *task, const direct_shape *shape) {
    int z = direct_axis(task, shape, 0), words = real_words(task);
    int depth = task->reach[z][0] + task->reach[z][1] + 1;
    if (task->rank == 2 && task->pattern == STN_PATTERN_STAR && depth <= 3) return 40;
    int rest = task->rank == 3                     ? (words == 2 ? 8 : 24)
               : task->pattern == STN_PATTERN_STAR ? (words == 2 ? -12 : -4)
                                                   : (task->ntaps > 25 ? 12 : 4);
    const int registers = 20 + rest + words * (depth * shape->rows * shape->vector + span(task, shape));
    if (task->dtype == STN_F16 && task->rank == 3) return (int)stn_min(registers, MAX_REGISTERS_F16_3D);
    const bool scalar = shape->vector == 1 && (task->rank == 2 ? task->ntaps > 25 : words == 2);
    return scalar ? (int)stn_max(registers, MIN_REGISTERS_SCALAR) : registers;
}

static void fit_blocks(const stn_machine *machine, direct_shape *shape, int registers) {
    int threads = shape->threads[0] * shape->threads[1] * shape->threads[2];
    registers = (int)stn_round_up(stn_max(registers, 32), 8);
    int by_registers = (int)(machine->registers_per_multiprocessor / (size_t)(threads * registers));
    shape->blocks = (int)stn_max(1, stn_min(by_registers, machine->threads / threads));
}

static void fit_unroll(const stn_task *task, direct_shape *shape) {
    int z = direct_axis(task, shape, 0);
    int depth = task->reach[z][0] + task->reach[z][1] + 1, planes = shape->chunk + depth - 1;
    /* With SHARED_WEIGHTS of direct_tile.cu, each weight is loaded again for each plane. */
    const bool loads = task->ntaps * (task->dtype == STN_F64 ? 8 : 4) > 512;
    const int64_t plane = (int64_t)task->ntaps * shape->rows * shape->vector * (1 + loads);
    const int64_t most = shape->skewed ? UNROLLED_SKEWED : UNROLLED_TILE;
    shape->unroll = plane * planes <= most ? planes : plane * depth <= most ? depth : 1;
    /* Unrolling saves moving `depth` sums for each plane. Where these are few compared with the
     * taps, a loop of direct_skew is 3 to 8% faster (box of 27 taps, 511^3) and compiles four times
     * as fast. */
    if (shape->skewed && task->ntaps >= 8 * (size_t)depth) shape->unroll = 1;
}

/* registers: the tuned number for this shape, or 0 to use tile_registers. */
static direct_shape tile_shape(const stn_task *task, const stn_machine *machine, int vector, int rows, int chunk,
                               int tz, int ty, int registers) {
    direct_shape shape = {DIRECT_TILE, vector, rows, chunk, {tz, ty, 32}, 1, 1, .fused = 1};
    fit_unroll(task, &shape);
    fit_blocks(machine, &shape, registers ? registers : tile_registers(task, &shape));
    return shape;
}

/* direct_tile counts indices in 32 bits. It folds whole slots (VECTOR aligned points of a row), so
 * every extent must exceed the reach along its axis. */
static bool extents_hold(const stn_task *task, const direct_shape *shape) {
    for (int axis = 0; axis < 3; axis++) {
        int64_t reach = stn_max(task->reach[axis][0], task->reach[axis][1]);
        int64_t least = axis < 2 ? reach + 1 : stn_round_up(reach, shape->vector) + shape->vector;
        /* Points near the low and the high side must be different ones. */
        if (shape->skewed)
            least = stn_max(least, axis < 2 ? task->reach[axis][0] + task->reach[axis][1]
                                            : direct_skew_row_ends(task, shape->vector));
        if (shape->skewed && axis < 2 && task->n[axis] > MAX_SKEWED_ROWS) return false;
        if (task->n[axis] < (reach ? least : 1) || task->n[axis] > INT32_MAX / 2) return false;
    }
    return true;
}

static bool tile_fits(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    /* The taps fit the 4 KiB of a launch's arguments. */
    const size_t values = (6 + task->ntaps) * (task->dtype == STN_F64 ? 8 : 4);
    if (task->ntaps > DIRECT_MAX_TAPS || values > ARGUMENT_BYTES) return false;
    if (task->in_stride[2] != 1 || task->out_stride[2] != 1 || !extents_hold(task, shape)) return false;
    /* A thread's sums and window stay in registers, and the unrolled taps compile in less than a
     * second. */
    if (tile_registers(task, shape) > 220) return false;
    if ((int64_t)task->ntaps * shape->rows * shape->vector > FMAS_OF_A_PLANE) return false;
    /* A multiprocessor can run shape->blocks blocks at once. */
    return shape->blocks * shape->threads[0] * shape->threads[1] * shape->threads[2] <= machine->threads;
}

/* Shapes for 2D, best first as measured. */
static size_t plane_shapes(const stn_task *task, const stn_machine *machine, int vector, direct_shape shapes[4]) {
    size_t count = 0;
    bool near = task->reach[1][0] + task->reach[1][1] <= 2;
    /* With 32 registers f16 spills: 27 us instead of 22.6. */
    if (near && task->pattern == STN_PATTERN_STAR)
        shapes[count++] = tile_shape(task, machine, vector, 1, 2, 8, 1, 40);
    else if (near)
        shapes[count++] = tile_shape(task, machine, vector, 1, 4, 8, 1, 0);
    bool long_chunk = task->ntaps > 25 && task->dtype != STN_F64;
    shapes[count++] = tile_shape(task, machine, vector, 1, long_chunk ? 8 : 6, 4, 1, 0);
    shapes[count++] = tile_shape(task, machine, vector, 1, long_chunk ? 6 : 8, 4, 1, 0);
    /* A loop that is not unrolled also computes sums that are not used. They are a smaller part of
     * a longer loop (box of 169 taps, 5120^2 points, 8 and 32 rows: 1.06 and 0.64 ms, in f32 0.55
     * and 0.37 ms). */
    if (shapes[count - 1].unroll == 1) shapes[count++] = tile_shape(task, machine, vector, 1, 32, 4, 1, 0);
    return count;
}

static size_t volume_shapes(const stn_task *task, const stn_machine *machine, int vector, direct_shape shapes[4]) {
    size_t count = 0;
    bool wide = task->dtype == STN_F64, star = task->pattern == STN_PATTERN_STAR;
    int depth = task->reach[0][0] + task->reach[0][1];
    /* 512^3 marching over 4 and 8 planes: 0.558 and 0.575 ms, in f32 0.277 and 0.301 ms. f16, and
     * larger planes, of which fewer fit into L2, were measured with 8. */
    const double plane = (double)(task->n[1] * task->n[2]) * (double)stn_dtype_size(task->dtype);
    const int march = task->dtype == STN_F16 || 24 * plane > (double)machine->l2_bytes ? 8 : 4;
    if (depth <= 2 && wide && star) shapes[count++] = tile_shape(task, machine, vector, 6, march, 1, 4, 160);
    if (depth <= 2 && wide && !star) shapes[count++] = tile_shape(task, machine, vector, 2, 24, 1, 4, 96);
    if (depth <= 2 && !wide && star) shapes[count++] = tile_shape(task, machine, vector, 2, march, 1, 4, 80);
    shapes[count++] = tile_shape(task, machine, vector, depth <= 4 ? 2 : 1, 16, 1, 8, depth <= 2 && !wide ? 80 : 0);
    if (depth > 4) /* this many taps make the extra halo planes expensive */
        shapes[count - 1] = tile_shape(task, machine, vector, 1, 32, 1, 8, 0);
    shapes[count++] = tile_shape(task, machine, vector, 1, 8, 1, 8, 0);
    int64_t tiles[3];
    /* For fewer tiles than multiprocessors, a shape with a shorter marching loop is added. */
    direct_tiles(task, &shapes[count - 1], tiles);
    if (count < 4 && tiles[0] * tiles[1] * tiles[2] * task->batch < machine->multiprocessors) {
        shapes[count] = tile_shape(task, machine, vector, 1, 4, 1, 8, 0);
        shapes[count++].rank = SAME_RANK;
    }
    for (size_t i = 0; i < count; i++) shapes[i].column_loop = 1;
    return count;
}

static double waves_of(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    int64_t tiles[3];
    direct_tiles(task, shape, tiles);
    const double blocks = (double)(tiles[0] * tiles[1] * tiles[2]) * (double)task->batch;
    return blocks / ((double)machine->multiprocessors * shape->blocks);
}

/* Where a few waves of blocks cover the grid, adds each shape with half the marching length: more
 * blocks share the work and the last wave is shorter. */
static size_t add_shorter_chunks(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t count,
                                 size_t most) {
    const size_t own = count;
    for (size_t i = 0; i < own && count < most; i++) {
        if (shapes[i].chunk < 2 || waves_of(task, machine, &shapes[i]) >= FEW_WAVES) continue;
        direct_shape shorter = shapes[i];
        shorter.chunk /= 2;
        fit_unroll(task, &shorter);
        if (tile_fits(task, machine, &shorter)) shapes[count++] = shorter;
    }
    return count;
}

/* Shapes of direct_tile, or of direct_skew for rows that are not aligned to `vector` elements. */
static size_t shapes_of_vector(const stn_task *task, const stn_machine *machine, int vector, bool uneven,
                               direct_shape shapes[4]) {
    if (uneven &&
        (task->n[2] < MIN_SKEWED_WORDS * vector || !direct_skew_serves(task, vector) || task->ntaps > MAX_SKEWED_TAPS))
        return 0;
    size_t count =
        task->rank == 2 ? plane_shapes(task, machine, vector, shapes) : volume_shapes(task, machine, vector, shapes);
    const bool more_registers =
        task->rank == 2 && (task->dtype == STN_F64 ? !direct_all_sides_fixed(task) : task->dtype == STN_F16);
    for (size_t i = 0; i < count && uneven; i++) {
        shapes[i].skewed = 1;
        fit_unroll(task, &shapes[i]);
        if (more_registers && tile_registers(task, &shapes[i]) < SKEWED_REGISTERS_2D)
            fit_blocks(machine, &shapes[i], SKEWED_REGISTERS_2D);
    }
    return count;
}

/* Whether shapes with fewer points an access are candidates too: eight points a thread spill
 * registers in 3D (512^3, 7 taps: 0.216 ms; with two points an access 0.208 ms). */
static bool may_spill(const stn_task *task, int vector) {
    return task->rank == 3 && task->dtype == STN_F16 && vector == 8;
}

static size_t tile_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most) {
    const int full = 16 / (int)stn_dtype_size(task->dtype), widest = direct_widest_vector(task, false);
    size_t count = 0;
    direct_shape tried[4];
    /* First direct_skew for uneven rows, with fewer points an access if it has no shape; then
     * aligned accesses, as wide as possible. */
    for (int uneven = widest < full; uneven >= 0; uneven--) {
        const size_t own = count;
        int vector = uneven ? full : widest;
        for (bool more = true; more && vector > (uneven ? widest : 0); vector /= 2) {
            const size_t first = count, tries = shapes_of_vector(task, machine, vector, uneven, tried);
            for (size_t i = 0; i < tries && count < most; i++)
                if (tile_fits(task, machine, &tried[i])) {
                    tried[i].rank = (int)(count - first) - (tried[i].rank == SAME_RANK);
                    shapes[count++] = tried[i];
                }
            more = count == own || may_spill(task, vector);
        }
    }
    return add_shorter_chunks(task, machine, shapes, count, most);
}

static bool line_fits(const stn_task *task) {
    return task->rank == 1 && task->in_stride[2] == 1 && task->out_stride[2] == 1 && task->reach[2][0] <= LINE_REACH &&
           task->reach[2][1] <= LINE_REACH;
}

bool direct_refit(const stn_task *task, const stn_machine *machine, direct_shape *shape) {
    /* Only in shapes of direct_tile can the chunk and the blocks be changed. */
    if (shape->blocks < 1 || shape->chunk < 1 || shape->kernel != DIRECT_TILE) return false;
    fit_unroll(task, shape);
    return tile_fits(task, machine, shape);
}

size_t direct_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most) {
    size_t count = 0;
    if (line_fits(task)) {
        int vector = direct_widest_vector(task, false);
        shapes[count++] = (direct_shape){DIRECT_LINE, vector, 1, 1, {1, 1, 256}, 1, 1, .fused = 1};
        if (count < most)
            shapes[count++] = (direct_shape){DIRECT_LINE, vector, 4, 1, {1, 1, 128}, 1, 1, .rank = 1, .fused = 1};
    } else if (task->rank > 1)
        count = tile_shapes(task, machine, shapes, most - 1);
    if (count < most) shapes[count++] = (direct_shape){DIRECT_GATHER, 1, 1, 1, {1, 1, 256}, 1, 1, .fused = 1};
    return count;
}

void direct_tiles(const stn_task *task, const direct_shape *shape, int64_t tiles[3]) {
    int64_t block_points[3] = {(int64_t)shape->chunk * shape->threads[0], (int64_t)shape->rows * shape->threads[1],
                               (int64_t)shape->vector * shape->threads[2]};
    for (int k = 0; k < 3; k++) tiles[k] = stn_div_up(task->n[direct_axis(task, shape, k)], block_points[k]);
}
