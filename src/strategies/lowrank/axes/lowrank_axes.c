/* Separable taps in one pass for each axis along which taps reach, in the order x, y, z. Past a
 * side, a pass continues the results of the earlier passes by the rule of its own axis. So the
 * slowest axis decides at a corner, as in the definition. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "strategies/common/ping_pong.h"
#include "strategies/lowrank/axes/axis_pass.h"
#include "strategies/lowrank/lowrank.h"
#include "strategies/lowrank/lowrank_types.h"

#define MARK (STN_CANDIDATE_VALUES - 1) /* no other candidate of lowrank uses this value */
_Static_assert(sizeof(((stn_candidate *)0)->values) / sizeof(int) > MARK, "a candidate has this value");

typedef struct axes_pass {
    lowrank_pass shape;
    stn_kernel *kernel;
    unsigned char values[LOWRANK_PASS_VALUES];
} axes_pass;

typedef struct axes_state {
    int count;
    axes_pass passes[3];
    double residual;
    /* Layouts of ping-pong launches if there is one pass. Otherwise only those of `in` and `out`
     * are used, and the members below. */
    stn_layouts at;
    stn_grid_layout packed; /* grids between passes, one after another in the workspace */
    size_t packed_bytes;    /* bytes of one of them, a multiple of 256 */
} axes_state;

/* ---- candidates */

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    lowrank_factors factors;
    lowrank_pass passes[3];
    if (task->rank > 1 && lowrank_passes(task, machine, passes) && lowrank_factors_make(task, &factors)) return true;
    snprintf(reason, reason_size, "its taps are not products of one factor for each axis");
    return false;
}

bool lowrank_axes_is(const stn_candidate *candidate) { return candidate->values[MARK] != 0; }

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    char reason[80];
    if (!most || !applies(task, machine, reason, sizeof reason)) return 0;
    memset(list, 0, sizeof *list);
    list->values[MARK] = 1;
    return 1;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    (void)candidate;
    lowrank_passes_cost(task, machine, result);
    /* Runs of several passes begin without a copy. */
    if (result->launches == (double)task->steps) stn_ping_pong_add_copy(task, machine, result->launches, result);
}

/* ---- building */

static stn_status fill_values(const stn_plan *plan, axes_state *state, stn_error *error) {
    lowrank_factors factors;
    double gain = 1;
    if (!lowrank_factors_make(&plan->task, &factors))
        return stn_fail(
            error, STN_ERROR_UNSUPPORTED,
            "these weights are not products of one factor for each axis, as the plan's kernels take them: make a "
            "new plan with strategy auto");
    for (int i = 0; i < state->count; i++) {
        axes_pass *pass = &state->passes[i];
        int axis = pass->shape.axis, count = plan->task.reach[axis][0] + plan->task.reach[axis][1] + 1;
        double sum = 0;
        lowrank_pass_values(&plan->task, &pass->shape, &factors, gain, pass->values);
        for (int j = 0; j < count; j++) sum += factors.weight[axis][j];
        gain *= sum;
    }
    state->residual = factors.residual;
    return STN_OK;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    const stn_task *task = &plan->task;
    axes_state *state = plan->state = calloc(1, sizeof *state);
    lowrank_pass passes[3];
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    state->count = lowrank_passes(task, &plan->machine, passes);
    state->at = stn_task_layouts(task, task->steps);
    state->packed = stn_packed_layout(task->n, task->dtype);
    int64_t bytes = state->packed.batch * task->batch * (int64_t)stn_dtype_size(task->dtype);
    state->packed_bytes = (size_t)stn_round_up(bytes, 256);
    for (int i = 0; i < state->count; i++) {
        stn_text params = STN_TEXT_EMPTY;
        state->passes[i].shape = passes[i];
        lowrank_pass_params(task, &passes[i], &params);
        STN_TRY(
            stn_kernel_make(plan->kernels, "lowrank_axis", &params, passes[i].shared, &state->passes[i].kernel, error));
    }
    plan->workspace_size = state->count > 1 ? (size_t)(state->count - 1) * state->packed_bytes : state->at.work_bytes;
    return fill_values(plan, state, error);
}

static stn_status set_weights(stn_plan *plan, stn_error *error) { return fill_values(plan, plan->state, error); }

/* ---- running */

