/* Renders the kernel of one assignment and packs its arguments, as system_step.cu declares them:
 *
 *     pointers to the arrays, the output, and the values that frozen points keep
 *     extents, points, the box that is not frozen     blocks along axes     values */
#include "strategies/step/assignment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/kernel.h"
#include "render/render.h"

#define TOO_MANY_ARRAYS "an assignment reads more arrays than a kernel has arguments for"
#define MOST_QUEUE 96 /* registers of an array's queue */

/* Byte offsets of the parts of the arguments. */
typedef struct argument_offsets {
    size_t out, fixed, tiles, values, end;
} argument_offsets;

static argument_offsets argument_offsets_of(const stn_system_reads *reads, stn_dtype dtype) {
    const size_t arrays = (size_t)reads->narrays, real = dtype == STN_F64 ? 8 : 4;
    argument_offsets p;
    p.out = 8 * arrays;
    p.fixed = p.out + 16;
    p.tiles = p.fixed + 10 * 8;
    p.values = p.tiles + 4 * 4;
    p.end = p.values + (size_t)stn_round_up((int64_t)((size_t)reads->nvalues * real), 8);
    return p;
}

/* Lists what the assignment reads; false if that is too much for a kernel's arguments. */
static bool list_reads(const stn_system_task *task, const stn_system_equation *equation,
                       const stn_system_program *program, stn_system_reads *reads) {
    stn_system_reads_begin(reads);
    if (!stn_system_reads_add(task, program, reads)) return false;
    /* C++ has no empty arrays. */
    if (!reads->narrays) (void)stn_system_reads_array(reads, true, equation->field, 0);
    stn_system_reads_end(task, reads);
    return argument_offsets_of(reads, task->dtype).end <= STN_SYSTEM_MOST_ARGUMENTS;
}

bool step_assignment_reads(const stn_system_task *task, const stn_system_equation *equation, stn_system_reads *reads,
                           char *reason, size_t size) {
    stn_system_program program;
    stn_error why = {STN_OK, ""};
    bool fits = stn_system_code_program(task, equation, &program, &why) == STN_OK;
    if (!fits)
        snprintf(reason, size, "%.150s", why.message);
    else if (!list_reads(task, equation, &program, reads)) {
        snprintf(reason, size, "%s", TOO_MANY_ARRAYS);
        fits = false;
    }
    stn_system_program_clear(&program);
    return fits;
}

/* ---- storage */

/* Slots around a block's tile that it copies for each plane. */
static int surroundings(const stn_system_array *array, const step_block *block, const int around[4]) {
    const int beside = around[2] + around[3];
    return (around[0] + around[1]) * (block->x + (array->corners ? beside : 0)) + block->y * beside;
}

size_t step_most_shared(const stn_machine *machine) {
    return (size_t)stn_min((int64_t)machine->shared_per_block,
                           (int64_t)(machine->shared_per_multiprocessor / 2 - 1024));
}

static step_array hold(const stn_system_array *array, const step_block *block, int words) {
    const int v = block->vector;
    step_array held = {.low = -array->own[0], .high = array->own[1]};
    if ((held.low + 1 + held.high) * words > MOST_QUEUE) held.low = held.high = 0;
    if (array->others) {
        held.before = -array->other[0];
        held.high = (int)stn_max(held.high, array->other[1]);
        held.around[0] = -array->rows[0], held.around[1] = array->rows[1];
        held.around[2] = (int)stn_div_up(-array->points[0], v);
        held.around[3] = (int)stn_div_up(array->points[1], v);
    } else
        held.before = -held.high;
    held.ring = held.before + held.high + 1 + block->ahead;
    return held;
}

