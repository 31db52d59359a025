/* Strategy normalized: one step of a normalized convolution (stn_normalized) on a GPU. Points are
 * numbers of any type, or pairs of a weighted sum and its share of the weights. Separable weights
 * take one such step along each axis. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "render/render.h"
#include "strategies/table.h"

enum { THREADS = 256, MAX_BLOCKS = 1 << 20, LANES = 32, WARPS = 8, ROWS = 16, MIN_COLUMNS = 8 };
enum { MAX_VALUES = 6 + 2 * STN_MAX_RADIUS }; /* numbers of the dtype in the arguments */

/* Cost of a tap in normalized_point, relative to its two products. */
#define TAP_COST 6.0

/* The arguments before the numbers of the dtype, the same as in normalized_axis.cu and
 * normalized_point.cu. */
typedef struct axis_header {
    const void *in;
    void *out;
    int64_t n[3], in_stride[3], out_stride[3], in_batch, out_batch, lines, tiles;
} axis_header;
typedef struct point_header {
    const void *in;
    void *out;
    const void *taps;
    int64_t n[3], in_stride[3], out_stride[3], in_batch, out_batch, points, ntaps;
    int32_t reach[3][2], side[3][2];
} point_header;
typedef struct point_tap {
    int64_t offset;
    unsigned char weight[sizeof(double)]; /* a number of the dtype */
    int32_t z, y, x, unused;
} point_tap;

typedef enum normalized_kernel { NORMALIZED_POINT, NORMALIZED_AXIS } normalized_kernel;
static const char *const kernel_names[] = {"normalized_point", "normalized_axis"}; /* by kernel */

typedef struct normalized_state {
    normalized_kernel kernel_kind;
    stn_kernel *kernel;
    stn_launch launch;
    void *taps; /* of normalized_point, in device memory */
    union {     /* both begin with in and out */
        axis_header axis;
        point_header point;
        unsigned char bytes[sizeof(point_header) + MAX_VALUES * sizeof(double)];
    } arguments;
} normalized_state;

/* ---- choosing -------------------------------------------------------------------------------- */

static double total_of(const stn_task *task) {
    double total = 0;
    for (size_t k = 0; k < task->ntaps; k++) total += task->taps[k].weight;
    return total;
}

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    (void)task;
    return stn_has_gpu(machine, reason, reason_size);
}

/* Returns the only axis along which taps have offsets, if each offset within the reach has a tap;
 * otherwise -1. */
static int axis_of(const stn_task *task) {
    int found = 2, count = 0;
    for (int axis = 0; axis < 3; axis++)
        if (task->reach[axis][0] || task->reach[axis][1]) found = axis, count++;
    return count <= 1 && task->ntaps == (size_t)(task->reach[found][0] + 1 + task->reach[found][1]) ? found : -1;
}

static int halo_of(const stn_task *task, int axis) { return task->reach[axis][0] + task->reach[axis][1]; }

static size_t shared_of(const stn_task *task, int axis) {
    const size_t pair = 2 * stn_dtype_size(task->dtype), halo = (size_t)halo_of(task, axis);
    const size_t row = (size_t)LANES * ROWS + halo;
    return pair * (axis == 2 ? WARPS * (row + row / ROWS) : (WARPS * ROWS + halo) * LANES);
}

static int64_t blocks_of(const stn_task *task, int axis) {
    const int64_t across = task->batch * (axis ? task->n[0] : task->n[1]);
    return axis == 2 ? stn_div_up(task->batch * task->n[0] * task->n[1], WARPS) * stn_div_up(task->n[2], LANES * ROWS)
                     : across * stn_div_up(task->n[axis], WARPS * ROWS) * stn_div_up(task->n[2], LANES);
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    const int axis = axis_of(task);
    size_t count = 0;
    if (axis >= 0 && (axis == 2 || task->n[2] >= MIN_COLUMNS) && blocks_of(task, axis) <= INT32_MAX &&
        shared_of(task, axis) <= machine->shared_per_block && count < most)
        list[count++] = (stn_candidate){{NORMALIZED_AXIS}};
    if (count < most) list[count++] = (stn_candidate){{NORMALIZED_POINT}};
    return count;
}

