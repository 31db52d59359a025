/* Strategy fused: 2D systems on a GPU, several steps a launch, in tiles that march along axis 0;
 * shared memory holds the rows of all steps. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/cheapest.h"
#include "base/error.h"
#include "context/context.h"
#include "plan/plan.h"
#include "problem/system_state.h"
#include "strategies/common/system_points.h"
#include "strategies/fused/fused_run.h"
#include "strategies/table.h"

enum {
    ALIGNED = 256,
    MAX_INSTRUCTIONS = 6000, /* of a kernel; ten take about 1 ms to compile */
    MAX_CANDIDATES = 8,
    /* Bytes. Accesses of 16 bytes were slower (H200): in f64 by 4%, in f32, with four columns a
     * thread, by 9%. */
    MAX_ACCESS = 8
};

/* The fraction of the copy bandwidth that kernels reach; instructions of a thread, counted in the
 * machine code: for each operation on a point, and in each iteration for each array that a launch
 * moves and each element that a pass loads from shared memory. */
static const struct { double memory, operation, moved, fetched; } rates = {0.8, 0.53, 45, 5};

typedef struct fused_state {
    fused_reads reads;
    stn_system_points sources, receivers;
    fused_kernel whole, rest; /* launches of `depth` steps, and the last one of fewer steps */
} fused_state;

/* ---- choosing */

STN_CANDIDATE_READER(fused_shape, shape_of)

/* Whether an assignment reads a next state to which sources have been added. */
static bool reads_sources(const stn_system_task *task, const fused_reads *reads) {
    for (size_t i = 0; i < task->nsources; i++)
        for (int a = 0; a < reads->reads.narrays; a++) {
            const stn_system_array *each = &reads->reads.arrays[a];
            if (each->is_field && each->level == STN_SYSTEM_NEXT && (size_t)each->index == task->sources[i].field)
                return true;
        }
    return false;
}

/* Whether sources and receivers only need the states at the ends of launches of `depth` steps. */
static bool ends_at_points(const stn_system_task *task, int depth) {
    return depth == 1 || (!task->nsources && (!task->nreceivers || task->record_every % (uint64_t)depth == 0));
}

static bool applies(const stn_system_task *task, const stn_machine *machine, char *reason, size_t size) {
    if (!stn_has_gpu(machine, reason, size)) return false;
    if (task->rank != 2) {
        snprintf(reason, size, "it serves grids of 2 axes");
        return false;
    }
    if (stn_system_task_numbers(task) / 64 > INT64_C(0x7fffffff)) {
        snprintf(reason, size, "a launch has fewer blocks than these grids need");
        return false;
    }
    fused_reads *reads = malloc(sizeof *reads);
    stn_error why = {STN_OK, ""};
    bool fits = reads && fused_reads_make(task, reads, &why) == STN_OK;
    if (!fits)
        snprintf(reason, size, "%.150s", reads ? why.message : "out of memory");
    else if (reads_sources(task, reads)) {
        snprintf(reason, size, "an assignment reads the next state of a field with sources");
        fits = false;
    }
    free(reads);
    return fits;
}

/* The number of rows of a block: with few, all multiprocessors are busy; with many, fewer rows are
 * computed twice. */
static int fit_chunk(int64_t n, int64_t tiles, int64_t resident, int extra, int rows) {
    int best = 0;
    double least = INFINITY;
    for (int64_t chunks = 1; chunks <= 64 && chunks <= n; chunks++) {
        const int64_t chunk = stn_round_up(stn_div_up(n, chunks), rows);
        const double cost = (double)stn_div_up(tiles * stn_div_up(n, chunk), resident) * (double)(chunk + extra);
        if (cost < least) least = cost, best = (int)chunk;
    }
    return best;
}

/* Ratio of the rows of a node that a block computes to the block's own rows; likewise of points. */
static double rows_of(const fused_node *node, const fused_shape *shape) {
    return (double)(shape->chunk + node->rows[0] + node->rows[1]) / shape->chunk;
}

static double work_of(const fused_node *node, const fused_shape *shape) {
    return rows_of(node, shape) * (shape->columns + node->columns[0] + node->columns[1]) / shape->columns;
}

/* The most threads of a multiprocessor for which there are registers. */
static int threads_of_multiprocessor(int vector) { return vector == 1 ? 1024 : 768; }

