/* Strategy chunked: a run of T steps as q chunks of k steps and a remainder, each by the
 * cheapest strategy for that many steps.
 *
 *     in -> chunk 0 -> spare -> chunk 1 -> out -> chunk 2 -> spare -> ... -> last -> out
 *
 * It is used where the composed stencil of T steps has too long a reach or too large an error for a
 * strategy that is fast for k steps. The spare grid, in the workspace, has the layout of the
 * output. The chunks write alternately to the spare grid and to the output, such that the last one
 * writes to the output.
 *
 * If rows are not aligned to 16 bytes, two spare grids with padded, aligned rows are used (2D and
 * 3D, without a source). All chunks except the first and the last read one of them and write the
 * other. The first chunk may be a single step, and the last has the remaining steps.
 *
 *     in -> chunk 0 -> spare 0 -> chunk 1 -> spare 1 -> chunk 2 -> spare 0 -> ... -> last -> out */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/clock.h"
#include "base/error.h"
#include "host/pool.h"
#include "plan/error_bound.h"
#include "plan/plan.h"
#include "strategies/common/grid_layout.h"
#include "strategies/table.h"

enum { ALIGNMENT = 256, MIN_STEPS = 2, MAX_THREADS = 8 };
/* Sizes that are tried at once: 1 to 4 chunks, and powers of 4 below 2^31. */
enum { MAX_SIZES = 2 * (4 + 16) };
/* The measured time divided by the sum of the chunks' estimates. It exceeds 1 because the size with
 * the most favourable estimate is chosen. */
#define FACTOR 1.08
/* The same for padded chunks in f16. Their narrow accesses, at both ends of the run and at the
 * sides that are computed by steps, take longer than estimated (1.5 to 2.7 times on seven random
 * grids). */
#define PADDED_HALVES_FACTOR 1.5
/* One thread searches for this long, about the time of starting others, before they help. */
#define SERIAL_SECONDS 1e-3
/* Keeps rounding errors from rejecting a single chunk; the sum of all chunks decides. */
#define ROUNDED_UP (1 + 1e-9)

/* FIRST reads the caller's input, LATER the output of another chunk. LAST is needed if the last
 * chunk has fewer steps, or reads a padded grid and writes the caller's. */
enum { FIRST, LATER, LAST, CHUNKS };

typedef struct chunked_state {
    /* Owned. LATER is NULL if FIRST serves those chunks too; LAST is NULL if there is no such
     * chunk. */
    stn_plan *chunk[CHUNKS];
    size_t inner_workspace_bytes; /* of the chunks; the spare grids follow this workspace */
    size_t spare;                 /* bytes of a spare grid */
    uint64_t chunk_count;
    bool pads;
} chunked_state;

/* Steps of a chunk of the kind LATER and of the first one. */
typedef struct chunk_sizes {
    uint64_t steps, first;
} chunk_sizes;

/* A candidate without a second value has equal chunks. */
static chunk_sizes sizes_of(const stn_candidate *candidate) {
    const uint64_t steps = (uint64_t)candidate->values[0];
    return (chunk_sizes){steps, candidate->values[1] ? (uint64_t)candidate->values[1] : steps};
}

/* a / b rounded up, for any number of steps. */
static uint64_t divided_up(uint64_t a, uint64_t b) { return a / b + (a % b > 0); }

static uint64_t chunks_of(const stn_task *task, chunk_sizes sizes) {
    return task->steps <= sizes.first ? 1 : 1 + divided_up(task->steps - sizes.first, sizes.steps);
}

/* Steps of the last chunk of several. */
static uint64_t last_steps(const stn_task *task, chunk_sizes sizes) {
    return task->steps - sizes.first - (chunks_of(task, sizes) - 2) * sizes.steps;
}

/* Runs with a source are not padded, because the source has the caller's layout. */
static bool pads(const stn_task *task) { return task->rank > 1 && !task->source && stn_task_vector(task) == 1; }

