/* sourced: a constant source beside strategies that know none, u[t+1] = S u[t] + b.
 *
 * In f steps   u[t+f] = S^f u[t] + c_f,   c_f = (1 + S + ... + S^(f-1)) b:   a run of f steps without the source, by whatever
 * strategy is cheapest, then one addition. c_f is made once an execution, f steps from zero with constant sides at zero, and
 * itself by parts: c_1 = b where nothing is frozen, c_8 by 7 single steps, c_64 by 7 runs of 8:
 *
 *     level 0: 1 step, c_1        level 1: 8 steps, c_8        level 2: 64 steps, c_64
 *
 * A run of T steps is as many runs of the highest level as fit in, then of the lower ones. Between them grids lie packed in
 * the workspace: two that take turns, and c of each level above 0. There f16 is f32, b too: the sum of every run would be
 * rounded to 11 bits otherwise, and T steps be off by what so many roundings add up to. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/context.h"
#include "context/kernel.h"
#include "plan/plan.h"
#include "render/render.h"
#include "strategies/common/layout.h"

#define LEVELS 3
#define RADIX 8
#define THREADS 256
#define CHUNK (4 * THREADS) /* points of a block, as sourced_add.cu has them */

/* As sourced_add.cu declares them. */
typedef struct add_grid {
    const void *at;
    int64_t stride[3], batch;
} add_grid;
typedef struct add_arguments {
    add_grid x, c, out;
    int64_t n[3], live_low[3], live_high[3], chunks;
} add_arguments;

/* out = x; out = c; out = x + c. What is read and written is the caller's or the workspace's. */
enum { LOAD, COPY, MASK, ADD, LAST, WAYS };
static const struct {
    bool grid, source, reads_given, writes_given;
} ways[WAYS] = {{true, false, true, false},
                {true, false, false, false},
                {false, true, true, false},
                {true, true, false, false},
                {true, true, false, true}};

typedef struct sourced_state {
    int levels;
    stn_plan *run[LEVELS], *from_zero[LEVELS]; /* of RADIX^level steps; the second for c, NULL where the first serves */
    stn_kernel *add[WAYS];
    stn_grid_layout in, out, packed;
    bool widened; /* the workspace's grids are of another type than the caller's */
    size_t grid;  /* bytes of one in the workspace: two by turns, c of each level above 0, b if widened */
} sourced_state;

/* ---- the work by levels -------------------------------------------------------------------------------------------- */

static uint64_t steps_of(int level) {
    uint64_t steps = 1;
    while (level-- > 0) steps *= RADIX;
    return steps;
}

/* How many runs of each level a run of T steps takes. */
static void count_runs(uint64_t steps, int levels, uint64_t runs[LEVELS]) {
    for (int level = levels - 1; level >= 0; level--) runs[level] = steps / steps_of(level), steps %= steps_of(level);
}

static bool has_constants(const stn_task *task) {
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            if (task->boundary[axis][side].kind == STN_CONSTANT && task->boundary[axis][side].value != 0) return true;
    return false;
}

/* Of the grids in the workspace. */
static stn_dtype own_type(const stn_task *task) { return task->dtype == STN_F16 ? STN_F32 : task->dtype; }

/* A level's steps, from one packed grid to another, without the source. */
static stn_task level_task(const stn_task *task, int level, bool from_zero) {
    stn_task own = *task;
    own.dtype = own_type(task);
    if (own.dtype != task->dtype) own.tolerance = 0; /* what it allows is for the rounding at the end */
    const stn_grid_layout packed = stn_packed_layout(task->n, own.dtype);
    memcpy(own.in_stride, packed.stride, sizeof own.in_stride);
    memcpy(own.out_stride, packed.stride, sizeof own.out_stride);
    own.in_batch_stride = own.out_batch_stride = packed.batch;
    own.steps = steps_of(level), own.snapshots = 1;
    own.source = own.in_place = false, own.alignment = 16;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            own.boundary[axis][side].value = from_zero ? 0 : stn_task_outside(task, axis, side);
    return own;
}

