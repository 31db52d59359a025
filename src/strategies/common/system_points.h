/* Point sources and receivers of a system on a GPU: tables sorted so that each thread has its own
 * location or channel. */
#ifndef STN_STRATEGIES_COMMON_SYSTEM_POINTS_H
#define STN_STRATEGIES_COMMON_SYSTEM_POINTS_H
#include "context/kernel.h"
#include "plan/plan.h"

typedef struct stn_system_points {
    stn_kernel *kernel; /* NULL if there are none */
    /* Device memory, owned: the points, then the index of each thread's first point. */
    void *table;
    size_t first; /* byte offset of those indices */
    /* For each field, the threads of all fields before it; the last entry: all threads. */
    int64_t threads[STN_SYSTEM_MAX_FIELDS + 1];
} stn_system_points;

/* adds: for the task's sources; otherwise for its receivers. */
stn_status stn_system_points_make(stn_plan *plan, bool adds, stn_system_points *points, stn_error *error);
void stn_system_points_clear(stn_plan *plan, stn_system_points *points);
/* Adds to the next state of a field, `next`, after its assignment in step `number`, from 1. */
stn_status stn_system_points_add(const stn_system_points *points, const stn_system_task *task,
                                 const stn_system_arrays *arrays, int field, void *next, int64_t number, void *stream,
                                 stn_error *error);
/* Records the states of all fields after step `number`. */
stn_status stn_system_points_record(const stn_system_points *points, const stn_system_task *task,
                                    const stn_system_arrays *arrays, const void *const *fields, int64_t number,
                                    void *stream, stn_error *error);
#endif