static stn_grid_layout spare_layout(const stn_task *task) {
    stn_grid_layout spare = {.batch = task->out_batch_stride};
    memcpy(spare.stride, task->out_stride, sizeof spare.stride);
    return pads(task) ? stn_packed_layout(task->n, task->dtype) : spare;
}

static bool has_last(const stn_task *task, chunk_sizes sizes) {
    return pads(task) || last_steps(task, sizes) != sizes.steps;
}

/* Chunks of the kind LATER. */
static uint64_t later_chunks(const stn_task *task, chunk_sizes sizes) {
    return chunks_of(task, sizes) - 1 - has_last(task, sizes);
}

/* Whether the plan of the first chunk serves those of the kind LATER. */
static bool first_serves(const stn_task *task, chunk_sizes sizes) {
    return !pads(task) && stn_task_same_strides(task) && sizes.first == sizes.steps;
}

/* The task of a chunk; its taps are borrowed. */
static stn_task chunk_task(const stn_task *task, int which, chunk_sizes sizes) {
    const stn_grid_layout spare = spare_layout(task);
    stn_task chunk = *task;
    chunk.steps = which == FIRST ? sizes.first : which == LATER ? sizes.steps : last_steps(task, sizes);
    chunk.snapshots = 1;
    chunk.in_place = false;
    chunk.tolerance = task->tolerance / stn_error_of_runs((double)chunks_of(task, sizes));
    if (which != FIRST) {
        memcpy(chunk.in_stride, spare.stride, sizeof chunk.in_stride);
        chunk.in_batch_stride = spare.batch;
    }
    if (which != LAST) {
        memcpy(chunk.out_stride, spare.stride, sizeof chunk.out_stride);
        chunk.out_batch_stride = spare.batch;
    }
    if (which == LATER && pads(task)) chunk.alignment = ALIGNMENT;
    return chunk;
}