/* Completes a shape whose threads are known; false if it does not fit the machine. */
static bool complete_shape(const stn_system_task *task, const stn_machine *machine, const fused_reads *reads,
                           fused_shape *shape) {
    fused_schedule s;
    if (!fused_schedule_make(task, reads, shape, &s)) return false;
    if (fused_argument_bytes(task, reads, &s) > STN_SYSTEM_MAX_ARGUMENTS) return false;
    const int threads = shape->x / shape->vector;
    const size_t shared = (size_t)s.slots * (size_t)shape->x * stn_dtype_size(task->dtype);
    if (shared > machine->shared_per_block) return false;
    shape->blocks = (int)stn_max(1, stn_min((int64_t)(machine->shared_per_multiprocessor / (shared + 1024)),
                                            threads_of_multiprocessor(shape->vector) / threads));
    shape->columns = shape->x - s.margin[0] - s.margin[1];
    const int64_t n = task->n[1], tiles = stn_div_up(task->n[2], shape->columns) * task->batch;
    shape->extra = (s.end - s.begin) * shape->rows;
    shape->chunk = fit_chunk(n, tiles, (int64_t)machine->multiprocessors * shape->blocks, shape->extra, shape->rows);
    const int64_t blocks = tiles * stn_div_up(n, shape->chunk);
    if (blocks > INT32_MAX || n + shape->chunk > INT32_MAX / 2) return false;
    shape->tiles = (int)blocks;
    const int each = shape->rows * shape->vector; /* points of a thread in an iteration */
    double moved = s.noutputs, operations = 0, text = 0, executed = rates.moved * s.noutputs / each;
    for (int i = 0; i < s.ninputs; i++) {
        moved += work_of(&s.nodes[i], shape);
        executed += rows_of(&s.nodes[i], shape) * rates.moved / each;
    }
    for (int j = 0; j < s.npasses; j++) {
        const fused_node *node = &s.nodes[s.ninputs + j];
        const int e = s.equation[j];
        operations += work_of(node, shape) * reads->operations[e];
        executed +=
            rows_of(node, shape) * (rates.operation * reads->operations[e] + rates.fetched * reads->fetched[e] / each);
        text += reads->instructions[e] * (1 + each);
    }
    executed *= (double)shape->x / shape->columns; /* warps execute for all columns */
    shape->moved = (int)fmin(1000 * moved, INT32_MAX);
    shape->operations = (int)operations, shape->instructions = (int)fmin(1000 * executed, INT32_MAX);
    return text <= MAX_INSTRUCTIONS;
}

/* Fills bytes, flops and seconds. After each instruction a warp waits for one cycle, or for two in
 * f64; meanwhile other resident warps issue their instructions (measured on an H200). */
static void estimate(const stn_system_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    const fused_shape shape = shape_of(candidate);
    const bool wide = task->dtype == STN_F64;
    const double launches = (double)task->states * (double)stn_div_up((int64_t)task->steps, shape.depth);
    const double points = (double)stn_system_task_numbers(task);
    const double resident = (double)machine->multiprocessors * shape.blocks;
    const double even = shape.tiles / (resident * ceil(shape.tiles / resident));
    *result = (stn_estimate){.unit = wide ? STN_UNIT_FMA_F64 : STN_UNIT_FMA_F32, .stepping = true};
    result->launches = launches;
    result->bytes = launches * points * shape.moved / 1000 * (double)stn_dtype_size(task->dtype);
    result->flops = launches * points * shape.operations;
    result->halo_waste = (double)shape.x / shape.columns - 1;
    const double memory = result->bytes / (machine->copy_bandwidth * rates.memory);
    const double issued = machine->clock * machine->multiprocessors * machine->lanes;
    const double waits = (wide ? 2.0 : 1.0) * machine->lanes * shape.vector / (shape.blocks * shape.x);
    const double issue = issued > 0 ? launches * points * shape.instructions / 1000 * (1 + waits) / issued : 0;
    result->seconds = fmax(memory, issue) / even + launches * machine->launch_seconds;
}

typedef struct search {
    const stn_system_task *task;
    const stn_machine *machine;
    fused_reads reads;
    stn_candidate *list;
    double costs[MAX_CANDIDATES];
    size_t count, most;
} search;

