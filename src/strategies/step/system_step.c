/* Strategy step: systems on a GPU, one launch for each assignment of each step. The kernel of an
 * assignment is rendered from its text. */
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
#include "strategies/step/assignment.h"
#include "strategies/table.h"

enum { ROTATED = 256 /* threads of a block of system_rotate */ };

/* Fractions of the copy bandwidth: threads whose neighbours along z come from L2, and threads that
 * march along z; with one point a thread (H200, waves of order 8), and with several. */
static const struct { double flat, marching, wide_flat, wide_marching; } rates = {0.2, 0.3, 0.45, 0.55};

typedef struct step_state {
    step_assignment assignments[STN_SYSTEM_MAX_FIELDS]; /* one for each equation */
    stn_system_points sources, receivers;
    stn_kernel *rotate; /* NULL if no field's levels are rotated */
} step_state;

/* Same as in system_rotate.cu. */
typedef struct rotate_arguments {
    void *buffer[STN_SYSTEM_MAX_BUFFERS];
    int64_t points;
    int32_t count, by;
} rotate_arguments;

/* ---- choosing */

static bool applies(const stn_system_task *task, const stn_machine *machine, char *reason, size_t size) {
    if (!machine->is_device) {
        snprintf(reason, size, "it needs a GPU and this context is for the host");
        return false;
    }
    if (stn_system_task_numbers(task) / 64 > INT64_C(0x7fffffff) || task->batch * task->n[0] * task->n[1] > INT32_MAX) {
        snprintf(reason, size, "a launch has fewer blocks than these grids need");
        return false;
    }
    for (int e = 0; e < task->system->nequations; e++)
        if (!step_assignment_fits(task, &task->system->equations[e], reason, size)) return false;
    return true;
}

/* The largest number of planes that an assignment reads; with more than one, marching along z reads
 * less. */
static int planes_read(const stn_system_task *task) {
    int most = 0;
    for (int e = 0; e < task->system->nequations; e++) {
        const int *reach = task->system->equations[e].reach[0];
        if (reach[0] + reach[1] > most) most = reach[0] + reach[1];
    }
    return most;
}

/* The most points along x that a thread reads by one access of at most 16 bytes. */
static int widest(const stn_system_task *task) {
    const int64_t size = (int64_t)stn_dtype_size(task->dtype);
    int vector = task->dtype == STN_F64 ? 2 : 4;
    while (vector > 1 && (task->n[2] % vector || task->alignment % (vector * size))) vector /= 2;
    return vector;
}

static size_t candidates(const stn_system_task *task, const stn_machine *machine, stn_candidate *list, size_t most) {
    static const step_block line[] = {{256, 1, 1, 1}, {128, 1, 1, 1}}, flat[] = {{32, 4, 1, 1}, {64, 4, 1, 1}},
                            marching[] = {{32, 4, 64, 1}, {32, 16, 64, 1}, {32, 8, 64, 1}};
    const int vector = widest(task);
    size_t made = 0;
    (void)machine;
    for (int points = vector; points > 0; points /= 2) {
        step_block block;
        for (size_t i = 0; task->n[1] == 1 && i < sizeof line / sizeof *line && made < most; i++) {
            block = line[i], block.vector = points;
            list[made++] = stn_candidate_of(&block, sizeof block);
        }
        for (size_t i = 0; task->n[1] > 1 && i < sizeof flat / sizeof *flat && made < most; i++) {
            block = flat[i], block.vector = points;
            list[made++] = stn_candidate_of(&block, sizeof block);
        }
        for (size_t i = 0; planes_read(task) && i < sizeof marching / sizeof *marching && made < most; i++) {
            block = marching[i], block.vector = points;
            list[made++] = stn_candidate_of(&block, sizeof block);
        }
    }
    return made;
}

static step_block block_of(const stn_candidate *candidate) {
    step_block block;
    memcpy(&block, candidate->values, sizeof block);
    return block;
}

/* Threads past the end of rows and planes are idle; a marching block begins with planes that its
 * predecessor has read as well; few blocks leave multiprocessors idle. */
static void estimate(const stn_system_task *task, const stn_machine *machine, const stn_candidate *candidate,
                     stn_estimate *result) {
    const step_block block = block_of(candidate);
    const int planes = planes_read(task), width = block.x * block.vector;
    /* Threads, with the registers that assignments need. */
    const double resident = 1536.0 * machine->multiprocessors;
    stn_system_cost(task, result);
    const double wide = (double)stn_round_up(task->n[2], width) / (double)task->n[2];
    const double high = (double)stn_round_up(task->n[1], block.y) / (double)task->n[1];
    const double tiles = (double)(stn_div_up(task->n[2], width) * stn_div_up(task->n[1], block.y));
    const double threads = tiles * (double)(stn_div_up(task->n[0], block.planes) * task->batch) * block.x * block.y;
    const double again = block.planes > 1 ? 1 + 0.25 * planes / block.planes : 1;
    const bool marches = block.planes > 1;
    const double share =
        block.vector > 1 ? (marches ? rates.wide_marching : rates.wide_flat) : (marches ? rates.marching : rates.flat);
    const double rate = share * fmin(1, threads * block.vector / resident);
    const double memory = result->bytes * again / (machine->copy_bandwidth * fmax(rate, 0.01));
    const double arithmetic = result->flops * wide * high / machine->flops[result->unit];
    result->halo_waste = again - 1;
    result->seconds =
        fmax(memory, arithmetic) * (1 + 0.01 * (wide * high - 1)) + result->launches * machine->launch_seconds;
}

