/* Point sources and receivers of a system on a GPU: tables sorted so that each thread has its own
 * location or channel. */
#ifndef STN_STRATEGIES_STEP_SYSTEM_POINTS_H
#define STN_STRATEGIES_STEP_SYSTEM_POINTS_H
#include "context/kernel_value.h"
#include "plan/plan.h"
#include "problem/system_state.h"

typedef struct step_points {
    stn_kernel *kernel; /* NULL if there are none */
    /* Device memory, owned: the points, then the index of each thread's first point. */
    void *table;
    size_t first; /* byte offset of those indices */
    /* Threads before each field's; the last entry: all. */
    int64_t threads[STN_SYSTEM_MAX_FIELDS + 1];
} step_points;

/* adds: for the task's sources; otherwise for its receivers. */
stn_status step_points_make(stn_plan *plan, bool adds, step_points *points, stn_error *error);
void step_points_clear(stn_plan *plan, step_points *points);
/* Runs after the assignment of a field in the step that produces state `number`. */
stn_status step_points_add(const step_points *points, const stn_system_state *state, int field, int64_t number,
                           void *stream, stn_error *error);
stn_status step_points_record(const step_points *points, const stn_system_state *state, int64_t number, void *stream,
                              stn_error *error);
#endif
