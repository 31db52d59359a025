/* A parsed system: the checked form of the text that stentor.h describes. Expressions are one array
 * of distinct nodes (common subexpressions are shared) in which operands come before their users,
 * so that loops over it need no recursion. */
#ifndef STN_PROBLEM_SYSTEM_H
#define STN_PROBLEM_SYSTEM_H
#include <stdbool.h>

#include "base/text.h"
#include "stentor.h"

#define STN_SYSTEM_NAME 64 /* bytes of a name, NUL included */

/* op, its spelling, number of operands, precedence (higher binds tighter; 0: function syntax) */
#define STN_SYSTEM_OP_LIST(X)                                                                                          \
    X(NUMBER, "number", 0, 9)                                                                                          \
    X(FIELD, "field", 0, 9)                                                                                            \
    X(COEFFICIENT, "coefficient", 0, 9)                                                                                \
    X(STENCIL, "stencil", 1, 0)                                                                                        \
    X(NEGATE, "-", 1, 4)                                                                                               \
    X(ADD, "+", 2, 2)                                                                                                  \
    X(SUBTRACT, "-", 2, 2)                                                                                             \
    X(MULTIPLY, "*", 2, 3)                                                                                             \
    X(DIVIDE, "/", 2, 3)                                                                                               \
    X(LESS, "<", 2, 1)                                                                                                 \
    X(LESS_EQUAL, "<=", 2, 1)                                                                                          \
    X(GREATER, ">", 2, 1)                                                                                              \
    X(GREATER_EQUAL, ">=", 2, 1)                                                                                       \
    X(EQUAL, "==", 2, 1)                                                                                               \
    X(NOT_EQUAL, "!=", 2, 1)                                                                                           \
    X(MIN, "min", 2, 0)                                                                                                \
    X(MAX, "max", 2, 0)                                                                                                \
    X(POW, "pow", 2, 0)                                                                                                \
    X(ABS, "abs", 1, 0)                                                                                                \
    X(SQRT, "sqrt", 1, 0)                                                                                              \
    X(EXP, "exp", 1, 0)                                                                                                \
    X(LOG, "log", 1, 0)                                                                                                \
    X(SIN, "sin", 1, 0)                                                                                                \
    X(COS, "cos", 1, 0)                                                                                                \
    X(TANH, "tanh", 1, 0)                                                                                              \
    X(WHERE, "where", 3, 0)

typedef enum stn_system_op {
#define STN_SYSTEM_OP_ENUM(name, word, operands, precedence) STN_SYSTEM_##name,
    STN_SYSTEM_OP_LIST(STN_SYSTEM_OP_ENUM)
#undef STN_SYSTEM_OP_ENUM
        STN_SYSTEM_OPS
} stn_system_op;

typedef struct stn_system_op_row {
    const char *word;
    int operands, precedence;
} stn_system_op_row;
extern const stn_system_op_row stn_system_ops[STN_SYSTEM_OPS];

#define STN_SYSTEM_NEXT (-1) /* the level of u.next */

typedef struct stn_system_node {
    stn_system_op op;
    int operand[3]; /* node indices, each below this node's */
    int index;      /* of the field, coefficient or stencil */
    int level;      /* of a field: 0 present, 1 one step earlier, ..., or STN_SYSTEM_NEXT */
    double number;
} stn_system_node;

/* The boundary condition of a field or coefficient on one side of an axis. */
typedef struct stn_system_side {
    stn_boundary_kind kind; /* STN_REFLECT or STN_MIRROR if odd */
    bool odd;
    double value; /* for STN_CONSTANT */
} stn_system_side;

typedef struct stn_system_variable { /* a field or a coefficient */
    char name[STN_SYSTEM_NAME];
    stn_system_side side[3][2]; /* canonical axes: axis 2 is the fastest */
    int levels;                 /* of a field */
    bool has_value;             /* the text gives the coefficient a number */
    double value;
} stn_system_variable;

typedef struct stn_system_stencil {
    char name[STN_SYSTEM_NAME];
    int rank; /* 0: all taps lie along `axis`, on grids of any rank */
    int axis; /* canonical; only with rank 0 */
    size_t ntaps;
    stn_tap *taps; /* owned; canonical offsets, sorted */
} stn_system_stencil;

typedef struct stn_system_equation {
    int field, root; /* root: node of the assigned expression */
    int line, column;
    int reach[3][2]; /* points read past the assigned one, by canonical axis and side */
} stn_system_equation;

struct stn_system {
    int rank, least_rank; /* rank 0: any rank from least_rank on */
    int nfields, ncoefficients, nstencils, nequations;
    stn_system_variable fields[STN_SYSTEM_MAX_FIELDS], coefficients[STN_SYSTEM_MAX_COEFFICIENTS];
    stn_system_equation equations[STN_SYSTEM_MAX_FIELDS]; /* in the order of the text */
    stn_system_stencil *stencils;                         /* owned, as nodes are */
    stn_system_node *nodes;
    int nnodes;
};

/* A deep copy. */
stn_status stn_system_copy(const stn_system *system, stn_system **copy, stn_error *error);

/* system_check.c: computes the reach of each equation, and checks it and the ranks of a parsed
 * system. Errors name the equation's line and column. */
stn_status stn_system_check(stn_system *system, stn_error *error);

/* Folds index i, at most n - 1 points past a side, to an index inside an axis of n points. *sign is
 * multiplied by -1 at each odd side. Returns a negative number if the point has the value *constant
 * of a constant side. */
int64_t stn_system_fold(int64_t i, int64_t n, const stn_system_side sides[2], double *sign, double *constant);
#endif
