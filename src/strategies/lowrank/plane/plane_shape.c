/* Shapes and cost model of the kernels lowrank_line, _plane and _mixed. The rules were tuned on an
 * H200. */
#include "strategies/lowrank/plane/plane_shape.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "render/render.h"
#include "strategies/common/overlap_cost.h"
#include "strategies/faces/margins.h"
#include "strategies/lowrank/lowrank_types.h"

#define MAX_BLOCKS_X 9 /* blocks of 8 columns whose partial sums stay in registers */
#define MAX_BLOCKS_Y 10
#define MAX_REACH_LINE 96
#define MIXED_PAIR 36 /* elements of two rows in lowrank_mixed */
/* lowrank_mixed: numbers that a lane holds (bands, rows, sums). Up to 58, three blocks fit on a
 * multiprocessor, up to 72 two; beyond, registers spill. All sums and products are unrolled, so
 * MIXED_MAX_SUMS limits their number. */
#define MIXED_THREE_BLOCKS 58
#define MIXED_TWO_BLOCKS 72
#define MIXED_MAX_SUMS 96
#define STATIC_SHARED 20480 /* bands and row starts need less */
#define MAX_STATIC_SHARED 49152
/* Rates of these kernels on an H200, as fractions of the tensor cores' rate or of the copy
 * bandwidth, and cycles of a block's march. */
static const struct {
    /* lowrank_mixed with three blocks a multiprocessor, and with fewer. */
    double mixed, mixed_few;
    /* lowrank_line in f64; in other types with several products, and with one. */
    double line, line_parts, line_once;
    /* lowrank_plane. plane: one or two terms. plane_terms: more terms. One term with a long chain
     * of products has the rate chain, plus chain_more for each block of columns after 8, at most
     * chain_most. */
    double plane, plane_terms, chain, chain_more, chain_most;
    /* Factors on these rates in f16: with two products, and with one. */
    double plane_parts, plane_once;
    /* lowrank_plane in f32: cycles in which a warp issues the instructions of a stage (copies,
     * parts of the columns, stores), of each product, and of each line whose elements are copied
     * one by one. */
    double f32_stage, f32_product, f32_line;
    double line_memory, mixed_memory, memory;
    /* short_rows_memory: the fraction of the copy bandwidth for rows of 32 bytes, if input and
     * output exceed l2_fraction of L2. Fitted to grids of 2240 x 10368 (a batch of 4), 8623 x 18552
     * and 8128 x 7232 points. */
    double l2_fraction, short_rows_memory;
    /* Cycles of a product, and of each of the products of one element in parts. */
    double product, part;
    /* Cycles of the start of a block in 1D; the same in f16, where a warp waits for each element
     * past a line's end. */
    double line_start, half_line_start;
    /* Cycles of a stage, and of the start of a block, in 2D; of a copy of one element of f16. */
    double step, plane_start, half_copy;
    double march; /* fraction of a block's march that nothing overlaps */
} rates = {.mixed = 0.62,
           .mixed_few = 0.5,
           .line = 0.74,
           .line_parts = 0.61,
           .line_once = 0.46,
           .plane = 0.73,
           .plane_terms = 0.77,
           .chain = 0.56,
           .chain_more = 0.03,
           .chain_most = 0.62,
           .plane_parts = 0.7,
           .plane_once = 0.55,
           .f32_stage = 430,
           .f32_product = 11.6,
           .f32_line = 9.5,
           .line_memory = 0.82,
           .mixed_memory = 0.78,
           .memory = 0.75,
           .l2_fraction = 0.67,
           .short_rows_memory = 0.27,
           .product = 40,
           .part = 26,
           .line_start = 7000,
           .half_line_start = 14400,
           .step = 300,
           .plane_start = 8000,
           .half_copy = 400,
           .march = 0.6};
#define BAND_PADS 30 /* padding of a band: 2 BAND_PAD of device/band.cuh */

static bool is_line(const stn_task *task) { return task->rank == 1; }

int lowrank_reach(const stn_task *task, const lowrank_shape *shape, int axis, int side) {
    return shape->fused * task->reach[axis][side];
}
int lowrank_window(const stn_task *task, const lowrank_shape *shape, int axis) {
    return lowrank_reach(task, shape, axis, 0) + lowrank_reach(task, shape, axis, 1) + 1;
}

