/* Lists the arrays and numbers of a system's assignments, and renders the assignments. */
#include "strategies/common/system_code.h"

#include <string.h>

#include "base/arith.h"
#include "base/number.h"
#include "render/render.h"

stn_status stn_system_code_program(const stn_system_task *task, const stn_system_equation *equation,
                                   stn_system_program *program, stn_error *error) {
    return stn_system_program_make(task->system, equation, false, STN_SYSTEM_MAX_OPERATIONS, program, error);
}

/* ---- arrays and numbers */

void stn_system_reads_begin(stn_system_reads *reads) {
    memset(reads, 0, sizeof *reads);
    for (int i = 0; i < STN_SYSTEM_MAX_COEFFICIENTS; i++) reads->number_of[i] = -1;
}

int stn_system_reads_array(stn_system_reads *reads, bool is_field, int index, int level) {
    for (int i = 0; i < reads->narrays; i++) {
        const stn_system_array *each = &reads->arrays[i];
        if (each->is_field == is_field && each->index == index && each->level == level) return i;
    }
    if (reads->narrays == STN_SYSTEM_MAX_READ_ARRAYS) return -1;
    reads->arrays[reads->narrays] = (stn_system_array){.is_field = is_field, .index = index, .level = level};
    return reads->narrays++;
}

const stn_system_variable *stn_system_array_variable(const stn_system_task *task, const stn_system_array *array) {
    return array->is_field ? &task->system->fields[array->index] : &task->system->coefficients[array->index];
}

int stn_system_march(const stn_system_task *task) { return task->n[0] > 1 ? 0 : 1; }

static void include(int range[2], int offset) {
    range[0] = (int)stn_min(range[0], offset);
    range[1] = (int)stn_max(range[1], offset);
}

static void note_offset(const stn_system_task *task, stn_system_array *array, const int offset[3]) {
    const int march = stn_system_march(task), plane = offset[march], row = offset[1 - march], point = offset[2];
    if (!row && !point) {
        include(array->own, plane);
        return;
    }
    array->others = true;
    array->corners = array->corners || (row && point);
    include(array->other, plane);
    include(array->rows, row);
    include(array->points, point);
}

/* The level of a field that a node reads, counted from the state before the launch. */
static int level_of(const stn_system_node *node, const stn_system_program *program) {
    return node->op == STN_SYSTEM_FIELD ? node->level - program->step : node->level;
}

bool stn_system_reads_add(const stn_system_task *task, const stn_system_program *program, stn_system_reads *reads) {
    for (int i = 0; i < program->count; i++) {
        const stn_system_node *node = &task->system->nodes[program->list[i].node];
        const bool is_field = node->op == STN_SYSTEM_FIELD;
        if (!is_field && node->op != STN_SYSTEM_COEFFICIENT) continue;
        if (is_field || !task->is_number[node->index]) {
            const int array = stn_system_reads_array(reads, is_field, node->index, level_of(node, program));
            if (array < 0) return false;
            note_offset(task, &reads->arrays[array], program->list[i].offset);
        } else if (reads->number_of[node->index] < 0)
            reads->number_of[node->index] = reads->nnumbers++;
    }
    return true;
}

void stn_system_reads_end(const stn_system_task *task, stn_system_reads *reads) {
    reads->nvalues = reads->nnumbers;
    for (int i = 0; i < reads->narrays; i++)
        for (int side = 0; side < 6; side++)
            reads->nvalues +=
                stn_system_array_variable(task, &reads->arrays[i])->side[side / 2][side % 2].kind == STN_CONSTANT;
    if (!reads->nvalues) reads->nvalues = 1; /* C++ has no empty arrays */
}

/* ---- kernel text */

static void render_number(double value, stn_text *text) {
    char digits[STN_NUMBER_SIZE];
    stn_number_format(value, digits);
    stn_text_printf(text, "REAL(%s%s)", digits, strpbrk(digits, ".e") ? "" : ".0");
}

static void render_leaf(const stn_system_task *task, stn_system_reads *reads, const stn_system_program *program,
                        const stn_system_instruction *instruction, stn_text *text) {
    const stn_system_node *node = &task->system->nodes[instruction->node];
    const bool is_field = node->op == STN_SYSTEM_FIELD;
    const int *o = instruction->offset;
    if (!is_field && task->is_number[node->index])
        stn_text_printf(text, "around.number(%d)", reads->number_of[node->index]);
    else
        stn_text_printf(text, "around.template field<%d>(%d, %d, %d)",
                        stn_system_reads_array(reads, is_field, node->index, level_of(node, program)), o[0], o[1],
                        o[2]);
}

/* A sum over taps in their order, as one statement a tap. */
static void render_stencil(const stn_system *system, const stn_system_node *node, const stn_system_operand *operands,
                           int number, stn_text *text) {
    const stn_system_stencil *stencil = &system->stencils[node->index];
    for (size_t k = 0; k < stencil->ntaps; k++) {
        stn_text_printf(text, k ? "    t%d = add_product(" : "    REAL t%d = product(", number);
        render_number(stencil->taps[k].weight, text);
        stn_text_printf(text, k ? ", t%d, t%d);\n" : ", t%d);\n", operands[k].instruction, number);
    }
}