/* ---- choosing ------------------------------------------------------------------------------------------------------ */

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    const char *why = NULL;
    if (!machine->is_device)
        why = "it needs a GPU and this context is for the host";
    else if (!task->source)
        why = "there is no source";
    else if (task->batch * task->n[0] * task->n[1] > INT32_MAX / stn_div_up(task->n[2], CHUNK))
        why = "a source is added by more blocks than a launch can have";
    if (!why) return true;
    snprintf(reason, reason_size, "%s", why);
    return false;
}

/* values[0]: levels; values[1]: each step by the kernel that all problems have, which compiles soon. */
static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    size_t count = 0;
    (void)machine;
    for (int levels = LEVELS; levels >= 1 && count < most; levels--)
        if (steps_of(levels - 1) <= task->steps) list[count++] = (stn_candidate){{levels}};
    return count;
}

/* Begins with single steps. */
static bool begin(const stn_task *task, const stn_machine *machine, int number, stn_candidate *candidate) {
    const stn_task own = level_task(task, 0, false);
    stn_estimate unused;
    *candidate = (stn_candidate){{1, 1}};
    return number == 0 && stn_subplan_estimate_soon(&own, machine, &unused);
}

/* The estimate of a level's steps, by the cheapest strategy or by what compiles soon. */
static bool estimate_level(const stn_task *task, const stn_machine *machine, int level, bool soon,
                           stn_estimate *estimate) {
    const stn_task own = level_task(task, level, false); /* its taps are borrowed */
    return soon ? stn_subplan_estimate_soon(&own, machine, estimate)
                : stn_subplan_estimate(&own, machine, NULL, estimate);
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    const int levels = candidate->values[0];
    const double grid = (double)stn_task_points(task) * (double)stn_dtype_size(own_type(task));
    uint64_t runs[LEVELS];
    count_runs(task->steps, levels, runs);
    *result = (stn_estimate){.bytes = 4 * grid, .launches = 2};
    result->seconds = 4 * grid / machine->copy_bandwidth + 2 * machine->launch_seconds;
    for (int level = 0; level < levels; level++) {
        const double times = (double)runs[level] + (level < levels - 1 ? RADIX - 1 : 0);
        stn_estimate own;
        if (!estimate_level(task, machine, level, candidate->values[1] != 0, &own)) {
            result->seconds = INFINITY;
            return;
        }
        result->unit = own.unit;
        result->bytes += times * (own.bytes + 3 * grid);
        result->flops += times * own.flops;
        result->launches += times * (own.launches + 1);
        result->seconds += times * (own.seconds + 3 * grid / machine->copy_bandwidth + machine->launch_seconds);
    }
}

/* ---- building ------------------------------------------------------------------------------------------------------ */

static stn_status get_kernels(stn_plan *plan, sourced_state *state, stn_error *error) {
    for (int way = 0; way < WAYS; way++) {
        stn_text params = STN_TEXT_EMPTY;
        stn_params_begin(&params);
        const stn_dtype given = plan->task.dtype, own = own_type(&plan->task);
        stn_params_elements(&params, ways[way].reads_given ? given : own);
        stn_params_store(&params, "WRITTEN", ways[way].writes_given ? given : own);
        stn_params_int(&params, "THREADS_X", THREADS);
        stn_params_int(&params, "HAS_GRID", ways[way].grid);
        stn_params_int(&params, "HAS_SOURCE", ways[way].source);
        STN_TRY(stn_kernel_make(plan->context, "sourced_add", &params, 0, &state->add[way], error));
        stn_plan_list_kernel(plan, state->add[way]);
    }
    return STN_OK;
}

static int own_grids(const sourced_state *state) { return state->levels + 1 + state->widened; }

