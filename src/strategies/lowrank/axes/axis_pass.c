/* Shape, cost, parameters and arguments of the kernel lowrank_axis. */
#include "strategies/lowrank/axes/axis_pass.h"

#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "plan/error_bound.h"
#include "render/render.h"
#include "strategies/common/overlap_cost.h"
#include "strategies/common/rounding_on_few_points.h"
#include "strategies/lowrank/lowrank_types.h"

#define MAX_BLOCKS 4       /* resident on a multiprocessor */
#define STATIC_SHARED 4096 /* maximum size in bytes */
#define OTHER_REGISTERS 75 /* registers of a lane besides its sums and its band, as compiled */

/* Fractions of the copy bandwidth and of the tensor cores' rate that passes reach. A warp reads 16
 * points of a row at once: 128, 64 or 32 bytes. */
static const double of_memory[] = {[STN_F64] = 0.8, [STN_F32] = 0.6, [STN_F16] = 0.41};
static const double of_tensor[] = {[STN_F64] = 0.53, [STN_F32] = 0.38, [STN_F16] = 0.55};

static bool reaches(const stn_task *task, int axis) { return task->reach[axis][0] || task->reach[axis][1]; }

static int lead(const stn_task *task, int axis) {
    int low = task->reach[axis][0];
    return axis == 2 ? (int)stn_round_up(low, stn_max(4, lowrank_slot(task->dtype))) : low;
}

/* Decides whether the band stays in registers. f64 reads its band again for every product, unless
 * the band is short: a product of f64 takes as long as four of other types, which hides the read.
 */
static void fit_registers(const stn_task *task, lowrank_pass *p) {
    int words = task->dtype == STN_F64 ? 2 : 1, sums = 4 * words * (p->input_blocks + 1);
    int pair = task->dtype == STN_F64 ? 4 : task->dtype == STN_F32 ? 2 : 1;
    int band = pair * lowrank_band_parts(p->products) * p->input_blocks;
    p->band_in_registers = task->dtype != STN_F64 || p->input_blocks <= 5;
    int64_t registers = stn_round_up(sums + (p->band_in_registers ? band : 0) + OTHER_REGISTERS, 8);
    int64_t blocks = 65536 / (32 * LOWRANK_PASS_WARPS * stn_min(registers, 255));
    p->blocks = (int)stn_max(2, stn_min(blocks, MAX_BLOCKS));
}

static int64_t march_stages(const lowrank_pass *p, int64_t outputs) {
    return (stn_div_up(outputs, 8) + p->input_blocks) / 2;
}

/* Short segments re-read their lead often; long ones leave multiprocessors idle at the end. */
static void fit_segments(const stn_task *task, const stn_machine *machine, lowrank_pass *p) {
    double best = INFINITY, slots = (double)machine->multiprocessors * p->blocks * LOWRANK_PASS_WARPS;
    double lines = (double)p->strips * (double)task->n[p->other] * (double)task->batch;
    for (int64_t count = 1; count <= 256; count++) {
        int64_t segment = stn_round_up(stn_div_up(task->n[p->axis], count), 16);
        int64_t segments = stn_div_up(task->n[p->axis], segment);
        double cost = ceil(lines * (double)segments / slots) * (double)(march_stages(p, segment) + 4);
        if (cost >= best) continue;
        best = cost;
        p->segment = segment, p->segments = segments;
    }
}

static bool any_frozen(const stn_task *task) {
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            if (task->boundary[axis][side].kind == STN_FIXED && task->reach[axis][side]) return true;
    return false;
}