void step_storage_of(const stn_system_task *task, const stn_system_reads *reads, const step_block *block, size_t most,
                     step_storage *storage) {
    const size_t slot = (size_t)block->vector * stn_dtype_size(task->dtype);
    const int words = (int)stn_div_up((int64_t)slot, 4);
    /* Addresses and loop counters; values that an evaluation needs at the same time. */
    *storage = (step_storage){.registers = 36 + 4 * words};
    for (int i = 0; i < reads->narrays; i++) {
        step_array *held = &storage->arrays[i];
        *held = hold(&reads->arrays[i], block, words);
        const size_t rows = (size_t)(block->y + held->around[0] + held->around[1]);
        const size_t bytes = (size_t)held->ring * rows * (size_t)(block->x + held->around[2] + held->around[3]) * slot;
        if (storage->shared + bytes > most)
            held->ring = 0;
        else
            storage->shared += bytes;
        storage->registers += words * (held->low + 1 + held->high);
        storage->copies += 1 + (double)surroundings(&reads->arrays[i], block, held->around) / (block->x * block->y);
    }
}

/* A kernel may keep fewer values in registers than were counted. */
int step_storage_blocks(const step_storage *storage, const step_block *block) {
    const double blocks = 65536.0 / ((double)storage->registers * block->x * block->y) + 0.25;
    return (int)fmax(1, fmin(blocks, 2048.0 / (block->x * block->y)));
}

/* ---- kernel text */

static bool freezes(const stn_system_task *task, const stn_system_equation *equation) {
    int64_t begin[3], end[3];
    stn_system_updated_range(task, equation, begin, end);
    bool all = true;
    for (int axis = 0; axis < 3; axis++) all = all && begin[axis] == 0 && end[axis] == task->n[axis];
    return !all;
}

static void render_storage(const step_assignment *a, stn_text *text) {
    int shared[STN_SYSTEM_MOST_ARRAYS], low[STN_SYSTEM_MOST_ARRAYS], high[STN_SYSTEM_MOST_ARRAYS];
    int ring[STN_SYSTEM_MOST_ARRAYS], before[STN_SYSTEM_MOST_ARRAYS], corners[STN_SYSTEM_MOST_ARRAYS];
    const size_t count = (size_t)a->reads.narrays;
    stn_text_printf(text, "constexpr int SYSTEM_AROUND[%zu][4] = {", count);
    for (size_t i = 0; i < count; i++) {
        const step_array *held = &a->storage.arrays[i];
        shared[i] = !a->reads.arrays[i].is_field, corners[i] = a->reads.arrays[i].corners;
        low[i] = held->low, high[i] = held->high, before[i] = held->before, ring[i] = held->ring;
        stn_text_printf(text, "%s{%d, %d, %d, %d}", i ? ", " : "", held->around[0], held->around[1], held->around[2],
                        held->around[3]);
    }
    stn_text_printf(text, "};\n");
    stn_params_ints(text, "SYSTEM_SHARED", shared, count);
    stn_params_ints(text, "SYSTEM_LOW", low, count);
    stn_params_ints(text, "SYSTEM_HIGH", high, count);
    stn_params_ints(text, "SYSTEM_BEFORE", before, count);
    stn_params_ints(text, "SYSTEM_RING", ring, count);
    stn_params_ints(text, "SYSTEM_CORNERS", corners, count);
    stn_params_int(text, "SYSTEM_AHEAD", a->block.ahead);
}

static void render(const stn_system_task *task, step_assignment *a, const stn_system_program *program, stn_text *text) {
    stn_params_begin(text);
    stn_params_elements(text, task->dtype);
    stn_system_render_sides(task, &a->reads, text);
    stn_params_int(text, "SYSTEM_FREEZES", freezes(task, a->equation));
    stn_params_int(text, "SYSTEM_MARCH", stn_system_march(task));
    render_storage(a, text);
    stn_params_int(text, "VECTOR", a->block.vector);
    stn_params_int(text, "THREADS_X", a->block.x);
    stn_params_int(text, "THREADS_Y", a->block.y);
    stn_params_int(text, "SYSTEM_PLANES", a->block.planes);
    stn_params_int(text, "BLOCKS", step_storage_blocks(&a->storage, &a->block));
    stn_params_int(text, "EXPECTED_HEADER", (int64_t)argument_offsets_of(&a->reads, task->dtype).values);
    stn_text_printf(text,
                    "template <class AROUND>\n__device__ __forceinline__ REAL system_value(const AROUND &around) {\n");
    stn_system_render_program(task, &a->reads, program, text);
    stn_text_printf(text, "}\n");
}

