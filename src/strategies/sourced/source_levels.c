/* A constant source by runs of 1, 8 and 64 steps. c_f is the result of f steps with the source from
 * a zero grid, with constant sides at zero, and is built recursively: c_1 = b where nothing is
 * frozen, c_8 by 7 single steps, c_64 by 7 runs of 8:
 *
 *     level 0: 1 step, c_1        level 1: 8 steps, c_8        level 2: 64 steps, c_64
 *
 * A run of T steps has as many runs of the highest level as fit, then of the lower ones.
 * Intermediate grids are packed in the workspace: two for ping-pong, and c of each level above 0.
 * For f16 they are f32, as is b: otherwise every run would be rounded to 11 bits, and the rounding
 * errors would accumulate over T steps. A single step is computed into the output, to which b is
 * added, and needs none of these grids. */
#include <math.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "plan/error_bound.h"
#include "strategies/sourced/sourced.h"

#define RADIX 8

/* The task without its source, in the workspace's layout and type, or in the caller's for a single
 * step; zero: constant sides are 0. */
static stn_task packed_task(const stn_task *task, uint64_t steps, bool zero) {
    stn_task own = sourced_run_task(task);
    if (task->steps == 1) return own;
    own.dtype = sourced_own_type(task);
    /* A tolerance is only used for the final rounding to the task's dtype. */
    if (own.dtype != task->dtype) own.tolerance = 0;
    const stn_grid_layout packed = stn_packed_layout(task->n, own.dtype);
    memcpy(own.in_stride, packed.stride, sizeof own.in_stride);
    memcpy(own.out_stride, packed.stride, sizeof own.out_stride);
    own.in_batch_stride = own.out_batch_stride = packed.batch;
    own.steps = steps, own.in_place = false, own.alignment = 16;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            own.boundary[axis][side].value = zero ? 0 : stn_task_constant_value(task, axis, side);
    return own;
}

uint64_t sourced_level_steps(int level) {
    uint64_t steps = 1;
    while (level-- > 0) steps *= RADIX;
    return steps;
}

/* The number of runs of each level in a run of T steps. */
static void count_runs(uint64_t steps, int levels, uint64_t runs[SOURCED_LEVELS]) {
    for (int level = levels - 1; level >= 0; level--)
        runs[level] = steps / sourced_level_steps(level), steps %= sourced_level_steps(level);
}

static bool has_constants(const stn_task *task) {
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            if (task->boundary[axis][side].kind == STN_CONSTANT && task->boundary[axis][side].value != 0) return true;
    return false;
}

/* Estimates a level's steps by the cheapest strategy, or by the generic kernel; false also if they
 * take more than `most` seconds. */
static bool estimate_level(const stn_task *task, const stn_machine *machine, int level, bool by_generic, double most,
                           stn_estimate *estimate) {
    /* Its taps are borrowed. */
    const stn_task own = packed_task(task, sourced_level_steps(level), false);
    return stn_subplan_estimate_below(&own, machine, by_generic ? STN_GENERIC : NULL, most, false, estimate);
}

/* Grids in the workspace: two for ping-pong, c of each level above 0, and b if widened. */
static int own_grids(const stn_task *task, int levels) {
    return task->steps == 1 ? 0 : levels + 1 + (sourced_own_type(task) != task->dtype);
}

/* Whether the first run reads the caller's input. */
static bool reads_input(const stn_task *task) {
    const stn_grid_layout packed = stn_packed_layout(task->n, task->dtype);
    return task->steps == 1 || (sourced_own_type(task) == task->dtype && task->alignment >= 16 &&
                                (task->batch == 1 || task->in_batch_stride == packed.batch) &&
                                !memcmp(task->in_stride, packed.stride, sizeof packed.stride));
}

