/* See linear.h. */
#include "strategies/modes/linear.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which expressions are linear ----------------------------------------------------------- */

static const char *name_of(const stn_system *system, int root) {
    for (int e = 0; e < system->nequations; e++)
        if (system->equations[e].root >= root) return system->fields[system->equations[e].field].name;
    return "a field";
}

/* Says why a node whose operands depend on the fields is not linear. */
static void refuse(const stn_system *system, int number, char *reason, size_t size) {
    const stn_system_node *node = &system->nodes[number];
    const char *name = name_of(system, number);
    if (node->op == STN_SYSTEM_MULTIPLY)
        snprintf(reason, size, "%s.next is not linear: it multiplies fields with each other", name);
    else if (node->op == STN_SYSTEM_DIVIDE)
        snprintf(reason, size, "%s.next is not linear: it divides by a field", name);
    else if (node->op >= STN_SYSTEM_LESS && node->op <= STN_SYSTEM_NOT_EQUAL)
        snprintf(reason, size, "%s.next is not linear: it compares fields by %s", name, stn_system_ops[node->op].word);
    else
        snprintf(reason, size, "%s.next is not linear: it takes the %s of a field", name,
                 stn_system_ops[node->op].word);
}

static int stencil_number(modes_linear *l, const stn_system_stencil *taps) {
    for (int i = 0; i < l->nstencils; i++)
        if (l->stencils[i].taps == taps) return i;
    modes_stencil *s = &l->stencils[l->nstencils];
    *s = (modes_stencil){taps, l->nterms, 0};
    for (size_t k = 0; k < taps->ntaps; k++) {
        const int offset = (int)taps->taps[k].offset[2];
        int term = s->first;
        while (term < l->nterms && l->term[term] != offset) term++;
        if (term == l->nterms) l->term[l->nterms++] = offset, s->count++;
        for (int axis = 0; axis < 3; axis++) {
            const int reach = abs((int)taps->taps[k].offset[axis]);
            if (reach > l->reach[axis]) l->reach[axis] = reach;
        }
    }
    return l->nstencils++;
}

static int append(modes_linear *l, modes_operation operation) {
    operation.columns |= operation.kind == MODES_LEVEL ? 0 : l->operations[operation.a].columns;
    if (operation.kind == MODES_ADD || operation.kind == MODES_SUBTRACT)
        operation.columns |= l->operations[operation.b].columns;
    l->operations[l->count] = operation;
    return l->count++;
}

/* Finds the operation of a node, -1 if it is constant. constant[i] is set if node i has a constant
 * part that may differ from 0. Returns false if the node is not linear. */
static bool add_node(modes_linear *l, int number, bool *constant, char *reason, size_t size) {
    const stn_system *system = l->task->system;
    const stn_system_node *node = &system->nodes[number];
    const int count = stn_system_ops[node->op].operands, *x = node->operand;
    const int a = count ? l->operation_of[x[0]] : -1, b = count > 1 ? l->operation_of[x[1]] : -1;
    bool depends = false;
    int made = -1;
    for (int k = 0; k < count; k++) {
        const bool is_factor = l->operation_of[x[k]] < 0 && node->op >= STN_SYSTEM_MULTIPLY;
        depends = depends || l->operation_of[x[k]] >= 0;
        constant[number] = constant[number] || (constant[x[k]] && !is_factor);
    }
    if (node->op == STN_SYSTEM_COEFFICIENT && !l->task->is_number[node->index]) {
        snprintf(reason, size, "the coefficient %s is an array, so that steps differ from place to place",
                 system->coefficients[node->index].name);
        return false;
    }
    if (node->op == STN_SYSTEM_FIELD && node->level == STN_SYSTEM_NEXT) {
        made = l->root[node->index];
        constant[number] = constant[l->root_node[node->index]];
    } else if (node->op == STN_SYSTEM_FIELD) {
        uint64_t columns = ((UINT64_C(2) << node->level) - 1) << l->first[node->index];
        made = append(
            l, (modes_operation){.kind = MODES_LEVEL, .field = node->index, .level = node->level, .columns = columns});
    } else if (!depends)
        constant[number] = true;
    else if (node->op == STN_SYSTEM_STENCIL)
        made =
            append(l, (modes_operation){
                          .kind = MODES_STENCIL, .a = a, .stencil = stencil_number(l, &system->stencils[node->index])});
    else if (node->op == STN_SYSTEM_NEGATE)
        made = append(l, (modes_operation){.kind = MODES_NEGATE, .a = a});
    else if ((node->op == STN_SYSTEM_ADD || node->op == STN_SYSTEM_SUBTRACT) && a >= 0 && b >= 0)
        made = append(
            l, (modes_operation){.kind = node->op == STN_SYSTEM_ADD ? MODES_ADD : MODES_SUBTRACT, .a = a, .b = b});
    else if (node->op == STN_SYSTEM_ADD || (node->op == STN_SYSTEM_SUBTRACT && a >= 0))
        made = a >= 0 ? a : b;
    else if (node->op == STN_SYSTEM_SUBTRACT)
        made = append(l, (modes_operation){.kind = MODES_NEGATE, .a = b});
    else if (node->op == STN_SYSTEM_MULTIPLY && (a < 0 || b < 0))
        made = append(l, (modes_operation){.kind = MODES_SCALE, .a = a < 0 ? b : a, .node = a < 0 ? x[0] : x[1]});
    else if (node->op == STN_SYSTEM_DIVIDE && b < 0)
        made = append(l, (modes_operation){.kind = MODES_DIVIDE, .a = a, .node = x[1]});
    else {
        refuse(system, number, reason, size);
        return false;
    }
    l->operation_of[number] = made;
    return true;
}

