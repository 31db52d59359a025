/* Strategy typed: one step from an array of one number type to an array of another (uint8 to uint8,
 * bfloat16 to f32...), converted where the kernel loads and stores, on a GPU. Sums have the host's
 * bits, and so do results that are truncated to integers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "host/stencil_step.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "render/render.h"
#include "strategies/table.h"
#include "strategies/typed/typed_bytes.h"

enum { THREADS = 256, MAX_BLOCKS = 1 << 20 };

/* TAP_COST: cost of a tap as a multiple of its product and sum alone (the rest are loads by index,
 * conversion, the loop). POINT_TAPS: cost of a point besides its taps, in taps. */
#define TAP_COST 6.0
#define POINT_TAPS 4

/* Mirrors the struct of typed_point.cu. */
typedef struct point_tap {
    int64_t offset;
    double weight;
    int32_t z, y, x, unused;
} point_tap;
typedef struct point_arguments {
    const void *in;
    void *out;
    const void *taps;
    int64_t n[3], in_stride[3], out_stride[3], in_batch, out_batch, points;
    int32_t reach[3][2], side[3][2], singles, pairs, odd, all;
    double constant[3][2], divisor;
} point_arguments;

/* Indexed by typed_kernel. */
static const char *const names[] = {"typed_point", "typed_lines", "typed_box"};

typedef struct typed_state {
    typed_kernel which;
    typed_bytes_form form; /* of the compiled kernel */
    stn_kernel *kernel;
    point_arguments arguments;   /* all but the pointers in and out */
    typed_bytes_arguments bytes; /* the same of typed_bytes.h */
    unsigned blocks;             /* of a launch of typed_lines or typed_box */
    void *table;                 /* device memory: of taps, or of typed_bytes.h */
} typed_state;

/* ---- choosing -------------------------------------------------------------------------------- */

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    const char *why = !machine->is_device        ? STN_NEEDS_GPU
                      : !stn_task_converts(task) ? "the arrays hold numbers of the dtype, which direct serves"
                      : task->steps > 1          ? "it makes one step"
                                                 : NULL;
    if (why) snprintf(reason, reason_size, "%s", why);
    return !why;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    size_t count = 0;
    const typed_kernel bytes = typed_bytes_kernel(task, machine);
    if (bytes != TYPED_POINT && count < most) list[count++] = (stn_candidate){{(int)bytes}};
    if (count < most) list[count++] = (stn_candidate){{TYPED_POINT}};
    return count;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    const double points = (double)stn_task_points(task), taps = (double)task->ntaps;
    const size_t size =
        stn_element_size(stn_task_element(task, false)) + stn_element_size(stn_task_element(task, true));
    *result = (stn_estimate){.unit = STN_UNIT_FMA_F64, .launches = 1, .stepping = true};
    result->bytes = points * (double)size;
    result->flops = 2 * points * (taps + POINT_TAPS) * TAP_COST;
    result->seconds = stn_estimate_seconds(result, machine);
    result->flops = 2 * points * taps;
    const typed_kernel which = (typed_kernel)candidate->values[0];
    if (which != TYPED_POINT) result->seconds = typed_bytes_seconds(task, machine, which);
    result->error = stn_error_stepping(task);
}

/* ---- preparing ------------------------------------------------------------------------------- */

static point_tap tap_of(const stn_task *task, size_t k) {
    const int64_t *o = task->taps[k].offset, *stride = task->in_stride;
    return (point_tap){.offset = o[0] * stride[0] + o[1] * stride[1] + o[2] * stride[2],
                       .weight = task->taps[k].weight,
                       .z = (int32_t)o[0],
                       .y = (int32_t)o[1],
                       .x = (int32_t)o[2]};
}

/* Writes the taps in the order in which the host sums them: single ones, then pairs from the
 * outermost on. */
static void order_taps(const stn_task *task, point_arguments *a, point_tap *to) {
    const int pairing = stn_step_pairing(task);
    const size_t taps = task->ntaps, pairs = pairing ? taps / 2 : 0, singles = taps - 2 * pairs;
    for (size_t k = 0; k < singles; k++) to[k] = tap_of(task, pairing ? taps / 2 : k);
    for (size_t k = 0; k < pairs; k++) {
        to[singles + 2 * k] = tap_of(task, k);
        to[singles + 2 * k + 1] = tap_of(task, taps - 1 - k);
    }
    a->singles = (int32_t)singles, a->pairs = (int32_t)pairs, a->odd = pairing < 0, a->all = (int32_t)taps;
}

/* Replaces the table in device memory. */
static stn_status upload(stn_plan *plan, const void *table, size_t size, stn_error *error) {
    typed_state *state = plan->state;
    if (!plan->machine.present) return STN_OK;
    const stn_status status = stn_device_replace(plan->context->device, &state->table, size, table, size, error);
    state->arguments.taps = state->table;
    return status;
}

