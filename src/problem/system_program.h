/* An assignment of a system as straight-line code: one instruction for each node and each place
 * around the point where the node is needed, operands before their users.
 *
 * Of rows, an instruction is a whole row, shifted by offset[0] and offset[1] against the assigned
 * one, and needed from `low` points before its first point to `high` points after its last. Of
 * points it is one value at offset[0..2]. */
#ifndef STN_PROBLEM_SYSTEM_PROGRAM_H
#define STN_PROBLEM_SYSTEM_PROGRAM_H
#include "problem/system.h"

typedef struct stn_system_operand {
    int instruction, shift; /* of rows: points along the row */
} stn_system_operand;

typedef struct stn_system_instruction {
    int node, offset[3];
    int low, high; /* of rows; low may be negative */
    int operand;   /* the first of the node's; of a stencil one for each tap, in order */
    int uses;      /* how many instructions take it as an operand */
} stn_system_instruction;

typedef struct stn_system_program {
    stn_system_instruction *list; /* the last one is the assigned value */
    stn_system_operand *operands;
    int count, noperands;
} stn_system_program;

/* At most `most` instructions, else STN_ERROR_UNSUPPORTED. The program is cleared by the caller, on
 * failure too. */
stn_status stn_system_program_make(const stn_system *system, const stn_system_equation *equation, bool rows, int most,
                                   stn_system_program *program, stn_error *error);
void stn_system_program_clear(stn_system_program *program);
#endif