static void consider(search *s, fused_shape shape) {
    const int64_t access = shape.vector * (int64_t)stn_dtype_size(s->task->dtype);
    if (shape.vector > 1 && (access > MAX_ACCESS || s->task->n[2] % shape.vector || s->task->alignment % access))
        return;
    if ((uint64_t)shape.depth > s->task->steps || !ends_at_points(s->task, shape.depth) ||
        !complete_shape(s->task, s->machine, &s->reads, &shape))
        return;
    const stn_candidate candidate = stn_candidate_of(&shape, sizeof shape);
    stn_estimate cost;
    estimate(s->task, s->machine, &candidate, &cost);
    stn_candidate *at = stn_cheapest_insert(s->list, s->costs, sizeof candidate, &s->count, s->most, cost.seconds);
    if (at) *at = candidate;
}

static size_t candidates(const stn_system_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    /* Columns, rows of an iteration, adjacent columns of a thread. */
    static const int blocks[][3] = {{256, 4, 2}, {384, 4, 2}, {512, 4, 2}, {256, 4, 1},
                                    {512, 4, 1}, {128, 4, 1}, {512, 2, 1}};
    static const int depths[] = {1, 2, 3, 4, 6, 8};
    search *s = calloc(1, sizeof *s);
    stn_error ignored = {STN_OK, ""};
    if (!s) return 0;
    s->task = task, s->machine = machine, s->list = list, s->most = (size_t)stn_min((int64_t)most, MAX_CANDIDATES);
    if (fused_reads_make(task, &s->reads, &ignored) == STN_OK)
        for (size_t d = 0; d < sizeof depths / sizeof *depths; d++)
            for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
                consider(s, (fused_shape){
                                .depth = depths[d], .x = blocks[i][0], .rows = blocks[i][1], .vector = blocks[i][2]});
    const size_t made = s->count;
    free(s);
    return made;
}

/* ---- building */

static size_t level_stride(const stn_system_task *task) {
    return (size_t)stn_round_up((int64_t)stn_system_level_bytes(task), ALIGNED);
}

static uint64_t launches_of_state(const stn_plan *plan) {
    return (uint64_t)stn_div_up((int64_t)plan->system.steps, shape_of(&plan->candidate).depth);
}

static uint64_t launches(const stn_plan *plan) { return launches_of_state(plan) * plan->system.states; }

static stn_status prepare(stn_plan *plan, stn_error *error) {
    const stn_system_task *task = &plan->system;
    fused_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    fused_shape shape = shape_of(&plan->candidate);
    const int rest = (int)(task->steps % (uint64_t)shape.depth);
    STN_TRY(fused_reads_make(task, &state->reads, error));
    STN_TRY(fused_kernel_make(plan, &state->reads, &shape, &state->whole, error));
    shape.depth = rest;
    if (rest) STN_TRY(fused_kernel_make(plan, &state->reads, &shape, &state->rest, error));
    STN_TRY(stn_system_points_make(plan, true, &state->sources, error));
    STN_TRY(stn_system_points_make(plan, false, &state->receivers, error));
    const size_t sets = task->stack ? 2 : launches(plan) > 1 || task->in_place ? 1 : 0;
    plan->workspace_size = sets * (size_t)task->arrays * level_stride(task);
    return STN_OK;
}

/* ---- a run */

/* A launch reads all levels from one set of arrays and writes another one: a run alternates between
 * two. Without a stack they are the outputs and the workspace, and the last launch writes the
 * outputs; in place an odd number of launches begins with a copy in the workspace. */
typedef struct sets {
    const void *in[STN_SYSTEM_MAX_ARRAYS];
    void *set[2][STN_SYSTEM_MAX_ARRAYS];
    uint64_t launches;
} sets;

static sets sets_of(const stn_plan *plan, const stn_execution *run) {
    const stn_system_task *task = &plan->system;
    sets s = {.launches = launches(plan)};
    char *own = run->workspace;
    for (int i = 0; i < task->arrays; i++) {
        s.in[i] = run->system->in[i];
        s.set[0][i] = task->stack ? own + (size_t)(task->arrays + i) * level_stride(task) : run->system->out[i];
        s.set[1][i] = own ? own + (size_t)i * level_stride(task) : NULL;
    }
    return s;
}

static bool begins_with_copy(const stn_plan *plan) { return plan->system.in_place && launches(plan) % 2; }

