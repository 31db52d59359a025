/* A linear system as the matrix of its step at a frequency.
 *
 * The state at a frequency is one number for each time level of each field: the backward
 * differences u, u - u.prev, u - 2 u.prev + u.prev2, ... (the same transformation maps them back to
 * levels). Higher differences of slow waves are small and keep their relative accuracy. */
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

/* An expression that is linear in the state; operands precede their users. */
typedef struct modes_operation {
    modes_kind kind;
    int a, b;         /* operands, operations */
    int field, level; /* for a time level */
    int stencil;      /* for a stencil: index in `stencils` */
    int node;         /* the node of the constant factor or divisor */
    uint64_t columns; /* bit c: it may depend on state variable c */
} modes_operation;

/* A stencil's taps that share an offset along the last axis are one term of a row of frequencies:
 * the terms `first` to first + count - 1. */
typedef struct modes_stencil {
    const stn_system_stencil *taps;
    int first, count;
} modes_stencil;

/* How an axis is extended past its sides: periodically, or by mirror images with signs per
 * field. */
typedef struct modes_axis {
    int64_t n, length; /* points of the grid; period of the extended axis */
    /* If length is not n: the distance from outer points to their mirrors, in half points. */
    int beyond;
    bool mirrored;
    signed char sign[STN_SYSTEM_MAX_FIELDS][2]; /* of each field at the low and the high mirror */
} modes_axis;

typedef struct modes_linear {
    const stn_system_task *task; /* borrowed */
    int width, first[STN_SYSTEM_MAX_FIELDS];
    int count, nstencils, nterms;
    modes_operation *operations; /* owned, like the following arrays */
    modes_stencil *stencils;
    int *term;         /* the offset of each term along the last axis */
    int *operation_of; /* operation of each node; -1: a constant */
    /* The operation of each field's assignment; -1: a constant. */
    int root[STN_SYSTEM_MAX_FIELDS];
    int root_node[STN_SYSTEM_MAX_FIELDS]; /* the node of the same */
    int reach[3];                         /* the largest offset of a stencil along each axis */
    bool affine;                          /* steps also add constants */
    bool real;                            /* the matrix is real: symmetry.h */
    /* The matrix is equal at frequencies mirrored along this axis. */
    bool even[2];
    modes_axis axis[3];
} modes_linear;

/* Sets everything except the symmetries. False, with the reason in one phrase, if the step is not
 * such a matrix. The caller clears *linear in either case. */
bool modes_linear_make(const stn_system_task *task, modes_linear *linear, char *reason, size_t size);
void modes_linear_clear(modes_linear *linear);

/* Computes the constant part of each node in the dtype's arithmetic for these coefficients. */
void modes_constants(const modes_linear *linear, const double *numbers, double *constants);
/* Generic (random) values for everything that executions may change: coefficients, and functions
 * and comparisons of them, which may be zero for special coefficients. */
void modes_generic_constants(const modes_linear *linear, double *constants);
/* Computes the terms of a row of frequencies from powers of exp(i theta) along the first two
 * axes. */
void modes_terms(const modes_linear *linear, const modes_pair *powers[2], modes_pair *terms);

/* The grid point whose image is point i of an extended axis, and its sign in *sign (0: the value is
 * zero). */
int64_t modes_image(const modes_axis *axis, int field, int64_t i, int *sign);
#endif