bool sourced_estimate_levels(const stn_task *task, const stn_machine *machine, int levels, bool by_generic,
                             stn_estimate *result) {
    const double grid = (double)stn_task_points(task) * (double)stn_dtype_size(sourced_own_type(task));
    const int copies = !reads_input(task) + (levels > 1 || sourced_own_type(task) != task->dtype);
    uint64_t runs[SOURCED_LEVELS];
    double memory = 0;
    count_runs(task->steps, levels, runs);
    *result = (stn_estimate){.bytes = 2 * copies * grid, .launches = copies};
    result->seconds = copies * sourced_add_seconds(task, machine, 2);
    for (int level = 0; level < levels; level++) {
        const double times = (double)runs[level] + (level < levels - 1 ? RADIX - 1 : 0);
        const double most = (sourced_most_seconds(machine) - result->seconds) / times;
        stn_estimate own;
        if (!(most > 0) || !estimate_level(task, machine, level, by_generic, most, &own)) return false;
        result->unit = own.unit;
        result->bytes += times * (own.bytes + 3 * grid);
        result->flops += times * own.flops;
        result->launches += times * (own.launches + 1);
        result->seconds += times * (own.seconds + sourced_add_seconds(task, machine, 3));
        result->error = hypot(result->error, stn_error_accumulated(0, own.error, times));
        memory = fmax(memory, own.memory);
    }
    result->error = hypot(result->error, stn_error_rounding(task->dtype));
    stn_estimate_memory(task, memory + grid * own_grids(task, levels), result);
    return true;
}

static void place_grids(const stn_task *task, sourced_state *state) {
    const stn_dtype own = sourced_own_type(task);
    state->widened = own != task->dtype;
    state->packed = stn_packed_layout(task->n, own);
    state->in.batch = task->in_batch_stride, state->out.batch = task->out_batch_stride;
    memcpy(state->in.stride, task->in_stride, sizeof task->in_stride);
    memcpy(state->out.stride, task->out_stride, sizeof task->out_stride);
    const int64_t size = (int64_t)stn_dtype_size(own);
    state->grid = (size_t)stn_round_up(state->packed.batch * task->batch * size, 256);
}

stn_status sourced_prepare_levels(stn_plan *plan, sourced_state *state, stn_error *error) {
    const stn_task *task = &plan->task;
    place_grids(task, state);
    state->reads_input = reads_input(task);
    STN_TRY(sourced_make_kernels(plan, state, error));
    for (int level = 0; level < state->levels; level++) {
        const stn_task own = packed_task(task, sourced_level_steps(level), false);
        STN_TRY(sourced_make_run(plan, &own, &state->run[level], error));
        if (level == state->levels - 1 || !has_constants(task)) continue;
        const stn_task zero = packed_task(task, sourced_level_steps(level), true);
        STN_TRY(sourced_make_run(plan, &zero, &state->from_zero[level], error));
    }
    plan->workspace_size += (size_t)own_grids(task, state->levels) * state->grid;
    return STN_OK;
}

/* ---- running */

static stn_strided_grid source_of(const sourced_job *job, int level) {
    return level ? sourced_own_grid(job, 1 + level) : job->source;
}

/* Makes the level's steps from `from` to grid 1 of the workspace, and adds the level's source into
 * `to`. */
static stn_status advance(const sourced_job *job, stn_plan *run, int level, sourced_operation operation,
                          const void *from, stn_strided_grid to, stn_error *error) {
    const stn_strided_grid stepped = sourced_own_grid(job, 1);
    const stn_execution once = {
        .in = from, .out = (void *)stepped.at, .workspace = job->workspace, .stream = job->execution->stream};
    STN_TRY(stn_plan_run_whole(run, &once, error));
    return sourced_add(job, operation, stepped, source_of(job, level), to, error);
}

/* Computes c of every level above 0: c_8 = c_1 + S (c_1 + S (...)), 7 times a step and an addition
 * of c_1; likewise c_64 by runs of 8. */