int lowrank_stored_window(const stn_task *task, const lowrank_shape *shape, int axis) {
    return shape->even ? lowrank_reach(task, shape, axis, 0) + 1 : lowrank_window(task, shape, axis);
}

/* The rounding of f32, a quarter of that of f16, and 0 in f64 without a tolerance, where terms are
 * only cut at rounding. */
double lowrank_term_tolerance(const stn_task *task, const lowrank_shape *shape) {
    double entries = (double)lowrank_window(task, shape, 1) * lowrank_window(task, shape, 2);
    double rounding = task->dtype == STN_F32 ? 0x1p-24 : task->dtype == STN_F16 ? 0x1p-13 : 0;
    return fmax(task->tolerance / entries, rounding) / (shape->launches * (double)task->snapshots);
}

/* Blocks of 8 rows or columns that a tile of `size` points depends on; the window begins `lead`
 * points before it. */
static int blocks_seen(int size, int lead, int high) { return (int)stn_div_up(size + lead + high, 8); }
static int lead_x(const stn_task *task, const lowrank_shape *shape) {
    return (int)stn_round_up(lowrank_reach(task, shape, 2, 0), stn_max(4, lowrank_slot(task->dtype)));
}
/* Blocks of 8 outputs of a tile along x: f16's products take 16 points at once, so tiles of a line
 * are 16 wide. */
static int line_blocks_out(const stn_task *task) { return task->dtype == STN_F16 ? 2 : 1; }
static int blocks_x(const stn_task *task, const lowrank_shape *shape) {
    int width = is_line(task) ? 8 * line_blocks_out(task) : 8;
    int blocks = blocks_seen(width, lead_x(task, shape), lowrank_reach(task, shape, 2, 1));
    return is_line(task) ? (int)stn_round_up(blocks, lowrank_step(task->dtype)) : blocks;
}
static int blocks_y(const stn_task *task, const lowrank_shape *shape) {
    int blocks = blocks_seen(16, lowrank_reach(task, shape, 1, 0), lowrank_reach(task, shape, 1, 1));
    return (int)stn_round_up(blocks, lowrank_step(task->dtype));
}

/* The number of products of 16 x 8 x 8 that 128 outputs take. In lowrank_mixed a product counts
 * half, since its depth is 4. A sum of 128 numbers counts a quarter: it has an eighth of the
 * multiplications, which the same pipe executes at half the rate. */
static double products(const stn_task *task, const lowrank_shape *shape) {
    if (is_line(task)) return blocks_x(task, shape);
    if (shape->mixed) return shape->bands / 2.0 + shape->sums / 4.0;
    /* A product that takes two blocks of columns at once is half empty for a tile's first and last
     * blocks. */
    int shared = lowrank_step(task->dtype) - 1;
    return shape->terms * (blocks_y(task, shape) + blocks_x(task, shape) + shared);
}

static int64_t chunk_points(const lowrank_shape *shape) { return (int64_t)shape->warps * 16 * shape->segment; }

int64_t lowrank_chunks(const stn_task *task, const lowrank_shape *shape) {
    return stn_div_up(task->n[2], chunk_points(shape));
}

void lowrank_tiles(const stn_task *task, const lowrank_shape *shape, int64_t *tiles_y, int64_t *tiles_x) {
    *tiles_y = stn_div_up(task->n[1], 16 * shape->warps);
    *tiles_x = stn_div_up(task->n[2], shape->segment);
}

static int plane_lines(const stn_task *task, const lowrank_shape *shape) {
    return 16 * (shape->warps - 1) + 8 * blocks_y(task, shape);
}

/* Static shared memory of lowrank_plane: bands (single elements in f64, pairs in parts in other
 * types) and the starts of rows. */
static size_t plane_static_shared(const stn_task *task, const lowrank_shape *shape) {
    int pair = task->dtype == STN_F16 ? 4 : 8;
    int entry = task->dtype == STN_F64 ? 8 : pair * lowrank_band_parts(shape->products);
    int entries = 8 * (blocks_y(task, shape) - 1 + blocks_x(task, shape)) + 2 * BAND_PADS;
    if (task->dtype == STN_F32 && shape->products == 3) /* sums of the weights in each block */
        entries += 8 * (blocks_y(task, shape) - 1 + blocks_x(task, shape)) * 4 / entry;
    return (size_t)shape->terms * (size_t)(entries * entry) + (size_t)plane_lines(task, shape) * 8;
}

