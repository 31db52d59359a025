/* The chunked strategy: a run of T steps as q chunks of k steps and a remainder, each by the
 * cheapest strategy for that many steps.
 *
 *     in -> chunk 0 -> spare -> chunk 1 -> out -> chunk 2 -> spare -> ... -> rest -> out
 *
 * It is used where the composed stencil of T steps has too long a reach or too large an error for a
 * strategy that is fast for k steps. The spare grid, in the workspace, has the layout of the
 * output. The chunks write to the spare grid and to the output in turns, such that the last one
 * writes to the output. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "plan/accuracy.h"
#include "plan/plan.h"
#include "strategies/table.h"

enum { ALIGNMENT = 256, LEAST_STEPS = 4 };

/* FIRST reads the caller's input, LATER the output of another chunk; REST is the last chunk, of
 * fewer steps. */
enum { FIRST, LATER, REST, CHUNKS };

typedef struct chunked_state {
    stn_plan *chunk[CHUNKS]; /* owned; LATER may be NULL: FIRST serves; REST: none */
    size_t inner;            /* bytes of the chunks' workspace; the spare grid follows it */
    uint64_t full, all;      /* numbers of chunks: of k steps, and with the remainder */
} chunked_state;

static uint64_t steps_of(const stn_candidate *candidate) { return (uint64_t)candidate->values[0]; }
static uint64_t chunks_of(const stn_task *task, uint64_t steps) {
    return task->steps / steps + !!(task->steps % steps);
}

static bool same_layout(const stn_task *task) {
    for (int axis = 0; axis < 3; axis++)
        if (task->in_stride[axis] != task->out_stride[axis]) return false;
    return task->in_batch_stride == task->out_batch_stride;
}

/* The task of a chunk; its taps are borrowed. */
static stn_task chunk_task(const stn_task *task, int which, uint64_t steps) {
    stn_task own = *task;
    own.steps = which == REST ? task->steps % steps : steps;
    own.snapshots = 1;
    own.in_place = false;
    own.tolerance = task->tolerance / stn_error_of_runs((double)chunks_of(task, steps));
    if (which == FIRST) return own;
    memcpy(own.in_stride, task->out_stride, sizeof own.in_stride);
    own.in_batch_stride = task->out_batch_stride;
    return own;
}

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    if (!machine->is_device)
        snprintf(reason, reason_size, "it needs a GPU and this context is for the host");
    else if (task->steps < LEAST_STEPS)
        snprintf(reason, reason_size, "the run has fewer than %d steps", LEAST_STEPS);
    else if (task->alignment > ALIGNMENT)
        snprintf(reason, reason_size, "the spare grid is aligned to %d bytes", ALIGNMENT);
    else
        return true;
    return false;
}

/* The sizes of chunks depend on the estimates of other strategies: compose(). */
static size_t candidates(const stn_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    (void)task, (void)machine, (void)list, (void)most;
    return 0;
}

static void add(stn_estimate *sum, const stn_estimate *one, double times) {
    sum->bytes += times * one->bytes;
    sum->flops += times * one->flops;
    sum->launches += times * one->launches;
    sum->seconds += times * one->seconds;
    sum->error = fmax(sum->error, one->error);
    sum->unit = one->unit;
    sum->memory = fmax(sum->memory, one->memory);
}

/* roughly: the remainder counts as a full chunk, which saves one ranking of all strategies. */
static bool estimate_chunks(const stn_task *task, const stn_machine *machine, uint64_t steps, bool roughly,
                            stn_estimate *result) {
    const uint64_t chunks = task->steps / steps;
    const double full = (double)chunks;
    const bool same = same_layout(task);
    stn_estimate one;
    stn_task own = chunk_task(task, FIRST, steps);
    *result = (stn_estimate){.stepping = false};
    if (!stn_subplan_estimate(&own, machine, NULL, &one)) return false;
    add(result, &one, same ? full : 1);
    own = chunk_task(task, LATER, steps);
    if (!same && !stn_subplan_estimate(&own, machine, NULL, &one)) return false;
    if (!same) add(result, &one, full - 1);
    own = chunk_task(task, REST, steps);
    if (own.steps && !roughly && !stn_subplan_estimate(&own, machine, NULL, &one)) return false;
    if (own.steps) add(result, &one, 1);
    result->error *= stn_error_of_runs((double)chunks_of(task, steps));
    result->model = result->seconds;
    const double grid = (double)stn_task_points(task) * (double)stn_dtype_size(task->dtype);
    stn_estimate_memory(task, grid + result->memory, result);
    return true;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    if (!estimate_chunks(task, machine, steps_of(candidate), false, result)) result->seconds = INFINITY;
}

typedef struct search {
    const stn_plan *plan;
    double least;  /* lower bound on the seconds of a chunk: it reads and writes each point */
    double cost;   /* of the best run found so far (stn_estimate_cost) */
    uint64_t best; /* steps of its chunks; 0: it is not a run of chunks */
} search;

/* In place the number of chunks must be even, so that the first chunk does not write to the grid
 * that it reads. */
static void try_steps(search *s, uint64_t steps) {
    const stn_task *task = &s->plan->task;
    uint64_t chunks = steps ? chunks_of(task, steps) : 0;
    stn_estimate all;
    if (task->in_place && chunks % 2) {
        steps = task->steps / (chunks + 1) + !!(task->steps % (chunks + 1));
        chunks = chunks_of(task, steps);
    }
    if (chunks < 2 || steps > INT32_MAX || (double)chunks * s->least >= s->cost) return;
    if (task->in_place && chunks % 2) return;
    if (!estimate_chunks(task, &s->plan->machine, steps, true, &all) || all.error > stn_error_bound(task)) return;
    if (stn_estimate_cost(&all) < s->cost) s->cost = stn_estimate_cost(&all), s->best = steps;
}

