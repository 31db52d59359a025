/* One assignment of a system as a kernel: its inputs, its text, its arguments. */
#ifndef STN_STRATEGIES_STEP_ASSIGNMENT_H
#define STN_STRATEGIES_STEP_ASSIGNMENT_H
#include "context/kernel_value.h"
#include "plan/plan.h"
#include "problem/system_state.h"

#define STEP_MOST_OPERATIONS 4096 /* of a point; compiling takes about 1 ms for each ten */
#define STEP_MOST_ARGUMENTS 4096  /* bytes of any kernel's arguments */
#define STEP_MOST_ARRAYS 64

/* Threads of a block along x and along y, and the planes that it marches through. */
typedef struct step_block {
    int x, y, planes;
} step_block;

/* An array that an assignment reads: a field's level, or a coefficient. */
typedef struct step_array {
    bool is_field;
    int index, level;
    int below, above; /* planes read at the point's own x and y, below and above it */
} step_array;

typedef struct step_assignment {
    const stn_system_equation *equation; /* borrowed from the task */
    stn_kernel *kernel;
    step_block block;
    int narrays, nvalues;
    step_array arrays[STEP_MOST_ARRAYS];
    /* Index in values of this coefficient; -1: not a number. */
    int number_of[STN_SYSTEM_MAX_COEFFICIENTS];
    size_t arguments;                          /* size in bytes */
    int64_t tiles[3];                          /* blocks along x, y and z */
    unsigned char header[STEP_MOST_ARGUMENTS]; /* the arguments that are known before a run */
} step_assignment;

/* Whether a kernel can run the assignment; if not, writes the reason. */
bool step_assignment_fits(const stn_system_task *task, const stn_system_equation *equation, char *reason, size_t size);
stn_status step_assignment_make(stn_plan *plan, const stn_system_equation *equation, step_block block,
                                step_assignment *made, stn_error *error);
/* Launches it in the step that produces state `number`. */
stn_status step_assignment_run(const step_assignment *assignment, const stn_system_state *state, int64_t number,
                               void *stream, stn_error *error);
#endif