static bool applies(const stn_task *task, const stn_machine *machine, char *reason, size_t reason_size) {
    if (!machine->is_device)
        snprintf(reason, reason_size, STN_NEEDS_GPU);
    else if (task->steps < MIN_STEPS)
        snprintf(reason, reason_size, "the run has fewer than %d steps", MIN_STEPS);
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

static void add(stn_estimate *sum, const stn_estimate *one, double times, double factor) {
    sum->bytes += times * one->bytes;
    sum->flops += times * one->flops;
    sum->launches += times * one->launches;
    sum->seconds += factor * times * one->seconds;
    sum->error = fmax(sum->error, one->error);
    sum->unit = one->unit;
    sum->memory = fmax(sum->memory, one->memory);
}

/* Estimates all chunks. If `roughly`, the last chunk gets the estimate of the first, which saves a
 * ranking of all strategies. This is not done with padding: the last chunk then reads padded rows
 * and writes unpadded ones, which the first chunk's strategy may not support. Returns false if no
 * strategy runs a chunk, or if the chunks take `most` seconds or more. LATER, usually the kind with
 * the most chunks, is ranked first, because its limit is the lowest. */
static bool estimate_chunks(const stn_task *task, const stn_machine *machine, chunk_sizes sizes, bool roughly,
                            stn_estimate *result, double most) {
    static const int order[CHUNKS] = {LATER, FIRST, LAST};
    const double times[CHUNKS] = {1, (double)later_chunks(task, sizes), has_last(task, sizes)};
    const double factor = pads(task) && task->dtype == STN_F16 ? PADDED_HALVES_FACTOR : FACTOR;
    const bool like_first[CHUNKS] = {false, first_serves(task, sizes), roughly && !pads(task)};
    const double growth = stn_error_of_runs((double)chunks_of(task, sizes));
    double seconds = 0;
    stn_estimate one[CHUNKS];
    for (int i = 0; i < CHUNKS; i++) {
        const int which = order[i];
        const stn_task chunk = chunk_task(task, which, sizes);
        double alike = like_first[which] ? 0 : times[which]; /* chunks that get this estimate */
        for (int k = LATER; k < CHUNKS && which == FIRST; k++) alike += like_first[k] ? times[k] : 0;
        if (!(alike > 0)) continue;
        const double each = ROUNDED_UP * (most - seconds) / (factor * alike);
        /* Whether a chunk whose error exceeds its bound makes the run's error exceed its bound. */
        const bool within_bound = stn_error_bound(&chunk) * growth * ROUNDED_UP >= stn_error_bound(task);
        if (!(each > 0) || !stn_subplan_estimate_below(&chunk, machine, NULL, each, within_bound, &one[which]))
            return false;
        seconds += factor * alike * one[which].seconds;
    }
    *result = (stn_estimate){.stepping = false};
    for (int which = FIRST; which < CHUNKS; which++)
        if (times[which] > 0) add(result, &one[like_first[which] ? FIRST : which], times[which], factor);
    if (result->seconds >= most) return false;
    result->error *= growth;
    const double grid = (double)stn_task_points(task) * (double)stn_dtype_size(task->dtype);
    stn_estimate_memory(task, (pads(task) ? 2 : 1) * grid + result->memory, result);
    return true;
}

static void estimate(const stn_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    if (!estimate_chunks(task, machine, sizes_of(candidate), false, result, INFINITY)) result->seconds = INFINITY;
}

typedef struct search {
    const stn_plan *plan;
    double least;     /* lower bound on the seconds of a chunk: it reads and writes each point */
    double cost;      /* of the best run found so far (stn_estimate_cost) */
    chunk_sizes best; /* of that run; 0 steps: the best run has no chunks */
    double begin;     /* of the search, on the clock */
    stn_pool *pool;   /* owned; NULL: one thread searches */
    int count, tried; /* of sizes to be tried next, and how many of them have been */
    chunk_sizes sizes[MAX_SIZES];
} search;

/* Whether the chunks may meet the error bound. */
static bool may_be_accurate(const stn_task *task, uint64_t chunks) {
    return stn_error_least(task->dtype) * stn_error_of_runs((double)chunks) <= stn_error_bound(task);
}

/* False if a run in chunks of these sizes cannot be the best. */
static bool estimate_sizes(const search *s, chunk_sizes sizes, stn_estimate *all) {
    const stn_task *task = &s->plan->task;
    return (double)chunks_of(task, sizes) * s->least < s->cost &&
           estimate_chunks(task, &s->plan->machine, sizes, true, all, s->cost) && all->error <= stn_error_bound(task);
}

/* Adds sizes to be tried. A run in place without padding gets an even number of chunks, so that the
 * first chunk does not write to the grid that it reads. */
static void add_sizes(search *s, chunk_sizes sizes) {
    const stn_task *task = &s->plan->task;
    const bool even = task->in_place && !pads(task);
    if (!sizes.steps || !sizes.first) return;
    if (even && chunks_of(task, sizes) % 2)
        sizes.steps = sizes.first = divided_up(task->steps, chunks_of(task, sizes) + 1);
    const uint64_t chunks = chunks_of(task, sizes);
    if (chunks < 2 || sizes.steps > INT32_MAX || (double)chunks * s->least >= s->cost) return;
    if ((!even || chunks % 2 == 0) && may_be_accurate(task, chunks)) s->sizes[s->count++] = sizes;
}

/* Adds equal chunks. If rows are padded, it also adds a single first step and about equal chunks
 * after it. The length of these chunks is chosen such that few steps remain for the last one, which
 * writes the caller's unpadded rows. */
static void add_steps(search *s, uint64_t steps) {
    add_sizes(s, (chunk_sizes){steps, steps});
    if (!pads(&s->plan->task) || !steps || s->plan->task.steps == MIN_STEPS) return;
    const uint64_t middle_steps = s->plan->task.steps - 2;
    add_sizes(s, (chunk_sizes){middle_steps / divided_up(middle_steps, steps), 1});
}

static void estimate_range(void *user, int64_t begin, int64_t end) {
    const search *s = user;
    stn_estimate unused;
    for (int64_t i = begin; i < end; i++) (void)estimate_sizes(s, s->sizes[s->tried + i], &unused);
}

/* Tries the sizes that were added. Each needs rankings of all strategies. When the search
 * has taken SERIAL_SECONDS, several threads make the remaining rankings first, and the search cache
 * keeps their results. */
static void try_sizes(search *s) {
    const int threads = (int)stn_min(stn_compile_threads(s->plan->context), MAX_THREADS);
    bool serial = threads > 1;
    stn_estimate all;
    for (s->tried = 0; s->tried < s->count; s->tried++) {
        if (serial && s->tried + 1 < s->count && stn_clock_seconds() - s->begin > SERIAL_SECONDS) {
            serial = false;
            if (!s->pool) (void)stn_pool_create(threads, &s->pool, NULL);
            if (s->pool) stn_pool_for(s->pool, s->count - s->tried, 1, estimate_range, s);
        }
        if (estimate_sizes(s, s->sizes[s->tried], &all) && stn_estimate_cost(&all) < s->cost)
            s->cost = stn_estimate_cost(&all), s->best = s->sizes[s->tried];
    }
    s->count = 0;
}

/* Tries two to four chunks (with padding also a single one between the first step and the last
 * chunk), and chunks of 4, 16, 64, ... steps; then 2 and 1/2 times the best size, and 3/2 and 3/4
 * times the best of all these. The cost is not a monotonic function of the size, so the search does
 * not stop at the first size that is worse than another. */
static size_t compose(const stn_plan *plan, stn_candidate *list, size_t most) {
    const stn_task *task = &plan->task;
    const double grid = (double)stn_task_points(task) * (double)stn_dtype_size(task->dtype);
    search s = {.plan = plan, .cost = INFINITY, .begin = stn_clock_seconds()};
    s.least = 2 * grid / plan->machine.copy_bandwidth + plan->machine.launch_seconds;
    if (!most || !plan->may_be_chunked) return 0;
    if (plan->ranked && plan->ranking[0].applies) s.cost = stn_estimate_cost(&plan->ranking[0].estimate);
    for (uint64_t chunks = pads(task) ? 1 : 2; chunks <= 4; chunks++) add_steps(&s, divided_up(task->steps, chunks));
    for (uint64_t steps = 4; steps <= task->steps / 2 && steps <= INT32_MAX; steps *= 4) add_steps(&s, steps);
    try_sizes(&s);
    const uint64_t best = s.best.steps;
    add_steps(&s, 2 * best), add_steps(&s, best / 2);
    try_sizes(&s);
    const uint64_t refined = s.best.steps;
    add_steps(&s, refined + refined / 2), add_steps(&s, refined - refined / 4);
    try_sizes(&s);
    stn_pool_destroy(s.pool);
    if (!s.best.steps) return 0;
    list[0] = (stn_candidate){{(int)s.best.steps, (int)s.best.first}};
    return 1;
}

/* ---- building -------------------------------------------------------------------------------- */

static void release(stn_plan *plan) {
    chunked_state *state = plan->state;
    for (int i = 0; i < CHUNKS; i++) stn_plan_destroy(state->chunk[i]);
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    const stn_task *task = &plan->task;
    const chunk_sizes sizes = sizes_of(&plan->candidate);
    chunked_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "the chunks of a run", sizeof *state);
    if (!sizes.steps || chunks_of(task, sizes) < 2)
        return stn_fail(error, STN_ERROR_UNSUPPORTED, "the run has too few steps for two chunks");
    state->chunk_count = chunks_of(task, sizes), state->pads = pads(task);
    for (int i = 0; i < CHUNKS; i++) {
        const stn_task chunk = chunk_task(task, i, sizes);
        if (i == LATER && (!later_chunks(task, sizes) || first_serves(task, sizes))) continue;
        if (i == LAST && !has_last(task, sizes)) continue;
        STN_TRY(stn_subplan(plan, &chunk, NULL, &state->chunk[i], error));
        if (state->chunk[i]->workspace_size > state->inner_workspace_bytes)
            state->inner_workspace_bytes = state->chunk[i]->workspace_size;
    }
    state->inner_workspace_bytes = (size_t)stn_round_up((int64_t)state->inner_workspace_bytes, ALIGNMENT);
    const size_t points = (size_t)(state->pads ? spare_layout(task).batch * task->batch : stn_task_span(task, true));
    state->spare = (size_t)stn_round_up((int64_t)(points * stn_dtype_size(task->dtype)), ALIGNMENT);
    plan->workspace_size = state->inner_workspace_bytes + (state->pads ? 2 : 1) * state->spare;
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
    if (i + 1 == state->chunk_count && state->chunk[LAST]) return state->chunk[LAST];
    return i && state->chunk[LATER] ? state->chunk[LATER] : state->chunk[FIRST];
}

