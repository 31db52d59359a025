/* Powers of a stencil: the taps of f steps as one stencil, convolved with itself f - 1 times, on
 * the host and in higher precision than the data. */
#ifndef STN_STRATEGIES_COMMON_STENCIL_POWER_H
#define STN_STRATEGIES_COMMON_STENCIL_POWER_H
#include "base/error.h"
#include "problem/task.h"

/* Dense weights: weight[(z * size[1] + y) * size[2] + x] belongs to the offset (z, y, x) - low. An
 * axis that no tap leaves has size 1. */
typedef struct stn_power {
    int fused; /* number of steps f */
    int size[3], low[3];
    long double *weight; /* owned */
} stn_power;

/* Whether weights at opposite offsets are equal. */
bool stn_taps_point_symmetric(const stn_task *task);

/* The task's own taps: one step. Errors: out of memory. */
stn_status stn_power_make(const stn_task *task, stn_power *power, stn_error *error);
/* Adds one step by convolution with the task's taps. On failure `power` is unchanged. */
stn_status stn_power_fuse(const stn_task *task, stn_power *power, stn_error *error);
void stn_power_clear(stn_power *power);
/* The number of weights. */
size_t stn_power_count(const stn_power *power);
/* The weight at an index, not an offset: 0 <= z < size[0]. */
long double *stn_power_at(const stn_power *power, int z, int y, int x);
#endif
