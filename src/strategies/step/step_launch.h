/* One launch of a step: one or more assignments of a system as a kernel, with what a block holds of
 * the arrays, the kernel's text, and its arguments. */
#ifndef STN_STRATEGIES_STEP_LAUNCH_H
#define STN_STRATEGIES_STEP_LAUNCH_H
#include "context/kernel.h"
#include "plan/plan.h"
#include "problem/system_state.h"
#include "strategies/common/system_code.h"

/* Limits of one launch. */
enum { STEP_MAX_STEPS = 2, STEP_MAX_ASSIGNMENTS = STEP_MAX_STEPS * STN_SYSTEM_MAX_FIELDS };

/* Threads of a block along x and across, and the points of a thread along x. chained: assignments
 * may share a launch with ones whose next states they read. steps: of a launch; if there are two,
 * the second step's assignments are chained to the first one's. */
typedef struct step_block {
    int x, y, vector, chained, steps;
} step_block;

/* Where a block holds an array while it computes plane m; system_step.cu draws it. */
typedef struct step_array {
    /* A thread's registers hold planes m - low to m + high of its own column (its queue); high may
     * be negative. The ring also ends at m + high, plus the planes being copied. */
    int low, high;
    int before;  /* the ring begins at plane m - before; `before` may be negative */
    int ring;    /* planes of the ring in shared memory; 0: there is none, and reads go to memory */
    int halo[4]; /* of the ring: rows before and after the tile, slots on its two sides */
    int made;    /* the assignment of a chained launch that computes it; -1: copied from memory */
} step_array;

typedef struct step_storage {
    step_array arrays[STN_SYSTEM_MAX_READ_ARRAYS];
    bool complete; /* all arrays have rings */
    size_t shared; /* bytes of shared memory */
    int ahead;     /* planes that are being copied while one is computed */
    int registers; /* estimated, of a thread */
    int blocks;    /* of a multiprocessor, for which registers and shared memory suffice */
    int copied;    /* arrays that are copied from memory */
    double copies; /* slots, of all arrays, that a block copies for each slot of its tile */
    int refill;    /* planes, of all arrays, that a block loads before the first of its march */
} step_storage;

/* Assignments first to first + count - 1, which one kernel computes. If the launch makes two steps,
 * the assignments of the second step come last.
 *
 * Not chained (later 0): no assignment reads a next state that the group assigns. None reads, at an
 * offset, an oldest time level that the group overwrites.
 *
 * Chained (later > 0): assignment first + later reads a next state that an earlier one of the group
 * assigns, and those after it may. These assignments run `lag` planes behind the earlier ones.
 * If the launch reads the oldest level of a field that it assigns, the next state gets a buffer of
 * its own (step_group_spares). */
typedef struct step_group {
    int first, count, later, steps;
    /* The earlier assignments are also computed for `lag` planes after a block's chunk and
     * `back` planes before it. */
    int lag, back;
    /* The later equations read, outside of a thread's own column, planes that other threads compute
     * in the same iteration. */
    bool waits;
    int operands[STEP_MAX_ASSIGNMENTS]; /* of each assignment's operations on a point */
    stn_system_reads reads;
    step_storage storage;
} step_group;

/* The longest group that begins with assignment `first`; if there is none, writes the reason. */
bool step_group_from(const stn_system_task *task, const stn_machine *machine, const step_block *block, int first,
                     step_group *group, char *reason, size_t size);

/* How many spare buffers field `index` needs so that a chained group overwrites no level that it
 * reads; 0 for other groups. */
int step_group_spares(const stn_system_task *task, const step_group *group, int index);

/* Whether assignment k of the group (from 0) is stored: if its state is still one of the field's
 * levels after the launch. */
bool step_group_stores(const stn_system_task *task, const step_group *group, int k);

/* Slots of an array's halo for each slot of a tile. */
double step_halo_share(const step_group *group, int array, const step_block *block);

/* The planes that a block marches through if `resident` blocks are resident on the device. */
int64_t step_planes(const stn_system_task *task, const step_block *block, const step_group *group, int64_t resident);

typedef struct step_launch {
    step_group group;
    stn_kernel *kernel;
    step_block block;
    int64_t blocks;
    size_t arguments;                               /* size in bytes */
    unsigned char header[STN_SYSTEM_MAX_ARGUMENTS]; /* the arguments that are known before a run */
} step_launch;

/* Makes the launch of the group that begins with assignment `first`. */
stn_status step_launch_make(stn_plan *plan, int first, const step_block *block, step_launch *made, stn_error *error);
/* Launches it; its first step produces state `number`. */
stn_status step_launch_run(const step_launch *launch, const stn_system_state *state, int64_t number, void *stream,
                           stn_error *error);
#endif
