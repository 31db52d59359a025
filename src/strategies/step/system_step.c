/* Strategy step: systems on a GPU, one launch for each group of assignments in each step. A group's
 * kernel is rendered from the text of its assignments. */
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
#include "strategies/common/system_cost.h"
#include "strategies/common/system_points.h"
#include "strategies/step/step_launch.h"
#include "strategies/table.h"

enum { ROTATE_THREADS = 256 /* threads of a block of system_rotate */ };
/* Largest part of device memory for the arrays of a system whose launches are chained. */
#define MEMORY_PART 0.8

/* Measured on an H200 (waves of orders 4 and 8, diffusion, Maxwell's equations). memory: fraction
 * of the copy bandwidth that a kernel reaches with enough loads in flight. halo: cost of a slot of
 * the halo relative to a slot of the tile. narrow: relative cost that slots of 8 bytes add to that
 * of slots of 16 bytes. latency: of a load from busy memory, in seconds. operand, copy:
 * instructions of a thread for each operand and point, and for each slot that it copies. wide: time
 * of an operand in f64 relative to f32, such that two steps a launch are chosen for diffusion, but
 * not for waves of order 8, as measured. wait: cycles after each instruction in which only other
 * resident warps issue theirs. */
static const struct {
    double memory, halo, narrow, latency, operand, wide, copy, wait;
} rates = {0.95, 0.5, 0.06, 1.1e-6, 1.6, 1.2, 20, 2.5};

/* The launches of a step, or the one launch of several steps. */
typedef struct launch_list {
    step_launch list[STN_SYSTEM_MAX_FIELDS];
    int count;
} launch_list;

typedef struct step_state {
    /* rest: the launches of the last step, if the number of steps is odd and others compute two. */
    launch_list whole, rest;
    stn_system_points sources, receivers;
    stn_kernel *rotate; /* NULL if no field's levels are rotated */
} step_state;

/* Mirrors the struct of system_rotate.cu. */
typedef struct rotate_arguments {
    void *buffer[STN_SYSTEM_MAX_BUFFERS];
    int64_t points;
    int32_t count, by;
} rotate_arguments;

/* ---- choosing */

static bool applies(const stn_system_task *task, const stn_machine *machine, char *reason, size_t size) {
    if (!stn_has_gpu(machine, reason, size)) return false;
    if (stn_system_task_numbers(task) / 64 > INT64_C(0x7fffffff) || task->batch * task->n[0] * task->n[1] > INT32_MAX) {
        snprintf(reason, size, "a launch has fewer blocks than these grids need");
        return false;
    }
    if (task->n[1] * task->n[2] > INT32_MAX) {
        snprintf(reason, size, "a plane of its grid has more than 2^31 - 1 points");
        return false;
    }
    const step_block block = {.x = 128, .y = 1, .vector = 1, .chained = 0, .steps = 1};
    step_group group;
    for (int e = 0; e < task->system->nequations; e += group.count)
        if (!step_group_from(task, machine, &block, e, &group, reason, size)) return false;
    return true;
}

/* The most points along x that a thread reads by one access of at most 16 bytes. */
static int widest(const stn_system_task *task) {
    const int64_t size = (int64_t)stn_dtype_size(task->dtype);
    int vector = task->dtype == STN_F64 ? 2 : 4;
    while (vector > 1 && (task->n[2] % vector || task->alignment % (vector * size))) vector /= 2;
    return vector;
}

/* True if blocks of this shape chain some launch and device memory holds the caller's arrays and
 * the extra buffers of next states that chaining may need. Launches of two steps are tried only on
 * 3D grids. */
static bool is_chained(const stn_system_task *task, const stn_machine *machine, const step_block *block) {
    const int fields = task->system->nfields * block->steps, arrays = task->arrays * (task->in_place ? 1 : 2) + fields;
    const double bytes = (double)stn_system_level_bytes(task) * (arrays + task->system->ncoefficients);
    char reason[200];
    step_group group;
    if (block->steps > 1 && (task->steps < 2 || task->n[0] == 1 || (task->nreceivers && task->record_every % 2)))
        return false;
    if (machine->memory_bytes && bytes > MEMORY_PART * (double)machine->memory_bytes) return false;
    for (int e = 0; e < task->system->nequations; e += group.count) {
        if (!step_group_from(task, machine, block, e, &group, reason, sizeof reason)) return false;
        if (group.later) return true;
    }
    return false;
}