size_t lowrank_shared(const stn_task *task, const lowrank_shape *shape) {
    int64_t stage;
    if (is_line(task))
        stage = stn_round_up(chunk_points(shape) + 8 * (blocks_x(task, shape) - line_blocks_out(task)),
                             8 * lowrank_slot(task->dtype));
    else
        stage = (int64_t)plane_lines(task, shape) * (16 + lowrank_slot(task->dtype));
    if (shape->mixed) stage = stn_div_up(16 * shape->warps + lowrank_window(task, shape, 1) - 1, 2) * MIXED_PAIR;
    return (size_t)(stage * shape->stages) * stn_dtype_size(task->dtype);
}

/* Stages of 16 columns that a block of the plane marches through. */
static double march_stages(const stn_task *task, const lowrank_shape *shape, int64_t segment) {
    return (double)stn_div_up(stn_min(segment, task->n[2]) + 8 * (blocks_x(task, shape) - 1), 16);
}

#define START_STAGES 6 /* time of the start of a block, in stages */
#define IDLE_WAVES 0.5 /* waves of blocks for which multiprocessors are idle at the end */
/* Chooses the segment: short ones read their lead again often, long ones leave multiprocessors idle
 * at the end, and blocks whose columns are a multiple of 2 KiB apart share memory channels. */
static void fit_segment(const stn_task *task, const stn_machine *machine, lowrank_shape *shape) {
    double best = INFINITY, rows = (double)(task->batch * stn_div_up(task->n[1], 16 * shape->warps));
    double slots = (double)machine->multiprocessors * shape->blocks;
    for (int64_t tiles = 1; tiles <= 64; tiles++) {
        int64_t segment = stn_round_up(stn_div_up(task->n[2], tiles), 16);
        if (segment < 64 && tiles > 1) break;
        double cost =
            (march_stages(task, shape, segment) + START_STAGES) * (fmax(1, rows * (double)tiles / slots) + IDLE_WAVES);
        if (segment % 256 == 0 && tiles > 1) cost *= 1.05;
        if (cost >= best) continue;
        best = cost;
        shape->segment = (int)stn_min(segment, INT32_MAX);
    }
}

/* In f16, and in f32 with three products, three blocks run on a multiprocessor if their registers
 * hold the band, of at most `most` blocks of 8 elements; else two. In f16 and f32, segments are
 * longer with fewer than three products. */
static void fit_line(const stn_task *task, lowrank_shape *shape) {
    const bool f64 = task->dtype == STN_F64, f16 = task->dtype == STN_F16;
    const int most = f64 ? 0 : f16 && shape->products == 1 ? 26 : f16 || shape->products >= 3 ? 14 : 0;
    shape->warps = 4;
    shape->stages = 2;
    shape->held = 1;
    shape->segment = !f64 && shape->products < 3 ? 128 : 64;
    shape->blocks = blocks_x(task, shape) <= most ? 3 : 2;
}

/* f32 and f16: the band of a single term stays in registers. */
static void fit_plane_parts(const stn_task *task, lowrank_shape *shape) {
    int pair = task->dtype == STN_F32 ? 2 : 1;
    int band = (blocks_y(task, shape) + blocks_x(task, shape)) * pair * lowrank_band_parts(shape->products);
    shape->held = shape->terms == 1;
    if (shape->held) shape->blocks = band <= 24 ? 4 : band <= 48 ? 3 : 2;
}

static void fit_plane(const stn_task *task, lowrank_shape *shape) {
    shape->warps = 4;
    shape->stages = 3;
    int blocks = blocks_x(task, shape);
    shape->held = shape->terms <= 2 && blocks <= 2;
    if (shape->terms == 1)
        shape->blocks = shape->held || blocks > 6 ? 3 : 4;
    else
        shape->blocks = shape->held ? 3 : blocks <= 2 ? 4 : blocks <= 6 ? 3 : 2;
    if (task->dtype != STN_F64) fit_plane_parts(task, shape);
}

