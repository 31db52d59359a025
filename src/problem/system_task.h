/* A problem of a system as a value: validated, on three axes, with nothing left to default.
 * Strategies of systems see it as those of stencils see a stn_task. */
#ifndef STN_PROBLEM_SYSTEM_TASK_H
#define STN_PROBLEM_SYSTEM_TASK_H
#include "problem/system.h"

#define STN_SYSTEM_GROWTH_ERROR 1e-5 /* of stn_system_growth */
#define STN_SYSTEM_MOST_ARRAYS (STN_SYSTEM_MAX_FIELDS * STN_SYSTEM_MAX_LEVELS)

typedef struct stn_system_task {
    stn_system *system; /* owned */
    int rank;
    int64_t n[3];
    int64_t batch;
    stn_dtype dtype;
    uint64_t steps;  /* of each part of the run that ends in a state which is kept */
    uint64_t states; /* that are kept; 1: the last one alone */
    bool stack;      /* outputs are stacks, of one state or more */
    bool in_place;
    int alignment;
    bool is_number[STN_SYSTEM_MAX_COEFFICIENTS];
    size_t nsources, nreceivers;
    stn_system_point *sources, *receivers; /* owned; index on three axes */
    int64_t source_channels, receiver_channels;
    uint64_t record_every;
    double tolerance;                 /* relative L2; 0: rounding of the dtype */
    bool local;                       /* STN_ACCURACY_LOCAL: only strategies that take step by step */
    int arrays;                       /* in all: of all fields, all levels */
    int first[STN_SYSTEM_MAX_FIELDS]; /* the array of each field's level 0 */
    /* Can a field's next state be written where its oldest level lies? If not, its levels take
     * turns with a spare buffer. */
    bool spare[STN_SYSTEM_MAX_FIELDS];
} stn_system_task;

stn_status stn_system_task_make(const stn_system_problem *given, stn_system_task *task, stn_error *error);
stn_status stn_system_task_copy(const stn_system_task *task, uint64_t steps, stn_system_task *copy, stn_error *error);
void stn_system_task_clear(stn_system_task *task);

int64_t stn_system_task_points(const stn_system_task *task);  /* of one grid */
int64_t stn_system_task_numbers(const stn_system_task *task); /* of one level of a field: all grids of the batch */
/* Does this point of an equation's field keep its value, since the equation would read past a fixed
 * side? The points that do not are those from begin to end of each axis. */
void stn_system_live(const stn_system_task *task, const stn_system_equation *equation, int64_t begin[3],
                     int64_t end[3]);
/* The value past a constant side, as a point of the dtype holds it. */
double stn_system_stored(stn_dtype dtype, double value);

/* In one line without a newline, and as a JSON object. */
void stn_system_task_print(const stn_system_task *task, stn_text *text);
void stn_system_task_json(const stn_system_task *task, stn_text *text);
#endif
