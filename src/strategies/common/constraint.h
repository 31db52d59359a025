/* Constraints on a strategy's candidates, as a table of predicates: a set of parameters is a
 * candidate if all of them hold. */
#ifndef STN_STRATEGIES_CONSTRAINT_H
#define STN_STRATEGIES_CONSTRAINT_H
#include "launch/machine.h"
#include "problem/task.h"

/* shape: the strategy's own struct. The predicate may set parameters in it that are still open,
 * such as the number of stages. */
typedef bool stn_constraint(const stn_task *task, const stn_machine *machine, void *shape);

/* Evaluates the constraints in the table's order, until one does not hold. */
static inline bool stn_constraints_hold(stn_constraint *const *table, size_t count, const stn_task *task,
                                        const stn_machine *machine, void *shape) {
    size_t met = 0;
    while (met < count && table[met](task, machine, shape)) met++;
    return met == count;
}
#define STN_CONSTRAINTS_HOLD(table, task, machine, shape)                                                              \
    stn_constraints_hold(table, sizeof(table) / sizeof *(table), task, machine, shape)
#endif