bool lowrank_fit(const stn_task *task, int fused, lowrank_shape *shape) {
    memset(shape, 0, sizeof *shape);
    if (fused > LOWRANK_MAX_FUSED) return false;
    const uint64_t launches = (task->steps - 1) / (uint64_t)fused + 1;
    shape->launches = launches < INT32_MAX ? (int)launches : INT32_MAX;
    shape->fused = fused;
    shape->terms = 1;
    shape->growth = 1;
    shape->products = lowrank_products(task, shape->launches);
    shape->vector = stn_task_vector(task);
    shape->extended = stn_task_has_extension(task);
    if (!is_line(task)) {
        shape->even = stn_task_is_symmetric(task, 1) && stn_task_is_symmetric(task, 2);
        return blocks_x(task, shape) <= MAX_BLOCKS_X && blocks_y(task, shape) <= MAX_BLOCKS_Y;
    }
    for (int side = 0; side < 2; side++)
        if (lowrank_reach(task, shape, 2, side) > MAX_REACH_LINE) return false;
    fit_line(task, shape);
    return true;
}

/* Whether bands, columns and sums of mixed terms stay in registers. */
static bool fit_mixed(const stn_task *task, const lowrank_pattern *pattern, lowrank_shape *shape) {
    shape->bands = lowrank_pattern_blocks(pattern);
    shape->sums = lowrank_pattern_sums(pattern, shape->even);
    int held = shape->bands + lowrank_window(task, shape, 1) + 1 + 4 * (blocks_x(task, shape) + 1);
    shape->warps = 4;
    shape->stages = 3;
    shape->blocks = held <= MIXED_THREE_BLOCKS ? 3 : 2;
    return held <= MIXED_TWO_BLOCKS && shape->sums <= MIXED_MAX_SUMS;
}

bool lowrank_fit_terms(const stn_task *task, const stn_machine *machine, const lowrank_pattern *pattern,
                       lowrank_shape *shape) {
    shape->terms = pattern->count;
    /* The weights of all terms must fit the 4 KiB of a launch's arguments. */
    if ((lowrank_stored_window(task, shape, 1) + lowrank_stored_window(task, shape, 2)) * shape->terms >
        LOWRANK_MAX_WEIGHTS)
        return false;
    if (!shape->mixed)
        fit_plane(task, shape);
    else if (task->dtype != STN_F64 || !fit_mixed(task, pattern, shape))
        return false;
    /* Bands and the stages of a march must fit a block's shared memory. */
    const size_t fixed = shape->mixed ? STATIC_SHARED : plane_static_shared(task, shape);
    if (fixed > MAX_STATIC_SHARED || lowrank_shared(task, shape) + fixed > machine->shared_per_block) return false;
    int64_t tiles_y, tiles_x;
    fit_segment(task, machine, shape);
    lowrank_tiles(task, shape, &tiles_y, &tiles_x);
    return task->batch <= INT32_MAX / tiles_y / tiles_x;
}

bool lowrank_holds(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape,
                   const lowrank_pattern *pattern) {
    lowrank_shape wider = *shape;
    bool even = stn_task_is_symmetric(task, 1) && stn_task_is_symmetric(task, 2);
    return (even || !shape->even) && lowrank_fit_terms(task, machine, pattern, &wider);
}

/* The fraction of the tensor cores' rate that a kernel reaches. Single products of f32 and f16
 * leave less time to load the next operands. */
static double tensor_part(const stn_task *task, const lowrank_shape *shape) {
    bool parts = task->dtype != STN_F64;
    if (shape->mixed) return shape->blocks > 2 ? rates.mixed : rates.mixed_few;
    if (is_line(task)) return !parts ? rates.line : shape->products == 1 ? rates.line_once : rates.line_parts;
    bool long_chains = shape->terms == 1 && blocks_x(task, shape) > 5;
    double chains = fmin(rates.chain_most, rates.chain + rates.chain_more * fmax(0, blocks_x(task, shape) - 8));
    double f64 = long_chains ? chains : shape->terms > 2 ? rates.plane_terms : rates.plane;
    if (!parts) return f64;
    return f64 * (shape->products == 1 ? rates.plane_once : rates.plane_parts);
}

/* Seconds of lowrank_plane's instructions in f32. Each of the four schedulers issues the
 * instructions of one of a block's four warps. The tensor cores wait for operands to be split into
 * parts. */
static double f32_seconds(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape, double stages) {
    const double each = 2 * shape->products * products(task, shape) * rates.f32_product + rates.f32_stage +
                        (shape->vector > 1 ? 0 : rates.f32_line * plane_lines(task, shape));
    return stages * each / (machine->multiprocessors * machine->clock);
}

stn_faces_cost lowrank_faces(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape) {
    return shape->extended ? (stn_faces_cost){0, false} : stn_faces_cost_of(task, machine, shape->fused);
}

