/* Lags, margins and rings of the passes of a fused launch. */
#include "strategies/fused/schedule.h"

#include <string.h>

#include "base/arith.h"
#include "base/error.h"

/* ---- what assignments read */

static bool wraps(const stn_system_task *task, const stn_system_array *array, int axis) {
    return stn_system_array_variable(task, array)->side[axis][0].kind == STN_WRAP;
}

static void note_reach(int reach[3][2], const int offset[3]) {
    for (int axis = 0; axis < 3; axis++) {
        reach[axis][0] = (int)stn_max(reach[axis][0], -offset[axis]);
        reach[axis][1] = (int)stn_max(reach[axis][1], offset[axis]);
    }
}

/* A read past a side that does not wrap is folded back. The point that is then read may lie on the
 * other side of the assigned point, but no further away, so both reaches become the larger of the
 * two. */
static void widen_reach(const stn_system_task *task, fused_reads *r, int e, int array) {
    int(*const reach)[2] = r->reach[e][array];
    for (int axis = 0; axis < 3; axis++) {
        const int most = (int)stn_max(reach[axis][0], reach[axis][1]);
        if (!most) continue;
        if (wraps(task, &r->reads.arrays[array], axis))
            r->continues[axis] = true;
        else
            reach[axis][0] = reach[axis][1] = most, r->whole[axis] = false;
    }
}

static bool add_equation(const stn_system_task *task, int e, const stn_system_program *program, fused_reads *r) {
    static const int none[3] = {0};
    if (!stn_system_reads_add(task, program, &r->reads)) return false;
    r->instructions[e] = program->count;
    for (int i = 0; i < program->count; i++) {
        const stn_system_instruction *instruction = &program->list[i];
        const stn_system_node *node = &task->system->nodes[instruction->node];
        const bool is_field = node->op == STN_SYSTEM_FIELD;
        if (node->op == STN_SYSTEM_STENCIL) r->operations[e] += 2 * (int)task->system->stencils[node->index].ntaps;
        if (!is_field && (node->op != STN_SYSTEM_COEFFICIENT || task->is_number[node->index])) {
            r->operations[e]++;
            continue;
        }
        r->fetched[e]++;
        const int array = stn_system_reads_array(&r->reads, is_field, node->index, node->level);
        if (r->reach[e][array][0][0] < 0) memset(r->reach[e][array], 0, sizeof r->reach[e][array]);
        note_reach(r->reach[e][array], instruction->offset);
    }
    int64_t begin[3], end[3];
    stn_system_updated_range(task, &task->system->equations[e], begin, end);
    for (int axis = 0; axis < 3; axis++) r->freezes[e] |= begin[axis] > 0 || end[axis] < task->n[axis];
    if (!r->freezes[e]) return true;
    const int present = stn_system_reads_array(&r->reads, true, task->system->equations[e].field, 0);
    if (present < 0) return false;
    if (r->reach[e][present][0][0] < 0) memset(r->reach[e][present], 0, sizeof r->reach[e][present]);
    note_reach(r->reach[e][present], none);
    return true;
}

/* Whether points near a side of the axis keep their values. */
static bool freezes_along(const stn_system_task *task, int axis) {
    int64_t begin[3], end[3];
    bool freezes = false;
    for (int e = 0; e < task->system->nequations; e++) {
        stn_system_updated_range(task, &task->system->equations[e], begin, end);
        freezes = freezes || begin[axis] > 0 || end[axis] < task->n[axis];
    }
    return freezes;
}

stn_status fused_reads_make(const stn_system_task *task, fused_reads *r, stn_error *error) {
    memset(r, 0, sizeof *r);
    memset(r->reach, -1, sizeof r->reach);
    stn_system_reads_begin(&r->reads);
    for (int e = 0; e < task->system->nequations; e++) {
        stn_system_program program;
        stn_status status = stn_system_code_program(task, &task->system->equations[e], &program, error);
        if (status == STN_OK && !add_equation(task, e, &program, r))
            status = stn_fail(error, STN_ERROR_UNSUPPORTED, "the assignments read more than %d arrays",
                              STN_SYSTEM_MAX_READ_ARRAYS);
        stn_system_program_clear(&program);
        STN_TRY(status);
    }
    /* C++ has no empty arrays, so the first field is listed if nothing is read. */
    if (!r->reads.narrays) (void)stn_system_reads_array(&r->reads, true, 0, 0);
    stn_system_reads_end(task, &r->reads);
    for (int axis = 0; axis < 3; axis++) r->whole[axis] = true;
    for (int e = 0; e < task->system->nequations; e++)
        for (int a = 0; a < r->reads.narrays; a++)
            if (r->reach[e][a][0][0] >= 0) widen_reach(task, r, e, a);
    for (int axis = 0; axis < 3; axis++)
        r->whole[axis] = r->whole[axis] && r->continues[axis] && !freezes_along(task, axis);
    return STN_OK;
}

