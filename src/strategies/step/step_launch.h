/* One launch of a step: one or more assignments of a system as a kernel, with what a block holds of
 * the arrays, the kernel's text, and its arguments. */
#ifndef STN_STRATEGIES_STEP_LAUNCH_H
#define STN_STRATEGIES_STEP_LAUNCH_H
#include "context/kernel_value.h"
#include "plan/plan.h"
#include "problem/system_state.h"
#include "strategies/common/system_code.h"

/* Threads of a block along x and across, and the points of a thread along x. chained: assignments
 * may share a launch with ones whose next states they read. */
typedef struct step_block {
    int x, y, vector, chained;
} step_block;

/* Where a block holds an array; system_step.cu draws it. */
typedef struct step_array {
    /* Planes before and after the point's. Except in chained launches, a thread's registers hold
     * these planes of its column. */
    int low, high;
    int before;  /* the ring begins so many planes before the point's; negative: after it */
    int ring;    /* planes of the ring in shared memory; 0: there is none, and reads go to memory */
    int halo[4]; /* of the ring: rows before and after the tile, slots of points on its two sides */
    int made;    /* the assignment of a chained launch that computes it; -1: copied from memory */
} step_array;

typedef struct step_storage {
    step_array arrays[STN_SYSTEM_MOST_ARRAYS];
    bool complete; /* all arrays have rings */
    size_t shared; /* bytes of shared memory */
    int ahead;     /* planes that are being copied while one is computed */
    int registers; /* estimated, of a thread */
    int blocks;    /* of a multiprocessor, for which registers and shared memory suffice */
    int copied;    /* arrays that are copied from memory */
    double copies; /* slots, of all arrays, that a block copies for each slot of its tile */
    int refill;    /* planes of all queues but the point's own, which each block loads first */
} step_storage;

/* Equations first to first + count - 1, which one kernel computes: none of them reads a next state
 * that another of them assigns, or overwrites values that another block reads. In a chained launch
 * (later > 0) those from first + later on read next states that the ones before assign, `lag`
 * planes behind them, and no next state is written over an oldest one that the launch reads. */
typedef struct step_group {
    int first, count, later;
    int lag, back; /* planes after and before a chunk that are computed for it */
    stn_system_reads reads;
    step_storage storage;
} step_group;

/* The longest group that begins with equation `first`; if there is none, writes the reason. */
bool step_group_from(const stn_system_task *task, const stn_machine *machine, const step_block *block, int first,
                     step_group *group, char *reason, size_t size);

/* Whether the group has the assignment of field `index`, and reads its oldest level, in a chained
 * launch: then the next state needs a buffer of its own. */
bool step_group_needs_spare(const stn_system_task *task, const step_group *group, int index);

/* The planes that a block marches through, if so many blocks are resident on the device. */
int64_t step_planes(const stn_system_task *task, const step_block *block, const step_storage *storage,
                    int64_t resident);

typedef struct step_launch {
    step_group group;
    stn_kernel *kernel;
    step_block block;
    int64_t blocks;
    size_t arguments;                                /* size in bytes */
    unsigned char header[STN_SYSTEM_MOST_ARGUMENTS]; /* the arguments that are known before a run */
} step_launch;

/* Makes the launch of the group that begins with equation `first`. */
stn_status step_launch_make(stn_plan *plan, int first, const step_block *block, step_launch *made, stn_error *error);
/* Launches it in the step that produces state `number`. */
stn_status step_launch_run(const step_launch *launch, const stn_system_state *state, int64_t number, void *stream,
                           stn_error *error);
#endif
