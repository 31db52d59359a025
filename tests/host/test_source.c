/* A constant source: T steps with it equal T single steps, each followed by adding the source where
 * no fixed side freezes points. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "host_grids.h"

static const stn_boundary_kind kinds[] = {STN_CONSTANT, STN_NEAREST, STN_REFLECT, STN_MIRROR, STN_FIXED};

/* A random problem with a source: strided, batched, with any boundaries and taps of both signs. */
static stn_task random_task(uint64_t *state, stn_dtype dtype, bool in_place) {
    int rank = (int)random_int(state, 1, 3);
    stn_problem p = {.dtype = dtype, .steps = (uint64_t)random_int(state, 1, 5), .has_source = 1, .in_place = in_place};
    ptrdiff_t stride = random_int(state, 1, 2);
    p.batch = (size_t)random_int(state, 1, 3);
    for (int a = rank - 1; a >= 0; a--) {
        p.extent[a] = (size_t)random_int(state, 3, 9);
        p.in_stride[a] = p.out_stride[a] = stride;
        stride *= (ptrdiff_t)p.extent[a] + random_int(state, 0, 2);
        bool wraps = random_int(state, 0, 3) == 0;
        for (int side = 0; side < 2; side++) {
            p.boundary[a][side].kind = wraps ? STN_WRAP : kinds[random_int(state, 0, 4)];
            p.boundary[a][side].value = 0.5;
        }
    }
    stn_tap taps[7] = {{{0}, random_unit(state)}};
    size_t ntaps = 1;
    for (int a = 0; a < rank; a++)
        for (int way = -1; way <= 1; way += 2) {
            taps[ntaps].offset[a] = way * random_int(state, 1, 2);
            taps[ntaps++].weight = 0.3 * random_unit(state);
        }
    return make_task(rank, ntaps, taps, p);
}

/* The index in memory of a point, and whether it is frozen. */
static int64_t place(const stn_task *task, int64_t point, bool *frozen) {
    int64_t index[3], rest = point;
    for (int a = 2; a >= 0; a--) index[a] = rest % task->n[a], rest /= task->n[a];
    *frozen = stn_task_is_frozen(task, index);
    return rest * task->in_batch_stride + index[0] * task->in_stride[0] + index[1] * task->in_stride[1] +
           index[2] * task->in_stride[2];
}

static void run_with(const stn_task *task, const void *in, const void *source, void *out) {
    stn_pool *pool;
    cr_assert_eq(stn_pool_create(2, &pool, NULL), STN_OK);
    void *workspace = malloc(stn_host_workspace(task) + 1);
    stn_host_run_source(task, NULL, pool, in, source, out, workspace);
    free(workspace);
    stn_pool_destroy(pool);
}

/* Single steps without the source in double precision; the sum with the source is rounded to the
 * dtype once. */
static void run_by_steps(const stn_task *task, void *grid, const void *source) {
    stn_task step = *task;
    int64_t span = stn_task_span(task, false);
    step.steps = 1, step.in_place = false, step.source = false;
    step.dtype = STN_F64;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            double past = stn_task_constant_value(task, axis, side);
            step.boundary[axis][side].value = task->dtype == STN_F64 ? past : (float)past;
        }
    for (uint64_t t = 0; t < task->steps; t++) {
        void *before = poisoned(step.dtype, span), *after = poisoned(step.dtype, span);
        for (int64_t i = 0; i < span; i++) set(step.dtype, before, i, get(task->dtype, grid, i));
        run(&step, 1, before, after);
        for (int64_t point = 0; point < stn_task_points(task); point++) {
            bool frozen;
            int64_t at = place(task, point, &frozen);
            double sum = get(step.dtype, after, at), b = frozen ? 0 : get(task->dtype, source, at);
            set(task->dtype, grid, at, sum + b);
        }
        free(before);
        free(after);
    }
}

static void check(uint64_t seed, stn_dtype dtype, bool in_place) {
    stn_task task = random_task(&seed, dtype, in_place);
    int64_t span = stn_task_span(&task, false);
    void *in = poisoned(dtype, span), *source = poisoned(dtype, span), *want = poisoned(dtype, span);
    for (int64_t point = 0; point < stn_task_points(&task); point++) {
        bool frozen;
        int64_t at = place(&task, point, &frozen);
        set(dtype, in, at, random_unit(&seed));
        set(dtype, want, at, get(dtype, in, at));
        set(dtype, source, at, random_unit(&seed));
    }
    run_by_steps(&task, want, source);
    void *out = in_place ? in : poisoned(dtype, span);
    run_with(&task, in, source, out);
    for (int64_t point = 0; point < stn_task_points(&task); point++) {
        bool frozen;
        int64_t at = place(&task, point, &frozen);
        cr_assert_eq(get(dtype, out, at), get(dtype, want, at), "seed %llu, %s, point %lld: %g, not %g",
                     (unsigned long long)seed, stn_dtype_name(dtype), (long long)point, get(dtype, out, at),
                     get(dtype, want, at));
    }
    if (!in_place) free(out);
    free(in);
    free(source);
    free(want);
    stn_task_clear(&task);
}

Test(source, equals_single_steps_plus_source) {
    for (uint64_t seed = 1; seed <= 120; seed++) check(seed, (stn_dtype)(seed % 3), seed % 2);
}