void lowrank_cost(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape, stn_estimate *e) {
    const stn_faces_cost faces = lowrank_faces(task, machine, shape);
    lowrank_cost_with_faces(task, machine, shape, &faces, e);
}

/* Cycles of a multiprocessor to copy and store a point where rows are not aligned and elements are
 * copied one by one, in 1D and in 2D. In 1D f16 has no asynchronous copy of an element, so a warp
 * waits for each. Fitted to 466 x 78370 in f16 (0.66 ms), 3 x 4228481 in f32 (0.12 ms), 61 x
 * 3269789 in f64 (1.35 ms); in 2D to 4845 x 14201 in f64 (0.66 ms), 5261 x 3253
 * in f16 (0.22 ms). */
static const double element_cycles[2][3] = {{[STN_F64] = 0.7, [STN_F32] = 0.85, [STN_F16] = 3.8},
                                            {[STN_F64] = 2.5, [STN_F16] = 3.3}};
static double element_seconds(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape) {
    const double cycles = element_cycles[!is_line(task)][task->dtype] * (double)stn_task_points(task);
    return shape->vector > 1 ? 0 : cycles / (machine->multiprocessors * machine->clock);
}

/* Fraction of the copy bandwidth. In 2D a stage has 16 points of each row: in f16 these are 32
 * bytes, half of an access to memory but a whole sector of L2. */
static double memory_part(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape, double bytes) {
    const bool halves = task->dtype == STN_F16;
    if (is_line(task)) return halves ? rates.memory : rates.line_memory;
    if (shape->mixed) return rates.mixed_memory;
    return halves && bytes > rates.l2_fraction * (double)machine->l2_bytes ? rates.short_rows_memory : rates.memory;
}

/* Cycles of the march of one block, without the copies of alone_cycles. Its products are done one
 * after another: in 2D all products of a tile depend on each other, in 1D those of several tiles
 * alternate. In f16 a product takes two blocks of 8 points. */
static double march_cycles(const stn_task *task, const lowrank_shape *shape) {
    const double each = is_line(task) || task->dtype == STN_F64 ? rates.product : rates.part * shape->products;
    const double per_tile = products(task, shape) * each / lowrank_step(task->dtype);
    if (!is_line(task))
        return march_stages(task, shape, shape->segment) * (2 * per_tile + rates.step) + rates.plane_start;
    const bool waits = task->dtype == STN_F16 && shape->vector > 1;
    const int tiles = shape->segment / 8;
    return tiles * per_tile + (waits ? rates.half_line_start : rates.line_start);
}

/* Cycles of the march of one block, if no other block computes on the multiprocessor: in 2D,
 * threads then wait for each copy of a single element of f16. */
static double alone_cycles(const stn_task *task, const lowrank_shape *shape) {
    const double march = march_cycles(task, shape);
    if (is_line(task) || task->dtype != STN_F16 || shape->vector > 1) return march;
    const double copies = (double)stn_div_up(plane_lines(task, shape) * 16, 32 * shape->warps);
    return march + march_stages(task, shape, shape->segment) * copies * rates.half_copy;
}

/* Measured seconds in 1D, over those that follow from the rates. */
static const double line_factor[] = {[STN_F64] = 0.95, [STN_F32] = 1.16, [STN_F16] = 1.05};

/* Each launch takes the larger of tensor-core time and memory time, at the fraction of the peak
 * rate that the kernels reach, plus a part of the serial march of one block, which more
 * multiprocessors do not shorten; and at least the time of one block alone. */
