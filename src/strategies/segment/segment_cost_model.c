/* Cost model of a candidate: time, traffic and predicted error. See segment_shape.h. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "plan/error_bound.h"
#include "strategies/faces/margins.h"
#include "strategies/segment/fft_tile.h"

#define FLOPS 154          /* Operations for each point of a pair of segments. */
#define FLOPS_SHORTEST 109 /* The same for 256 points, which need two FFT stages fewer; counted. */
/* Further operations for each point of a single segment packed as complex numbers, and of a segment
 * that two teams of threads share. */
#define FLOPS_SINGLE 6
#define FLOPS_TEAMS 20

/* Fitted fractions of the peak rate for segments of 256 (not measured), 512, 1024, 2048, 4096, 8192
 * and 16384 points along x and for columns, and fractions of the copy bandwidth. Short segments
 * have more blocks per multiprocessor. */
static const struct {
    stn_unit unit;
    double line[7], columns[5], line_memory, column_memory;
} rates[] = {
    [STN_F64] = {STN_UNIT_FMA_F64, {0.68, 0.73, 0.68, 0.59, 0.43, 0.45, 0.45}, {0, 0.64, 0.57, 0.55, 0.40}, 0.92, 0.62},
    [STN_F32] =
        {STN_UNIT_FMA_F32, {0.50, 0.58, 0.54, 0.51, 0.485, 0.44, 0.40}, {0, 0.35, 0.35, 0.36, 0.27}, 0.90, 0.48},
    [STN_F16] =
        {STN_UNIT_FMA_F32, {0.50, 0.58, 0.54, 0.51, 0.485, 0.48, 0.42}, {0, 0.35, 0.35, 0.36, 0.27}, 0.83, 0.43},
};
/* Relative slowdown, estimated. SLOW_LINE, SLOW_COLUMN: of pairs of segments along x, and of tiles
 * of columns, that reach past a side: each index is folded, by about five instructions.
 * SLOW_COSINES: of a whole line mirrored at both ends, which takes 64 shuffles and as many
 * multiply-adds in addition to the 1232 instructions of a thread, and a table of twice the size. */
#define SLOW_LINE 0.15
#define SLOW_COLUMN 0.05
#define SLOW_COSINES 0.15
/* Fractions of the tensor cores' peak rate, by type and by fragment shape or number of parts
 * (dense_dft.h). f16 by tf32 as f32. */
static const double dense_rates[][3] = {
    [STN_F64] = {0.48, 0.46, 0.32}, [STN_F32] = {0.3, 0.3, 0.3}, [STN_F16] = {0.3, 0.11, 0.17}};
/* Latency of one block, in seconds, for 256 to 16384 points along x. It is the time of a pass whose
 * blocks all run at once. 16384 points in f64 are extrapolated. */
static const double latencies[][7] = {[STN_F64] = {4.6e-6, 5e-6, 5e-6, 5.5e-6, 8e-6, 11.5e-6, 18e-6},
                                      [STN_F32] = {2.9e-6, 3e-6, 3.5e-6, 3.6e-6, 5.3e-6, 6.6e-6, 11e-6},
                                      [STN_F16] = {2.9e-6, 3e-6, 3.5e-6, 3.6e-6, 5.3e-6, 6.6e-6, 11e-6}};
/* Part of the shorter of compute and memory time that does not overlap with the other: few blocks
 * of columns fit on a multiprocessor. */
#define NOT_OVERLAPPED 0.02
#define COLUMNS_NOT_OVERLAPPED 0.3
#define SECTOR 32 /* bytes of a memory transaction */
/* Rate factor of rows of less than 64 bytes. In f64 it applies to long columns only. */
#define NARROW 0.88
#define NARROWEST 0.6 /* Rate factor of tiles of 4 columns. */

stn_unit segment_unit(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    return pass->first < 0 ? segment_dense_unit(task->dtype, shape->fragment) : rates[task->dtype].unit;
}

static bool along_x(const segment_pass *pass) { return pass->axis == 2; }

/* Fraction of a line's segments that read inputs past its sides. */
static double part_at_sides(int64_t n, const segment_pass *pass) {
    const int64_t length = segment_points(pass->first), segments = stn_div_up(n, pass->useful);
    const int64_t from = stn_div_up(pass->lead, pass->useful), space = n - length + pass->lead;
    const int64_t inside = space < 0 ? 0 : stn_min(segments, space / pass->useful + 1) - from;
    return 1 - (double)stn_max(0, inside) / (double)segments;
}

