/* A linear system as the matrix of its step at a frequency.
 *
 * The state at a frequency is one number for each level of each field: its backward differences u,
 * u - u.prev, u - 2 u.prev + u.prev2, ... (differencing these numbers in the same way gives the
 * levels back). In slow waves differences are small against u; kept as numbers of their own, they
 * lose no digits. */
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

/* An expression that is linear in the state. Operands come before the operations that use them. */
typedef struct modes_operation {
    modes_kind kind;
    int a, b;         /* the operands: numbers of operations */
    int field, level; /* of MODES_LEVEL */
    int stencil;      /* of MODES_STENCIL: index into `stencils` */
    int node;         /* of MODES_SCALE, MODES_DIVIDE: the node of the constant factor or divisor */
    uint64_t columns; /* bit c is set if the expression may depend on number c of the state */
} modes_operation;

/* A stencil's taps that share an offset along the last axis are one term. The terms of a stencil
 * are numbers `first` to first + count - 1. */
typedef struct modes_stencil {
    const stn_system_stencil *taps;
    int first, count;
} modes_stencil;

/* The periodic extension of an axis: the grid itself, or the grid and its mirror images, which
 * change the signs of some fields. */
typedef struct modes_axis {
    int64_t n, length; /* points of the grid, and of one period of the extension */
    bool mirrored;
    /* Mirrored axes: twice the distance, in points, from the outermost point to the mirror. */
    int mirror_distance;
    /* Sign of each field's image in the low and in the high mirror. */
    int sign[STN_SYSTEM_MAX_FIELDS][2];
} modes_axis;

typedef struct modes_linear {
    const stn_system_task *task;      /* borrowed */
    int width;                        /* numbers of the state */
    int first[STN_SYSTEM_MAX_FIELDS]; /* the number of each field's first level */
    int count;                        /* of operations */
    int nstencils, nterms;
    modes_operation *operations; /* owned, like the following pointers */
    modes_stencil *stencils;
    int *term;         /* of each term, the offset along the last axis */
    int *operation_of; /* of each node; -1: it is constant */
    /* The operation that is assigned to each field; -1: a constant is assigned. */
    int root[STN_SYSTEM_MAX_FIELDS];
    int root_node[STN_SYSTEM_MAX_FIELDS]; /* of each field, the node that is assigned to it */
    int reach[3];                         /* the largest offset of a stencil along each axis */
    bool affine;                          /* steps add constants too */
    bool real;                            /* the matrix is real: symmetry.h */
    bool even[2];                         /* along axis 0, 1: the matrix at -k is that at k */
    bool determinant_one;                 /* one field of two levels, and the determinant is 1 */
    modes_axis axis[3];
} modes_linear;

/* Fills all members but the symmetries. Returns false, with the reason in one phrase, if a step is
 * no multiplication by a matrix at each frequency. The caller clears *linear in any case. */
bool modes_linear_make(const stn_system_task *task, modes_linear *linear, char *reason, size_t size);
void modes_linear_clear(modes_linear *linear);

/* A number rounded to the arithmetic type of the dtype. */
double modes_rounded(const modes_linear *linear, double number);
/* The constant part of each node, in the arithmetic of the dtype, with these numbers for the
 * coefficients. */
void modes_constants(const modes_linear *linear, const double *numbers, double *constants);
/* The same with arbitrary nonzero numbers for the coefficients, and for functions and comparisons
 * of them, so that a symmetry that is found with these constants holds for all coefficients. */
void modes_generic_constants(const modes_linear *linear, double *constants);
/* The terms of a row of frequencies, from the powers of exp(i theta) along the first two axes. */
void modes_terms(const modes_linear *linear, const modes_pair *powers[2], modes_pair *terms);

/* The point of the grid whose image is point i of an extended axis. *sign is the sign of the image,
 * or 0 where the extension is zero. */
int64_t modes_image(const modes_axis *axis, int field, int64_t i, int *sign);
#endif
