/* Storage of the time levels of a system's fields during a run.
 *
 * State s of a field is its value after step s: state 0 is level 0 of the input, state -1 is level
 * 1. Computed states lie in a ring of N buffers of the field: one for each level, and spare ones
 * (stn_system_task.spare). In a run of T steps:
 *
 * to other arrays  State s lies in buffer (T - s) mod N. So level l of the result is in buffer l,
 *                  the caller's output.
 * in place         State s lies in buffer -s mod N. The first buffers are the caller's arrays; the
 *                  levels are rotated among them at the end.
 * a stack          State s lies in buffer -s mod N. All buffers belong to the workspace, and levels
 *                  are copied from them to the output. */
#ifndef STN_PROBLEM_SYSTEM_STATE_H
#define STN_PROBLEM_SYSTEM_STATE_H
#include "problem/system_task.h"

#define STN_SYSTEM_MAX_SPARE 2
/* Buffers of a field. */
#define STN_SYSTEM_MAX_BUFFERS (STN_SYSTEM_MAX_LEVELS + STN_SYSTEM_MAX_SPARE)

typedef struct stn_system_state {
    const stn_system_task *task;
    const stn_system_arrays *arrays;
    void *buffers[STN_SYSTEM_MAX_FIELDS][STN_SYSTEM_MAX_BUFFERS];
} stn_system_state;

int stn_system_buffers(const stn_system_task *task, int field);
int stn_system_buffer_of(const stn_system_task *task, int field, int64_t state);
/* Bytes of one level of a field, and of the workspace's buffers. */
size_t stn_system_level_bytes(const stn_system_task *task);
size_t stn_system_state_bytes(const stn_system_task *task);

void stn_system_state_begin(stn_system_state *state, const stn_system_task *task, const stn_system_arrays *arrays,
                            void *workspace);
/* The buffer from which a field's state is read, and the one to which a computed state is
 * written. */
const void *stn_system_state_of(const stn_system_state *state, int field, int64_t number);
void *stn_system_state_next(const stn_system_state *state, int field, int64_t number);
/* In place: the number of buffers by which a field's levels must be rotated after the run; 0: they
 * are in order. */
int stn_system_rotation(const stn_system_task *task, int field);
#endif
