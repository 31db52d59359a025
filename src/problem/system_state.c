/* See system_state.h: buffers of a field's time levels, used as a ring. */
#include "problem/system_state.h"

#include "base/arith.h"

enum { ALIGNED = 256 };

int stn_system_buffers(const stn_system_task *task, int field) {
    return task->system->fields[field].levels + task->spare[field];
}

int stn_system_buffer_of(const stn_system_task *task, int field, int64_t state) {
    const int64_t last = task->in_place || task->stack ? 0 : (int64_t)task->steps;
    const int64_t count = stn_system_buffers(task, field), place = (last - state) % count;
    return (int)(place < 0 ? place + count : place);
}

size_t stn_system_level_bytes(const stn_system_task *task) {
    return (size_t)stn_system_task_numbers(task) * stn_dtype_size(task->dtype);
}

/* The first buffer of a field that lies in the workspace. */
static int first_own(const stn_system_task *task, int field) {
    return task->stack ? 0 : task->system->fields[field].levels;
}

size_t stn_system_state_bytes(const stn_system_task *task) {
    const size_t each = (size_t)stn_round_up((int64_t)stn_system_level_bytes(task), ALIGNED);
    size_t bytes = 0;
    for (int f = 0; f < task->system->nfields; f++)
        bytes += each * (size_t)(stn_system_buffers(task, f) - first_own(task, f));
    return bytes;
}

void stn_system_state_begin(stn_system_state *state, const stn_system_task *task, const stn_system_arrays *arrays,
                            void *workspace) {
    const size_t each = (size_t)stn_round_up((int64_t)stn_system_level_bytes(task), ALIGNED);
    char *own = workspace;
    state->task = task;
    state->arrays = arrays;
    for (int f = 0; f < task->system->nfields; f++)
        for (int b = 0; b < stn_system_buffers(task, f); b++) {
            state->buffers[f][b] = b < first_own(task, f) ? arrays->out[task->first[f] + b] : own;
            if (b >= first_own(task, f)) own += each;
        }
}

void *stn_system_state_next(const stn_system_state *state, int field, int64_t number) {
    return state->buffers[field][stn_system_buffer_of(state->task, field, number)];
}

const void *stn_system_state_of(const stn_system_state *state, int field, int64_t number) {
    if (number <= 0 && !state->task->in_place) return state->arrays->in[state->task->first[field] - number];
    return stn_system_state_next(state, field, number);
}

int stn_system_rotation(const stn_system_task *task, int field) {
    return task->in_place ? (int)(task->steps % (uint64_t)stn_system_buffers(task, field)) : 0;
}
