/* Evaluating constraints and counting violations: constraint.h. */
#include "plan/constraint.h"

static size_t row_of(stn_tally *tally, const stn_constraint *constraint) {
    size_t row = 0;
    while (row < tally->count && tally->rows[row].constraint != constraint) row++;
    if (row == tally->count && row < STN_TALLY_ROWS) tally->rows[tally->count++].constraint = constraint;
    return row;
}

/* Every constraint of the table gets a row, also where it removed nothing. */
static void count_removed(stn_tally *tally, const stn_constraint *table, size_t count, size_t by) {
    for (size_t i = 0; i < count; i++) {
        const size_t row = row_of(tally, &table[i]);
        if (i == by && row < STN_TALLY_ROWS) tally->rows[row].removed++;
    }
}

bool stn_constraints_hold(const stn_constraint *table, size_t count, const stn_task *task, const stn_machine *machine,
                          void *shape, stn_tally *tally) {
    size_t met = 0;
    while (met < count && table[met].holds(task, machine, shape)) met++;
    if (tally) count_removed(tally, table, count, met);
    return met == count;
}
