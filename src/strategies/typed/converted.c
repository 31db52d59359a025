/* Strategy converted: other number types than the dtype for any number of steps and any strategy.
 *
 *     in -> convert (typed) -> grid in the dtype -> the steps by the cheapest strategy
 *                                                -> grid in the dtype -> convert (typed) -> out
 *
 * Both grids are in the workspace, packed. A side that holds numbers of the dtype is read or
 * written by the steps themselves. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "plan/plan.h"
#include "strategies/common/grid_layout.h"
#include "strategies/table.h"

enum { GRID_ALIGNMENT = 256 };

typedef struct converted_state {
    stn_plan *load, *steps, *store; /* load, store: NULL where that side has the dtype */
    size_t own, grid;               /* bytes of the steps' workspace, rounded up, and of a grid */
} converted_state;

/* ---- the three tasks; their taps are borrowed ------------------------------------------------ */

static const stn_tap one = {{0}, 1};

static void set_packed(const stn_task *task, int64_t stride[3], int64_t *batch) {
    const stn_grid_layout packed = stn_packed_layout(task->n, task->dtype);
    memcpy(stride, packed.stride, sizeof packed.stride);
    *batch = packed.batch;
}

/* The conversion of a whole array: one tap of weight 1, sides that are never read. */
static stn_task convert_task(const stn_task *task) {
    stn_task made = *task;
    made.steps = 1, made.ntaps = 1, made.taps = (stn_tap *)&one, made.pattern = STN_PATTERN_STAR;
    memset(made.reach, 0, sizeof made.reach);
    for (int axis = 0; axis < 3; axis++)
        made.boundary[axis][0] = made.boundary[axis][1] = (stn_boundary){.kind = STN_NEAREST};
    return made;
}

static bool loads(const stn_task *task) { return task->in_element != STN_ELEMENT_DTYPE; }
static bool stores(const stn_task *task) { return task->out_element != STN_ELEMENT_DTYPE; }

static stn_task load_task(const stn_task *task) {
    stn_task made = convert_task(task);
    made.out_element = STN_ELEMENT_DTYPE, made.divisor = 1;
    set_packed(task, made.out_stride, &made.out_batch_stride);
    return made;
}

static stn_task store_task(const stn_task *task) {
    stn_task made = convert_task(task);
    made.in_element = STN_ELEMENT_DTYPE;
    set_packed(task, made.in_stride, &made.in_batch_stride);
    return made;
}

static stn_task steps_task(const stn_task *task) {
    stn_task made = *task;
    made.in_element = made.out_element = STN_ELEMENT_DTYPE, made.divisor = 1;
    if (loads(task)) set_packed(task, made.in_stride, &made.in_batch_stride);
    if (stores(task)) set_packed(task, made.out_stride, &made.out_batch_stride);
    if (loads(task) && stores(task)) made.alignment = GRID_ALIGNMENT;
    return made;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* Whether a side keeps points, whose values the divisor does not divide. */
static bool keeps_points(const stn_task *task) {
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            if (task->reach[axis][side] && task->boundary[axis][side].kind == STN_FIXED) return true;
    return false;
}

/* One step to integers needs the host's order of sums, which only `typed` keeps. A side that has
 * the dtype must have the alignment that the steps need. */
static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    const bool whole = stn_element_is_whole(stn_task_element(task, true));
    const char *why = !machine->is_device        ? STN_NEEDS_GPU
                      : !stn_task_converts(task) ? "the arrays hold numbers of the dtype"
                      : whole && task->steps == 1 && !(task->tolerance > 0)
                          ? "one step to integers is summed in the host's order, by typed"
                      : task->divisor != 1 && keeps_points(task) ? "it would divide the points that a fixed side keeps"
                                                                 : NULL;
    if (why) snprintf(reason, reason_size, "%s", why);
    return !why;
}

static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    (void)task;
    (void)machine;
    if (most) list[0] = (stn_candidate){{0}};
    return most ? 1 : 0;
}

static void add(stn_estimate *sum, const stn_task *task, const stn_machine *machine) {
    stn_estimate one_more;
    if (!stn_subplan_estimate(task, machine, "typed", &one_more)) return;
    sum->bytes += one_more.bytes, sum->seconds += one_more.seconds, sum->launches += one_more.launches;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    (void)candidate;
    const stn_task steps = steps_task(task), load = load_task(task), store = store_task(task);
    *result = (stn_estimate){.seconds = INFINITY};
    if (!stn_subplan_estimate(&steps, machine, NULL, result)) return;
    if (loads(task)) add(result, &load, machine);
    if (stores(task)) add(result, &store, machine);
}

/* ---- preparing ------------------------------------------------------------------------------- */

static stn_status prepare(stn_plan *plan, stn_error *error) {
    const stn_task *task = &plan->task;
    converted_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    const stn_task steps = steps_task(task), load = load_task(task), store = store_task(task);
    STN_TRY(stn_subplan(plan, &steps, NULL, &state->steps, error));
    if (loads(task)) STN_TRY(stn_subplan(plan, &load, "typed", &state->load, error));
    if (stores(task)) STN_TRY(stn_subplan(plan, &store, "typed", &state->store, error));
    const stn_grid_layout packed = stn_packed_layout(task->n, task->dtype);
    state->grid =
        (size_t)stn_round_up(task->batch * packed.batch * (int64_t)stn_dtype_size(task->dtype), GRID_ALIGNMENT);
    state->own = (size_t)stn_round_up((int64_t)state->steps->workspace_size, GRID_ALIGNMENT);
    plan->workspace_size = state->own + ((size_t)loads(task) + (size_t)stores(task)) * state->grid;
    return STN_OK;
}

static stn_status set_weights(stn_plan *plan, stn_error *error) {
    const converted_state *state = plan->state;
    return stn_subplan_set_weights(state->steps, &plan->task, error);
}

static void release(stn_plan *plan) {
    converted_state *state = plan->state;
    stn_plan_destroy(state->load);
    stn_plan_destroy(state->steps);
    stn_plan_destroy(state->store);
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_status execute(stn_plan *plan, const stn_execution *run, stn_error *error) {
    const converted_state *state = plan->state;
    unsigned char *const workspace = run->workspace;
    stn_execution each = {.in = run->in, .out = run->out, .workspace = workspace, .stream = run->stream};
    unsigned char *next = workspace ? workspace + state->own : NULL;
    if (state->load) {
        each.out = next;
        STN_TRY(stn_plan_run_whole(state->load, &each, error));
        each.in = next;
        next += state->grid;
    }
    each.out = state->store ? next : run->out;
    STN_TRY(stn_plan_run_whole(state->steps, &each, error));
    if (!state->store) return STN_OK;
    each.in = next, each.out = run->out;
    return stn_plan_run_whole(state->store, &each, error);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const converted_state *state = plan->state;
    const char *name = state->steps->strategy->name;
    if (format == STN_JSON) {
        stn_json_text(text, "steps_by", name);
    } else
        stn_text_printf(text, "%s%s by %s%s", state->load ? "converted, then " : "",
                        plan->task.steps == 1 ? "one step" : "all steps", name, state->store ? ", then converted" : "");
}

const stn_strategy stn_strategy_converted = {
    .name = "converted",
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
};