static bool fit_pass(const stn_task *task, const stn_machine *machine, int axis, lowrank_pass *p) {
    *p = (lowrank_pass){.axis = axis, .across = axis == 2 ? 1 : 2, .other = axis == 0 ? 1 : 0};
    p->products = lowrank_products(task, (int)stn_min((int64_t)task->steps, INT32_MAX));
    p->vector = stn_task_vector(task);
    p->input_blocks = (int)stn_div_up(8 + lead(task, axis) + task->reach[axis][1], 8);
    p->stages = task->dtype == STN_F64 ? 4 : task->dtype == STN_F32 ? 6 : 8;
    p->strips = stn_div_up(task->n[p->across], 16);
    int pitch = axis == 2 ? 24 : 16 + lowrank_slot(task->dtype);
    p->shared = (size_t)(LOWRANK_PASS_WARPS * p->stages * 16 * pitch) * stn_dtype_size(task->dtype);
    fit_registers(task, p);
    fit_segments(task, machine, p);
    double all_segments = (double)p->strips * (double)p->segments * (double)task->n[p->other] * (double)task->batch;
    p->all_segments = (int64_t)all_segments;
    return p->all_segments / LOWRANK_PASS_WARPS < INT32_MAX && p->shared + STATIC_SHARED <= machine->shared_per_block;
}

int lowrank_passes(const stn_task *task, const stn_machine *machine, lowrank_pass passes[3]) {
    int count = 0;
    for (int axis = 2; axis >= 0; axis--) {
        /* A single tap at the centre: one pass with one weight. */
        bool none = axis == 0 && !count && !reaches(task, axis);
        if (!reaches(task, axis) && !none) continue;
        if (!fit_pass(task, machine, none ? 2 : axis, &passes[count++])) return 0;
    }
    passes[count - 1].frozen = any_frozen(task);
    return count;
}

/* f16: the error that rounding to 11 bits between passes adds to one step. If the weights of later
 * factors cancel, they damp smooth data more than rounding errors, by the ratio of the root of
 * their sum of squares to their sum. */
static double cancelled(const stn_task *task) {
    lowrank_factors factors;
    double sum = 1, square = 1, more = 0;
    if (task->dtype != STN_F16 || !lowrank_factors_make(task, &factors)) return 0;
    for (int axis = 0; axis < 2; axis++) { /* the last pass, then the last two together */
        double own_sum = 0, own_square = 0;
        for (int i = 0; i <= task->reach[axis][0] + task->reach[axis][1]; i++) {
            const double weight = factors.weight[axis][i];
            own_sum += weight, own_square += weight * weight;
        }
        sum *= own_sum, square *= own_square;
        if (reaches(task, axis) && (reaches(task, 2) || (axis == 0 && reaches(task, 1))))
            more += fmax(0, square / fmax(sum * sum, square * 0x1p-20) - 1);
    }
    return stn_error_rounding(STN_F16) * sqrt(more);
}

/* Each launch takes the larger of tensor-core time and memory time, at the fraction of the peak
 * rate that the kernel reaches, plus the serial march of one warp, which more multiprocessors do
 * not shorten. */
void lowrank_passes_cost(const stn_task *task, const stn_machine *machine, stn_estimate *e) {
    lowrank_pass passes[3];
    int count = lowrank_passes(task, machine, passes);
    double clock = machine->flops[STN_UNIT_FMA_F32] / (256.0 * machine->multiprocessors);
    double points = (double)stn_task_points(task), steps = (double)task->steps, seconds = 0, needed = 0, done = 0;
    e->unit = lowrank_unit(task->dtype);
    e->launches = steps * count;
    e->bytes = 2 * (double)stn_dtype_size(task->dtype) * points * e->launches;
    for (int i = 0; i < count; i++) {
        const lowrank_pass *p = &passes[i];
        double march = (double)march_stages(p, stn_min(p->segment, task->n[p->axis]));
        /* Half of each band is zero. */
        double flops =
            2048.0 * p->input_blocks * p->products * 2 * (march - p->input_blocks / 4.0) * (double)p->all_segments;
        const double bandwidth = of_memory[task->dtype] * machine->copy_bandwidth;
        double memory = fmax(e->bytes / e->launches / bandwidth, stn_cost_scalar_access(task, machine));
        double arithmetic = flops / (of_tensor[task->dtype] * machine->flops[e->unit]);
        double alone =
            (march * (2 * p->input_blocks * p->products * (task->dtype == STN_F64 ? 32 : 10) + 200) + 8000) / clock;
        seconds += fmax(fmax(memory, arithmetic), alone) + machine->launch_seconds;
        e->flops += flops * steps;
        needed += 2048.0 * p->input_blocks * p->products * points / 128;
        done += flops;
    }
    e->halo_waste = done / needed - 1;
    e->error = hypot(lowrank_error(task, passes[0].products, e->launches, 1, LOWRANK_SYSTEMATIC_ERROR),
                     cancelled(task) * sqrt(stn_rounding_accumulated(task, steps, 1 + log2(steps))));
    e->seconds = steps * seconds;
}

