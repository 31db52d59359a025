/* Constraints of a strategy's candidates, as data: a table of what must hold, each with its name
 * and a sentence. A shape is a candidate where all of its table hold; a tally counts those that are
 * none, by the first constraint that they do not meet. */
#ifndef STN_PLAN_CONSTRAINT_H
#define STN_PLAN_CONSTRAINT_H
#include <stdbool.h>
#include <stddef.h>

#include "launch/machine.h"
#include "problem/task.h"

typedef struct stn_constraint {
    const char *name;     /* "shared memory" */
    const char *sentence; /* what must hold: "stages and sums fit a block's shared memory" */
    /* shape: the strategy's own struct; what the constraint leaves open, such as the number of
     * stages, it may choose there. */
    bool (*holds)(const stn_task *task, const stn_machine *machine, void *shape);
} stn_constraint;

#define STN_TALLY_ROWS 16
typedef struct stn_tally { /* zero is empty */
    size_t count;          /* of rows */
    struct {
        const stn_constraint *constraint;
        size_t removed;
    } rows[STN_TALLY_ROWS];
} stn_tally;

/* In the table's order, until one does not hold. tally: NULL where nobody counts. */
bool stn_constraints_hold(const stn_constraint *table, size_t count, const stn_task *task, const stn_machine *machine,
                          void *shape, stn_tally *tally);
#define STN_CONSTRAINTS_HOLD(table, task, machine, shape, tally)                                                       \
    stn_constraints_hold(table, sizeof(table) / sizeof *(table), task, machine, shape, tally)
#endif