static int size_index(int first) {
    int index = 0;
    while (first >= 2 << index) index++;
    return index;
}

static double part_of_narrow(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    if (task->dtype == STN_F64) return shape->pairs < 4 && pass->first >= 8 ? NARROW : 1;
    return shape->pairs < 4 ? NARROWEST : shape->pairs < 8 ? NARROW : 1;
}

/* Fraction of the peak rate. Segments form pairs: the last segment of a line may be paired with the
 * first one of the next line. */
static double part_of_rate(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    const double sides = part_at_sides(task->n[pass->axis], pass);
    const int size = size_index(pass->first);
    if (pass->first < 0) return dense_rates[task->dtype][shape->fragment] / (1 + SLOW_LINE * sides);
    if (pass->cosines)
        return (along_x(pass) ? rates[task->dtype].line[size]
                              : rates[task->dtype].columns[size] * part_of_narrow(task, shape, pass)) /
               (1 + SLOW_COSINES);
    if (along_x(pass)) {
        const bool odd = stn_div_up(task->n[2], pass->useful) % 2;
        return rates[task->dtype].line[size] / (1 + SLOW_LINE * fmin(1, (odd ? 1.5 : 2) * sides));
    }
    return rates[task->dtype].columns[size] * part_of_narrow(task, shape, pass) / (1 + SLOW_COLUMN * sides);
}

static double flops_of_pair(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    const int more = pass->first > 32 ? FLOPS_TEAMS : segment_is_single(pass->first) ? FLOPS_SINGLE : 0;
    const segment_factors *f = segment_factors_of(pass->first);
    return f ? segment_dense_flops(f, false) * segment_dense_parts(task->dtype, shape->fragment)
             : (pass->first == 1 ? FLOPS_SHORTEST : FLOPS + more) * 256.0 * (double)stn_min(pass->first, 16);
}

/* Seconds of whole waves of blocks, but at least the latency of one block. all: without waves. */
static double compute_seconds(const stn_task *task, const segment_pass *pass, double all, double waves) {
    if (waves < 1 && pass->first > 0 && along_x(pass))
        return fmax(all, latencies[task->dtype][size_index(pass->first)]);
    return all * ceil(waves) / waves;
}

/* Sectors that tiles of columns touch, divided by those that their bytes fill: rows that do not
 * begin at sectors split one more. */
static double split_sectors(const stn_task *task, const segment_shape *shape, const segment_pass *pass) {
    const double size = (double)stn_dtype_size(task->dtype), columns = 2 * (double)segment_pairs(shape, pass);
    if (along_x(pass) || task->in_stride[1] * (int64_t)stn_dtype_size(task->dtype) % SECTOR == 0) return 1;
    return 1 + (SECTOR - size) / (columns * size);
}

double segment_seconds(const stn_task *task, const stn_machine *machine, const segment_shape *shape,
                       const segment_pass *pass, double *flops) {
    const double work_items = (double)segment_work_items(task, shape, pass), pairs = segment_pairs(shape, pass);
    const double resident = (double)machine->multiprocessors * segment_blocks(task, shape, pass);
    const double rate = part_of_rate(task, shape, pass) * machine->flops[segment_unit(task, shape, pass)];
    const double memory = along_x(pass) ? rates[task->dtype].line_memory : rates[task->dtype].column_memory;
    *flops = flops_of_pair(task, shape, pass) * work_items * pairs;
    const double bytes = 2 * (double)stn_dtype_size(task->dtype) * (double)stn_task_points(task);
    const double compute = compute_seconds(task, pass, *flops / rate, work_items / resident),
                 move = bytes * split_sectors(task, shape, pass) / (memory * machine->copy_bandwidth);
    const double exposed = along_x(pass) ? NOT_OVERLAPPED : COLUMNS_NOT_OVERLAPPED;
    return fmax(compute, move) + exposed * fmin(compute, move) + machine->launch_seconds;
}

/* Where values hardly vary, such as near a constant side, they are rounded in the same direction at
 * each step. These errors add up in the margins, which are computed by single steps. */
static double margins_error(const stn_task *task, const segment_pass *pass) {
    const double rounding = stn_error_rounding(task->dtype == STN_F64 ? STN_F64 : STN_F32);
    const double part = fmin(1, pass->reach / (double)task->n[pass->axis]);
    return (double)task->steps * sqrt((double)task->ntaps / 3 * part) * rounding;
}

