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
#include "base/number.h"
#include "context/kernel.h"
#include "problem/system_program.h"
#include "render/render.h"

#define SHORT_PROGRAM 200 /* instructions of a program whose registers are limited */

/* Byte offsets of the parts of the arguments. */
typedef struct argument_offsets {
    size_t out, fixed, tiles, values, end;
} argument_offsets;

static argument_offsets argument_offsets_of(const step_assignment *a, stn_dtype dtype) {
    const size_t arrays = (size_t)a->narrays, real = dtype == STN_F64 ? 8 : 4;
    argument_offsets p;
    p.out = 8 * arrays;
    p.fixed = p.out + 16;
    p.tiles = p.fixed + 10 * 8;
    p.values = p.tiles + 4 * 4;
    p.end = p.values + (size_t)stn_round_up((int64_t)((size_t)a->nvalues * real), 8);
    return p;
}

/* ---- arrays and numbers that the assignment reads */

static int array_of(step_assignment *a, bool is_field, int index, int level) {
    for (int i = 0; i < a->narrays; i++)
        if (a->arrays[i].is_field == is_field && a->arrays[i].index == index && a->arrays[i].level == level) return i;
    if (a->narrays == STEP_MOST_ARRAYS) return -1;
    a->arrays[a->narrays] = (step_array){.is_field = is_field, .index = index, .level = level};
    return a->narrays++;
}

static const stn_system_variable *variable_of(const stn_system_task *task, const step_array *array) {
    return array->is_field ? &task->system->fields[array->index] : &task->system->coefficients[array->index];
}

static void note_plane(step_array *array, const int offset[3]) {
    if (offset[1] || offset[2]) return;
    array->below = (int)stn_max(array->below, -offset[0]);
    array->above = (int)stn_max(array->above, offset[0]);
}

/* Lists arrays, numbers and constants of sides; false if there are too many. */
static bool list_reads(const stn_system_task *task, const stn_system_program *program, step_assignment *a) {
    a->narrays = a->nvalues = 0;
    for (int i = 0; i < STN_SYSTEM_MAX_COEFFICIENTS; i++) a->number_of[i] = -1;
    for (int i = 0; i < program->count; i++) {
        const stn_system_node *node = &task->system->nodes[program->list[i].node];
        const bool is_field = node->op == STN_SYSTEM_FIELD;
        if (!is_field && node->op != STN_SYSTEM_COEFFICIENT) continue;
        if (is_field || !task->is_number[node->index]) {
            const int array = array_of(a, is_field, node->index, node->level);
            if (array < 0) return false;
            note_plane(&a->arrays[array], program->list[i].offset);
        } else if (a->number_of[node->index] < 0)
            a->number_of[node->index] = a->nvalues++;
    }
    if (!a->narrays) (void)array_of(a, true, a->equation->field, 0); /* C++ has no empty arrays */
    for (int i = 0; i < a->narrays; i++)
        for (int side = 0; side < 6; side++)
            a->nvalues += variable_of(task, &a->arrays[i])->side[side / 2][side % 2].kind == STN_CONSTANT;
    if (!a->nvalues) a->nvalues = 1;
    return argument_offsets_of(a, task->dtype).end <= STEP_MOST_ARGUMENTS;
}