/* ---- arguments */

/* Fills all arguments but pointers and numbers. */
static void fill_header(const stn_system_task *task, step_assignment *a) {
    const argument_offsets p = argument_offsets_of(&a->reads, task->dtype);
    int64_t fixed[10] = {task->n[0], task->n[1], task->n[2], stn_system_task_points(task)};
    const uint32_t tiles[4] = {(uint32_t)a->tiles[0], (uint32_t)a->tiles[1], (uint32_t)a->tiles[2], 0};
    stn_system_updated_range(task, a->equation, fixed + 4, fixed + 7);
    memcpy(a->header + p.fixed, fixed, sizeof fixed);
    memcpy(a->header + p.tiles, tiles, sizeof tiles);
    stn_system_put_constants(task, &a->reads, a->header + p.values);
}

stn_status step_assignment_make(stn_plan *plan, const stn_system_equation *equation, step_block block,
                                step_assignment *made, stn_error *error) {
    const stn_system_task *task = &plan->system;
    const int march = stn_system_march(task);
    stn_system_program program;
    memset(made, 0, sizeof *made);
    made->equation = equation;
    made->block = block;
    made->tiles[0] = stn_div_up(task->n[2], block.x * block.vector);
    made->tiles[1] = stn_div_up(task->n[1 - march], block.y);
    made->tiles[2] = stn_div_up(task->n[march], block.planes);
    stn_text params = STN_TEXT_EMPTY;
    stn_status status = stn_system_code_program(task, equation, &program, error);
    if (status == STN_OK && !list_reads(task, equation, &program, &made->reads))
        status = stn_fail(error, STN_ERROR_UNSUPPORTED, "%s", TOO_MANY_ARRAYS);
    if (status == STN_OK) {
        step_storage_of(task, &made->reads, &block, step_most_shared(&plan->machine), &made->storage);
        made->arguments = argument_offsets_of(&made->reads, task->dtype).end;
        render(task, made, &program, &params);
        fill_header(task, made);
        status = stn_kernel_make(plan->context, "system_step", &params, made->storage.shared, &made->kernel, error);
    }
    stn_system_program_clear(&program);
    if (status == STN_OK) stn_plan_list_kernel(plan, made->kernel);
    return status;
}

stn_status step_assignment_run(const step_assignment *a, const stn_system_state *state, int64_t number, void *stream,
                               stn_error *error) {
    const stn_system_task *task = state->task;
    const argument_offsets p = argument_offsets_of(&a->reads, task->dtype);
    const int field = a->equation->field;
    _Alignas(16) unsigned char arguments[STN_SYSTEM_MOST_ARGUMENTS];
    const void *array;
    memcpy(arguments, a->header, a->arguments);
    for (int i = 0; i < a->reads.narrays; i++) {
        const stn_system_array *each = &a->reads.arrays[i];
        array = !each->is_field                  ? state->arrays->coefficients[each->index]
                : each->level == STN_SYSTEM_NEXT ? stn_system_state_next(state, each->index, number)
                                                 : stn_system_state_of(state, each->index, number - 1 - each->level);
        memcpy(arguments + 8 * (size_t)i, &array, sizeof array);
    }
    const void *const ends[2] = {stn_system_state_next(state, field, number),
                                 stn_system_state_of(state, field, number - 1)};
    memcpy(arguments + p.out, ends, sizeof ends);
    stn_system_put_numbers(task, &a->reads, state->arrays->numbers, arguments + p.values);
    const int64_t blocks = a->tiles[0] * a->tiles[1] * a->tiles[2] * task->batch;
    const stn_launch launch = {.grid = {(unsigned)blocks, 1, 1},
                               .block = {(unsigned)a->block.x, (unsigned)a->block.y, 1},
                               .shared = a->storage.shared,
                               .stream = stream};
    return stn_module_launch(a->kernel->module, &launch, arguments, error);
}