/* ---- building */

static stn_status make_rotate(stn_plan *plan, step_state *state, stn_error *error) {
    bool rotates = false;
    stn_text params = STN_TEXT_EMPTY;
    for (int f = 0; f < plan->system.system->nfields; f++) rotates = rotates || stn_system_rotation(&plan->system, f);
    if (!rotates) return STN_OK;
    stn_params_begin(&params);
    stn_params_elements(&params, plan->system.dtype);
    stn_params_int(&params, "THREADS_X", ROTATED);
    STN_TRY(stn_kernel_make(plan->context, "system_rotate", &params, 0, &state->rotate, error));
    stn_plan_list_kernel(plan, state->rotate);
    return STN_OK;
}

static stn_status prepare(stn_plan *plan, stn_error *error) {
    const stn_system_task *task = &plan->system;
    step_state *state = calloc(1, sizeof *state);
    if (!state) return stn_fail_memory(error, "a plan", sizeof *state);
    plan->state = state;
    for (int e = 0; e < task->system->nequations; e++)
        STN_TRY(step_assignment_make(plan, &task->system->equations[e], block_of(&plan->candidate),
                                     &state->assignments[e], error));
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

/* Copies levels that are older than the run, and those of a snapshot stack after state `number`. */
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
        const stn_launch shape = {
            .grid = {(unsigned)stn_div_up(points, ROTATED), 1, 1}, .block = {ROTATED, 1, 1}, .stream = stream};
        STN_TRY(stn_module_launch(state->rotate->module, &shape, &a, error));
    }
    return STN_OK;
}

static stn_status run_step(stn_plan *plan, const stn_system_state *s, int64_t number, void *stream, stn_error *error) {
    const step_state *state = plan->state;
    const stn_system *system = plan->system.system;
    for (int e = 0; e < system->nequations; e++) {
        STN_TRY(step_assignment_run(&state->assignments[e], s, number, stream, error));
        const int field = system->equations[e].field;
        STN_TRY(stn_system_points_add(&state->sources, s->task, s->arrays, field,
                                      stn_system_state_next(s, field, number), number, stream, error));
    }
    const void *fields[STN_SYSTEM_MAX_FIELDS];
    for (int f = 0; f < system->nfields; f++) fields[f] = stn_system_state_of(s, f, number);
    STN_TRY(stn_system_points_record(&state->receivers, s->task, s->arrays, fields, number, stream, error));
    if (!plan->system.stack || number % (int64_t)plan->system.steps) return STN_OK;
    return copy_levels(plan, s, number, stream, error);
}

static uint64_t launches(const stn_plan *plan) { return plan->system.steps * plan->system.states; }

static stn_status execute_part(stn_plan *plan, stn_part part, const stn_execution *run, stn_error *error) {
    stn_system_state s;
    stn_system_state_begin(&s, &plan->system, run->system, run->workspace);
    for (uint64_t i = part.first; i < part.first + part.count; i++)
        STN_TRY(run_step(plan, &s, (int64_t)i + 1, run->stream, error));
    if (part.first + part.count < launches(plan)) return STN_OK;
    if (!plan->system.stack) STN_TRY(copy_levels(plan, &s, (int64_t)launches(plan), run->stream, error));
    return rotate(plan->state, &s, run->stream, error);
}

static void name_block(const step_block *block, stn_text *text) {
    stn_text_printf(text, "blocks of %d x %d", block->y, block->x);
    if (block->vector > 1) stn_text_printf(text, " threads of %d points", block->vector);
    if (block->planes > 1) stn_text_printf(text, ", marching through %d planes", block->planes);
}

static void describe(const stn_plan *plan, stn_format format, stn_text *text) {
    const step_block block = block_of(&plan->candidate);
    if (format == STN_JSON) {
        stn_json_integer(text, "threads_x", block.x);
        stn_json_integer(text, "threads_y", block.y);
        stn_json_integer(text, "planes", block.planes);
        stn_json_integer(text, "vector", block.vector);
        return;
    }
    stn_text_printf(text, "one launch an assignment, ");
    name_block(&block, text);
}

static void name_candidate(const stn_task *task, const stn_candidate *candidate, stn_text *text) {
    const step_block block = block_of(candidate);
    (void)task;
    name_block(&block, text);
}

static void release(stn_plan *plan) {
    step_state *state = plan->state;
    if (!state) return;
    stn_system_points_clear(plan, &state->sources);
    stn_system_points_clear(plan, &state->receivers);
    free(state);
    plan->state = NULL;
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
