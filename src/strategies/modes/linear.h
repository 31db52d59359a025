/* A linear system as the matrix of its step at a frequency.
 *
 * The state at a frequency is one number for each level of each field: its backward differences u,
 * u - u.prev, u - 2 u.prev + u.prev2, ... (the same numbers are the levels again when they are
 * differenced once more). Of slow waves those of higher order are small, and stay exact. */
#ifndef STN_STRATEGIES_MODES_LINEAR_H
#define STN_STRATEGIES_MODES_LINEAR_H
#include "problem/system_task.h"
#include "strategies/modes/number.h"

typedef enum modes_kind {
    MODES_LEVEL,
    MODES_STENCIL,
    MODES_NEGATE,
    MODES_ADD,
    MODES_SUBTRACT,
    MODES_SCALE,
    MODES_DIVIDE
} modes_kind;

/* One expression that is linear in the state; operands come before what uses them. */
typedef struct modes_operation {
    modes_kind kind;
    int a, b;         /* operands, operations */
    int field, level; /* of a level */
    int stencil;      /* of a stencil: number in `stencils` */
    int node;         /* of the factor or the divisor, which is constant */
    uint64_t columns; /* bit c: it may depend on number c of the state */
} modes_operation;

/* A stencil's taps that share an offset along the last axis are one term of a row of frequencies:
 * the terms `first` to first + count - 1. */
typedef struct modes_stencil {
    const stn_system_stencil *taps;
    int first, count;
} modes_stencil;

/* How an axis goes on past its sides: by itself, or mirrored, field by field with signs. */
typedef struct modes_axis {
    int64_t n, length; /* points of the grid, and until the extended axis repeats */
    /* Mirrors stand so many half points outside of the outer points; unless length is n */
    int beyond;
    bool mirrored;
    signed char sign[STN_SYSTEM_MAX_FIELDS][2]; /* of each field at the low and the high mirror */
} modes_axis;

typedef struct modes_linear {
    const stn_system_task *task; /* borrowed */
    int width, first[STN_SYSTEM_MAX_FIELDS];
    int count, nstencils, nterms;
    modes_operation *operations; /* owned, as what follows */
    modes_stencil *stencils;
    int *term;         /* of each, the offset along the last axis */
    int *operation_of; /* of each node; -1: it is constant */
    /* Of each field, its assignment's operation; -1: it is constant */
    int root[STN_SYSTEM_MAX_FIELDS];
    int root_node[STN_SYSTEM_MAX_FIELDS]; /* likewise, the node */
    int reach[3];                         /* the largest offset of a stencil along each axis */
    bool affine;                          /* steps add constants too */
    bool real;                            /* the matrix is real: symmetry.h */
    /* It is the same at frequencies that mirror each other along this axis */
    bool even[2];
    modes_axis axis[3];
} modes_linear;

/* All but the symmetries. False, with the reason in one phrase, where the step is no such matrix.
 * Cleared by the caller in any case. */
bool modes_linear_make(const stn_system_task *task, modes_linear *linear, char *reason, size_t size);
void modes_linear_clear(modes_linear *linear);

/* The constant part of each node, in the arithmetic of the dtype, with these numbers for the
 * coefficients. */
void modes_constants(const modes_linear *linear, const double *numbers, double *constants);
/* Numbers of no meaning for all that executions may change: coefficients, and functions and
 * comparisons, which may be zero for some coefficients and not for others. */
void modes_generic_constants(const modes_linear *linear, double *constants);
/* The terms of a row of frequencies, from the powers of exp(i theta) along the first two axes. */
void modes_terms(const modes_linear *linear, const modes_pair *powers[2], modes_pair *terms);

/* The grid's point that stands for point i of an extended axis, and its sign in *sign; 0: it is
 * zero. */
int64_t modes_image(const modes_axis *axis, int field, int64_t i, int *sign);
#endif