static size_t candidates(const stn_system_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    enum { SHAPES = 5 };
    /* Threads of a block along x and across, for grids of one, two and three dimensions. */
    static const struct {
        int x, y;
    } shapes[3][SHAPES] = {
        {{256, 1}, {128, 1}}, {{128, 1}, {256, 1}, {64, 1}}, {{16, 16}, {32, 8}, {16, 8}, {32, 4}, {16, 32}}};
    const int rank = task->n[0] > 1 ? 2 : task->n[1] > 1 ? 1 : 0;
    /* The last shape, with one block on a multiprocessor, is 7% slower in f64 (diffusion). */
    const bool wide = task->dtype == STN_F64;
    size_t made = 0;
    for (int points = widest(task); points > 0; points /= 2)
        for (int i = 0; i < SHAPES && shapes[rank][i].x && !(wide && i == SHAPES - 1); i++)
            /* steps 0: not chained; 1: chained; 2: chained, two steps a launch */
            for (int steps = 0; steps <= STEP_MAX_STEPS && made < most; steps++) {
                const step_block block = {shapes[rank][i].x, shapes[rank][i].y, points, steps > 0,
                                          (int)stn_max(steps, 1)};
                if (!steps || is_chained(task, machine, &block)) list[made++] = stn_candidate_of(&block, sizeof block);
            }
    return made;
}

STN_CANDIDATE_READER(step_block, block_of)

/* Instructions of a thread for its slot of a plane, with those for halos. */
static double instructions_of(const stn_system_task *task, const step_group *group, const step_block *block) {
    const double operand = rates.operand * (task->dtype == STN_F64 ? rates.wide : 1);
    double operands = 0, copies = 0;
    for (int k = 0; k < group->count; k++) operands += group->operands[k];
    for (int i = 0; i < group->reads.narrays; i++) {
        const step_array *held = &group->storage.arrays[i];
        const double share = step_halo_share(group, i, block);
        if (held->made >= 0)
            operands += group->operands[held->made] * share;
        else
            copies += 1 + ceil(share);
    }
    return operand * operands * block->vector + rates.copy * copies;
}

/* Seconds of one launch: of its bytes or, if longer, of its instructions. The model includes the
 * planes loaded before a march, idle multiprocessors in the last round, too few loads in flight,
 * and arrays without a ring (factor 4). */
static double launch_seconds(const stn_system_task *task, const stn_machine *machine, const step_group *group,
                             const step_block *block, double *load_factor) {
    const step_storage *storage = &group->storage;
    const int march = stn_system_march(task), threads = block->x * block->y;
    const double slot = (double)block->vector * (double)stn_dtype_size(task->dtype);
    const int64_t resident = (int64_t)storage->blocks * machine->multiprocessors;
    const int64_t planes = step_planes(task, block, group, resident);
    const double tiles = (double)(stn_div_up(task->n[2], block->x * block->vector) *
                                  stn_div_up(task->n[1 - march], block->y) * task->batch);
    const double chunks = (double)stn_div_up(task->n[march], planes), rounds = tiles * chunks / (double)resident;
    const double arrays = storage->copied, halo = storage->copies - arrays;
    const double loads = (double)(planes + group->lag + group->back) * (arrays + rates.halo * halo) + storage->refill;
    *load_factor = tiles * threads * block->vector * loads * chunks / (arrays * (double)stn_system_task_numbers(task));
    const double in_flight = (double)resident * threads * slot * storage->copies * storage->ahead;
    const double rate = fmin(rates.memory * machine->copy_bandwidth, in_flight / rates.latency);
    int stores = 0;
    for (int k = 0; k < group->count; k++) stores += step_group_stores(task, group, k);
    const double slots = tiles * chunks * threads * (loads + (double)planes * stores);
    const double memory = slots * slot / rate * (1 + rates.narrow * (16 / fmin(slot, 16) - 1));
    const double issued = machine->clock * machine->multiprocessors * machine->lanes;
    const double waits = rates.wait * machine->lanes / ((double)storage->blocks * threads);
    const double executed = tiles * chunks * threads * (double)(planes + group->lag + group->back) *
                            instructions_of(task, group, block) * (1 + waits);
    return fmax(memory, issued > 0 ? executed / issued : 0) * fmin(fmax(1, ceil(rounds) / rounds), 2) *
           (storage->complete ? 1 : 4);
}