/* The set that launch `number` writes. */
static int written(const sets *s, uint64_t number) { return (int)((s->launches - 1 - number) % 2); }

static stn_status copy_level(stn_plan *plan, void *to, const void *from, void *stream, stn_error *error) {
    return stn_device_copy(plan->context->device, to, from, stn_system_level_bytes(&plan->system), stream, error);
}

static stn_status run_launch(stn_plan *plan, const sets *s, uint64_t number, const stn_execution *run,
                             stn_error *error) {
    const fused_state *state = plan->state;
    const stn_system_task *task = &plan->system;
    const uint64_t in_state = number % launches_of_state(plan), depth = (uint64_t)state->whole.shape.depth;
    const fused_kernel *kernel = (in_state + 1) * depth <= task->steps ? &state->whole : &state->rest;
    void *const *to = s->set[written(s, number)];
    const void *const *from =
        number || begins_with_copy(plan) ? (const void *const *)s->set[!written(s, number)] : s->in;
    STN_TRY(fused_kernel_run(kernel, task, &state->reads, run->system, from, to, run->stream, error));
    for (int f = 0; f < task->system->nfields; f++)
        for (int level = kernel->shape.depth; level < task->system->fields[f].levels; level++)
            STN_TRY(copy_level(plan, to[task->first[f] + level], from[task->first[f] + level - kernel->shape.depth],
                               run->stream, error));
    const int64_t reached = (int64_t)(number / launches_of_state(plan) * task->steps +
                                      stn_min((int64_t)((in_state + 1) * depth), (int64_t)task->steps));
    const void *fields[STN_SYSTEM_MAX_FIELDS];
    for (int f = 0; f < task->system->nfields; f++) {
        fields[f] = to[task->first[f]];
        STN_TRY(stn_system_points_add(&state->sources, task, run->system, f, to[task->first[f]], reached, run->stream,
                                      error));
    }
    STN_TRY(stn_system_points_record(&state->receivers, task, run->system, fields, reached, run->stream, error));
    if (!task->stack || in_state + 1 < launches_of_state(plan)) return STN_OK;
    const size_t before = (size_t)(number / launches_of_state(plan)) * stn_system_level_bytes(task);
    for (int i = 0; i < task->arrays; i++)
        if (run->system->out[i])
            STN_TRY(copy_level(plan, (char *)run->system->out[i] + before, to[i], run->stream, error));
    return STN_OK;
}

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    const sets s = sets_of(plan, run);
    for (int i = 0; !part.first && begins_with_copy(plan) && i < plan->system.arrays; i++)
        STN_TRY(copy_level(plan, s.set[1][i], s.in[i], run->stream, error));
    for (uint64_t i = part.first; i < part.first + part.count; i++) STN_TRY(run_launch(plan, &s, i, run, error));
    return STN_OK;
}

/* ---- description */

static void name_shape(const fused_shape *shape, stn_text *text) {
    stn_text_printf(text, "%d step%s a launch, tiles of %d columns, %d a thread, %d rows an iteration, chunks of %d",
                    shape->depth, shape->depth > 1 ? "s" : "", shape->x, shape->vector, shape->rows, shape->chunk);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const fused_shape shape = shape_of(&plan->candidate);
    if (format == STN_JSON) {
        stn_json_integer(text, "steps_per_launch", shape.depth);
        stn_json_integer(text, "threads_x", shape.x / shape.vector);
        stn_json_integer(text, "vector", shape.vector);
        stn_json_integer(text, "rows", shape.rows);
        stn_json_integer(text, "chunk", shape.chunk);
        return;
    }
    name_shape(&shape, text);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    const fused_shape shape = shape_of(candidate);
    (void)task;
    name_shape(&shape, text);
}

static void release(stn_plan *plan) {
    fused_state *state = plan->state;
    stn_system_points_clear(plan, &state->sources);
    stn_system_points_clear(plan, &state->receivers);
}

const stn_strategy stn_system_strategy_fused = {
    .name = "fused",
    .system.applies = applies,
    .system.candidates = candidates,
    .system.estimate = estimate,
    .prepare = prepare,
    .describe = describe,
    .name_candidate = name_candidate,
    .release = release,
    .launches = launches,
    .execute_part = execute_part,
    .local = true,
};