static stn_status make_run(stn_plan *plan, int level, bool from_zero, stn_plan **run, size_t *workspace,
                           stn_error *error) {
    const stn_task task = level_task(&plan->task, level, from_zero);
    if (plan->candidate.values[1])
        STN_TRY(stn_subplan_soon(plan, &task, run, error));
    else
        STN_TRY(stn_subplan(plan, &task, NULL, run, error));
    if ((*run)->workspace_size > *workspace) *workspace = (*run)->workspace_size;
    stn_subplan_list_kernels(plan, *run);
    return STN_OK;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    sourced_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    const stn_task *task = &plan->task;
    size_t own = 0;
    state->levels = plan->candidate.values[0];
    state->widened = own_type(task) != task->dtype;
    state->packed = stn_packed_layout(task->n, own_type(task));
    state->in.batch = task->in_batch_stride, state->out.batch = task->out_batch_stride;
    memcpy(state->in.stride, task->in_stride, sizeof task->in_stride);
    memcpy(state->out.stride, task->out_stride, sizeof task->out_stride);
    const int64_t size = (int64_t)stn_dtype_size(own_type(task));
    state->grid = (size_t)stn_round_up(state->packed.batch * task->batch * size, 256);
    STN_TRY(get_kernels(plan, state, error));
    for (int level = 0; level < state->levels; level++) {
        STN_TRY(make_run(plan, level, false, &state->run[level], &own, error));
        if (level < state->levels - 1 && has_constants(task))
            STN_TRY(make_run(plan, level, true, &state->from_zero[level], &own, error));
    }
    plan->workspace_size = (size_t)own_grids(state) * state->grid + own;
    return STN_OK;
}

static stn_status set_weights(stn_plan *plan, stn_error *error) {
    sourced_state *state = plan->state;
    for (int level = 0; level < state->levels; level++) {
        STN_TRY(stn_subplan_set_weights(state->run[level], &plan->task, error));
        if (state->from_zero[level]) STN_TRY(stn_subplan_set_weights(state->from_zero[level], &plan->task, error));
    }
    return STN_OK;
}

static void release(stn_plan *plan) {
    sourced_state *state = plan->state;
    for (int level = 0; state && level < LEVELS; level++) {
        stn_plan_destroy(state->run[level]);
        stn_plan_destroy(state->from_zero[level]);
    }
    free(state);
    plan->state = NULL;
}

/* ---- running ------------------------------------------------------------------------------------------------------- */

/* One execution: where everything lies. */
typedef struct job {
    const stn_plan *plan;
    const sourced_state *state;
    unsigned char *grids; /* two by turns, then c of level 1, 2 */
    add_grid source;
    void *workspace, *stream; /* of the runs */
} job;

static add_grid grid_at(const stn_grid_layout *layout, const void *at) {
    add_grid g = {.at = at, .batch = layout->batch};
    memcpy(g.stride, layout->stride, sizeof g.stride);
    return g;
}

static add_grid own_grid(const job *j, int number) {
    return grid_at(&j->state->packed, j->grids + (size_t)number * j->state->grid);
}

static add_grid source_of(const job *j, int level) { return level ? own_grid(j, 1 + level) : j->source; }

static stn_status add(const job *j, int way, add_grid x, add_grid c, add_grid out, stn_error *error) {
    const stn_task *task = &j->plan->task;
    add_arguments a = {.x = x, .c = c, .out = out, .chunks = stn_div_up(task->n[2], CHUNK)};
    for (int axis = 0; axis < 3; axis++) {
        const stn_boundary *sides = task->boundary[axis];
        a.n[axis] = task->n[axis];
        a.live_low[axis] = sides[0].kind == STN_FIXED ? task->reach[axis][0] : 0;
        a.live_high[axis] = task->n[axis] - (sides[1].kind == STN_FIXED ? task->reach[axis][1] : 0);
    }
    const int64_t blocks = task->batch * task->n[0] * task->n[1] * a.chunks;
    stn_launch launch = {.grid = {(unsigned)blocks, 1, 1}, .block = {THREADS, 1, 1}, .stream = j->stream};
    return stn_module_launch(j->state->add[way]->module, &launch, &a, error);
}