/* ---- passes and what they read */

static int input_of(fused_schedule *s, const stn_system_array *array, int level) {
    for (int i = 0; i < s->ninputs; i++)
        if (s->inputs[i].is_field == array->is_field && s->inputs[i].index == array->index &&
            s->inputs[i].level == level)
            return i;
    if (s->ninputs == FUSED_MAX_INPUTS) return -1;
    s->inputs[s->ninputs] = (stn_system_array){.is_field = array->is_field, .index = array->index, .level = level};
    return s->ninputs++;
}

static int equation_of(const stn_system_task *task, int field) {
    for (int e = 0; e < task->system->nequations; e++)
        if (task->system->equations[e].field == field) return e;
    return 0;
}

/* Finds the node of every read. Until inputs are counted, pass j is node FUSED_MAX_INPUTS + j. */
static bool find_nodes(const stn_system_task *task, const fused_reads *r, fused_schedule *s) {
    const int equations = task->system->nequations;
    for (int j = 0; j < s->npasses; j++) {
        const int step = j / equations;
        s->equation[j] = j % equations;
        for (int a = 0; a < r->reads.narrays; a++) {
            const stn_system_array *array = &r->reads.arrays[a];
            s->node_of[j][a] = -1;
            if (r->reach[s->equation[j]][a][0][0] < 0) continue;
            const int state = step - array->level; /* the level of `next` is -1 */
            s->node_of[j][a] = !array->is_field ? input_of(s, array, 0)
                               : state <= 0
                                   ? input_of(s, array, -state)
                                   : FUSED_MAX_INPUTS + (state - 1) * equations + equation_of(task, array->index);
            if (s->node_of[j][a] < 0) return false;
        }
    }
    if (!s->ninputs && input_of(s, &r->reads.arrays[0], 0) < 0) return false;
    for (int j = 0; j < s->npasses; j++) {
        s->present[j] = -1;
        for (int a = 0; a < r->reads.narrays; a++) {
            const stn_system_array *array = &r->reads.arrays[a];
            if (s->node_of[j][a] >= FUSED_MAX_INPUTS) s->node_of[j][a] += s->ninputs - FUSED_MAX_INPUTS;
            if (r->freezes[s->equation[j]] && array->is_field && array->level == 0 &&
                array->index == task->system->equations[s->equation[j]].field)
                s->present[j] = s->node_of[j][a];
        }
    }
    return true;
}

/* A block synchronises before a pass that reads the result of a pass computed since the last
 * synchronisation. */
static void find_waits(const fused_reads *r, fused_schedule *s) {
    int since = s->ninputs;
    for (int j = 0; j < s->npasses; j++) {
        s->waits[j] = 0;
        for (int a = 0; a < r->reads.narrays; a++) s->waits[j] |= s->node_of[j][a] >= since;
        if (s->waits[j]) since = s->ninputs + j;
    }
}

/* ---- times and places */

/* Lags are multiples of an iteration's rows, which are thus adjacent in shared memory. */
static void find_lags(const fused_reads *r, const fused_shape *shape, fused_schedule *s) {
    for (int j = 0; j < s->npasses; j++) {
        fused_node *node = &s->nodes[s->ninputs + j];
        for (int a = 0; a < r->reads.narrays; a++)
            if (s->node_of[j][a] >= 0)
                node->lag = (int)stn_max(node->lag, s->nodes[s->node_of[j][a]].lag + r->reach[s->equation[j]][a][1][1]);
        node->lag = (int)stn_round_up(node->lag, shape->rows);
    }
    /* Inputs are loaded as late as their first reader allows. */
    for (int i = 0; i < s->ninputs; i++) {
        int least = INT32_MAX;
        for (int j = 0; j < s->npasses; j++)
            for (int a = 0; a < r->reads.narrays; a++)
                if (s->node_of[j][a] == i)
                    least = (int)stn_min(least, s->nodes[s->ninputs + j].lag - r->reach[s->equation[j]][a][1][1]);
        s->nodes[i].lag = least == INT32_MAX ? 0 : least / shape->rows * shape->rows;
    }
}