/* Nodes of an assignment follow those of earlier assignments, so that next states are known where
 * they are read. */
static bool add_nodes(modes_linear *l, bool *constant, char *reason, size_t size) {
    const stn_system *system = l->task->system;
    int number = 0;
    for (int e = 0; e < system->nequations; e++) {
        const stn_system_equation *equation = &system->equations[e];
        for (; number <= equation->root; number++)
            if (!add_node(l, number, constant, reason, size)) return false;
        l->root[equation->field] = l->operation_of[equation->root];
        l->root_node[equation->field] = equation->root;
        l->affine = l->affine || constant[equation->root];
    }
    return true;
}

/* ---- sides ---------------------------------------------------------------------------------- */

static const char *kind_name(const stn_system_side *side) {
    static const char *const names[] = {[STN_WRAP] = "wrap",   [STN_CONSTANT] = "constant", [STN_NEAREST] = "nearest",
                                        [STN_FIXED] = "fixed", [STN_REFLECT] = "reflect",   [STN_MIRROR] = "mirror"};
    return side->odd && side->kind == STN_MIRROR ? "odd-mirror" : names[side->kind];
}

/* Twice the distance, in points, from the outermost point to the mirror that is equivalent to a
 * side; -1 if there is none. */
static int mirror_of(const stn_system_side *side, int reach) {
    if (side->kind == STN_REFLECT) return 1;
    if (side->kind == STN_MIRROR && !side->odd) return 0;
    if (side->kind == STN_CONSTANT && side->value == 0 && reach <= 1) return 2;
    return -1;
}

static bool set_axis(modes_linear *l, int axis, char *reason, size_t size) {
    const stn_system *system = l->task->system;
    modes_axis *to = &l->axis[axis];
    int reach = 0, wraps = 0;
    *to = (modes_axis){.n = l->task->n[axis], .length = l->task->n[axis], .mirror_distance = -1};
    for (int e = 0; e < system->nequations; e++)
        for (int side = 0; side < 2; side++)
            if (system->equations[e].reach[axis][side] > reach) reach = system->equations[e].reach[axis][side];
    if (!reach) return true; /* the sides of the axis are never read */
    for (int f = 0; f < system->nfields; f++) wraps += system->fields[f].side[axis][0].kind == STN_WRAP;
    if (wraps == system->nfields) return true;
    bool twice = false;
    for (int f = 0; f < system->nfields; f++)
        for (int i = 0; i < 2; i++) {
            const stn_system_side *side = &system->fields[f].side[axis][i];
            const int distance = mirror_of(side, reach);
            if (distance < 0) {
                if (side->kind == STN_CONSTANT && side->value == 0)
                    snprintf(reason, size,
                             "%s has constant sides along %c: with them a step may read at most 1 point past its own, "
                             "not %d",
                             system->fields[f].name, 'z' - axis, reach);
                else
                    snprintf(reason, size, "%s has %s side%s along %c, which no Fourier mode satisfies",
                             system->fields[f].name, kind_name(side),
                             side->kind == STN_WRAP ? "s where other fields have none" : "s", 'z' - axis);
                return false;
            }
            if (to->mirror_distance < 0) to->mirror_distance = distance;
            if (distance != to->mirror_distance) {
                snprintf(reason, size, "the sides along %c mirror about different places", 'z' - axis);
                return false;
            }
            to->sign[f][i] = side->odd || distance == 2 ? -1 : 1;
            if (l->affine && to->sign[f][i] < 0) {
                snprintf(reason, size, "a step adds a constant, and %s changes its sign past a side along %c",
                         system->fields[f].name, 'z' - axis);
                return false;
            }
        }
    for (int f = 0; f < system->nfields; f++) twice = twice || to->sign[f][0] != to->sign[f][1];
    to->mirrored = true;
    to->length = (twice ? 4 : 2) * (to->n + to->mirror_distance - 1);
    return true;
}

