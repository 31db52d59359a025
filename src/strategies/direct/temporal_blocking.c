/* Shapes of the multi-step kernels. Tuned on an H200: independent warps, as many stages in flight
 * as registers hold, and few enough registers for eight to twelve warps on a multiprocessor. */
#include "strategies/direct/temporal_blocking.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "strategies/direct/tap_order.h"

#define MAX_REACH 4            /* largest reach of direct_time_tile along any axis */
#define LINE_MAX_REACH 8       /* largest reach of direct_time_line */
#define MAX_RESIDENT_BLOCKS 32 /* resident blocks on a multiprocessor, for any kernel */

bool direct_time_spans(const stn_task *task, const direct_shape *shape) {
    if (shape->kernel != DIRECT_TIME_TILE || task->rank != 2 || task->boundary[2][0].kind == STN_WRAP) return false;
    int64_t past = stn_round_up(direct_reach(task, shape, 2), shape->vector);
    return task->n[2] + 2 * past <= (int64_t)shape->threads[2] * shape->points;
}

static int margin_x(const stn_task *task, const direct_shape *shape) {
    if (direct_time_spans(task, shape)) return (int)stn_round_up(direct_reach(task, shape, 2), shape->vector);
    return (int)stn_round_up((int64_t)shape->fused * direct_reach(task, shape, 2), shape->vector);
}

/* In 1D and 2D a block is one warp along x; in 3D its warps are stacked along y, each threads[2]
 * lanes wide. */
static int own_x(const stn_task *task, const direct_shape *shape) {
    return shape->threads[2] * shape->points - 2 * margin_x(task, shape);
}

static int own_y(const stn_task *task, const direct_shape *shape) {
    if (shape->kernel != DIRECT_TIME_TILE) return 1;
    return shape->threads[1] * shape->rows - 2 * shape->fused * direct_reach(task, shape, 1);
}

void direct_time_tiles(const stn_task *task, const direct_shape *shape, int64_t tiles[3]) {
    tiles[0] = stn_div_up(task->n[direct_axis(task, shape, 0)], shape->chunk);
    tiles[1] = stn_div_up(task->n[direct_axis(task, shape, 1)], own_y(task, shape));
    tiles[2] = stn_div_up(task->n[2], own_x(task, shape));
}

bool direct_time_one_barrier(const stn_task *task, const direct_shape *shape) {
    if (direct_reach(task, shape, 1) == 0 || (shape->mirror & DIRECT_MIRROR_Z)) return false;
    for (size_t t = 0; t < task->ntaps; t++) {
        const int64_t *o = task->taps[t].offset;
        if (o[direct_axis(task, shape, 0)] && (o[direct_axis(task, shape, 1)] || o[2])) return false;
    }
    return true;
}

bool direct_time_refreshes(const stn_task *task, const direct_shape *shape) {
    for (int k = 1; k < 3; k++)
        for (int side = 0; side < 2; side++) {
            const stn_boundary_kind kind = task->boundary[direct_axis(task, shape, k)][side].kind;
            if (kind != STN_WRAP && kind != STN_FIXED) return true;
        }
    return false;
}

/* ---- shapes */

static bool is_supported(const stn_task *task, const direct_shape *shape) {
    int longest = shape->kernel == DIRECT_TIME_LINE ? LINE_MAX_REACH : MAX_REACH;
    for (int k = 0; k < 3; k++) {
        int axis = direct_axis(task, shape, k), reach = direct_reach(task, shape, k);
        bool used = k == 2 || (shape->kernel == DIRECT_TIME_TILE && (k == 0 || task->rank == 3));
        if (used ? reach < 1 || reach > longest : reach > 0) return false;
        if (used && task->n[axis] < 2 * reach + 2) return false;
        /* Indices are 32-bit. */
        if (shape->kernel == DIRECT_TIME_TILE && task->n[axis] > INT32_MAX / 4) return false;
    }
    return task->in_stride[2] == 1 && task->out_stride[2] == 1;
}