/* Tries two and three chunks; chunks of 4, 16, 64, ... steps until they are 16 times as long as the
 * best; then 2 and 1/2 times the best; then 3/2 and 3/4 times that. Each size needs a ranking of
 * all strategies, which takes some milliseconds. */
static size_t compose(const stn_plan *plan, stn_candidate *list, size_t most) {
    const stn_task *task = &plan->task;
    const double grid = (double)stn_task_points(task) * (double)stn_dtype_size(task->dtype);
    search s = {.plan = plan, .cost = INFINITY};
    s.least = 2 * grid / plan->machine.copy_bandwidth + plan->machine.launch_seconds;
    if (!most || plan->inner || !plan->may_be_chunked) return 0;
    if (plan->ranked && plan->ranking[0].applies) s.cost = stn_estimate_cost(&plan->ranking[0].estimate);
    try_steps(&s, (task->steps + 1) / 2), try_steps(&s, (task->steps + 2) / 3);
    for (uint64_t steps = 4; steps <= task->steps / 2 && !(s.best && steps > 16 * s.best); steps *= 4)
        try_steps(&s, steps);
    const uint64_t best = s.best;
    try_steps(&s, 2 * best), try_steps(&s, best / 2);
    const uint64_t finer = s.best;
    try_steps(&s, finer + finer / 2), try_steps(&s, finer - finer / 4);
    if (!s.best) return 0;
    list[0] = (stn_candidate){{(int)s.best}};
    return 1;
}

/* ---- building -------------------------------------------------------------------------------- */

static void release(stn_plan *plan) {
    chunked_state *state = plan->state;
    if (!state) return;
    for (int i = 0; i < CHUNKS; i++) stn_plan_destroy(state->chunk[i]);
    free(state);
    plan->state = NULL;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    const stn_task *task = &plan->task;
    const uint64_t steps = steps_of(&plan->candidate);
    chunked_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "the chunks of a run", sizeof *state);
    if (!steps || chunks_of(task, steps) < 2)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "a run of fewer steps than two chunks is no run of chunks");
    state->full = task->steps / steps, state->all = chunks_of(task, steps);
    for (int i = 0; i < CHUNKS; i++) {
        const stn_task own = chunk_task(task, i, steps);
        if ((i == LATER && same_layout(task)) || !own.steps) continue;
        STN_TRY(stn_subplan(plan, &own, NULL, &state->chunk[i], error));
        stn_subplan_list_kernels(plan, state->chunk[i]);
        if (state->chunk[i]->workspace_size > state->inner) state->inner = state->chunk[i]->workspace_size;
    }
    state->inner = (size_t)stn_round_up((int64_t)state->inner, ALIGNMENT);
    plan->workspace_size = state->inner + (size_t)stn_task_span(task, true) * stn_dtype_size(task->dtype);
    return STN_OK;
}

static stn_status set_weights(stn_plan *plan, stn_error *error) {
    const chunked_state *state = plan->state;
    for (int i = 0; i < CHUNKS; i++)
        if (state->chunk[i]) STN_TRY(stn_subplan_set_weights(state->chunk[i], &plan->task, error));
    return STN_OK;
}

/* ---- running --------------------------------------------------------------------------------- */

static stn_plan *chunk_at(const chunked_state *state, uint64_t i) {
    if (i >= state->full) return state->chunk[REST];
    return i && state->chunk[LATER] ? state->chunk[LATER] : state->chunk[FIRST];
}

static uint64_t launches(const stn_plan *plan) { return ((const chunked_state *)plan->state)->all; }

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    const chunked_state *state = plan->state;
    char *const spare = (char *)run->workspace + state->inner;
    for (uint64_t i = part.first; i < part.first + part.count; i++) {
        stn_execution each = *run;
        const bool to_out = (state->all - 1 - i) % 2 == 0;
        if (i) each.in = to_out ? spare : (char *)run->out;
        each.out = to_out ? run->out : (void *)spare;
        STN_TRY(stn_plan_run_whole(chunk_at(state, i), &each, error));
    }
    return STN_OK;
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const chunked_state *state = plan->state;
    const stn_plan *chunk = state->chunk[FIRST];
    if (format == STN_JSON) {
        stn_json_key(text, "steps"), stn_text_printf(text, "%d", plan->candidate.values[0]);
        stn_json_key(text, "chunks"), stn_text_printf(text, "%llu", (unsigned long long)state->all);
        stn_json_key(text, "chunk"), stn_json_string(text, chunk->strategy->name);
        return;
    }
    stn_text_printf(text, "%llu chunks of %d steps by %s, ", (unsigned long long)state->all, plan->candidate.values[0],
                    chunk->strategy->name);
    chunk->strategy->describe(chunk, format, text);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    const uint64_t steps = steps_of(candidate);
    stn_text_printf(text, "%llu chunks of %llu steps", (unsigned long long)(steps ? chunks_of(task, steps) : 0),
                    (unsigned long long)steps);
}

static uint64_t shorten(const stn_task *task, const stn_candidate *candidate, uint64_t most, stn_candidate *trial) {
    const uint64_t steps = steps_of(candidate), chunks = stn_max(2, (int64_t)most);
    *trial = *candidate;
    return chunks < task->steps / steps ? chunks * steps : task->steps;
}

const stn_strategy stn_strategy_chunked = {
    .name = "chunked",
    .local = true,
    .sources = true, /* its chunks add it */
    .applies = applies,
    .candidates = candidates,
    .compose = compose,
    .estimate = estimate,
    .prepare = prepare,
    .set_weights = set_weights,
    .describe = describe,
    .release = release,
    .name_candidate = name_candidate,
    .shorten = shorten,
    .launches = launches,
    .execute_part = execute_part,
};