static size_t bytes_of(const stn_task *task, bool of_output) {
    const unsigned pairs = of_output ? STN_NORMALIZED_PAIRS_OUT : STN_NORMALIZED_PAIRS_IN;
    return stn_element_size(stn_task_element(task, of_output)) * (task->normalized & pairs ? 2 : 1);
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    const double points = (double)stn_task_points(task), cost = candidate->values[0] == NORMALIZED_AXIS ? 1 : TAP_COST;
    *result = (stn_estimate){.launches = 1, .stepping = true};
    result->unit = task->dtype == STN_F64 ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32;
    result->bytes = points * (double)(bytes_of(task, false) + bytes_of(task, true));
    result->flops = 4 * points * (double)task->ntaps * cost;
    result->seconds = stn_estimate_seconds(result, machine);
    result->flops = 4 * points * (double)task->ntaps; /* reported: only products and sums */
    result->error = stn_error_stepping(task);
}

/* ---- preparing ------------------------------------------------------------------------------- */

/* Appends the value past a side and its share 1, or 0 and 0 if the value is NaN (missing); returns
 * the bytes. */
static size_t put_past(const stn_task *task, int axis, int side, unsigned char *to) {
    const double value = stn_task_constant_value(task, axis, side);
    const size_t size = stn_put_real(task->dtype, isnan(value) ? 0 : value, to);
    return size + stn_put_real(task->dtype, !isnan(value), to + size);
}

static void fill_axis(const stn_task *task, int axis, normalized_state *state) {
    axis_header *h = &state->arguments.axis;
    unsigned char *to = state->arguments.bytes + sizeof *h;
    const int order[3] = {axis == 0, axis != 0, 2}; /* the axis goes second, x stays last */
    for (int i = 0; i < 3; i++) {
        h->n[i] = task->n[order[i]];
        h->in_stride[i] = task->in_stride[order[i]], h->out_stride[i] = task->out_stride[order[i]];
    }
    h->in_batch = task->in_batch_stride, h->out_batch = task->out_batch_stride;
    h->lines = task->batch * task->n[0] * task->n[1];
    h->tiles = stn_div_up(task->n[axis], (axis == 2 ? LANES : WARPS) * ROWS);
    for (int side = 0; side < 2; side++) to += put_past(task, axis, side, to);
    to += stn_put_real(task->dtype, 1 / total_of(task), to);
    for (size_t k = 0; k < task->ntaps; k++) to += stn_put_real(task->dtype, task->taps[k].weight, to);
    state->launch.grid[0] = (unsigned)blocks_of(task, axis);
    state->launch.block[0] = WARPS * LANES;
    state->launch.shared = shared_of(task, axis);
}

static void fill_point(const stn_task *task, normalized_state *state) {
    point_header *h = &state->arguments.point;
    unsigned char *to = state->arguments.bytes + sizeof *h;
    h->points = stn_task_points(task), h->ntaps = (int64_t)task->ntaps, h->taps = state->taps;
    h->in_batch = task->in_batch_stride, h->out_batch = task->out_batch_stride;
    for (int axis = 0; axis < 3; axis++) {
        h->n[axis] = task->n[axis];
        h->in_stride[axis] = task->in_stride[axis], h->out_stride[axis] = task->out_stride[axis];
        for (int side = 0; side < 2; side++) {
            h->reach[axis][side] = task->reach[axis][side];
            h->side[axis][side] = (int32_t)task->boundary[axis][side].kind;
            to += put_past(task, axis, side, to);
        }
    }
    stn_put_real(task->dtype, 1 / total_of(task), to);
    state->launch.grid[0] = (unsigned)stn_min(stn_div_up(h->points, THREADS), MAX_BLOCKS);
    state->launch.block[0] = THREADS;
}