static stn_status upload_taps(stn_plan *plan, stn_error *error) {
    typed_state *state = plan->state;
    const stn_task *task = &plan->task;
    const bool points = state->which == TYPED_POINT;
    const size_t size = points ? task->ntaps * sizeof(point_tap) : typed_bytes_table_size(task, state->which);
    unsigned char *table = calloc(size + 1, 1);
    if (!table) return stn_fail_memory(error, "the table of taps", size);
    if (points)
        order_taps(task, &state->arguments, (point_tap *)table);
    else
        typed_bytes_fill_table(task, state->which, table);
    const stn_status status = upload(plan, table, size, error);
    free(table);
    if (!points && state->table)
        state->blocks = typed_bytes_fill_arguments(task, &plan->machine, state->which, state->table, &state->bytes);
    return status;
}

/* typed_lines and typed_box are compiled for one form of the weights (typed_bytes_form): weights of
 * another form, or too large ones, are refused. */
static stn_status set_weights(stn_plan *plan, stn_error *error) {
    const typed_state *state = plan->state;
    const typed_bytes_form form = typed_bytes_form_of(&plan->task), old = state->form;
    if (state->which != TYPED_POINT &&
        (typed_bytes_kernel(&plan->task, &plan->machine) != state->which || form.digits != old.digits ||
         form.integers != old.integers || form.negative > old.negative || form.top != old.top))
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "the kernel for bytes does not serve the new weights");
    return upload_taps(plan, error);
}

static double constant_of(const stn_task *task, int axis, int side) {
    const double value = stn_task_constant_value(task, axis, side);
    return task->dtype == STN_F32 ? (float)value : value;
}

static void fill_arguments(const stn_task *task, point_arguments *a) {
    a->points = stn_task_points(task);
    a->in_batch = task->in_batch_stride, a->out_batch = task->out_batch_stride;
    a->divisor = task->divisor;
    for (int axis = 0; axis < 3; axis++) {
        a->n[axis] = task->n[axis];
        a->in_stride[axis] = task->in_stride[axis], a->out_stride[axis] = task->out_stride[axis];
        for (int side = 0; side < 2; side++) {
            a->reach[axis][side] = task->reach[axis][side];
            a->side[axis][side] = (int32_t)task->boundary[axis][side].kind;
            a->constant[axis][side] = constant_of(task, axis, side);
        }
    }
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    typed_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    state->which = (typed_kernel)plan->candidate.values[0];
    state->form = typed_bytes_form_of(&plan->task);
    stn_text params = STN_TEXT_EMPTY;
    const size_t shared =
        state->which == TYPED_POINT ? 0 : typed_bytes_shared(&plan->task, &plan->machine, state->which);
    stn_params_begin(&params);
    if (state->which == TYPED_POINT) {
        stn_params_element(&params, "STORE", stn_task_element(&plan->task, false));
        stn_params_element(&params, "WRITTEN", stn_task_element(&plan->task, true));
        stn_params_int(&params, "THREADS_X", THREADS);
        stn_params_int(&params, "EXPECTED_HEADER", sizeof(point_arguments));
    } else
        typed_bytes_params(&plan->task, &plan->machine, state->which, &params);
    STN_TRY(stn_kernel_make(plan->kernels, names[state->which], &params, shared, &state->kernel, error));
    fill_arguments(&plan->task, &state->arguments);
    return upload_taps(plan, error);
}

static void release(stn_plan *plan) {
    typed_state *state = plan->state;
    stn_device_free(plan->context->device, state->table);
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const typed_state *state = plan->state;
    stn_launch how = {.grid = {state->blocks, 1, 1}, .block = {THREADS, 1, 1}, .stream = run->stream};
    if (state->which != TYPED_POINT) {
        typed_bytes_arguments bytes = state->bytes;
        bytes.in = run->in, bytes.out = run->out;
        how.block[0] = typed_bytes_threads(state->which);
        how.shared = typed_bytes_shared(&plan->task, &plan->machine, state->which);
        how.early = state->which == TYPED_LINES && stn_plan_may_start_early(plan);
        return stn_module_launch(state->kernel->module, &how, &bytes, error);
    }
    point_arguments a = state->arguments;
    a.in = run->in, a.out = run->out;
    how.grid[0] = (unsigned)stn_min(stn_div_up(a.points, THREADS), MAX_BLOCKS);
    return stn_module_launch(state->kernel->module, &how, &a, error);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const char *from = stn_element_name(stn_task_element(&plan->task, false)),
               *to = stn_element_name(stn_task_element(&plan->task, true));
    const typed_kernel which = (typed_kernel)plan->candidate.values[0];
    if (format == STN_JSON) {
        stn_json_text(text, "kernel", names[which]);
    } else
        stn_text_printf(text, "kernel %s: %s to %s, %s", names[which], from, to,
                        which == TYPED_POINT ? "a point a thread, sums in f64" : "integer products on tensor cores");
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    (void)task;
    stn_text_printf(text, "%s", names[candidate->values[0]]);
}

const stn_strategy stn_strategy_typed = {
    .name = "typed",
    .local = true,
    .converts = true,
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
