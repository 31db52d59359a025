/* Prints the canonical text of a system, the same for all texts that compute the same operations in
 * the same order. Expressions are printed with an explicit stack. */
#include <stdlib.h>

#include "base/error.h"
#include "base/number.h"
#include "problem/system.h"
#include "problem/task.h"

static void print_number(double value, stn_text *text) {
    char digits[STN_NUMBER_SIZE];
    stn_number_format(value, digits);
    stn_text_printf(text, "%s", digits);
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* A stack entry: a node, in brackets if its precedence is below `least`; or text, if node is
 * negative. */
typedef struct stack_entry {
    int node, least;
    const char *words;
} stack_entry;

typedef struct entry_stack {
    stack_entry *list;
    size_t count;
} entry_stack;

static void push_node(entry_stack *stack, int node, int least) {
    stack->list[stack->count++] = (stack_entry){node, least, NULL};
}
static void push_words(entry_stack *stack, const char *words) {
    stack->list[stack->count++] = (stack_entry){-1, 0, words};
}

static void print_field(const stn_system *system, const stn_system_node *node, stn_text *text) {
    stn_text_printf(text, "%s", system->fields[node->index].name);
    if (node->level == STN_SYSTEM_NEXT)
        stn_text_printf(text, ".next");
    else if (node->level == 1)
        stn_text_printf(text, ".prev");
    else if (node->level > 1)
        stn_text_printf(text, ".prev%d", node->level);
}

/* Prints the beginning of a node and pushes its remaining parts in reverse order. */
static void print_node(const stn_system *system, const stack_entry *t, entry_stack *stack, stn_text *text) {
    const stn_system_node *node = &system->nodes[t->node];
    const stn_system_op_row *row = &stn_system_ops[node->op];
    const bool brackets = row->precedence && row->precedence < t->least;
    if (node->op == STN_SYSTEM_NUMBER)
        print_number(node->number, text);
    else if (node->op == STN_SYSTEM_FIELD)
        print_field(system, node, text);
    else if (node->op == STN_SYSTEM_COEFFICIENT)
        stn_text_printf(text, "%s", system->coefficients[node->index].name);
    else if (!row->precedence) { /* a function or a stencil */
        stn_text_printf(text, "%s(", node->op == STN_SYSTEM_STENCIL ? system->stencils[node->index].name : row->word);
        push_words(stack, ")");
        for (int k = row->operands - 1; k >= 0; k--) {
            push_node(stack, node->operand[k], 0);
            if (k) push_words(stack, ", ");
        }
    } else if (row->operands == 1) {
        stn_text_printf(text, brackets ? "(-" : "-");
        if (brackets) push_words(stack, ")");
        push_node(stack, node->operand[0], row->precedence);
    } else {
        if (brackets) stn_text_printf(text, "(");
        if (brackets) push_words(stack, ")");
        push_node(stack, node->operand[1], row->precedence + 1);
        push_words(stack, " ");
        push_words(stack, row->word);
        push_words(stack, " ");
        /* comparisons do not chain */
        push_node(stack, node->operand[0], row->precedence + (row->precedence == 1));
    }
}

static void print_expression(const stn_system *system, int root, entry_stack *stack, stn_text *text) {
    stack->count = 0;
    push_node(stack, root, 0);
    while (stack->count && !text->failed) {
        const stack_entry t = stack->list[--stack->count];
        if (t.node < 0)
            stn_text_printf(text, "%s", t.words);
        else
            print_node(system, &t, stack, text);
    }
}

/* ---- declarations ---------------------------------------------------------------------------- */

static void print_stencil(const stn_system_stencil *stencil, stn_text *text) {
    stn_text_printf(text, "stencil %s = taps", stencil->name);
    if (!stencil->rank) stn_text_printf(text, " %c", 'z' - stencil->axis);
    stn_text_printf(text, " [");
    for (size_t k = 0; k < stencil->ntaps; k++) {
        const int first = stencil->rank ? 3 - stencil->rank : stencil->axis, last = stencil->rank ? 2 : stencil->axis;
        for (int axis = first; axis <= last; axis++)
            stn_text_printf(text, "%s%d", axis > first ? " " : k ? ", " : "", (int)stencil->taps[k].offset[axis]);
    }
    stn_text_printf(text, "] (");
    for (size_t k = 0; k < stencil->ntaps; k++) {
        if (k) stn_text_printf(text, " ");
        print_number(stencil->taps[k].weight, text);
    }
    stn_text_printf(text, ")\n");
}

static void print_side(const stn_system_side *side, stn_text *text) {
    stn_text_printf(text, "%s%s", side->odd ? "odd-" : "", stn_boundary_name(side->kind));
    if (side->kind != STN_CONSTANT || side->value == 0) return;
    stn_text_printf(text, "=");
    print_number(side->value, text);
}

static bool same_side(const stn_system_side *a, const stn_system_side *b) {
    const bool same_value = a->value == b->value || (a->value != a->value && b->value != b->value);
    return a->kind == b->kind && a->odd == b->odd && same_value;
}

static bool same_axis(const stn_system_variable *v, int a, int b) {
    return same_side(&v->side[a][0], &v->side[b][0]) && same_side(&v->side[a][1], &v->side[b][1]);
}

/* Prints a boundary statement unless all sides have the default rule. */
static void print_boundary(const stn_system *system, const stn_system_variable *v, stn_boundary_kind default_kind,
                           stn_text *text) {
    const bool alike = same_axis(v, 0, 2) && same_axis(v, 1, 2);
    const int first = alike || !system->rank ? 2 : 3 - system->rank;
    bool is_default = true;
    for (int axis = first; axis < 3; axis++)
        for (int side = 0; side < 2; side++)
            is_default = is_default && v->side[axis][side].kind == default_kind && !v->side[axis][side].odd;
    if (is_default) return;
    stn_text_printf(text, "boundary %s = ", v->name);
    for (int axis = first; axis < 3; axis++) {
        if (axis > first) stn_text_printf(text, ", ");
        print_side(&v->side[axis][0], text);
        if (same_side(&v->side[axis][0], &v->side[axis][1])) continue;
        stn_text_printf(text, ":");
        print_side(&v->side[axis][1], text);
    }
    stn_text_printf(text, "\n");
}

stn_status stn_system_print(const stn_system *system, char **result, stn_error *error) {
    if (!system || !result)
        return stn_fail(error, STN_ERROR_INVALID_ARGUMENT, "stn_system_print needs a system and a place for the text");
    *result = NULL;
    entry_stack stack = {malloc((8 * (size_t)system->nnodes + 8) * sizeof *stack.list), 0};
    if (!stack.list) return stn_fail_memory(error, "a system's text", 8 * (size_t)system->nnodes * sizeof *stack.list);
    stn_text text = STN_TEXT_EMPTY;
    for (int i = 0; i < system->nfields; i++) {
        stn_text_printf(&text, "field %s", system->fields[i].name);
        if (system->fields[i].levels > 1) stn_text_printf(&text, "(%d)", system->fields[i].levels);
        stn_text_printf(&text, "\n");
    }
    for (int i = 0; i < system->ncoefficients; i++) {
        stn_text_printf(&text, "coefficient %s", system->coefficients[i].name);
        if (system->coefficients[i].has_value) {
            stn_text_printf(&text, " = ");
            print_number(system->coefficients[i].value, &text);
        }
        stn_text_printf(&text, "\n");
    }
    for (int i = 0; i < system->nstencils; i++) print_stencil(&system->stencils[i], &text);
    for (int i = 0; i < system->nfields; i++) print_boundary(system, &system->fields[i], STN_WRAP, &text);
    for (int i = 0; i < system->ncoefficients; i++)
        print_boundary(system, &system->coefficients[i], STN_NEAREST, &text);
    for (int e = 0; e < system->nequations; e++) {
        stn_text_printf(&text, "%s.next = ", system->fields[system->equations[e].field].name);
        print_expression(system, system->equations[e].root, &stack, &text);
        stn_text_printf(&text, "\n");
    }
    free(stack.list);
    return stn_text_take(&text, result, error);
}