/* The grid that chunk i writes. */
static void *output_of(const chunked_state *state, const stn_execution *run, uint64_t i) {
    char *const spare = (char *)run->workspace + state->inner_workspace_bytes;
    if (i + 1 == state->chunk_count) return run->out;
    if (state->pads) return spare + i % 2 * state->spare;
    return (state->chunk_count - 1 - i) % 2 ? (void *)spare : run->out;
}

static uint64_t launches(const stn_plan *plan) { return ((const chunked_state *)plan->state)->chunk_count; }

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    const chunked_state *state = plan->state;
    for (uint64_t i = part.first; i < part.first + part.count; i++) {
        stn_execution each = *run;
        if (i) each.in = output_of(state, run, i - 1);
        each.out = output_of(state, run, i);
        STN_TRY(stn_plan_run_whole(chunk_at(state, i), &each, error));
    }
    return STN_OK;
}

/* ---- descriptions ---------------------------------------------------------------------------- */

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const chunked_state *state = plan->state;
    const stn_plan *chunk = state->chunk[LATER] ? state->chunk[LATER] : state->chunk[FIRST];
    if (format == STN_JSON) {
        stn_json_key(text, "steps"), stn_text_printf(text, "%d", plan->candidate.values[0]);
        stn_json_key(text, "chunks"), stn_text_printf(text, "%llu", (unsigned long long)state->chunk_count);
        stn_json_text(text, "chunk", chunk->strategy->name);
        return;
    }
    stn_text_printf(text, "%llu chunks of %d steps by %s, ", (unsigned long long)state->chunk_count,
                    plan->candidate.values[0], chunk->strategy->name);
    chunk->strategy->describe(chunk, format, text);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    const chunk_sizes sizes = sizes_of(candidate);
    stn_text_printf(text, "%llu chunks of %llu steps", (unsigned long long)(sizes.steps ? chunks_of(task, sizes) : 0),
                    (unsigned long long)sizes.steps);
    if (sizes.first != sizes.steps) stn_text_printf(text, ", the first of %llu", (unsigned long long)sizes.first);
}

static uint64_t shorten(const stn_task *task, const stn_candidate *candidate, uint64_t most, stn_candidate *trial) {
    const chunk_sizes sizes = sizes_of(candidate);
    uint64_t chunks = (uint64_t)stn_max(sizes.first == sizes.steps ? 2 : 3, (int64_t)most);
    if (task->in_place) chunks += chunks % 2; /* the first chunk must not write what it reads */
    *trial = *candidate;
    return chunks < task->steps / sizes.steps ? chunks * sizes.steps : task->steps;
}

const stn_strategy stn_strategy_chunked = {
    .name = "chunked",
    .local = true,
    .sources = true, /* the strategies of the chunks add them */
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
