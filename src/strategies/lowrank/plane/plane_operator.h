/* Operators of a lowrank plan: the packed weights of several fused steps. */
#ifndef STN_STRATEGIES_LOWRANK_PLANE_PLANE_OPERATOR_H
#define STN_STRATEGIES_LOWRANK_PLANE_PLANE_OPERATOR_H
#include "strategies/lowrank/plane/plane_shape.h"

/* One operator; a plan has two when its launches do not divide the steps evenly. */
typedef struct lowrank_operator {
    int fused;
    int terms; /* at most shape.terms; the others are zeros */
    double residual;
    /* Line: w; plane: u, then v. */
    double weights[LOWRANK_MAX_WEIGHTS];
    unsigned char values[(1 + LOWRANK_MAX_WEIGHTS) * sizeof(double)]; /* packed for the kernel */
} lowrank_operator;

/* Makes all operators for the task's taps, of operators[i].fused steps. Enlarges shape.terms and
 * the pattern as needed and sets `pattern_changed`; an existing kernel is then too narrow.
 * STN_ERROR_UNSUPPORTED if no kernel fits. */
stn_status lowrank_operators_make(const stn_task *task, const stn_machine *machine, lowrank_shape *shape,
                                  lowrank_pattern *pattern, lowrank_operator *operators, size_t noperators,
                                  bool *pattern_changed, stn_error *error);
stn_status lowrank_fail_terms(int fused, int terms, stn_error *error);
#endif
