/* Evaluation of a system's assignment over pieces of rows; see system_rows.h. */
#include "host/system_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/arith.h"
#include "base/error.h"
#include "base/half.h"

#define MAX_INSTRUCTIONS (1 << 17)
#define PIECE_BYTES 2048 /* size of a row of results: a few dozen rows stay in a typical L2 cache */
#define ALIGNED 64

/* ---- making it */

static bool is_number(const stn_system_task *task, const stn_system_node *node) {
    return node->op == STN_SYSTEM_NUMBER || (node->op == STN_SYSTEM_COEFFICIENT && task->is_number[node->index]);
}

static int operand_count(const stn_host_rows *rows, int instruction) {
    const stn_system_node *node = &rows->task->system->nodes[rows->program.list[instruction].node];
    return node->op == STN_SYSTEM_STENCIL ? (int)rows->task->system->stencils[node->index].ntaps
                                          : stn_system_ops[node->op].operands;
}

/* Assigns a row of scratch memory to each instruction. Numbers have rows of their own, which are
 * filled once. Any other instruction gets a row whose content is no longer used, but never the row
 * of one of its own operands, which is read while the result is written. */
static stn_status assign_rows(stn_host_rows *rows, int *count, stn_error *error) {
    const stn_system_program *p = &rows->program;
    const stn_system_node *nodes = rows->task->system->nodes;
    int *left = malloc(2 * (size_t)p->count * sizeof *left), *free_rows = left + p->count, nfree = 0;
    if (!left) return stn_fail_memory(error, "a system's program", 2 * (size_t)p->count * sizeof *left);
    *count = 0;
    for (int i = 0; i < p->count; i++) {
        left[i] = p->list[i].uses;
        if (is_number(rows->task, &nodes[p->list[i].node])) rows->row[i] = (*count)++;
    }
    for (int i = 0; i < p->count; i++) {
        if (is_number(rows->task, &nodes[p->list[i].node])) continue;
        rows->row[i] = nfree ? free_rows[--nfree] : (*count)++;
        for (int k = 0; k < operand_count(rows, i); k++) {
            const int operand = p->operands[p->list[i].operand + k].instruction;
            if (--left[operand] == 0 && !is_number(rows->task, &nodes[p->list[operand].node]))
                free_rows[nfree++] = rows->row[operand];
        }
    }
    free(left);
    return STN_OK;
}

stn_status stn_host_rows_make(const stn_system_task *task, const stn_system_equation *equation, stn_host_rows *rows,
                              stn_error *error) {
    const bool wide = task->dtype == STN_F64;
    const size_t size = wide ? sizeof(double) : sizeof(float);
    int before = 0, after = 0, count = 0;
    *rows = (stn_host_rows){.task = task, .kernels = stn_system_kernels_best(wide)};
    STN_TRY(stn_system_program_make(task->system, equation, true, MAX_INSTRUCTIONS, &rows->program, error));
    for (int i = 0; i < rows->program.count; i++) {
        before = (int)stn_max(before, rows->program.list[i].low);
        after = (int)stn_max(after, rows->program.list[i].high);
    }
    rows->row = malloc((size_t)rows->program.count * sizeof *rows->row);
    if (!rows->row)
        return stn_fail_memory(error, "a system's program", (size_t)rows->program.count * sizeof *rows->row);
    STN_TRY(assign_rows(rows, &count, error));
    rows->points = stn_min(task->n[2], (int64_t)(PIECE_BYTES / size));
    rows->before = (int)stn_round_up(before, (int64_t)(ALIGNED / size));
    rows->bytes = (size_t)stn_round_up((rows->before + rows->points + after) * (int64_t)size, ALIGNED);
    rows->scratch =
        (size_t)count * rows->bytes + (size_t)stn_round_up(rows->program.count * (int64_t)sizeof(void *), ALIGNED);
    return STN_OK;
}

void stn_host_rows_clear(stn_host_rows *rows) {
    stn_system_program_clear(&rows->program);
    free(rows->row);
    rows->row = NULL;
}

/* ---- fields and coefficients */

/* A field or coefficient around a piece. */
typedef struct leaf {
    const stn_host_rows *rows;
    const stn_system_variable *variable;
    const char *base; /* first point of the grid */
} leaf;