static void estimate(const stn_system_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    const step_block block = block_of(candidate);
    double seconds = 0, load_factor = 1;
    char reason[200];
    step_group group;
    const double steps = (double)stn_div_up((int64_t)task->steps, block.steps) * (double)task->states;
    stn_system_cost(task, result);
    result->launches = 0;
    for (int e = 0; e < task->system->nequations * block.steps; e += group.count) {
        if (!step_group_from(task, machine, &block, e, &group, reason, sizeof reason)) return;
        seconds += launch_seconds(task, machine, &group, &block, &load_factor);
        result->launches += steps;
    }
    const double arithmetic = result->flops / machine->flops[result->unit];
    result->halo_waste = fmax(0, load_factor - 1);
    result->seconds = fmax(seconds * steps, arithmetic) + result->launches * machine->launch_seconds;
}

/* ---- building */

static stn_status make_rotate(stn_plan *plan, step_state *state, stn_error *error) {
    bool rotates = false;
    stn_text params = STN_TEXT_EMPTY;
    for (int f = 0; f < plan->system.system->nfields; f++) rotates = rotates || stn_system_rotation(&plan->system, f);
    if (!rotates) return STN_OK;
    stn_params_begin_for(&params, plan->system.dtype);
    stn_params_int(&params, "THREADS_X", ROTATE_THREADS);
    return stn_kernel_make(plan->kernels, "system_rotate", &params, 0, &state->rotate, error);
}

static stn_status make_launches(stn_plan *plan, const step_block *block, launch_list *made, stn_error *error) {
    const stn_system_task *task = &plan->system;
    for (int e = 0; e < task->system->nequations * block->steps; e += made->list[made->count++].group.count)
        STN_TRY(step_launch_make(plan, e, block, &made->list[made->count], error));
    for (int i = 0; i < made->count; i++)
        for (int f = 0; f < task->system->nfields; f++)
            plan->system.spare[f] =
                (int)stn_max(plan->system.spare[f], step_group_spares(task, &made->list[i].group, f));
    return STN_OK;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    const stn_system_task *task = &plan->system;
    step_state *state = plan->state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    step_block block = block_of(&plan->candidate);
    STN_TRY(make_launches(plan, &block, &state->whole, error));
    if (task->steps % (uint64_t)block.steps) {
        block.chained = 0, block.steps = 1;
        STN_TRY(make_launches(plan, &block, &state->rest, error));
    }
    STN_TRY(stn_system_points_make(plan, true, &state->sources, error));
    STN_TRY(stn_system_points_make(plan, false, &state->receivers, error));
    STN_TRY(make_rotate(plan, state, error));
    plan->workspace_size = stn_system_state_bytes(task);
    return STN_OK;
}

/* ---- a run */

static stn_status copy_level(stn_plan *plan, const stn_system_state *s, int f, int64_t number, void *to, void *stream,
                             stn_error *error) {
    return stn_device_copy(plan->context->device, to, stn_system_state_of(s, f, number),
                           stn_system_level_bytes(s->task), stream, error);
}

/* Copies to the outputs the levels that still are the input's because the run is short; for a stack
 * of snapshots, the levels of state `number` that are kept, to their place in the stack. */
static stn_status copy_levels(stn_plan *plan, const stn_system_state *s, int64_t number, void *stream,
                              stn_error *error) {
    const stn_system_task *task = s->task;
    for (int f = 0; f < task->system->nfields; f++)
        for (int level = 0; level < task->system->fields[f].levels; level++) {
            char *out = s->arrays->out[task->first[f] + level];
            const size_t before =
                task->stack ? (size_t)(number / (int64_t)task->steps - 1) * stn_system_level_bytes(task) : 0;
            if (task->stack ? out != NULL : !task->in_place && number <= level)
                STN_TRY(copy_level(plan, s, f, number - level, out + before, stream, error));
        }
    return STN_OK;
}