/* Mirrors shared_type of direct/time_tile.cuh. */
size_t direct_time_shared(const stn_task *task, const direct_shape *shape) {
    if (shape->kernel != DIRECT_TIME_TILE) return 0;
    size_t size = stn_dtype_size(task->dtype), real = task->dtype == STN_F64 ? 8 : 4;
    size_t width = (size_t)(shape->threads[2] * shape->points), height = (size_t)(shape->threads[1] * shape->rows);
    int reach = direct_reach(task, shape, 1);
    bool transposes = shape->points > shape->vector, refresh = direct_time_refreshes(task, shape);
    size_t rows = (size_t)shape->threads[1] * width * (reach ? 2 * (size_t)reach * (size_t)shape->fused : 1);
    size_t bytes = (size_t)(DIRECT_TIME_PREFETCH + 1 + transposes) * width * height * size;
    bytes = (size_t)stn_round_up((int64_t)bytes, (int64_t)real) + (refresh ? width * height + 4 : 2) * real;
    size_t sources = refresh ? width * height * sizeof(uint16_t) : 0;
    return (size_t)stn_round_up((int64_t)bytes, 16) + (direct_time_one_barrier(task, shape) ? 2 : 1) * rows * real +
           sources + 16;
}

/* Whether partial sums, and with ONE_BARRIER the planes of an iteration, fit into a lane's 255
 * registers. */
static bool registers_hold(const stn_task *task, const stn_machine *machine, void *of) {
    const direct_shape *shape = of;
    if (task->rank < 3) return true; /* plane_shapes limits the steps to what registers hold */
    int words = task->dtype == STN_F64 ? 2 : 1, points = shape->rows * shape->points, z = direct_reach(task, shape, 0);
    int held = words * (2 * z * shape->fused + 2 * z + 1) * points;
    int lanes = shape->threads[1] * shape->threads[2] * shape->blocks;
    return held + DIRECT_TIME_ADDRESSES <= stn_min(255, (int64_t)machine->registers_per_multiprocessor / lanes);
}

static bool steps_hold(const stn_task *task, const stn_machine *machine, void *of) {
    const direct_shape *shape = of;
    (void)machine;
    return shape->fused >= 2 && (uint64_t)shape->fused <= task->steps;
}

static bool reach_holds(const stn_task *task, const stn_machine *machine, void *of) {
    const direct_shape *shape = of;
    (void)machine;
    return direct_reach(task, shape, 2) <= shape->points &&
           (task->rank < 3 || direct_reach(task, shape, 1) <= shape->rows);
}

static bool own_points_hold(const stn_task *task, const stn_machine *machine, void *of) {
    const direct_shape *shape = of;
    (void)machine;
    if (own_x(task, shape) <= direct_reach(task, shape, 2)) return false;
    return task->rank == 3 ? own_y(task, shape) > direct_reach(task, shape, 1)
                           : own_x(task, shape) >= 8 * shape->points;
}

static bool shared_holds(const stn_task *task, const stn_machine *machine, void *of) {
    return direct_time_shared(task, of) <= machine->shared_per_block;
}

static bool threads_hold(const stn_task *task, const stn_machine *machine, void *of) {
    const direct_shape *shape = of;
    (void)task;
    return shape->blocks >= 1 && shape->blocks <= MAX_RESIDENT_BLOCKS &&
           shape->blocks * shape->threads[0] * shape->threads[1] * shape->threads[2] <= machine->threads;
}

static bool blocks_hold(const stn_task *task, const stn_machine *machine, void *of) {
    int64_t tiles[3];
    (void)machine;
    direct_time_tiles(task, of, tiles);
    return (double)tiles[0] * (double)tiles[1] * (double)tiles[2] * (double)task->batch < 0x7fffffff;
}

static const stn_constraint constraints[] = {
    {"fused steps", "a launch makes two steps or more, and no more than the run has", steps_hold},
    {"reach", "the points and rows of a lane reach as far as the taps", reach_holds},
    {"own points", "a tile is wider than the margins that its neighbours compute too", own_points_hold},
    {"registers", "the sums of all fused steps stay in a lane's registers", registers_hold},
    {"shared memory", "the planes of a tile fit a block's shared memory", shared_holds},
    {"threads", "a multiprocessor runs as many blocks at once", threads_hold},
    {"blocks", "a launch has fewer than 2^31 blocks", blocks_hold},
};

