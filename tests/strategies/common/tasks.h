/* Tasks of one step of a stencil, and powers of its taps, for tests by Criterion. */
#ifndef STN_TESTS_STRATEGIES_TASKS_H
#define STN_TESTS_STRATEGIES_TASKS_H
#include "../../expect.h"
#include "strategies/common/stencil_power.h"

static inline stn_task task_of(const stn_stencil *stencil) {
    const stn_problem p = {.stencil = stencil, .extent = {100, 100, 100}};
    stn_task task;
    OK(stn_task_make(&p, &task, &error));
    return task;
}

static inline stn_task task_of_name(const char *name) {
    stn_stencil *const stencil = stencil_of(name);
    const stn_task task = task_of(stencil);
    stn_stencil_destroy(stencil);
    return task;
}

static inline stn_power fused_power(const stn_task *task, int steps) {
    stn_power power;
    OK(stn_power_make(task, &power, &error));
    while (power.fused < steps) OK(stn_power_fuse(task, &power, &error));
    return power;
}
#endif