int64_t modes_image(const modes_axis *axis, int field, int64_t i, int *sign) {
    *sign = 1;
    if (!axis->mirrored) return i;
    const int64_t half = axis->n + axis->mirror_distance - 1; /* points from mirror to mirror */
    const int64_t low = i - (axis->mirror_distance == 2 ? -1 : 0), part = low / half, at = low % half;
    const int *at_side = axis->sign[field];
    if (axis->mirror_distance == 2 && at == 0) return *sign = 0, 0;
    if (part % 4 == 1) *sign = at_side[1];
    if (part % 4 == 2) *sign = at_side[0] * at_side[1];
    if (part % 4 == 3) *sign = at_side[0];
    if (axis->mirror_distance == 2) return part % 2 ? half - 1 - at : at - 1;
    return part % 2 ? axis->mirror_distance == 1 ? half - 1 - at : half - at : at;
}

/* ---- modes_linear_make ---------------------------------------------------------------------- */

bool modes_linear_make(const stn_system_task *task, modes_linear *l, char *reason, size_t size) {
    const stn_system *system = task->system;
    const size_t nodes = (size_t)system->nnodes;
    size_t taps = 0;
    *l = (modes_linear){.task = task};
    for (int f = 0; f < system->nfields; f++) {
        l->first[f] = l->width;
        l->width += system->fields[f].levels;
    }
    for (int i = 0; i < system->nstencils; i++) taps += system->stencils[i].ntaps;
    bool *constant = calloc(nodes + 1, sizeof *constant);
    l->operations = calloc(nodes + 1, sizeof *l->operations);
    l->operation_of = malloc((nodes + 1) * sizeof *l->operation_of);
    l->stencils = calloc((size_t)system->nstencils + 1, sizeof *l->stencils);
    l->term = malloc((taps + 1) * sizeof *l->term);
    bool served = constant && l->operations && l->operation_of && l->stencils && l->term;
    if (!served) snprintf(reason, size, "there is no memory for its matrices");
    served = served && add_nodes(l, constant, reason, size);
    free(constant);
    for (int axis = 0; axis < 3 && served; axis++) served = set_axis(l, axis, reason, size);
    return served;
}

void modes_linear_clear(modes_linear *l) {
    free(l->operations);
    free(l->operation_of);
    free(l->stencils);
    free(l->term);
    *l = (modes_linear){0};
}

/* ---- numbers -------------------------------------------------------------------------------- */

#define DEFINE_APPLY(name, real, f)                                                                                    \
    static double name(stn_system_op op, real a, real b, real c) {                                                     \
        switch (op) {                                                                                                  \
            case STN_SYSTEM_NEGATE:                                                                                    \
                return -a;                                                                                             \
            case STN_SYSTEM_ADD:                                                                                       \
                return a + b;                                                                                          \
            case STN_SYSTEM_SUBTRACT:                                                                                  \
                return a - b;                                                                                          \
            case STN_SYSTEM_MULTIPLY:                                                                                  \
                return a * b;                                                                                          \
            case STN_SYSTEM_DIVIDE:                                                                                    \
                return a / b;                                                                                          \
            case STN_SYSTEM_LESS:                                                                                      \
                return a < b;                                                                                          \
            case STN_SYSTEM_LESS_EQUAL:                                                                                \
                return a <= b;                                                                                         \
            case STN_SYSTEM_GREATER:                                                                                   \
                return a > b;                                                                                          \
            case STN_SYSTEM_GREATER_EQUAL:                                                                             \
                return a >= b;                                                                                         \
            case STN_SYSTEM_EQUAL:                                                                                     \
                return a == b;                                                                                         \
            case STN_SYSTEM_NOT_EQUAL:                                                                                 \
                return a != b;                                                                                         \
            case STN_SYSTEM_MIN:                                                                                       \
                return fmin##f(a, b);                                                                                  \
            case STN_SYSTEM_MAX:                                                                                       \
                return fmax##f(a, b);                                                                                  \
            case STN_SYSTEM_POW:                                                                                       \
                return pow##f(a, b);                                                                                   \
            case STN_SYSTEM_ABS:                                                                                       \
                return fabs##f(a);                                                                                     \
            case STN_SYSTEM_SQRT:                                                                                      \
                return sqrt##f(a);                                                                                     \
            case STN_SYSTEM_EXP:                                                                                       \
                return exp##f(a);                                                                                      \
            case STN_SYSTEM_LOG:                                                                                       \
                return log##f(a);                                                                                      \
            case STN_SYSTEM_SIN:                                                                                       \
                return sin##f(a);                                                                                      \
            case STN_SYSTEM_COS:                                                                                       \
                return cos##f(a);                                                                                      \
            case STN_SYSTEM_TANH:                                                                                      \
                return tanh##f(a);                                                                                     \
            default:                                                                                                   \
                return a != 0 ? b : c;                                                                                 \
        }                                                                                                              \
    }
