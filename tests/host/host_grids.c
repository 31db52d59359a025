/* Helpers of the host's tests; see host_grids.h. */
#include "host_grids.h"

#include <math.h>
#include <stdlib.h>

#include "../expect.h"
#include "base/half.h"

/* A linear congruential generator, of which only the high bits are used. */
static uint64_t next(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 11;
}

double random_unit(uint64_t *state) { return (double)next(state) * 0x1p-52 - 1; }

int64_t random_int(uint64_t *state, int64_t low, int64_t high) {
    return low + (int64_t)(next(state) >> 12) % (high - low + 1);
}

stn_task make_task(int rank, size_t ntaps, const stn_tap *taps, stn_problem problem) {
    stn_stencil *stencil;
    stn_task task;
    OK(stn_stencil_create(rank, ntaps, taps, &stencil, &error));
    problem.struct_size = sizeof problem;
    problem.stencil = stencil;
    OK(stn_task_make(&problem, &task, &error));
    stn_stencil_destroy(stencil);
    return task;
}

double get(stn_dtype dtype, const void *array, int64_t index) {
    if (dtype == STN_F64) return ((const double *)array)[index];
    if (dtype == STN_F32) return ((const float *)array)[index];
    return stn_half_to_float(((const uint16_t *)array)[index]);
}

void set(stn_dtype dtype, void *array, int64_t index, double value) {
    if (dtype == STN_F64)
        ((double *)array)[index] = value;
    else if (dtype == STN_F32)
        ((float *)array)[index] = (float)value;
    else
        ((uint16_t *)array)[index] = stn_float_to_half((float)value);
}

void *poisoned(stn_dtype dtype, int64_t elements) {
    size_t bytes = (size_t)elements * stn_dtype_size(dtype);
    void *array = malloc(bytes ? bytes : 1);
    cr_assert_not_null(array);
    return memset(array, 0xff, bytes);
}

void run(const stn_task *task, int threads, const void *in, void *out) {
    stn_pool *pool;
    OK(stn_pool_create(threads, &pool, &error));
    size_t size = stn_dtype_size(task->dtype);
    void *workspace = poisoned(task->dtype, (int64_t)(stn_host_workspace(task) / size));
    stn_host_run(task, pool, in, out, workspace);
    free(workspace);
    stn_pool_destroy(pool);
}

double distance(int64_t count, const double *got, const double *expected) {
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < count; i++) {
        difference += (got[i] - expected[i]) * (got[i] - expected[i]);
        norm += expected[i] * expected[i];
    }
    return sqrt(difference / norm);
}