/* Relative L2 error for random values, of either sign or of one sign; an upper bound of the errors
 * measured in tests/strategies/test_errors.c. A transform rounds relative to its input, evenly over
 * all frequencies; the symbol damps that noise as it damps the data, and the inverse rounds
 * relative to its output. So the error depends neither on the number of steps nor on smoothing, and
 * each pass adds an error. The errors of the rounded symbol and of the neglected weights are the
 * same in all launches; the effect of neglected weights is a few times their part of the weights'
 * sum. */
#define ROUNDINGS_F64 14 /* Roundings of a pass: powers of twiddles are computed by squaring. */
#define ROUNDINGS_F32 7  /* Powers of twiddles are read from a table. */
static double predicted_error(const stn_task *task, const segment_shape *shape) {
    const stn_dtype arithmetic = task->dtype == STN_F64 ? STN_F64 : STN_F32;
    const double rounding = stn_error_rounding(arithmetic), passes = shape->passes;
    const bool dense = shape->pass[0].first < 0;
    const double fft_rounding = (arithmetic == STN_F64 ? ROUNDINGS_F64 : ROUNDINGS_F32) * rounding;
    const double random =
        dense ? segment_dense_rounding(task, shape->fragment) : fft_rounding * stn_error_cancellation(task);
    const double stored = task->dtype == STN_F16 ? stn_error_rounding(STN_F16) : 0;
    double systematic = dense ? segment_dense_systematic(task->dtype, shape->fragment) : passes * rounding;
    for (int i = 0; i < shape->passes; i++)
        if (segment_neglects_weights(task, shape, &shape->pass[i]))
            systematic += SEGMENT_NEGLECTED_ERROR * segment_tail(arithmetic);
    const double own = stn_error_accumulated(systematic, hypot(random, stored) * sqrt(passes), shape->launches);
    return shape->margins ? hypot(own, margins_error(task, &shape->pass[0])) : own;
}

/* Adds the cost of the terms of fixed and constant sides: for each side, convolutions of pairs of
 * depths, in the segments of the pass along the side. */
static void add_sources(const stn_task *task, const stn_machine *machine, const segment_shape *shape, stn_estimate *e) {
    const double launches = shape->launches;
    int odd = 0;
    for (int k = 0; k < 2; k++) {
        const segment_pass *across = &shape->pass[1 - k], *along = &shape->pass[k];
        const double depths = fmin((double)task->n[across->axis], across->reach / 2.0);
        for (int side = 0; side < 2; side++) {
            const stn_boundary_kind kind = task->boundary[across->axis][side].kind;
            if (kind != STN_CONSTANT && kind != STN_FIXED) continue;
            const double work_items =
                (double)task->batch * ceil((double)task->n[along->axis] / along->useful) * depths / 2;
            const double flops = launches * FLOPS * work_items * 256 * along->first;
            const double rate = rates[task->dtype].line[size_index(along->first)] * machine->flops[e->unit];
            e->flops += flops, e->seconds += flops / rate;
            odd++;
        }
    }
    e->launches += launches * (odd + 2), e->seconds += launches * (odd + 2) * machine->launch_seconds;
}

void segment_cost(const stn_task *task, const stn_machine *machine, const segment_shape *shape, stn_estimate *e) {
    const double points = (double)stn_task_points(task), launches = shape->launches;
    memset(e, 0, sizeof *e);
    if (shape->tile) {
        segment_fft_tile_cost(task, machine, shape, e);
        return;
    }
    e->unit = segment_unit(task, shape, &shape->pass[0]);
    double value, drift = 0;
    if (!segment_only_along_x(task)) (void)segment_one_value(task, &value, &drift);
    e->error = predicted_error(task, shape) + drift, e->stepping = shape->margins;
    e->launches = launches * shape->passes;
    e->bytes = 2 * (double)stn_dtype_size(task->dtype) * points * e->launches;
    for (int i = 0; i < shape->passes; i++) {
        const segment_pass *pass = &shape->pass[i];
        double flops;
        e->seconds += launches * segment_seconds(task, machine, shape, pass, &flops);
        e->flops += launches * flops;
        const double segments = ceil((double)task->n[pass->axis] / pass->useful);
        e->halo_waste += (segments * segment_points(pass->first) / (double)task->n[pass->axis] - 1) / shape->passes;
    }
    if (shape->sources) add_sources(task, machine, shape, e);
    if (shape->margins) e->seconds += launches * stn_faces_seconds(task, machine, shape->fused);
}
