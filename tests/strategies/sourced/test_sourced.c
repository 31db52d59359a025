/* Compares a constant source on a device (runs without it, and its sums) with the host's steps at
 * every point. On a GPU or the emulator. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../expect.h"
#include "base/half.h"
#include "problem/task.h"

/* Random numbers in [-1, 1), the same on every machine. */
static double draw(uint64_t *state) {
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(int64_t)*state / 9223372036854775808.0;
}
static int pick(uint64_t *state, int low, int high) {
    return low + (int)((draw(state) + 1) / 2 * (high - low + 1) * 0.999999);
}

static double get(stn_dtype dtype, const void *array, size_t i) {
    if (dtype == STN_F64) return ((const double *)array)[i];
    return dtype == STN_F32 ? ((const float *)array)[i] : stn_half_to_float(((const uint16_t *)array)[i]);
}
static void set(stn_dtype dtype, void *array, size_t i, double value) {
    if (dtype == STN_F64)
        ((double *)array)[i] = value;
    else if (dtype == STN_F32)
        ((float *)array)[i] = (float)value;
    else
        ((uint16_t *)array)[i] = stn_float_to_half((float)value);
}

/* Weights whose magnitudes sum to 0.98, so that sums over many steps stay bounded. */
static stn_stencil *random_taps(uint64_t *state, int rank) {
    stn_tap taps[7] = {{{0}, draw(state)}};
    size_t ntaps = 1;
    double sum = fabs(taps[0].weight);
    stn_stencil *stencil;
    for (int axis = 0; axis < rank; axis++)
        for (int way = -1; way <= 1; way += 2) {
            taps[ntaps].offset[axis] = way * pick(state, 1, 2);
            taps[ntaps].weight = draw(state);
            sum += fabs(taps[ntaps++].weight);
        }
    for (size_t i = 0; i < ntaps; i++) taps[i].weight *= 0.98 / sum;
    OK(stn_stencil_create(rank, ntaps, taps, &stencil, &error));
    return stencil;
}

static stn_problem random_problem(uint64_t *state, const stn_stencil *stencil, int rank) {
    static const stn_boundary_kind kinds[] = {STN_CONSTANT, STN_NEAREST, STN_REFLECT, STN_MIRROR, STN_FIXED};
    static const uint64_t steps[] = {1, 7, 8, 9, 64, 75};
    stn_problem p = STN_PROBLEM_INIT;
    p.stencil = stencil, p.has_source = 1;
    p.dtype = (stn_dtype)pick(state, 0, 2), p.steps = steps[pick(state, 0, 5)];
    p.batch = (size_t)pick(state, 1, 2), p.in_place = pick(state, 0, 3) == 0;
    ptrdiff_t in = 1, out = 1;
    for (int axis = rank - 1; axis >= 0; axis--) {
        p.extent[axis] = (size_t)(rank == 1 ? pick(state, 100, 1300) : pick(state, 4, 24));
        p.in_stride[axis] = in, p.out_stride[axis] = p.in_place ? in : out;
        in *= (ptrdiff_t)p.extent[axis] + pick(state, 0, 3), out *= (ptrdiff_t)p.extent[axis] + pick(state, 0, 3);
        bool wraps = pick(state, 0, 3) == 0;
        for (int side = 0; side < 2; side++) {
            p.boundary[axis][side].kind = wraps ? STN_WRAP : kinds[pick(state, 0, 4)];
            p.boundary[axis][side].value = 0.75;
        }
    }
    p.alignment = (int)stn_dtype_size(p.dtype);
    return p;
}