static size_t width(const stn_host_rows *rows) { return rows->task->dtype == STN_F64 ? sizeof(double) : sizeof(float); }

static void put(const stn_host_rows *rows, char *to, int64_t i, double value) {
    if (rows->task->dtype == STN_F64)
        ((double *)to)[i] = value;
    else
        ((float *)to)[i] = (float)value;
}

static double load(stn_dtype dtype, const char *row, int64_t i) {
    if (dtype == STN_F64) return ((const double *)row)[i];
    if (dtype == STN_F32) return (double)((const float *)row)[i];
    return (double)stn_half_to_float(((const uint16_t *)row)[i]);
}

/* Copies points of a row inside the grid, in the arithmetic type. */
static void copy_inside(const stn_host_rows *rows, const char *row, int64_t begin, int64_t count, char *to) {
    const stn_dtype dtype = rows->task->dtype;
    if (count <= 0) return;
    if (dtype == STN_F16)
        for (int64_t i = 0; i < count; i++) ((float *)to)[i] = stn_half_to_float(((const uint16_t *)row)[begin + i]);
    else
        memcpy(to, row + (size_t)begin * width(rows), (size_t)count * width(rows));
}

/* Points [begin, end) of the row (i0, i1), any of which may be past a side: copied to `own`, or in
 * place if possible. */
static const char *read_row(const leaf *l, const int64_t index[2], int64_t begin, int64_t end, char *own) {
    const stn_host_rows *rows = l->rows;
    const stn_system_task *task = rows->task;
    const int64_t *n = task->n;
    int64_t folded[2];
    double sign = 1, constant = 0;
    for (int axis = 0; axis < 2; axis++) {
        folded[axis] = stn_system_fold(index[axis], n[axis], l->variable->side[axis], &sign, &constant);
        if (folded[axis] >= 0) continue;
        rows->kernels->fill(own, sign * stn_system_round_to_dtype(task->dtype, constant), (size_t)(end - begin));
        return own;
    }
    const char *row = l->base + (folded[0] * n[1] + folded[1]) * n[2] * (int64_t)stn_dtype_size(task->dtype);
    const int64_t inside = stn_min(stn_max(begin, 0), end), past = stn_max(stn_min(end, n[2]), inside);
    if (sign > 0 && task->dtype != STN_F16 && inside == begin && past == end) return row + (size_t)begin * width(rows);
    copy_inside(rows, row, inside, past - inside, own + (size_t)(inside - begin) * width(rows));
    for (int64_t x = begin; x < end; x++) {
        double point_sign = 1;
        if (x == inside) x = past;
        if (x >= end) break;
        const int64_t at = stn_system_fold(x, n[2], l->variable->side[2], &point_sign, &constant);
        put(rows, own, x - begin,
            point_sign * (at < 0 ? stn_system_round_to_dtype(task->dtype, constant) : load(task->dtype, row, at)));
    }
    if (sign < 0) rows->kernels->scale(own, -1, (size_t)(end - begin));
    return own;
}

/* ---- running it */

static char *row_of(const stn_host_rows *rows, int instruction, char *scratch) {
    const size_t pointers = (size_t)stn_round_up(rows->program.count * (int64_t)sizeof(void *), ALIGNED);
    return scratch + pointers + (size_t)rows->row[instruction] * rows->bytes + (size_t)rows->before * width(rows);
}

void stn_host_rows_begin(const stn_host_rows *rows, const double *numbers, char *scratch) {
    const char **pointers = (const char **)(void *)scratch;
    for (int i = 0; i < rows->program.count; i++) {
        const stn_system_instruction *instruction = &rows->program.list[i];
        const stn_system_node *node = &rows->task->system->nodes[instruction->node];
        if (!is_number(rows->task, node)) continue;
        char *row = row_of(rows, i, scratch);
        const double value = node->op == STN_SYSTEM_NUMBER ? node->number : numbers[node->index];
        rows->kernels->fill(row - (ptrdiff_t)instruction->low * (ptrdiff_t)width(rows), value,
                            (size_t)(instruction->low + rows->points + instruction->high));
        pointers[i] = row;
    }
}

/* Computes one instruction from `low` points before the piece to `high` after it; returns the
 * address of the piece's first point. */
