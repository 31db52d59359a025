/* Where the levels of fields lie during a run.
 *
 * A field's states are numbered by the step after which they are present: 0 is the input's level 0,
 * -1 its level 1. States that are computed lie in the field's buffers, levels + spare of them,
 * which take turns. In a run of T steps that is neither in place nor a stack, state s lies in
 * buffer (T - s) modulo their count, so that at the end level l is in buffer l, which is the
 * caller's. Otherwise it lies in buffer -s modulo their count: in place those are the inputs, which
 * are rotated at the end; of stacks all are the workspace's, and levels are copied. */
#ifndef STN_PROBLEM_SYSTEM_STATE_H
#define STN_PROBLEM_SYSTEM_STATE_H
#include "problem/system_task.h"

#define STN_SYSTEM_MOST_BUFFERS (STN_SYSTEM_MAX_LEVELS + 1) /* of a field */

typedef struct stn_system_state {
    const stn_system_task *task;
    const stn_system_arrays *arrays;
    void *buffers[STN_SYSTEM_MAX_FIELDS][STN_SYSTEM_MOST_BUFFERS];
} stn_system_state;

int stn_system_buffers(const stn_system_task *task, int field);
int stn_system_buffer_of(const stn_system_task *task, int field, int64_t state);
/* Bytes of one level of a field, and of the buffers that are the workspace's. */
size_t stn_system_level_bytes(const stn_system_task *task);
size_t stn_system_state_bytes(const stn_system_task *task);

void stn_system_state_begin(stn_system_state *state, const stn_system_task *task, const stn_system_arrays *arrays,
                            void *workspace);
/* Where a field's state is read, and where one that is computed is written. */
const void *stn_system_state_of(const stn_system_state *state, int field, int64_t number);
void *stn_system_state_next(const stn_system_state *state, int field, int64_t number);
/* In place: by how many buffers a field's levels are rotated after so many steps; 0: they lie where
 * they should. */
int stn_system_rotation(const stn_system_task *task, int field);
#endif
