/* Constraints on a strategy's candidates, as a table: each has a name, a sentence and a predicate.
 * A setting is a candidate where all constraints hold; a tally counts the others by the first
 * constraint that they violate. */
#ifndef STN_PLAN_CONSTRAINT_H
#define STN_PLAN_CONSTRAINT_H
#include <stdbool.h>
#include <stddef.h>

#include "launch/machine.h"
#include "problem/task.h"

typedef struct stn_constraint {
    const char *name;     /* "shared memory" */
    const char *sentence; /* "stages and sums fit a block's shared memory" */
    /* shape: the strategy's own struct. The predicate may set parameters in it that are still open,
     * such as the number of stages. */
    bool (*holds)(const stn_task *task, const stn_machine *machine, void *shape);
} stn_constraint;

#define STN_TALLY_ROWS 16
typedef struct stn_tally { /* all zero: empty */
    size_t count;          /* rows in use */
    struct {
        const stn_constraint *constraint;
        size_t removed;
    } rows[STN_TALLY_ROWS];
} stn_tally;

/* Evaluates the constraints in the table's order, until one does not hold. tally may be NULL. */
bool stn_constraints_hold(const stn_constraint *table, size_t count, const stn_task *task, const stn_machine *machine,
                          void *shape, stn_tally *tally);
#define STN_CONSTRAINTS_HOLD(table, task, machine, shape, tally)                                                       \
    stn_constraints_hold(table, sizeof(table) / sizeof *(table), task, machine, shape, tally)
#endif