static stn_status upload_taps(stn_plan *plan, stn_error *error) {
    normalized_state *state = plan->state;
    const stn_task *task = &plan->task;
    const size_t size = task->ntaps * sizeof(point_tap);
    if (!plan->machine.present) return STN_OK;
    point_tap *table = calloc(task->ntaps, sizeof *table);
    if (!table) return stn_fail_memory(error, "the table of taps", size);
    for (size_t k = 0; k < task->ntaps; k++) {
        const int64_t *o = task->taps[k].offset, *stride = task->in_stride;
        table[k] = (point_tap){.offset = o[0] * stride[0] + o[1] * stride[1] + o[2] * stride[2],
                               .z = (int32_t)o[0],
                               .y = (int32_t)o[1],
                               .x = (int32_t)o[2]};
        stn_put_real(task->dtype, task->taps[k].weight, table[k].weight);
    }
    const stn_status status = stn_device_replace(plan->context->device, &state->taps, size, table, size, error);
    free(table);
    return status;
}

static stn_status set_weights(stn_plan *plan, stn_error *error) {
    normalized_state *state = plan->state;
    if (state->kernel_kind == NORMALIZED_POINT) STN_TRY(upload_taps(plan, error));
    if (state->kernel_kind == NORMALIZED_POINT)
        fill_point(&plan->task, state);
    else
        fill_axis(&plan->task, axis_of(&plan->task), state);
    return STN_OK;
}

static void put_array(stn_text *params, const char *name, const stn_task *task, bool of_output) {
    if (task->normalized & (of_output ? STN_NORMALIZED_PAIRS_OUT : STN_NORMALIZED_PAIRS_IN))
        stn_params_type(params, name, "struct normalized_pair");
    else
        stn_params_element(params, name, stn_task_element(task, of_output));
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    normalized_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    const stn_task *task = &plan->task;
    state->kernel_kind = (normalized_kernel)plan->candidate.values[0];
    for (int i = 0; i < 3; i++) state->launch.grid[i] = state->launch.block[i] = 1;
    STN_TRY(set_weights(plan, error));
    stn_text params = STN_TEXT_EMPTY;
    stn_params_begin(&params);
    put_array(&params, "STORE", task, false);
    put_array(&params, "WRITTEN", task, true);
    stn_params_type(&params, "REAL", task->dtype == STN_F64 ? "double" : "float");
    stn_params_int(&params, "NAN_IS_MISSING", (task->normalized & STN_NORMALIZED_NAN) != 0);
    if (state->kernel_kind == NORMALIZED_POINT) {
        stn_params_int(&params, "THREADS_X", THREADS);
        stn_params_int(&params, "EXPECTED_HEADER", sizeof(point_header));
    } else {
        const int axis = axis_of(task);
        stn_params_int(&params, "TAPS_LOW", task->reach[axis][0]);
        stn_params_int(&params, "TAPS_HIGH", task->reach[axis][1]);
        stn_params_int(&params, "TAPS_SIDE_LOW", (int64_t)task->boundary[axis][0].kind);
        stn_params_int(&params, "TAPS_SIDE_HIGH", (int64_t)task->boundary[axis][1].kind);
        stn_params_int(&params, "ALONG_X", axis == 2);
        stn_params_int(&params, "WARPS", WARPS);
        stn_params_int(&params, "ROWS", ROWS);
        stn_params_int(&params, "EXPECTED_HEADER", sizeof(axis_header));
    }
    return stn_kernel_make(plan->kernels, kernel_names[state->kernel_kind], &params, state->launch.shared,
                           &state->kernel, error);
}

static void release(stn_plan *plan) {
    const normalized_state *state = plan->state;
    stn_device_free(plan->context->device, state->taps);
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    normalized_state now = *(const normalized_state *)plan->state;
    now.arguments.axis.in = run->in, now.arguments.axis.out = run->out;
    now.launch.stream = run->stream;
    return stn_module_launch(now.kernel->module, &now.launch, &now.arguments, error);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const char *name = kernel_names[plan->candidate.values[0]];
    if (format == STN_JSON)
        stn_json_text(text, "kernel", name);
    else
        stn_text_printf(text, "kernel %s", name);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    (void)task;
    stn_text_printf(text, "%s", kernel_names[candidate->values[0]]);
}

const stn_strategy stn_strategy_normalized = {
    .name = "normalized",
    .local = true,
    .converts = true,
    .normalizes = true,
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
};