static stn_status launch_pass(const stn_plan *plan, const axes_pass *pass, lowrank_grid in, lowrank_grid out,
                              lowrank_grid origin, void *stream, stn_error *error) {
    lowrank_pass_arguments arguments;
    int64_t blocks = lowrank_pass_words(&plan->task, &pass->shape, in, out, origin, arguments.words);
    memcpy(arguments.values, pass->values, sizeof arguments.values);
    return stn_kernel_launch(pass->kernel, blocks, 32 * LOWRANK_PASS_WARPS, pass->shape.shared, &arguments, stream,
                             error);
}

/* A stn_ping_pong_launch for tasks of one pass. */
static stn_status run_launch(const stn_plan *plan, uint64_t i, const stn_fused_launch *l, stn_error *error) {
    const axes_state *state = plan->state;
    (void)i;
    lowrank_grid in = {l->from, l->in};
    return launch_pass(plan, &state->passes[0], in, (lowrank_grid){l->to, l->out}, in, l->stream, error);
}

/* A run counts as one launch. */
static uint64_t launches(const stn_plan *plan) {
    (void)plan;
    return 1;
}

/* With two or three passes, only the last writes the output, and no pass writes its own input. So
 * execution in place needs no copy: the last pass reads frozen points from the elements that it
 * writes. */
static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    const axes_state *state = plan->state;
    (void)part;
    if (state->count == 1)
        return stn_ping_pong_run(plan, &state->at, plan->task.steps, (stn_part){0, plan->task.steps}, run, run_launch,
                                 error);
    for (uint64_t step = 0; step < plan->task.steps; step++) {
        lowrank_grid origin = {step ? &state->at.out : &state->at.in, step ? run->out : run->in}, from = origin;
        for (int i = 0; i < state->count; i++) {
            lowrank_grid to = {&state->packed, (unsigned char *)run->workspace + (size_t)i * state->packed_bytes};
            if (i == state->count - 1) to = (lowrank_grid){&state->at.out, run->out};
            STN_TRY(launch_pass(plan, &state->passes[i], from, to, origin, run->stream, error));
            from = to;
        }
    }
    return STN_OK;
}

/* ---- descriptions */

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const axes_state *state = plan->state;
    const int(*reach)[2] = plan->task.reach;
    const lowrank_pass *first = &state->passes[0].shape;
    const char *arithmetic = lowrank_arithmetic(plan->task.dtype, first->products);
    if (format == STN_TEXT) {
        stn_text_printf(text, "kernel lowrank_axis, %d pass%s a step:", state->count, state->count > 1 ? "es" : "");
        for (int i = 0; i < state->count; i++) {
            int axis = state->passes[i].shape.axis;
            stn_text_printf(text, "%s %d taps along %c", i ? "," : "", reach[axis][0] + reach[axis][1] + 1,
                            "zyx"[axis]);
        }
        stn_text_printf(text, " (residual %.2g), %s products, %d warps a block", state->residual, arithmetic,
                        LOWRANK_PASS_WARPS);
        return;
    }
    stn_json_text(text, "kernel", "lowrank_axis");
    stn_json_text(text, "arithmetic", arithmetic);
    stn_json_value(text, "fused_steps", 1);
    stn_json_value(text, "passes", state->count);
    stn_json_value(text, "residual", state->residual);
    stn_json_value(text, "warps", LOWRANK_PASS_WARPS);
    stn_json_value(text, "stages", first->stages);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    (void)candidate;
    int passes = 0;
    for (int axis = 0; axis < 3; axis++) passes += task->reach[axis][0] || task->reach[axis][1];
    int products = lowrank_products(task, (int)stn_min((int64_t)task->steps, INT32_MAX));
    stn_text_printf(text, "1 step by %d pass%s, one an axis, %s products", passes ? passes : 1, passes > 1 ? "es" : "",
                    lowrank_arithmetic(task->dtype, products));
}

/* A trial runs whole steps; the candidate does not fix their number. */
static uint64_t shorten(const stn_task *task, const stn_candidate *candidate, uint64_t most, stn_candidate *trial) {
    *trial = *candidate;
    return most / 3 < 1 ? 1 : most / 3 < task->steps ? most / 3 : task->steps;
}

const stn_strategy lowrank_axes = {
    .name = "lowrank",
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .prepare = prepare,
    .set_weights = set_weights,
    .describe = describe,
    .name_candidate = name_candidate,
    .shorten = shorten,
    .launches = launches,
    .execute_part = execute_part,
};