bool step_assignment_fits(const stn_system_task *task, const stn_system_equation *equation, char *reason, size_t size) {
    stn_system_program program;
    step_assignment *a = calloc(1, sizeof *a);
    stn_error why = {STN_OK, ""};
    bool fits = a != NULL;
    if (a) {
        a->equation = equation;
        fits = stn_system_program_make(task->system, equation, false, STEP_MOST_OPERATIONS, &program, &why) == STN_OK;
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

/* ---- kernel text */

static void render_number(double value, stn_text *text) {
    char digits[STN_NUMBER_SIZE];
    stn_number_format(value, digits);
    stn_text_printf(text, "REAL(%s%s)", digits, strpbrk(digits, ".e") ? "" : ".0");
}

static void render_leaf(const stn_system_task *task, step_assignment *a, const stn_system_instruction *instruction,
                        stn_text *text) {
    const stn_system_node *node = &task->system->nodes[instruction->node];
    const bool is_field = node->op == STN_SYSTEM_FIELD;
    const int *o = instruction->offset;
    if (!is_field && task->is_number[node->index])
        stn_text_printf(text, "around.number(%d)", a->number_of[node->index]);
    else
        stn_text_printf(text, "around.template %s<%d>(%d, %d, %d)", is_field ? "field" : "shared",
                        array_of(a, is_field, node->index, node->level), o[0], o[1], o[2]);
}

static void render_stencil(const stn_system *system, const stn_system_node *node, const stn_system_operand *operands,
                           stn_text *text) {
    const stn_system_stencil *stencil = &system->stencils[node->index];
    for (size_t k = 0; k < stencil->ntaps; k++) {
        if (k) stn_text_printf(text, k % 4 ? " + " : " +\n        ");
        render_number(stencil->taps[k].weight, text);
        stn_text_printf(text, " * t%d", operands[k].instruction);
    }
}

static void render_operator(const stn_system_node *node, const stn_system_operand *x, stn_text *text) {
    const stn_system_op_row *row = &stn_system_ops[node->op];
    const int a = x[0].instruction, b = row->operands > 1 ? x[1].instruction : 0;
    if (node->op == STN_SYSTEM_WHERE)
        stn_text_printf(text, "t%d != REAL(0) ? t%d : t%d", a, b, x[2].instruction);
    else if (node->op == STN_SYSTEM_NEGATE)
        stn_text_printf(text, "-t%d", a);
    else if (row->precedence == 1)
        stn_text_printf(text, "t%d %s t%d ? REAL(1) : REAL(0)", a, row->word, b);
    else if (row->precedence)
        stn_text_printf(text, "t%d %s t%d", a, row->word, b);
    else if (row->operands == 2)
        stn_text_printf(text, "%s%s(t%d, t%d)", node->op == STN_SYSTEM_POW ? "" : "f", row->word, a, b);
    else
        stn_text_printf(text, "%s%s(t%d)", node->op == STN_SYSTEM_ABS ? "f" : "", row->word, a);
}

static void render_program(const stn_system_task *task, step_assignment *a, const stn_system_program *program,
                           stn_text *text) {
    stn_text_printf(text,
                    "template <class AROUND>\n__device__ __forceinline__ REAL system_value(const AROUND &around) {\n");
    for (int i = 0; i < program->count; i++) {
        const stn_system_instruction *instruction = &program->list[i];
        const stn_system_node *node = &task->system->nodes[instruction->node];
        stn_text_printf(text, "    const REAL t%d = ", i);
        if (node->op == STN_SYSTEM_NUMBER)
            render_number(node->number, text);
        else if (node->op == STN_SYSTEM_FIELD || node->op == STN_SYSTEM_COEFFICIENT)
            render_leaf(task, a, instruction, text);
        else if (node->op == STN_SYSTEM_STENCIL)
            render_stencil(task->system, node, program->operands + instruction->operand, text);
        else
            render_operator(node, program->operands + instruction->operand, text);
        stn_text_printf(text, ";\n");
    }
    stn_text_printf(text, "    return t%d;\n}\n", program->count - 1);
}

static bool freezes(const stn_system_task *task, const stn_system_equation *equation) {
    int64_t begin[3], end[3];
    stn_system_updated_range(task, equation, begin, end);
    bool all = true;
    for (int axis = 0; axis < 3; axis++) all = all && begin[axis] == 0 && end[axis] == task->n[axis];
    return !all;
}

/* Planes of an array that a marching thread holds in registers; 0: none. */
static int queue_of(const step_assignment *a, const step_array *array) {
    return a->block.planes > 1 && array->below + array->above ? array->below + array->above + 1 : 0;
}

/* The boundary rules of an array's sides, 4 bits each, and the indices of their constants among the
 * values, from *value on. */
static uint32_t rules_of(const stn_system_variable *v, int past[6], int *value) {
    uint32_t rules = 0;
    for (unsigned side = 0; side < 6; side++) {
        const stn_system_side *s = &v->side[side / 2][side % 2];
        rules |= ((uint32_t)s->kind | (s->odd ? 8u : 0u)) << 4 * side;
        past[side] = s->kind == STN_CONSTANT ? (*value)++ : 0;
    }
    return rules;
}

static int count_numbers(const step_assignment *a) {
    int count = 0;
    for (int i = 0; i < STN_SYSTEM_MAX_COEFFICIENTS; i++) count += a->number_of[i] >= 0;
    return count;
}

static void render_arrays(const stn_system_task *task, const step_assignment *a, stn_text *text) {
    int shared[STEP_MOST_ARRAYS], queue[STEP_MOST_ARRAYS], low[STEP_MOST_ARRAYS], sides[STEP_MOST_ARRAYS], past[6],
        value = count_numbers(a);
    stn_text_printf(text, "constexpr int SYSTEM_PAST[%d][6] = {", a->narrays);
    for (int i = 0; i < a->narrays; i++) {
        sides[i] = (int)rules_of(variable_of(task, &a->arrays[i]), past, &value);
        stn_text_printf(text, "%s{%d, %d, %d, %d, %d, %d}", i ? ", " : "", past[0], past[1], past[2], past[3], past[4],
                        past[5]);
        shared[i] = !a->arrays[i].is_field;
        queue[i] = queue_of(a, &a->arrays[i]);
        low[i] = a->arrays[i].below;
    }
    stn_text_printf(text, "};\n");
    stn_params_ints(text, "SYSTEM_SIDES", sides, (size_t)a->narrays);
    stn_params_ints(text, "SYSTEM_SHARED", shared, (size_t)a->narrays);
    stn_params_ints(text, "SYSTEM_QUEUE", queue, (size_t)a->narrays);
    stn_params_ints(text, "SYSTEM_QUEUE_LOW", low, (size_t)a->narrays);
}

/* Blocks that must fit on a multiprocessor, which limits registers: some 80 for each thread (128 in
 * f64) suffice for short assignments and allow enough loads in flight. */
static int resident_blocks(const stn_system_task *task, const step_assignment *a, const stn_system_program *program) {
    const int threads = program->count > SHORT_PROGRAM ? 0 : task->dtype == STN_F64 ? 512 : 768;
    return (int)stn_max(1, threads / (a->block.x * a->block.y));
}

static void render(const stn_system_task *task, step_assignment *a, const stn_system_program *program, stn_text *text) {
    int reach[6];
    for (int i = 0; i < 6; i++) reach[i] = a->equation->reach[i / 2][i % 2];
    stn_params_begin(text);
    stn_params_elements(text, task->dtype);
    stn_params_int(text, "SYSTEM_ARRAYS", a->narrays);
    stn_params_int(text, "SYSTEM_VALUES", a->nvalues);
    stn_params_ints(text, "SYSTEM_REACH", reach, 6);
    stn_params_int(text, "SYSTEM_FREEZES", freezes(task, a->equation));
    render_arrays(task, a, text);
    stn_params_int(text, "THREADS_X", a->block.x);
    stn_params_int(text, "THREADS_Y", a->block.y);
    stn_params_int(text, "SYSTEM_PLANES", a->block.planes);
    stn_params_int(text, "BLOCKS", resident_blocks(task, a, program));
    stn_params_int(text, "EXPECTED_HEADER", (int64_t)argument_offsets_of(a, task->dtype).values);
    render_program(task, a, program, text);
}

/* ---- arguments */

/* Fills all arguments but pointers and numbers. */
static void fill_header(const stn_system_task *task, step_assignment *a) {
    const argument_offsets p = argument_offsets_of(a, task->dtype);
    const size_t real = task->dtype == STN_F64 ? 8 : 4;
    int64_t fixed[10] = {task->n[0], task->n[1], task->n[2], stn_system_task_points(task)};
    const uint32_t tiles[4] = {(uint32_t)a->tiles[0], (uint32_t)a->tiles[1], (uint32_t)a->tiles[2], 0};
    int value = count_numbers(a);
    stn_system_updated_range(task, a->equation, fixed + 4, fixed + 7);
    memcpy(a->header + p.fixed, fixed, sizeof fixed);
    memcpy(a->header + p.tiles, tiles, sizeof tiles);
    for (int i = 0; i < a->narrays; i++)
        for (int side = 0; side < 6; side++) {
            const stn_system_side *s = &variable_of(task, &a->arrays[i])->side[side / 2][side % 2];
            if (s->kind != STN_CONSTANT) continue;
            stn_put_real(task->dtype, stn_system_round_to_dtype(task->dtype, s->value),
                         a->header + p.values + real * (size_t)value++);
        }
}

stn_status step_assignment_make(stn_plan *plan, const stn_system_equation *equation, step_block block,
                                step_assignment *made, stn_error *error) {
    const stn_system_task *task = &plan->system;
    stn_system_program program;
    memset(made, 0, sizeof *made);
    made->equation = equation;
    made->block = block;
    made->tiles[0] = stn_div_up(task->n[2], block.x);
    made->tiles[1] = stn_div_up(task->n[1], block.y);
    made->tiles[2] = stn_div_up(task->n[0], block.planes);
    stn_text params = STN_TEXT_EMPTY;
    stn_status status = stn_system_program_make(task->system, equation, false, STEP_MOST_OPERATIONS, &program, error);
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
    const size_t real = task->dtype == STN_F64 ? 8 : 4;
    const int field = a->equation->field;
    _Alignas(16) unsigned char arguments[STEP_MOST_ARGUMENTS];
    const void *array;
    memcpy(arguments, a->header, a->arguments);
    for (int i = 0; i < a->narrays; i++) {
        const step_array *each = &a->arrays[i];
        array = !each->is_field                  ? state->arrays->coefficients[each->index]
                : each->level == STN_SYSTEM_NEXT ? stn_system_state_next(state, each->index, number)
                                                 : stn_system_state_of(state, each->index, number - 1 - each->level);
        memcpy(arguments + 8 * (size_t)i, &array, sizeof array);
    }
    const void *const ends[2] = {stn_system_state_next(state, field, number),
                                 stn_system_state_of(state, field, number - 1)};
    memcpy(arguments + p.out, ends, sizeof ends);
    for (int i = 0; i < task->system->ncoefficients; i++) {
        if (a->number_of[i] < 0) continue;
        const double value = state->arrays->numbers ? state->arrays->numbers[i] : task->system->coefficients[i].value;
        stn_put_real(task->dtype, value, arguments + p.values + real * (size_t)a->number_of[i]);
    }
    const int64_t blocks = a->tiles[0] * a->tiles[1] * a->tiles[2] * task->batch;
    const stn_launch launch = {
        .grid = {(unsigned)blocks, 1, 1}, .block = {(unsigned)a->block.x, (unsigned)a->block.y, 1}, .stream = stream};
    return stn_module_launch(a->kernel->module, &launch, arguments, error);
}