static bool fits(const stn_task *task, const stn_machine *machine, direct_shape *shape, stn_tally *tally) {
    return STN_CONSTRAINTS_HOLD(constraints, task, machine, shape, tally);
}

bool direct_time_refit(const stn_task *task, const stn_machine *machine, direct_shape *shape, bool chunk,
                       stn_tally *tally) {
    /* Not a valid shape. */
    if (shape->blocks < 1 || shape->chunk < 1 || shape->points < shape->vector) return false;
    if (!fits(task, machine, shape, tally)) return false;
    if (chunk && shape->kernel != DIRECT_TIME_LINE) direct_time_fit_chunk(task, machine, shape);
    return true;
}

static direct_shape time_shape(const stn_task *task, const stn_machine *machine, direct_kernel kernel, int fused,
                               int points, int blocks) {
    direct_shape shape = {.kernel = kernel, .rows = 1, .chunk = 1, .threads = {1, 1, DIRECT_TIME_LANES}, .unroll = 1};
    shape.vector = (int)stn_min(direct_widest_vector(task), points);
    shape.fused = fused;
    shape.points = points;
    shape.blocks = blocks;
    shape.mirror = direct_time_mirror(task, &shape);
    shape.operations = direct_time_operations(task, &shape, shape.mirror);
    if (kernel == DIRECT_TIME_LINE)
        shape.unroll = 4;
    else
        direct_time_fit_chunk(task, machine, &shape);
    return shape;
}

static double waves_of(const stn_task *task, const stn_machine *machine, const direct_shape *shape) {
    int64_t tiles[3];
    if (own_x(task, shape) < 1) return INFINITY;
    direct_time_tiles(task, shape, tiles);
    return (double)(tiles[2] * task->batch) / ((double)machine->multiprocessors * shape->blocks);
}

static size_t line_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most,
                          stn_tally *tally) {
    int reach = task->reach[2][0] > task->reach[2][1] ? task->reach[2][0] : task->reach[2][1];
    bool wide = task->dtype == STN_F64;
    static const int spread[] = {64, 48, 32, 16, 8, 4}; /* margin sizes in points */
    size_t count = 0;
    for (size_t i = 0; i < sizeof spread / sizeof *spread && count < most; i++) {
        int points = wide && spread[i] <= 32 ? 16 : 32, blocks = points == 16 ? 24 : wide ? 12 : 20;
        int fused = (int)stn_min((uint64_t)(spread[i] / reach), task->steps);
        if (fused < 2) break;
        direct_shape shape = time_shape(task, machine, DIRECT_TIME_LINE, fused, points, blocks);
        if (fits(task, machine, &shape, tally)) shapes[count++] = shape;
        if ((uint64_t)fused == task->steps) break;
    }
    if (wide && count && count < most && (uint64_t)shapes[0].fused == task->steps && shapes[0].fused * reach <= 16) {
        /* More, shorter tiles. */
        direct_shape shape = time_shape(task, machine, DIRECT_TIME_LINE, shapes[0].fused, 16, 16);
        if (fits(task, machine, &shape, tally)) shapes[count++] = shape;
        shape = time_shape(task, machine, DIRECT_TIME_LINE, shape.fused, 8, 16);
        /* 131072 points: 4.4 us, against 6.2 us with 16 points a lane */
        const bool few = waves_of(task, machine, &shape) < 1;
        if (few && count < most && fits(task, machine, &shape, tally)) shapes[count++] = shape;
    }
    return count;
}

/* Points a lane: four, unless one tile can hold a whole row with other numbers of points and
 * registers hold the sums of two steps. */
static int plane_points(const stn_task *task, int sums_most) {
    for (int points = 2; points <= 8; points *= 2) {
        direct_shape shape = {.kernel = DIRECT_TIME_TILE, .threads = {1, 1, DIRECT_TIME_LANES}, .points = points};
        shape.vector = (int)stn_min(direct_widest_vector(task), points);
        int sums = 2 * direct_reach(task, &shape, 0) * points;
        if (direct_reach(task, &shape, 2) <= points && 2 * sums <= sums_most && direct_time_spans(task, &shape))
            return points;
    }
    return 4;
}