DEFINE_APPLY(apply_f64, double, )
DEFINE_APPLY(apply_f32, float, f)

double modes_rounded(const modes_linear *l, double x) { return l->task->dtype == STN_F64 ? x : (double)(float)x; }

static double sum_of(const modes_linear *l, const stn_system_stencil *stencil, double value) {
    double sum = 0;
    for (size_t k = 0; k < stencil->ntaps; k++)
        sum = modes_rounded(l, sum + modes_rounded(l, modes_rounded(l, stencil->taps[k].weight) * value));
    return sum;
}

static double generic(int i) { return 0.5 + fmod(0.6180339887498949 * (i + 1), 1); }

static void evaluate(const modes_linear *l, const double *numbers, bool is_generic, double *constants) {
    const stn_system *system = l->task->system;
    constants[0] = 0; /* node 0 reads this: the operands that a node does not have are numbered 0 */
    for (int i = 0; i < system->nnodes; i++) {
        const stn_system_node *node = &system->nodes[i];
        const double a = constants[node->operand[0]], b = constants[node->operand[1]], c = constants[node->operand[2]];
        if (node->op == STN_SYSTEM_NUMBER)
            constants[i] = modes_rounded(l, node->number);
        else if (is_generic && (node->op == STN_SYSTEM_COEFFICIENT || node->op >= STN_SYSTEM_LESS))
            constants[i] = generic(i);
        else if (node->op == STN_SYSTEM_COEFFICIENT)
            constants[i] = modes_rounded(l, numbers ? numbers[node->index] : system->coefficients[node->index].value);
        else if (node->op == STN_SYSTEM_FIELD)
            constants[i] = node->level == STN_SYSTEM_NEXT ? constants[l->root_node[node->index]] : 0;
        else if (node->op == STN_SYSTEM_STENCIL)
            constants[i] = sum_of(l, &system->stencils[node->index], a);
        else
            constants[i] = l->task->dtype == STN_F64 ? apply_f64(node->op, a, b, c)
                                                     : apply_f32(node->op, (float)a, (float)b, (float)c);
    }
}

void modes_constants(const modes_linear *l, const double *numbers, double *constants) {
    evaluate(l, numbers, false, constants);
}

void modes_generic_constants(const modes_linear *l, double *constants) { evaluate(l, NULL, true, constants); }

void modes_terms(const modes_linear *l, const modes_pair *powers[2], modes_pair *terms) {
    const modes_wide zero = modes_wide_of(0);
    for (int i = 0; i < l->nterms; i++) terms[i] = (modes_pair){zero, zero};
    for (int i = 0; i < l->nstencils; i++) {
        const modes_stencil *s = &l->stencils[i];
        for (size_t k = 0; k < s->taps->ntaps; k++) {
            const int64_t *o = s->taps->taps[k].offset;
            int term = s->first;
            while (l->term[term] != (int)o[2]) term++;
            const modes_pair turn =
                modes_pair_times(modes_power_of(powers[0], (int)o[0]), modes_power_of(powers[1], (int)o[1]));
            const modes_wide weight = modes_wide_of(modes_rounded(l, s->taps->taps[k].weight));
            terms[term] = modes_pair_add(terms[term], modes_pair_scale(turn, weight));
        }
    }
}