static stn_status make_sources(const sourced_job *job, stn_error *error) {
    const sourced_state *state = job->state;
    for (int level = 1; level < state->levels; level++) {
        stn_plan *lower = state->from_zero[level - 1] ? state->from_zero[level - 1] : state->run[level - 1];
        const stn_strided_grid start = sourced_own_grid(job, 0), c = source_of(job, level - 1);
        const bool first = level == 1 && !state->widened;
        STN_TRY(sourced_add(job, first ? SOURCED_MASK : SOURCED_COPY, c, c, start, error));
        for (int i = 1; i < RADIX; i++)
            STN_TRY(advance(job, lower, level - 1, SOURCED_ADD, start.at, i < RADIX - 1 ? start : source_of(job, level),
                            error));
    }
    return STN_OK;
}

/* One step into the output, to which the source is added. */
static stn_status execute_step(const sourced_job *job, stn_error *error) {
    const stn_strided_grid out = stn_strided_grid_at(&job->state->out, job->execution->out);
    stn_execution once = *job->execution;
    once.source = NULL;
    STN_TRY(stn_plan_run_whole(job->state->run[0], &once, error));
    return sourced_add(job, SOURCED_LAST, out, job->source, out, error);
}

stn_status sourced_execute_levels(stn_plan *plan, const stn_execution *execution, stn_error *error) {
    const sourced_state *state = plan->state;
    const stn_task *task = &plan->task;
    sourced_job job = {plan, state, execution, {.at = execution->source, .batch = task->source_batch_stride}, NULL};
    memcpy(job.source.stride, task->source_stride, sizeof job.source.stride);
    job.workspace = (unsigned char *)execution->workspace + (size_t)own_grids(task, state->levels) * state->grid;
    uint64_t runs[SOURCED_LEVELS], left = 0;
    if (task->steps == 1) return execute_step(&job, error);
    count_runs(task->steps, state->levels, runs);
    for (int level = 0; level < state->levels; level++) left += runs[level];
    if (state->widened) {
        const stn_strided_grid widened = sourced_own_grid(&job, state->levels + 1);
        STN_TRY(sourced_add(&job, SOURCED_MASK, job.source, job.source, widened, error));
        job.source = widened;
    }
    STN_TRY(make_sources(&job, error));
    const stn_strided_grid own = sourced_own_grid(&job, 0), out = stn_strided_grid_at(&state->out, execution->out);
    const void *from = state->reads_input ? execution->in : own.at;
    if (!state->reads_input)
        STN_TRY(
            sourced_add(&job, SOURCED_LOAD, stn_strided_grid_at(&state->in, execution->in), job.source, own, error));
    for (int level = state->levels - 1; level >= 0; level--)
        for (uint64_t i = 0; i < runs[level]; i++, from = own.at) {
            left--;
            STN_TRY(advance(&job, state->run[level], level, left ? SOURCED_ADD : SOURCED_LAST, from, left ? own : out,
                            error));
        }
    return STN_OK;
}

void sourced_describe_levels(const sourced_state *state, stn_format format, stn_text *text) {
    if (format == STN_TEXT)
        stn_text_printf(text, "runs without the source, then its sum over their steps:");
    else {
        stn_json_open(text, "runs", "[");
    }
    for (int level = state->levels - 1; level >= 0; level--) {
        const stn_plan *run = state->run[level];
        if (format == STN_TEXT) {
            stn_text_printf(text, "%s %d step%s by %s", level < state->levels - 1 ? ";" : "",
                            (int)sourced_level_steps(level), level ? "s" : "", run->strategy->name);
            continue;
        }
        stn_json_comma(text);
        stn_text_append(text, "{", 1);
        stn_json_integer(text, "steps", (int64_t)sourced_level_steps(level));
        stn_json_text(text, "strategy", run->strategy->name);
        stn_text_append(text, "}", 1);
    }
    if (format == STN_JSON) stn_text_append(text, "]", 1);
}