/* The steps of a level from grid 0 to grid 1 of the workspace, and the level's source on top, into `to`. */
static stn_status advance(const job *j, stn_plan *run, int level, int way, add_grid to, stn_error *error) {
    const add_grid from = own_grid(j, 0), between = own_grid(j, 1);
    const stn_execution once = {
        .in = from.at, .out = (void *)between.at, .workspace = j->workspace, .stream = j->stream};
    STN_TRY(stn_plan_run_whole(run, &once, error));
    return add(j, way, between, source_of(j, level), to, error);
}

/* c of every level above 0. c_8 = c_1 + S (c_1 + S (...)): 7 times a step, and c_1 added; likewise c_64 by runs of 8. */
static stn_status make_sources(const job *j, stn_error *error) {
    const sourced_state *state = j->state;
    for (int level = 1; level < state->levels; level++) {
        stn_plan *lower = state->from_zero[level - 1] ? state->from_zero[level - 1] : state->run[level - 1];
        const add_grid start = own_grid(j, 0), c = source_of(j, level - 1);
        STN_TRY(add(j, level == 1 && !state->widened ? MASK : COPY, c, c, start, error));
        for (int i = 1; i < RADIX; i++)
            STN_TRY(advance(j, lower, level - 1, ADD, i < RADIX - 1 ? start : source_of(j, level), error));
    }
    return STN_OK;
}

static stn_status execute(stn_plan *plan, const stn_execution *at, stn_error *error) {
    const sourced_state *state = plan->state;
    const stn_task *task = &plan->task;
    job j = {plan, state, at->workspace, {.at = at->source, .batch = task->source_batch_stride}, NULL, at->stream};
    memcpy(j.source.stride, task->source_stride, sizeof j.source.stride);
    j.workspace = j.grids + (size_t)own_grids(state) * state->grid;
    uint64_t runs[LEVELS], left = 0;
    count_runs(task->steps, state->levels, runs);
    for (int level = 0; level < state->levels; level++) left += runs[level];
    if (state->widened) {
        const add_grid widened = own_grid(&j, state->levels + 1);
        STN_TRY(add(&j, MASK, j.source, j.source, widened, error));
        j.source = widened;
    }
    STN_TRY(make_sources(&j, error));
    STN_TRY(add(&j, LOAD, grid_at(&state->in, at->in), j.source, own_grid(&j, 0), error));
    for (int level = state->levels - 1; level >= 0; level--)
        for (uint64_t i = 0; i < runs[level]; i++) {
            left--;
            STN_TRY(advance(&j, state->run[level], level, left ? ADD : LAST,
                            left ? own_grid(&j, 0) : grid_at(&state->out, at->out), error));
        }
    return STN_OK;
}

/* ---- in words ------------------------------------------------------------------------------------------------------ */

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const sourced_state *state = plan->state;
    if (format == STN_TEXT)
        stn_text_printf(text, "runs without the source, then its sum over their steps:");
    else {
        stn_json_key(text, "runs");
        stn_text_append(text, "[", 1);
    }
    for (int level = state->levels - 1; level >= 0; level--) {
        const stn_plan *run = state->run[level];
        if (format == STN_TEXT) {
            stn_text_printf(text, "%s %d step%s by %s", level < state->levels - 1 ? ";" : "", (int)steps_of(level),
                            level ? "s" : "", run->strategy->name);
            continue;
        }
        stn_json_comma(text);
        stn_text_append(text, "{", 1);
        stn_json_integer(text, "steps", (int64_t)steps_of(level));
        stn_json_key(text, "strategy");
        stn_json_string(text, run->strategy->name);
        stn_text_append(text, "}", 1);
    }
    if (format == STN_JSON) stn_text_append(text, "]", 1);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    const int steps = (int)steps_of(candidate->values[0] - 1);
    (void)task;
    stn_text_printf(text, "runs of %d step%s%s", steps, steps == 1 ? "" : "s",
                    candidate->values[1] ? " by the kernel of all problems" : "");
}

const stn_strategy stn_strategy_sourced = {
    .name = "sourced",
    .applies = applies,
    .candidates = candidates,
    .estimate = estimate,
    .prepare = prepare,
    .execute = execute,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .begin = begin,
    .sources = true,
};