/* False: `strategy` (NULL: any) does not apply. */
static bool run(stn_context *context, const char *strategy, const stn_problem *p, const void *in, const void *source,
                size_t in_bytes, void *out, size_t out_bytes, const double *weights, size_t nweights) {
    void *d_in, *d_source, *d_out;
    stn_plan *plan;
    stn_plan_options options = STN_PLAN_OPTIONS_INIT;
    options.strategy = strategy;
    const stn_status status = stn_plan_create(context, p, &options, &plan, &error);
    if (strategy && status == STN_ERROR_UNSUPPORTED) return false;
    OK(status);
    if (weights) OK(stn_plan_set_weights(plan, nweights, weights, &error));
    OK(stn_memory_alloc(context, in_bytes, &d_in, &error));
    OK(stn_memory_alloc(context, in_bytes, &d_source, &error));
    OK(stn_memory_alloc(context, out_bytes, &d_out, &error));
    OK(stn_memory_upload(context, d_in, in, in_bytes, &error));
    OK(stn_memory_upload(context, d_source, source, in_bytes, &error));
    memset(out, 0xff, out_bytes);
    OK(stn_memory_upload(context, d_out, out, out_bytes, &error));
    stn_execution e = STN_EXECUTION_INIT;
    e.in = d_in, e.out = p->in_place ? d_in : d_out, e.source = d_source;
    for (int times = 0; times < (p->in_place ? 1 : 2); times++) OK(stn_plan_run(plan, &e, &error));
    OK(stn_memory_download(context, out, e.out, out_bytes, &error));
    stn_memory_free(context, d_in), stn_memory_free(context, d_source), stn_memory_free(context, d_out);
    stn_plan_destroy(plan);
    return true;
}

static bool check(stn_context *host, stn_context *device, const char *strategy, uint64_t seed) {
    uint64_t state = seed * 1234567;
    const int rank = pick(&state, 1, 3);
    stn_stencil *stencil = random_taps(&state, rank), *other = random_taps(&state, rank);
    stn_problem p = random_problem(&state, stencil, rank);
    stn_task task;
    double weights[7];
    const bool renewed = pick(&state, 0, 2) == 0;
    OK(stn_task_make(&p, &task, &error));
    for (size_t i = 0; i < task.ntaps; i++) weights[i] = task.taps[task.ntaps - 1 - i].weight;
    const size_t size = stn_dtype_size(p.dtype), n = (size_t)stn_task_span(&task, false),
                 m = (size_t)stn_task_span(&task, true);
    void *in = malloc(n * size), *source = malloc(n * size), *want = malloc(m * size), *got = malloc(m * size);
    for (size_t i = 0; i < n; i++) set(p.dtype, in, i, draw(&state)), set(p.dtype, source, i, 0.02 * draw(&state));
    run(host, NULL, &p, in, source, n * size, want, m * size, renewed ? weights : NULL, task.ntaps);
    const bool served =
        run(device, strategy, &p, in, source, n * size, got, m * size, renewed ? weights : NULL, task.ntaps);
    const double bar = p.dtype == STN_F64 ? 1e-12 : p.dtype == STN_F32 ? 1e-5 : 1e-2;
    for (int64_t i = 0; served && i < stn_task_points(&task); i++) {
        int64_t rest = i, at = 0;
        for (int axis = 2; axis >= 0; axis--) at += rest % task.n[axis] * task.out_stride[axis], rest /= task.n[axis];
        const size_t place = (size_t)(at + rest * task.out_batch_stride);
        cr_assert(fabs(get(p.dtype, got, place) - get(p.dtype, want, place)) <= bar,
                  "seed %d: %dD %s, %d steps, point %d: %.17g, not %.17g", (int)seed, rank, stn_dtype_name(p.dtype),
                  (int)p.steps, (int)i, get(p.dtype, got, place), get(p.dtype, want, place));
    }
    free(in), free(source), free(want), free(got);
    stn_task_clear(&task);
    stn_stencil_destroy(stencil), stn_stencil_destroy(other);
    return served;
}

/* Returns the number of problems to which the strategy applies. */
static int check_all(const char *strategy) {
    int served = 0;
    stn_context_options options = STN_CONTEXT_OPTIONS_INIT;
    stn_context *host, *device;
    options.cache_dir = ":memory:", options.device = STN_DEVICE_HOST;
    OK(stn_context_create(&options, &host, &error));
    options.device = STN_DEVICE_CUDA(0);
    OK(stn_context_create(&options, &device, &error));
    for (uint64_t seed = 1; seed <= 24; seed++) served += check(host, device, strategy, seed);
    stn_context_destroy(device);
    stn_context_destroy(host);
    return served;
}

Test(sourced, equals_the_host) { cr_assert_eq(check_all(NULL), 24); }
Test(sourced, in_chunks_equals_the_host) { cr_assert_geq(check_all("chunked"), 8); }
