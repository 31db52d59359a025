/* An assignment of a system as straight-line code: one instruction for each pair of a node and an
 * offset from the assigned point at which the node's value is needed, operands before their users.
 *
 * With `rows`, an instruction computes a whole row, displaced by offset[0] and offset[1] from the
 * assigned row, from `low` points before its first point to `high` points behind its last one.
 * Without, it computes one value at offset[0..2]. */
#ifndef STN_PROBLEM_SYSTEM_PROGRAM_H
#define STN_PROBLEM_SYSTEM_PROGRAM_H
#include "problem/system.h"

typedef struct stn_system_operand {
    int instruction, shift; /* with rows: displacement in points along the row */
} stn_system_operand;

typedef struct stn_system_instruction {
    int node, offset[3];
    int low, high; /* with rows; low may be negative */
    int operand;   /* index of its first operand; a stencil has one for each tap, in order */
    int uses;      /* number of instructions that have it as an operand */
} stn_system_instruction;

typedef struct stn_system_program {
    stn_system_instruction *list; /* the last one computes the assigned value */
    stn_system_operand *operands;
    int count, noperands;
    /* Of a launch of several steps, the step that the program computes; the levels of fields count
     * from there. */
    int step;
} stn_system_program;

/* Makes at most max_count instructions; STN_ERROR_UNSUPPORTED if more are needed. The caller clears
 * the program, also on failure. */
stn_status stn_system_program_make(const stn_system *system, const stn_system_equation *equation, bool rows,
                                   int max_count, stn_system_program *program, stn_error *error);
void stn_system_program_clear(stn_system_program *program);
#endif
