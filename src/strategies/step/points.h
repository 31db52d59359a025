/* Sources and receivers of a system on a GPU: their tables, sorted so that each thread has its own
 * place or channel. */
#ifndef STN_STRATEGIES_STEP_POINTS_H
#define STN_STRATEGIES_STEP_POINTS_H
#include "context/kernel_value.h"
#include "plan/plan.h"
#include "problem/system_state.h"

typedef struct step_points {
    stn_kernel *kernel;                         /* NULL: there are none */
    void *table;                                /* device memory, owned: the points, then the first of each thread */
    size_t first;                               /* bytes before the latter */
    int64_t threads[STN_SYSTEM_MAX_FIELDS + 1]; /* those before each field's; the last: all */
} step_points;

/* adds: of the task's sources; else of its receivers. */
stn_status step_points_make(stn_plan *plan, bool adds, step_points *points, stn_error *error);
void step_points_clear(stn_plan *plan, step_points *points);
/* After the assignment of a field in the step that makes state `number`. */
stn_status step_points_add(const step_points *points, const stn_system_state *state, int field, int64_t number,
                           void *stream, stn_error *error);
stn_status step_points_record(const step_points *points, const stn_system_state *state, int64_t number, void *stream,
                              stn_error *error);
#endif