/* ---- parameters and arguments */

void lowrank_pass_params(const stn_task *task, const lowrank_pass *p, stn_text *params) {
    const int *reach = task->reach[p->axis];
    const stn_boundary *sides = task->boundary[p->axis];
    stn_params_begin_for(params, task->dtype);
    stn_params_int(params, "DATA_PARTS", lowrank_data_parts(p->products));
    stn_params_int(params, "BAND_PARTS", lowrank_band_parts(p->products));
    stn_params_int(params, "AXIS_LOW", reach[0]);
    stn_params_int(params, "AXIS_HIGH", reach[1]);
    stn_params_int(params, "AXIS_SIDE_LOW", (int)sides[0].kind);
    stn_params_int(params, "AXIS_SIDE_HIGH", (int)sides[1].kind);
    stn_params_int(params, "ALONG_X", p->axis == 2);
    stn_params_int(params, "FROZEN", p->frozen);
    stn_params_int(params, "VECTOR", p->vector);
    stn_params_int(params, "WARPS", LOWRANK_PASS_WARPS);
    stn_params_int(params, "STAGES", p->stages);
    stn_params_int(params, "BLOCKS", p->blocks);
    stn_params_int(params, "HELD", p->band_in_registers);
}

void lowrank_pass_values(const stn_task *task, const lowrank_pass *p, const lowrank_factors *factors, double gain,
                         unsigned char values[LOWRANK_PASS_VALUES]) {
    unsigned char *to = values;
    int count = task->reach[p->axis][0] + task->reach[p->axis][1] + 1;
    double weight[LOWRANK_FACTOR];
    memset(values, 0, LOWRANK_PASS_VALUES);
    memcpy(weight, factors->weight[p->axis], sizeof weight);
    for (int side = 0; side < 2; side++) {
        bool constant = task->boundary[p->axis][side].kind == STN_CONSTANT;
        to += stn_put_real(task->dtype, constant ? gain * stn_task_constant_value(task, p->axis, side) : 0, to);
    }
    if (task->dtype == STN_F32)
        lowrank_round(p->products == 3 ? 24 : 11 * lowrank_band_parts(p->products), 1, weight, count, false);
    lowrank_pack(task->dtype, true, weight, count, 0, to);
}

int64_t lowrank_pass_words(const stn_task *task, const lowrank_pass *p, lowrank_grid in, lowrank_grid out,
                           lowrank_grid origin, int64_t words[LOWRANK_PASS_WORDS]) {
    const int axes[3] = {p->axis, p->across, p->other};
    const lowrank_grid grids[3] = {in, out, origin};
    for (int i = 0; i < 3; i++) {
        words[i] = (int64_t)(intptr_t)grids[i].data;
        words[3 + i] = task->n[axes[i]];
        for (int axis = 0; axis < 3; axis++) words[6 + 3 * i + axis] = grids[i].at->stride[axes[axis]];
        words[15 + i] = grids[i].at->batch;
        stn_task_updated_range(task, axes[i], &words[18 + i], &words[21 + i]);
    }
    words[24] = p->segment, words[25] = p->segments, words[26] = p->strips, words[27] = p->all_segments;
    return stn_div_up(p->all_segments, LOWRANK_PASS_WARPS);
}
