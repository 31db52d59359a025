/* Compiles an assignment of a system to straight-line code (system_program.h): from the assigned
 * node down, each node is instantiated at every offset where its value is needed. */
#include "problem/system_program.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"

/* State of the compilation. Instructions are listed in the order in which they are found, users
 * before operands. */
typedef struct compiler {
    const stn_system *system;
    stn_system_program *program;
    bool rows;
    int max_count, capacity, operand_capacity;
    int *of_node;  /* the latest instruction of each node; -1: none */
    int *previous; /* the previous instruction of the same node */
    int *table;    /* hash table of (node, offset): instruction index + 1 */
    size_t table_size;
} compiler;

static size_t slot_of(const compiler *m, int node, const int offset[3]) {
    uint64_t h = (uint64_t)node;
    for (int axis = 0; axis < 3; axis++) h = (h * 1024 + (uint64_t)(offset[axis] + 512)) * UINT64_C(0x9e3779b97f4a7c15);
    return (size_t)(h >> 20) & (m->table_size - 1);
}

/* Finds or adds the instruction of a node at an offset and widens its range; -1: there are too
 * many. */
static int require(compiler *m, int node, const int offset[3], int low, int high) {
    stn_system_program *p = m->program;
    size_t slot = slot_of(m, node, offset);
    for (; m->table[slot]; slot = (slot + 1) & (m->table_size - 1)) {
        stn_system_instruction *found = &p->list[m->table[slot] - 1];
        if (found->node != node || memcmp(found->offset, offset, sizeof found->offset) != 0) continue;
        if (low > found->low) found->low = low;
        if (high > found->high) found->high = high;
        found->uses++;
        return m->table[slot] - 1;
    }
    if (p->count == m->max_count) return -1;
    stn_system_instruction *made = &p->list[p->count];
    *made = (stn_system_instruction){.node = node, .low = low, .high = high, .uses = 1};
    memcpy(made->offset, offset, sizeof made->offset);
    m->previous[p->count] = m->of_node[node];
    m->of_node[node] = p->count;
    m->table[slot] = ++p->count;
    return p->count - 1;
}

static stn_status too_many(const compiler *m, stn_error *error) {
    return stn_fail(error, STN_ERROR_UNSUPPORTED, "an assignment takes more than %d operations a point", m->max_count);
}

static stn_status add_operand(compiler *m, int instruction, int shift, stn_error *error) {
    stn_system_program *p = m->program;
    if (instruction < 0) return too_many(m, error);
    if (p->noperands == m->operand_capacity) {
        const int capacity = 2 * m->operand_capacity + 64;
        stn_system_operand *resized = realloc(p->operands, (size_t)capacity * sizeof *resized);
        if (!resized) return stn_fail_memory(error, "a system's program", (size_t)capacity * sizeof *resized);
        p->operands = resized, m->operand_capacity = capacity;
    }
    p->operands[p->noperands++] = (stn_system_operand){instruction, shift};
    return STN_OK;
}

static stn_status add_taps(compiler *m, const stn_system_instruction *of, const stn_system_node *node,
                           stn_error *error) {
    const stn_system_stencil *stencil = &m->system->stencils[node->index];
    for (size_t k = 0; k < stencil->ntaps; k++) {
        const int64_t *o = stencil->taps[k].offset;
        const int along = (int)o[2], shift = m->rows ? along : 0;
        const int offset[3] = {of->offset[0] + (int)o[0], of->offset[1] + (int)o[1],
                               of->offset[2] + (m->rows ? 0 : along)};
        const int operand = require(m, node->operand[0], offset, of->low - shift, of->high + shift);
        STN_TRY(add_operand(m, operand, shift, error));
    }
    return STN_OK;
}

/* Adds the operands of all instructions of a node, whose ranges are final by now. */
static stn_status expand(compiler *m, int number, stn_error *error) {
    const stn_system_node *node = &m->system->nodes[number];
    for (int i = m->of_node[number]; i >= 0; i = m->previous[i]) {
        const stn_system_instruction of = m->program->list[i];
        m->program->list[i].operand = m->program->noperands;
        if (node->op == STN_SYSTEM_STENCIL) {
            STN_TRY(add_taps(m, &of, node, error));
            continue;
        }
        for (int k = 0; k < stn_system_ops[node->op].operands; k++)
            STN_TRY(add_operand(m, require(m, node->operand[k], of.offset, of.low, of.high), 0, error));
    }
    return STN_OK;
}

/* Sorts the instructions by node, so that operands come before their users. */
static stn_status order(const compiler *m, int root, stn_error *error) {
    stn_system_program *p = m->program;
    stn_system_instruction *ordered = malloc((size_t)p->count * sizeof *ordered);
    int *new_index = malloc((size_t)p->count * sizeof *new_index), count = 0;
    stn_status status = STN_OK;
    if (ordered && new_index) {
        for (int node = 0; node <= root; node++)
            for (int i = m->of_node[node]; i >= 0; i = m->previous[i]) {
                new_index[i] = count;
                ordered[count++] = p->list[i];
            }
        memcpy(p->list, ordered, (size_t)p->count * sizeof *ordered);
        for (int i = 0; i < p->noperands; i++) p->operands[i].instruction = new_index[p->operands[i].instruction];
    } else
        status = stn_fail_memory(error, "a system's program", (size_t)p->count * sizeof *ordered);
    free(ordered);
    free(new_index);
    return status;
}

static stn_status compile(compiler *m, const stn_system_equation *equation, stn_error *error) {
    const int offset[3] = {0};
    for (int i = 0; i <= equation->root; i++) m->of_node[i] = -1;
    if (require(m, equation->root, offset, 0, 0) < 0) return too_many(m, error);
    for (int i = equation->root; i >= 0; i--) STN_TRY(expand(m, i, error));
    return order(m, equation->root, error);
}

stn_status stn_system_program_make(const stn_system *system, const stn_system_equation *equation, bool rows,
                                   int max_count, stn_system_program *program, stn_error *error) {
    compiler m = {.system = system, .program = program, .rows = rows, .max_count = max_count, .table_size = 2};
    while (m.table_size < 2 * (size_t)max_count) m.table_size *= 2;
    memset(program, 0, sizeof *program);
    program->list = malloc((size_t)max_count * sizeof *program->list);
    m.previous = malloc((size_t)max_count * sizeof *m.previous);
    m.of_node = malloc(((size_t)equation->root + 1) * sizeof *m.of_node);
    m.table = calloc(m.table_size, sizeof *m.table);
    stn_status status = STN_OK;
    if (program->list && m.previous && m.of_node && m.table)
        status = compile(&m, equation, error);
    else
        status = stn_fail_memory(error, "a system's program", (size_t)max_count * sizeof *program->list);
    free(m.previous);
    free(m.of_node);
    free(m.table);
    return status;
}

void stn_system_program_clear(stn_system_program *program) {
    free(program->list);
    free(program->operands);
    memset(program, 0, sizeof *program);
}