void lowrank_cost_with_faces(const stn_task *task, const stn_machine *machine, const lowrank_shape *shape,
                             const stn_faces_cost *faces, stn_estimate *e) {
    const double points = (double)stn_task_points(task), launches = ceil((double)task->steps / shape->fused);
    const double per_tile = products(task, shape);
    const bool line = is_line(task);
    double blocks, tiles;
    if (line) {
        blocks = (double)(task->batch * lowrank_chunks(task, shape));
        const int64_t tiles_of_chunk = chunk_points(shape) / 128;
        tiles = blocks * (double)tiles_of_chunk;
    } else {
        int64_t tiles_y, tiles_x;
        lowrank_tiles(task, shape, &tiles_y, &tiles_x);
        blocks = (double)(task->batch * tiles_y * tiles_x);
        tiles = blocks * march_stages(task, shape, shape->segment) * 2 * shape->warps;
    }
    e->unit = lowrank_unit(task->dtype);
    e->launches = launches;
    e->bytes = 2 * (double)stn_dtype_size(task->dtype) * points * launches;
    e->flops = 2048 * per_tile * shape->products * tiles * launches;
    e->halo_waste = tiles * 128 / points - 1;
    const double bytes = e->bytes / launches, elements = element_seconds(task, machine, shape);
    double memory = bytes / (memory_part(task, machine, shape, bytes) * machine->copy_bandwidth);
    double arithmetic = !line && task->dtype == STN_F32
                            ? f32_seconds(task, machine, shape, tiles / (2 * shape->warps))
                            : e->flops / launches / (tensor_part(task, shape) * machine->flops[e->unit]);
    memory = line ? memory + elements : fmax(memory, elements);
    /* In f16 the copies of elements take issue slots from the products. */
    if (!line && task->dtype == STN_F16) arithmetic = hypot(arithmetic, elements);
    const double longer = shape->mixed ? stn_cost_overlapped(memory, arithmetic) : fmax(memory, arithmetic);
    const double march = march_cycles(task, shape) / machine->clock;
    const double launch = fmax(longer + rates.march * march, alone_cycles(task, shape) / machine->clock);
    const double waves = blocks / ((double)machine->multiprocessors * shape->blocks);
    e->seconds = launches * (machine->launch_seconds + stn_faces_after(faces, machine, launch, waves)) *
                 (line ? line_factor[task->dtype] : 1);
}

const char *lowrank_kernel_name(const stn_task *task, const lowrank_shape *shape) {
    return is_line(task) ? "lowrank_line" : shape->mixed ? "lowrank_mixed" : "lowrank_plane";
}

static void side_params(const stn_task *task, int axis, stn_text *params) {
    stn_params_int(params, axis == 2 ? "X_SIDE_LOW" : "Y_SIDE_LOW", task->boundary[axis][0].kind);
    stn_params_int(params, axis == 2 ? "X_SIDE_HIGH" : "Y_SIDE_HIGH", task->boundary[axis][1].kind);
}

static void term_params(const lowrank_pattern *pattern, stn_text *params) {
    static const char *const names[2][2] = {{"TERM_Y_LOW", "TERM_Y_HIGH"}, {"TERM_X_LOW", "TERM_X_HIGH"}};
    for (int axis = 0; axis < 2; axis++)
        for (int side = 0; side < 2; side++) {
            int reach[LOWRANK_MAX_TERMS];
            for (int q = 0; q < pattern->count; q++) reach[q] = (axis ? pattern->term[q].x : pattern->term[q].y)[side];
            stn_params_ints(params, names[axis][side], reach, (size_t)pattern->count);
        }
    int unit[LOWRANK_MAX_TERMS];
    for (int q = 0; q < pattern->count; q++) unit[q] = lowrank_pattern_unit(&pattern->term[q]);
    stn_params_ints(params, "TERM_UNIT", unit, (size_t)pattern->count);
}

void lowrank_params(const stn_task *task, const lowrank_shape *shape, const lowrank_pattern *pattern,
                    stn_text *params) {
    stn_params_begin_for(params, task->dtype);
    stn_params_int(params, "DATA_PARTS", lowrank_data_parts(shape->products));
    stn_params_int(params, "BAND_PARTS", lowrank_band_parts(shape->products));
    stn_params_int(params, "X_LOW", lowrank_reach(task, shape, 2, 0));
    stn_params_int(params, "X_HIGH", lowrank_reach(task, shape, 2, 1));
    side_params(task, 2, params);
    stn_params_int(params, "VECTOR", shape->vector);
    stn_params_int(params, "WARPS", shape->warps);
    stn_params_int(params, "STAGES", shape->stages);
    stn_params_int(params, "BLOCKS", shape->blocks);
    if (is_line(task)) {
        stn_params_int(params, "SEGMENT", shape->segment);
        stn_params_int(params, "PAIRED", line_blocks_out(task) - 1);
        return;
    }
    stn_params_int(params, "Y_LOW", lowrank_reach(task, shape, 1, 0));
    stn_params_int(params, "Y_HIGH", lowrank_reach(task, shape, 1, 1));
    side_params(task, 1, params);
    stn_params_int(params, "TERMS", shape->terms);
    if (shape->mixed)
        term_params(pattern, params);
    else
        stn_params_int(params, "HELD", shape->held);
    stn_params_int(params, "EVEN", shape->even);
}
