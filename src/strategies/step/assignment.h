/* One assignment of a system as a kernel: its inputs, its text, its arguments. */
#ifndef STN_STRATEGIES_STEP_ASSIGNMENT_H
#define STN_STRATEGIES_STEP_ASSIGNMENT_H
#include "context/kernel_value.h"
#include "plan/plan.h"
#include "problem/system_state.h"
#include "strategies/common/system_code.h"

/* Threads of a block along x and across, the planes that it marches through, the points of a thread
 * along x, and the planes that are being copied while one is computed. */
typedef struct step_block {
    int x, y, planes, vector, ahead;
} step_block;

/* Where a block holds an array, as system_step.cu says: in registers, the planes of a thread's
 * column from `low` before the point's to `high` after it; in shared memory, a ring of so many
 * planes of the tile from `before` on, with so many rows before and after it and slots of points
 * beside it. ring 0: reads go to memory. */
typedef struct step_array {
    int low, high, before, ring, around[4];
} step_array;

typedef struct step_storage {
    step_array arrays[STN_SYSTEM_MOST_ARRAYS];
    size_t shared; /* bytes of shared memory */
    int registers; /* estimated registers of a thread */
    double copies; /* slots that a block copies for each slot of its tile in each plane, all arrays */
} step_storage;

typedef struct step_assignment {
    const stn_system_equation *equation; /* borrowed from the task */
    stn_kernel *kernel;
    step_block block;
    step_storage storage;
    stn_system_reads reads;
    size_t arguments;                                /* size in bytes */
    int64_t tiles[3];                                /* blocks along x, y and z */
    unsigned char header[STN_SYSTEM_MOST_ARGUMENTS]; /* the arguments that are known before a run */
} step_assignment;

/* Lists what the assignment reads, or writes the reason why a kernel cannot run it. */
bool step_assignment_reads(const stn_system_task *task, const stn_system_equation *equation, stn_system_reads *reads,
                           char *reason, size_t size);
/* Decides where blocks hold the arrays, with at most `most` bytes of shared memory. */
void step_storage_of(const stn_system_task *task, const stn_system_reads *reads, const step_block *block, size_t most,
                     step_storage *storage);
/* Bytes of shared memory that a block may have, so that several blocks are resident. */
size_t step_most_shared(const stn_machine *machine);
/* The multiprocessor's blocks that a kernel's registers are limited for. */
int step_storage_blocks(const step_storage *storage, const step_block *block);
stn_status step_assignment_make(stn_plan *plan, const stn_system_equation *equation, step_block block,
                                step_assignment *made, stn_error *error);
/* Launches it in the step that produces state `number`. */
stn_status step_assignment_run(const step_assignment *assignment, const stn_system_state *state, int64_t number,
                               void *stream, stn_error *error);
#endif