/* The partial sums of all stages stay in registers: 72 doubles or 96 floats a lane fit. A spill
 * costs more than a step gains, because so much shared memory leaves little L1 for local memory. */
static size_t plane_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most,
                           stn_tally *tally) {
    bool wide = task->dtype == STN_F64;
    direct_shape probe = {.kernel = DIRECT_TIME_TILE};
    int sums_most = wide ? 72 : 96, points = plane_points(task, sums_most);
    int sums = 2 * direct_reach(task, &probe, 0) * points, deepest = sums_most / sums;
    size_t count = 0;
    for (int fused = (int)stn_min((uint64_t)deepest, task->steps); fused >= 2 && count < most; fused--) {
        int held = fused * sums;
        direct_shape shape = time_shape(task, machine, DIRECT_TIME_TILE, fused, points,
                                        wide                                 ? 8
                                        : held > (task->ntaps > 5 ? 72 : 64) ? 12
                                                                             : 16);
        if (fits(task, machine, &shape, tally)) shapes[count++] = shape;
    }
    for (int fused = (int)stn_min(6, task->steps); wide && points == 4 && fused >= 4 && count < most; fused--) {
        /* More tiles, for grids of few waves. */
        direct_shape shape = time_shape(task, machine, DIRECT_TIME_TILE, fused, 2, 8);
        if (fits(task, machine, &shape, tally)) shapes[count++] = shape;
    }
    return count;
}

/* Shapes for 3D grids, by tiles of an x-y plane; a lane's sums of all stages must stay in
 * registers. */
static size_t volume_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most,
                            stn_tally *tally) {
    static const struct {
        bool wide;
        int fused, points, rows, lanes_x, warps, blocks;
    } sweeps[] = {{true, 3, 2, 4, 32, 8, 1},   {true, 2, 2, 4, 32, 12, 1}, {true, 2, 2, 4, 32, 8, 1},
                  {true, 2, 2, 2, 16, 8, 2},   {false, 3, 4, 4, 16, 8, 1}, {false, 3, 2, 4, 32, 8, 2},
                  {false, 2, 2, 4, 32, 16, 1}, {false, 2, 4, 4, 16, 8, 1}, {false, 2, 2, 4, 16, 8, 2}};
    bool wide = task->dtype == STN_F64;
    size_t count = 0;
    for (size_t i = 0; i < sizeof sweeps / sizeof *sweeps && count < most; i++) {
        int points = sweeps[i].points, lanes_x = sweeps[i].lanes_x;
        if (sweeps[i].wide != wide || (uint64_t)sweeps[i].fused > task->steps) continue;
        direct_shape shape = {.kernel = DIRECT_TIME_TILE, .rows = sweeps[i].rows, .chunk = 1, .unroll = 1};
        shape.vector = (int)stn_min(direct_widest_vector(task), points);
        shape.fused = sweeps[i].fused;
        shape.points = points;
        shape.threads[0] = 1, shape.threads[1] = DIRECT_TIME_LANES / lanes_x * sweeps[i].warps,
        shape.threads[2] = lanes_x;
        shape.blocks = sweeps[i].blocks;
        shape.mirror = direct_time_mirror(task, &shape);
        shape.operations = direct_time_operations(task, &shape, shape.mirror);
        if (!fits(task, machine, &shape, tally)) continue;
        direct_time_fit_chunk(task, machine, &shape);
        shapes[count++] = shape;
    }
    return count;
}

size_t direct_time_shapes(const stn_task *task, const stn_machine *machine, direct_shape *shapes, size_t most,
                          stn_tally *tally) {
    direct_shape probe = {.kernel = task->rank == 1 ? DIRECT_TIME_LINE : DIRECT_TIME_TILE};
    if (task->steps < 2 || !is_supported(task, &probe)) return 0;
    return task->rank == 1   ? line_shapes(task, machine, shapes, most, tally)
           : task->rank == 2 ? plane_shapes(task, machine, shapes, most, tally)
                             : volume_shapes(task, machine, shapes, most, tally);
}
