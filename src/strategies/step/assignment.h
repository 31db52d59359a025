/* One assignment of a system as a kernel: its inputs, its text, its arguments. */
#ifndef STN_STRATEGIES_STEP_ASSIGNMENT_H
#define STN_STRATEGIES_STEP_ASSIGNMENT_H
#include "context/kernel_value.h"
#include "plan/plan.h"
#include "problem/system_state.h"
#include "strategies/common/system_code.h"

/* Threads of a block along x and along y, the planes that it marches through, and the points of a
 * thread along x. */
typedef struct step_block {
    int x, y, planes, vector;
} step_block;

typedef struct step_assignment {
    const stn_system_equation *equation; /* borrowed from the task */
    stn_kernel *kernel;
    step_block block;
    stn_system_reads reads;
    size_t arguments;                                /* size in bytes */
    int64_t tiles[3];                                /* blocks along x, y and z */
    unsigned char header[STN_SYSTEM_MOST_ARGUMENTS]; /* the arguments that are known before a run */
} step_assignment;

/* Whether a kernel can run the assignment; if not, writes the reason. */
bool step_assignment_fits(const stn_system_task *task, const stn_system_equation *equation, char *reason, size_t size);
stn_status step_assignment_make(stn_plan *plan, const stn_system_equation *equation, step_block block,
                                step_assignment *made, stn_error *error);
/* Launches it in the step that produces state `number`. */
stn_status step_assignment_run(const step_assignment *assignment, const stn_system_state *state, int64_t number,
                               void *stream, stn_error *error);
#endif