static void render_operator(const stn_system_node *node, const stn_system_operand *x, stn_text *text) {
    const stn_system_op_row *row = &stn_system_ops[node->op];
    const int a = x[0].instruction, b = row->operands > 1 ? x[1].instruction : 0;
    if (node->op == STN_SYSTEM_WHERE)
        stn_text_printf(text, "t%d != REAL(0) ? t%d : t%d", a, b, x[2].instruction);
    else if (node->op == STN_SYSTEM_NEGATE)
        stn_text_printf(text, "-t%d", a);
    else if (node->op == STN_SYSTEM_MULTIPLY)
        stn_text_printf(text, "product(t%d, t%d)", a, b);
    else if (node->op == STN_SYSTEM_ADD || node->op == STN_SYSTEM_SUBTRACT)
        stn_text_printf(text, "sum(t%d, %st%d)", a, node->op == STN_SYSTEM_ADD ? "" : "-", b);
    else if (row->precedence == 1)
        stn_text_printf(text, "t%d %s t%d ? REAL(1) : REAL(0)", a, row->word, b);
    else if (row->precedence)
        stn_text_printf(text, "t%d %s t%d", a, row->word, b);
    else if (row->operands == 2)
        stn_text_printf(text, "%s%s(t%d, t%d)", node->op == STN_SYSTEM_POW ? "" : "f", row->word, a, b);
    else
        stn_text_printf(text, "%s%s(t%d)", node->op == STN_SYSTEM_ABS ? "f" : "", row->word, a);
}

void stn_system_render_program(const stn_system_task *task, stn_system_reads *reads, const stn_system_program *program,
                               stn_text *text) {
    for (int i = 0; i < program->count; i++) {
        const stn_system_instruction *instruction = &program->list[i];
        const stn_system_node *node = &task->system->nodes[instruction->node];
        if (node->op == STN_SYSTEM_STENCIL) {
            render_stencil(task->system, node, program->operands + instruction->operand, i, text);
            continue;
        }
        stn_text_printf(text, "    const REAL t%d = ", i);
        if (node->op == STN_SYSTEM_NUMBER)
            render_number(node->number, text);
        else if (node->op == STN_SYSTEM_FIELD || node->op == STN_SYSTEM_COEFFICIENT)
            render_leaf(task, reads, program, instruction, text);
        else
            render_operator(node, program->operands + instruction->operand, text);
        stn_text_printf(text, ";\n");
    }
    stn_text_printf(text, "    return t%d;\n", program->count - 1);
}

void stn_system_render_sides(const stn_system_task *task, const stn_system_reads *reads, stn_text *text) {
    int rules[STN_SYSTEM_MAX_READ_ARRAYS], value = reads->nnumbers;
    stn_text_printf(text, "#include \"system/operators.cuh\"\n");
    stn_params_int(text, "SYSTEM_ARRAYS", reads->narrays);
    stn_params_int(text, "SYSTEM_VALUES", reads->nvalues);
    stn_text_printf(text, "constexpr int SYSTEM_PAST[%d][6] = {", reads->narrays);
    for (int i = 0; i < reads->narrays; i++) {
        uint32_t bits = 0;
        stn_text_printf(text, "%s{", i ? ", " : "");
        for (unsigned side = 0; side < 6; side++) {
            const stn_system_side *s = &stn_system_array_variable(task, &reads->arrays[i])->side[side / 2][side % 2];
            const bool wraps = reads->arrays[i].wraps[side / 2];
            bits |= (wraps ? (uint32_t)STN_WRAP : (uint32_t)s->kind | (s->odd ? 8u : 0u)) << 4 * side;
            stn_text_printf(text, "%s%d", side ? ", " : "", s->kind == STN_CONSTANT ? value++ : 0);
        }
        stn_text_printf(text, "}");
        rules[i] = (int)bits;
    }
    stn_text_printf(text, "};\n");
    stn_params_ints(text, "SYSTEM_SIDES", rules, (size_t)reads->narrays);
}

/* ---- values */

void stn_system_put_constants(const stn_system_task *task, const stn_system_reads *reads, unsigned char *values) {
    const size_t real = task->dtype == STN_F64 ? 8 : 4;
    int value = reads->nnumbers;
    for (int i = 0; i < reads->narrays; i++)
        for (int side = 0; side < 6; side++) {
            const stn_system_side *s = &stn_system_array_variable(task, &reads->arrays[i])->side[side / 2][side % 2];
            if (s->kind != STN_CONSTANT) continue;
            stn_put_real(task->dtype, stn_system_round_to_dtype(task->dtype, s->value),
                         values + real * (size_t)value++);
        }
}

void stn_system_put_numbers(const stn_system_task *task, const stn_system_reads *reads, const double *numbers,
                            unsigned char *values) {
    const size_t real = task->dtype == STN_F64 ? 8 : 4;
    for (int i = 0; i < task->system->ncoefficients; i++)
        if (reads->number_of[i] >= 0)
            stn_put_real(task->dtype, numbers ? numbers[i] : task->system->coefficients[i].value,
                         values + real * (size_t)reads->number_of[i]);
}