static int floor_div(int a, int b) { return a >= 0 ? a / b : -((-a + b - 1) / b); }

/* Rounds needed rows up to multiples of an iteration's, needed columns to those of a thread's. */
static void round_needs(const fused_shape *shape, fused_node *node) {
    for (int side = 0; side < 2; side++) node->columns[side] = (int)stn_round_up(node->columns[side], shape->vector);
    node->begin = floor_div(node->lag - node->rows[0], shape->rows);
    node->end = -floor_div(-(node->rows[1] + node->lag), shape->rows);
    node->rows[0] = node->lag - node->begin * shape->rows;
    node->rows[1] = node->end * shape->rows - node->lag;
}

/* From the last pass back, finds the rows and columns that are needed of each node, and the rows of
 * its ring. */
static void find_needs(const fused_reads *r, const fused_shape *shape, fused_schedule *s) {
    for (int j = s->npasses - 1; j >= 0; j--) {
        fused_node *node = &s->nodes[s->ninputs + j];
        round_needs(shape, node);
        for (int a = 0; a < r->reads.narrays; a++) {
            if (s->node_of[j][a] < 0) continue;
            fused_node *from = &s->nodes[s->node_of[j][a]];
            const int(*const reach)[2] = r->reach[s->equation[j]][a];
            for (int side = 0; side < 2; side++) {
                from->rows[side] = (int)stn_max(from->rows[side], node->rows[side] + reach[1][side]);
                from->columns[side] = (int)stn_max(from->columns[side], node->columns[side] + reach[2][side]);
            }
            from->ring = (int)stn_max(from->ring, shape->rows + node->lag - from->lag + reach[1][0]);
        }
    }
    for (int i = 0; i < s->ninputs; i++) {
        round_needs(shape, &s->nodes[i]);
        s->nodes[i].ring += shape->rows; /* inputs of the next iteration arrive meanwhile */
    }
}

static void place(const fused_shape *shape, fused_schedule *s) {
    const int count = s->ninputs + s->npasses;
    s->begin = INT32_MAX, s->end = INT32_MIN;
    for (int n = 0; n < count; n++) {
        fused_node *node = &s->nodes[n];
        node->ring = (int)stn_round_up(node->ring, shape->rows);
        node->at = s->slots;
        s->slots += node->ring;
        s->begin = (int)stn_min(s->begin, node->begin);
        s->end = (int)stn_max(s->end, node->end);
        for (int side = 0; side < 2; side++) s->margin[side] = (int)stn_max(s->margin[side], node->columns[side]);
    }
    for (int n = 0; n < count; n++) {
        fused_node *node = &s->nodes[n];
        const int iterations = node->ring / shape->rows;
        node->start = iterations ? s->begin - floor_div(s->begin, iterations) * iterations : 0;
    }
}

bool fused_schedule_make(const stn_system_task *task, const fused_reads *r, const fused_shape *shape,
                         fused_schedule *s) {
    memset(s, 0, sizeof *s);
    const int equations = task->system->nequations;
    s->npasses = equations * shape->depth;
    if (s->npasses > FUSED_MAX_PASSES || !find_nodes(task, r, s)) return false;
    find_waits(r, s);
    find_lags(r, shape, s);
    find_needs(r, shape, s);
    place(shape, s);
    for (int j = 0; j < s->npasses; j++) {
        const int field = task->system->equations[s->equation[j]].field, level = shape->depth - 1 - j / equations;
        s->out[j] = level < task->system->fields[field].levels ? s->noutputs : -1;
        if (s->out[j] < 0) continue;
        s->outputs[s->noutputs].field = field, s->outputs[s->noutputs++].level = level;
    }
    return s->margin[0] + s->margin[1] < shape->x;
}