static const char *run_stencil(const stn_host_rows *rows, const stn_system_instruction *instruction,
                               const char *const *pointers, int64_t count, char *row) {
    const stn_system_stencil *stencil =
        &rows->task->system->stencils[rows->task->system->nodes[instruction->node].index];
    const stn_system_operand *operands = rows->program.operands + instruction->operand;
    const ptrdiff_t size = (ptrdiff_t)width(rows);
    for (size_t first = 0; first < stencil->ntaps; first += STN_SYSTEM_ROW_TERMS) {
        const void *lines[STN_SYSTEM_ROW_TERMS];
        double weights[STN_SYSTEM_ROW_TERMS];
        const int terms = (int)stn_min((int64_t)(stencil->ntaps - first), STN_SYSTEM_ROW_TERMS);
        for (int k = 0; k < terms; k++) {
            const stn_system_operand *operand = &operands[first + (size_t)k];
            lines[k] = pointers[operand->instruction] + (operand->shift - instruction->low) * size;
            weights[k] = stencil->taps[first + (size_t)k].weight;
        }
        rows->kernels->sum(row - instruction->low * size, lines, weights, terms, first > 0,
                           (size_t)(instruction->low + count + instruction->high));
    }
    return row;
}

static const char *run_leaf(const stn_host_rows *rows, const stn_host_sources *sources,
                            const stn_system_instruction *instruction, int64_t grid, const int64_t at[2], int64_t begin,
                            int64_t count, char *row) {
    const stn_system_task *task = rows->task;
    const stn_system_node *node = &task->system->nodes[instruction->node];
    const bool field = node->op == STN_SYSTEM_FIELD;
    const ptrdiff_t low = instruction->low, size = (ptrdiff_t)width(rows);
    const int64_t index[2] = {at[0] + instruction->offset[0], at[1] + instruction->offset[1]};
    leaf l = {.rows = rows};
    l.variable = field ? &task->system->fields[node->index] : &task->system->coefficients[node->index];
    l.base = field ? sources->fields[node->index][node->level + 1] : sources->coefficients[node->index];
    if (field) l.base += grid * stn_system_task_points(task) * (int64_t)stn_dtype_size(task->dtype);
    return read_row(&l, index, begin - low, begin + count + instruction->high, row - low * size) + low * size;
}

static const char *run_operator(const stn_host_rows *rows, const stn_system_instruction *instruction,
                                const char *const *pointers, int64_t count, char *row) {
    const stn_system_op op = rows->task->system->nodes[instruction->node].op;
    const ptrdiff_t shift = -(ptrdiff_t)instruction->low * (ptrdiff_t)width(rows);
    const char *of[3] = {row, row, row};
    for (int k = 0; k < stn_system_ops[op].operands; k++)
        of[k] = pointers[rows->program.operands[instruction->operand + k].instruction] + shift;
    rows->kernels->apply(op, row + shift, of[0], of[1], of[2], (size_t)(instruction->low + count + instruction->high));
    return row;
}

static void store(const stn_host_rows *rows, const char *row, int64_t count, void *next) {
    if (rows->task->dtype == STN_F16)
        for (int64_t i = 0; i < count; i++) ((uint16_t *)next)[i] = stn_float_to_half(((const float *)row)[i]);
    else
        memmove(next, row, (size_t)count * width(rows));
}

void stn_host_rows_run(const stn_host_rows *rows, const stn_host_sources *sources, int64_t grid, const int64_t at[2],
                       int64_t begin, int64_t count, char *scratch, void *next) {
    const char **pointers = (const char **)(void *)scratch;
    const stn_system_program *program = &rows->program;
    for (int i = 0; i < program->count; i++) {
        const stn_system_instruction *instruction = &program->list[i];
        const stn_system_node *node = &rows->task->system->nodes[instruction->node];
        if (is_number(rows->task, node)) continue;
        char *row = row_of(rows, i, scratch);
        if (node->op == STN_SYSTEM_STENCIL)
            pointers[i] = run_stencil(rows, instruction, pointers, count, row);
        else if (node->op == STN_SYSTEM_FIELD || node->op == STN_SYSTEM_COEFFICIENT)
            pointers[i] = run_leaf(rows, sources, instruction, grid, at, begin, count, row);
        else
            pointers[i] = run_operator(rows, instruction, pointers, count, row);
    }
    store(rows, pointers[program->count - 1], count, next);
}
