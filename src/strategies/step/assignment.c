/* Renders the kernel of one assignment and packs its arguments, as system_step.cu declares them:
 *
 *     pointers to the arrays, the output, and the values that frozen points keep
 *     extents, points, the box that is not frozen     blocks along axes     values */
#include "strategies/step/assignment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "context/kernel.h"
#include "render/render.h"

#define SHORT_PROGRAM 200 /* instructions of a program whose registers are limited */

/* Byte offsets of the parts of the arguments. */
typedef struct argument_offsets {
    size_t out, fixed, tiles, values, end;
} argument_offsets;

static argument_offsets argument_offsets_of(const step_assignment *a, stn_dtype dtype) {
    const size_t arrays = (size_t)a->reads.narrays, real = dtype == STN_F64 ? 8 : 4;
    argument_offsets p;
    p.out = 8 * arrays;
    p.fixed = p.out + 16;
    p.tiles = p.fixed + 10 * 8;
    p.values = p.tiles + 4 * 4;
    p.end = p.values + (size_t)stn_round_up((int64_t)((size_t)a->reads.nvalues * real), 8);
    return p;
}

/* Lists what the assignment reads; false if that is too much for a kernel's arguments. */
static bool list_reads(const stn_system_task *task, const stn_system_program *program, step_assignment *a) {
    stn_system_reads_begin(&a->reads);
    if (!stn_system_reads_add(task, program, &a->reads)) return false;
    /* C++ has no empty arrays. */
    if (!a->reads.narrays) (void)stn_system_reads_array(&a->reads, true, a->equation->field, 0);
    stn_system_reads_end(task, &a->reads);
    return argument_offsets_of(a, task->dtype).end <= STN_SYSTEM_MOST_ARGUMENTS;
}

bool step_assignment_fits(const stn_system_task *task, const stn_system_equation *equation, char *reason, size_t size) {
    stn_system_program program;
    step_assignment *a = calloc(1, sizeof *a);
    stn_error why = {STN_OK, ""};
    bool fits = a != NULL;
    if (a) {
        a->equation = equation;
        fits = stn_system_code_program(task, equation, &program, &why) == STN_OK;
        if (!fits)
            snprintf(reason, size, "%.150s", why.message);
        else if (!list_reads(task, &program, a)) {
            snprintf(reason, size, "an assignment reads more arrays than a kernel has arguments for");
            fits = false;
        }
        stn_system_program_clear(&program);
    } else
        snprintf(reason, size, "out of memory");
    free(a);
    return fits;
}

static bool freezes(const stn_system_task *task, const stn_system_equation *equation) {
    int64_t begin[3], end[3];
    stn_system_updated_range(task, equation, begin, end);
    bool all = true;
    for (int axis = 0; axis < 3; axis++) all = all && begin[axis] == 0 && end[axis] == task->n[axis];
    return !all;
}

/* Planes of an array that a marching thread holds in registers; 0: none. */
static int queue_of(const step_assignment *a, const stn_system_array *array) {
    return a->block.planes > 1 && array->below + array->above ? array->below + array->above + 1 : 0;
}

static void render_queues(const step_assignment *a, stn_text *text) {
    int shared[STN_SYSTEM_MOST_ARRAYS], queue[STN_SYSTEM_MOST_ARRAYS], low[STN_SYSTEM_MOST_ARRAYS];
    const size_t count = (size_t)a->reads.narrays;
    for (size_t i = 0; i < count; i++) {
        shared[i] = !a->reads.arrays[i].is_field;
        queue[i] = queue_of(a, &a->reads.arrays[i]);
        low[i] = a->reads.arrays[i].below;
    }
    stn_params_ints(text, "SYSTEM_SHARED", shared, count);
    stn_params_ints(text, "SYSTEM_QUEUE", queue, count);
    stn_params_ints(text, "SYSTEM_QUEUE_LOW", low, count);
}

/* Blocks that must fit on a multiprocessor, which limits registers. For a thread whose points are
 * one word, 80 suffice for short assignments and allow enough loads in flight; for two words 128,
 * for four 168. */
static int resident_blocks(const stn_system_task *task, const step_assignment *a, const stn_system_program *program) {
    const int words = a->block.vector * (task->dtype == STN_F64 ? 2 : 1);
    const int threads = program->count > SHORT_PROGRAM ? 0 : words > 2 ? 384 : words > 1 ? 512 : 768;
    return (int)stn_max(1, threads / (a->block.x * a->block.y));
}

static void render(const stn_system_task *task, step_assignment *a, const stn_system_program *program, stn_text *text) {
    int reach[6];
    for (int i = 0; i < 6; i++) reach[i] = a->equation->reach[i / 2][i % 2];
    stn_params_begin(text);
    stn_params_elements(text, task->dtype);
    stn_system_render_sides(task, &a->reads, text);
    stn_params_ints(text, "SYSTEM_REACH", reach, 6);
    stn_params_int(text, "SYSTEM_FREEZES", freezes(task, a->equation));
    render_queues(a, text);
    stn_params_int(text, "VECTOR", a->block.vector);
    stn_params_int(text, "THREADS_X", a->block.x);
    stn_params_int(text, "THREADS_Y", a->block.y);
    stn_params_int(text, "SYSTEM_PLANES", a->block.planes);
    stn_params_int(text, "BLOCKS", resident_blocks(task, a, program));
    stn_params_int(text, "EXPECTED_HEADER", (int64_t)argument_offsets_of(a, task->dtype).values);
    stn_text_printf(text,
                    "template <class AROUND>\n__device__ __forceinline__ REAL system_value(const AROUND &around) {\n");
    stn_system_render_program(task, &a->reads, program, text);
    stn_text_printf(text, "}\n");
}

/* ---- arguments */

/* Fills all arguments but pointers and numbers. */
static void fill_header(const stn_system_task *task, step_assignment *a) {
    const argument_offsets p = argument_offsets_of(a, task->dtype);
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
    stn_system_program program;
    memset(made, 0, sizeof *made);
    made->equation = equation;
    made->block = block;
    made->tiles[0] = stn_div_up(task->n[2], block.x * block.vector);
    made->tiles[1] = stn_div_up(task->n[1], block.y);
    made->tiles[2] = stn_div_up(task->n[0], block.planes);
    stn_text params = STN_TEXT_EMPTY;
    stn_status status = stn_system_code_program(task, equation, &program, error);
    if (status == STN_OK && !list_reads(task, &program, made))
        status =
            stn_fail(error, STN_ERROR_UNSUPPORTED, "an assignment reads more arrays than a kernel has arguments for");
    if (status == STN_OK) {
        made->arguments = argument_offsets_of(made, task->dtype).end;
        render(task, made, &program, &params);
        fill_header(task, made);
        status = stn_kernel_make(plan->context, "system_step", &params, 0, &made->kernel, error);
    }
    stn_system_program_clear(&program);
    if (status == STN_OK) stn_plan_list_kernel(plan, made->kernel);
    return status;
}

stn_status step_assignment_run(const step_assignment *a, const stn_system_state *state, int64_t number, void *stream,
                               stn_error *error) {
    const stn_system_task *task = state->task;
    const argument_offsets p = argument_offsets_of(a, task->dtype);
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
    const stn_launch launch = {
        .grid = {(unsigned)blocks, 1, 1}, .block = {(unsigned)a->block.x, (unsigned)a->block.y, 1}, .stream = stream};
    return stn_module_launch(a->kernel->module, &launch, arguments, error);
}