static stn_status rotate(const step_state *state, const stn_system_state *s, void *stream, stn_error *error) {
    const int64_t points = stn_system_task_numbers(s->task);
    for (int f = 0; f < s->task->system->nfields; f++) {
        rotate_arguments a = {
            .points = points, .count = stn_system_buffers(s->task, f), .by = stn_system_rotation(s->task, f)};
        if (!a.by) continue;
        memcpy(a.buffer, s->buffers[f], sizeof a.buffer);
        const int64_t blocks = stn_div_up(points, ROTATE_THREADS);
        STN_TRY(stn_kernel_launch(state->rotate, blocks, ROTATE_THREADS, 0, &a, stream, error));
    }
    return STN_OK;
}

static uint64_t launches_of_state(const stn_plan *plan) {
    return (uint64_t)stn_div_up((int64_t)plan->system.steps, block_of(&plan->candidate).steps);
}

static uint64_t launches(const stn_plan *plan) { return launches_of_state(plan) * plan->system.states; }

/* Computes the one or two steps that count as number `which` of launches(). */
static stn_status run_steps(stn_plan *plan, const stn_system_state *s, uint64_t which, void *stream, stn_error *error) {
    const step_state *state = plan->state;
    const stn_system *system = plan->system.system;
    const uint64_t steps = (uint64_t)block_of(&plan->candidate).steps, each = launches_of_state(plan);
    const uint64_t done = which % each * steps, count = stn_min(steps, plan->system.steps - done);
    const int64_t before = (int64_t)(which / each * plan->system.steps + done), number = before + (int64_t)count;
    const launch_list *list = count == steps ? &state->whole : &state->rest;
    for (int i = 0; i < list->count; i++) {
        const step_launch *launch = &list->list[i];
        STN_TRY(step_launch_run(launch, s, before + 1, stream, error));
        for (int e = launch->group.first; count == 1 && e < launch->group.first + launch->group.count; e++) {
            const int field = system->equations[e].field;
            STN_TRY(stn_system_points_add(&state->sources, s->task, s->arrays, field,
                                          stn_system_state_next(s, field, number), number, stream, error));
        }
    }
    const void *fields[STN_SYSTEM_MAX_FIELDS];
    for (int f = 0; f < system->nfields; f++) fields[f] = stn_system_state_of(s, f, number);
    STN_TRY(stn_system_points_record(&state->receivers, s->task, s->arrays, fields, number, stream, error));
    if (!plan->system.stack || number % (int64_t)plan->system.steps) return STN_OK;
    return copy_levels(plan, s, number, stream, error);
}

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    stn_system_state s;
    stn_system_state_begin(&s, &plan->system, run->system, run->workspace);
    for (uint64_t i = part.first; i < part.first + part.count; i++) STN_TRY(run_steps(plan, &s, i, run->stream, error));
    if (part.first + part.count < launches(plan)) return STN_OK;
    if (!plan->system.stack)
        STN_TRY(copy_levels(plan, &s, (int64_t)(plan->system.steps * plan->system.states), run->stream, error));
    return rotate(plan->state, &s, run->stream, error);
}

static void name_block(const step_block *block, stn_text *text) {
    stn_text_printf(text, "blocks of %d x %d threads", block->y, block->x);
    if (block->vector > 1) stn_text_printf(text, " of %d points", block->vector);
    if (block->steps > 1)
        stn_text_printf(text, ", %d steps a launch", block->steps);
    else if (block->chained)
        stn_text_printf(text, ", chained");
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const step_block block = block_of(&plan->candidate);
    if (format == STN_JSON) {
        stn_json_integer(text, "threads_x", block.x);
        stn_json_integer(text, "threads_y", block.y);
        stn_json_integer(text, "vector", block.vector);
        stn_json_integer(text, "chained", block.chained);
        stn_json_integer(text, "steps_per_launch", block.steps);
        return;
    }
    const step_state *state = plan->state;
    if (block.steps == 1)
        stn_text_printf(text, "%d %s a step, ", state->whole.count, state->whole.count == 1 ? "launch" : "launches");
    name_block(&block, text);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    const step_block block = block_of(candidate);
    (void)task;
    name_block(&block, text);
}

static void release(stn_plan *plan) {
    step_state *state = plan->state;
    stn_system_points_clear(plan, &state->sources);
    stn_system_points_clear(plan, &state->receivers);
}

const stn_strategy stn_system_strategy_step = {
    .name = "step",
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
