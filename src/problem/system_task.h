/* A canonical problem of a system, as strategies see it: validated, on three axes, defaults filled
 * in. */
#ifndef STN_PROBLEM_SYSTEM_TASK_H
#define STN_PROBLEM_SYSTEM_TASK_H
#include "problem/system.h"

#define STN_SYSTEM_GROWTH_ERROR 1e-5 /* relative error of stn_system_growth */
#define STN_SYSTEM_MAX_ARRAYS (STN_SYSTEM_MAX_FIELDS * STN_SYSTEM_MAX_LEVELS)

typedef struct stn_system_task {
    stn_system *system; /* owned */
    int rank;
    int64_t n[3];
    int64_t batch;
    stn_dtype dtype;
    uint64_t steps;  /* steps between two kept states */
    uint64_t states; /* number of kept states; 1: only the last */
    bool stack;      /* outputs are stacks of one state or more */
    bool in_place;
    int alignment;
    bool is_number[STN_SYSTEM_MAX_COEFFICIENTS];
    size_t nsources, nreceivers;
    stn_system_point *sources, *receivers; /* owned; canonical index */
    int64_t source_channels, receiver_channels;
    uint64_t record_every;
    double tolerance;                 /* relative L2; 0: rounding of the dtype */
    bool local;                       /* STN_ACCURACY_LOCAL: only strategies that step */
    int arrays;                       /* number of arrays of all fields and levels */
    int first[STN_SYSTEM_MAX_FIELDS]; /* index of the array of each field's level 0 */
    /* Spare buffers that the field needs, because a computed state cannot be written over a level
     * that is still read; at most STN_SYSTEM_MAX_SPARE. */
    int spare[STN_SYSTEM_MAX_FIELDS];
} stn_system_task;

stn_status stn_system_task_make(const stn_system_problem *given, stn_system_task *task, stn_error *error);
stn_status stn_system_task_copy(const stn_system_task *task, uint64_t steps, stn_system_task *copy, stn_error *error);
void stn_system_task_clear(stn_system_task *task);

int64_t stn_system_task_points(const stn_system_task *task);  /* points of one grid */
int64_t stn_system_task_numbers(const stn_system_task *task); /* points of all grids of the batch */
/* The range [begin, end) along each axis of the points that an equation updates. Points outside of
 * it keep their value, because the equation would read past a fixed side there. */
void stn_system_updated_range(const stn_system_task *task, const stn_system_equation *equation, int64_t begin[3],
                              int64_t end[3]);
/* A value rounded to the dtype, as the grid would store it. */
double stn_system_round_to_dtype(stn_dtype dtype, double value);

/* A one-line description, and a JSON object. */
void stn_system_task_print(const stn_system_task *task, stn_text *text);
void stn_system_task_json(const stn_system_task *task, stn_text *text);
#endif
